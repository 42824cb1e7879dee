"""Keys of eFFS, and a signer. For tests only."""

from functools import cache
from random import Random

import gmpy2

from clew_check import effs

SMALL = gmpy2.primorial(2000)


def prime(bits, residue, dice):
    """One of so many bits, the top two set, that is `residue` modulo 8."""
    start = dice.getrandbits(bits) >> 3 << 3 | residue | 3 << bits - 2
    for x in range(start, 1 << bits, 8):
        if gmpy2.gcd(x, SMALL) == 1 and gmpy2.is_prime(x):
            return x
    return prime(bits, residue, dice)


@cache
def primes(N, label):
    """p = 3 and q = 7 (mod 8), which are of both rules."""
    dice = Random(f"{N} {label}")
    return prime(N // 2, 3, dice), prime(N // 2, 7, dice)


def secret_of(p, q, k, t, rule, seed=bytes(32)):
    key = effs.Key(effs.public(p, q, k, t, rule))
    half = key.N // 16
    out = effs.Secret(key, effs.u(p, half) + effs.u(q, half) + seed)
    out.root = lambda v: root(v, p, q)
    return out


def root(v, p, q):
    """`Secret.root`, with GMP, which takes less time."""
    a, b = (gmpy2.powmod(v, -(m + 1) // 4 % (m - 1), m) for m in (p, q))
    return int(b + q * ((a - b) * gmpy2.invert(q, p) % p))


@cache
def secret(N=2048, k=128, t=1, rule=effs.PAPER, label="key"):
    return secret_of(*primes(N, label), k, t, rule)


def sign(secret, message, dice):
    return secret.sign(message, [dice.randrange(1, secret.key.n) for _ in range(secret.key.t)])
