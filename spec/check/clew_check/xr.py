"""group-signature.md section 3: the scheme xr."""

from dataclasses import dataclass, replace

from . import need, Reader
from .curve import *

CODE, KEY, SIGNATURE, INCREMENTAL, MEMBER = 2, 192, 288, 336, 112


@dataclass(frozen=True)
class Key:
    """3.1: the public key of an epoch. Only v, and h and h_w with a new opening key, change."""

    u: Point
    g1: Point
    h0: Point
    h: Point
    h_w: Point
    w: Point
    v: Point

    @property
    def base(self):
        """g1 V_e"""
        return product(self.g1, self.v)

    def encode(self):
        """As a founding key."""
        return encode(self.h) + encode(self.h_w) + encode(self.w)


def generators(nonce):
    """u, g1, h0"""
    return tuple(hash_to_g1(nonce, name) for name in (b"clew-xr-u-1", b"clew-xr-g1-1", b"clew-xr-h0-1"))


def first_v(nonce):
    """V of epoch 0"""
    return hash_to_g1(nonce + bytes(4), b"clew-xr-v-1")


def rebased_v(nonce, epoch, epoch_id):
    """V of a rebase: two rebases of one number, as after a restored backup, have two of them."""
    return hash_to_g1(nonce + epoch.to_bytes(4, "big") + epoch_id, b"clew-xr-v-1")


def founded(nonce, data):
    """The key of epoch 0."""
    need(len(data) == KEY, "length")
    at = Reader(data)
    h, h_w, w = decode_g1(at.take(48)), decode_g1(at.take(48)), decode_g2(at.take(96))
    u, g1, h0 = generators(nonce)
    return in_epoch(Key(u, g1, h0, h, h_w, w, None), first_v(nonce))


def in_epoch(key, v):
    need(not is_inf(product(key.g1, v)), "invalid", "g1 V")
    return replace(key, v=v)


def with_opening(key, h, h_w):
    """3.8"""
    key = replace(key, h=h, h_w=h_w)
    check_opening(key)
    return key


def check_opening(key):
    need(pairings_equal(key.h_w, G2, key.h, key.w), "invalid", "h_w")


def check_genesis(key, nonce, proof):
    need(proof_holds(proof, (G2, key.w), prefix=(D("clew-xr-issuer-1"), nonce, key.w)), "invalid", "proof of gamma")
    check_opening(key)


@dataclass(frozen=True)
class Signature:
    T1: Point
    T2: Point
    R3: Point
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
    # e(T2^sx h^(-sd) h0^(-sy) (g1 V_e)^(-c) R3^(-1), G2) e(T2^c h^(-sa), w) = 1
    left = powers((s.T2, s.sx), (key.h, -s.sd), (key.h0, -s.sy), (key.base, -c), (s.R3, -1))
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
    """The points to decrypt with bases u: [T1], and the point that hides B_e: T2 (3.6, 5.3)."""
    s = decode_signature(data[:SIGNATURE])
    return [s.T1], s.T2


def share_bases(key):
    """5: the base and C_0 of each secret that is shared."""
    return [(key.u, key.h)]


def _fits(key, point, x, base):
    """point = base^(1/(gamma+x))"""
    return pairings_equal(point, powers((key.w, 1), (G2, x)), base, G2)


def certifies(key, A, C, x):
    """e(A, w G2^x) = e(g1 C, G2)"""
    return _fits(key, A, x, product(key.g1, C))


def names(key, B, C, x):
    """e(B_e, w G2^x) = e(g1 V_e C, G2)"""
    return _fits(key, B, x, product(key.base, C))


def index(B):
    """3.6: by which a register finds B_e"""
    return hash_of(B)


def fits(key, Q, B):
    """Q = B^gamma"""
    return pairings_equal(Q, G2, B, key.w)


def row_fits(key, Q, B, C, x):
    """With such a Q, without a pairing: g1 V_e C B^(-x) = Q"""
    return eq(powers((key.base, 1), (C, 1), (B, -x)), Q)


def check_member(key, A, x, y):
    """3.2: the credential, in all epochs alike"""
    need(certifies(key, A, power(key.h0, y), x), "invalid", "credential")


def check_witness(key, W, x):
    """3.7: e(W_e, w G2^x) = e(V_e, G2)"""
    need(_fits(key, W, x, key.v), "invalid", "witness")


def decode_member(data):
    """A, x, y"""
    need(len(data) == MEMBER, "length")
    secrets = [decode_secret(data[i : i + 32]) for i in (48, 80)]
    return decode_g1(data[:48]), *secrets
