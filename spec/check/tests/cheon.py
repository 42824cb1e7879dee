"""Cheon's algorithm (EUROCRYPT 2006) on a toy group: why a chain of steps is bounded. Numbers modulo a prime, written
multiplicatively, in the subgroup of prime order q with d | q - 1."""

from math import isqrt


def is_prime(n):
    return n > 1 and all(pow(a, n - 1, n) == 1 for a in (2, 3, 5, 7, 11, 13, 17)) and all(n % p for p in (3, 5, 7, 11, 13))


def toy_group(d):
    """q with d | q - 1, and p with q | p - 1, both prime."""
    order = next(q for q in range(2**32 // d * d + 1, 2**33, d) if is_prime(q))
    return order, next(p for p in range(2 * order + 1, 2**50, 2 * order) if is_prime(p))


def powers_of_gamma(chain, xs, order, modulus):
    """u = the end of the chain; u^gamma and u^(gamma^d) as products of the chain's points: the polynomial X^d in the
    basis of the products of (X + x) from the end."""
    d, back = len(xs), chain[::-1]  # back[j] = u^(prod of the last j (gamma + x))
    tail = xs[::-1]
    rest, coefficients = [0] * d + [1], [0] * (d + 1)
    for j in range(d):  # divide by (X + x): the remainder is the coefficient of the product before
        quotient, carry = [0] * (len(rest) - 1), 0
        for i in range(len(rest) - 1, 0, -1):
            carry = (rest[i] - tail[j] * carry) % order
            quotient[i - 1] = carry
        coefficients[j] = (rest[0] - tail[j] * carry) % order
        rest = quotient
    coefficients[d] = rest[0]
    ud = 1
    for point, n in zip(back, coefficients):
        ud = ud * pow(point, n, modulus) % modulus
    return back[0], back[1] * pow(back[0], -tail[0] % order, modulus) % modulus, ud


def cheon(u, u1, ud, d, order, modulus):
    """gamma = g^k for a generator g of the exponents; gamma^d lies in a group of order (q-1)/d, then k is known modulo
    that, and d candidates are left."""
    g = next(g for g in range(2, 999) if all(pow(g, (order - 1) // f, order) != 1 for f in factors(order - 1)))
    big = (order - 1) // d
    k0, work = baby_giant(u, ud, pow(g, d, order), big, order, modulus)
    start, step = pow(u, pow(g, k0, order), modulus), pow(g, big, order)
    k1, more = baby_giant(start, u1, step, d, order, modulus)
    return pow(g, k0 + big * k1, order), work + more


def baby_giant(u, target, zeta, count, order, modulus):
    """k below count with u^(zeta^k) = target, and how many powers that took."""
    m = isqrt(count) + 1
    babies, exponent = {}, 1
    for i in range(m):
        babies[pow(target, exponent, modulus)] = i  # target^(zeta^i)
        exponent = exponent * zeta % order
    giant, exponent = pow(zeta, m, order), 1
    for j in range(m + 1):
        i = babies.get(pow(u, exponent, modulus))
        if i is not None and (j * m - i) % count < count:
            return (j * m - i) % count, m + j
        exponent = exponent * giant % order
    raise AssertionError("no power")


def factors(n):
    out, f = set(), 2
    while f * f <= n:
        while n % f == 0:
            out.add(f)
            n //= f
        f += 1
    return out | ({n} if n > 1 else set())
