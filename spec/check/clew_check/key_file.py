"""key-file.md: the three keys, and sealed ones."""

import struct

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from . import bbs04, need, Reader, Refused, text, xr
from .curve import decode_g1, decode_secret
from .group_file import read_name, SCHEMES

MEMBER, ISSUER, TRUSTEE, SEALED = "clew-member-key-1", "clew-issuer-key-1", "clew-trustee-key-1", "clew-sealed-1"


def open_text(data, wanted):
    """The payload of the label that is asked for."""
    found = text.label(data)
    need(found == wanted, "label", found)
    return text.read(data)[1]


def damaged(read):
    """A field that does not decode is `damaged`."""

    def wrapped(data, wanted):
        at = Reader(open_text(data, wanted))
        try:
            fields = read(at)
            at.end()
            return fields
        except Refused as refused:
            raise Refused("damaged", refused)

    return wrapped


def read_scheme(at):
    code = at.take(1)
    need(code[0] in SCHEMES, "layout")
    return code, SCHEMES[code[0]]


@damaged
def member(at):
    code, scheme = read_scheme(at)
    fields = {"scheme": code, "group": at.take(16), "epoch": at.take(4), "epoch-id": at.take(32)}
    fields["machine"] = read_name(at)[1:]
    fields["public-key"] = at.take(scheme.KEY)
    fields["member-key"] = at.take(80 if scheme is bbs04 else 112)
    if scheme is xr:
        fields["device-seed"] = at.take(32)
    key = fields["member-key"]
    for i in range(48, len(key), 32):
        decode_secret(key[i : i + 32])
    decode_g1(key[:48]), scheme.decode_key(fields["public-key"])
    return fields


@damaged
def issuer(at):
    code, _ = read_scheme(at)
    fields = {"scheme": code, "group": at.take(16), "gamma": at.take(32)}
    decode_secret(fields["gamma"])
    return fields | {"manager-seed": at.take(32), "seed": at.take(32)}


@damaged
def trustee(at):
    code, scheme = read_scheme(at)
    fields = {"scheme": code, "group": at.take(16), "since": at.take(4), "index": at.take(1)}
    need(1 <= fields["index"][0] <= 32, "layout")
    fields["share"] = [at.take(32) for _ in range(1 if scheme is xr else 2)]
    for share in fields["share"]:
        decode_secret(share)
    return fields


def derive_x(seed, salt, name, order):
    """Section 2"""
    wide = HKDF(SHA256(), 64, salt, b"clew-x-1" + name).derive(seed)
    return int.from_bytes(wide, "little") % order


def unseal(data, passphrase=None, key_file=None):
    """Section 3: the text within."""
    at = Reader(open_text(data, SEALED))
    try:
        head = at.data[:53]
        kind, salt = at.number(1), at.take(16)
        memory, passes, lanes = (at.number(4) for _ in range(3))
        nonce, ciphertext = at.take(24), at.rest()
        need(kind in (1, 2) and len(ciphertext) >= 16, "layout")
        need(memory <= 2**20 and 1 <= passes <= 16 and 1 <= lanes <= 16 and memory >= 8 * lanes, "layout")
    except Refused as refused:
        raise Refused("damaged", refused)
    need((passphrase is None) == (kind == 2), "wrong-secret", "kind")
    if kind == 1:
        key = Argon2id(salt=salt, length=32, iterations=passes, lanes=lanes, memory_cost=memory).derive(passphrase)
    else:
        key = HKDF(SHA256(), 32, salt, b"clew-sealed-1 key file").derive(key_file)
    try:
        return ChaCha20Poly1305(hchacha20(key, nonce[:16])).decrypt(bytes(4) + nonce[16:], ciphertext, head)
    except InvalidTag:
        raise Refused("wrong-secret")


def hchacha20(key, nonce):
    """draft-irtf-cfrg-xchacha-03, 2.2: the key for the last 8 bytes of a nonce of 24."""
    x = list(struct.unpack("<16I", b"expand 32-byte k" + key + nonce))

    def quarter(a, b, c, d):
        for p, q, s, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[p] = (x[p] + x[q]) & 0xFFFFFFFF
            mixed = x[s] ^ x[p]
            x[s] = (mixed << n | mixed >> (32 - n)) & 0xFFFFFFFF

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return struct.pack("<8I", *x[:4], *x[12:])

