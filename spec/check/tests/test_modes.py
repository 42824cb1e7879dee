"""packet-trailer.md 3.2 and tree.md: windows and blocks, every rule broken."""

import random
from unittest import main, mock

from common import bbs04, Case, flip, group_file, opening, put, receiver, xr
from clew_check import carriage, trailer, tree
from clew_check.curve import hash_of
from prover import audit, frame_of, inclusion, ipv4_udp, Maker, read_packet, subtree, u16

SECOND, ID = 10**9, bytes(range(16))
PAYLOADS = [b"payload %d" % i for i in range(5)]


class Tree(Case):
    """tree.md 2: paths against the recursive definition"""

    def test_paths(self):
        contents = [b"content %d" % i for i in range(1024)]
        for count in [*range(1, 35), 63, 64, 65, 1023, 1024]:
            places = range(count) if count < 35 else (0, 1, count // 2, count - 2, count - 1)
            for size in tree.SIZES if count < 35 else (16,):
                block = tree.Block(ID, count, size)
                leaves = [tree.leaf(block, i, content) for i, content in enumerate(contents[:count])]
                root = subtree(ID, size, leaves)
                for i in places:
                    path = audit(ID, size, leaves, i)
                    self.assertEqual(len(path), len(inclusion(i, leaves)))
                    self.assertEqual(len(path), len(tree.sides(i, count)))
                    self.assertEqual(tree.root_of(block, i, contents[i], path), root)

    def test_by_hand(self):
        """Three leaves: the third moves up as it is."""
        H = hash_of
        a, b, c = (H(b"\0", ID, u16(i), b"\0\3\x10", bytes([i])) for i in range(3))
        top = H(b"\1", ID, b"\2\0\0", H(b"\1", ID, b"\1\0\0", a[:16], b[:16])[:16], c[:16])
        block = tree.Block(ID, 3, 16)
        self.assertEqual(tree.root_of(block, 1, b"\1", [a[:16], c[:16]]), top)
        self.assertEqual(tree.root_of(block, 2, b"\2", [H(b"\1", ID, b"\1\0\0", a[:16], b[:16])[:16]]), top)

    def test_everything_counts(self):
        block, rng = tree.Block(ID, 11, 24), random.Random(5)
        leaves = [tree.leaf(block, i, bytes([i])) for i in range(11)]
        root = subtree(ID, 24, leaves)
        for i in range(11):
            path = audit(ID, 24, leaves, i)
            self.assertNotEqual(tree.root_of(block, i, b"other", path), root)
            for level, digest in enumerate(path):
                bit = 1 << rng.randrange(8)
                changed = path[:level] + [flip(digest, rng.randrange(24), bit)] + path[level + 1 :]
                self.assertNotEqual(tree.root_of(block, i, bytes([i]), changed), root)
            for other in (tree.Block(flip(ID, 3), 11, 24), tree.Block(ID, 12, 24), tree.Block(ID, 11, 16)):
                if len(tree.sides(i, other.count)) == len(path):
                    self.assertNotEqual(tree.root_of(other, i, bytes([i]), path), root)
            for j in range(11):
                if j != i and len(tree.sides(j, 11)) == len(path):
                    self.assertNotEqual(tree.root_of(block, j, bytes([i]), path), root)


class Modes(Case):
    scheme = xr

    @classmethod
    def setUpClass(cls):
        cls.maker = maker = Maker(cls.scheme)
        cls.one = maker.enrol("one")
        cls.two = maker.enrol("two")
        cls.group = group_file.Group(maker.file())

    def judge(self, *frames, time=None, judge=None):
        judge = judge or receiver.Receiver(self.group)
        return [judge.judge(frame, len(frame), 101, time)[1] for frame in frames]

    def reason(self, mode, block, **changes):
        """Of a packet with this block section and no right signature."""
        found = self.maker.trailer(0, b"x", 0, changes.pop("flags", 0), mode, block, changes.pop("saved", None))
        for name, value in changes.items():
            setattr(found, name, value)
        return self.judge(frame_of(found, bytes(self.scheme.SIGNATURE)))[0]

    def plain(self, frame):
        """The packet with its signature in the plain form."""
        _, found = read_packet(frame)
        found.flags &= ~trailer.INCREMENTAL
        return frame_of(found, found.body[: self.scheme.SIGNATURE])


class Rules(Modes):
    """3.2; a section that makes sense gets as far as the signature."""

    def test_window(self):
        for k, h, reason in (
            (0, bytes(32), "bad-block"),
            (1, bytes(32), "bad-encoding"),
            (1, bytes(31) + b"\1", "bad-block"),
            (2, bytes(32), "bad-encoding"),
            (1024, b"h" * 32, "bad-encoding"),
            (1025, b"h" * 32, "bad-block"),
            (65535, b"h" * 32, "bad-block"),
        ):
            self.assertEqual(self.reason(trailer.WINDOW, u16(k) + h), reason, k)

    def section(self, index, count, size=16, depth=None, path=None):
        depth = len(tree.sides(index, count)) if depth is None else depth
        return ID + u16(index) + u16(count) + bytes([size, depth]) + bytes(size * depth if path is None else path)

    def test_tree(self):
        for reason, *section in (
            ("bad-encoding", 0, 1),
            ("bad-encoding", 3, 5, 24),
            ("bad-encoding", 4, 5, 32),
            ("bad-encoding", 1023, 1024),
            ("bad-block", 0, 0, 16, 0),  # count
            ("bad-block", 0, 1025),
            ("bad-block", 1024, 1025),
            ("bad-block", 1, 1, 16, 0),  # index
            ("bad-block", 5, 5, 16, 3),
            ("bad-block", 65535, 5, 16, 3),
            ("bad-block", 0, 1, 0, 0),  # D, where there is no path too
            ("bad-block", 0, 5, 0),
            ("bad-block", 0, 1, 17, 0),
            ("bad-block", 0, 5, 8),
            ("bad-block", 0, 5, 33),
            ("bad-block", 0, 5, 255),
            ("bad-block", 0, 5, 16, 2),  # depth
            ("bad-block", 0, 5, 16, 4),
            ("bad-block", 4, 5, 16, 3),
            ("bad-block", 0, 1, 16, 1),
            ("bad-block", 0, 2, 16, 0),
            ("bad-trailer-length", 0, 5, 16, 3, 47),  # path
            ("bad-trailer-length", 0, 5, 16, 3, 49),
            ("bad-trailer-length", 0, 1, 16, 0, 1),
            ("bad-trailer-length", 0, 5, 16, 2, 48),
            ("bad-trailer-length", 0, 5, 24, 3, 48),
        ):
            self.assertEqual(self.reason(trailer.TREE, self.section(*section)), reason, section)

    def test_lengths(self):
        good = self.section(0, 5)
        for mode, block in (
            (trailer.EACH, b"\0"),
            (trailer.WINDOW, b""),
            (trailer.WINDOW, u16(1) + bytes(31)),
            (trailer.WINDOW, u16(1) + bytes(33)),
            (trailer.TREE, b""),
            (trailer.TREE, good[:21]),
            (trailer.TREE, good[:-1]),
            (trailer.TREE, good + b"\0"),
        ):
            self.assertEqual(self.reason(mode, block), "bad-trailer-length", (mode, len(block)))

    def test_order(self):
        """After the lengths; before the saved flags, the group and all that follows"""
        bad = {trailer.WINDOW: u16(0) + bytes(32), trailer.TREE: self.section(0, 5, 16, 2)}
        for mode, block in bad.items():
            saved = {"flags": trailer.UDP_LENGTH, "saved": {trailer.UDP_LENGTH: b"ab"}}
            self.assertEqual(self.reason(mode, block, **saved, group=bytes(8), epoch=9), "bad-block")
            self.assertEqual(self.reason(mode, block + b"\0", group=bytes(8)), "bad-trailer-length")
            self.assertEqual(self.reason(mode, block, flags=64), "reserved-bits")
            self.assertEqual(self.reason(mode, block, scheme=3), "unknown-scheme")

    def test_mark(self):
        for section, reason in ((self.section(0, 5), "bad-encoding"), (self.section(0, 5, 16, 2), "bad-mark")):
            inside = self.maker.trailer(0, b"x", 0, 0, trailer.TREE, section)
            upper = frame_of(inside, bytes(self.scheme.SIGNATURE))[28:]
            mark = b"\1" + bytes([0, 0, 0, 10, 1]) + trailer.MAGIC
            self.assertEqual(self.judge(ipv4_udp(upper, mark)), [reason])


class Windows(Modes):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.frames = cls.maker.window(cls.one, 0, PAYLOADS, 3)

    def test_each_alone(self):
        """Any order, and whatever else was lost; every packet has its own signature."""
        self.assertEqual(self.judge(*self.frames[::-1], self.frames[0]), ["ok"] * 5 + ["duplicate"])
        self.assertEqual(self.judge(self.frames[3]), ["ok"])

    def test_hash(self):
        before = []
        for i, frame in enumerate(self.frames):
            packet, found = read_packet(frame)
            covered = before[-2:]
            self.assertEqual(found.block, u16(len(covered) + 1) + trailer.window_hash(covered))
            before.append((trailer.message(packet, found), found.body))

    def test_changed(self):
        at = self.frames[3].index(u16(3) + read_packet(self.frames[3])[1].block[2:])
        for changed in (
            flip(self.frames[3], 30),  # the payload
            flip(self.frames[3], at + 1),  # k
            flip(self.frames[3], at + 33),  # h
            put(self.frames[3], at, u16(1) + bytes(32)),
        ):
            self.assertEqual(self.judge(changed), ["bad-signature"])
        _, found = read_packet(self.frames[3])
        found.block = read_packet(self.frames[4])[1].block  # the h of another
        self.assertEqual(self.judge(frame_of(found, found.body)), ["bad-signature"])
        found.mode, found.block = trailer.EACH, b""
        self.assertEqual(self.judge(frame_of(found, found.body)), ["bad-signature"])

    def test_incremental(self):
        """h is of the packet as it was sent, in its form."""
        frames = self.maker.window(self.one, 0, PAYLOADS[:2], 3, incremental=True)
        self.assertEqual(self.judge(*frames, self.plain(frames[1])), ["ok", "ok", "duplicate"])
        packet, found = read_packet(frames[0])
        h = trailer.window_hash([(trailer.message(packet, found), found.body)])
        self.assertEqual(read_packet(frames[1])[1].block, u16(2) + h)

    def test_opening(self):
        payload = self.maker.opening(0, self.frames[2], self.one, [1, 2])
        for frames, answer in ((self.frames, "one"), (self.frames[3:], None)):
            packets = [(frame, len(frame), 101, None) for frame in frames]
            if answer:
                found = opening.judge(self.group, opening.OPENING, payload, packets)
                self.assertEqual((found.answer, found.packets, found.asked), (answer, [3], 3))
            else:
                self.refuses("packet", opening.judge, self.group, opening.OPENING, payload, packets)


class Blocks(Modes):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.frames = cls.maker.block(cls.one, 0, PAYLOADS)

    def test_once(self):
        """Step 7: one verification for the block; step 8: each index once."""
        with mock.patch.object(self.scheme, "verify", wraps=self.scheme.verify) as verify:
            self.assertEqual(self.judge(*self.frames, *self.frames[1:3]), ["ok"] * 5 + ["duplicate"] * 2)
            self.assertEqual(verify.call_count, 1)

    def test_order(self):
        """Step 9: late is who comes after a greater index."""
        frames = [self.frames[i] for i in (1, 3, 0, 2, 3, 4)]
        self.assertEqual(self.judge(*frames), ["ok", "ok", "reordered", "reordered", "duplicate", "ok"])

    def test_bad_once(self):
        """A bad signature too; it does not spoil a good one."""
        bad = [put(frame, len(frame) - 31 - len(read_packet(frame)[1].block) - 1, b"?") for frame in self.frames]
        with mock.patch.object(self.scheme, "verify", wraps=self.scheme.verify) as verify:
            self.assertEqual(self.judge(*bad, *self.frames), ["bad-signature"] * 5 + ["ok"] * 5)
            self.assertEqual(verify.call_count, 2)

    def test_each_alone(self):
        for size, count, i in ((16, 5, 4), (24, 3, 0), (32, 1, 0)):
            frames = self.maker.block(self.one, 0, PAYLOADS[:count], size)
            self.assertEqual(self.judge(frames[i]), ["ok"])

    def test_live(self):
        frames = self.maker.block(self.one, 0, PAYLOADS[:2], time=50 * SECOND)
        live = receiver.Receiver(self.group, live_since=0)
        got = [live.judge(f, len(f), 101, 50 * SECOND) for f in (frames[1], frames[0], frames[1])]
        said = [("valid", "ok"), ("valid", "reordered"), ("invalid", "duplicate")]
        self.assertEqual(got, said)
        self.assertEqual(self.judge(frames[0], time=81 * SECOND + 1), ["stale"])

    def test_own_flags(self):
        """nat, a saved value and the incremental form, of one packet each."""
        flags = {1: trailer.NAT, 2: trailer.L4_CHECKSUM, 3: trailer.INCREMENTAL}
        frames = self.maker.block(self.one, 0, PAYLOADS, flags=flags, saved={2: {trailer.L4_CHECKSUM: b"cs"}})
        for i, frame in enumerate(frames):
            other = put(frame, 12, b"\x0a\1\2\3")  # the source address
            self.assertEqual(self.judge(frame, other), ["ok", "duplicate" if i == 1 else "bad-signature"])
            _, found = read_packet(frame)
            found.flags ^= trailer.TOLERANT
            self.assertEqual(self.judge(frame_of(found, found.body)), ["bad-signature"])
        self.assertEqual(self.judge(frames[3], self.plain(frames[3])), ["ok", "duplicate"])
        wrong = frames[3]
        _, found = read_packet(wrong)
        body = found.body[:288] + found.body[:48]  # T1 in the place of R1
        self.assertEqual(self.judge(frame_of(found, body), frames[0]), ["bad-signature", "ok"])

    def test_changed(self):
        frame = self.frames[1]
        _, found = read_packet(frame)
        at = frame.index(found.block)
        self.assertEqual(self.judge(flip(frame, 30)), ["bad-signature"])
        for place in (0, 15, 22, 37, 38, 54, 69):  # id; each digest of the path
            self.assertEqual(self.judge(flip(frame, at + place)), ["bad-signature"], place)
        for index in (0, 2, 3):  # of the same depth
            self.assertEqual(self.judge(put(frame, at + 16, u16(index))), ["bad-signature"])
        self.assertEqual(self.judge(put(frame, at + 18, u16(6))), ["bad-signature"])  # count
        self.assertEqual(self.judge(put(frame, at + 18, u16(9))), ["bad-block"])
        self.assertEqual(self.judge(put(frame, at + 16, u16(4))), ["bad-block"])
        found.mode = trailer.EACH
        found.block = b""
        self.assertEqual(self.judge(frame_of(found, found.body)), ["bad-signature"])

    def test_swapped(self):
        """The sections of two packets exchanged; a block's path with another block's signature."""
        founds = [read_packet(frame)[1] for frame in self.frames[:2]]
        first, second = (found.block for found in founds)
        founds[0].block, founds[1].block = second, first
        swapped = [frame_of(found, found.body) for found in founds]
        self.assertEqual(self.judge(*swapped), ["bad-signature"] * 2)
        other = self.maker.block(self.one, 0, PAYLOADS, id=b"j" * 16)
        _, found = read_packet(self.frames[0])
        self.assertEqual(self.judge(frame_of(found, read_packet(other[0])[1].body)), ["bad-signature"])
        self.assertEqual(self.judge(*self.frames[::2], *other), ["ok"] * 8)

    def test_size_of_digests(self):
        """A path cut to 16 bytes does not pass for one of 24."""
        _, found = read_packet(self.maker.block(self.one, 0, PAYLOADS[:2], 24)[0])
        found.block = found.block[:20] + b"\x10\1" + found.block[22:38]
        self.assertEqual(self.judge(frame_of(found, found.body)), ["bad-signature"])

    def test_node_as_packet(self):
        """tree.md 3: who gets a block of two signed has no packet of a block of one."""
        _, found = read_packet(self.frames[4])
        found.block = found.block[:16] + u16(0) + u16(1) + b"\x10\0"
        self.assertEqual(self.judge(frame_of(found, found.body)), ["bad-signature"])

    def test_opening(self):
        """opening.md 2 and 6: one opens all; any packet of the block will do, no changed one, and none of another."""
        payload = self.maker.opening(0, self.frames[2], self.one, [1, 3])
        again = self.maker.opening(0, self.frames[4], self.one, [1, 3])
        self.assertEqual(payload[:102] + payload[134:206], again[:102] + again[134:206])  # but for which is asked about
        self.assertNotEqual(payload[102:134], again[102:134])
        other = self.maker.block(self.two, 0, PAYLOADS, id=b"j" * 16)
        packet = lambda frame: (frame, len(frame), 101, None)
        judge = lambda *frames: opening.judge(self.group, opening.OPENING, payload, [packet(f) for f in frames])
        said = lambda *frames: (lambda found: (found.answer, found.packets, found.asked))(judge(*frames))
        self.assertEqual(said(*self.frames), ("one", [1, 2, 3, 4, 5], 3))
        self.assertEqual(said(other[2], self.frames[0]), ("one", [2], None))
        self.assertEqual(said(flip(self.frames[2], 30), self.frames[4]), ("one", [2], None))
        self.refuses("packet", judge, flip(self.frames[2], 30), other[2])
        match = self.maker.match(0, self.frames[0], self.two, [1, 2])
        found = opening.judge(self.group, opening.MATCH, match, [packet(self.frames[3])])
        self.assertEqual(found.answer, opening.WAS_NOT)


class Coded(Modes):
    """Coded carriage: 3.3, step 7"""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.payloads = [b"packet %d" % i for i in range(12)]
        cls.full = cls.maker.block(cls.one, 0, cls.payloads)
        cls.frames = cls.maker.coded(cls.full, 4, 8)

    def reasons(self, *frames, judge=None, time=None):
        """When all have come."""
        judge = judge or receiver.Receiver(self.group)
        said = [judge.take(frame, len(frame), 101, time) for frame in frames]
        return [one.reason for one in said]

    def test_any_k(self):
        for T, k, order in ((8, 3, (7, 0, 11)), (4, 12, range(12)), (8, 5, (9, 8, 3, 2, 10))):
            frames = self.maker.coded(self.full, k, T)
            some = [frames[i] for i in order]
            late = ["reordered" if max(order[: at + 1]) > i else "ok" for at, i in enumerate(order)]
            with mock.patch.object(self.scheme, "verify", wraps=self.scheme.verify) as verify:
                self.assertEqual(self.reasons(*some), late)
                self.assertEqual(verify.call_count, 1)
            self.assertEqual(self.reasons(*some[1:]), ["too-few-shares"] * (k - 1))
            self.assertEqual(self.reasons(*[some[0]] * k), ["too-few-shares"] * k)

    def test_known(self):
        """Once M is verified, shares do not matter; both forms are one packet."""
        judge = receiver.Receiver(self.group)
        self.assertEqual(self.reasons(*self.frames[:4], judge=judge), ["ok"] * 4)
        self.assertEqual(self.reasons(self.frames[0], self.full[1], judge=judge), ["duplicate"] * 2)
        self.assertEqual(self.reasons(self.polluted(self.frames[5]), judge=judge), ["ok"])
        self.assertEqual(self.reasons(flip(self.frames[6], 30), judge=judge), ["too-few-shares"])
        live = receiver.Receiver(self.group, live_since=0)
        said = [live.take(f, len(f), 101, None) for f in (*self.frames[:4], self.frames[2])]
        self.assertEqual([one.verdict for one in said], ["valid"] * 4 + ["invalid"])

    def polluted(self, frame):
        _, found = read_packet(frame)
        return flip(frame, frame.index(found.body) + 2)

    def test_pollution(self):
        """An altered share is in a bin of its own; the others decide its packet, too."""
        few = [self.polluted(self.frames[0]), *self.frames[1:4]]
        self.assertEqual(self.reasons(*few), ["too-few-shares"] * 4)
        self.assertEqual(self.reasons(*few, self.frames[4]), ["ok"] * 5)
        self.assertEqual(self.reasons(*few, self.full[4]), ["ok"] * 5)

    def test_forged(self):
        """A blob of somebody else's on honest packets: refused once, and nobody else."""
        others = self.maker.coded(self.maker.block(self.two, 0, [b"other"] * 12), 4, 8)
        forged = []
        for frame, other in zip(self.frames, others):
            _, found = read_packet(frame)
            forged.append(frame_of(found, read_packet(other)[1].body))
        with mock.patch.object(self.scheme, "verify", wraps=self.scheme.verify) as verify:
            reasons = self.reasons(*forged[:6], *self.frames, forged[7])
            self.assertEqual(verify.call_count, 2)
        self.assertEqual(reasons, ["bad-signature"] * 6 + ["ok"] * 12 + ["duplicate"])

    def test_padding_and_encoding(self):
        """One reason for whatever is wrong with a blob."""
        for k, blob in ((5, b"\0" * 288), (4, b"\0" * 288)):
            code = carriage.Code(12, k, 288)
            shares = code.shares(blob)
            if k == 5:  # 290 bytes: the last one is not zero
                padded = blob + b"\0\1"
                first = {i: padded[58 * i : 58 * i + 58] for i in range(5)}
                shares = [carriage.value(first, i) if i > 4 else first[i] for i in range(12)]
            _, tags = carriage.Tags(b"i" * 16, code, 8).tree(shares)
            frames = []
            for frame, share, tag in zip(self.frames, shares, tags):
                _, found = read_packet(frame)
                frames.append(frame_of(found, u16(k) + share + tag))
            reasons = self.reasons(*frames[: k + 1], *self.full[:1])
            self.assertEqual(reasons, ["bad-signature"] * (k + 1) + ["ok"])

    def changed(self, count, index, k, T, share=None, tag=None, code=None, **changes):
        depth = len(tree.sides(index, count))
        block = ID + u16(index) + u16(count) + bytes([16, depth]) + bytes(16 * depth)
        share = -(-288 // max(k, 1)) if share is None else share
        tag = T * depth if tag is None else tag
        found = self.maker.trailer(0, b"x", 0, 0, trailer.TREE, block)
        found.carriage = code or {8: 2, 4: 3}[T]
        for name, value in changes.items():
            setattr(found, name, value)
        return self.judge(frame_of(found, u16(k) + bytes(share + tag)))[0]

    def test_rules(self):
        for reason, *body in (
            ("too-few-shares", 9, 8, 3, 8),
            ("too-few-shares", 128, 5, 32, 4),
            ("too-few-shares", 128, 5, 128, 8),
            ("bad-code", 8, 0, 4, 8),  # count
            ("bad-code", 129, 0, 64, 8),
            ("bad-code", 256, 0, 64, 8),
            ("bad-code", 1, 0, 1, 8),
            ("bad-code", 9, 0, 2, 8),  # k
            ("bad-code", 9, 0, 10, 8),
            ("bad-code", 16, 0, 0, 8),
            ("bad-code", 16, 0, 3, 8),
            ("bad-code", 128, 0, 65535, 8),
            ("bad-trailer-length", 16, 0, 4, 8, 71),  # share and tag
            ("bad-trailer-length", 16, 0, 4, 8, 73),
            ("bad-trailer-length", 16, 0, 4, 8, 72, 31),
            ("bad-trailer-length", 16, 0, 4, 8, 72, 16),
            ("bad-trailer-length", 16, 0, 4, 8, 0, 0),
            ("unknown-carriage", 16, 0, 4, 8, 72, 32, 4),
        ):
            self.assertEqual(self.changed(*body), reason, body)

    def test_order_of_rules(self):
        bad_block = ID + u16(16) + u16(16) + b"\x10\4" + bytes(64)
        self.assertEqual(self.changed(16, 0, 3, 8, 96, block=bad_block), "bad-block")
        self.assertEqual(self.changed(16, 0, 0, 8, block=bad_block), "bad-code")  # no length without k
        self.assertEqual(self.changed(16, 0, 3, 8, 95, block=bad_block), "bad-trailer-length")
        saved = {"flags": trailer.IPV4_CHECKSUM | trailer.L4_CHECKSUM, "saved": {4: b"ab", 16: b"cd"}}
        self.assertEqual(self.changed(16, 0, 4, 8, **saved), "too-few-shares")
        self.assertEqual(self.changed(16, 0, 3, 8, group=bytes(8), epoch=9), "bad-code")
        self.assertEqual(self.changed(16, 0, 4, 8, group=bytes(8)), "unknown-group")
        for mode, section in ((trailer.EACH, b""), (trailer.WINDOW, u16(2) + bytes(32))):
            self.assertEqual(self.changed(16, 0, 4, 8, mode=mode, block=section), "unknown-carriage")

    def test_opening(self):
        """The digest of a request is over the signature, restored from any k packets."""
        payload = self.maker.opening(0, self.full[2], self.one, [1, 3])
        judge = lambda *frames: opening.judge(self.group, opening.OPENING, payload, [(f, len(f), 101, None) for f in frames])
        found = judge(*self.frames[3:7])
        self.assertEqual((found.answer, found.packets, found.asked), ("one", [1, 2, 3, 4], None))
        self.assertEqual(judge(*self.frames[1:5]).asked, 2)
        self.refuses("packet", judge, *self.frames[3:6])


class Bbs04(Modes):
    scheme = bbs04

    def test_blocks_and_windows(self):
        frames = self.maker.block(self.one, 0, PAYLOADS, flags={1: trailer.INCREMENTAL})
        self.assertEqual(self.judge(*frames, self.plain(frames[1])), ["ok"] * 5 + ["duplicate"])
        self.assertEqual(self.judge(flip(frames[0], 30)), ["bad-signature"])
        frames = self.maker.window(self.one, 0, PAYLOADS[:2], 2)
        self.assertEqual(self.judge(frames[1]), ["ok"])


if __name__ == "__main__":
    main()
