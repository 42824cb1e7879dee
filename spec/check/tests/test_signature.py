"""group-signature.md sections 2 to 4: round trips, and every rule broken."""

import random
import unittest
from dataclasses import replace

from common import bbs04, Case, flip, put, quorum, Refused, xr
from clew_check.curve import *
from prover import Maker, rand, sign_xr


def outside_subgroup(g2=False):
    """A point of the curve outside the subgroup, compressed; and an x without a point."""
    size, subgroup, curve = (96 if g2 else 48), None, None
    for n in range(1, 100):
        data = bytes([0x80]) + n.to_bytes(size - 1, "big")
        try:
            (decode_g2 if g2 else decode_g1)(data)
        except Exception as e:
            subgroup, curve = (data, curve) if e.rule == "subgroup" else (subgroup, data)
        if subgroup and curve:
            return subgroup, curve


OFF_G1, OFF_G2 = outside_subgroup(), outside_subgroup(True)
IDENTITY = bytes([0xC0]) + bytes(47)
P_BYTES = p.to_bytes(48, "big")
M = b"a message"


class Encodings(Case):
    """Section 2"""

    def test_points(self):
        for point in (G1, neg(G1), power(G1, rand()), G2, neg(G2), power(G2, rand())):
            data = encode(point)
            decode = decode_g1 if len(data) == 48 else decode_g2
            self.assertTrue(eq(decode(data), point))
            self.refuses("length", decode, data[:-1])
            self.refuses("length", decode, data + b"\0")
            self.refuses("point", decode, flip(data, 0, 0x80))
            self.refuses("point", decode, flip(data, 0, 0x40))
            self.assertTrue(eq(decode(flip(data, 0, 0x20)), neg(point)))

    def test_refused(self):
        for decode, size, (subgroup, no_point) in ((decode_g1, 48, OFF_G1), (decode_g2, 96, OFF_G2)):
            self.refuses("identity", decode, bytes([0xC0]) + bytes(size - 1))
            self.refuses("point", decode, bytes([0xE0]) + bytes(size - 1))
            self.refuses("point", decode, bytes([0xC0]) + bytes(size - 2) + b"\1")
            self.refuses("point", decode, no_point)
            self.refuses("subgroup", decode, subgroup)
            self.refuses("point", decode, bytes([P_BYTES[0] | 0x80]) + P_BYTES[1:] + bytes(size - 48))
            self.refuses("length", decode, b"")

    def test_scalars(self):
        self.refuses("scalar", decode_scalar, r.to_bytes(32, "big"))
        self.refuses("scalar", decode_secret, bytes(32))
        self.refuses("scalar", decode_long, bytes([0x40]) + bytes(31))
        self.refuses("length", decode_short, bytes(15))
        self.assertEqual(decode_scalar((r - 1).to_bytes(32, "big")), r - 1)

    def test_short_challenge(self):
        z = -0xD201000000010000
        self.assertEqual(decode_short(bytes(7) + b"\5" + bytes(7) + b"\3"), 5 + 3 * (z * z - 1))
        self.assertEqual((LAMBDA * LAMBDA + LAMBDA + 1) % r, 0)  # an eigenvalue; values stay below r
        self.assertLess(decode_short(b"\xff" * 16), r)


class Xr(Case):
    """Section 3"""

    @classmethod
    def setUpClass(cls):
        cls.maker = maker = Maker(xr)
        cls.one, cls.two = maker.enrol("one"), maker.enrol("two")
        maker.revoke(cls.two.x, 10)
        maker.new_opening_key(1, 2, 20)
        cls.key, cls.id = maker.keys[0], maker.epoch_id(0)
        cls.good = maker.sign(cls.one, 0, M)
        cls.long = maker.sign(cls.one, 0, M, incremental=True)

    def verify(self, data, incremental=False, key=None, id=None, message=M):
        xr.verify(key or self.key, id or self.id, message, data, incremental)

    def test_accepts(self):
        """3.3 and 3.4, in every epoch"""
        for e in range(3):
            for form in (False, True):
                data = self.maker.sign(self.one, e, M, form)
                self.verify(data, form, self.maker.keys[e], self.maker.epoch_id(e))
        self.verify(self.long[:288])

    def test_lengths(self):
        for data in (b"", self.good[:-1], self.good + b"\0", self.long):
            self.refuses("length", self.verify, data)
        for data in (self.good, self.long[:-1], self.long + b"\0"):
            self.refuses("length", self.verify, data, True)

    def test_points(self):
        for at in (0, 48, 96, 288):
            for rule, point in (("subgroup", OFF_G1[0]), ("point", OFF_G1[1]), ("identity", IDENTITY)):
                self.refuses(rule, self.verify, put(self.long, at, point), True)
            self.refuses("invalid", self.verify, put(self.long, at, encode(G1)), True)

    def test_scalars(self):
        for at in range(160, 288, 32):
            self.refuses("scalar", self.verify, put(self.good, at, r.to_bytes(32, "big")))
            self.refuses("invalid", self.verify, flip(self.good, at + 31))

    def test_challenge(self):
        self.refuses("invalid", self.verify, flip(self.good, 159))
        self.refuses("invalid", self.verify, self.good, False, None, None, b"another")
        self.refuses("invalid", self.verify, self.good, False, None, self.maker.epoch_id(1))
        self.refuses("invalid", self.verify, self.good, False, self.maker.keys[1])

    def test_R1_identity(self):
        self.refuses("invalid", self.verify, self.maker.sign(self.one, 0, M, ra=0))

    def test_R1_other(self):
        data = self.maker.sign(self.one, 0, M, True, twist="R1")
        self.refuses("invalid", self.verify, data, True)

    def test_no_credential(self):
        """Passes steps 0 and 1; only the pairing says no."""
        A, one = self.maker.credential(self.one, 0), self.one
        for A, machine in ((power(A, 2), one), (A, replace(one, x=5)), (A, replace(one, y=5))):
            with self.assertRaisesRegex(Refused, "pairing"):
                self.verify(sign_xr(self.key, self.id, M, A, machine))

    def test_opens(self):
        """3.6: T2 / T1^xi = A, and the tag is the same in every epoch"""
        tags = set()
        for e in range(3):
            (T1,), T2 = xr.ciphertext(self.maker.sign(self.one, e, M))
            n = self.maker.shares[e][0]
            xi = sum(share * quorum.lagrange(i, n) for i, share in n.items())
            A = powers((T2, 1), (T1, -xi))
            self.assertTrue(eq(A, self.maker.credential(self.one, e)))
            tags.add(xr.tag(A, self.maker.keys[e]))
        self.assertEqual(len(tags), 1)

    def test_load_epoch_0(self):
        """3.1"""
        body, key = self.maker.bodies[0], self.key
        proof, nonce = body[80 + 432 : 80 + 432 + 64], b"n" * 32
        xr.check_epoch_0(key, nonce, proof)
        for name in ("u", "g1", "h0", "h", "h_w"):
            self.refuses("invalid", xr.check_epoch_0, replace(key, **{name: G1}), nonce, proof)
        for name in ("w", "lift"):
            self.refuses("invalid", xr.check_epoch_0, replace(key, **{name: power(G2, 3)}), nonce, proof)
        self.refuses("invalid", xr.check_epoch_0, key, b"m" * 32, proof)
        self.refuses("invalid", xr.check_epoch_0, key, nonce, flip(proof, 63))
        self.refuses("scalar", xr.check_epoch_0, key, nonce, b"\x40" + proof[1:])
        self.refuses("length", xr.check_epoch_0, key, nonce, proof[1:])

    def test_load_later(self):
        """3.1, epoch e > 0"""
        first = self.key
        for key in self.maker.keys[1:]:
            xr.check_epoch(key, first)
            for name in ("u", "g1", "h0", "h", "h_w"):
                self.refuses("invalid", xr.check_epoch, replace(key, **{name: G1}), first)
            for name in ("w", "lift"):
                self.refuses("invalid", xr.check_epoch, replace(key, **{name: power(G2, 3)}), first)

    def test_key_encoding(self):
        data = self.key.encode()
        self.assertEqual(xr.decode_key(data).encode(), data)
        self.refuses("length", xr.decode_key, data[:-1])
        for at in range(0, 240, 48):
            self.refuses("subgroup", xr.decode_key, put(data, at, OFF_G1[0]))
        for at in (240, 336):
            self.refuses("subgroup", xr.decode_key, put(data, at, OFF_G2[0]))

    def test_revocation(self):
        """3.7: the step, the member's update and check"""
        maker, one, two = self.maker, self.one, self.two
        revocation = maker.bodies[1][46:]
        new = xr.step(self.key, revocation)
        self.assertEqual(new.encode(), maker.keys[1].encode())
        A = maker.credential(one, 0)
        xr.check_member(self.key, A, one.x, one.y)
        updated = xr.update_member(A, one.x, one.y, two.x, new)
        self.assertTrue(eq(updated, maker.credential(one, 1)))
        xr.check_member(new, updated, one.x, one.y)
        self.refuses("revoked", xr.update_member, maker.credential(two, 0), two.x, two.y, two.x, new)
        self.refuses("invalid", xr.check_member, new, A, one.x, one.y)
        self.refuses("length", xr.step, self.key, revocation[:-1])
        self.refuses("scalar", xr.step, self.key, put(revocation, 0, r.to_bytes(32, "big")))
        self.refuses("invalid", xr.step, self.key, put(revocation, 0, encode_scalar(one.x)))
        self.refuses("invalid", xr.step, self.key, put(revocation, 32, encode(G1)))
        self.refuses("invalid", xr.step, self.key, put(revocation, 80, encode(G1)))
        self.refuses("invalid", xr.step, self.key, put(revocation, 128, encode(G2)))

    def test_join(self):
        """3.2: e(A, w) e(D, G2) = e(g1_0 C, G2), and e(A_e, lift) = e(A, G2)"""
        one, key = self.one, self.key
        A, C = one.A_0, power(key.h0, one.y)
        self.assertTrue(pairings_give_one((A, key.w), (power(A, one.x), G2), (neg(product(key.g1, C)), G2)))
        for e in range(3):
            self.assertTrue(pairings_equal(self.maker.credential(one, e), self.maker.keys[e].lift, A, G2))

    def test_batch(self):
        """3.5: S1 and S2 of two signatures, one of either form"""
        key, rng, S1, S2 = self.key, random.Random(2), [], []
        for data in (self.good, self.long):
            s = xr.decode_signature(data[:288])
            c, d, q = decode_short(s.c), *(decode_short(rng.randbytes(16)) for _ in range(2))
            for P, n in ((s.T2, s.sx), (key.h, -s.sd), (key.h0, -s.sy), (key.g1, -c), (s.R3, -1)):
                S1.append((P, n * d))
            if len(data) > 288:
                S1 += [(key.u, s.sa * q), (s.T1, -c * q), (decode_g1(data[288:]), -q)]
            S2 += [(s.T2, c * d), (key.h, -s.sa * d)]
        self.assertTrue(pairings_give_one((powers(*S1), G2), (powers(*S2), key.w)))
        S1[0] = (S1[0][0], S1[0][1] + 1)
        self.assertFalse(pairings_give_one((powers(*S1), G2), (powers(*S2), key.w)))


class Bbs04(Case):
    """Section 4: what the vectors do not freeze"""

    def test_round_trip(self):
        maker = Maker(bbs04, 2, 2)
        one, two = maker.enrol("one"), maker.enrol("two")
        maker.revoke(two.x, 10)
        bbs04.check_epoch(maker.keys[1], maker.keys[0])
        new = bbs04.step(maker.keys[0], maker.bodies[1][46 : 46 + 272])
        self.assertEqual(new.encode(), maker.keys[1].encode())
        A = bbs04.update_member(maker.credential(one, 0), one.x, two.x, new)
        self.assertTrue(eq(A, maker.credential(one, 1)))
        for form in (False, True):
            data = maker.sign(one, 1, M, form)
            bbs04.verify(new, maker.epoch_id(1), M, data, form)
            self.refuses("invalid", bbs04.verify, new, maker.epoch_id(0), M, data, form)


if __name__ == "__main__":
    unittest.main()
