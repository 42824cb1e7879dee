"""group-signature.md 3.7 and 4.6, and `revocation.md` of the design, executed: credential A and witness W apart. What
members can do, the forgery from public data against the old equations and the new ones, mixes, and each rule dropped
once with the attack that then works. Slow and with toy groups only where the text says so."""

import unittest
from dataclasses import replace
from math import isqrt

from common import bbs04, Case, group_file, join, quorum, receiver, Refused, revocation, xr
import algebra
from cheon import cheon, powers_of_gamma, toy_group
from clew_check.curve import *
from clew_check.old_revocation import forged, old_key, OldGroup
from prover import Machine, Maker, rand, sign_bbs04, sign_xr

SECOND, M = 10**9, b"a message"


class Split(Case):
    """Helpers: who holds (B, x, y) signs, and how it opens."""

    def holds(self, maker, e, B, x, y=0):
        """Whether a signature made with this verifies in epoch e."""
        sign = sign_xr if maker.scheme is xr else sign_bbs04
        data = sign(maker.keys[e], maker.epoch_id(e), M, B, Machine("", 0, 0, None, x, y))
        try:
            maker.scheme.verify(maker.keys[e], maker.epoch_id(e), M, data)
        except Refused as refused:
            self.assertEqual(refused.rule, "invalid")
            return False
        return True

    def opened(self, maker, e, data):
        """B_e of a signature, by all trustees."""
        points, hidden = maker.scheme.ciphertext(data)
        for P, shares in zip(points, maker.shares[e]):
            secret = sum(quorum.lagrange(i, shares) * share for i, share in shares.items())
            hidden = powers((hidden, 1), (P, -secret))
        return hidden

    def named(self, maker, e, B, machine):
        """Both equations of the judge."""
        known = (power(maker.keys[0].h0, machine.y), machine.x) if maker.scheme is xr else (power(G2, machine.x),)
        return maker.scheme.certifies(maker.keys[e], machine.A, *known) and maker.scheme.names(maker.keys[e], B, *known)

    def steps(self, maker):
        group = group_file.Group(maker.file())
        return [step for e in range(group.last_epoch + 1) for step in group.steps(e)]


class Members(Split):
    """What a member can do, and who revoked, left or mixed cannot."""

    @classmethod
    def setUpClass(cls):
        cls.maker = maker = Maker(xr, nonce=b"R" * 32)
        cls.a, cls.b, cls.c, cls.d = (maker.enrol(label) for label in "abcd")
        cls.W = {m.name: maker.witness(m, 0) for m in maker.machines}  # that the join gave
        maker.revoke(cls.b, start=10)
        cls.late = maker.enrol("late")
        maker.revoke(cls.c, cls.d, start=20)
        maker.rebase(start=30)
        cls.all_steps = cls.steps(cls, maker)

    def test_update(self):
        """Step by step, as one product, and from public data alone; the witness of the manager is the same."""
        a, W = self.a, self.W["a"]
        for e, steps in ((1, self.all_steps[:1]), (2, self.all_steps)):
            one_by_one = W
            for step in steps:
                one_by_one = revocation.after_one(one_by_one, a.x, step)
            self.assertTrue(eq(one_by_one, revocation.after(W, a.x, steps)))
            self.assertTrue(eq(one_by_one, self.maker.witness(a, e)))
            self.assertTrue(self.holds(self.maker, e, product(a.A, one_by_one), a.x, a.y))
        self.assertTrue(eq(revocation.after(W, a.x, []), W))
        self.refuses("revoked", revocation.after, self.W["c"], self.c.x, self.all_steps)
        self.refuses("revoked", revocation.after_one, self.W["b"], self.b.x, self.all_steps[0])

    def test_opens(self):
        for e in (0, 2, 3):
            data = self.maker.sign(self.a, e, M)
            B = self.opened(self.maker, e, data)
            self.assertTrue(self.named(self.maker, e, B, self.a))
            self.assertFalse(self.named(self.maker, e, B, self.late))

    def test_backdating(self):
        """Who joined in epoch 1 reaches epoch 0 by the chain, and is named there; no one gets past a rebase."""
        late, maker, key = self.late, self.maker, self.maker.keys
        W = revocation.before(maker.witness(late, 1), late.x, key[1].v, self.all_steps[0])
        xr.check_witness(key[0], W, late.x)
        B = product(late.A, W)
        self.assertTrue(self.holds(maker, 0, B, late.x, late.y))
        self.assertTrue(self.named(maker, 0, B, late))
        after = maker.enrol("after the rebase")
        W = revocation.before(maker.witness(after, 3), after.x, key[2].v, self.all_steps[2])
        self.refuses("invalid", xr.check_witness, key[1], W, after.x)
        self.assertFalse(self.holds(maker, 1, product(after.A, W), after.x, after.y))
        maker.machines.pop()

    def test_who_is_revoked(self):
        """It signs in its own epochs and is named; behind them no witness that it finds anywhere fits."""
        a, b, maker = self.a, self.b, self.maker
        B = product(b.A, self.W["b"])
        self.assertTrue(self.holds(maker, 0, B, b.x, b.y) and self.named(maker, 0, B, b))
        V = maker.keys[1].v
        for W in (self.W["b"], V, maker.witness(a, 1), product(V, self.W["b"]), power(V, b.x)):
            self.assertFalse(self.holds(maker, 1, product(b.A, W), b.x, b.y))
        W3 = maker.witness(a, 3)  # the list of a rebase is public
        self.assertFalse(self.holds(maker, 3, product(b.A, W3), b.x, b.y))
        self.assertFalse(self.holds(maker, 3, product(b.A, self.W["b"]), b.x, b.y))

    def test_mixes(self):
        """Parts of two members make no third: A, W, x, y of a and d in all ways."""
        a, d, e = self.a, self.d, 1
        parts = [(m.A, self.maker.witness(m, e), m.x, m.y) for m in (a, d)]
        held = {}
        for mix in range(16):
            A, W, x, y = (parts[mix >> i & 1][i] for i in range(4))
            held[mix] = self.holds(self.maker, e, product(A, W), x, y)
        self.assertEqual([mix for mix, good in held.items() if good], [0, 15])

    def test_epochs_do_not_mix(self):
        data, key, id = self.maker.sign(self.a, 0, M), self.maker.keys, self.maker.epoch_id
        for k, i in ((1, 0), (0, 1), (1, 1)):
            self.refuses("invalid", xr.verify, key[k], id(i), M, data)
        W = self.maker.witness(self.a, 1)  # of another epoch
        self.refuses("invalid", xr.check_witness, key[0], W, self.a.x)

    def test_opened_and_revoked(self):
        """All but y is public: A, x*, W in every epoch, B. Nothing signs without y."""
        maker, d = self.maker, self.d
        B = product(d.A, self.W["d"])
        for y in (rand(), 0):
            self.assertFalse(self.holds(maker, 0, B, d.x, y))

    def test_chain(self):
        """Two pairings for all steps, of two segments; a wrong one is found, and named by the group file's reader."""
        maker = self.maker
        w, good = maker.keys[0].w, self.all_steps
        segments = [(maker.keys[0].v, good), (maker.keys[3].v, [])]
        revocation.check_steps(w, segments)
        revocation.check_steps(w, [])
        for i in range(3):
            wrong = good[:i] + [replace(good[i], v=power(good[i].v, 2))] + good[i + 1 :]
            self.refuses("invalid", revocation.check_steps, w, [(maker.keys[0].v, wrong)])
        self.refuses("invalid", revocation.check_steps, w, [(maker.keys[3].v, good)])
        self.refuses("invalid", revocation.check_steps, w, [(maker.keys[0].v, good[1:])])
        self.refuses("invalid", revocation.check_steps, w, [(maker.keys[0].v, good[::-1])])

    def test_chain_without_weights(self):
        """Without random weights two wrong steps make up for each other, for who knows gamma."""
        maker, (one, two, _) = self.maker, self.all_steps
        gamma, w, v = maker.gamma, maker.keys[0].w, maker.keys[0].v
        error = power(G1, 77)
        other = power(error, (1 - gamma - one.x) * pow(gamma + two.x, -1, r))
        # prod V_j+1^(gamma+x_j) / V_j: the error of V_1 stands with gamma + x_1 - 1, that of V_2 with gamma + x_2
        wrong = [replace(one, v=product(one.v, error)), replace(two, v=product(two.v, other))]
        revocation.check_steps(w, [(v, wrong)], weights=lambda: 1)
        self.refuses("invalid", revocation.check_steps, w, [(v, wrong)])


class Forgery(Split):
    """With public data alone: the update's values as a credential of the epoch before."""

    def run_scheme(self, scheme):
        maker = Maker(scheme, nonce=b"F" * 32)
        one, two, three = (maker.enrol(label) for label in ("one", "two", "three"))
        old = [old_key(maker.keys[0])]
        for machine, start in ((two, 100), (three, 1000)):
            maker.revoke(machine, start=start * SECOND, made=50 * SECOND)
            old.append(old[-1].revoked(maker.gamma, machine.x))
        group = group_file.Group(maker.file())
        group.check_epochs()
        return maker, group, old, (two, three)

    # Epoch 0 has ended at 200 s; is in grace at 130 s; at 60 s it is in force and epochs 1 and 2 are announced. The same of 1.
    TIMES = [(0, 130), (0, 60), (1, 1030), (1, 60), (1, 500)]

    def frame(self, maker, keys, e, time, B, x, y):
        sign = sign_xr if maker.scheme is xr else sign_bbs04
        forger = Machine("", 0, 0, None, x, y)
        return maker.packet(None, e, b"forged", time * SECOND, sign=lambda M: sign(keys[e], maker.epoch_id(e), M, B, forger))

    def said(self, group, frame, time):
        """By a receiver of captures at that time, and where a capture tells none (an ended epoch)."""
        judge = receiver.Receiver(group).judge
        return tuple(judge(frame, len(frame), 101, when)[1] for when in (time * SECOND, None))

    def test_old(self):
        """It succeeds against the equations of before; under bbs04 it opens to the machine that was revoked."""
        for scheme in (xr, bbs04):
            maker, group, old, revoked = self.run_scheme(scheme)
            target = OldGroup(group, old)
            for e, time in self.TIMES[:2] + self.TIMES[-1:]:
                x, y = revoked[e].x, rand()  # x* is published, y the forger's choice
                frame = self.frame(maker, old, e, time, forged(old[e + 1], y), x, y)
                self.assertEqual(self.said(target, frame, time), ("ok", "duplicate"), (scheme, e, time))
            x, y = revoked[0].x, rand()
            self.assertTrue(eq(forged(old[1], y), old[0].credential(maker.gamma, x, y)))

    def candidates(self, maker, group, e, revoked):
        """(B, x, y) that somebody makes of the group file, a register file with points, the lists of a rebase, openings
        of all machines, and evidence. Under bbs04 no x* is anywhere."""
        key, next_v, y = group.key(e), group.key(e + 1).v, rand()
        one = maker.machines[0]
        B, W = maker.signs_with(one, e), maker.witness(one, e)
        x = revoked[e].x if maker.scheme is xr else rand()
        yield next_v, x, y  # the old forgery, word for word
        yield powers((next_v, 1), (key.h0, y)) if maker.scheme is xr else product(G1, next_v), x, y
        yield product(revoked[e].A, next_v), x, y  # V' is the revoked one's W; its A is in its row
        yield product(one.A, next_v), x, y
        yield product(one.A, W), one.x if maker.scheme is xr else rand(), y  # of a machine that was opened
        yield B, x, y

    def test_new(self):
        for scheme in (xr, bbs04):
            maker, group, _, revoked = self.run_scheme(scheme)
            if scheme is xr:  # V' is what the theft of a witness would give, and no more
                self.assertTrue(eq(group.key(1).v, maker.witness(revoked[0], 0)))
            for i, (e, time) in enumerate(self.TIMES):
                tries = list(self.candidates(maker, group, e, revoked))
                for B, x, y in tries if i in (0, 4) else tries[2:3]:
                    frame = self.frame(maker, maker.keys, e, time, B, x, y)
                    self.assertEqual(self.said(group, frame, time), ("bad-signature", "bad-signature"), (scheme, e, time))
            # the machinery is right: with the y or x that nobody gave away it does sign
            B, two = maker.signs_with(revoked[0], 0), revoked[0]
            frame = self.frame(maker, maker.keys, 0, 60, B, two.x, two.y)
            self.assertEqual(self.said(group, frame, 60), ("ok", "duplicate"))


class RulesOfXr(Split):
    """Each rule dropped once, with the attack that then works."""

    @classmethod
    def setUpClass(cls):
        cls.maker = maker = Maker(xr, nonce=b"D" * 32)
        cls.a, cls.b = maker.enrol("a"), maker.enrol("b")
        cls.key = maker.keys[0]

    def fork(self):
        """A maker that goes on alone."""
        maker = Maker.__new__(Maker)
        maker.__dict__.update({k: list(v) if isinstance(v, list) else v for k, v in self.maker.__dict__.items()})
        return maker

    def test_1_one_x_in_two_offers(self):
        """h0^(1/(gamma+x)) is the quotient of the two, to the inverse of the difference: a credential for any y."""
        maker, key, x = self.maker, self.key, rand()
        y1, y2, y3 = rand(), rand(), rand()
        A1, A2 = (join.make_offer(key, power(key.h0, y), maker.gamma, x, 0).A for y in (y1, y2))
        of_h0 = power(powers((A1, 1), (A2, -1)), pow(y1 - y2, -1, r))
        A3, W = powers((A1, 1), (of_h0, y3 - y1)), maker.by_gamma(key.v, x)
        B = product(A3, W)
        self.assertTrue(self.holds(maker, 0, B, x, y3))
        for y in (y1, y2):
            self.assertFalse(self.named(maker, 0, B, Machine("", 0, 0, A1, x, y)))

    def test_1_an_aborted_offer_is_revoked(self):
        """The device has A and x, and no row. V' is its W."""
        maker, key, x, y = self.fork(), self.key, rand(), rand()
        A = join.make_offer(key, power(key.h0, y), maker.gamma, x, 0).A
        self.assertFalse(self.holds(maker, 0, A, x, y))  # A and x alone sign nothing
        maker.revoke(Machine("aborted", 99, 0, A, x), start=10)
        B = product(A, maker.keys[1].v)
        self.assertTrue(self.holds(maker, 0, B, x, y))
        self.assertFalse(any(self.named(maker, 0, B, m) for m in (self.a, self.b)))

    def test_1_W_before_S(self):
        """A witness that is given before the row stands: a key that opens to no row."""
        maker, key, x, y = self.maker, self.key, rand(), rand()
        A = join.make_offer(key, power(key.h0, y), maker.gamma, x, 0).A
        B = product(A, maker.by_gamma(key.v, x))
        self.assertTrue(self.holds(maker, 0, B, x, y))
        self.assertFalse(any(self.named(maker, 0, B, m) for m in (self.a, self.b)))

    def test_1_revoked_twice(self):
        """b, k, b: every step holds, and V_3 is b's witness of epoch 2, where it was revoked."""
        maker, b = self.fork(), self.b
        for machine, start in ((b, 10), (self.a, 20), (b, 30)):
            maker.revoke(machine, start=start)
        self.refuses("revoked-twice", group_file.Group, maker.file())
        v = maker.keys[0].v
        for e, machine in ((1, b), (2, self.a), (3, b)):
            revocation.check_step(self.key.w, v, revocation.Step(machine.x, maker.keys[e].v))
            v = maker.keys[e].v
        self.assertTrue(self.holds(maker, 2, product(b.A, maker.keys[3].v), b.x, b.y))

    def test_2_a_witness_for_who_is_revoked(self):
        """As W, as B (of an index, a register file, a match), and for a point that somebody sends, though blinded."""
        maker, b = self.fork(), self.b
        maker.revoke(b, start=10)
        self.assertRaises(AssertionError, maker.witness, b, 1)
        V, rho = maker.keys[1].v, rand()
        W = power(maker.by_gamma(power(V, rho), b.x), pow(rho, -1, r))  # what a server that takes points would answer
        B = product(b.A, W)
        self.assertTrue(self.holds(maker, 1, B, b.x, b.y))

    def test_2_revoked_before_a_rebase_and_again(self):
        """The rebase leaves b out, and a step behind it publishes b's witness. Readers that know rows by their index
        in the one and by x* in the other do not see it: it is the manager's rule."""
        maker, b = self.fork(), self.b
        maker.rebase(b, start=10)
        maker.revoke(b, start=20)
        group_file.Group(maker.file()).check_epochs()
        self.assertTrue(self.holds(maker, 1, product(b.A, maker.keys[2].v), b.x, b.y))

    def test_3_a_V_that_no_step_leads_to(self):
        """V = h0^k / g1: the manager signs without a member key, and an honest machine is named."""
        maker, a, k = self.fork(), self.a, rand()
        V = powers((self.key.h0, k), (self.key.g1, -1))
        step = encode_scalar(rand()) + encode(V)
        maker.keep(xr.in_epoch(self.key, V))
        maker.epoch(10, group_file.STEPS, b"\1" + step)
        B = maker.by_gamma(power(self.key.h0, k + a.y), a.x)  # made of the row's C, without a's y
        data = sign_xr(maker.keys[1], maker.epoch_id(1), M, B, Machine("", 0, 0, None, -maker.gamma % r, -k % r))
        xr.verify(maker.keys[1], maker.epoch_id(1), M, data)
        self.assertTrue(self.named(maker, 1, self.opened(maker, 1, data), a))
        self.refuses("public-key", group_file.Group(maker.file()).check_epochs, where=1)

    def test_4_a_non_match_with_any_x(self):
        """Without the first equation a manager's x' has a B' that fits: not the machine, though it was."""
        maker, a, x = self.maker, self.a, rand()
        C, data = power(self.key.h0, a.y), maker.sign(a, 0, M)
        B = maker.by_gamma(product(self.key.base, C), x)
        self.assertTrue(xr.names(self.key, B, C, x))
        self.assertFalse(eq(self.opened(maker, 0, data), B))
        self.assertFalse(xr.certifies(self.key, a.A, C, x))

    def test_4_anybody_by_its_row(self):
        """Without the second equation the row of b fits a's signature."""
        C = power(self.key.h0, self.b.y)
        B = self.opened(self.maker, 0, self.maker.sign(self.a, 0, M))
        self.assertTrue(xr.certifies(self.key, self.b.A, C, self.b.x))
        self.assertFalse(xr.names(self.key, B, C, self.b.x))

    def test_5_too_many_steps(self):
        """Cheon's algorithm on a toy group of order q near 2^32: d = 256 steps make gamma cost sqrt(q/d) + sqrt(d)."""
        d = 256
        order, modulus = toy_group(d)
        gamma, cofactor = 0x9E3779B9 % order, (modulus - 1) // order
        base = pow(next(b for b in range(2, 99) if pow(b, cofactor, modulus) != 1), cofactor, modulus)
        xs = [1000 + 7 * i for i in range(d)]
        chain = [base]
        for x in xs:
            chain.append(pow(chain[-1], pow(gamma + x, -1, order), modulus))
        u, u1, ud = powers_of_gamma(chain, xs, order, modulus)
        found, work = cheon(u, u1, ud, d, order, modulus)
        self.assertEqual(found, gamma)
        self.assertLess(work, 5 * (isqrt(order // d) + isqrt(d)))

    # 6, constant time, cannot be shown here.


class RulesOfBbs04(Split):
    """Why the row has X and not x, and why no x* is published."""

    @classmethod
    def setUpClass(cls):
        cls.maker = maker = Maker(bbs04, nonce=b"B" * 32)
        cls.a, cls.b = maker.enrol("a"), maker.enrol("b")

    def test_an_opening_with_x(self):
        """(B_e, x) is the whole key of an epoch: who is shown both signs as that machine at once."""
        B = self.opened(self.maker, 0, self.maker.sign(self.a, 0, M))
        self.assertTrue(self.named(self.maker, 0, B, self.a))
        self.assertTrue(self.holds(self.maker, 0, B, self.a.x))
        self.assertFalse(self.named(self.maker, 0, B, self.b))

    def test_a_revocation_with_x(self):
        """After an opening the x* of a step makes a key of every epoch up to it: A of the row, W from V'."""
        maker, a = self.maker, self.a
        V = maker.by_gamma(maker.keys[0].v, a.x)
        revocation.check_step(maker.keys[0].w, maker.keys[0].v, revocation.Step(a.x, V))
        self.assertTrue(self.holds(maker, 0, product(a.A, V), a.x))

    def test_rebase(self):
        """The witnesses of a rebase are public; with A and W of every row nobody signs."""
        maker = Maker(bbs04, nonce=b"C" * 32)
        a, b = maker.enrol("a"), maker.enrol("b")
        maker.revoke(b, start=10)
        B = maker.signs_with(a, 1)
        self.assertTrue(self.holds(maker, 1, B, a.x) and self.named(maker, 1, B, a))
        self.assertFalse(self.holds(maker, 1, B, rand()))
        self.assertFalse(self.holds(maker, 1, product(b.A, maker.witness(a, 1)), b.x))
        self.assertFalse(self.holds(maker, 1, product(b.A, maker.by_gamma(maker.keys[0].v, b.x)), b.x))


class Algebra(Split):
    """The same in the algebraic group model, and for what no program tries: B of (x, y) in an epoch is in the span of
    the points that somebody has, or it is not. Parts of a point: g1, h0, V of segment 0, V of segment 1."""

    def setUp(self):
        self.xs = [rand() for _ in range(6)]
        self.ys = [rand() for _ in range(6)]
        self.chain = {0: [[]], 1: [[]]}  # of each segment: for each epoch the x* so far

    def product_at(self, segment, e, gamma):
        value = 1
        for x in self.chain[segment][e]:
            value = value * (gamma + x) % r
        return value

    def part(self, segment, value):
        return [0, 0, value, 0] if segment == 0 else [0, 0, 0, value]

    def V(self, segment, e):
        return lambda gamma: self.part(segment, algebra.inv(self.product_at(segment, e, gamma)))

    def W(self, segment, e, x):
        return lambda gamma: self.part(segment, algebra.inv(self.product_at(segment, e, gamma) * (gamma + x)))

    def A(self, x, y):
        return lambda gamma: [algebra.inv(gamma + x), y * algebra.inv(gamma + x), 0, 0]

    def B(self, segment, e, x, y):
        return lambda gamma: [a + b for a, b in zip(self.A(x, y)(gamma), self.W(segment, e, x)(gamma))]

    def revoke(self, *rows, segment=0):
        self.chain[segment].append(self.chain[segment][-1] + [self.xs[i] for i in rows])

    def public(self):
        """The generators and the chain, with the V between the steps of one record; A of all rows; and, as if an auditor
        had asked for every power of gamma, Q of all that (2 powers)."""
        points = [lambda gamma: [1, 0, 0, 0], lambda gamma: [0, 1, 0, 0]]
        for segment, epochs in self.chain.items():
            points += [self.V(segment, e) for e in range(len(epochs))]
        points += [self.A(x, y) for x, y in zip(self.xs, self.ys)]
        raised = [lambda gamma, p=p, n=n: [v * pow(gamma, n, r) % r for v in p(gamma)] for p in points for n in (1, 2)]
        return points + raised

    def witnesses(self, segment, revoked):
        """Of all rows in all epochs of a segment, but for those in which a row is revoked ({row: first epoch})."""
        epochs = range(len(self.chain[segment]))
        return [self.W(segment, e, x) for i, x in enumerate(self.xs) for e in epochs if e < revoked.get(i, 99)]

    def test_the_rules_hold(self):
        """Rows 0 and 1 are revoked by steps, row 2 by the rebase, row 3 behind it. Everybody but 5 conspires."""
        self.revoke(0), self.revoke(1), self.revoke(3, segment=1)
        have = self.public() + self.witnesses(0, {0: 1, 1: 2}) + self.witnesses(1, {0: 0, 1: 0, 2: 0, 3: 1})
        can = lambda *target: algebra.in_span(self.B(*target), have)
        x, y = self.xs, self.ys
        for segment, e, i, wanted in (
            (0, 0, 0, True), (0, 1, 0, False), (0, 2, 0, False), (1, 0, 0, False), (0, 1, 1, True), (0, 2, 1, False),
            (1, 1, 1, False), (0, 2, 2, True), (1, 0, 2, False), (1, 1, 2, False), (1, 0, 3, True), (1, 1, 3, False),
            (0, 0, 4, True), (1, 1, 4, True),
        ):  # fmt: skip
            self.assertEqual(can(segment, e, x[i], y[i]), wanted, (segment, e, i))
        for segment, e in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1)):
            self.assertFalse(can(segment, e, rand(), rand()))  # a new x
            for i in range(5):
                self.assertFalse(can(segment, e, x[i], rand()))  # an x of somebody, another y
                self.assertFalse(can(segment, e, x[i], y[(i + 1) % 5]))

    def test_late(self):
        """Backwards by the chain from one witness, and not over a rebase."""
        self.revoke(0), self.revoke(1)
        have = self.public() + [self.W(0, 2, self.xs[4])]
        for e in range(3):
            self.assertTrue(algebra.in_span(self.B(0, e, self.xs[4], self.ys[4]), have))
        have = self.public() + [self.W(1, 0, self.xs[4])]
        self.assertTrue(algebra.in_span(self.B(1, 0, self.xs[4], self.ys[4]), have))
        self.assertFalse(algebra.in_span(self.B(0, 2, self.xs[4], self.ys[4]), have))

    def test_rules_dropped(self):
        x, y = self.xs, self.ys
        self.revoke(0), self.revoke(1)
        have = self.public() + self.witnesses(0, {0: 1, 1: 2})
        target = self.B(0, 2, x[0], y[0])
        self.assertFalse(algebra.in_span(target, have))
        self.assertTrue(algebra.in_span(target, have + [self.W(0, 2, x[0])]))  # 2: a witness for who is revoked
        self.assertTrue(algebra.in_span(target, have + [self.B(0, 2, x[0], y[0])]))
        new = rand()  # 1: two offers with one x
        offers = [self.A(new, 1), self.A(new, 2)]
        have_new = have + [self.W(0, 0, new)]
        self.assertFalse(algebra.in_span(self.B(0, 1, new, 5), have_new + offers[:1]))
        self.assertTrue(algebra.in_span(self.B(0, 1, new, 5), have_new + offers))
        self.revoke(0)  # 1: revoked twice
        self.assertTrue(algebra.in_span(target, self.public()))

    def test_forks(self):
        """Two histories of one group. Steps: nothing comes of both. Two rebases with one V would let the machine that
        only one of them revokes sign in both: that is why V is hashed from the id of the record, too."""
        ids = [hash_of(b"one history"), hash_of(b"another")]
        self.assertNotEqual(*(encode(xr.rebased_v(b"n" * 32, 5, id)) for id in ids))
        x, y = self.xs, self.ys
        self.revoke(0)  # one history: row 0; the other: row 1, then row 0
        other = [lambda g: self.part(0, algebra.inv(g + x[1])), lambda g: self.part(0, algebra.inv((g + x[1]) * (g + x[0])))]
        have = self.public() + [self.W(0, 0, x[0])] + other
        self.assertFalse(algebra.in_span(self.B(0, 1, x[0], y[0]), have))
        have = self.public() + self.witnesses(1, {0: 0})  # a rebase that leaves row 0 out ...
        self.assertFalse(algebra.in_span(self.B(1, 0, x[0], y[0]), have))
        self.assertTrue(algebra.in_span(self.B(1, 0, x[0], y[0]), have + self.witnesses(1, {1: 0})))  # ... and one row 1


if __name__ == "__main__":
    unittest.main()
