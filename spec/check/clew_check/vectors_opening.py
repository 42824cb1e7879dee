"""The vectors of openings: evidence, shares, register files; and those of key files."""

from . import device, ed25519, join, key_file, merkle, need, opening, Refused, register, text, xr
from .cases import equal
from .curve import decode_g1, decode_scalar, encode, encode_scalar, power, r
from .group_file import SCHEMES


def lines(case, name="line"):
    return "".join(line + "\n" for line in case.get(name, [])).encode()


def packets_of(case):
    return [(case.one("frame"), case.one("wire-length"), case.one("link-type"), None)]


def judge(case, group):
    label, payload = text.read(lines(case))
    found = opening.judge(group, label, payload, packets_of(case), device=case.one("device"))
    equal(found.answer, case.one("answer"), "answer")
    said = [name if epoch is None else f"{name} {epoch}" for name, epoch in found.caveats]
    equal(said, case.all("caveat"), "caveats")
    entry = found.row.entry
    if entry.device_key:
        equal(register.fingerprint(entry.device_key), case.one("fingerprint"), "fingerprint")
    names = {"index": entry.index, "joined": entry.joined, "how": entry.how}
    for name, value in names.items():
        equal(value, int.from_bytes(case[name][0], "big"), name)
    # offsets of a request: section 2
    equal(payload[102:134], case.one("asked"), "the packet that was asked about")
    equal(found.packets, [1], "packets that the signature covers")
    if "x" in case:
        equal(found.x, decode_scalar(case.one("x")), "x")
    if "b" in case:
        equal(payload[210:258], case.one("b"), "B_X")
        equal(entry.name[1:].decode(), case.one("machine"), "machine")


def share(case, group):
    found = text.label(lines(case))
    need(found == "clew-share-1", "label", found)
    share = opening.read_share(text.read(lines(case))[1])
    B_X = decode_g1(case.one("b")) if "b" in case else None
    opening.check_share(group, share, packets_of(case), B_X, case.one("blind"))
    equal(share.raw_request, case.one("request"), "request")
    equal(share.request.id, case.one("request-id"), "request id")
    equal((share.step, share.trustee), (case.one("step"), case.one("index")), "step and trustee")


def register_file(case, group):
    found = register.read_register_file(case.one("file"), group.scheme)
    need(found.group == group.id and found.epochs[-1] <= group.last_epoch, "group")
    group.check_epochs()
    for line in found.lines:
        register.check_register_line(group, found, *line)
    equal([e.to_bytes(4, "big") for e in found.epochs], case.all("epoch"), "epochs")
    equal(bytes([found.values]), case["values"][0], "values")
    equal([row.leaf for row, _, _ in found.lines], case.all("leaf-hash"), "leaf hashes")
    equal([merkle.leaf_hash(entry) for entry in case.all("entry")], case.all("leaf-hash"), "entries")
    equal([encode_scalar(x) for _, x, _ in found.lines if x is not None], case.all("x"), "x")
    equal([value for _, _, given in found.lines for value in given], case.all("value"), "values of epochs")


CHECKS = {"judge": judge, "share": share, "register-file": register_file}


# Key files ---------------------------------------------------------------------------------------------------------------


READERS = {
    key_file.MEMBER: key_file.member, key_file.ISSUER: key_file.issuer, key_file.TRUSTEE: key_file.trustee,
    key_file.INVITATION: key_file.invitation, key_file.JOIN_REQUEST: key_file.join_request, key_file.OFFER: key_file.offer,
    key_file.ACCEPTANCE: key_file.acceptance, key_file.CREDENTIAL: key_file.credential,
}  # fmt: skip


def key_file_(case, group=None):
    data, wanted = lines(case), case.one("wanted")
    if wanted == "clew-witness-1":
        W = key_file.find_witness(case.one("file"), case.one("group"), case.one("epoch"), case.one("index"))
        equal(encode(W), case.one("witness"), "witness")
        return
    if wanted == key_file.SEALED:
        passphrase = case.one("passphrase")
        passphrase = passphrase.encode() if passphrase is not None else None
        plain = key_file.unseal(data, passphrase, case.one("key-file"))
        equal(plain, lines(case, "plain-line"), "text within")
        return
    fields = READERS[wanted](data, wanted)
    if wanted in JOINS:
        JOINS[wanted](case, group, fields)
    for name, value in fields.items():
        got = case.all(name)
        got = [each.encode() if isinstance(each, str) else each for each in got]
        equal(got, value if isinstance(value, list) else [value], name)
    if wanted == key_file.ISSUER:
        name = case.one("machine").encode()
        for kind, letter in ((key_file.derive_x, "x"), (key_file.derive_s, "s")):
            made = kind(case.one("seed"), case.one("salt"), name, r)
            equal(made.to_bytes(32, "big"), case.one(letter), letter)
    if wanted == key_file.MEMBER:
        member_checks(fields)
        starts = [int.from_bytes(start, "big") for start in fields["start"]]
        for time, epoch in zip(case.get("time", []), case.get("signs", [])):
            equal(fields["epoch"][key_file.held_at(starts, int.from_bytes(time, "big"))], epoch, "which epoch signs")


def member_checks(fields):
    """A, and each W."""
    scheme = SCHEMES[fields["scheme"][0]]
    A, x, *y = scheme.decode_member(fields["member-key"])
    for founding, v, witness in zip(fields["founding-key"], fields["v"], fields["witness"]):
        key = key_file.epoch_key(scheme, fields["nonce"], {"founding-key": founding, "v": v})
        scheme.check_witness(key, decode_g1(witness), x)
    scheme.check_member(key, A, x, *y)


# Join files --------------------------------------------------------------------------------------------------------------


def invitation(case, group, fields):
    device.check_invitation(group, fields)


def join_request(case, group, fields):
    name = case.one("machine").encode()
    session = join.session(group.id, fields["nonce"], fields["device-key"], bytes([len(name)]) + name)
    try:
        join.check_request(group.key(0), session, fields["request"])
    except Refused as refused:
        raise Refused("join", refused)
    equal(session, case.one("session"), "session")


def joining(case):
    return device.Joining(lines(case, "joining-line"))


def offer(case, group, fields):
    state = joining(case)
    statement, y = device.accept(group, state, fields, text.read(lines(case))[1])
    answer = key_file.acceptance(lines(case, "acceptance-line"), key_file.ACCEPTANCE)
    equal(answer["nonce"], fields["nonce"], "nonce of the answer")
    equal(ed25519.verifies(state.device_key, answer["signature"], statement), True, "S of the answer")
    join.check_row_proof(group.key(0), statement, power(group.key(0).h0, y), answer["proof"])
    if state.answer is None:
        made = join.prove_y(group.key(0), statement, y, decode_scalar(case.one("k")))
        equal(answer["proof"], made, "proof of the answer, with this k")
    else:
        equal(text.read(lines(case, "acceptance-line"))[1], state.answer, "the same answer again")


def acceptance(case, group, fields):
    """S and the proof are the end of the entry."""
    entry = register.read_entry(case.one("entry")[:-128] + fields["signature"] + fields["proof"], xr)
    row = register.Row(entry, None, 0, [])
    try:
        register.check_device(group, row)
    except Refused as refused:
        raise Refused("device", refused)
    equal(case.one("entry")[-128:], fields["signature"] + fields["proof"], "S and proof of the entry")


def credential(case, group, fields):
    made = device.finish(group, joining(case), fields)
    equal(made, text.read(lines(case, "key-line"))[1], "key file")


JOINS = {
    key_file.INVITATION: invitation, key_file.JOIN_REQUEST: join_request, key_file.OFFER: offer,
    key_file.ACCEPTANCE: acceptance, key_file.CREDENTIAL: credential,
}  # fmt: skip
