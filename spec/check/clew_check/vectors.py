"""The files of spec/vectors (format: its README.md) against this package."""

from collections import Counter

from . import bbs04, group_file, need, opening, receiver, Refused, text, trailer, xr
from .curve import *

NUMBERS = ("time", "receiver-start", "link-type", "wire-length", "part", "start", "scheme", "index")


class Case(dict):
    """A vector file: name -> list of values; a text is str, everything else bytes."""

    def __init__(self, path):
        self.path = path
        for line in path.read_text("utf-8").split("\n"):
            if line:
                name, _, value = line.partition(": ")
                plain = name in ("expect", "comment")
                value = value if plain else value[1:-1] if value[:1] == '"' else bytes.fromhex(value)
                self.setdefault(name, []).append(value)
        self.expect = self["expect"][0]

    def one(self, name, default=None):
        value = self.get(name, [default])[0]
        if name in NUMBERS and isinstance(value, bytes):
            return int.from_bytes(value, "big")
        return b"" if value == "" else value


def equal(got, wanted, name):
    if wanted is not None and got != wanted:
        raise AssertionError(f"{name} differs")


# group-signature -------------------------------------------------------------------------------------------------------


def scheme_of(case):
    """By the length of the public key, or as `scheme` says."""
    wanted = case.one("scheme")
    if wanted is None:
        wanted = 2 if len(case.one("public-key", b"")) == xr.KEY else 1
    return {1: bbs04, 2: xr}[wanted]


def key_of(case, name="public-key"):
    return scheme_of(case).decode_key(case.one(name))


def epoch_id(case):
    for name in ("epoch-id", "id"):
        if name in case:
            return case.one(name)
    raise AssertionError("no epoch-id or id in the file")


def hash_h(case):
    equal(encode(bbs04.hash_h(case.one("nonce"))), case.one("h"), "h")


def generators(case):
    for name, point in zip(("u", "g1", "h0"), xr.generators(case.one("nonce"))):
        equal(encode(point), case.one(name), name)


def public_key(case):
    key_of(case)


def descent(case):
    scheme, first, later = scheme_of(case), key_of(case, "genesis"), key_of(case)
    if scheme is bbs04:
        bbs04.check_first(first)
    elif "nonce" in case:
        xr.check_epoch_0(first, case.one("nonce"), case.one("proof"))
    scheme.check_epoch(later, first)


def issuer_proof(case):
    xr.check_epoch_0(key_of(case), case.one("nonce"), case.one("proof"))


def issuer_key(case):
    gamma = decode_secret(case.one("gamma"))
    if "public-key" in case:
        key, x = key_of(case), decode_scalar(case.one("x"))
        need(eq(power(key.g2, gamma), key.w), "invalid")
        equal(encode(power(key.g1, pow(gamma + x, -1, r))) + encode_scalar(x), case.one("member-key"), "member key")


def read_member(scheme, data):
    """A, x (and y)"""
    need(len(data) == (80 if scheme is bbs04 else 112), "length")
    return decode_g1(data[:48]), *(decode_scalar(data[i : i + 32]) for i in range(48, len(data), 32))


def member_key(case):
    scheme = scheme_of(case)
    scheme.check_member(key_of(case), *read_member(scheme, case.one("member-key")))


def opener_key(case):
    """bbs04: xi1, xi2; xr: xi"""
    key, data = key_of(case), case.one("opener-key")
    bases = scheme_of(case).share_bases(key)
    need(len(data) == 32 * len(bases), "length")
    for i, (base, C_0) in enumerate(bases):
        need(eq(power(base, decode_secret(data[32 * i : 32 * i + 32])), C_0), "invalid")


def sign(case):
    key, id, M = key_of(case), epoch_id(case), case.one("message", b"")
    (sign_bbs04 if scheme_of(case) is bbs04 else sign_xr)(case, key, id, M)
    for name in ("signature", "incremental"):
        scheme_of(case).verify(key, id, M, case.one(name), name == "incremental")


def sign_bbs04(case, key, id, M):
    """4.2: every value from the secrets and nonces."""
    names = ("x", "alpha", "beta", "r-alpha", "r-beta", "r-x", "r-delta1", "r-delta2")
    x, alpha, beta, ra, rb, rx, rd1, rd2 = (decode_scalar(case.one(name)) for name in names)
    T1, T2 = power(key.u, alpha), power(key.v, beta)
    T3 = powers((decode_g1(case.one("a")), 1), (key.h, alpha + beta))
    R = [encode(power(key.u, ra)), encode(power(key.v, rb))]
    R += [gt_bytes((powers((T3, rx), (key.h, -rd1 - rd2)), key.g2), (power(key.h, -ra - rb), key.w))]
    R += [encode(powers((T1, rx), (key.u, -rd1))), encode(powers((T2, rx), (key.v, -rd2)))]
    digest = long_challenge(b"clew-bbs04-sig-1", id, T1, T2, T3, *R, M)
    c = int.from_bytes(digest, "big")
    s = [ra + c * alpha, rb + c * beta, rx + c * x, rd1 + c * x * alpha, rd2 + c * x * beta]
    values = [encode(T1), encode(T2), encode(T3), digest, *map(encode_scalar, s)]
    names = ("t1", "t2", "t3", "c", "s-alpha", "s-beta", "s-x", "s-delta1", "s-delta2")
    compare_signature(case, dict(zip(names, values)), values, dict(zip(("r1", "r2", "r3", "r4", "r5"), R)))


def sign_xr(case, key, id, M):
    """3.3: every value from the secrets and nonces."""
    x, y, alpha, ra, rx, rd, ry = (decode_scalar(case.one(n)) for n in ("x", "y", "alpha", "ra", "rx", "rd", "ry"))
    T1, T2 = power(key.u, alpha), powers((decode_g1(case.one("a")), 1), (key.h, alpha))
    R1, R3 = power(key.u, ra), powers((T2, rx), (key.h, -rd), (key.h0, -ry), (key.h_w, -ra))
    c_bytes = hash_of(D("clew-xr-signature-1"), id, T1, T2, R1, R3, M)[:16]
    c = decode_short(c_bytes)
    s = [ra + c * alpha, rx + c * x, rd + c * alpha * x, ry + c * y]
    values = [encode(T1), encode(T2), encode(R3), c_bytes, *map(encode_scalar, s)]
    names = ("t1", "t2", "r3", "c", "sa", "sx", "sd", "sy")
    compare_signature(case, dict(zip(names, values)), values, {"r1": encode(R1)})


def compare_signature(case, named, values, carried):
    for name, value in (named | carried).items():
        equal(value, case.one(name), name)
    equal(b"".join(values), case.one("signature"), "signature")
    equal(b"".join(values + list(carried.values())), case.one("incremental"), "incremental")


def verify(case, incremental=False):
    key, signature = key_of(case), case.one("signature")
    scheme_of(case).verify(key, epoch_id(case), case.one("message", b""), signature, incremental)


def open_(case):
    scheme, key, data = scheme_of(case), key_of(case), case.one("opener-key")
    points, hidden = scheme.ciphertext(case.one("signature"))
    secrets = [decode_secret(data[i : i + 32]) for i in range(0, len(data), 32)]
    A = powers((hidden, 1), *((P, -xi) for P, xi in zip(points, secrets)))
    equal(encode(A), case.one("credential"), "credential")
    equal(scheme.tag(A, key), case.one("tag"), "tag")


def revocation(case):
    scheme, key = scheme_of(case), key_of(case)
    new = scheme.step(key, case.one("revocation"))
    equal(new.encode(), case.one("next-public-key"), "next public key")
    if "gamma" in case:
        gx = decode_secret(case.one("gamma")) + decode_scalar(case.one("x"))
        other, inverse = (key.g2, new.g2) if scheme is bbs04 else (key.h0, new.h0)
        made = [power(key.g1, pow(gx, -1, r)), power(other, pow(gx, -1, r)), power(key.lift, gx)]
        equal([encode(P) for P in made], [encode(P) for P in (new.g1, inverse, new.lift)], "revocation")


def member_update(case):
    scheme, key, data = scheme_of(case), key_of(case), case.one("revocation")
    A, *secrets = read_member(scheme, case.one("member-key"))
    new = scheme.step(key, data)
    A = scheme.update_member(A, *secrets, decode_scalar(data[:32]), new)
    scheme.check_member(new, A, *secrets)
    equal(encode(A) + b"".join(map(encode_scalar, secrets)), case.one("next-member-key"), "next member key")


CHECKS = {
    "hash-h": hash_h, "generators": generators, "public-key": public_key, "descent": descent,
    "issuer-proof": issuer_proof, "issuer-key": issuer_key, "member-key": member_key, "opener-key": opener_key,
    "sign": sign, "verify": verify, "verify-incremental": lambda case: verify(case, True), "open": open_,
    "revocation": revocation, "member-update": member_update,
}  # fmt: skip


def group_signature(case):
    check = case.one("check").removeprefix("xr-").removeprefix("bbs04-")
    equal(check in CHECKS, True, f"check {check} is not known here;")
    CHECKS[check](case)


# The other families ------------------------------------------------------------------------------------------------------

_groups = {}


def group_of(case):
    path = case.path.parent.parent / "group-file" / case.one("group-file")
    if path not in _groups:
        _groups[path] = group_file.Group(Case(path).one("file"))
    return _groups[path]


def packet_trailer(case):
    judge = receiver.Receiver(group_of(case), case.one("receiver-start"))
    link_type, time = case.one("link-type"), case.one("time")
    for frame in case.get("earlier-frame", []):
        equal(judge.judge(frame, len(frame), link_type, time)[1], "ok", "earlier frame")
    frame, wire = case.one("frame"), case.one("wire-length")
    if "message" in case:
        packet, found = receiver.read(frame, wire, link_type)
        equal(trailer.message(packet, found), case.one("message"), "message")
        if "fields" in case:
            equal(trailer.nonvolatile(packet, found), case.one("fields"), "fields")
    verdict, reason = judge.judge(frame, wire, link_type, time)
    equal(verdict, case.one("verdict"), f"verdict, {reason},")
    need(reason == "ok", reason)


def group_file_(case):
    try:
        group = group_file.Group(case.one("file", b""))
        group.check_all()
    except Refused as refused:
        if isinstance(refused.where, int):
            equal(refused.where, case.one("part"), f"part of {refused}")
        raise
    equal(group.id, case.one("id"), "id")
    equal(group.manager, case.one("manager"), "manager")
    equal(group.name[1:].decode(), case.one("name"), "name")
    for e, key in enumerate(case.get("public-key", [])):
        equal(group.key(e).encode(), key, f"public key {e}")
    for e, id in enumerate(case.get("epoch-id", [])):
        equal(group.epoch_ids[e], id, f"epoch id {e}")
    for e, start in enumerate(case.get("start", [])):
        equal(group.start(e + 1).to_bytes(8, "big"), start, f"start {e + 1}")
    entries = case.get("entry", [])
    equal(group.register.machines, len(entries) if entries else None, "machines")
    equal(group.register.root, case.one("root"), "root")
    equal(group.register.root, opening.tree_hash(entries), "tree hash") if entries else None


def opening_(case):
    """`line`s are the text of an opening or match; `frame` with `link-type` the packet."""
    label, payload = text.read("\n".join(case["line"]).encode())
    frame = case.one("frame")
    packets = [(frame, case.one("wire-length", len(frame)), case.one("link-type"), None)]
    answer = opening.judge(group_of(case), label, payload, packets)
    equal(answer, case.one("answer"), "answer")


FAMILIES = {
    "group-signature": group_signature, "packet-trailer": packet_trailer, "group-file": group_file_, "opening": opening_,
}  # fmt: skip
SKIPPED = {"key-file": "secret files are no matter of verifying"}


def run(folder):
    """Prints counts; returns whether nothing failed. What is not known here fails too."""
    failed = Counter()
    for family in sorted(path for path in folder.iterdir() if path.is_dir()):
        counts = Counter()
        if family.name in SKIPPED:
            print(f"{family.name}: skipped, {SKIPPED[family.name]}")
            continue
        for path in sorted(family.glob("*.txt")):
            case = Case(path)
            try:
                FAMILIES[family.name](case)
                got = "valid"
            except Refused as refused:
                got = refused.rule
            except (AssertionError, AttributeError, KeyError, TypeError, ValueError) as e:
                got = f"{type(e).__name__}: {e}"
            counts["agree" if got == case.expect else "differ"] += 1
            if got != case.expect:
                print(f"  {family.name}/{path.name}: expected {case.expect}, got {got}")
        failed[family.name] = counts["differ"]
        print(f"{family.name}: {counts['agree']} agree, {counts['differ']} differ")
    return not any(failed.values())
