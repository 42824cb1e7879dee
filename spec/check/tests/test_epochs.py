"""A group with several epochs, read from the specification alone: steps, a new opening key, rebases, revocations that are
planned and urgent, late joins; packets, openings, matches, register files, buckets, key files; and their bytes changed."""

import random
import unittest

from common import bbs04, Case, flip, group_file, join, key_file, opening, put, receiver, Refused, register, text, xr
from clew_check import trailer, update
from clew_check.curve import *
from prover import device, history, name, public, rand, sign_xr, u16, u32

SECOND = 10**9


class Epochs(Case):
    @classmethod
    def setUpClass(cls):
        cls.maker = maker = history(xr)
        cls.a, cls.b, cls.c, cls.d, cls.late, cls.last = maker.machines
        cls.group = group_file.Group(maker.file())

    def said(self, frame, time):
        return receiver.Receiver(self.group).judge(frame, len(frame), 101, time and time * SECOND)[1]

    def judge(self, payload, frame, label=opening.OPENING):
        return opening.judge(self.group, label, payload, [(frame, len(frame), 101, None)])

    def test_receiver(self):
        """Until the effective start of the successor and the grace."""
        ends = {0: 160, 1: 260, 2: 460, 3: 460}
        self.assertEqual([self.group.start(e) // SECOND for e in range(5)], [0, 100, 200, 400, 400])
        for e, end in ends.items():
            frame = self.maker.packet(self.a, e, time=(end - 1) * SECOND)
            self.assertEqual((self.said(frame, end - 1), self.said(frame, end)), ("ok", "epoch-over"), e)
        frame = self.maker.packet(self.a, 4, time=10**4 * SECOND)
        self.assertEqual((self.said(frame, 10**4), self.said(frame, None)), ("ok", "ok"))

    def test_kind(self):
        """The message names what it is of."""
        packet, found = receiver.read(*(lambda f: (f, len(f)))(self.maker.packet(self.a, 0)), 101)
        M = trailer.message(packet, found)
        self.assertEqual(M[:20], b"clew-packet-v1\0\0\1\1\1\2")
        for kind in (0, 2, 3, 4):
            frame = self.maker.packet(self.a, 0, sign=lambda M: self.maker.sign(self.a, 0, put(M, 16, bytes([kind]))))
            self.assertEqual(self.said(frame, None), "bad-signature")

    def test_openings(self):
        """In every epoch, of who was a member then, whoever came later, and whoever went."""
        for e, machine, indices, said in (
            (0, self.a, [1, 3], "trusted-dealer not-anchored"),
            (0, self.b, [1, 2], "trusted-dealer revoked-later=1 not-anchored"),
            (1, self.c, [1, 2], "trusted-dealer revoked-later=3 not-anchored"),
            (3, self.d, [2], "revoked-later=4 not-anchored"),
            (0, self.late, [2, 3], "trusted-dealer joined-later=1 not-anchored name-reissued"),
            (4, self.late, [1], "not-anchored name-reissued"),
            (3, self.last, [1], "joined-later=4 not-anchored"),
        ):
            frame = self.maker.packet(machine, e, incremental=e == 1)
            found = self.judge(self.maker.opening(e, frame, machine, indices), frame)
            given = [label if epoch is None else f"{label}={epoch}" for label, epoch in found.caveats]
            self.assertEqual((found.answer, " ".join(given)), (machine.name, said))

    def test_revoked_before(self):
        """Who knows gamma lets a revoked machine sign: it is named, and that it was revoked is said."""
        maker, b = self.maker, self.b
        B = maker.by_gamma(product(maker.keys[1].base, power(maker.keys[0].h0, b.y)), b.x)
        frame = maker.packet(b, 1, sign=lambda M: sign_xr(maker.keys[1], maker.epoch_id(1), M, B, b))
        found = self.judge(maker.opening(1, frame, b, [1, 2]), frame)
        self.assertIn(("revoked-before", 1), found.caveats)

    def test_matches(self):
        frame = self.maker.packet(self.late, 2)
        match = lambda machine: self.judge(self.maker.match(2, frame, machine, [2]), frame, opening.MATCH)
        self.assertEqual(match(self.late).answer, opening.WAS)
        found = match(self.d)
        self.assertEqual((found.answer, found.caveats), (opening.WAS_NOT, [("not-anchored", None)]))

    def test_rows_of_checkpoints(self):
        frame = self.maker.packet(self.a, 0)
        for machines, good in ((4, True), (5, True), (6, True), (3, False)):
            payload = self.maker.opening(0, frame, self.a, [1, 2], row=self.maker.row(self.a, machines))
            if good:
                self.assertEqual(self.judge(payload, frame).answer, "a")
            else:
                self.refuses("register", self.judge, payload, frame, where="machines")

    def test_changed_opening(self):
        """Samples of all fields, a bit each: nothing that is changed holds."""
        dice, frame = random.Random(9), self.maker.packet(self.late, 4)
        good = self.maker.opening(4, frame, self.late, [2])
        self.assertEqual(self.judge(good, frame).answer, "late")
        places = [16, 17, 18, 34, 38, 70, 102, 134, 166, 198, 206, 207, 255, 287, 319, 351]
        places += dice.sample(range(206, len(good)), 34)
        for at in places:
            self.assertRaises(Refused, self.judge, flip(good, at, 1 << dice.randrange(8)), frame)

    def test_changed_packet(self):
        """Payload, trailer, signature: of the packet of one epoch. (What a path may change is zero in the message.)"""
        dice, frame = random.Random(8), self.maker.packet(self.a, 4, time=500 * SECOND)
        body = len(frame) - 31 - 288
        for at in [28, 32, *dice.sample(range(body, len(frame) - 31), 12), *range(len(frame) - 31, len(frame), 4)]:
            said = self.said(flip(frame, at, 1 << dice.randrange(8)), 500)
            self.assertNotEqual(said, "ok", at)
        for e in (0, 2, 3):  # the number of another epoch
            self.assertEqual(self.said(put(frame, len(frame) - 23, u32(e)), None), "bad-signature")

    def test_key_file(self):
        """A key file of epoch 0 follows the group, and switches by the packet's time."""
        maker, a = self.maker, self.a
        old = key_file.member(maker.key_file(a, [0]), key_file.MEMBER)
        A, x, y = xr.decode_member(old["member-key"])
        held, W = (0, old["epoch-id"][0]), decode_g1(old["witness"][0])
        self.assertEqual(update.to_hold(self.group, 50 * SECOND), [0, 1, 2, 3, 4])
        self.assertEqual(update.to_hold(self.group, 250 * SECOND), [2, 3, 4])
        self.assertEqual(update.to_hold(self.group, 400 * SECOND), [4])
        listed = {3: key_file.find_witness(maker.buckets(3)[0], maker.id, 3, a.index)}
        for e in range(5):
            W_e = update.follow(self.group, held, W, x, e, listed)
            self.assertTrue(eq(W_e, maker.witness(a, e)))
        self.refuses("witness-needed", update.follow, self.group, held, W, x, 4, where=3)
        self.refuses("fork", update.follow, self.group, (0, bytes(32)), W, x, 1)
        self.refuses("invalid", update.follow, self.group, held, W, x, 4, {3: W})
        self.refuses("revoked", update.follow, self.group, held, maker.witness(self.b, 0), self.b.x, 1)
        bucket = maker.buckets(3)[0]
        self.refuses("no-witness", key_file.find_witness, bucket, maker.id, 3, self.c.index)
        listed = {3: None}
        self.refuses("revoked", update.follow, self.group, held, maker.witness(self.c, 0), self.c.x, 3, listed)
        fields = key_file.member(maker.key_file(a, [2, 3, 4]), key_file.MEMBER)
        starts = [int.from_bytes(start, "big") for start in fields["start"]]
        self.assertEqual([key_file.held_at(starts, t * SECOND) for t in (0, 200, 399, 400, 10**6)], [0, 0, 0, 2, 2])

    def test_key_file_changed(self):
        data = self.maker.key_file(self.a, [3, 4])
        payload = text.read(data)[1]
        read = lambda payload: key_file.member(text.write(key_file.MEMBER, payload), key_file.MEMBER)
        self.assertEqual(read(payload)["epoch"], [u32(3), u32(4)])
        count = 1 + 16 + 32 + 2 + 4 + 112 + 32
        self.assertEqual(payload[count], 2)
        for bad in (
            payload[:-1], payload + b"\0", put(payload, count, b"\0"), put(payload, count, b"\x11"), put(payload, 0, b"\1"),
            payload[: count + 1] + payload[count + 333 :] + payload[count + 1 : count + 333],  # in another order
            put(payload, len(payload) - 48, bytes(48)), put(payload, count - 64, bytes(32)), put(payload, 49, b"\0"),
        ):  # fmt: skip
            self.refuses("damaged", read, bad)

    def test_register_file(self):
        for values in (register.HASHES, register.POINTS):
            data = self.maker.register_file([1, 3, 4], values)
            file = register.read_register_file(data, xr)
            self.assertEqual((file.group, file.epochs, len(file.lines)), (self.maker.id, [1, 3, 4], 6))
            for line in file.lines if values == register.POINTS else file.lines[:1]:
                register.check_register_line(self.group, file, *line)
            absent = [[not any(value) for value in given] for _, _, given in file.lines]
            self.assertEqual(absent[:4], [[False] * 3, [True] * 3, [False, True, True], [False, False, True]])
            self.assertEqual(absent[4:], [[False] * 3] * 2)  # who joined later is not left out
        B = self.maker.signs_with(self.last, 3)
        data = self.maker.register_file([1, 3, 4])
        file = register.read_register_file(data, xr)
        hits = [row.entry.name[1:] for row, _, given in file.lines if given[file.epochs.index(3)] == xr.index(B)]
        self.assertEqual(hits, [b"last"])
        for bad, rule in (
            (flip(data, 0), "header"), (data[:-1], "truncated"), (put(data, 32, b"\3"), "header"), (data[:20], "header"),
            (put(data, 33, b"\0"), "header"), (put(data, 34, u32(3)), "header"), (put(data, 46, u32(2000)), "too-long"),
        ):  # fmt: skip
            self.refuses(rule, register.read_register_file, bad, xr)
        lines = register.read_register_file(self.maker.register_file([3], register.POINTS, [self.a, self.d]), xr)
        (row, x, given), (_, other_x, other) = lines.lines
        check = lambda *line: register.check_register_line(self.group, lines, *line)
        self.refuses("credential", check, row, other_x, given)
        self.refuses("signer", check, row, x, other)
        self.refuses("signer", check, row, x, [b"\xff" * 48])

    def test_bucket(self):
        data = self.maker.buckets(3)[0]
        group, epoch, first, given = key_file.read_bucket(data)
        self.assertEqual((group, epoch, first, len(given)), (self.maker.id, 3, 0, 6))
        self.assertEqual([W is None for W in given], [False, True, True, False, False, False])
        for rule, bad in (
            ("layout", flip(data, 15)), ("layout", data[:-1]), ("layout", data + b"\0"), ("layout", put(data, 40, u16(0))),
            ("other-group", flip(data, 16)), ("other-epoch", put(data, 32, u32(4))), ("other-rows", put(data, 36, u32(1))),
            ("no-witness", put(data, 42, bytes(48))), ("point", put(data, 42, b"\0" + b"x" * 47)),
        ):  # fmt: skip
            self.refuses(rule, key_file.find_witness, bad, self.maker.id, 3, 0)
        self.refuses("no-witness", key_file.find_witness, data, self.maker.id, 3, 6)

    def test_join_by_files(self):
        """All rounds, from the invitation to the credential."""
        maker, key, manager = self.maker, self.maker.keys[0], public(self.maker.manager)
        nonce, label, dev = b"j" * 32, name("new"), device("new")
        to_sign = D("clew-invitation-1") + maker.id + nonce + label
        write = lambda kind, payload: text.write(kind, payload)
        data = write(key_file.INVITATION, maker.id + nonce + label + maker.manager.sign(to_sign))
        fields = key_file.invitation(data, key_file.INVITATION)
        key_file.check_invitation(fields, manager)
        self.refuses("not-the-managers", key_file.check_invitation, fields | {"machine": b"neW"}, manager)
        session, y = join.session(maker.id, nonce, public(dev), label), rand()
        request = nonce + public(dev) + join.make_request(key, session, y, rand())
        fields = key_file.join_request(write(key_file.JOIN_REQUEST, request), key_file.JOIN_REQUEST)
        C = join.check_request(key, session, fields["request"])
        made = [kind(b"s" * 32, b"t" * 16, b"new", r) for kind in (key_file.derive_x, key_file.derive_s)]
        self.assertNotEqual(*made)
        payload = nonce + u32(4) + maker.epoch_id(4) + b"\2" + b"\xff" * 4 + join.make_offer(key, C, maker.gamma, *made).encode()
        fields = key_file.offer(write(key_file.OFFER, payload), key_file.OFFER)
        for bad in (put(payload, 68, b"\4"), payload[:-1], put(payload, 73 + 48, bytes(32)), put(payload, 73, bytes(48))):
            self.refuses("damaged", key_file.offer, write(key_file.OFFER, bad), key_file.OFFER)
        A, x, y = join.accept(key, y, fields["offer"])
        parts = encode(power(key.h0, y)), encode(A), public(dev), label
        statement = register.device_text(maker.id, 4, 2, 2**32 - 1, *parts)
        proof = join.prove_y(key, statement, y, rand())
        payload = nonce + dev.sign(statement) + proof
        fields = key_file.acceptance(write(key_file.ACCEPTANCE, payload), key_file.ACCEPTANCE)
        join.check_row_proof(key, statement, decode_g1(parts[0]), fields["proof"])
        for bad in (payload[:-1], payload[:-64], put(payload, 96, b"\x40"), put(payload, 128, b"\xff" * 32)):
            self.refuses("damaged", key_file.acceptance, write(key_file.ACCEPTANCE, bad), key_file.ACCEPTANCE)
        W = maker.by_gamma(maker.keys[4].v, x)
        payload = nonce + u32(6) + b"\1" + u32(4) + encode(W)
        fields = key_file.credential(write(key_file.CREDENTIAL, payload), key_file.CREDENTIAL)
        xr.check_witness(maker.keys[4], decode_g1(fields["witness"][0]), x)
        for bad in (put(payload, 36, b"\0"), payload + b"\0", payload[:37] + payload[37:] * 2, put(payload, 41, bytes(48))):
            self.refuses("damaged", key_file.credential, write(key_file.CREDENTIAL, bad), key_file.CREDENTIAL)


class EpochsBbs04(Case):
    def test_all(self):
        maker = history(bbs04)
        a, b, c, d, late, last = maker.machines
        group = group_file.Group(maker.file())
        group.check_all()
        self.assertEqual([group.start(e) // SECOND for e in range(5)], [0, 100, 200, 400, 400])
        for e, machine, said in ((0, b, ["revoked-later"]), (3, last, ["joined-later"]), (4, late, ["name-reissued"])):
            frame = maker.packet(machine, e)
            payload = maker.opening(e, frame, machine, [1, 2])
            found = opening.judge(group, opening.OPENING, payload, [(frame, len(frame), 101, None)])
            labels = [label for label, _ in found.caveats]
            every = ["issuer-could-sign", "trusted-dealer", "joined-on-issuer-host", "not-anchored"]
            self.assertEqual((found.answer, sorted(labels)), (machine.name, sorted(every + said)))
        fields = key_file.member(maker.key_file(a, [0, 4]), key_file.MEMBER)
        A, x = bbs04.decode_member(fields["member-key"])
        listed = {4: key_file.find_witness(maker.buckets(4)[0], maker.id, 4, a.index)}
        W = update.follow(group, (0, maker.epoch_id(0)), decode_g1(fields["witness"][0]), x, 4, listed)
        self.assertTrue(eq(W, decode_g1(fields["witness"][1])))
        file = register.read_register_file(maker.register_file([4], register.POINTS, [a, d]), bbs04)
        for line in file.lines:
            register.check_register_line(group, file, *line)
        self.refuses("signer", register.check_register_line, group, file, *file.lines[0][:2], [encode(a.A)])


if __name__ == "__main__":
    unittest.main()
