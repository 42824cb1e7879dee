"""flow-signature.md and tree.md 4: trees, receivers, proofs, files, manifests; what the vectors do not have."""

import random
from unittest import main

from blake3 import blake3
from common import Case, flip, put
from clew_check import ed25519, flow, flow_evidence, flow_manifest, tree, vectors_flow
from clew_check.curve import hash_of
from clew_check.flow_manifest import ManifestReceiver
from clew_check.flow_receiver import Receiver
from clew_check.flow_tree import BLAKE3, SHA256, Tree
from flow_prover import Place, Signer, TIME
from prover import u16, u32, u64

ID, SECOND = bytes(range(16)), 10**9
CONTENTS = [b"content %d" % i for i in range(12)]


class Trees(Case):
    def test_by_hand(self):
        """Four leaves, degree 3: the fourth moves up as it is."""
        key = blake3(b"clew-tree-v1\0\0\0\0" + ID + b"\0\4\x18\0\3").digest()
        H = lambda data: blake3(data, key=key).digest()
        a, b, c, d = (H(bytes([i]) + u16(i) + b"\0") for i in range(4))
        left = H(a[:24] + b[:24] + c[:24] + b"\0\0\1\1")
        top = H(left[:24] + d[:24] + b"\0\0\2\1")
        paths = [[b[:24], c[:24], d[:24]], [a[:24], c[:24], d[:24]], [a[:24], b[:24], d[:24]], [left[:24]]]
        self.assertEqual(Tree(BLAKE3, 3, 24, ID, 4).build([bytes([i]) for i in range(4)]), (top, paths))

    def test_star_by_hand(self):
        leaves = [hash_of(b"\0", ID, u16(i), b"\0\3\x20", bytes([i])) for i in range(3)]
        root, paths = Tree(SHA256, 1024, 32, ID, 3).build([b"\0", b"\1", b"\2"])
        self.assertEqual(root, hash_of(b"\1", ID, b"\1\0\0", *leaves))
        self.assertEqual(paths[1], [leaves[0], leaves[2]])

    def test_binary_is_the_trailers(self):
        for count in [*range(1, 35), 1023, 1024]:
            contents = [b"%d" % i for i in range(count)]
            root, paths = Tree(SHA256, 2, 16, ID, count).build(contents)
            block = tree.Block(ID, count, 16)
            for i in range(0, count, 1 + count // 30):
                self.assertEqual(tree.root_of(block, i, contents[i], paths[i]), root)

    def test_paths(self):
        for suite, degree, size in ((1, 2, 16), (2, 3, 24), (1, 4, 32), (2, 7, 16), (1, 1024, 24)):
            for count in (1, 2, 3, 4, 5, 8, 9, 16, 17, 28, 50):
                found, contents = Tree(suite, degree, size, ID, count), [b"%d" % i for i in range(count)]
                root, paths = found.build(contents)
                for i, path in enumerate(paths):
                    self.assertEqual(len(path), found.depth(i))
                    self.assertEqual(found.root(i, contents[i], path), root)
                    self.assertNotEqual(found.root(i, b"other", path), root)
                    for at in range(len(path)):
                        self.assertNotEqual(found.root(i, contents[i], put_one(path, at)), root)


def put_one(path, at):
    return [*path[:at], flip(path[at], 3), *path[at + 1 :]]


class Keys(Case):
    def test_points(self):
        """y = 3 is a point, y = 2 is none; p + 3 is 3 once more."""
        at = lambda y: y.to_bytes(32, "little")
        self.assertTrue(ed25519.is_key(at(3)) and ed25519.is_key(at(3 | 1 << 255)))
        for y in (2, 0, 1, 2**255 - 20, 2**255 - 19 + 3):
            self.assertFalse(ed25519.is_key(at(y)), y)


class Receiving(Case):
    def reasons(self, signer, packets, **options):
        receiver = Receiver([signer.descriptor], **options)
        for packet in packets:
            receiver.judge(packet, TIME)
        return receiver.reasons

    def test_every_carriage(self):
        for suite in (1, 2):
            for flags in (0, 1):
                signer = Signer(suite, flags=flags, degree=3)
                for kind in (flow.FULL, flow.CODED, flow.SHORT, flow.UNTAGGED):
                    packets = signer.block(CONTENTS, kind)
                    random.Random(kind).shuffle(packets)
                    self.assertEqual(self.reasons(signer, packets, untagged=True), ["ok"] * 12)
                sparse = signer.block(CONTENTS, flow.SPARSE)
                self.assertEqual(self.reasons(signer, sparse), ["pending"] * 12)
                full = signer.block(CONTENTS)[:1]
                self.assertEqual(self.reasons(signer, sparse[1:] + full), ["ok"] * 12)

    def test_a_bin_is_of_one_k(self):
        """Without tags, k keeps codes apart; with them the root does."""
        signer = Signer()
        for kind in (flow.CODED, flow.UNTAGGED):
            four, five = (signer.block(CONTENTS, kind, needed=k) for k in (4, 5))
            self.assertEqual(self.reasons(signer, four[:3] + five[3:7], untagged=True), ["pending"] * 7)
            self.assertEqual(self.reasons(signer, four[:3] + five[3:7] + four[11:], untagged=True), ["ok"] * 8)

    def test_untagged_shares_are_spoiled(self):
        """Which tags prevent."""
        signer = Signer()
        packets = signer.block(CONTENTS, flow.UNTAGGED)
        altered = flip(packets[0], len(packets[0]) - flow.FIXED - 1)
        self.assertEqual(self.reasons(signer, [altered, *packets[1:5]], untagged=True), ["bad-signature"] * 5)
        packets = signer.block(CONTENTS, flow.CODED)
        altered = flip(packets[0], len(packets[0]) - flow.FIXED - 1)
        self.assertEqual(self.reasons(signer, [altered, *packets[1:5]]), ["ok"] * 5)

    def test_two_flows(self):
        one, other = Signer(name="one"), Signer(2, name="other", label="other")
        receiver = Receiver([one.descriptor, other.descriptor])
        for packet in one.block(CONTENTS[:2]) + other.block(CONTENTS[:2]):
            self.assertEqual(receiver.judge(packet, TIME), "ok")
        self.assertEqual(self.reasons(one, other.block(CONTENTS[:1])), ["unknown-flow"])

    def test_every_bit(self):
        """Of a packet in full, alone and after its block."""
        for suite in (1, 2):
            signer = Signer(suite)
            first, packet = signer.block(CONTENTS[:3])[:2]
            for bit in range(8 * len(packet)):
                changed = flip(packet, bit // 8, 1 << bit % 8)
                self.assertNotIn("ok", self.reasons(signer, [changed]), bit)
                self.assertNotEqual(self.reasons(signer, [first, changed])[1], "ok", bit)


class Evidence(Case):
    def proof(self, signer, packet):
        return flow_evidence.PROOF + u16(len(signer.bytes)) + signer.bytes + packet

    def test_every_bit(self):
        for signer, packets in ((Signer(flags=1), None), (Signer(2), None), (Signer(), True)):
            packet = CONTENTS[1] + signer.manifest(CONTENTS[:3], index=1) if packets else signer.block(CONTENTS[:3])[1]
            proof = self.proof(signer, packet)
            self.assertEqual(flow_evidence.proof(proof, signer.descriptor)[1], CONTENTS[1])
            for bit in range(8 * len(proof)):
                self.refuses("bad-proof", flow_evidence.proof, flip(proof, bit // 8, 1 << bit % 8))

    def test_longest(self):
        signer = Signer()
        room = flow_evidence.LONGEST - len(self.proof(signer, signer.block([b""])[0]))
        flow_evidence.proof(self.proof(signer, signer.block([bytes(room)])[0]))
        self.refuses("bad-proof", flow_evidence.proof, self.proof(signer, signer.block([bytes(room + 1)])[0]))

    def test_other_flow(self):
        signer = Signer()
        proof = self.proof(signer, signer.block(CONTENTS[:1])[0])
        self.refuses("bad-proof", flow_evidence.proof, proof, Signer(name="other").descriptor, where="another flow")

    def test_manifests_are_no_packets(self):
        signer = Signer()
        self.refuses("bad-proof", flow_evidence.proof, self.proof(signer, signer.manifest(CONTENTS)), where="bad-block")

    def test_files(self):
        signer, place = Signer(), Place()
        packets = signer.block([u64(0) + b"one ", u64(4) + b"two", u64(7)])
        file = flow_evidence.FILE + b"".join(u32(len(packet)) + packet for packet in packets)
        self.assertEqual(flow_evidence.file(file, [signer.descriptor]), b"one two")
        for bit in range(8 * len(file)):
            self.refuses("bad-file", flow_evidence.file, flip(file, bit // 8, 1 << bit % 8), [signer.descriptor])
        for end in range(len(file)):
            self.refuses("bad-file", flow_evidence.file, file[:end], [signer.descriptor])


class Manifests(Case):
    """Section 10"""

    def manifest(self, signer, data, time=TIME):
        return ManifestReceiver([signer.descriptor]).judge_manifest(data, time)

    def test_packets(self):
        for suite in (1, 2):
            signer = Signer(suite)
            receiver, manifest = ManifestReceiver([signer.descriptor]), signer.manifest(CONTENTS[:3])
            receiver.judge(CONTENTS[0])
            self.assertEqual(receiver.judge_manifest(manifest, TIME), "ok")
            for packet in (CONTENTS[2], CONTENTS[2], CONTENTS[3]):
                receiver.judge(packet)
            self.assertEqual(receiver.reasons, ["ok", "ok", "ok", "pending", "pending"])
            self.assertEqual(receiver.judge_manifest(manifest, TIME), "duplicate")
            receiver.end()
            self.assertEqual(receiver.reasons[3:5], ["duplicate", "no-signature"])

    def test_twice_in_one(self):
        signer = Signer()
        receiver = ManifestReceiver([signer.descriptor])
        receiver.judge_manifest(signer.manifest([b"same", b"same"]), TIME)
        self.assertEqual([receiver.judge(b"same") for _ in range(3)], ["ok", "ok", "pending"])
        receiver.judge_manifest(signer.manifest([b"same"], Place(seq=7001)), TIME)
        self.assertEqual(receiver.reasons[3], "ok")

    def test_full_form(self):
        signer = Signer()
        known = {signer.descriptor.key_id: signer.descriptor}
        full = lambda i, content: content + signer.manifest(CONTENTS[:3], index=i)
        self.assertEqual(flow_manifest.full_form(full(1, CONTENTS[1]), known), CONTENTS[1])
        for index, content, reason in ((1, CONTENTS[2], "bad-digest"), (3, b"", "bad-block"), (0xFFFF, b"", "bad-block")):
            self.refuses(reason, flow_manifest.full_form, full(index, content), known)
        self.assertEqual(self.manifest(signer, full(1, CONTENTS[1])), "bad-length")
        self.assertEqual(Receiver([signer.descriptor]).judge(full(1, CONTENTS[1]), TIME), "unknown-carriage")

    def test_refused(self):
        signer, salted = Signer(), Signer(flags=1)
        manifest = signer.manifest(CONTENTS[:3])
        for data, reason in (
            (b"x" + manifest, "bad-length"), (flip(manifest, 0), "bad-signature"), (flip(manifest, 3 * 32 + 7), "bad-signature"),
            (manifest[1:], "bad-length"), (put(manifest, len(manifest) - 10, b"\0\0"), "bad-block"),
            (signer.block(CONTENTS[:1])[0], "unknown-carriage"), (CONTENTS[0], "unsigned"),
        ):  # fmt: skip
            self.assertEqual(self.manifest(signer, data), reason)
        self.assertEqual(self.manifest(salted, salted.manifest(CONTENTS)), "bad-block")
        for later, reason in ((30, "ok"), (31, "stale"), (-31, "future")):
            self.assertEqual(self.manifest(signer, manifest, TIME + later * SECOND), reason)

    def test_every_bit(self):
        signer = Signer(2)
        manifest = signer.manifest(CONTENTS[:2])
        for bit in range(8 * len(manifest)):
            self.assertNotEqual(self.manifest(signer, flip(manifest, bit // 8, 1 << bit % 8)), "ok", bit)

    def test_other_blocks(self):
        """A seq is used once."""
        signer = Signer()
        receiver = ManifestReceiver([signer.descriptor])
        receiver.judge_manifest(signer.manifest(CONTENTS[:3]), TIME)
        for contents, place, reason in (
            (CONTENTS[:3], Place(id=bytes(16)), "conflict"), (CONTENTS[:2], Place(), "conflict"), (CONTENTS[1:4], Place(), "conflict"),
            (CONTENTS[:3], Place(), "duplicate"), (CONTENTS[:3], Place(seq=7064), "ok"), (CONTENTS[:3], Place(), "old"),
        ):  # fmt: skip
            self.assertEqual(receiver.judge_manifest(signer.manifest(contents, place), TIME), reason)


class Vectors(Case):
    def test_checks(self):
        """All that a vector asks is answered."""
        self.assertEqual(set(vectors_flow.CHECKS), {"descriptor", "packets", "manifests", "rtp", "proof", "file"})


if __name__ == "__main__":
    main()
