"""flow-signature.md section 10: manifests, and packets that stay as they are."""

from dataclasses import dataclass
from hashlib import sha256

from blake3 import blake3

from . import flow, need, Reader
from .flow_receiver import Receiver
from .flow_tree import BLAKE3

MANIFEST = 6  # the carriage
ALONE = 0xFFFF  # index of a manifest beside its packets
LIST, DOMAIN = b"clew-flow-list1\n", b"clew-flow-m1"


def digest(descriptor, packet):
    if descriptor.suite == BLAKE3:
        return blake3(b"clew-flow-list-1" + packet, key=descriptor.digest).digest()
    return sha256(b"clew-flow-list-1" + descriptor.digest + packet).digest()


@dataclass
class Manifest:
    """Alone, or behind one of its packets."""

    found: flow.Found
    digests: list
    blob: bytes

    @property
    def root(self):
        return sha256(b"".join(self.digests)).digest()

    def message(self):
        return self.found.descriptor.message(self.found, self.root, self.blob, DOMAIN)

    def check(self, bits=flow.ALL):
        self.found.descriptor.check(self.found, self.root, self.blob, bits, DOMAIN)


def read(data, descriptors):
    """Section 5, steps 1 to 5."""
    found, fields = flow.read_fixed(data, descriptors)
    alone, descriptor = found.index == ALONE, found.descriptor
    need(1 <= found.count <= descriptor.most and (alone or found.index < found.count), "bad-block")
    need(not descriptor.salted, "bad-block")
    need(found.carriage == MANIFEST, "unknown-carriage")
    manifest = Manifest(found, [fields.take(32) for _ in range(found.count)], fields.take(descriptor.blob_size))
    fields.end()
    need(not alone or not found.packet, "bad-length")
    return manifest


def full_form(data, descriptors):
    """The packet of a full form that holds."""
    manifest = read(data, descriptors)
    found = manifest.found
    need(found.index != ALONE, "bad-block")
    need(manifest.digests[found.index] == digest(found.descriptor, found.packet), "bad-digest")
    manifest.check()
    return found.packet


def manifests(data):
    """Of a sidecar file."""
    fields = Reader(data, "damaged")
    need(fields.take(len(LIST)) == LIST, "damaged")
    out = []
    while fields.at < len(data):
        out.append(fields.take(fields.number(4)))
    return out


@dataclass
class Listed:
    """A manifest that was verified, and which of its digests packets took."""

    id: bytes
    count: int
    digests: list
    taken: set


class ManifestReceiver(Receiver):
    """Manifests come by a way of their own; any packet may be of one."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.packets = {}

    def _judge(self, number, packet):
        self.packets[number] = packet
        return self.take(packet)

    def judge_manifest(self, data, time=None):
        """The reason, which has its place among those of packets."""
        self.time, number = time, len(self.reasons)
        self.reasons.append("pending")
        self.decide(number, lambda: self.take_in(data))
        for other, packet in self.packets.items():
            if self.reasons[other] == "pending":
                self.reasons[other] = self.take(packet)
        return self.reasons[number]

    def take_in(self, data):
        manifest = read(data, self.descriptors)
        found = manifest.found
        need(found.index == ALONE, "bad-length")  # a packet is in front of it
        self.manifest = manifest
        self.check_replay(found)
        self.check_freshness(manifest.blob)
        manifest.check(self.bits)
        self.remember(found, Listed(found.id, found.count, manifest.digests, set()))
        return "ok"

    def check_same(self, found, block):
        same = (found.id, found.count, self.manifest.digests) == (block.id, block.count, block.digests)
        need(False, "duplicate" if same else "conflict")

    def take(self, packet):
        for (key_id, _), blocks in self.tags.items():
            wanted = digest(self.descriptors[key_id], packet)
            for block in blocks.values():
                free = [i for i, one in enumerate(block.digests) if one == wanted and i not in block.taken]
                if free:
                    block.taken.add(free[0])
                    return "ok"
        return "pending"

    def end(self):
        """No manifest comes any more."""
        listed = {one for blocks in self.tags.values() for block in blocks.values() for one in block.digests}
        for number, packet in self.packets.items():
            if self.reasons[number] == "pending":
                again = any(digest(descriptor, packet) in listed for descriptor in self.descriptors.values())
                self.reasons[number] = "duplicate" if again else "no-signature"
