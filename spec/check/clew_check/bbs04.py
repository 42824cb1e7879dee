"""group-signature.md section 4: the scheme bbs04."""

from dataclasses import dataclass, replace

from . import need, Reader
from .curve import *

CODE, KEY, SIGNATURE, INCREMENTAL, MEMBER = 1, 192, 336, 1104, 80


@dataclass(frozen=True)
class Key:
    """4.1: the public key of an epoch, with g1 = G1 and g2 = G2. Only v changes."""

    h: Point
    u: Point
    v_: Point  # the paper's v
    w: Point
    v: Point
    g2 = G2  # the paper's; here it never moves

    @property
    def base(self):
        """g1 V_e"""
        return product(G1, self.v)

    def encode(self):
        """As a founding key."""
        return encode(self.u) + encode(self.v_) + encode(self.w)


def hash_h(nonce):
    return hash_to_g1(nonce, b"clew-bbs04-h-1")


def first_v(nonce):
    """V of epoch 0"""
    return hash_to_g1(nonce + bytes(4), b"clew-bbs04-v-1")


def rebased_v(nonce, epoch, epoch_id):
    """V of a rebase: two rebases of one number, as after a restored backup, have two of them."""
    return hash_to_g1(nonce + epoch.to_bytes(4, "big") + epoch_id, b"clew-bbs04-v-1")


def founded(nonce, data):
    """The key of epoch 0."""
    need(len(data) == KEY, "length")
    at = Reader(data)
    u, v_, w = decode_g1(at.take(48)), decode_g1(at.take(48)), decode_g2(at.take(96))
    return in_epoch(Key(hash_h(nonce), u, v_, w, None), first_v(nonce))


def in_epoch(key, v):
    need(not is_inf(product(G1, v)), "invalid", "g1 V")
    return replace(key, v=v)


def check_genesis(key, nonce, proof=b""):
    """h and V are derived; nothing else is to be checked."""
    need(proof == b"", "length")


@dataclass(frozen=True)
class Signature:
    T1: Point
    T2: Point
    T3: Point
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
    R2 = powers((key.v_, s.s_beta), (s.T2, -s.c))
    # R3' with what is paired with g2 and with w put together
    R3 = gt_bytes(
        (powers((s.T3, s.s_x), (key.h, -s.s_delta1 - s.s_delta2), (key.base, -s.c)), key.g2),
        (powers((s.T3, s.c), (key.h, -s.s_alpha - s.s_beta)), key.w),
    )
    R4 = powers((s.T1, s.s_x), (key.u, -s.s_delta1))
    R5 = powers((s.T2, s.s_x), (key.v_, -s.s_delta2))
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
    """The points to decrypt, with bases u and v, and the point that hides B_e (4.5, 5.3)."""
    s = decode_signature(data[:SIGNATURE])
    return [s.T1, s.T2], s.T3


def share_bases(key):
    """5: the base and C_0 of each secret that is shared."""
    return [(key.u, key.h), (key.v_, key.h)]


def _fits(key, point, X, base):
    """point = base^(1/(gamma+x)), X = G2^x"""
    return pairings_equal(point, product(key.w, X), base, G2)


def certifies(key, A, X):
    """e(A, w X) = e(G1, G2)"""
    return _fits(key, A, X, G1)


def names(key, B, X):
    """e(B_e, w X) = e(G1 V_e, G2)"""
    return _fits(key, B, X, key.base)


def index(B):
    """By which a register finds B_e."""
    return hash_of(B)


def check_member(key, A, x):
    """4.1: in all epochs alike"""
    need(certifies(key, A, power(G2, x)), "invalid", "credential")


def check_witness(key, W, x):
    need(_fits(key, W, power(G2, x), key.v), "invalid", "witness")


def decode_member(data):
    """A, x"""
    need(len(data) == MEMBER, "length")
    x = decode_secret(data[48:])
    return decode_g1(data[:48]), x
