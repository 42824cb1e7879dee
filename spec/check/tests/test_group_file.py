"""group-file.md section 3: every rule, broken."""

import random
import unicodedata
import unittest
from pathlib import Path
from unittest import mock

from common import bbs04, Case, flip, group_file, merkle, put, Refused, register, xr
from clew_check import ed25519, Reader
from clew_check.curve import *
from prover import device, Maker, name, public, sharing, u32, u64

PAGE = Path(__file__).parents[2] / "group-file.md"
LATE = encode(power(G1, 9))
START, MACHINES, CHANGE = 45, 53, 89  # places in records of epochs


class GroupFile(Case):
    """Parts: 0 the group; 1 two steps; 2 a new opening key; 3 a rebase; 4 a step; 5 and 6 checkpoints; 7 the register."""

    @classmethod
    def setUpClass(cls):
        cls.maker = maker = Maker(xr, nonce=b"N" * 32)
        cls.machines = [maker.enrol(label) for label in "abcdef"]
        maker.revoke(*cls.machines[1:3], start=10)
        maker.new_opening_key(2, 2, 40, made=8)
        maker.rebase(cls.machines[3], start=30)
        maker.enrol("g")
        maker.revoke(cls.machines[4], start=35)
        maker.enrol("h"), maker.enrol("i")
        cls.bodies = [*maker.bodies, *(body for _, body in maker.heads), maker.register()]

    def read(self, bodies):
        group = group_file.Group(self.maker.file(bodies))
        group.check_all()
        return group

    def changed(self, part, change, chain=True):
        """The bodies with one changed; what follows names it."""
        bodies = list(self.bodies)
        bodies[part] = change(bodies[part])
        for i in range(part, 5) if chain else ():
            following, at = (i + 1, 5) if i < 4 else (7, 1)
            bodies[following] = put(bodies[following], at, hash_of(bodies[i]))
        return bodies

    def broken(self, rule, part, change, where=None):
        bodies = self.changed(part, change, rule != "chain")
        self.refuses(rule, self.read, bodies, where=part if where is None else where)

    def test_good(self):
        group, maker = self.read(self.bodies), self.maker
        for e, key in enumerate(maker.keys):
            self.assertEqual((group.key(e).encode(), encode(group.key(e).v)), (key.encode(), encode(key.v)))
        self.assertEqual([group.sharing(e)[0].n for e in range(5)], [3, 3, 2, 2, 2])
        self.assertEqual((group.id, group.last_epoch), (maker.id, 4))
        self.assertEqual([group.start(e) for e in range(5)], [0, 10, 30, 30, 35])  # an urgent epoch brings one forward
        self.assertEqual([group.base_epoch(e) for e in range(5)], [0, 0, 0, 3, 3])
        self.assertEqual([head.machines for head in [*group.checkpoints, group.register]], [6, 7, 9])
        self.assertEqual([record.size[0] for record in group.records], [0, 6, 6, 6, 7])
        self.assertEqual([group.revoked_in(m.index, m.x) for m in self.machines], [None, 1, 1, 3, 4, None])
        self.assertEqual([group.root(n) is None for n in (0, 6, 7, 8, 9)], [True, False, False, True, False])

    def test_short_id(self):
        text = group_file.short_id(bytes(range(32)))
        self.assertEqual(text, "aaaq-eaye-auda-ocaj-bifq-ydio-b4ib-ceqt")

    def test_bbs04(self):
        maker = Maker(bbs04, 3, 5)
        machine = maker.enrol("one")
        maker.revoke(machine, start=6)
        group = group_file.Group(maker.file())
        group.check_all()
        self.assertEqual(encode(group.key(1).v), encode(maker.keys[1].v))
        self.assertEqual(group.revoked_in(0), 1)
        for base, commitments in zip((group.key(0).u, group.key(0).v_), group.sharing(1)[1]):
            self.assertEqual(len(commitments), 3)
        maker.epoch(7, group_file.STEPS, b"\1" + encode_scalar(machine.x) + LATE)
        self.refuses("layout", group_file.Group, maker.file(), where=2)

    def test_end(self):
        """2.7: the last epoch has no key, nothing follows it, and the register does not grow."""
        maker = Maker(bbs04)
        maker.enrol("one")
        maker.epoch(6, group_file.END, u64(3) + hash_of(b"successor"), made=6)
        group = group_file.Group(maker.file())
        group.check_all()
        self.assertEqual((group.has_key(0), group.has_key(1), group.stolen()), (True, False, 1))
        self.assertEqual(group.records[1].successor, hash_of(b"successor"))
        maker.enrol("two")
        self.refuses("ended", group_file.Group, maker.file(), where=3)
        maker = Maker(bbs04)
        maker.epoch(7, group_file.END, u64(0) + bytes(32), made=6)  # planned
        self.refuses("ended", group_file.Group, maker.file(), where=1)
        maker = Maker(bbs04)
        maker.epoch(6, group_file.END, u64(0) + bytes(32), made=6)
        self.assertEqual(group_file.Group(maker.file()).stolen(), None)
        maker.epoch(7, group_file.LOG, b"\0", made=7)
        self.refuses("ended", group_file.Group, maker.file(), where=2)
        maker = Maker(bbs04)
        maker.epoch(6, group_file.END, u64(0) + bytes(31), made=6)
        self.refuses("layout", group_file.Group, maker.file(), where=1)

    def test_frame(self):
        """Rules 1 to 3"""
        data, parts = self.maker.file(), [self.maker.part(body) for body in self.bodies]
        read = group_file.Group
        self.refuses("header", read, b"")
        self.refuses("header", read, flip(data, 15))
        for cut in (16, 18, 30, len(data) - 1, len(data) - len(parts[-1])):
            self.refuses("truncated", read, data[:cut])
        self.refuses("too-long", read, data[:16] + u32(4097) + bytes(4097 + 64))
        self.refuses("kind", read, data[:16] + b"".join(parts[1:]))
        self.refuses("kind", read, data[:16] + parts[-1])
        self.refuses("kind", read, data[:16] + parts[0] + b"".join(parts))
        self.refuses("kind", read, data[:16] + parts[0] + self.maker.part(b"") + parts[-1])
        self.refuses("kind", read, data[:16] + parts[0] + self.maker.part(b"\4") + parts[-1])
        self.refuses("kind", read, data[:16] + parts[0] + parts[5] + parts[1] + parts[-1])  # a checkpoint before an epoch
        self.refuses("kind", read, data[:16] + parts[5] + parts[-1])
        first = data[:16] + parts[0]
        broken = first + flip(parts[1], len(parts[1]) - 1)
        for rest in (b"", b"\0", b"\xff" * 200, b"".join(parts[2:])):  # nothing behind the first bad part is looked at
            self.refuses("signature", read, broken + rest, where=1)
        self.refuses("trailing-bytes", read, data + b"\0")
        self.refuses("trailing-bytes", read, data + parts[-1])

    def test_layout(self):
        for part in range(8):
            self.broken("layout", part, lambda body: body + b"\0")
            self.broken("layout", part, lambda body: body[:-1])
        for at, value in ((1, 3), (74, 1), (75, 0), (75, 65), (76, 10), (76, 32), (76, 255)):
            self.broken("layout", 0, lambda body: put(body, at, bytes([value])))
        for text in ("\u00ad", "\u200b", "\u202e", "\u2066", "\ufeff"):
            self.broken("layout", 0, lambda body: put(body, 76, f"{text}tes".encode()[:4]))
        self.broken("layout", 4, lambda body: put(body, MACHINES, u32(0)))  # a root of no machine
        self.broken("layout", 7, lambda body: put(body, 41, u32(0)))
        at = 75 + len(name("test")) + 192 + 64
        for i, value in ((0, 0), (0, 3), (1, 0), (1, 4), (2, 1), (2, 33)):
            self.broken("layout", 0, lambda body: put(body, at + i, bytes([value])))
        for change in (0, 2, 3, 4):
            self.broken("layout", 1, lambda body: put(body, CHANGE, bytes([change])))
        for count in (0, 1, 3, 49):
            self.broken("layout", 1, lambda body: put(body, CHANGE + 1, bytes([count])))
        self.broken("layout", 1, lambda body: body[: CHANGE + 1] + b"\0")  # no step at all
        self.broken("layout", 1, lambda body: body[: CHANGE + 1] + b"\x31" + bytes(49 * 80))
        self.broken("layout", 2, lambda body: put(body, CHANGE, b"\1"))
        for rows in ((4, 3), (3, 3), range(901)):
            values = len(rows).to_bytes(2, "big") + b"".join(map(u32, rows))
            self.broken("layout", 3, lambda body: body[: CHANGE + 1] + values)
        self.broken("layout", 5, lambda body: put(body, 1, u32(0)))
        self.broken("layout", 6, lambda body: body[:37] + b"\x41" + bytes(65 * 32))
        self.broken("layout", 7, lambda body: body[:77] + b"\x41" + bytes(65 * 32))
        maker = Maker(bbs04)
        self.refuses("layout", self.read_other, maker, put(maker.bodies[0], 75 + 5 + 192, b"\2"))  # distributed
        maker.epoch(6, group_file.SHARING, encode(G1) + encode(G1) + sharing(1, 1, []))
        self.refuses("layout", self.read_other, maker, maker.bodies[0])

    def read_other(self, maker, body):
        return group_file.Group(maker.file([body] + maker.bodies[1:] + [maker.register()]))

    def test_signature(self):
        parts = [self.maker.part(body) for body in self.bodies]
        for i, part in enumerate(parts):
            broken = parts[:i] + [flip(part, len(part) - 64)] + parts[i + 1 :]
            self.refuses("signature", group_file.Group, b"clew-group-file\n" + b"".join(broken), where=i)

    def test_ed25519(self):
        key, message = device("x"), b"m"
        signature, order = key.sign(message), 2**252 + 27742317777372353535851937790883648493
        self.assertTrue(ed25519.verifies(public(key), signature, message))
        s = int.from_bytes(signature[32:], "little") + order
        self.assertFalse(ed25519.verifies(public(key), signature[:32] + s.to_bytes(32, "little"), message))
        neutral = b"\1" + bytes(31)
        for small in (neutral, flip(neutral, 31, 0x80), bytes(32), (2**255 - 19).to_bytes(32, "little")):
            self.assertFalse(ed25519.verifies(small, neutral + bytes(32), message))

    def test_epoch_chain_start(self):
        self.broken("epoch", 1, lambda body: put(body, 1, u32(2)))
        self.broken("epoch", 2, lambda body: put(body, 1, u32(1)))
        self.broken("epoch", 1, lambda body: put(body, 1, u32(0)))
        self.broken("chain", 1, lambda body: flip(body, 5))
        self.broken("chain", 2, lambda body: flip(body, 5))
        self.broken("chain", 7, lambda body: flip(body, 1))
        self.refuses("chain", self.read, self.bodies[:4] + self.bodies[5:], where=6)
        self.broken("start", 1, lambda body: put(body, 37, u64(4)))  # made before the group was
        self.broken("start", 3, lambda body: put(body, 37, u64(7)))  # made before the record before it
        self.broken("start", 2, lambda body: put(body, START, u64(7)))  # in force before it was made
        for start in (8, 10, 9):
            group_file.Group(self.maker.file(self.changed(2, lambda body: put(body, START, u64(start)))))

    def test_revoked_twice(self):
        first = self.bodies[1][CHANGE + 2 :]
        twice = lambda body: put(body, CHANGE + 2 + 80, first[:32])
        self.broken("revoked-twice", 1, twice)
        self.broken("revoked-twice", 4, lambda body: put(body, CHANGE + 2, first[:32]))  # behind a rebase too
        maker = Maker(bbs04)
        one, two = maker.enrol("one"), maker.enrol("two")
        maker.rebase(one, start=6)
        maker.rebase(one, two, start=7)
        self.refuses("revoked-twice", group_file.Group, maker.file(), where=2)

    def test_steps(self):
        """With a bound of three: two steps, a rebase, one step are well, without the rebase as well; a fourth is not."""
        with mock.patch("clew_check.group_file.STEPS_MAX", 2):
            self.read(self.bodies)
        with mock.patch("clew_check.group_file.STEPS_MAX", 1):
            self.refuses("steps", self.read, self.bodies, where=1)
        maker = Maker(xr, nonce=b"S" * 32)
        for start, label in enumerate("abc", 10):
            maker.revoke(maker.enrol(label), start=start)
        with mock.patch("clew_check.group_file.STEPS_MAX", 2):
            self.refuses("steps", group_file.Group, maker.file(), where=3)
        self.assertEqual(group_file.STEPS_MAX, 65536)

    def test_checkpoint(self):
        for part in (5, 6):
            self.broken("checkpoint", part, lambda body: flip(body, 5), where=6)  # the root; the one behind it says no
        self.broken("checkpoint", 6, lambda body: flip(body, 40))
        self.broken("checkpoint", 7, lambda body: flip(body, 80))
        self.broken("checkpoint", 7, lambda body: flip(body, 48))
        for size in (5, 6):  # not more than before
            self.broken("checkpoint", 6, lambda body: put(body, 1, u32(size)))
        for size in (6, 7, 8):
            self.broken("checkpoint", 7, lambda body: put(body, 41, u32(size)))
        self.broken("checkpoint", 6, lambda body: body[:37] + b"\0")  # no proof
        self.broken("checkpoint", 5, lambda body: body[:37] + b"\1" + bytes(32))  # a proof of the first
        self.refuses("checkpoint", self.read, self.bodies[:5] + self.bodies[6:], where=5)
        self.refuses("checkpoint", self.read, self.bodies[:6] + self.bodies[7:], where=6)
        same = self.bodies[:7] + [self.bodies[7][:41] + self.bodies[6][1:37] + b"\0"]  # nobody joined since
        self.read(same)
        self.refuses("checkpoint", self.read, same[:7] + [flip(same[7], 50)], where=7)
        self.refuses("checkpoint", self.read, same[:7] + [same[7][:-1] + b"\1" + bytes(32)], where=7)

    def test_records_bind_the_register(self):
        size = lambda count: u32(count) + merkle.tree_hash(self.maker.entries(count))
        for count, where in ((1, 1), (5, 1), (7, 2)):  # no checkpoint of one or five; the next record has six
            self.broken("checkpoint", 1, lambda body: put(body, MACHINES, size(count)), where=where)
        self.broken("checkpoint", 4, lambda body: put(body, MACHINES, size(9)))  # the register, which is no checkpoint
        self.broken("checkpoint", 4, lambda body: put(body, MACHINES, size(0)))  # fewer than before
        self.broken("checkpoint", 4, lambda body: flip(body, MACHINES + 35))
        for part, count in ((1, 0), (4, 6)):
            group_file.Group(self.maker.file(self.changed(part, lambda body: put(body, MACHINES, size(count)))))

    def test_refused(self):
        """The table is the page's, and has the categories as far as this Python knows them."""
        ranges = [r.partition("-") for r in PAGE.read_text("utf-8").split("```")[1].split()]
        self.assertEqual(group_file.REFUSED, tuple((int(a, 16), int(b or a, 16)) for a, _, b in ranges))
        table = {chr(c) for first, last in group_file.REFUSED for c in range(first, last + 1)}
        self.assertEqual(len(table), 4294)
        self.assertTrue(all(map(group_file.is_refused, table)))
        self.assertFalse(any(group_file.is_refused(chr(last + 1)) for _, last in group_file.REFUSED))
        known = {c for c in map(chr, range(0x110000)) if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Zs")}
        self.assertEqual(known - table, {" "})

    def test_names(self):
        def read(text):
            return group_file.read_name(Reader(name(text)))

        for good in ("a", "Büro 7", "klein \u2618"):
            self.assertEqual(read(good), name(good))
        for bad in ("", " a", "a ", "x" * 65, "a\nb", "a\xa0b", "a\u2028b", "a\ufe0f", "\u3000a", "\u2800", "\U000e0fff"):
            self.refuses("layout", read, bad)

    def test_copy_of_the_store(self):
        """Who enrols the same name in a copy cannot have both in one file."""
        copy = Maker.__new__(Maker)
        copy.__dict__.update(self.maker.__dict__)
        copy.machines = self.maker.machines[:6]
        for label in "ghi":
            copy.enrol(label)
        self.refuses("checkpoint", self.read, self.bodies[:7] + [copy.register()], where=7)
        group = self.read(self.bodies)
        for machine in copy.machines[6:]:
            for machines in (7, 9):
                if machine.index < machines:
                    row = register.read_row(copy.row(machine, machines), xr)
                    self.refuses("register", register.check_row, group, row, where="root")
        row = register.read_row(copy.row(copy.machines[6], 8), xr)
        self.refuses("register", register.check_row, group, row, where="machines")

    def test_public_key_0(self):
        at = 75 + len(name("test"))
        for i in range(2):
            self.broken("public-key", 0, lambda body: put(body, at + 48 * i, LATE), where=0)
        self.broken("public-key", 0, lambda body: put(body, at + 96, encode(power(G2, 9))), where=0)
        self.broken("public-key", 0, lambda body: flip(body, at + 192 + 63), where=0)
        self.broken("public-key", 0, lambda body: flip(body, 10), where=0)  # nonce
        self.broken("public-key", 0, lambda body: put(body, at + 48, bytes([0xC0]) + bytes(47)), where=0)

    def test_sharing(self):
        for part in (0, 2):
            for point in (bytes([0xC0]) + bytes(47), b"\xff" * 48):
                bodies = self.changed(part, lambda body: body[:-48] + point)
                group = group_file.Group(self.maker.file(bodies))
                self.refuses("sharing", group.sharing, part, where=part)

    def test_public_key_later(self):
        """What only `check_epochs` finds is taken by who believes the manager; what does not decode is not."""
        first = CHANGE + 2
        for at in (first, first + 80):
            self.broken("public-key", 1, lambda body: put(body, at, b"\xff" * 32))  # x* is not reduced
            self.broken("public-key", 1, lambda body: put(body, at, bytes(32)))
            self.broken("public-key", 1, lambda body: put(body, at + 32, b"\xff" * 48))
            self.broken("public-key", 1, lambda body: put(body, at + 32, bytes([0xC0]) + bytes(47)))
            self.broken("public-key", 1, lambda body: put(body, at, bytes(31) + b"\7"))  # steps that no x* leads to
            self.broken("public-key", 1, lambda body: put(body, at + 32, LATE))
        swapped = lambda body: body[:first] + body[first + 80 :] + body[first : first + 80]
        self.broken("public-key", 1, swapped)
        for at in (CHANGE + 1, CHANGE + 49):
            self.broken("public-key", 2, lambda body: put(body, at, LATE))
        self.broken("public-key", 4, lambda body: put(body, first + 32, LATE))
        group = group_file.Group(self.maker.file(self.changed(4, lambda body: put(body, first + 32, LATE))))
        self.assertTrue(eq(group.key(4).v, power(G1, 9)))
        self.refuses("public-key", group.check_epochs, where=4)

    def test_identity(self):
        """V = 1/g1, which no hash gives: refused before anything else is asked of it."""
        g1 = xr.generators(b"N" * 32)[1]
        self.broken("public-key", 4, lambda body: put(body, CHANGE + 2 + 32, encode(neg(g1))))

    def test_every_byte(self):
        """A sample of the file's bytes, each changed: a signature says no, or the layout before."""
        data, dice = self.maker.file(), random.Random(4)
        for at in dice.sample(range(len(data)), 120):
            self.assertRaises(Refused, group_file.Group, flip(data, at, 1 << dice.randrange(8)))
        signed_again = 0
        for _ in range(40):  # and with the manager's signature
            part = dice.randrange(8)
            body = self.bodies[part]
            at = dice.randrange(len(body))
            bodies = self.changed(part, lambda body: flip(body, at, 1 << dice.randrange(8)))
            try:
                self.read(bodies)
                signed_again += 1  # times, names, who made the opening key
            except Refused:
                pass
        self.assertLess(signed_again, 12)


if __name__ == "__main__":
    unittest.main()
