"""flow-carriage.md: codes, restoring, tags; every rule broken."""

import random
from unittest import main

from common import Case, flip, Refused
from clew_check import carriage, vectors_carriage
from clew_check.carriage import Code, Tags
from clew_check.curve import hash_of
from prover import u16

ID = bytes(range(16))


def blob(length):
    return random.Random(length).randbytes(length)


class Field(Case):
    def test_axioms(self):
        rng, times = random.Random(1), carriage.times
        self.assertEqual(times(0x80, 2), 0x1D)
        for a in range(256):
            b, c = rng.randrange(256), rng.randrange(256)
            self.assertEqual(times(a, b), times(b, a))
            self.assertEqual(times(a, times(b, c)), times(times(a, b), c))
            self.assertEqual(times(a, b ^ c), times(a, b) ^ times(a, c))
            self.assertEqual(times(a, 1), a)
            self.assertEqual(times(a, carriage.INVERSE[a]), int(a > 0))


class Codes(Case):
    """Sections 1 and 2"""

    def test_by_hand(self):
        """Two shares give a line: its value at 2 is a + 2 (a + b), at 3 a + 3 (a + b)."""
        a, b = blob(64)[:32], blob(64)[32:]
        shares = Code(4, 2, 64).shares(a + b)
        self.assertEqual(shares[:2], [a, b])
        for x in (2, 3):
            self.assertEqual(shares[x], bytes(p ^ carriage.times(x, p ^ q) for p, q in zip(a, b, strict=True)))

    def test_any_set_restores(self):
        rng = random.Random(2)
        for count in (2, 3, 5, 16, 17, 64, 100, 256):
            for percent in (1, 25, 60, 100):
                k = carriage.needed(percent, count)
                code = Code(count, k, rng.randrange(64, 1201))
                shares = list(enumerate(code.shares(blob(code.length))))
                rng.shuffle(shares)
                self.assertEqual(code.restore(shares[:k]), blob(code.length))
                self.refuses("too-few", code.restore, shares[: k - 1])

    def test_rules(self):
        for rule, code in (
            ("count", (1, 1, 64)), ("count", (257, 1, 64)), ("needed", (9, 0, 64)), ("needed", (9, 10, 64)),
            ("blob-length", (9, 3, 63)), ("blob-length", (9, 3, 1201)),
        ):  # fmt: skip
            self.refuses(rule, Code, *code)
        code = Code(9, 4, 79)
        shares = list(enumerate(code.shares(blob(79))))
        self.refuses("blob-length", code.shares, blob(80))
        self.refuses("index", code.restore, [*shares, (9, shares[0][1])])
        self.refuses("share-length", code.restore, [*shares[:4], (5, b"")])
        self.refuses("repeated", code.restore, [*shares, shares[0]])
        longer = list(enumerate(Code(9, 4, 80).shares(blob(80))))
        self.assertNotEqual(blob(80)[-1], 0)
        self.refuses("padding", code.restore, longer)
        self.refuses("padding", code.restore, longer[4:])


class TagTree(Case):
    """Section 3"""

    def test_by_hand(self):
        """Three shares: the third moves up as it is."""
        H, code = hash_of, Code(3, 1, 64)
        shares = code.shares(blob(64))
        a, b, c = (H(b"\2", ID, u16(i), b"\0\3\x08\0\1\0\x40", shares[i]) for i in range(3))
        pair = H(b"\3", ID, b"\1\0\0", a[:8], b[:8])
        top = H(b"\3", ID, b"\2\0\0", pair[:8], c[:8])
        tags = Tags(ID, code, 8)
        self.assertEqual(tags.tree(shares), (top, [b[:8] + c[:8], a[:8] + c[:8], pair[:8]]))
        self.assertEqual(tags.root(2, shares[2], pair[:8]), top)

    def test_everything_counts(self):
        rng = random.Random(3)
        for count in (2, 9, 16, 33):
            code = Code(count, carriage.needed(25, count), 100)
            tags, shares = Tags(ID, code, rng.choice(carriage.SIZES)), code.shares(blob(100))
            root, all_tags = tags.tree(shares)
            for i, (share, tag) in enumerate(zip(shares, all_tags, strict=True)):
                self.assertEqual(tags.root(i, share, tag), root)
                bit = 1 << rng.randrange(8)
                self.assertNotEqual(tags.root(i, flip(share, rng.randrange(len(share)), bit), tag), root)
                self.assertNotEqual(tags.root(i, share, flip(tag, rng.randrange(len(tag)), bit)), root)
                self.assertNotEqual(Tags(flip(ID, 5), code, tags.size).root(i, share, tag), root)
                if (length := 100 + (-100 % code.needed)) != 100:  # shares of the same size
                    other = Code(count, code.needed, length)
                    self.assertNotEqual(Tags(ID, other, tags.size).root(i, share, tag), root)
                for j in range(count):
                    if j != i:
                        try:
                            self.assertNotEqual(tags.root(j, share, tag), root)
                        except Refused as refused:
                            self.assertEqual(refused.rule, "tag-length")

    def test_rules(self):
        code = Code(9, 3, 64)
        tags, shares = Tags(ID, code, 8), code.shares(blob(64))
        _, all_tags = tags.tree(shares)
        self.refuses("tag-size", Tags, ID, code, 16)
        self.refuses("index", tags.root, 9, shares[0], all_tags[0])
        self.refuses("share-length", tags.root, 0, shares[0][1:], all_tags[0])
        self.refuses("tag-length", tags.root, 0, shares[0], all_tags[0][1:])
        self.refuses("tag-length", tags.root, 8, shares[8], all_tags[0])


class Vectors(Case):
    def test_checks(self):
        """All that a vector asks is answered."""
        self.assertEqual(set(vectors_carriage.CHECKS), {"rate", "code", "restore", "tags", "root"})


if __name__ == "__main__":
    main()
