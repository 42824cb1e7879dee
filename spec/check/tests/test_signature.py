"""group-signature.md sections 2 to 4: round trips, and every rule broken."""

import random
import unittest
from dataclasses import replace

from common import bbs04, Case, flip, join, put, quorum, Refused, revocation, xr
from clew_check.curve import *
from prover import device, Maker, name, public, rand, sign_xr


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
        maker.revoke(cls.two, start=10)
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
        one, B = self.one, self.maker.signs_with(self.one, 0)
        for B, machine in ((power(B, 2), one), (B, replace(one, x=5)), (B, replace(one, y=5)), (one.A, one)):
            with self.assertRaisesRegex(Refused, "pairing"):
                self.verify(sign_xr(self.key, self.id, M, B, machine))

    def test_opens(self):
        """3.6: T2 / T1^xi = B_e, another one in each epoch with another V; Q finds its row without gamma"""
        found = []
        for e in range(3):
            (T1,), T2 = xr.ciphertext(self.maker.sign(self.one, e, M))
            n = self.maker.shares[e][0]
            xi = sum(share * quorum.lagrange(i, n) for i, share in n.items())
            found.append(powers((T2, 1), (T1, -xi)))
            self.assertTrue(eq(found[e], self.maker.signs_with(self.one, e)))
        indices = [xr.index(B) for B in found]
        self.assertEqual(indices[1], indices[2])
        self.assertNotEqual(indices[0], indices[1])
        B, key, C = found[1], self.maker.keys[1], power(self.key.h0, self.one.y)
        Q = power(B, self.maker.gamma)
        self.assertTrue(xr.fits(key, Q, B))
        self.assertFalse(xr.fits(key, power(Q, 2), B))
        self.assertTrue(xr.row_fits(key, Q, B, C, self.one.x))
        self.assertFalse(xr.row_fits(key, Q, B, power(self.key.h0, self.two.y), self.two.x))

    def test_genesis(self):
        """3.1"""
        key, nonce = self.key, b"n" * 32
        at = 80 + xr.KEY
        proof = self.maker.bodies[0][at : at + 64]
        xr.check_genesis(key, nonce, proof)
        for label in ("h", "h_w"):
            self.refuses("invalid", xr.check_genesis, replace(key, **{label: G1}), nonce, proof)
        self.refuses("invalid", xr.check_genesis, replace(key, w=power(G2, 3)), nonce, proof)
        self.refuses("invalid", xr.check_genesis, key, b"m" * 32, proof)
        self.refuses("invalid", xr.check_genesis, key, nonce, flip(proof, 63))
        self.refuses("scalar", xr.check_genesis, key, nonce, b"\x40" + proof[1:])
        self.refuses("length", xr.check_genesis, key, nonce, proof[1:])

    def test_derived(self):
        """u, g1, h0 and every hashed V are of the nonce, and no two are alike."""
        n, m, ids = b"n" * 32, b"m" * 32, (b"i" * 32, b"j" * 32)
        points = [*xr.generators(n), xr.first_v(n), xr.first_v(m)]
        points += [xr.rebased_v(n, e, id) for e in (1, 2) for id in ids]
        points += [bbs04.first_v(n), bbs04.rebased_v(n, 1, ids[0]), bbs04.hash_h(n)]
        self.assertEqual(len(set(map(encode, points))), len(points))
        self.assertTrue(eq(self.key.v, points[3]))
        self.refuses("invalid", xr.in_epoch, self.key, neg(self.key.g1))
        self.refuses("invalid", bbs04.in_epoch, None, neg(G1))

    def test_key_encoding(self):
        data, nonce = self.key.encode(), b"n" * 32
        self.assertEqual(xr.founded(nonce, data).encode(), data)
        self.refuses("length", xr.founded, nonce, data[:-1])
        for at in (0, 48):
            self.refuses("subgroup", xr.founded, nonce, put(data, at, OFF_G1[0]))
        self.refuses("subgroup", xr.founded, nonce, put(data, 96, OFF_G2[0]))

    def test_step(self):
        """3.7: the step, the member's update and its checks"""
        maker, one, two = self.maker, self.one, self.two
        data = maker.bodies[1][91:]
        self.assertEqual(len(data), revocation.STEP)
        step, key, new = revocation.decode_step(data), self.key, maker.keys[1]
        self.assertEqual(step.encode(), data)
        revocation.check_step(key.w, key.v, step)
        self.assertTrue(eq(step.v, new.v))
        W = maker.witness(one, 0)
        xr.check_witness(key, W, one.x)
        updated = revocation.after(W, one.x, [step])
        self.assertTrue(eq(updated, maker.witness(one, 1)))
        xr.check_witness(new, updated, one.x)
        self.refuses("revoked", revocation.after, maker.witness(two, 0), two.x, [step])
        self.refuses("invalid", xr.check_witness, new, W, one.x)
        self.refuses("length", revocation.decode_step, data[:-1])
        for x in (r.to_bytes(32, "big"), bytes(32)):
            self.refuses("scalar", revocation.decode_step, put(data, 0, x))
        for rule, point in (("subgroup", OFF_G1[0]), ("point", OFF_G1[1]), ("identity", IDENTITY)):
            self.refuses(rule, revocation.decode_step, put(data, 32, point))
        for changed in (put(data, 0, encode_scalar(one.x)), put(data, 32, encode(G1))):
            wrong = revocation.decode_step(changed)
            self.refuses("invalid", revocation.check_step, key.w, key.v, wrong)
            self.refuses("invalid", revocation.check_steps, key.w, [(key.v, [wrong])])

    def test_join(self):
        """3.2"""
        key, maker, y = self.key, self.maker, rand()
        session = join.session(maker.id, b"s" * 32, public(device("x")), name("x"))
        request = join.make_request(key, session, y, rand())
        C = join.check_request(key, session, request)
        for bad in (flip(request, 111), flip(request, 60), put(request, 0, encode(G1))):
            self.refuses("invalid", join.check_request, key, session, bad)
        self.refuses("invalid", join.check_request, key, flip(session, 0), request)  # replayed in another session
        self.refuses("length", join.check_request, key, session, request[:-1])
        offer = join.make_offer(key, C, maker.gamma, rand(), rand()).encode()
        A, x, whole = join.accept(key, y, offer)
        self.assertEqual(whole, (y + int.from_bytes(offer[80:], "big")) % r)
        xr.check_witness(key, maker.by_gamma(key.v, x), x)
        for at in (79, 111):
            self.refuses("invalid", join.accept, key, y, flip(offer, at))
        self.refuses("invalid", join.accept, key, y, put(offer, 0, encode(G1)))
        self.refuses("invalid", join.accept, key, y + 1, offer)  # an offer to another device
        self.refuses("scalar", join.accept, key, y, put(offer, 48, bytes(32)))
        self.refuses("length", join.accept, key, y, offer + b"\0")
        self.refuses("invalid", join.accept, key, y, put(offer, 80, encode_scalar(-y)))
        self.refuses("invalid", join.make_offer, key, C, maker.gamma, -maker.gamma, 1)
        self.refuses("invalid", join.make_offer, key, C, maker.gamma, 5, -y)

    def test_batch(self):
        """3.5: S1 and S2 of two signatures, one of either form"""
        key, rng, S1, S2 = self.key, random.Random(2), [], []
        for data in (self.good, self.long):
            s = xr.decode_signature(data[:288])
            c, d, q = decode_short(s.c), *(decode_short(rng.randbytes(16)) for _ in range(2))
            for P, n in ((s.T2, s.sx), (key.h, -s.sd), (key.h0, -s.sy), (key.base, -c), (s.R3, -1)):
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
        maker.revoke(two, start=10)
        key = maker.keys[1]
        bbs04.check_member(key, one.A, one.x)
        self.refuses("invalid", bbs04.check_member, key, one.A, two.x)
        bbs04.check_witness(key, maker.witness(one, 1), one.x)
        self.refuses("invalid", bbs04.check_witness, key, maker.witness(one, 0), one.x)
        for form in (False, True):
            data = maker.sign(one, 1, M, form)
            bbs04.verify(key, maker.epoch_id(1), M, data, form)
            self.refuses("invalid", bbs04.verify, key, maker.epoch_id(0), M, data, form)
            self.refuses("invalid", bbs04.verify, maker.keys[0], maker.epoch_id(1), M, data, form)
        self.assertEqual(bbs04.founded(b"n" * 32, key.encode()), maker.keys[0])
        self.refuses("length", bbs04.founded, b"n" * 32, key.encode()[:-1])


if __name__ == "__main__":
    unittest.main()
