"""Ed25519 (RFC 8032), verified strictly: canonical encodings, no key and no R of small order."""

from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from . import need

_p = 2**255 - 19
_d = -121665 * pow(121666, -1, _p) % _p


def _small_order_ys():
    """y of the points of order 1, 2, 4 and 8. Order 8: 2P has y = 0, where x^2 = -y^2: d y^4 + 2 y^2 - 1 = 0."""
    minus1 = pow(2, (_p - 1) // 4, _p)  # a root of -1

    def root(a):
        y = pow(a, (_p + 3) // 8, _p)
        return next((z for z in (y, y * minus1 % _p) if z * z % _p == a), None)

    ys = {0, 1, _p - 1}
    half = root((1 + _d) % _p)  # y^2 = (-1 +- sqrt(1 + d)) / d
    for sign in (1, -1):
        y = root((-1 + sign * half) * pow(_d, -1, _p) % _p)
        ys |= {y, _p - y} if y else set()
    return ys


_SMALL = _small_order_ys()


def _bad(point):
    y = int.from_bytes(point, "little") & (2**255 - 1)
    return y >= _p or y in _SMALL


@lru_cache(1000)
def is_key(key):
    """A point of the curve in its one encoding, of no small order."""
    y = int.from_bytes(key, "little") & (2**255 - 1)
    if _bad(key):
        return False
    x2 = (y * y - 1) * pow(_d * y * y + 1, -1, _p) % _p
    return pow(x2, (_p - 1) // 2, _p) == 1  # x = 0 is of small order


def verifies(key, signature, message):
    if _bad(key) or _bad(signature[:32]):
        return False
    try:  # OpenSSL: S is below the order; R is compared as bytes, without the cofactor
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        return True
    except (InvalidSignature, ValueError):
        return False


class Key:
    """Of a flow descriptor."""

    signature_size = 64

    def __init__(self, data):
        need(len(data) == 32 and is_key(data), "public-key")
        self.data = data

    def verify_to(self, bits, message, signature):
        """How many bits a signature that holds is worth, whatever is asked."""
        need(verifies(self.data, signature, message), "signature")
        return 128
