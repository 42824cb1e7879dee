"""The arithmetic of BLS12-381 by arkworks, which is quick. `curve.py` says what each function is for."""

from operator import add, eq, neg  # noqa: F401

from py_arkworks_bls12381 import G1Point, G2Point, GT, Scalar

G1, G2 = G1Point(), G2Point()


def multiply(point, n):
    return point * Scalar(n)


def is_inf(point):
    return point == point.identity()


def in_subgroup(point):
    return point.is_in_subgroup()


def decompress(data):
    try:
        return (G1Point if len(data) == 48 else G2Point).from_compressed_bytes_unchecked(data)
    except ValueError:
        return None


def compress(point):
    return point.to_compressed_bytes()


def hash_to_g1(message, dst):
    return G1Point.hash_to_curve(message, dst)


def pairings_give_one(*pairs):
    return GT.pairing_check(*map(list, zip(*pairs)))


def gt_bytes(*pairs):
    """arkworks computes e as blst does. It writes its elements as a(j,k,n) in the order of j, then k, then n, each of them
    little-endian."""
    data = bytes.fromhex(str(GT.multi_pairing(*map(list, zip(*pairs)))))
    a = lambda j, k, n: data[48 * (6 * j + 2 * k + n) :][:48][::-1]
    return b"".join(a(j, k, n) for k in range(3) for j in range(2) for n in range(2))
