"""flow-carriage.md: the coded carriage of a block's blob. By definition, and therefore slow."""

from dataclasses import dataclass
from hashlib import sha256

from . import need
from .tree import sides

SIZES = (4, 8)


def times(a, b):
    """Section 2: polynomials over GF(2), modulo x^8 + x^4 + x^3 + x^2 + 1."""
    product = 0
    for bit in range(8):
        if b >> bit & 1:
            product ^= a << bit
    for bit in range(15, 7, -1):
        if product >> bit & 1:
            product ^= 0x11D << (bit - 8)
    return product


def multiples(a):
    """a times each b: each bit of b adds its own multiple."""
    out = [0]
    for bit in range(8):
        more = times(a, 1 << bit)
        out += [multiple ^ more for multiple in out]
    return bytes(out)


PRODUCT = [multiples(a) for a in range(256)]
INVERSE = [0] + [PRODUCT[a].index(1) for a in range(1, 256)]


def factors(points, x):
    """Lagrange's: of each point's value, in the value at x."""
    out = []
    for own in points:
        factor = 1
        for other in points:
            if other != own:
                factor = PRODUCT[factor][PRODUCT[x ^ other][INVERSE[own ^ other]]]
        out.append(factor)
    return out


def value(shares, x):
    """The share at x of the polynomials through the shares {index: bytes}."""
    out = 0
    for factor, share in zip(factors(list(shares), x), shares.values(), strict=True):
        out ^= int.from_bytes(share.translate(PRODUCT[factor]), "big")
    return out.to_bytes(len(share), "big")


def needed(percent, count):
    return -(-count * percent // 100)


@dataclass(frozen=True)
class Code:
    """Sections 1 and 2"""

    count: int  # m
    needed: int  # k
    length: int  # L

    def __post_init__(self):
        need(2 <= self.count <= 256, "count")
        need(1 <= self.needed <= self.count, "needed")
        need(64 <= self.length <= 1200, "blob-length")

    @property
    def size(self):
        return -(-self.length // self.needed)

    def shares(self, blob):
        need(len(blob) == self.length, "blob-length")
        padded = blob.ljust(self.needed * self.size, b"\0")
        first = {i: padded[i * self.size : (i + 1) * self.size] for i in range(self.needed)}
        return [first[i] if i in first else value(first, i) for i in range(self.count)]

    def ok(self, index, share):
        need(index < self.count, "index")
        need(len(share) == self.size, "share-length")

    def restore(self, shares):
        """Of (index, share) in the order of arrival."""
        known = {}
        for index, share in shares:
            self.ok(index, share)
            need(index not in known, "repeated")
            known[index] = share
        need(len(known) >= self.needed, "too-few")
        first = dict(list(known.items())[: self.needed])
        padded = b"".join(first[i] if i in first else value(first, i) for i in range(self.needed))
        need(not any(padded[self.length :]), "padding")
        return padded[: self.length]


def H(*parts):
    return sha256(b"".join(parts)).digest()


@dataclass(frozen=True)
class Tags:
    """Section 3"""

    id: bytes
    code: Code
    size: int  # T

    def __post_init__(self):
        need(self.size in SIZES, "tag-size")

    def leaf(self, i, share):
        numbers = [(i, 2), (self.code.count, 2), (self.size, 1), (self.code.needed, 2), (self.code.length, 2)]
        return H(b"\2", self.id, *(n.to_bytes(width, "big") for n, width in numbers), share)

    def node(self, level, j, left, right):
        return H(b"\3", self.id, bytes([level]), j.to_bytes(2, "big"), left[: self.size], right[: self.size])

    def root(self, i, share, tag):
        """The root that a share and its tag lead to."""
        self.code.ok(i, share)
        way = sides(i, self.code.count)
        need(len(tag) == self.size * len(way), "tag-length")
        digest = self.leaf(i, share)
        for place, (level, j, is_left) in enumerate(way):
            sibling = tag[place * self.size : (place + 1) * self.size]
            left, right = (sibling, digest) if is_left else (digest, sibling)
            digest = self.node(level, j, left, right)
        return digest

    def tree(self, shares):
        """The root, and each share's tag: level by level, a last node alone moving up as it is."""
        nodes, tags, level = [self.leaf(i, share) for i, share in enumerate(shares)], [b""] * len(shares), 0
        while len(nodes) > 1:
            for i in range(len(shares)):
                sibling = (i >> level) ^ 1
                if sibling < len(nodes):
                    tags[i] += nodes[sibling][: self.size]
            level += 1
            pairs = [nodes[at : at + 2] for at in range(0, len(nodes), 2)]
            nodes = [self.node(level, j, *pair) if len(pair) == 2 else pair[0] for j, pair in enumerate(pairs)]
        return nodes[0], tags
