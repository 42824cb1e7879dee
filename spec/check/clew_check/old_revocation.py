"""Revocation as it was before credential and witness were taken apart: BBS04 section 7 in a type 3 pairing, and the same
for xr. Kept as the target of an attack only: what these functions publish about x* is a credential of the epoch before.
Signatures are those of today under these keys, so that `xr.verify` and `bbs04.verify` take them."""

from dataclasses import dataclass, replace

from .curve import *


@dataclass(frozen=True)
class XrKey:
    """base is g1."""

    u: Point
    base: Point
    h0: Point
    h: Point
    h_w: Point
    w: Point

    def revoked(self, gamma, x):
        """g1' = g1^(1/(gamma+x*)), h0' likewise; published with x*."""
        k = pow(gamma + x, -1, r)
        return replace(self, base=power(self.base, k), h0=power(self.h0, k))

    def credential(self, gamma, x, y):
        return power(powers((self.base, 1), (self.h0, y)), pow(gamma + x, -1, r))


@dataclass(frozen=True)
class Bbs04Key:
    """base is g1, v_ the paper's v."""

    h: Point
    u: Point
    v_: Point
    base: Point
    g2: Point
    w: Point

    def revoked(self, gamma, x):
        """g1', g2' likewise, w' = g2'^gamma; published with x*."""
        k = pow(gamma + x, -1, r)
        return replace(self, base=power(self.base, k), g2=power(self.g2, k), w=power(self.w, k))

    def credential(self, gamma, x, y=0):
        return power(self.base, pow(gamma + x, -1, r))


def old_key(key):
    """That of epoch 0 with the points of a key of today."""
    if hasattr(key, "h0"):
        return XrKey(key.u, key.g1, key.h0, key.h, key.h_w, key.w)
    return Bbs04Key(key.h, key.u, key.v_, G1, G2, key.w)


def forged(revoked_to, y):
    """From what a revocation publishes: B of the epoch before, for the y of one's choice and x*."""
    if isinstance(revoked_to, XrKey):
        return powers((revoked_to.base, 1), (revoked_to.h0, y))
    return revoked_to.base


class OldGroup:
    """For `receiver.Receiver`: the epochs of a group file under the old equations."""

    def __init__(self, group, keys):
        self.group, self.keys = group, keys

    def __getattr__(self, name):
        return getattr(self.group, name)

    def key(self, e):
        return self.keys[e]
