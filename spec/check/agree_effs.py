#!/usr/bin/env python3
"""Compares eFFS here with GMP, with a reference if it is there, and with `clew flow`: agree_effs.py CLEW CAPTURE [--many N].

Keys of all parameters are made, messages signed with given r, and most signatures damaged: at each level the same must
come of them by this verifier and by GMP, and by `shared/reference/effs_ref.py`, which must sign alike too. Then packets
with such signatures are judged by the program, at each level; keys that are damaged are refused by both; and what the
program signs with keys of its own holds here. N is how many times as much is done.
"""

import argparse
import random
import sys
import tempfile
from collections import Counter
from functools import cache
from hashlib import sha256
from itertools import product
from pathlib import Path

import gmpy2
from gmpy2 import mpz

from agree import run, SEED
from agree_flow import crafted, flipped, refused, same
from clew_check import effs, flow, flow_evidence, text
import effs_prover
from flow_prover import Place, Signer, TIME
from prover import ipv4_udp, pcap

SHAPES = [(k, t, rule) for k, t in ((128, 1), (256, 1)) for rule in (1, 2)] + [
    (kt // t, t, rule) for kt, t, rule in product((128, 256), (2, 4, 8), (1, 2, 17, 18))
]
OWN = [(2048, 128, 1), (3072, 256, 1), (2048, 128, 2), (2048, 256, 2), (3072, 256, 2), (2048, 128, 4)]
POOL = {2048: 4, 3072: 2}  # of primes
REFERENCE = Path(__file__).parents[3] / "shared" / "reference"


@cache
def pool(N, residue):
    dice = random.Random(f"{SEED} primes {N} {residue}")
    return [effs_prover.prime(N // 2, residue, dice) for _ in range(POOL[N])]


def secrets(count, dice):
    """Keys of random primes of the pool, of each shape by turns."""
    for i in range(count):
        N = 3072 if i % 4 == 3 else 2048
        p, q = dice.choice(pool(N, 3)), dice.choice(pool(N, 7))
        yield effs_prover.secret_of(p, q, *SHAPES[i * 7 % len(SHAPES)])


def by_gmp(data, message, signature):
    """The outcomes of section 6, from the bytes."""
    rule, wide, k, t = data[0], (data[1] << 8 | data[2]) // 8, 8 * data[3], data[4]
    n, small, head = mpz.from_bytes(data[5 : 5 + wide], "big"), data[5 + wide :], k * t // 8
    v = [mpz.from_bytes(small[2 * j : 2 * j + 2], "big") for j in range(k)] if rule & 15 == 1 else tweaks(small, k)
    each, pkid = 32 if rule & 16 else wide, sha256(b"pk" + data).digest()
    if len(signature) != head + t * wide + (t - 1) * each:
        return ["length"] * t
    bits, carried = mpz.from_bytes(signature[:head], "big"), signature[head + t * wide :]
    out = []
    for i in range(t):
        y = mpz.from_bytes(signature[head + i * wide : head + (i + 1) * wide], "big")
        z = gmpy2.powmod(y, 2, n)
        for j in range(k):
            if bits.bit_test(8 * head - 1 - (i * k + j)):
                z = gmpy2.f_mod(z * v[j], n)
        Z = int(z).to_bytes(wide, "big")
        Z = sha256(b"clew/effs/v1/com" + pkid + bytes([i + 1]) + Z).digest() if rule & 16 else Z
        hashed = b"clew/effs/v1" + data[3:5] + pkid + len(message).to_bytes(8, "big") + message + Z + carried
        holds = sha256(hashed).digest()[:head] == signature[:head] if i == 0 else Z == carried[(i - 1) * each : i * each]
        bad = "zero-root" if y == 0 else "root-range" if 2 * y > n else "zero-commitment" if z == 0 else None
        reason = bad or (None if holds else "commitment" if i else "challenge")
        if reason:
            return out + [reason] * (t - i)
        out.append((i + 1) * k)
    return out


def tweaks(codes, k):
    out, l = [], mpz(1)
    for j in range(k):
        l, code = gmpy2.next_prime(max(l, 2)), codes[j // 4] >> 6 - 2 * (j % 4)
        out.append(l * (1 + (code >> 1 & 1)) * (-1 if code & 1 else 1))
    return out


@cache
def roots(secret):
    """As the text has them, one by one."""
    p, q = mpz(secret.p), mpz(secret.q)
    crt = lambda a, b: b + q * ((a - b) * gmpy2.invert(q, p) % p)
    return [crt(*(gmpy2.powmod(gmpy2.invert(v, m), (m + 1) // 4, m) for m in (p, q))) for v in secret.key.v]


class Reference:
    """`effs_ref.py`, with our public keys and hashes of commitments."""

    def __init__(self, module):
        self.module = module

    def key(self, secret):
        key = object.__new__(self.module.Key)
        own = secret.key
        key.N, key.k, key.t, key.nb, key.n, key.v, key.pkid = own.N, own.k, own.t, own.N // 8, mpz(own.n), own.v, own.id
        key.p, key.q, key.rule = mpz(secret.p), mpz(secret.q), "paper" if own.rule == effs.PAPER else "williams"
        if own.rule == effs.PAPER and key.pk() != own.data and not own.compact:
            sys.exit("the reference has another public key")
        return key

    def commit(self, key):
        """In the place of `com`, which is asked once for each row, in their order."""
        rows = iter(range(1, key.t + 1))
        self.module.com = lambda x, wide: sha256(
            b"clew/effs/v1/com" + key.pkid + bytes([next(rows)]) + int(x).to_bytes(wide, "big")
        ).digest()

    def sign(self, secret, message, r):
        key, given = self.key(secret), iter(r)
        key.root = roots(secret)
        self.commit(key)
        dice = type("Given", (), {"randrange": lambda self, *_: next(given)})()
        return self.module.sign(key, message, dice, secret.key.compact)

    def verify(self, secret, message, signature):
        """Bits at each level; 0 if it is refused."""
        key, out = self.key(secret), []
        for level in range(1, key.t + 1):
            self.commit(key)
            out.append(self.module.verify(key, message, signature, level, secret.key.compact))
        return out


def reference():
    if not (REFERENCE / "effs_ref.py").exists():
        return None
    sys.path.append(str(REFERENCE))
    import effs_ref

    return Reference(effs_ref)


def damaged(key, message, signature, dice):
    """The message and a signature, with something wrong, or not much."""
    head, wide, row = key.kt // 8, key.N // 8, dice.randrange(key.t)
    b, y, X = key.split(signature)
    put = lambda value: signature[: head + row * wide] + key.I(value) + signature[head + (row + 1) * wide :]
    bit = lambda start, end: flipped(signature, dice.randrange(8 * start, 8 * end))
    ways = [
        lambda: (message, bit(0, head)),
        lambda: (message, bit(head, head + wide)),
        lambda: (message, bit(head + row * wide, head + (row + 1) * wide)),
        lambda: (message, bit(0, len(signature))),
        lambda: (message, put(key.n - y[row])),
        lambda: (message, put(0)),
        lambda: (message, put(dice.choice((1, 2, key.n - 1, key.n, (key.n - 1) // 2, (key.n + 1) // 2, 2**key.N - 1)))),
        lambda: (message, put(y[dice.randrange(key.t)])),
        lambda: (message, bit(head + key.t * wide, len(signature)) if X else put(y[0] + 1)),
        lambda: (message + b"\0", signature),
        lambda: (message, signature[: dice.randrange(len(signature))]),
        lambda: (message, signature + b"\0"),
        lambda: (message, key.challenge(message, [key.part(1, 0), *X]) + bytes(wide) + signature[head + wide :]),
    ]
    return dice.choice(ways)()


def compare_raw(keys, each):
    dice, outcomes, other, checked = random.Random(f"{SEED} raw"), Counter(), reference(), 0
    for number, secret in enumerate(secrets(keys, dice)):
        key = effs.Key(secret.key.data)
        for _ in range(each):
            message, r = dice.randbytes(dice.choice((0, 1, 32, 154, 1000))), [dice.randrange(1, key.n) for _ in range(key.t)]
            good = secret.sign(message, r)
            if other and number % 4 == 0 and other.sign(secret, message, r) != good:
                sys.exit(f"key {number}: the reference signs otherwise")
            for message, signature in [(message, good)] + [damaged(key, message, good, dice) for _ in range(4)]:
                got = [key.outcome(message, signature, level) for level in range(1, key.t + 1)]
                gmp = by_gmp(key.data, message, signature)
                bits = [one if isinstance(one, int) else 0 for one in got]
                if got != gmp or other and other.verify(secret, message, signature) != bits:
                    sys.exit(f"key {number} {key.name}: {got}, GMP {gmp}, of {signature.hex()} for {message.hex()}")
                outcomes.update(map(str, got))
                checked += 1
    missing = {"length", "zero-root", "root-range", "challenge", "commitment", "16", "128", "256"} - set(outcomes)
    if missing:
        sys.exit(f"no signature was {missing}")
    beside = "GMP and the reference" if other else "GMP (the reference is not there)"
    print(f"eFFS: {keys} keys, {checked} signatures with {beside}: {dict(outcomes)}")


class Spoiling:
    """Most of its signatures are damaged, but as long as they should be."""

    def __init__(self, secret, dice):
        self.secret, self.dice = secret, dice

    def sign(self, message):
        key = self.secret.key
        good = effs_prover.sign(self.secret, message, self.dice)
        if self.dice.random() < 0.3:
            return good
        while len(bad := damaged(key, message, good, self.dice)[1]) != key.signature_size:
            pass
        return bad


def write_capture(path, packets):
    path.write_bytes(pcap([(TIME, ipv4_udp(packet)) for packet in packets]))


def compare_packets(clew, folder, keys, each):
    """A block of each packet, with a signature of its own, at each level."""
    dice, reasons, known, capture = random.Random(f"{SEED} packets"), Counter(), folder / "effs.flow", folder / "effs.pcap"
    for number, secret in enumerate(secrets(keys, dice)):
        key = secret.key
        if key.signature_size > flow.LONGEST_SIGNATURE:
            continue
        signer = Signer(dice.choice((1, 2)), secret=secret)
        signer.device = Spoiling(secret, dice)
        known.write_bytes(text.write(flow_evidence.LABEL, signer.bytes))
        places = (Place(dice.randbytes(4), 7000 + i, dice.randbytes(16)) for i in range(each))
        write_capture(capture, [signer.block([b"packet of %d" % place.seq], place=place)[0] for place in places])
        for bits in (None, 1, *range(key.k, key.kt + 1, key.k), 256):
            reasons.update(same(clew, known, capture, f"key {number} {key.name} to {bits} bits", bits=bits).values())
    missing = {"ok", "weak", "bad-signature"} - set(reasons)
    if missing:
        sys.exit(f"no packet was {missing}: {reasons}")
    print(f"eFFS: packets judged as by clew: {dict(reasons)}")


def compare_blocks(clew, folder, captures):
    """Blocks in mixed carriage, right and wrong, at two levels."""
    reasons, known, capture = Counter(), folder / "blocks.flow", folder / "blocks.pcap"
    for number in range(captures):
        dice = random.Random(f"{SEED} blocks {number}")
        signer = Signer(dice.choice((1, 2)), flags=dice.choice((0, 1)), secret=effs_prover.secret(2048, 64, 2, 18))
        known.write_bytes(text.write(flow_evidence.LABEL, signer.bytes))
        capture.write_bytes(crafted(signer, dice))
        for bits in (64, 65):
            reasons.update(same(clew, known, capture, f"blocks {number} to {bits} bits", bits=bits).values())
    print(f"eFFS: packets of blocks judged as by clew: {dict(reasons)}")


def compare_keys(clew, folder, keys):
    """Public keys that are damaged are refused by both, or by neither."""
    dice, known, capture, counts = random.Random(f"{SEED} keys"), folder / "bad.flow", folder / "bad.pcap", Counter()
    write_capture(capture, [b"of no flow"])
    for secret in secrets(keys, dice):
        good = secret.key.data
        end, other = len(good), dice.randrange(256)
        ways = [
            (0, bytes([other & 0x1F])), (1, bytes([other & 0x1F])), (3, bytes([other & 0x3F])), (4, bytes([other & 0xF])),
            (5, bytes([other])), (4 + secret.key.N // 8, bytes([other])), (end - 2, dice.randbytes(2)), (end - 1, bytes([other])),
            (5 + secret.key.N // 8, bytes([0, other])), (dice.randrange(end), bytes([other])),
        ]  # fmt: skip
        for at, value in ways:
            data = good[:at] + value + good[at + len(value) :]
            data = data if dice.random() < 0.9 else dice.choice((data[:-1], data + b"\0", data[: dice.randrange(len(data))]))
            signer = Signer(secret=secret, key=data)
            known.write_bytes(text.write(flow_evidence.LABEL, signer.bytes))
            is_refused = refused(flow.Descriptor, signer.bytes)
            told = run([clew, "flow", "verify", "--flow", known, "--json", capture], (0, 1, 2)).stdout
            if ('"packet"' not in told) != is_refused:
                sys.exit(f"{data.hex()} is {'refused here' if is_refused else 'a key here'}, and not by clew\n{told}")
            counts["refused" if is_refused else "taken"] += 1
    print(f"eFFS: changed keys: {dict(counts)}")


def compare_own(clew, folder, original):
    """What the program signs with its own keys."""
    for number, (N, strength, t) in enumerate(OWN):
        rule, form = ("paper", "williams")[number % 2], ("compact", "paper")[number // 2 % 2]
        shape = ["--alg", f"effs-{N}", "--strength", strength, "--v-rule", rule]
        shape += ["--levels", t, "--form", form] if t > 1 else []
        name = folder / f"own-{number}"
        key, known, signed = (name.with_suffix(f".{end}") for end in ("key", "flow", "pcap"))
        run([clew, "flow", "keygen", name, *shape])
        run([clew, "flow", "sign", "--key", key, "--carriage", ("full", "coded")[number % 2], original, "-w", signed])
        found = flow_evidence.descriptor(known.read_bytes()).key
        if (found.N, found.kt, found.t, found.rule) != (N, strength, t, 1 + number % 2) or found.compact != (t > 1 and form == "compact"):
            sys.exit(f"{shape} made {found.name}")
        _, payload = text.read(key.read_bytes())  # length (2), descriptor, secret key
        effs.Secret(found, payload[2 + int.from_bytes(payload[:2], "big") :])
        for level in range(1, t + 1):
            reasons = set(same(clew, known, signed, " ".join(map(str, shape)), bits=level * found.k).values())
            if reasons != {"ok" if level * found.k >= effs.ENOUGH else "weak"}:
                sys.exit(f"{shape}, level {level}: {reasons}")
    print(f"eFFS: {len(OWN)} keys of the program")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("clew", type=Path)
    parser.add_argument("capture", type=Path)
    parser.add_argument("--many", type=int, default=1)
    args = parser.parse_args()
    clew = args.clew.resolve()
    compare_raw(150 * args.many, 4)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        compare_packets(clew, folder, 24 * args.many, 40)
        compare_blocks(clew, folder, 8 * args.many)
        compare_keys(clew, folder, 16 * args.many)
        compare_own(clew, folder, args.capture)


if __name__ == "__main__":
    main()
