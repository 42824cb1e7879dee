"""tree.md section 4: trees of any degree, with BLAKE3 or SHA-256."""

from dataclasses import dataclass
from hashlib import sha256

from blake3 import blake3

BLAKE3, SHA256 = 1, 2


def u(number, width):
    return number.to_bytes(width, "big")


@dataclass(frozen=True)
class Tree:
    suite: int
    degree: int  # d
    size: int  # D
    id: bytes
    count: int

    def leaf(self, i, content):
        if self.suite == SHA256:
            return sha256(b"\0" + self.id + u(i, 2) + u(self.count, 2) + u(self.size, 1) + content).digest()
        return blake3(content + u(i, 2) + b"\0", key=self.key()).digest()

    def node(self, level, j, children):
        """Of children that are cut already."""
        children = b"".join(children)
        if self.suite == SHA256:
            return sha256(b"\1" + self.id + u(level, 1) + u(j, 2) + children).digest()
        return blake3(children + u(j, 2) + u(level, 1) + b"\1", key=self.key()).digest()

    def key(self):
        """K"""
        numbers = u(self.count, 2) + u(self.size, 1) + u(self.degree, 2)
        return blake3(b"clew-tree-v1" + bytes(4) + self.id + numbers).digest()

    def way(self, i):
        """Of each node on the way that has siblings, from the leaf upwards: level and place of its parent, its own
        place among the children, and how many they are."""
        out, nodes, level = [], self.count, 0
        while nodes > 1:
            parent, place, level = i // self.degree, i % self.degree, level + 1
            children = min(self.degree, nodes - parent * self.degree)
            if children > 1:
                out.append((level, parent, place, children))
            i, nodes = parent, -(-nodes // self.degree)
        return out

    def depth(self, i):
        """How many digests the path has."""
        return sum(children - 1 for _, _, _, children in self.way(i))

    def root(self, i, content, path):
        """The root that a path of the right number of digests leads to."""
        digest, path = self.leaf(i, content), list(path)
        for level, parent, place, children in self.way(i):
            siblings, path = path[: children - 1], path[children - 1 :]
            siblings.insert(place, digest[: self.size])
            digest = self.node(level, parent, siblings)
        assert not path
        return digest

    def build(self, contents):
        """The root, and the path of each packet."""
        levels = [[self.leaf(i, content) for i, content in enumerate(contents)]]
        while len(levels[-1]) > 1:
            below, d = levels[-1], self.degree
            families = [[digest[: self.size] for digest in below[at : at + d]] for at in range(0, len(below), d)]
            alone = [below[at] for at in range(0, len(below), d)]  # it moves up as it is
            nodes = (self.node(len(levels), j, f) if len(f) > 1 else alone[j] for j, f in enumerate(families))
            levels.append(list(nodes))
        return levels[-1][0], [self.path(i, levels[:-1]) for i in range(self.count)]

    def path(self, i, levels):
        path = []
        for level in levels:
            first = i - i % self.degree
            path += [level[j][: self.size] for j in range(first, min(first + self.degree, len(level))) if j != i]
            i //= self.degree
        return path
