"""carriers.md 2.2: fragments in any order, copied and altered; any bytes."""

import random
from hashlib import sha256
from itertools import permutations
from pathlib import Path
from unittest import main

from common import Case, flip
from clew_check import carriers, cases, datagram, receiver, Refused

VECTORS = cases.read(Path(__file__).resolve().parents[2] / "vectors/carriers.jsonl")
SECOND = carriers.SECOND


def cut(datagram, part):
    """The fragments of a datagram, behind their shims."""
    id = sha256(b"clew-fragment-v1" + datagram).digest()[:16]
    parts = [datagram[i : i + part] for i in range(0, len(datagram), part)]
    return [id + bytes([i, len(parts)]) + one for i, one in enumerate(parts)]


class Fragments(Case):
    def setUp(self):
        self.datagram = VECTORS["tunnel"].one("datagram")
        self.kept = carriers.Fragments(receiver.Said)

    def take(self, rest, time=0):
        """True if it is a copy, the datagram, a rule, or None."""
        try:
            _, again, whole = self.kept.take(rest, time)
        except Refused as refused:
            return refused.rule
        return again or whole

    def test_any_order(self):
        for order in permutations(cut(self.datagram, 150)):
            self.kept = carriers.Fragments(receiver.Said)
            said = [self.take(rest) for rest in order]
            self.assertEqual(said, [None] * (len(order) - 1) + [self.datagram])

    def test_altered_second(self):
        rest = cut(self.datagram, 150)
        for one in rest[:-1]:
            self.assertIsNone(self.take(one))
            for at in range(18, len(one), 31):
                self.assertEqual(self.take(flip(one, at)), "bad-fragment")
            self.assertIs(self.take(one), True)
        self.assertEqual(self.take(flip(rest[-1], 20)), "bad-fragment")
        self.assertEqual(self.take(rest[-1]), self.datagram)

    def test_bounds(self):
        first, second = cut(self.datagram, 300)
        self.take(first, 0)
        self.assertEqual(self.take(second, SECOND), self.datagram)
        self.take(first, SECOND)
        self.assertIsNone(self.take(second, 2 * SECOND + 1))
        for i in range(carriers.IDS):
            self.take(i.to_bytes(16, "big") + first[16:], 2 * SECOND + 1)
        self.assertIsNone(self.take(first, 2 * SECOND + 1))
        self.assertLessEqual(len(self.kept.kept), carriers.IDS)
        long = bytes([0, 2]) + bytes(60000)
        for i in range(300):
            self.take(i.to_bytes(16, "big") + long, 2 * SECOND + 1)
        self.assertLessEqual(self.kept.bytes, carriers.BYTES)


class Bytes(Case):
    def test_any_change_has_a_name(self):
        """Every byte of shim, head and content changed in turn: refused by a rule, or read."""
        dice = random.Random(7)
        for name in ("tunnel", "transport-ipv6", "udp-tunnel-ipv4-coded", "udp-transport-ipv6-window"):
            case = VECTORS[name]
            frame = case.one("frame")
            outer = datagram.read(datagram.Frame(frame, len(frame)), case.one("link-type"))
            payload = carriers.payload_of(outer)
            for at in range(len(payload)):
                for changed in (flip(payload, at, 1 << dice.randrange(8)), payload[:at]):
                    try:
                        carriers.read(outer, changed)
                    except Refused as refused:
                        self.assertNotEqual(receiver.verdict_of(refused.rule), "valid")


if __name__ == "__main__":
    main()
