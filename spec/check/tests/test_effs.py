"""effs.md: every reason of keys and signatures, levels, and the paper's defects."""

from random import Random
from unittest import main

import gmpy2

from common import Case, flip, put
from clew_check import effs, flow
from clew_check.flow_manifest import ManifestReceiver
from clew_check.flow_receiver import Receiver, verdict_of
from effs_prover import primes, secret, sign
from flow_prover import Signer, TIME

MESSAGE = b"a message"
SHAPES = [(2048, 128, 1, 1), (2048, 256, 1, 2), (2048, 64, 2, 17), (2048, 32, 4, 1), (2048, 16, 8, 18), (3072, 128, 2, 2)]


def levels(key, message, signature):
    """The outcome at each level: bits, or a reason."""
    return [key.outcome(message, signature, level) for level in range(1, key.t + 1)]


class Keys(Case):
    def refused(self, rule, data):
        self.refuses(rule, effs.Key, data)

    def test_sizes(self):
        for shape, size in zip(SHAPES, (517, 325, 389, 325, 265, 421)):
            self.assertEqual(len(secret(*shape).key.data), size)

    def test_header(self):
        key = secret().key.data
        for rule in {*range(256)} - {1, 2, 17, 18}:
            self.refused("rule", put(key, 0, bytes([rule])))
        for N in (0, 512, 1024, 2047, 2049, 4096):
            self.refused("modulus-size", put(key, 1, N.to_bytes(2, "big")))
        good = {(16, 1), (32, 1), (8, 2), (16, 2), (4, 4), (8, 4), (2, 8), (4, 8)}
        for k in range(256):
            for t in {*range(34), 64, 128, 255}:
                self.refused("length" if (k, t) in good else "parameters", put(key, 3, bytes([k, t])) + b"\0")
        self.refused("parameters", put(key, 0, b"\x11"))

    def test_length(self):
        for shape in SHAPES:
            key = secret(*shape).key.data
            for data in (key[:-1], key + b"\0", key[:5], key[:-32]):
                self.refused("length", data)

    def test_modulus(self):
        paper, williams = secret().key, secret(rule=effs.WILLIAMS).key
        for key, step in ((paper, 4), (williams, 8)):
            for more in range(1, 9):
                data = put(key.data, 5, key.I(key.n + more))
                self.refused("modulus", data) if more % step else effs.Key(data)
            self.refused("modulus", flip(key.data, 5, 128))

    def test_v(self):
        key = secret().key
        v = lambda *numbers: b"".join(n.to_bytes(2, "big") for n in numbers)
        first, second = key.v[:2]
        for at, numbers, rule in (
            (0, (second, first), "v-order"), (0, (first, first), "v-order"), (-1, (0,), "v-order"),
            (0, (0,), "v-prime"), (0, (1,), "v-prime"), (-1, (0xFFFF,), "v-prime"), (-1, (61009,), "v-prime"),
        ):  # fmt: skip
            self.refused(rule, put(key.data, 261 if at == 0 else len(key.data) - 2, v(*numbers)))
        effs.Key(put(key.data, len(key.data) - 2, v(65521)))

    def test_first_reason(self):
        """Of several the first is named."""
        for data, rule in (
            (bytes(600), "rule"), (b"\1" + bytes(600), "modulus-size"), (b"\1\x08\0" + bytes(600), "parameters"),
            (b"\1\x08\0\x10\1" + bytes(600), "length"), (b"\1\x08\0\x10\1" + bytes(512), "modulus"),
            (b"\1\x08\0\x10\1" + b"\xff" * 255 + b"\xfd" + bytes(256), "v-order"),
        ):  # fmt: skip
            self.refused(rule, data)

    def test_v_rules(self):
        """Each v is a square modulo p and q, and no smaller one is left out; of four exactly one is."""
        for rule in (effs.PAPER, effs.WILLIAMS):
            p, q = primes(2048, "key")
            squares = {v for l in effs.PRIMES[:600] for v in (l, -l, 2 * l, -2 * l) if all(gmpy2.powmod(v, m // 2, m) == 1 for m in (p, q))}
            v = secret(rule=rule).key.v
            self.assertLessEqual(set(v), squares)
            if rule == effs.PAPER:
                self.assertEqual(v, [l for l in effs.PRIMES if l <= v[-1] and l in squares])
            for l in effs.PRIMES[1:129]:
                self.assertEqual(len(squares & {l, -l, 2 * l, -2 * l}), 1)

    def test_secret(self):
        for rule in (effs.PAPER, effs.WILLIAMS):
            good, (p, q), (other, _) = secret(rule=rule), primes(2048, "key"), primes(2048, "other")
            data = lambda p, q: effs.u(p, 128) + effs.u(q, 128) + bytes(32)
            bad = lambda p, q, key=good.key: self.refuses("secret", effs.Secret, key, data(p, q))
            self.refuses("secret", effs.Secret, good.key, data(p, q)[1:])
            self.refuses("secret", effs.Secret, good.key, data(p, q) + b"\0")
            bad(other, q)
            bad(p, q - 8)
            bad(1, q)
            if rule == effs.WILLIAMS:
                bad(q, p)  # p is 3 modulo 8
                changed = flip(good.key.data, len(good.key.data) - 1)
            else:
                effs.Secret(good.key, data(q, p))
                changed = put(good.key.data, len(good.key.data) - 2, (65521).to_bytes(2, "big"))
            bad(p, q, effs.Key(changed))

    def test_near(self):
        """|p - q| > 2^(N/2 - 100), and both have their top bits."""
        found, (_, q) = object.__new__(effs.Secret), primes(2048, "key")
        found.key, found.q = secret().key, q
        for p, fits in ((q - 2**924, False), (q - 2**924 - 4, True), (q - 4, False), (q, False), (q ^ 1 << 1022, False)):
            found.p = p
            self.assertEqual(found.are_fit(), fits)

    def test_roots(self):
        for rule in (effs.PAPER, effs.WILLIAMS):
            found, product = secret(rule=rule), 1
            plain = effs.Secret(found.key, b"".join(effs.u(m, 128) for m in (found.p, found.q)) + bytes(32))
            for v in found.key.v[:6]:
                root = plain.root(v)
                self.assertEqual(found.root(v), root)
                self.assertEqual(root * root * v % found.key.n, 1)
                self.assertTrue(effs.is_square(root, found.p) and effs.is_square(root, found.q))
                product = product * root % found.key.n
            b = b"\xfc" + bytes(15)
            self.assertEqual(plain.root(found.key.product(b, 1)), product)


class Signatures(Case):
    def test_sizes(self):
        """The table of section 5."""
        for N, sizes in ((2048, (272, 288, 784, 560, 800, 576, 1808, 1136)), (3072, (400, 416, 1168, 816, 1184, 832, 2704, 1648))):
            shapes = [(128, 1, 2), (256, 1, 2), (64, 2, 2), (64, 2, 18), (128, 2, 2), (128, 2, 18), (32, 4, 2), (32, 4, 18)]
            keys = [effs.Key(effs.public(*primes(N, "key"), *shape)) for shape in shapes]
            self.assertEqual(tuple(key.signature_size for key in keys), sizes)

    def test_levels(self):
        for shape in SHAPES:
            found, dice = secret(*shape), Random(str(shape))
            key, signature = found.key, sign(found, MESSAGE, dice)
            self.assertEqual(len(signature), key.signature_size)
            self.assertEqual(levels(key, MESSAGE, signature), [key.k * l for l in range(1, key.t + 1)])
            for level in (0, key.t + 1, -1, 255):
                self.assertEqual(key.outcome(MESSAGE, signature, level), "level")
            for data in (signature[1:], signature + b"\0", b""):
                self.assertEqual(key.outcome(MESSAGE, data, 99), "length")
            self.assertEqual(levels(key, MESSAGE + b"!", signature), ["challenge"] * key.t)

    def test_every_part(self):
        """A bit of b or of a first or carried part is told at every level; one of y_i from level i on."""
        for shape in SHAPES[:5]:
            found, dice = secret(*shape), Random(f"parts {shape}")
            key, signature = found.key, sign(found, MESSAGE, dice)
            wide, head = key.N // 8, key.kt // 8
            for at in [*range(head), head + wide - 1, *range(head + key.t * wide, len(signature), 97)]:
                self.assertEqual(levels(key, MESSAGE, flip(signature, at)), ["challenge"] * key.t)
            for i in range(2, key.t + 1):
                good = [key.k * l for l in range(1, i)]
                got = levels(key, MESSAGE, flip(signature, head + i * wide - 1))
                self.assertEqual(got, good + ["commitment"] * (key.t - i + 1))

    def with_y(self, key, signature, i, y):
        return put(signature, key.kt // 8 + (i - 1) * key.N // 8, key.I(y))

    def test_ranges(self):
        for shape in SHAPES[:5]:
            found = secret(*shape)
            key, signature = found.key, sign(found, MESSAGE, Random(1))
            _, y, _ = key.split(signature)
            for i in range(1, key.t + 1):
                good = [key.k * l for l in range(1, i)]
                for value, reason in (
                    (0, "zero-root"), (key.n - y[i - 1], "root-range"), ((key.n + 1) // 2, "root-range"), (key.n, "root-range"),
                    (2**key.N - 1, "root-range"), ((key.n - 1) // 2, "challenge" if i == 1 else "commitment"),
                ):  # fmt: skip
                    got = levels(key, MESSAGE, self.with_y(key, signature, i, value))
                    self.assertEqual(got, good + [reason] * (key.t - i + 1))

    def test_zero_forgery(self):
        """Defect 1: z = 0 for every b."""
        for shape in SHAPES[:5]:
            key = secret(*shape).key
            X = [key.part(i, 0) for i in range(1, key.t + 1)]
            forged = key.challenge(MESSAGE, X) + bytes(key.t * key.N // 8) + b"".join(X[1:])
            self.assertEqual(levels(key, MESSAGE, forged), ["zero-root"] * key.t)

    def test_zero_commitment(self):
        """With a modulus that is a square, z is 0 for a y that is not."""
        a, good = 2**1024 - 1, secret().key
        key = effs.Key(put(good.data, 5, good.I(a * a)))
        forged = key.challenge(MESSAGE, [key.I(0)]) + key.I(a)
        self.assertEqual(levels(key, MESSAGE, forged), ["zero-commitment"])

    def test_low_levels_are_forged(self):
        """Defect 2: 2^16 hashes at level 1 of 8."""
        key = secret(2048, 16, 8, 18).key
        first, tail = key.part(1, 4), [bytes(32)] * 6
        last = next(X for X in map(lambda i: effs.u(i, 32), range(1 << 20)) if key.challenge(MESSAGE, [first, *tail, X])[:2] == b"\0\0")
        b = key.challenge(MESSAGE, [first, *tail, last])
        forged = b + key.I(2) * 8 + b"".join(tail) + last
        self.assertEqual(levels(key, MESSAGE, forged), [16] + ["commitment"] * 7)

    def test_what_is_bound(self):
        """Another key of the same primes refuses: its pkid is another."""
        one, other = secret(2048, 64, 2, 1), secret(2048, 64, 2, 17)
        signature = sign(one, MESSAGE, Random(2))
        b, y, X = one.key.split(signature)
        z = [int.from_bytes(one.key.commitment(b, y, i), "big") for i in (1, 2)]
        compact = b + b"".join(map(one.key.I, y)) + other.key.part(2, z[1])
        self.assertEqual(levels(other.key, MESSAGE, compact), ["challenge"] * 2)
        self.assertNotEqual(other.key.part(1, z[0]), other.key.part(2, z[0]))

    def test_all_columns(self):
        """The product of all v has more bits than n, and is what it is one by one."""
        key = secret(2048, 256, 1, 1).key
        z = 1
        for v in key.v:
            z = z * v % key.n
        self.assertEqual(key.product(b"\xff" * 32, 1), z)


class Flows(Case):
    """flow-signature.md, algorithm 2."""

    CONTENTS = [b"content %d" % i for i in range(12)]

    def test_descriptors(self):
        for shape, size in zip(SHAPES, (280, 296, 568, None, None, 1192)):
            signer = Signer(secret=secret(*shape))
            if size:
                self.assertEqual(signer.descriptor.blob_size, size)
            else:
                self.refuses("bad-descriptor", flow.Descriptor, signer.bytes)
        key = secret().key.data
        for bad in (key[:-1], flip(key, 0, 2), flip(key, 260), b""):
            self.refuses("bad-descriptor", flow.Descriptor, Signer(secret=secret(), key=bad or b"\0").bytes)

    def receive(self, signer, packets, **options):
        receiver = Receiver([signer.descriptor], **options)
        for packet in packets:
            receiver.judge(packet, TIME)
        return receiver.reasons

    def test_every_carriage(self):
        for shape in (SHAPES[0], SHAPES[2], SHAPES[5]):
            signer = Signer(2, secret=secret(*shape))
            for kind in (flow.FULL, flow.CODED, flow.UNTAGGED):
                packets = signer.block(self.CONTENTS, kind)
                self.assertEqual(self.receive(signer, packets, untagged=True, bits=300), ["ok"] * 12)
            receiver, manifest = ManifestReceiver([signer.descriptor]), signer.manifest(self.CONTENTS)
            self.assertEqual(receiver.judge_manifest(manifest, TIME), "ok")
            self.assertEqual(ManifestReceiver([signer.descriptor]).judge_manifest(flip(manifest, 12 * 32 + 60), TIME), "bad-signature")

    def test_levels(self):
        """Level 1 of 64 bits does not accept, and refuses; of 128 bits it does both."""
        for shape, reason in ((SHAPES[2], "weak"), (SHAPES[5], "ok")):
            signer = Signer(2, secret=secret(*shape))
            full, coded = signer.block(self.CONTENTS)[:1], signer.block(self.CONTENTS, flow.CODED)[:4]
            wrong = flip(full[0], len(full[0]) - flow.FIXED - signer.descriptor.blob_size + flow.TIMESTAMP)
            self.assertEqual(self.receive(signer, full, bits=1), [reason])
            self.assertEqual(self.receive(signer, coded, bits=1), [reason] * 4)
            self.assertEqual(self.receive(signer, full + coded, bits=128), ["ok", "duplicate", "ok", "ok", "ok"])
            self.assertEqual(self.receive(signer, [wrong], bits=1), ["bad-signature"])
        self.assertEqual(verdict_of("weak"), "undecided")


if __name__ == "__main__":
    main()
