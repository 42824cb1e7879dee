"""group-signature.md section 4: the scheme bbs04."""

from dataclasses import dataclass

from . import need, Reader
from .curve import *

CODE, KEY, REVOCATION, SIGNATURE, INCREMENTAL = 1, 480, 272, 336, 1104


@dataclass(frozen=True)
class Key:
    """4.1: the public key of an epoch."""

    g1: tuple
    h: tuple
    u: tuple
    v: tuple
    g2: tuple
    w: tuple
    lift: tuple

    def encode(self):
        return b"".join(encode(point) for point in vars(self).values())


def decode_key(data):
    need(len(data) == KEY, "length")
    at = Reader(data)
    return Key(*(decode_g1(at.take(48)) for _ in range(4)), *(decode_g2(at.take(96)) for _ in range(3)))


def hash_h(nonce):
    return hash_to_g1(nonce, b"clew-bbs04-h-1")


def check_epoch_0(key, nonce, proof=b""):
    check_first(key)
    need(eq(key.h, hash_h(nonce)), "invalid", "h")


def check_first(key):
    need(eq(key.g1, G1) and eq(key.g2, G2) and eq(key.lift, G2), "invalid", "generators")


def check_epoch(key, first):
    """4.7"""
    need(eq(key.h, first.h) and eq(key.u, first.u) and eq(key.v, first.v), "invalid", "h, u or v")
    need(pairings_equal(key.g1, G2, G1, key.g2), "invalid", "g2")
    need(pairings_equal(key.g1, first.w, G1, key.w), "invalid", "w")
    need(pairings_equal(key.g1, key.lift, G1, G2), "invalid", "lift")


@dataclass(frozen=True)
class Signature:
    T1: tuple
    T2: tuple
    T3: tuple
    c: int
    s_alpha: int
    s_beta: int
    s_x: int
    s_delta1: int
    s_delta2: int


def decode_signature(data):
    need(len(data) == SIGNATURE, "length")
    at = Reader(data)
    points = [at.take(48) for _ in range(3)]
    c, *s = decode_long(at.take(32)), *(decode_scalar(at.take(32)) for _ in range(5))
    return Signature(*map(decode_g1, points), c, *s)


def derive(key, s):
    """4.4: R1' to R5'"""
    R1 = powers((key.u, s.s_alpha), (s.T1, -s.c))
    R2 = powers((key.v, s.s_beta), (s.T2, -s.c))
    # R3' with what is paired with g2 and with w put together
    R3 = gt_bytes(
        (powers((s.T3, s.s_x), (key.h, -s.s_delta1 - s.s_delta2), (key.g1, -s.c)), key.g2),
        (powers((s.T3, s.c), (key.h, -s.s_alpha - s.s_beta)), key.w),
    )
    R4 = powers((s.T1, s.s_x), (key.u, -s.s_delta1))
    R5 = powers((s.T2, s.s_x), (key.v, -s.s_delta2))
    return [encode(R1), encode(R2), R3, encode(R4), encode(R5)]


def challenge(id, s, R, message):
    """4.3"""
    return long_challenge(b"clew-bbs04-sig-1", id, s.T1, s.T2, s.T3, *R, message)


def check_hash(id, message, data):
    """Whether c of the incremental form is the hash of what it carries, as bytes."""
    need(len(data) == INCREMENTAL, "length")
    hashed = (b"clew-bbs04-sig-1", id, data[:144], data[SIGNATURE:], message)
    need(data[144:176] == long_challenge(*hashed), "invalid", "c")


def verify(key, id, message, data, incremental=False):
    """4.4. Raises Refused: `invalid`, or why it does not decode."""
    carried = None
    if incremental:
        need(len(data) == INCREMENTAL, "length")
        data, carried = data[:SIGNATURE], data[SIGNATURE:]
    s = decode_signature(data)
    c = data[144:176]
    if carried:
        need(c == challenge(id, s, [carried], message), "invalid", "c")
    R = derive(key, s)
    need(carried in (None, b"".join(R)), "invalid", "R")
    need(c == challenge(id, s, R, message), "invalid", "c")


def ciphertext(data):
    """The points to decrypt, with bases u and v, and the point that hides A (4.5, 5.3)."""
    s = decode_signature(data[:SIGNATURE])
    return [s.T1, s.T2], s.T3


def share_bases(key):
    """5: the base and C_0 of each secret that is shared."""
    return [(key.u, key.h), (key.v, key.h)]


def tag(A, key):
    """4.5"""
    return hash_of(b"clew-bbs04-tag-1", gt_bytes((A, key.lift)))


def step(key, revocation):
    """4.6: the key after a revocation, checked. w' = g2 / g2'^x*"""
    need(len(revocation) == REVOCATION, "length")
    at = Reader(revocation)
    x = decode_scalar(at.take(32))
    g1, g2, lift = decode_g1(at.take(48)), decode_g2(at.take(96)), decode_g2(at.take(96))
    w = powers((key.g2, 1), (g2, -x))
    need(not is_inf(w), "invalid", "w")
    need(pairings_equal(g1, powers((key.w, 1), (key.g2, x)), key.g1, key.g2), "invalid", "g1")
    need(pairings_equal(key.g1, g2, g1, key.g2), "invalid", "g2")
    need(pairings_equal(g1, lift, key.g1, key.lift), "invalid", "lift")
    return Key(g1, key.h, key.u, key.v, g2, w, lift)


def check_member(key, A, x):
    """4.1: e(A, w g2^x) = e(g1, g2)"""
    need(pairings_equal(A, powers((key.w, 1), (key.g2, x)), key.g1, key.g2), "invalid", "member")


def update_member(A, x, x_star, new):
    """4.6: A' = (g1'/A)^(1/(x - x*))"""
    need((x - x_star) % r != 0, "revoked")
    return power(powers((new.g1, 1), (A, -1)), pow(x - x_star, -1, r))
