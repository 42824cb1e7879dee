"""flow-signature.md sections 1 to 4 and 7, and steps 1 to 5: descriptors, packet signatures, what is signed, RTP."""

import unicodedata
from dataclasses import dataclass
from hashlib import sha256

from . import carriage, ed25519, effs, need, Reader, Refused
from .flow_tree import Tree, u

MAGIC, FIXED = bytes.fromhex("c14c464c"), 40
FULL, SPARSE, CODED, SHORT, UNTAGGED = range(1, 6)
TAG_SIZES = {CODED: 8, SHORT: 4, UNTAGGED: 0}
LEAST_NEEDED = 4
SALT, TIMESTAMP = 16, 8
KEYS = {1: ed25519.Key, 2: effs.Key}
LONGEST_SIGNATURE, ALL = 1192, 256


class Descriptor:
    """Section 2"""

    def __init__(self, data):
        rule = "bad-descriptor"
        fields = Reader(data, rule)
        need(fields.number(1) == 1, rule)
        self.suite, self.size, self.degree, self.most = (fields.number(width) for width in (1, 1, 2, 2))
        flags, algorithm = fields.number(1), fields.number(1)
        key = fields.take(fields.number(2))
        name = fields.take(fields.number(1))
        fields.end()
        need(self.suite in (1, 2) and self.size in (16, 24, 32), rule)
        need(2 <= self.degree <= 1024 and 1 <= self.most <= 1024 and flags < 4, rule)
        need(algorithm in KEYS and len(name) <= 64, rule)
        try:
            self.name, self.key = name.decode(), KEYS[algorithm](key)
        except (UnicodeDecodeError, Refused):
            raise Refused(rule)
        need(self.key.signature_size <= LONGEST_SIGNATURE, rule)
        self.blob_size = TIMESTAMP + self.key.signature_size
        need(not any(unicodedata.category(c) == "Cc" for c in self.name), rule)
        self.salted, self.every = bool(flags & 1), bool(flags & 2)
        self.data, self.digest = data, sha256(b"clew-flow-desc-1" + data).digest()
        self.key_id = self.digest[:4]

    def tree(self, found):
        return Tree(self.suite, self.degree, self.size, found.id, found.count)

    def check(self, found, root, blob, bits=ALL, domain=b"clew-flow-v1"):
        """Section 5, step 10; of a signature that has levels, up to so many bits."""
        try:
            found_bits = self.key.verify_to(bits, self.message(found, root, blob, domain), blob[TIMESTAMP:])
        except Refused:
            raise Refused("bad-signature")
        need(found_bits >= effs.ENOUGH, "weak")

    def message(self, found, root, blob, domain=b"clew-flow-v1"):
        """Section 4"""
        place = found.tag + u(found.seq, 4) + blob[:TIMESTAMP] + u(found.count, 2) + found.id
        return domain + bytes(4) + self.digest + place + root


@dataclass
class Found:
    """A packet and its signature, section 3."""

    descriptor: Descriptor
    id: bytes
    tag: bytes
    seq: int
    index: int
    count: int
    carriage: int
    packet: bytes = b""
    salt: bytes = b""
    path: tuple = ()
    blob: bytes = b""  # of full carriage
    needed: int = 0  # k
    share: bytes = b""
    share_tag: bytes = b""

    @property
    def sequence(self):
        return self.descriptor.key_id, self.tag

    @property
    def block(self):
        return (*self.sequence, self.seq, self.id, self.count)

    @property
    def coded(self):
        return self.carriage in TAG_SIZES

    def root(self):
        return self.descriptor.tree(self).root(self.index, self.salt + self.packet, self.path)

    def code(self):
        return carriage.Code(self.count, self.needed, self.descriptor.blob_size)

    def share_root(self):
        """What its share leads to; or k, without tags."""
        if self.carriage == UNTAGGED:
            return self.needed
        return carriage.Tags(self.id, self.code(), TAG_SIZES[self.carriage]).root(self.index, self.share, self.share_tag)


def read_fixed(data, descriptors):
    """Section 5, steps 1 to 3, with the descriptors by key id: the packet, and what stands between it and the fixed
    fields."""
    need(len(data) >= FIXED and data.endswith(MAGIC), "unsigned")
    fixed = Reader(data[-FIXED:])
    block_id, tag, seq, key_id = fixed.take(16), fixed.take(4), fixed.number(4), fixed.take(4)
    index, count, kind, version, length = (fixed.number(width) for width in (2, 2, 1, 1, 2))
    need(version == 1, "unknown-version")
    need(FIXED <= length <= len(data), "bad-length")
    need(key_id in descriptors, "unknown-flow")
    packet, between = data[: len(data) - length], data[len(data) - length : -FIXED]
    return Found(descriptors[key_id], block_id, tag, seq, index, count, kind, packet), Reader(between, "bad-length")


def read(data, descriptors, untagged=False):
    """Section 5, steps 1 to 5; `untagged`: carriage 5 is taken."""
    found, fields = read_fixed(data, descriptors)
    descriptor = found.descriptor
    need(1 <= found.count <= descriptor.most and found.index < found.count, "bad-block")
    need(FULL <= found.carriage <= UNTAGGED, "unknown-carriage")
    found.salt = fields.take(SALT if descriptor.salted else 0)
    size = descriptor.size
    path = fields.take(size * descriptor.tree(found).depth(found.index))
    found.path = [path[at : at + size] for at in range(0, len(path), size)]
    if found.carriage == FULL:
        found.blob = fields.take(descriptor.blob_size)
    elif found.coded:
        read_share(found, fields)
    fields.end()
    need(found.carriage != UNTAGGED or untagged, "untagged")
    return found


def read_share(found, fields):
    need(9 <= found.count <= 256, "coded-count")
    found.needed = fields.number(2)
    need(LEAST_NEEDED <= found.needed <= found.count, "needed")
    found.share = fields.take(found.code().size)
    found.share_tag = fields.take(TAG_SIZES[found.carriage] * len(carriage.sides(found.index, found.count)))


def from_rtp(data):
    """Section 7: a packet whose signature is its padding, with the signature behind it; any other as it is."""
    n = data[-1] if data else 0
    padded = len(data) > 12 and data[0] >> 6 == 2 and data[0] & 0x20
    if not padded or not FIXED < n <= len(data) - 12 or data.endswith(MAGIC) or not data[:-1].endswith(MAGIC):
        return data
    return bytes([data[0] & ~0x20]) + data[1:-1]
