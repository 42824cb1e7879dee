"""group-signature.md 3.7: steps of the chain of V, and witnesses W = V^(1/(gamma+x)) that follow them. All public values."""

import secrets
from dataclasses import dataclass

from . import need
from .curve import *

STEP, STEPS_MAX = 80, 2**16  # bytes of a step; steps since epoch 0 or the last rebase


@dataclass(frozen=True)
class Step:
    """x* and V' = V^(1/(gamma+x*))"""

    x: int
    v: Point

    def encode(self):
        return encode_scalar(self.x) + encode(self.v)


def decode_step(data):
    need(len(data) == STEP, "length")
    return Step(decode_secret(data[:32]), decode_g1(data[32:]))


def check_step(w, v, step):
    """One step alone: e(V', w G2^x*) = e(V, G2)"""
    need(pairings_equal(step.v, powers((w, 1), (G2, step.x)), v, G2), "invalid", "step")


def check_steps(w, segments, weights=lambda: secrets.randbits(128)):
    """All steps of a chain with two pairings. A segment is the hashed V that it starts from, and its steps.
    prod e(V_j+1, w G2^x_j)^d_j = prod e(V_j, G2)^d_j with random d_j; all points are in their subgroup."""
    with_w, with_g2 = [], []
    for v, steps in segments:
        for step in steps:
            d = weights()
            with_w.append((step.v, d))
            with_g2 += [(step.v, d * step.x), (v, -d)]
            v = step.v
    if with_w:
        need(pairings_give_one((powers(*with_w), w), (powers(*with_g2), G2)), "invalid", "steps")


def after_one(witness, x, step):
    """W' = (V'/W)^(1/(x-x*))"""
    need((x - step.x) % r != 0, "revoked")
    return power(powers((step.v, 1), (witness, -1)), pow(x - step.x, -1, r))


def after(witness, x, steps):
    """The same for k steps as one product of k+1 powers. With d_i = x - x*_i and s_j = d_j .. d_k:
    W' = W^((-1)^k / s_1)  prod over j of V_j^((-1)^(k-j) / s_j)"""
    need(all((x - step.x) % r != 0 for step in steps), "revoked")
    pairs, exponent = [], 1
    for step in reversed(steps):
        exponent = exponent * pow(x - step.x, -1, r) % r
        pairs.append((step.v, exponent))
        exponent = -exponent % r
    return powers((witness, exponent), *pairs) if pairs else witness


def before(witness, x, v_after, step):
    """The way back over one step, for who joined behind it: W = V' W'^(x*-x)"""
    return powers((v_after, 1), (witness, step.x - x))
