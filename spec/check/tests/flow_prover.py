"""A tiny signer of flows. For tests only."""

from dataclasses import dataclass
from hashlib import sha256
from random import Random

import effs_prover
from clew_check import carriage, flow, flow_manifest
from clew_check.flow_tree import u
from prover import device, public

TIME = 1_800_000_000_000_000_000


@dataclass(frozen=True)
class Place:
    tag: bytes = b"tag!"
    seq: int = 7000
    id: bytes = bytes(range(16))
    time: int = TIME


class EffsDevice:
    def __init__(self, secret):
        self.secret = secret

    def sign(self, message):
        return effs_prover.sign(self.secret, message, Random(message))


class Signer:
    def __init__(self, suite=1, size=16, degree=2, most=64, flags=0, name="flow", label="flow", key=None, secret=None):
        """`secret`: of eFFS."""
        self.device = EffsDevice(secret) if secret else device(label)
        key = key or (secret.key.data if secret else public(self.device))
        head = u(1, 1) + u(suite, 1) + u(size, 1) + u(degree, 2) + u(most, 2) + u(flags, 1) + u(2 if secret else 1, 1)
        self.bytes = head + u(len(key), 2) + key + u(len(name.encode()), 1) + name.encode()

    @property
    def descriptor(self):
        return flow.Descriptor(self.bytes)

    def found(self, place, count, kind, index=0):
        return flow.Found(self.descriptor, place.id, place.tag, place.seq, index, count, kind)

    def blob(self, place, found, root, domain=b"clew-flow-v1"):
        time = u(place.time, flow.TIMESTAMP)
        return time + self.device.sign(self.descriptor.message(found, root, time, domain))

    def fixed(self, found, behind):
        """What stands behind a packet, with the fixed fields."""
        place = found.id + found.tag + u(found.seq, 4) + self.descriptor.key_id + u(found.index, 2) + u(found.count, 2)
        return behind + place + u(found.carriage, 1) + b"\1" + u(len(behind) + flow.FIXED, 2) + flow.MAGIC

    def block(self, contents, kind=flow.FULL, place=Place(), needed=4, blob=None):
        """All packets of a block, in one carriage; `blob` in the place of the right one."""
        count = len(contents)
        salts = [sha256(place.id + u(i, 2)).digest()[:16] if self.descriptor.salted else b"" for i in range(count)]
        root, paths = self.descriptor.tree(self.found(place, count, kind)).build([s + c for s, c in zip(salts, contents)])
        carried = self.carried(place, count, kind, needed, blob or self.blob(place, self.found(place, count, kind), root))
        return [
            contents[i] + self.fixed(self.found(place, count, kind, i), salts[i] + b"".join(paths[i]) + carried[i])
            for i in range(count)
        ]

    def carried(self, place, count, kind, needed, blob):
        if kind not in flow.TAG_SIZES:
            return [blob if kind == flow.FULL else b""] * count
        code, size = carriage.Code(count, needed, len(blob)), flow.TAG_SIZES[kind]
        shares, tags = code.shares(blob), [b""] * count
        if size:
            _, tags = carriage.Tags(place.id, carriage.Code(count, needed, self.descriptor.blob_size), size).tree(shares)
        return [u(needed, 2) + share + tag for share, tag in zip(shares, tags, strict=True)]

    def manifest(self, contents, place=Place(), index=flow_manifest.ALONE):
        """Section 10; with the index of a packet, what stands behind it in full form."""
        digests = b"".join(flow_manifest.digest(self.descriptor, content) for content in contents)
        found = self.found(place, len(contents), flow_manifest.MANIFEST, index)
        blob = self.blob(place, found, sha256(digests).digest(), b"clew-flow-m1")
        return self.fixed(found, digests + blob)
