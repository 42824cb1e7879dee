"""tree.md: the tree of digests over a block of packets."""

from dataclasses import dataclass
from hashlib import sha256

COUNT_MAX, SIZES = 1024, (16, 24, 32)


@dataclass(frozen=True)
class Block:
    """Section 1"""

    id: bytes
    count: int
    size: int  # D

    def ok(self):
        return 1 <= self.count <= COUNT_MAX and self.size in SIZES


def H(*parts):
    return sha256(b"".join(parts)).digest()


def leaf(block, i, content):
    place = i.to_bytes(2, "big") + block.count.to_bytes(2, "big") + bytes([block.size])
    return H(b"\0", block.id, place, content)


def node(block, level, j, left, right):
    return H(b"\1", block.id, bytes([level]), j.to_bytes(2, "big"), left[: block.size], right[: block.size])


def sides(i, count):
    """Section 2: for each digest of the path, from the leaf upwards: level and place of the node that it leads to,
    and whether the sibling is the left one."""
    own, last, level, out = i, count - 1, 0, []
    while last:
        if own % 2 or own < last:
            out.append((level + 1, own // 2, own % 2 == 1))
        own, last, level = own // 2, last // 2, level + 1
    return out


def root_of(block, i, content, path):
    """The root that a path of the right number of digests leads to."""
    digest = leaf(block, i, content)
    for (level, j, is_left), sibling in zip(sides(i, block.count), path, strict=True):
        left, right = (sibling, digest) if is_left else (digest, sibling)
        digest = node(block, level, j, left, right)
    return digest
