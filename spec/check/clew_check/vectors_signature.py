"""The vectors of group-signature: keys, signatures, steps, joins."""

from . import bbs04, join, need, Refused, revocation, xr
from .cases import equal
from .curve import *


def scheme_of(case):
    """By the name of the check."""
    return xr if case.one("check").startswith("xr-") else bbs04


def key_of(case, scheme=None):
    """Of `nonce` and the founding key; with `v`, in its epoch, else in epoch 0."""
    scheme = scheme or scheme_of(case)
    key = scheme.founded(case.one("nonce"), case.one("founding-key"))
    return scheme.in_epoch(key, decode_g1(case.one("v"))) if "v" in case else key


def epoch_id(case):
    return case["epoch-id"][0]


def hash_h(case):
    equal(encode(bbs04.hash_h(case.one("nonce"))), case.one("h"), "h")
    equal(encode(bbs04.first_v(case.one("nonce"))), case.one("first-v"), "V of epoch 0")


def generators(case):
    points = [*xr.generators(case.one("nonce")), xr.first_v(case.one("nonce"))]
    for name, point in zip(("u", "g1", "h0", "v"), points):
        equal(encode(point), case.one(name), name)


def rebased_v(case):
    v = encode(scheme_of(case).rebased_v(case.one("nonce"), case.one("epoch"), epoch_id(case)))
    equal(v, case.one("v", case.one("rebased-v")), "V of a rebase")


def public_key(case):
    equal(key_of(case).encode(), case.one("founding-key"), "public key")


def genesis(case):
    xr.check_genesis(key_of(case), case.one("nonce"), case.one("proof"))


def issuer_key(case):
    gamma = decode_secret(case.one("gamma"))
    if "h" in case:
        h = decode_g1(case.one("h"))
        founding = encode(h) + encode(power(h, gamma)) + encode(power(G2, gamma))
        equal(founding, case.one("founding-key"), "public key")
    elif "x" in case:
        x = decode_scalar(case.one("x"))
        equal(encode(power(G1, pow(gamma + x, -1, r))) + encode_scalar(x), case.one("member-key"), "member key")


def member_key(case):
    """A, and W for the epoch"""
    scheme, key = scheme_of(case), key_of(case)
    A, x, *y = scheme.decode_member(case.one("member-key"))
    W = decode_g1(case.one("witness"))
    scheme.check_member(key, A, x, *y)
    scheme.check_witness(key, W, x)


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


def signed_with(case):
    """B = A W"""
    return product(decode_g1(case.one("a")), decode_g1(case.one("witness")))


def sign_bbs04(case, key, id, M):
    """4.2: every value from the secrets and nonces."""
    names = ("x", "alpha", "beta", "r-alpha", "r-beta", "r-x", "r-delta1", "r-delta2")
    x, alpha, beta, ra, rb, rx, rd1, rd2 = (decode_scalar(case.one(name)) for name in names)
    T1, T2 = power(key.u, alpha), power(key.v_, beta)
    T3 = powers((signed_with(case), 1), (key.h, alpha + beta))
    R = [encode(power(key.u, ra)), encode(power(key.v_, rb))]
    R += [gt_bytes((powers((T3, rx), (key.h, -rd1 - rd2)), key.g2), (power(key.h, -ra - rb), key.w))]
    R += [encode(powers((T1, rx), (key.u, -rd1))), encode(powers((T2, rx), (key.v_, -rd2)))]
    digest = long_challenge(b"clew-bbs04-sig-1", id, T1, T2, T3, *R, M)
    c = int.from_bytes(digest, "big")
    s = [ra + c * alpha, rb + c * beta, rx + c * x, rd1 + c * x * alpha, rd2 + c * x * beta]
    values = [encode(T1), encode(T2), encode(T3), digest, *map(encode_scalar, s)]
    names = ("t1", "t2", "t3", "c", "s-alpha", "s-beta", "s-x", "s-delta1", "s-delta2")
    compare_signature(case, dict(zip(names, values)), values, dict(zip(("r1", "r2", "r3", "r4", "r5"), R)))


def sign_xr(case, key, id, M):
    """3.3: every value from the secrets and nonces."""
    x, y, alpha, ra, rx, rd, ry = (decode_scalar(case.one(n)) for n in ("x", "y", "alpha", "ra", "rx", "rd", "ry"))
    T1, T2 = power(key.u, alpha), powers((signed_with(case), 1), (key.h, alpha))
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
    T1, T2 = power(key.u, alpha), powers((signed_with(case), 1), (key.h, alpha))
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
    key = xr.with_opening(key_of(case), decode_g1(case.one("h")), decode_g1(case.one("h-w")))
    equal(key.encode(), case.one("next-founding-key"), "next founding key")
    equal(encode(power(key.h, decode_secret(case.one("gamma")))), case.one("h-w"), "h_w")


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
    """What the device makes of the offer; with gamma, also that it is made of `request`, x and s."""
    key, data = key_of(case), case.one("offer")
    A, x, y = join.accept(key, decode_secret(case.one("y")), data)
    equal(encode(A) + encode_scalar(x) + encode_scalar(y), case.one("member-key"), "member key")
    equal(encode(power(key.h0, y)), case.one("commitment"), "C")
    if "gamma" in case:
        C = decode_g1(case.one("request")[:48])
        equal(encode(join.commitment(key, C, decode_scalar(case.one("s")))), case.one("commitment"), "C of the issuer")
        gamma, x, s = (decode_scalar(case.one(name)) for name in ("gamma", "x", "s"))
        equal(join.make_offer(key, C, gamma, x, s).encode(), data, "offer")


def row_proof(case):
    """What a reader of a row checks; with k, also how the device made it."""
    key, statement, proof = key_of(case), case.one("statement"), case.one("proof")
    decode_proof(proof)
    C = decode_g1(case.one("commitment"))
    join.check_row_proof(key, statement, C, proof)
    _, _, y = xr.decode_member(case.one("member-key"))
    equal(encode(power(key.h0, y)), case.one("commitment"), "C")
    equal(join.prove_y(key, statement, y, decode_scalar(case.one("k"))), proof, "proof")


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
    B = powers((hidden, 1), *((P, -xi) for P, xi in zip(points, secrets)))
    equal(encode(B), case.one("b"), "B")


def row(case):
    """The judge's two equations; with xr and gamma also Q = B^gamma, which finds the row."""
    scheme, key = scheme_of(case), key_of(case)
    A, B = decode_g1(case.one("a")), decode_g1(case.one("b"))
    known = (decode_g1(case.one("c")), decode_scalar(case.one("x"))) if scheme is xr else (decode_g2(case.one("public-x")),)
    need(scheme.certifies(key, A, *known) and scheme.names(key, B, *known), "invalid")
    if "gamma" in case:
        Q = power(B, decode_secret(case.one("gamma")))
        equal(encode(Q), case.one("q"), "Q")
        equal((xr.fits(key, Q, B), xr.row_fits(key, Q, B, *known)), (True, True), "Q finds the row")


def step(case):
    key, (step,) = key_of(case), steps_of(case)
    revocation.check_step(key.w, key.v, step)
    equal(encode(xr.in_epoch(key, step.v).v), case.one("next-v"), "next V")
    if "gamma" in case:
        gx = decode_secret(case.one("gamma")) + step.x
        equal(encode(power(key.v, pow(gx, -1, r))), case.one("next-v"), "V made of gamma")


def steps_of(case):
    return [revocation.decode_step(data) for data in case.all("step")]


def chain(case):
    key, steps = key_of(case), steps_of(case)
    revocation.check_steps(key.w, [(key.v, steps)])


def witness_update(case):
    """Along all steps, as one product, and back."""
    x, W, steps = decode_scalar(case.one("x")), decode_g1(case.one("witness")), steps_of(case)
    next_ = revocation.after(W, x, steps)
    equal(encode(next_), case.one("next-witness"), "next witness")
    for step in reversed(steps):
        next_ = revocation.before(next_, x, step.v, step)
    equal(encode(next_), case.one("witness"), "the witness before")


CHECKS = {
    "hash-h": hash_h, "generators": generators, "rebased-v": rebased_v, "public-key": public_key, "genesis": genesis,
    "issuer-key": issuer_key, "member-key": member_key, "opener-key": opener_key, "sign": sign, "verify": verify,
    "verify-incremental": lambda case: verify(case, True), "verify-pseudonym": verify_pseudonym, "pseudonym": pseudonym,
    "verify-batch": verify_batch, "open": open_, "row": row, "step": step, "chain": chain,
    "witness-update": witness_update, "new-opening": new_opening, "session": session, "join-request": join_request,
    "join-offer": join_offer, "row-proof": row_proof,
}  # fmt: skip
