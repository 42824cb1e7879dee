"""The two libraries of the curve, arkworks and py_ecc, compute the same: points, encodings, hashes and pairings."""

import random
import unittest
from contextlib import suppress
from pathlib import Path
from unittest import mock

from common import Case
from clew_check import curve, curve_arkworks, curve_py_ecc, Refused, vectors
from clew_check.cases import read

BOTH = curve_arkworks, curve_py_ecc
VECTORS = Path(__file__).parents[2] / "vectors"
WITH_POINTS = "group-file", "group-signature", "key-file", "opening", "opening-key", "packet-trailer"
NUMBERS = (0, 1, 2, curve.r - 1, 2**64, 0x1234567890ABCDEF << 180, curve.LAMBDA)
# The squares of primes in the cofactors, which are nearly all of them.
COFACTORS = {
    48: (0x396C8C005555E1568C00AAAB0000AAAB, (11, 10177, 859267, 52437899)),
    96: (
        0x5D543A95414E7F1091D50792876A202CD91DE4547085ABAA68A205B2E5A7DDFA628F1CB4D9E82EF21537E293A6691AE1616EC6E786F0C70CF1C38E31C7238E5,
        (13, 23),
    ),
}


def generators(library):
    return library.G1, library.G2


def decoded(library, data):
    """The encoding again, or the rule that it breaks, by section 2."""
    with mock.patch.object(curve, "library", library):
        try:
            return curve.encode(curve._decode(data, len(data)))
        except Refused as refused:
            return refused.rule


class Libraries(Case):
    def alike(self, ask):
        """What `ask` says of a library, which is the same of both."""
        one, other = map(ask, BOTH)
        self.assertEqual(one, other)
        return one

    def test_arithmetic(self):
        def values(library):
            for G in generators(library):
                points = [library.multiply(G, n) for n in NUMBERS]
                points += [library.neg(P) for P in points] + [library.add(P, Q) for P in points for Q in (G, points[0], points[-1])]
                yield [library.compress(P) for P in points], [library.is_inf(P) for P in points]
                yield [library.in_subgroup(P) for P in points], [library.eq(P, points[3]) for P in points]

        self.alike(lambda library: list(values(library)))

    def test_encodings(self):
        """All x from 0, of which some have a point, with either sign, and few of those are in the subgroup."""
        for size, count in ((48, 40), (96, 20)):
            good = [curve_py_ecc.compress(P) for P in generators(curve_py_ecc)]
            tries = [data for data in good if len(data) == size]
            tries += [bytes([flags]) + n.to_bytes(size - 1, "big") for n in range(count) for flags in (0x80, 0xA0)]
            said = [self.alike(lambda library: decoded(library, data)) for data in tries]
            self.assertEqual({"point", "subgroup", tries[0]}, set(said))
        for flags in (0x80, 0xA0):
            self.assertEqual(self.alike(lambda library: decoded(library, bytes([flags]) + bytes(47))), "subgroup")

    def test_subgroup(self):
        """arkworks asks an endomorphism: points of each part of the cofactor, alone and with one of the subgroup."""
        dice = random.Random(3)
        for G in generators(curve_py_ecc):
            size = len(curve_py_ecc.compress(G))
            cofactor, primes = COFACTORS[size]
            starts = (0x80 << 8 * size - 8 | dice.randrange(curve.p) for _ in range(20))
            X = next(filter(None, (curve_py_ecc.decompress(x.to_bytes(size, "big")) for x in starts)))
            outside = [curve_py_ecc.multiply(X, curve.r * cofactor // q**2) for q in primes] + [curve_py_ecc.multiply(X, curve.r)]
            self.assertTrue(all(curve_py_ecc.is_inf(curve_py_ecc.multiply(T, cofactor)) for T in outside))
            for T in outside:
                self.assertFalse(curve_py_ecc.is_inf(T))
                for P in (T, curve_py_ecc.add(T, curve_py_ecc.multiply(G, 77))):
                    data = curve_py_ecc.compress(P)
                    self.assertEqual(self.alike(lambda library: decoded(library, data)), "subgroup")
            inside = curve_py_ecc.compress(curve_py_ecc.multiply(X, cofactor))
            self.assertEqual(self.alike(lambda library: decoded(library, inside)), inside)

    def test_vectors(self):
        """Every encoding of a point that the test vectors get wrong, and a sample of the right ones."""
        seen, decode = set(), curve._decode

        def note(data, size):
            seen.add((data, size))
            return decode(data, size)

        curve.decode_g1.cache_clear(), curve.decode_g2.cache_clear()
        with mock.patch.object(curve, "_decode", note):
            for case in (case for name in WITH_POINTS for case in read(VECTORS / f"{name}.jsonl").values()):
                with suppress(Refused):
                    vectors.FORMATS[case.path.stem](case)
        seen = sorted(data for data, size in seen if len(data) == size)
        by_arkworks = {data: decoded(curve_arkworks, data) for data in seen}
        bad = [data for data, said in by_arkworks.items() if said != data]
        good = [data for data in seen if data not in bad]
        self.assertEqual({"point", "subgroup", "identity"}, {by_arkworks[data] for data in bad})
        for data in bad + good[::40]:
            self.assertEqual(by_arkworks[data], decoded(curve_py_ecc, data), data.hex())

    def test_hashes(self):
        for message in (b"", b"abc", bytes(36), b"m" * 300):
            for name in (b"clew-xr-u-1", b"clew-bbs04-v-1", b"n" * 200):
                self.alike(lambda library: library.compress(library.hash_to_g1(message, name)))

    def test_pairings(self):
        """The bytes in GT, so also the power of e; and products that are one, or nearly."""

        def values(library):
            P, Q = (lambda n: library.multiply(library.G1, n)), (lambda n: library.multiply(library.G2, n))
            for pairs in ([(1, 1)], [(5, 1)], [(1, 5)], [(2, 3), (7, 11)], [(2, 3), (curve.r - 6, 1)], [(0, 4), (3, 0)], [(0, 4), (3, 9)]):
                points = [(P(a), Q(b)) for a, b in pairs]
                yield library.gt_bytes(*points), library.pairings_give_one(*points)

        found = self.alike(lambda library: list(values(library)))
        self.assertEqual([one for _, one in found], [False] * 4 + [True, True, False])
        self.assertEqual(found[1], found[2])


if __name__ == "__main__":
    unittest.main()
