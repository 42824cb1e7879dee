"""group-signature.md sections 1 and 2: BLS12-381, its encodings, and hashes. Groups are written multiplicatively:
`power(P, n)` is P^n and `product(P, Q)` is P Q.

The rules are here. The arithmetic is by a library: `curve_arkworks.py`, or `curve_py_ecc.py` if CLEW_CHECK_CURVE is py_ecc."""

from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from os import environ

from . import Reader, need, Refused

library = import_module(f".curve_{environ.get('CLEW_CHECK_CURVE', 'arkworks')}", __package__)
G1, G2, eq, is_inf, neg = library.G1, library.G2, library.eq, library.is_inf, library.neg
Point = type(G1) | type(G2)

p = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB
r = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
LAMBDA = 0xD201000000010000**2 - 1  # of the short challenge


# Points ------------------------------------------------------------------------------------------------------------


def power(point, exponent):
    return library.multiply(point, exponent % r)


def product(*points):
    result = points[0]
    for point in points[1:]:
        result = library.add(result, point)
    return result


def powers(*pairs):
    """The product of P^n over pairs (P, n)."""
    return product(*(power(point, exponent) for point, exponent in pairs))


def _decode(data, size):
    need(len(data) == size, "length")
    need(data[0] & 0x80, "point")
    bits = bytes([data[0] & 0x1F]) + data[1:]
    if data[0] & 0x40:
        need(not data[0] & 0x20 and not any(bits), "point")
        raise Refused("identity")
    need(all(int.from_bytes(bits[i : i + 48], "big") < p for i in range(0, size, 48)), "point")
    point = library.decompress(data)  # the one with this x and sign, if there is one
    need(point is not None, "point")
    need(library.in_subgroup(point), "subgroup")
    return point


@lru_cache(1000)
def decode_g1(data):
    return _decode(data, 48)


@lru_cache(1000)
def decode_g2(data):
    return _decode(data, 96)


def encode(point):
    """Compressed, of G1 or G2."""
    return library.compress(point)


@lru_cache(1000)
def hash_to_g1(message, name):
    """RFC 9380; the DST is the name and the suite."""
    return library.hash_to_g1(message, name + b":BLS12381G1_XMD:SHA-256_SSWU_RO_")


# Pairings ----------------------------------------------------------------------------------------------------------


def pairings_give_one(*pairs):
    """Whether the product of e(P, Q) over pairs (P, Q) is 1; a fixed power of e does not matter."""
    return library.pairings_give_one(*pairs)


def pairings_equal(P, Q, P2, Q2):
    """e(P, Q) = e(P2, Q2)"""
    return pairings_give_one((P, Q), (neg(P2), Q2))


def gt_bytes(*pairs):
    """The product of e(P, Q), with e as section 1 has it, in the 576 bytes of section 2."""
    return library.gt_bytes(*pairs)


# Scalars and challenges ----------------------------------------------------------------------------------------------


def decode_scalar(data):
    need(len(data) == 32, "length")
    need(int.from_bytes(data, "big") < r, "scalar")
    return int.from_bytes(data, "big")


def decode_secret(data):
    need(decode_scalar(data) != 0, "scalar")
    return decode_scalar(data)


def decode_long(data):
    need(len(data) == 32, "length")
    need(data[0] < 0x40, "scalar")
    return int.from_bytes(data, "big")


def decode_short(data):
    need(len(data) == 16, "length")
    return int.from_bytes(data[:8], "big") + LAMBDA * int.from_bytes(data[8:], "big")


def encode_scalar(n):
    return (n % r).to_bytes(32, "big")


def D(text):
    return text.encode().ljust(32, b"\0")


def hash_of(*parts):
    """SHA-256; points are encoded."""
    return sha256(b"".join(part if isinstance(part, bytes) else encode(part) for part in parts)).digest()


def long_challenge(*parts):
    """The digest with its two most significant bits cleared, in 32 bytes."""
    digest = hash_of(*parts)
    return bytes([digest[0] & 0x3F]) + digest[1:]


def decode_proof(proof):
    """c || s as numbers."""
    fields = Reader(proof, "length")
    c, s = fields.take(32), fields.take(32)
    fields.end()
    return decode_long(c), decode_scalar(s)


def make_proof(k, exponent, *bases, prefix):
    """The proof c || s with the nonce k that every base was raised to this exponent."""
    c = long_challenge(*prefix, *(power(B, k) for B in bases))
    return c + encode_scalar(k + int.from_bytes(c, "big") * exponent)


def proof_holds(proof, *equations, prefix):
    """A proof c || s that all equations (B, K) have the same exponent K = B^e:
    c = SHA-256(prefix || B^s K^(-c) of each), as a long challenge."""
    n, e = decode_proof(proof)
    return proof[:32] == long_challenge(*prefix, *(powers((B, e), (K, -n)) for B, K in equations))
