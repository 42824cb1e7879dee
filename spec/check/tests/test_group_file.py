"""group-file.md section 3: every rule, broken."""

import unittest

from common import bbs04, Case, flip, group_file, put, xr
from clew_check import ed25519
from clew_check.curve import *
from prover import device, Maker, name, public, sharing, u32

LATE = encode(power(G1, 9))


class GroupFile(Case):
    @classmethod
    def setUpClass(cls):
        cls.maker = maker = Maker(xr, nonce=b"N" * 32)
        cls.one, cls.two = maker.enrol("one"), maker.enrol("two")
        maker.revoke(cls.two.x, 10)
        maker.new_opening_key(2, 2, 20)
        cls.bodies = maker.bodies + [maker.register()]

    def read(self, bodies):
        group = group_file.Group(self.maker.file(bodies))
        group.check_all()
        return group

    def broken(self, rule, part, change, where=None):
        bodies = list(self.bodies)
        bodies[part] = change(bodies[part])
        for i in range(part, len(bodies) - 1):  # what follows names it
            following = 1 if i == len(bodies) - 2 else 5
            if rule != "chain":
                bodies[i + 1] = put(bodies[i + 1], following, hash_of(bodies[i]))
        self.refuses(rule, self.read, bodies, where=part if where is None else where)

    def test_good(self):
        group = self.read(self.bodies)
        self.assertEqual([group.key(e).encode() for e in range(3)], [key.encode() for key in self.maker.keys])
        self.assertEqual([group.sharing(e)[0].n for e in range(3)], [3, 3, 2])
        self.assertEqual((group.id, group.last_epoch), (self.maker.id, 2))

    def test_bbs04(self):
        maker = Maker(bbs04, 3, 5)
        machine = maker.enrol("one")
        maker.revoke(machine.x, 1)
        group = group_file.Group(maker.file())
        group.check_all()
        self.assertEqual(group.key(1).encode(), maker.keys[1].encode())
        for base, commitments in zip((group.key(0).u, group.key(0).v), group.sharing(1)[1]):
            self.assertEqual(len(commitments), 3)

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
        self.refuses("kind", read, data[:16] + parts[0] + self.maker.part(b"\3") + parts[-1])
        self.refuses("trailing-bytes", read, data + b"\0")
        self.refuses("trailing-bytes", read, data + parts[-1])

    def test_layout(self):
        for part in range(4):
            self.broken("layout", part, lambda body: body + b"\0")
            self.broken("layout", part, lambda body: body[:-1])
        for at, value in ((1, 3), (74, 1), (75, 0), (75, 65), (76, 10), (76, 32), (76, 255)):
            self.broken("layout", 0, lambda body: put(body, at, bytes([value])))
        at = 75 + len(name("test")) + 432 + 64
        for i, value in ((0, 0), (0, 3), (1, 0), (1, 4), (2, 1), (2, 33)):
            self.broken("layout", 0, lambda body: put(body, at + i, bytes([value])))
        self.broken("layout", 1, lambda body: put(body, 45, b"\3"))
        self.broken("layout", 2, lambda body: put(body, 45, b"\1"))
        maker = Maker(bbs04)
        self.refuses("layout", self.read_other, maker, put(maker.bodies[0], 75 + 5 + 480, b"\2"))  # distributed
        maker.epoch(1, 2, encode(G1) + encode(G1) + sharing(1, 1, []))
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
        self.broken("chain", 3, lambda body: flip(body, 1))
        self.refuses("chain", self.read, self.bodies[:2] + self.bodies[3:])
        self.broken("start", 1, lambda body: put(body, 37, bytes(8)))
        for start in (9, 10):
            self.broken("start", 2, lambda body: put(body, 37, start.to_bytes(8, "big")))

    def test_public_key_0(self):
        at = 75 + len(name("test"))
        for i in range(5):
            self.broken("public-key", 0, lambda body: put(body, at + 48 * i, LATE), where=0)
        for i in range(2):
            self.broken("public-key", 0, lambda body: put(body, at + 240 + 96 * i, encode(power(G2, 9))), where=0)
        self.broken("public-key", 0, lambda body: flip(body, at + 432 + 63), where=0)
        self.broken("public-key", 0, lambda body: flip(body, 10), where=0)  # nonce
        self.broken("public-key", 0, lambda body: put(body, at + 96, bytes([0xC0]) + bytes(47)), where=0)

    def test_sharing(self):
        for part in (0, 2):
            self.broken("sharing", part, lambda body: body[:-48] + bytes([0xC0]) + bytes(47))
            self.broken("sharing", part, lambda body: body[:-48] + b"\xff" * 48)

    def test_public_key_later(self):
        for at in (46 + 32, 46 + 80):
            self.broken("public-key", 1, lambda body: put(body, at, LATE))
        self.broken("public-key", 1, lambda body: put(body, 46 + 128, encode(G2)))
        for at in (46, 46 + 48):
            self.broken("public-key", 2, lambda body: put(body, at, LATE))
        bodies = list(self.bodies)
        bodies[1] = put(bodies[1], 46, b"\xff" * 32)  # x is no part of a public key
        bodies[2] = put(bodies[2], 5, hash_of(bodies[1]))
        bodies[3] = put(bodies[3], 1, hash_of(bodies[2]))
        self.read(bodies)


if __name__ == "__main__":
    unittest.main()
