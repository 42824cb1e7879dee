"""The arithmetic of BLS12-381 by py_ecc, which is slow and readable. `curve.py` says what each function is for."""

from hashlib import sha256

from py_ecc.bls.hash_to_curve import hash_to_G1
from py_ecc.fields import optimized_bls12_381_FQ as FQ, optimized_bls12_381_FQ2 as FQ2, optimized_bls12_381_FQ12 as FQ12
from py_ecc.optimized_bls12_381 import G1, G2, add, curve_order as r, eq, field_modulus as p, is_inf, multiply, neg  # noqa: F401
from py_ecc.optimized_bls12_381 import normalize, pairing
from py_ecc.optimized_bls12_381.optimized_pairing import final_exponentiate


def in_subgroup(point):
    return is_inf(multiply(point, r))


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


def decompress(data):
    bits = bytes([data[0] & 0x1F]) + data[1:]
    x = [int.from_bytes(bits[i : i + 48], "big") for i in range(0, len(bits), 48)]
    if len(x) == 1:
        x, b, one, root = FQ(x[0]), FQ(4), FQ(1), _sqrt_fp
    else:
        x, b, one, root = FQ2([x[1], x[0]]), FQ2([4, 4]), FQ2([1, 0]), _sqrt_fp2
    y = root(x * x * x + b)
    if y is None:
        return None
    return (x, y if _larger(y) == bool(data[0] & 0x20) else -y, one)


def compress(point):
    size = 48 if isinstance(point[0], FQ) else 96
    if is_inf(point):
        return bytes([0xC0]) + bytes(size - 1)
    x, y = normalize(point)
    data = b"".join(n.to_bytes(48, "big") for n in _numbers(x))
    return bytes([data[0] | 0x80 | (0x20 if _larger(y) else 0)]) + data[1:]


def hash_to_g1(message, dst):
    return hash_to_G1(message, dst, sha256)


def _product_of_pairings(pairs):
    value = FQ12.one()
    for P, Q in pairs:
        value *= pairing(Q, P, final_exponentiate=False)
    return final_exponentiate(value)


def pairings_give_one(*pairs):
    return _product_of_pairings(pairs) == FQ12.one()


def gt_bytes(*pairs):
    """e is the power -3 of py_ecc's.

    py_ecc writes Fp12 as Fp[w] with w^6 = 1 + i; so c_m w^m + c_(m+6) w^(m+6) is (c_m + c_(m+6) + c_(m+6) i) w^m,
    and w^m is v^k w^j for m = 2k + j."""
    value = (FQ12.one() / _product_of_pairings(pairs)) ** 3
    c = [int(n) for n in value.coeffs]
    out = b""
    for m in (2 * k + j for k in range(3) for j in range(2)):
        out += ((c[m] + c[m + 6]) % p).to_bytes(48, "big") + c[m + 6].to_bytes(48, "big")
    return out
