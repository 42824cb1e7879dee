"""key-file.md: the three keys, and sealed ones."""

import struct

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from . import join, need, Reader, Refused, text, xr
from .curve import D, decode_g1, decode_proof, decode_secret
from .ed25519 import verifies
from .group_file import read_name, SCHEMES

MEMBER, ISSUER, TRUSTEE, SEALED = "clew-member-key-1", "clew-issuer-key-1", "clew-trustee-key-1", "clew-sealed-1"
INVITATION, JOIN_REQUEST, OFFER = "clew-invitation-1", "clew-join-request-1", "clew-offer-1"
ACCEPTANCE, CREDENTIAL = "clew-acceptance-1", "clew-credential-1"
EPOCHS_MAX, BUCKET = 16, 1024


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


def ascending(numbers):
    need(all(a < b for a, b in zip(numbers, numbers[1:])), "layout", "order")


def read_count(at):
    count = at.number(1)
    need(1 <= count <= EPOCHS_MAX, "layout", "count")
    return count


@damaged
def member(at):
    """All fields as bytes; those of epochs are lists."""
    code, scheme = read_scheme(at)
    fields = {"scheme": code, "group": at.take(16), "nonce": at.take(32)}
    fields["machine"], fields["index"] = read_name(at)[1:], at.take(4)
    fields["member-key"] = at.take(scheme.MEMBER)
    if scheme is xr:
        fields["device-seed"] = at.take(32)
    sizes = {"epoch": 4, "epoch-id": 32, "start": 8, "founding-key": scheme.KEY, "v": 48, "witness": 48}
    held = [{name: at.take(size) for name, size in sizes.items()} for _ in range(read_count(at))]
    scheme.decode_member(fields["member-key"])
    ascending([epoch["epoch"] for epoch in held])
    need(all(epoch["founding-key"][-96:] == held[0]["founding-key"][-96:] for epoch in held), "layout", "w")
    for epoch in held:
        epoch_key(scheme, fields["nonce"], epoch), decode_g1(epoch["witness"])
    return fields | {name: [epoch[name] for epoch in held] for name in sizes}


def epoch_key(scheme, nonce, epoch):
    """The public key of a held epoch."""
    return scheme.in_epoch(scheme.founded(nonce, epoch["founding-key"]), decode_g1(epoch["v"]))


def held_at(starts, time):
    """Which of the held epochs signs at a time: the last that is in force, else the earliest."""
    return max((i for i, start in enumerate(starts) if start <= time), default=0)


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


# Joining (section 2) -----------------------------------------------------------------------------------------------------


@damaged
def invitation(at):
    fields = {"group": at.take(16), "nonce": at.take(32), "machine": read_name(at)[1:]}
    return fields | {"signature": at.take(64)}


def check_invitation(fields, manager):
    name = bytes([len(fields["machine"])]) + fields["machine"]
    signed_text = D(INVITATION) + fields["group"] + fields["nonce"] + name
    need(verifies(manager, fields["signature"], signed_text), "not-the-managers")


@damaged
def join_request(at):
    fields = {"nonce": at.take(32), "device-key": at.take(32), "request": at.take(join.REQUEST)}
    join.decode_request(fields["request"])
    return fields


@damaged
def offer(at):
    fields = {"nonce": at.take(32), "joined": at.take(4), "epoch-id": at.take(32), "how": at.take(1), "replaces": at.take(4)}
    need(fields["how"] in (b"\1", b"\2", b"\3"), "layout", "how")
    fields["offer"] = at.take(join.OFFER)
    join.decode_offer(fields["offer"])
    return fields


@damaged
def acceptance(at):
    fields = {"nonce": at.take(32), "signature": at.take(64), "proof": at.take(64)}
    decode_proof(fields["proof"])
    return fields


@damaged
def credential(at):
    fields = {"nonce": at.take(32), "index": at.take(4)}
    held = [(at.take(4), at.take(48)) for _ in range(read_count(at))]
    ascending([epoch for epoch, _ in held])
    for _, witness in held:
        decode_g1(witness)
    return fields | {"epoch": [epoch for epoch, _ in held], "witness": [witness for _, witness in held]}


def derive(kind, seed, salt, name, order):
    """x ("clew-x-1") or s ("clew-s-1") of an offer, whose salt is fresh."""
    wide = HKDF(SHA256(), 64, salt, kind + name).derive(seed)
    return int.from_bytes(wide, "little") % order


def derive_x(seed, salt, name, order):
    return derive(b"clew-x-1", seed, salt, name, order)


def derive_s(seed, salt, name, order):
    return derive(b"clew-s-1", seed, salt, name, order)


# Buckets of witnesses, which are binary


def read_bucket(data):
    """Group id, epoch, first row, and witnesses as bytes; None for a row that is revoked or enrolled later."""
    at = Reader(data, "layout")
    need(at.take(16) == b"clew-witness-1\n\0", "layout", "header")
    group, epoch, first, count = at.take(16), at.number(4), at.number(4), at.number(2)
    need(1 <= count <= BUCKET, "layout", "count")
    given = [at.take(48) for _ in range(count)]
    at.end()
    return group, epoch, first, [None if W == bytes(48) else W for W in given]


def find_witness(data, group, epoch, index):
    """W of a row. That it fits, the member checks."""
    of, e, first, given = read_bucket(data)
    need(of == group, "other-group")
    need(e == epoch, "other-epoch", e)
    need(first == index // BUCKET * BUCKET, "other-rows", first)
    need(index - first < len(given) and given[index - first] is not None, "no-witness")
    try:
        return decode_g1(given[index - first])
    except Refused as refused:
        raise Refused("point", refused)


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

