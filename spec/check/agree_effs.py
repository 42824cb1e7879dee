#!/usr/bin/env python3
"""Compares eFFS here with GMP, with a reference if it is there, and with `clew flow`: agree_effs.py CLEW [--many N].

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
from agree_flow import flipped, refused, same
from clew_check import effs, flow, flow_evidence, flow_receiver, Refused, text
from clew_check.flow_tree import u
import effs_prover
from flow_prover import Place, Signer, TIME
from prover import ipv4_udp, pcap

SHAPES = [(k, t, rule) for k, t in ((128, 1), (256, 1)) for rule in (1, 2)] + [
    (kt // t, t, rule) for kt, t, rule in product((128, 256), (2, 4, 8), (1, 2, 17, 18))
]
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
        key.root = secret.roots
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
            if other and other.sign(secret, message, r) != good:
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("clew", type=Path)
    parser.add_argument("--many", type=int, default=1)
    args = parser.parse_args()
    compare_raw(60 * args.many, 6)


if __name__ == "__main__":
    main()
