"""opening.md sections 6 and 7 and packet-trailer.md section 6: round trips, and every rule broken."""

import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from common import bbs04, Case, flip, group_file, merkle, opening, put, quorum, receiver, Refused, register, text, xr
from clew_check.curve import *
from prover import device, inclusion, Maker, pcap, public, rand, u32

SECOND = 10**9
IDENTITY = bytes([0xC0]) + bytes(47)
BLINDS = 206 + 4 + 48 + 32  # their place in a match of two


class Judge(Case):
    @classmethod
    def setUpClass(cls):
        cls.maker = maker = Maker(xr, nonce=b"o" * 32)
        cls.machines = [maker.enrol(label) for label in ("one", "two", "three")]
        cls.one, cls.two, cls.three = cls.machines
        maker.revoke(cls.three, start=100 * SECOND, made=90 * SECOND)
        cls.late = maker.enrol("late", register.ON_ISSUER, replaces=2)
        cls.group = group_file.Group(maker.file())
        assert [head.machines for head in cls.group.checkpoints] == [3]
        cls.frame = maker.packet(cls.one, 1, time=150 * SECOND)
        cls.other = maker.packet(cls.two, 1, payload=b"other", incremental=True)
        cls.opening = maker.opening(1, cls.frame, cls.one, [1, 3])
        cls.match = maker.match(1, cls.frame, cls.one, [2, 3])

    def judge(self, *arguments, **named):
        return self.judgement(*arguments, **named).answer

    def judgement(self, payload, label=opening.OPENING, frames=None, rules=None):
        packets = [(frame, len(frame), 101, None) for frame in frames or [b"x", self.other, self.frame]]
        say = rules.append if rules is not None else lambda rule: None
        return opening.judge(self.group, label, payload, packets, say)

    def caveats(self, *arguments, **named):
        return self.judgement(*arguments, **named).caveats

    def judge_match(self, payload, frames=None, rules=None):
        return self.judge(payload, opening.MATCH, frames, rules)

    def opened(self, *arguments, **changes):
        return self.maker.opening(*arguments, **changes)

    def with_row(self, machine):
        """A maker with one more row, which no record binds."""
        changed, index = Maker.__new__(Maker), len(self.maker.machines)
        changed.__dict__.update(self.maker.__dict__)
        forged = replace(machine, index=index, entry=put(machine.entry, 0, u32(index)))
        changed.machines = [*self.maker.machines, forged]
        return changed, forged

    # Openings

    def test_opening_holds(self):
        rules = []
        self.assertEqual(self.judge(self.opening, rules=rules), "one")
        self.assertEqual(rules, "layout group packet signature share register device credential signer".split())
        self.assertEqual(self.judge(self.opened(1, self.other, self.two, [2, 3])), "two")

    def test_opening_of_epoch_0(self):
        frame = self.maker.packet(self.three, 0)
        self.assertEqual(self.judge(self.opened(0, frame, self.three, [1, 2]), frames=[frame]), "three")
        self.refuses("signer", self.judge, self.opened(0, frame, self.late, [1, 2]), opening.OPENING, [frame])
        after = self.opened(0, frame, self.three, [1, 2])
        said = [("trusted-dealer", None), ("revoked-later", 1), ("not-anchored", None)]
        self.assertEqual(self.caveats(after, frames=[frame]), said)

    def test_late(self):
        """Who joined in epoch 1 can date back, and is named."""
        frame = self.maker.packet(self.late, 0)
        payload = self.opened(0, frame, self.late, [1, 2])
        found = self.judgement(payload, frames=[b"x", frame])
        said = [("trusted-dealer", None), ("joined-on-issuer-host", None), ("joined-later", 1), ("not-anchored", None)]
        self.assertEqual((found.answer, found.caveats), ("late", said + [("name-reissued", None)]))
        self.assertEqual((found.packets, found.asked), ([2], 2))

    def test_device_pin(self):
        packets = [(self.frame, len(self.frame), 101, None)]
        pin = register.fingerprint(public(device("one")))
        self.assertRegex(pin, "^SHA256:[A-Za-z0-9+/]{43}$")
        judge = lambda pin: opening.judge(self.group, opening.OPENING, self.opening, packets, device=pin)
        self.assertEqual(judge(pin).answer, "one")
        self.refuses("device-pin", judge, register.fingerprint(public(device("two"))))

    def test_incremental_with_wrong_R1(self):
        """The signature is judged in its plain form."""
        at = self.other.index(b"other") + 5 + 288
        frame = put(self.other, at, encode(G1))
        self.assertEqual(self.judge(self.opened(1, self.other, self.two, [2, 3]), frames=[frame]), "two")

    def test_layout(self):
        good = self.opening
        for data in (good[:100], good[:-1], good + b"\0", b""):
            self.refuses("layout", self.judge, data)
        for at in (0, 15, 16, 17):  # domain, kind, scheme
            self.refuses("layout", self.judge, flip(good, at, 4))
        self.refuses("layout", self.judge, flip(good, 166))  # machine
        self.refuses("share", self.judge, flip(good, 198))  # place in the log, which the proofs bind
        for indices in ([3, 1], [1, 1], [0, 1], [1, 4]):
            shares = b"".join(bytes([i]) + good[207:319] for i in indices)
            self.refuses("layout", self.judge, put(good, 206, shares))
        for at, value in ((207, IDENTITY), (255, b"\x40"), (287, b"\xff" * 32)):  # D, c, s
            self.refuses("layout", self.judge, put(good, at, value))
        x = 206 + 2 * 113
        for value in (bytes(32), r.to_bytes(32, "big")):
            self.refuses("layout", self.judge, put(good, x, value))
        self.refuses("layout", self.judge, put(good, x + 32, b"\0\1"))  # an anchor
        self.refuses("layout", self.judge, put(good, x + 32, b"\0\1") + b"a")
        credential = good.index(encode(self.one.A))
        self.refuses("layout", self.judge, put(good, credential, IDENTITY))
        self.refuses("layout", self.judge, put(good, credential + 48, b"\0"))
        for how in (0, 4):
            self.refuses("layout", self.judge, put(good, credential - 5, bytes([how])))
        self.refuses("layout", self.judge, good[:319] + good[432:])  # t - 1

    def test_group(self):
        for at in (18, 37, 38):  # group id, epoch, epoch id
            self.refuses("group", self.judge, flip(self.opening, at))
        self.refuses("group", self.judge, put(self.opening, 34, u32(0)))
        self.refuses("group", self.judge, put(self.opening, 17, b"\1"))

    def test_newer_file(self):
        """Of an epoch or a register that this file does not have yet, nobody can tell; of another group, one can."""

        def no_judgement(payload):
            with self.assertRaises(Refused) as caught:
                self.judge(payload)
            return caught.exception.rule, opening.cannot_tell(caught.exception)

        later = put(self.opening, 34, u32(2))
        self.assertEqual(no_judgement(later), ("group", True))
        self.assertEqual(no_judgement(put(later, 38, bytes(32))), ("group", True))
        self.assertEqual(no_judgement(flip(later, 18)), ("group", False))
        self.assertEqual(no_judgement(put(later, 17, b"\1")), ("group", False))
        self.assertEqual(no_judgement(flip(self.opening, 38)), ("group", False))
        row = self.maker.row(self.one)
        longer = put(row, 2 + len(self.one.entry), u32(5))
        self.assertEqual(no_judgement(self.opened(1, self.frame, self.one, [1, 3], row=longer)), ("register", True))

    def test_packet(self):
        self.refuses("packet", self.judge, self.opening, opening.OPENING, [self.other])
        self.refuses("packet", self.judge, self.opening, opening.OPENING, [put(self.frame, 28, b"J")])
        self.refuses("packet", self.judge, flip(self.opening, 70))

    def test_packet_of_another_epoch(self):
        """A signer binds the id of epoch 1 and writes epoch 0 into the trailer."""
        one, maker = self.one, self.maker
        frame = maker.packet(one, 0, sign=lambda M: maker.sign(one, 1, M))
        self.refuses("packet", self.judge, self.opened(1, frame, one, [1, 2]), opening.OPENING, [frame])

    def test_signature(self):
        bad = self.maker.packet(self.one, 1, sign=lambda M: self.maker.sign(self.one, 1, b"another message"))
        self.refuses("signature", self.judge, self.opened(1, bad, self.one, [1, 2]), opening.OPENING, [bad])

    def test_share(self):
        good = self.opening
        self.refuses("share", self.judge, flip(good, 206 + 112), where=1)
        self.refuses("share", self.judge, flip(good, 206 + 113 + 112), where=3)
        self.refuses("share", self.judge, put(good, 207, encode(G1)), where=1)
        request, _ = self.maker.request(1, 1, self.frame)
        other = self.opened(1, self.frame, self.one, [1, 3], request=put(request, 134, b"warrant"))  # other context
        self.refuses("share", self.judge, other, where=1)
        self.refuses("packet", self.judge, flip(good, 102))  # another packet was asked about
        swapped = good[:206] + b"\1" + good[320:432] + b"\3" + good[207:319] + good[432:]
        self.refuses("share", self.judge, swapped, where=1)

    def test_register(self):
        maker, row = self.maker, self.maker.row(self.one)

        def refused(row):
            self.refuses("register", self.judge, self.opened(1, self.frame, self.one, [1, 3], row=row))

        entry = len(self.one.entry)
        refused(maker.row(self.one, 2))  # of a register that this file does not know
        refused(put(row, 2 + entry, u32(5)))
        refused(flip(row, len(row) - 1))  # a hash of the proof
        refused(row[:-32][: 6 + entry] + b"\1" + row[7 + entry : -32])  # one hash less
        refused(flip(row, 2 + 3))  # index of the entry
        old = maker.row(self.one, 3)  # that of a checkpoint is as good
        self.assertEqual(self.judge(self.opened(1, self.frame, self.one, [1, 3], row=old)), "one")

    def judge_with(self, forged):
        """The packet of `one`, opened with this machine in one more row of the register."""
        changed, forged = self.with_row(forged)
        payload, packets = changed.opening(1, self.frame, forged, [1, 3]), [(self.frame, len(self.frame), 101, None)]
        return opening.judge(group_file.Group(changed.file()), opening.OPENING, payload, packets).answer

    def test_device(self):
        one = self.one
        self.assertEqual(self.judge_with(one), "one")
        # name, how, S, c and s of the proof
        for at, bit in ((62, 32), (8, 3), (-65, 1), (-33, 1), (-1, 1)):
            at %= len(one.entry)
            forged = replace(one, entry=put(one.entry, at, bytes([one.entry[at] ^ bit])))
            self.refuses("device", self.judge_with, forged)
        others = self.two.entry[-64:]
        self.refuses("device", self.judge_with, replace(one, entry=one.entry[:-64] + others))
        for proof in (b"", others[:-1], b"\x40" + others[1:], others[:32] + b"\xff" * 32):
            self.refuses("layout", self.judge_with, replace(one, entry=one.entry[:-64] + proof))

    def test_accomplice(self):
        """security.md 5.4: a row of `two` for the packet of `one`, computed from B or copied. All but the proof holds."""
        maker, one, two = self.maker, self.one, self.two
        key, B, x = maker.keys[1], maker.signs_with(one, 1), rand()
        C = powers((B, maker.gamma + x), (key.g1, -1), (key.v, -1))
        computed = maker.by_gamma(product(key.g1, C), x), C, x
        copied = one.A, power(key.h0, one.y), one.x
        for A, C, x in (computed, copied):
            self.assertTrue(xr.certifies(key, A, C, x) and xr.names(key, B, C, x))
            entry = maker.entry("two", two.index, two.joined, register.ON_DEVICE, 2**32 - 1, A, C, two.y)
            for proof in (entry[-64:], one.entry[-64:], two.entry[-64:]):
                forged = replace(two, A=A, x=x, entry=entry[:-64] + proof)
                self.refuses("device", self.judge_with, forged, where="proof of y")
        # A machine that gave its y away is not honest: 5.4, what remains.
        entry = maker.entry("two", two.index, two.joined, register.ON_DEVICE, 2**32 - 1, A, C, one.y)
        self.assertEqual(self.judge_with(replace(two, A=A, x=x, entry=entry)), "two")

    def test_credential(self):
        other = self.opened(1, self.frame, self.one, [1, 3], x=encode_scalar(self.two.x))
        self.refuses("credential", self.judge, other)

    def test_signer(self):
        self.refuses("signer", self.judge, self.opened(1, self.frame, self.two, [1, 3]))

    def test_bbs04(self):
        maker = Maker(bbs04, 2, 3)
        one, two = maker.enrol("one"), maker.enrol("two")
        maker.revoke(two, start=6)
        group, frame = group_file.Group(maker.file()), maker.packet(one, 1, incremental=True)
        packets = [(frame, len(frame), 101, None)]

        def judge(payload):
            return opening.judge(group, opening.OPENING, payload, packets).answer

        good = maker.opening(1, frame, one, [2, 3])
        self.assertEqual(judge(good), "one")
        self.refuses("share", judge, flip(good, 206 + 112), where=2)  # of xi1
        self.refuses("share", judge, flip(good, 206 + 224), where=2)  # of xi2
        self.refuses("signer", judge, maker.opening(1, frame, two, [2, 3]))
        said = opening.judge(group, opening.OPENING, good, packets).caveats
        labels = ["issuer-could-sign", "trusted-dealer", "joined-on-issuer-host", "not-anchored"]
        self.assertEqual([label for label, _ in said], labels)
        wrong = replace(one, index=2, entry=put(one.entry, 0, u32(2))[:-96] + encode(power(G2, 9)))
        maker.machines.append(wrong)
        other = group_file.Group(maker.file())
        payload = maker.opening(1, frame, wrong, [2, 3])
        self.refuses("credential", opening.judge, other, opening.OPENING, payload, packets)
        self.refuses("layout", judge, maker.opening(1, frame, one, [2]))

    # Matches

    def test_match_answers(self):
        rules = []
        self.assertEqual(self.judge_match(self.match, rules=rules), opening.WAS)
        self.assertEqual(rules, "layout group packet signature register device credential signer blind share".split())
        all_ = self.maker.match(1, self.frame, self.one, [1, 2, 3])  # more than t
        self.assertEqual(self.judge_match(all_), opening.WAS)
        self.assertEqual(self.judge_match(self.maker.match(1, self.frame, self.two, [1, 2])), opening.WAS_NOT)
        self.assertEqual(self.judge_match(self.maker.match(1, self.other, self.two, [1, 3])), opening.WAS)

    def test_match_layout(self):
        good = self.match
        for set_ in (0, 1, 2, 8 + 1, 7, 1 << 31 | 1):  # too few, above n, more than there are fields
            self.refuses("layout", self.judge_match, put(good, 206, u32(set_)))
        self.refuses("layout", self.judge_match, good[:-1])
        self.refuses("layout", self.judge_match, put(good, 210, IDENTITY))
        self.refuses("layout", self.judge_match, put(good, BLINDS, IDENTITY))
        self.refuses("layout", self.judge_match, put(good, BLINDS + 320, IDENTITY))
        self.refuses("layout", self.judge_match, flip(good, 16, 3))  # kind
        self.refuses("layout", self.judge_match, put(good, 17, b"\1"))
        self.refuses("layout", self.judge, good)
        self.refuses("layout", self.judge_match, self.opening)

    def test_match_head(self):
        self.refuses("group", self.judge_match, flip(self.match, 18))
        self.refuses("packet", self.judge_match, self.match, [self.other])
        bad = self.maker.packet(self.one, 1, sign=lambda M: self.maker.sign(self.one, 1, b"another message"))
        self.refuses("signature", self.judge_match, self.maker.match(1, bad, self.one, [1, 2]), [bad])

    def test_match_register(self):
        other = self.maker.match(1, self.frame, self.one, [2, 3], row=self.maker.row(self.two))
        self.refuses("register", self.judge_match, other, where="machine")
        self.refuses("register", self.judge_match, flip(self.match, len(self.match) - 1))

    def test_match_device(self):
        changed, forged = self.with_row(replace(self.one, entry=flip(self.one.entry, len(self.one.entry) - 1)))
        payload, packets = changed.match(1, self.frame, forged, [2, 3]), [(self.frame, len(self.frame), 101, None)]
        self.refuses("device", opening.judge, group_file.Group(changed.file()), opening.MATCH, payload, packets)

    def test_match_credential(self):
        """2 of xr2_attacks: with an x of its own the manager has a B that fits the second equation, and says no."""
        x = rand()
        one, maker = replace(self.one, x=x), self.maker
        B = maker.by_gamma(product(maker.keys[1].base, power(maker.keys[1].h0, one.y)), x)
        self.assertTrue(xr.names(maker.keys[1], B, power(maker.keys[1].h0, one.y), x))
        self.refuses("credential", self.judge_match, maker.match(1, self.frame, one, [2, 3], B_X=B))

    def test_match_signer(self):
        other = self.maker.signs_with(self.two, 1)
        self.refuses("signer", self.judge_match, self.maker.match(1, self.frame, self.one, [2, 3], B_X=other))
        old = self.maker.signs_with(self.one, 0)  # of another epoch
        self.refuses("signer", self.judge_match, self.maker.match(1, self.frame, self.one, [2, 3], B_X=old))

    def test_match_blind(self):
        good = self.match
        self.refuses("blind", self.judge_match, flip(good, BLINDS + 159), where=2)
        self.refuses("blind", self.judge_match, flip(good, BLINDS + 319), where=3)
        self.refuses("blind", self.judge_match, put(good, BLINDS, encode(G1)), where=2)
        rho = {2: 5, 3: -5}  # E is the identity
        payload = self.maker.match(1, self.frame, self.one, [2, 3], rho=rho, decryptions=good[BLINDS + 320 : BLINDS + 544])
        self.refuses("blind", self.judge_match, payload, where="E")

    def test_match_delta(self):
        """T2 = B_X. An issuer can make such a signature, with z = -(gamma + x) in (*) of security.md 3.1: it
        verifies and opens to B_X / h, which nobody signs with."""
        key, one, B = self.maker.keys[1], self.one, self.maker.signs_with(self.one, 1)

        def sign(M):
            ra, rx, rd, ry = (rand() for _ in range(4))
            R1, R3 = power(key.u, ra), powers((B, rx), (key.h, -rd), (key.h0, -ry), (key.h_w, -ra))
            c = hash_of(D("clew-xr-signature-1"), self.maker.epoch_id(1), key.u, B, R1, R3, M)[:16]
            n = decode_short(c)
            s = (ra + n, rx + n * one.x, rd - n * self.maker.gamma, ry + n * one.y)
            return encode(key.u) + encode(B) + encode(R3) + c + b"".join(map(encode_scalar, s))

        frame = self.maker.packet(one, 1, payload=b"delta", sign=sign)
        self.assertEqual(receiver.Receiver(self.group).judge(frame, len(frame), 101, None), ("valid", "ok"))
        payload = self.maker.match(1, frame, one, [2, 3], blinds=self.match[BLINDS : BLINDS + 320])
        self.refuses("blind", self.judge_match, payload, [frame], where="Delta")
        self.refuses("signer", self.judge, self.opened(1, frame, one, [2, 3]), opening.OPENING, [frame])

    def test_match_share(self):
        good = self.match
        self.refuses("share", self.judge_match, flip(good, BLINDS + 431), where=2)
        self.refuses("share", self.judge_match, flip(good, BLINDS + 543), where=3)
        # a decryption for another context: that of the request
        request, body = self.maker.request(2, 1, self.frame, self.one)
        E = product(decode_g1(good[BLINDS : BLINDS + 48]), decode_g1(good[BLINDS + 160 : BLINDS + 208]))
        stolen = self.maker.decrypt(1, 2, 0, hash_of(request), E)
        self.refuses("share", self.judge_match, put(good, BLINDS + 320, stolen), where=2)

    # Packets and the program

    def test_verify(self):
        judge = receiver.Receiver(self.group).judge
        now = 150 * SECOND
        self.assertEqual(judge(self.frame, len(self.frame), 101, now), ("valid", "ok"))
        self.assertEqual(judge(self.frame, len(self.frame), 101, now), ("valid", "duplicate"))
        self.assertEqual(judge(self.frame, len(self.frame), 101, now + 31 * SECOND + 1), ("invalid", "stale"))
        self.assertEqual(judge(self.frame, len(self.frame), 101, now - 30 * SECOND - 1), ("invalid", "future"))
        old = self.maker.packet(self.three, 0, time=150 * SECOND)
        self.assertEqual(judge(old, len(old), 101, 160 * SECOND), ("invalid", "epoch-over"))
        self.assertEqual(judge(old, len(old), 101, 160 * SECOND - 1), ("valid", "ok"))
        at = len(self.frame) - 31 - 288
        self.assertEqual(judge(flip(self.frame, at - 1), len(self.frame), 101, now), ("invalid", "bad-signature"))
        self.assertEqual(judge(put(self.frame, at, b"\0"), len(self.frame), 101, now), ("invalid", "bad-encoding"))
        self.assertEqual(judge(self.frame[:30], len(self.frame), 101, now), ("undecided", "truncated"))
        for back, value, reason in ((31, b"?", "group"), (20, b"\2", "epoch"), (11, b"\3", "scheme"), (10, b"\2", "carriage")):
            changed = put(self.frame, len(self.frame) - back, value)
            self.assertEqual(judge(changed, len(changed), 101, now), ("invalid", f"unknown-{reason}"))
        twice = self.maker.packet(self.two, 1, b"other", now, sign=lambda M: self.maker.sign(self.two, 1, M, True)[:288])
        self.assertEqual(judge(twice, len(twice), 101, now), ("valid", "ok"))

    def test_program(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            (folder / "group").write_bytes(self.maker.file())
            (folder / "good.pcap").write_bytes(pcap([(150 * SECOND, self.frame), (0, b"E")]))
            (folder / "bad.pcap").write_bytes(pcap([(150 * SECOND, flip(self.frame, 28))]))
            (folder / "opening").write_bytes(b"# for people\n" + text.write(opening.OPENING, self.opening))
            (folder / "match").write_bytes(text.write(opening.MATCH, self.match))
            (folder / "broken").write_bytes(text.write(opening.OPENING, flip(self.opening, 206 + 112)))
            for status, said, arguments in (
                (0, "all rules hold", "group group"),
                (1, "header", "group opening"),
                (0, "1 valid ok\n2 unsigned bad-length", "verify --group group good.pcap"),
                (1, "1 invalid bad-signature", "verify --group group bad.pcap"),
                (2, "", "verify --group group good.pcap --limit 0"),
                (0, "signer: holds\nthe opening holds: one", "judge --group group opening good.pcap"),
                (0, opening.WAS, "judge --group group match good.pcap"),
                (1, "share: fails (trustee 1)", "judge --group group broken good.pcap"),
                (2, "packet: fails", "judge --group group opening bad.pcap"),
                (2, "unreadable", "judge --group group group good.pcap"),
            ):
                program = [sys.executable, str(Path(__file__).parent.parent / "check.py"), *arguments.split()]
                done = subprocess.run(program, cwd=folder, capture_output=True, text=True)
                self.assertIn(said, done.stdout, arguments)
                self.assertEqual(done.returncode, status, arguments + done.stdout + done.stderr)


class Quorum(Case):
    """group-signature.md section 5"""

    def test_distributed(self):
        """5.2: sums of dealt polynomials, and a resharing to other trustees with the same h"""
        from prover import deal

        u, t, n = power(G1, 77), 2, 3
        dealt = [deal(rand(), t, n, u) for _ in range(n)]
        shares = {j: sum(f[j] for f, _ in dealt) for j in range(1, n + 1)}
        C = [product(*(Cs[k] for _, Cs in dealt)) for k in range(t)]
        for j, share in shares.items():
            self.assertTrue(eq(power(u, share), quorum.share_key(C, j)))
            for f, Cs in dealt:
                self.assertTrue(eq(power(u, f[j]), quorum.share_key(Cs, j)))
        old, t, n = [1, 3], 3, 4
        again = {i: deal(shares[i], t, n, u) for i in old}
        for i, (_, Cs) in again.items():
            self.assertTrue(eq(Cs[0], quorum.share_key(C, i)))
        new = {j: sum(quorum.lagrange(i, old) * again[i][0][j] for i in old) for j in range(1, n + 1)}
        C2 = [powers(*((again[i][1][k], quorum.lagrange(i, old)) for i in old)) for k in range(t)]
        self.assertTrue(eq(C2[0], C[0]))
        for j, share in new.items():
            self.assertTrue(eq(power(u, share), quorum.share_key(C2, j)))

    def test_inclusion(self):
        entries = [bytes([i]) for i in range(9)]
        for size in range(1, 10):
            root = merkle.tree_hash(entries[:size])
            for i in range(size):
                leaf, path = merkle.leaf_hash(entries[i]), inclusion(i, entries[:size])
                self.assertEqual(merkle.root_of(leaf, i, size, path), root)
                self.assertNotEqual(merkle.root_of(leaf, i, size, path + [bytes(32)]), root)
                self.assertNotEqual(merkle.root_of(leaf, i + 1, size, path), root) if size > 1 else None


if __name__ == "__main__":
    unittest.main()
