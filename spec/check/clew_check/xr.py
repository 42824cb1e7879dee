"""group-signature.md section 3: the scheme xr."""

from dataclasses import dataclass

from . import need, Reader
from .curve import *

CODE, KEY, REVOCATION, SIGNATURE, INCREMENTAL = 2, 432, 224, 288, 336


@dataclass(frozen=True)
class Key:
    """3.1: the public key of an epoch."""

    g1: tuple
    h0: tuple
    u: tuple
    h: tuple
    h_w: tuple
    w: tuple
    lift: tuple

    def encode(self):
        return b"".join(encode(point) for point in vars(self).values())


def decode_key(data):
    need(len(data) == KEY, "length")
    at = Reader(data)
    return Key(*(decode_g1(at.take(48)) for _ in range(5)), *(decode_g2(at.take(96)) for _ in range(2)))


def generators(nonce):
    """u, g1_0, h0_0"""
    return tuple(hash_to_g1(nonce, name) for name in (b"clew-xr-u-1", b"clew-xr-g1-1", b"clew-xr-h0-1"))


def check_epoch_0(key, nonce, proof):
    u, g1, h0 = generators(nonce)
    need(eq(key.u, u) and eq(key.g1, g1) and eq(key.h0, h0), "invalid", "generators")
    need(eq(key.lift, G2), "invalid", "lift")
    need(proof_holds(proof, (G2, key.w), prefix=(D("clew-xr-issuer-1"), nonce, key.w)), "invalid", "proof of gamma")
    need(pairings_equal(key.h_w, G2, key.h, key.w), "invalid", "h_w")


def check_epoch(key, first):
    need(eq(key.u, first.u) and eq(key.w, first.w), "invalid", "u or w")
    need(pairings_equal(key.g1, key.lift, first.g1, G2), "invalid", "g1")
    need(pairings_equal(key.h0, key.lift, first.h0, G2), "invalid", "h0")
    need(pairings_equal(key.h_w, G2, key.h, key.w), "invalid", "h_w")


@dataclass(frozen=True)
class Signature:
    T1: tuple
    T2: tuple
    R3: tuple
    c: bytes
    sa: int
    sx: int
    sd: int
    sy: int


def decode_signature(data):
    need(len(data) == SIGNATURE, "length")
    at = Reader(data)
    points = [at.take(48) for _ in range(3)]
    c, *s = at.take(16), *(decode_scalar(at.take(32)) for _ in range(4))
    return Signature(*map(decode_g1, points), c, *s)


def check_hash(id, message, data):
    """Whether c of the incremental form is the hash of what it carries, as bytes."""
    need(len(data) == INCREMENTAL, "length")
    hashed = (D("clew-xr-signature-1"), id, data[:96], data[SIGNATURE:], data[96:144], message)
    need(data[144:160] == hash_of(*hashed)[:16], "invalid", "c")


def verify(key, id, message, data, incremental=False):
    """3.4. Raises Refused: `invalid`, or why it does not decode."""
    carried = None
    if incremental:
        need(len(data) == INCREMENTAL, "length")
        data, carried = data[:SIGNATURE], data[SIGNATURE:]
    # 0. Decode
    s = decode_signature(data)
    if carried:
        decode_g1(carried)
    R1 = derive(key, s)
    need(carried in (None, encode(R1)), "invalid", "R1")
    need(s.c == hash_of(D("clew-xr-signature-1"), id, s.T1, s.T2, R1, s.R3, message)[:16], "invalid", "c")
    check_pairing(key, s)


def derive(key, s):
    """3.4 step 1: R1' = u^sa T1^(-c), which is not the identity."""
    R1 = powers((key.u, s.sa), (s.T1, -decode_short(s.c)))
    need(not is_inf(R1), "invalid", "R1")
    return R1


def check_pairing(key, s):
    """3.4 step 2"""
    c = decode_short(s.c)
    # e(T2^sx h^(-sd) h0^(-sy) g1^(-c) R3^(-1), G2) e(T2^c h^(-sa), w) = 1
    left = powers((s.T2, s.sx), (key.h, -s.sd), (key.h0, -s.sy), (key.g1, -c), (s.R3, -1))
    right = powers((s.T2, c), (key.h, -s.sa))
    need(pairings_give_one((left, G2), (right, key.w)), "invalid", "pairing")


def pseudonym_base(scope):
    """3.9: B"""
    return hash_to_g1(scope, b"clew-xr-nym-1")


def verify_pseudonym(key, id, scope, message, data):
    """3.9"""
    need(len(data) == SIGNATURE + 48, "length")
    s, nym, B = decode_signature(data[:SIGNATURE]), decode_g1(data[SIGNATURE:]), pseudonym_base(scope)
    R1, R4 = derive(key, s), powers((B, s.sy), (nym, -decode_short(s.c)))
    hashed = (D("clew-xr-pseudonym-1"), id, s.T1, s.T2, R1, s.R3, B, nym, R4, message)
    need(s.c == hash_of(*hashed)[:16], "invalid", "c")
    check_pairing(key, s)


def ciphertext(data):
    """The points to decrypt with bases u: [T1], and the point that hides A: T2 (3.6, 5.3)."""
    s = decode_signature(data[:SIGNATURE])
    return [s.T1], s.T2


def share_bases(key):
    """5: the base and C_0 of each secret that is shared."""
    return [(key.u, key.h)]


def tag(A, key):
    """3.6"""
    return hash_of(D("clew-xr-tag-1"), gt_bytes((A, key.lift)))


def step(key, revocation):
    """3.7: the key after a revocation, checked."""
    need(len(revocation) == REVOCATION, "length")
    at = Reader(revocation)
    x = decode_scalar(at.take(32))
    new = Key(decode_g1(at.take(48)), decode_g1(at.take(48)), key.u, key.h, key.h_w, key.w, decode_g2(at.take(96)))
    wx = powers((key.w, 1), (G2, x))
    need(pairings_equal(new.g1, wx, key.g1, G2), "invalid", "g1")
    need(pairings_equal(new.h0, wx, key.h0, G2), "invalid", "h0")
    need(pairings_equal(new.g1, new.lift, key.g1, key.lift), "invalid", "lift")
    return new


def check_member(key, A, x, y):
    """3.7, the member's check but for those of the key: e(A, w G2^x) = e(g1 h0^y, G2)"""
    need(pairings_equal(A, powers((key.w, 1), (G2, x)), powers((key.g1, 1), (key.h0, y)), G2), "invalid", "member")


def update_member(A, x, y, x_star, new):
    """3.7: A' = (g1' h0'^y / A)^(1/(x - x*))"""
    need((x - x_star) % r != 0, "revoked")
    return power(powers((new.g1, 1), (new.h0, y), (A, -1)), pow(x - x_star, -1, r))
