"""The vectors of group-signature: keys, signatures, revocations, joins."""

from . import bbs04, join, need, Refused, xr
from .cases import equal
from .curve import *


def scheme_of(case):
    """By the name of the check."""
    return xr if case.one("check").startswith("xr-") else bbs04


def key_of(case, name="public-key"):
    return scheme_of(case).decode_key(case.one(name))


def epoch_id(case):
    return case["epoch-id"][0]


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
    if "h" in case:
        u, g1, h0 = xr.generators(case.one("nonce"))
        h = decode_g1(case.one("h"))
        key = xr.Key(g1, h0, u, h, power(h, gamma), power(G2, gamma), G2)
        equal(key.encode(), case.one("public-key"), "public key")
    elif "public-key" in case:
        key, x = key_of(case), decode_scalar(case.one("x"))
        need(eq(power(key.g2, gamma), key.w), "invalid")
        equal(encode(power(key.g1, pow(gamma + x, -1, r))) + encode_scalar(x), case.one("member-key"), "member key")


def read_member(scheme, data):
    """A, x (and y)"""
    need(len(data) == (80 if scheme is bbs04 else 112), "length")
    secrets = [decode_secret(data[i : i + 32]) for i in range(48, len(data), 32)]
    return decode_g1(data[:48]), *secrets


def member_key(case):
    scheme, key = scheme_of(case), key_of(case)
    secrets = read_member(scheme, case.one("member-key"))
    if scheme is xr:
        xr.check_epoch(key, key_of(case, "genesis"))
    scheme.check_member(key, *secrets)


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
    before = D("clew-xr-signature-1") + id + b"".join(map(encode, (T1, T2, R1, R3)))
    equal(before, case.one("before-message"), "what is hashed before the message")


def pseudonym(case):
    """3.9: every value from the secrets and nonces."""
    key, id, M, scope = key_of(case), epoch_id(case), case.one("message", b""), case.one("scope")
    x, y, alpha, ra, rx, rd, ry = (decode_scalar(case.one(n)) for n in ("x", "y", "alpha", "ra", "rx", "rd", "ry"))
    T1, T2 = power(key.u, alpha), powers((decode_g1(case.one("a")), 1), (key.h, alpha))
    R1, R3 = power(key.u, ra), powers((T2, rx), (key.h, -rd), (key.h0, -ry), (key.h_w, -ra))
    B = xr.pseudonym_base(scope)
    nym, R4 = power(B, y), power(B, ry)
    equal(encode(nym), case.one("nym"), "nym")
    c_bytes = hash_of(D("clew-xr-pseudonym-1"), id, T1, T2, R1, R3, B, nym, R4, M)[:16]
    c = decode_short(c_bytes)
    s = [ra + c * alpha, rx + c * x, rd + c * alpha * x, ry + c * y]
    made = b"".join([encode(T1), encode(T2), encode(R3), c_bytes, *map(encode_scalar, s), encode(nym)])
    equal(made, case.one("signature"), "signature")
    xr.verify_pseudonym(key, id, scope, M, made)


def verify_pseudonym(case):
    data = case.one("signature")
    xr.verify_pseudonym(key_of(case), epoch_id(case), case.one("scope"), case.one("message"), data)


def verify_batch(case):
    """3.5 accepts what 3.4 accepts: here one by one."""

    def verdict(data):
        try:
            xr.verify(key_of(case), epoch_id(case), case.one("message"), data, len(data) == xr.INCREMENTAL)
        except Refused as refused:
            return refused.rule
        return "valid"

    equal(" ".join(map(verdict, case["signature"])), case.one("verdicts"), "verdicts")


def new_opening(case):
    """3.8"""
    data, h, h_w = case.one("public-key"), case.one("h"), case.one("h-w")
    key = xr.decode_key(data[:144] + h + h_w + data[240:])
    need(pairings_equal(key.h_w, G2, key.h, key.w), "invalid", "h_w")
    equal(key.encode(), case.one("next-public-key"), "next public key")
    equal(encode(power(key.h, decode_secret(case.one("gamma")))), h_w, "h_w")


def session(case):
    name = case.one("machine").encode()
    made = join.session(case.one("group"), case.one("nonce"), case.one("device-key"), bytes([len(name)]) + name)
    equal(made, case.one("session"), "session")


def join_request(case):
    key, session = key_of(case), case.one("session")
    C = join.check_request(key, session, case.one("request"))
    equal(encode(C), case.one("commitment"), "C")
    y, k = decode_secret(case.one("y")), decode_scalar(case.one("k"))
    equal(join.make_request(key, session, y, k), case.one("request"), "request")


def join_offer(case):
    key, session = key_of(case), case.one("session")
    C = power(key.h0, decode_secret(case.one("y")))
    join.check_offer(key, session, C, case.one("offer"))
    equal(encode(C), case.one("request")[:48], "C")
    gamma, x, k = (decode_scalar(case.one(name)) for name in ("gamma", "x", "k"))
    equal(join.make_offer(key, session, C, gamma, x, k), case.one("offer"), "offer")


def join_credential(case):
    first, key = key_of(case, "genesis"), key_of(case)
    y, data = decode_secret(case.one("y")), case.one("credential")
    A, D_ = join.check_offer(first, case.one("session"), power(first.h0, y), case.one("offer"))
    A_e, x = join.check_credential(key, A, D_, y, data)
    equal(encode(A_e) + encode_scalar(x) + encode_scalar(y), case.one("member-key"), "member key")
    gamma, exponent = decode_secret(case.one("gamma")), 1
    for revoked in case.all("revoked"):
        exponent = exponent * pow(gamma + decode_scalar(revoked), -1, r) % r
    equal(encode(power(A, exponent)), data[:48], "A_e")

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
    "hash-h": hash_h, "generators": generators, "public-key": public_key, "descent": descent, "genesis": issuer_proof,
    "issuer-key": issuer_key, "member-key": member_key, "opener-key": opener_key, "sign": sign, "verify": verify,
    "verify-incremental": lambda case: verify(case, True), "verify-pseudonym": verify_pseudonym, "pseudonym": pseudonym,
    "verify-batch": verify_batch, "open": open_, "revocation": revocation, "member-update": member_update,
    "new-opening": new_opening, "session": session, "join-request": join_request, "join-offer": join_offer,
    "join-credential": join_credential,
}  # fmt: skip
