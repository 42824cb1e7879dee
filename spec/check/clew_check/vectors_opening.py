"""The vectors of openings: evidence, shares, register files; and those of key files."""

from . import key_file, need, opening, text
from .cases import equal
from .curve import decode_g1, r
from .group_file import SCHEMES


def lines(case, name="line"):
    return "".join(line + "\n" for line in case.get(name, [])).encode()


def packets_of(case):
    return [(case.one("frame"), case.one("wire-length"), case.one("link-type"), None)]


def judge(case, group):
    label, payload = text.read(lines(case))
    answer = opening.judge(group, label, payload, packets_of(case))
    equal(answer, case.one("answer"), "answer")
    if label == opening.OPENING:
        sharing, commitments = group.sharing(int.from_bytes(payload[34:38], "big"))
        row = payload[174 + sharing.t * (1 + 112 * len(commitments)) :]
        entry = opening.read_row(row, group.scheme).entry
        equal(opening.revoked_in(group, entry) or 0, case.one("revoked", 0), "revoked")


def share(case, group):
    found = text.label(lines(case))
    need(found == "clew-share-1", "label", found)
    share = opening.read_share(text.read(lines(case))[1])
    A_X = decode_g1(case.one("credential")) if "credential" in case else None
    opening.check_share(group, share, packets_of(case), A_X, case.one("blind"))
    equal(share.raw_request, case.one("request"), "request")
    equal(share.request.id, case.one("request-id"), "request id")
    equal((share.step, share.trustee), (case.one("step"), case.one("index")), "step and trustee")


def register_file(case, group):
    id, epoch, found = opening.read_register_file(case.one("file"), group.scheme)
    need(id == group.id and epoch <= group.last_epoch, "group")
    for row, _, A in found:
        opening.check_register_line(group, epoch, row, A)
    equal(epoch, case.one("epoch"), "epoch")
    equal([row.leaf for row, _, _ in found], case.all("leaf-hash"), "leaf hashes")
    equal([opening.leaf_hash(entry) for entry in case.all("entry")], case.all("leaf-hash"), "entries")
    equal([tag for _, tag, _ in found], case.all("tag"), "tags")
    tags = [group.scheme.tag(row.entry.credential, group.key(0)) for row, _, _ in found]
    equal(tags, case.all("tag"), "tags of A_0")
    equal([A for _, _, A in found], case.all("credential"), "credentials")


CHECKS = {"judge": judge, "share": share, "register-file": register_file}


# Key files ---------------------------------------------------------------------------------------------------------------


def key_file_(case):
    data, wanted = lines(case), case.one("wanted")
    if wanted == key_file.SEALED:
        passphrase = case.one("passphrase")
        passphrase = passphrase.encode() if passphrase is not None else None
        plain = key_file.unseal(data, passphrase, case.one("key-file"))
        equal(plain, lines(case, "plain-line"), "text within")
        return
    readers = {key_file.MEMBER: key_file.member, key_file.ISSUER: key_file.issuer, key_file.TRUSTEE: key_file.trustee}
    for name, value in readers[wanted](data, wanted).items():
        got = case.all(name)
        got = [each.encode() if isinstance(each, str) else each for each in got]
        equal(got, value if isinstance(value, list) else [value], name)
    if wanted == key_file.ISSUER:
        made = key_file.derive_x(case.one("seed"), case.one("salt"), case.one("machine").encode(), r)
        equal(made.to_bytes(32, "big"), case.one("x"), "x")
    if wanted == key_file.MEMBER:
        scheme, key = SCHEMES[case.one("scheme")], case.one("member-key")
        secrets = [int.from_bytes(key[i : i + 32], "big") for i in range(48, len(key), 32)]
        scheme.check_member(scheme.decode_key(case.one("public-key")), decode_g1(key[:48]), *secrets)
