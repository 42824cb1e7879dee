"""group-signature.md sections 1 and 2: BLS12-381, its encodings, and hashes. Groups are written multiplicatively:
`power(P, n)` is P^n and `product(P, Q)` is P Q."""

from functools import lru_cache
from hashlib import sha256

from py_ecc.bls.hash_to_curve import hash_to_G1
from py_ecc.fields import optimized_bls12_381_FQ as FQ, optimized_bls12_381_FQ2 as FQ2, optimized_bls12_381_FQ12 as FQ12
from py_ecc.optimized_bls12_381 import G1, G2, Z1, add, curve_order as r, eq, field_modulus as p, is_inf, multiply, neg
from py_ecc.optimized_bls12_381 import normalize, pairing
from py_ecc.optimized_bls12_381.optimized_pairing import final_exponentiate

from . import Reader, need, Refused

LAMBDA = 0xD201000000010000**2 - 1  # of the short challenge


# Points ------------------------------------------------------------------------------------------------------------


def power(point, exponent):
    return multiply(point, exponent % r)


def product(*points):
    result = points[0]
    for point in points[1:]:
        result = add(result, point)
    return result


def powers(*pairs):
    """The product of P^n over pairs (P, n)."""
    return product(*(power(point, exponent) for point, exponent in pairs))


def _sqrt_fp(a):
    y = a ** ((p + 1) // 4)
    return y if y * y == a else None


def _sqrt_fp2(a):
    """Square root for p = 3 mod 4 (Adj and Rodriguez-Henriquez, algorithm 9)."""
    a1 = a ** ((p - 3) // 4)
    x0 = a1 * a
    alpha = a1 * x0
    y = FQ2([0, 1]) * x0 if alpha == FQ2([p - 1, 0]) else (FQ2([1, 0]) + alpha) ** ((p - 1) // 2) * x0
    return y if y * y == a else None


def _numbers(y):
    """The coefficients of a field element as numbers, the most significant one first."""
    return [int(y)] if isinstance(y, FQ) else [int(c) for c in reversed(y.coeffs)]


def _larger(y):
    """y > -y: numbers are compared; in Fp2 first those of i."""
    return _numbers(y) > _numbers(-y)


def _decode(data, size):
    need(len(data) == size, "length")
    need(data[0] & 0x80, "point")
    bits = bytes([data[0] & 0x1F]) + data[1:]
    if data[0] & 0x40:
        need(not data[0] & 0x20 and not any(bits), "point")
        raise Refused("identity")
    x = [int.from_bytes(bits[i : i + 48], "big") for i in range(0, size, 48)]
    need(all(n < p for n in x), "point")
    if size == 48:
        x, b, one, root = FQ(x[0]), FQ(4), FQ(1), _sqrt_fp
    else:
        x, b, one, root = FQ2([x[1], x[0]]), FQ2([4, 4]), FQ2([1, 0]), _sqrt_fp2
    y = root(x * x * x + b)
    need(y is not None, "point")
    if _larger(y) != bool(data[0] & 0x20):
        y = -y
    point = (x, y, one)
    need(is_inf(multiply(point, r)), "subgroup")
    return point


@lru_cache(1000)
def decode_g1(data):
    return _decode(data, 48)


@lru_cache(1000)
def decode_g2(data):
    return _decode(data, 96)


def encode(point):
    """Compressed, of G1 or G2."""
    size = 48 if isinstance(point[0], FQ) else 96
    if is_inf(point):
        return bytes([0xC0]) + bytes(size - 1)
    x, y = normalize(point)
    data = b"".join(n.to_bytes(48, "big") for n in _numbers(x))
    return bytes([data[0] | 0x80 | (0x20 if _larger(y) else 0)]) + data[1:]


def hash_to_g1(message, name):
    """RFC 9380; the DST is the name and the suite."""
    return hash_to_G1(message, name + b":BLS12381G1_XMD:SHA-256_SSWU_RO_", sha256)


# Pairings ----------------------------------------------------------------------------------------------------------


def _product_of_pairings(pairs):
    value = FQ12.one()
    for P, Q in pairs:
        value *= pairing(Q, P, final_exponentiate=False)
    return final_exponentiate(value)


def pairings_give_one(*pairs):
    """Whether the product of e(P, Q) over pairs (P, Q) is 1; a fixed power of e does not matter."""
    return _product_of_pairings(pairs) == FQ12.one()


def pairings_equal(P, Q, P2, Q2):
    """e(P, Q) = e(P2, Q2)"""
    return pairings_give_one((P, Q), (neg(P2), Q2))


def gt_bytes(*pairs):
    """The product of e(P, Q), with e as blst computes it, in 576 bytes (sections 1 and 2).

    py_ecc writes Fp12 as Fp[w] with w^6 = 1 + i; so c_m w^m + c_(m+6) w^(m+6) is (c_m + c_(m+6) + c_(m+6) i) w^m,
    and w^m is v^k w^j for m = 2k + j."""
    value = (FQ12.one() / _product_of_pairings(pairs)) ** 3
    c = [int(n) for n in value.coeffs]
    out = b""
    for m in (2 * k + j for k in range(3) for j in range(2)):
        out += ((c[m] + c[m + 6]) % p).to_bytes(48, "big") + c[m + 6].to_bytes(48, "big")
    return out


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
