"""NaCl's boxes (Bernstein, Cryptography in NaCl) and X25519 (RFC 7748)."""

from struct import pack, unpack

_p = 2**255 - 19
_SIGMA = unpack("<4I", b"expand 32-byte k")


def x25519(secret, public):
    k = bytearray(secret)
    k[0] &= 248
    k[31] = k[31] & 127 | 64
    k, u = int.from_bytes(k, "little"), int.from_bytes(public, "little") % 2**255
    x2, z2, x3, z3 = 1, 0, u, 1
    for t in reversed(range(255)):
        bit = k >> t & 1
        if bit:
            x2, z2, x3, z3 = x3, z3, x2, z2
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a, b * b, d * a, c * b
        e = aa - bb
        x3, z3 = (da + cb) ** 2 % _p, u * (da - cb) ** 2 % _p
        x2, z2 = aa * bb % _p, e * (aa + 121665 * e) % _p
        if bit:
            x2, z2, x3, z3 = x3, z3, x2, z2
    return (x2 * pow(z2, -1, _p) % _p if z2 % _p else 0).to_bytes(32, "little")


def public(secret):
    return x25519(secret, (9).to_bytes(32, "little"))


def _rounds(key, block):
    """Twenty rounds of Salsa20: what went in, and what comes out."""
    k, n, s = unpack("<8I", key), unpack("<4I", block), _SIGMA
    start = [s[0], *k[:4], s[1], *n, s[2], *k[4:], s[3]]
    x = list(start)

    def turn(a, b, c, d):
        for to, one, other, by in ((b, a, d, 7), (c, b, a, 9), (d, c, b, 13), (a, d, c, 18)):
            t = (x[one] + x[other]) & 0xFFFFFFFF
            x[to] ^= (t << by | t >> (32 - by)) & 0xFFFFFFFF

    for _ in range(10):
        for quarter in ((0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11)):
            turn(*quarter)
        for quarter in ((0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14)):
            turn(*quarter)
    return start, x


def hsalsa20(key, block):
    x = _rounds(key, block)[1]
    return pack("<8I", *(x[i] for i in (0, 5, 10, 15, 6, 7, 8, 9)))


def _stream(key, nonce, length):
    key, out = hsalsa20(key, nonce[:16]), b""
    for counter in range(-(-length // 64)):
        start, x = _rounds(key, nonce[16:] + pack("<Q", counter))
        out += pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(start, x, strict=True)))
    return out[:length]


def _poly1305(key, message):
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    h = 0
    for i in range(0, len(message), 16):
        h = (h + int.from_bytes(message[i : i + 16] + b"\x01", "little")) * r % (2**130 - 5)
    return ((h + int.from_bytes(key[16:], "little")) % 2**128).to_bytes(16, "little")


def seal(key, nonce, text):
    stream = _stream(key, nonce, 32 + len(text))
    body = bytes(a ^ b for a, b in zip(text, stream[32:], strict=True))
    return _poly1305(stream[:32], body) + body


def opened(key, nonce, box):
    """The text, or None."""
    stream = _stream(key, nonce, 32 + len(box) - 16)
    if _poly1305(stream[:32], box[16:]) != box[:16]:
        return None
    return bytes(a ^ b for a, b in zip(box[16:], stream[32:], strict=True))
