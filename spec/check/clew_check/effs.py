"""effs.md: eFFS. With plain integers, not constant in time; signing is for tests."""

from functools import cache
from hashlib import sha256
from math import prod

from . import need, Reader, Refused

PAPER, WILLIAMS, COMPACT = 1, 2, 16
ENOUGH = 128  # bits
LIMIT = 1 << 16  # v have two bytes


def _primes():
    sieve = bytearray([0, 0]) + bytearray([1]) * (LIMIT - 2)
    for i in range(2, 256):
        if sieve[i]:
            sieve[i * i :: i] = bytes(len(range(i * i, LIMIT, i)))
    return [i for i in range(LIMIT) if sieve[i]]


PRIMES = _primes()
_PRIME = set(PRIMES)


def H(*parts):
    return sha256(b"".join(parts)).digest()


def u(number, width):
    return number.to_bytes(width, "big")


@cache
def is_square(a, m):
    """Whether a is a square modulo the odd prime m, by its Jacobi symbol."""
    a, m, symbol = a % m, m, 1
    while a:
        while a % 2 == 0:
            a //= 2
            if m % 8 in (3, 5):
                symbol = -symbol
        a, m = m, a
        if a % 4 == m % 4 == 3:
            symbol = -symbol
        a %= m
    return m == 1 and symbol == 1


class Key:
    """A public key, sections 2 and 3."""

    def __init__(self, data):
        self.data, self.id = bytes(data), H(b"pk", data)
        fields = Reader(data, "length")
        rule, self.N, self.k, self.t = (fields.number(width) for width in (1, 2, 1, 1))
        self.k *= 8
        self.rule, self.compact = rule % COMPACT, rule >= COMPACT
        need(rule in (PAPER, WILLIAMS, COMPACT + PAPER, COMPACT + WILLIAMS), "rule")
        need(self.N in (2048, 3072), "modulus-size")
        need(self.t in (1, 2, 4, 8) and self.kt in (128, 256) and not (self.compact and self.t == 1), "parameters")
        self.n = fields.number(self.N // 8)
        codes = fields.take(2 * self.k if self.rule == PAPER else self.k // 4)
        fields.end()
        four, one = (4, 1) if self.rule == PAPER else (8, 5)
        need(self.n.bit_length() == self.N and self.n % four == one, "modulus")
        self.v = self.listed(codes) if self.rule == PAPER else self.tweaked(codes)

    @property
    def kt(self):
        return self.k * self.t

    @property
    def name(self):
        return f"effs-{self.N}({self.k},{self.t})"

    def listed(self, codes):
        v = [int.from_bytes(codes[at : at + 2], "big") for at in range(0, len(codes), 2)]
        need(all(a < b for a, b in zip(v, v[1:])), "v-order")
        need(all(one in _PRIME for one in v), "v-prime")
        return v

    def tweaked(self, codes):
        codes = [byte >> at & 3 for byte in codes for at in (6, 4, 2, 0)]
        return [l * (2 if code & 2 else 1) * (-1 if code & 1 else 1) for l, code in zip(PRIMES[1:], codes)]

    # Sections 4 and 5

    def I(self, x):
        return u(x, self.N // 8)

    def part(self, i, x):
        """X_i, i from 1."""
        return H(b"clew/effs/v1/com", self.id, u(i, 1), self.I(x)) if self.compact else self.I(x)

    def challenge(self, message, parts):
        """b, of X_1 to X_t."""
        head = b"clew/effs/v1" + u(self.k // 8, 1) + u(self.t, 1) + self.id + u(len(message), 8)
        return H(head, message, *parts)[: self.kt // 8]

    def row(self, b, i):
        """b_i1 to b_ik"""
        bits = [byte >> at & 1 for byte in b for at in range(7, -1, -1)]
        return bits[(i - 1) * self.k : i * self.k]

    def product(self, b, i):
        """v_1^b_i1 .. v_k^b_ik"""
        return prod(v for v, bit in zip(self.v, self.row(b, i), strict=True) if bit) % self.n

    @property
    def part_size(self):
        return 32 if self.compact else self.N // 8

    @property
    def signature_size(self):
        return self.kt // 8 + self.t * self.N // 8 + (self.t - 1) * self.part_size

    def split(self, signature):
        """b, y_1 to y_t, X_2 to X_t."""
        fields = Reader(signature, "length")
        b, y = fields.take(self.kt // 8), [fields.number(self.N // 8) for _ in range(self.t)]
        X = [fields.take(self.part_size) for _ in range(self.t - 1)]
        fields.end()
        return b, y, X

    # Section 6

    def commitment(self, b, y, i):
        """Step 2: Z_i"""
        y = y[i - 1]
        need(y != 0, "zero-root")
        need(y <= (self.n - 1) // 2, "root-range")
        z = y * y * self.product(b, i) % self.n
        need(z != 0, "zero-commitment")
        return self.part(i, z)

    def verify(self, message, signature, level):
        """How many bits what was found is worth."""
        b, y, X = self.split(signature)
        need(1 <= level <= self.t, "level")
        need(self.challenge(message, [self.commitment(b, y, 1), *X]) == b, "challenge")
        for i in range(2, level + 1):
            need(self.commitment(b, y, i) == X[i - 2], "commitment")
        return level * self.k

    def verify_to(self, bits, message, signature):
        """The same at the lowest level that gives so many bits, or the last."""
        return self.verify(message, signature, min(max(1, -(-bits // self.k)), self.t))

    def outcome(self, message, signature, level):
        """What was found at a level, or the reason of the refusal."""
        try:
            return self.verify(message, signature, level)
        except Refused as refused:
            return refused.rule


class Secret:
    """A secret key, section 3."""

    def __init__(self, key, data):
        fields, half = Reader(data, "secret"), key.N // 16
        self.key, self.p, self.q, self.seed = key, fields.number(half), fields.number(half), fields.take(32)
        fields.end()
        need(self.p * self.q == key.n and self.are_fit() and key.v == self.rightful_v(), "secret")

    def are_fit(self):
        """All that is asked of p and q but that they are prime."""
        p, q, bits = self.p, self.q, self.key.N // 2
        residues = (p % 4, q % 4) == (3, 3) if self.key.rule == PAPER else (p % 8, q % 8) == (3, 7)
        return residues and p >> bits - 2 == q >> bits - 2 == 3 and abs(p - q) > 2 ** (bits - 100)

    def rightful_v(self):
        both = lambda v: is_square(v, self.p) and is_square(v, self.q)
        if self.key.rule == PAPER:
            return [l for l in PRIMES if both(l)][: self.key.k]
        return [next(filter(both, (l, -l, 2 * l, -2 * l)), None) for l in PRIMES[1 : self.key.k + 1]]

    def root(self, v):
        """The square root of 1/v that is a square itself: s_j of v_j, and of a product of some v_j that of their s_j."""
        p, q = self.p, self.q
        a, b = (pow(pow(v, -1, m), (m + 1) // 4, m) for m in (p, q))
        return b + q * ((a - b) * pow(q, -1, p) % p)

    def sign(self, message, r):
        """Section 4, with r_1 to r_t."""
        key = self.key
        parts = [key.part(i, one * one % key.n) for i, one in enumerate(r, 1)]
        b = key.challenge(message, parts)
        y = [one * self.root(key.product(b, i)) % key.n for i, one in enumerate(r, 1)]
        signature = b + b"".join(key.I(min(one, key.n - one)) for one in y) + b"".join(parts[1:])
        assert key.verify(message, signature, key.t) == key.kt
        return signature


def public(p, q, k, t, rule):
    """The public key of these primes; `rule` has 16 more if the form is compact."""
    n, bits = p * q, 2 * p.bit_length()
    head = u(rule, 1) + u(bits, 2) + u(k // 8, 1) + u(t, 1) + u(n, bits // 8)
    both = lambda v: is_square(v, p) and is_square(v, q)
    if rule % COMPACT == PAPER:
        return head + b"".join(u(l, 2) for l in [l for l in PRIMES if both(l)][:k])
    codes = (next(code for code, v in enumerate((l, -l, 2 * l, -2 * l)) if both(v)) for l in PRIMES[1 : k + 1])
    number = 0
    for code in codes:
        number = number << 2 | code
    return head + u(number, k // 4)
