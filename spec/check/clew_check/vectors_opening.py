"""The vectors of openings: evidence, shares, register files; and those of key files."""

from . import key_file, merkle, need, opening, register, text
from .cases import equal
from .curve import decode_g1, encode, encode_scalar, r
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
    equal(sorted(said), sorted(case.all("caveat")), "caveats")
    if "fingerprint" in case:
        equal(register.fingerprint(found.row.entry.device_key), case.one("fingerprint"), "fingerprint")
    equal(found.asked, 1, "the packet that was asked about")


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


def key_file_(case):
    data, wanted = lines(case), case.one("wanted")
    if wanted == "clew-witness-1":
        return bucket(case)
    if wanted == key_file.SEALED:
        passphrase = case.one("passphrase")
        passphrase = passphrase.encode() if passphrase is not None else None
        plain = key_file.unseal(data, passphrase, case.one("key-file"))
        equal(plain, lines(case, "plain-line"), "text within")
        return
    fields = READERS[wanted](data, wanted)
    for name, value in fields.items():
        got = case.all(name)
        got = [each.encode() if isinstance(each, str) else each for each in got]
        equal(got, value if isinstance(value, list) else [value], name)
    if wanted == key_file.ISSUER:
        name = case.one("machine").encode()
        for kind, letter in ((key_file.derive_x, "x"), (key_file.derive_s, "s")):
            made = kind(case.one("seed"), case.one("salt"), name, r)
            equal(made.to_bytes(32, "big"), case.one(letter), letter)
    if wanted == key_file.INVITATION:
        key_file.check_invitation(fields, case.one("manager"))
    if wanted == key_file.MEMBER:
        member_checks(fields)


def member_checks(fields):
    """A, and each W."""
    scheme = SCHEMES[fields["scheme"][0]]
    A, x, *y = scheme.decode_member(fields["member-key"])
    for public_key, v, witness in zip(fields["public-key"], fields["v"], fields["witness"]):
        key = key_file.epoch_key(scheme, fields["nonce"], {"public-key": public_key, "v": v})
        scheme.check_witness(key, decode_g1(witness), x)
    scheme.check_member(key, A, x, *y)


def bucket(case):
    group, epoch, first, given = key_file.read_bucket(case.one("file"))
    equal((group, epoch), (case.one("group"), case.one("epoch")), "group and epoch")
    equal(first.to_bytes(4, "big"), case.one("first"), "first row")
    equal([encode(W) if W else bytes(48) for W in given], case.all("witness"), "witnesses")
