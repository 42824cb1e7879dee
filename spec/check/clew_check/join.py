"""group-signature.md 3.2, opening.md 5 and key-file.md: how a device joins a group of xr."""

from dataclasses import dataclass

from . import need, Reader, xr
from .curve import *

REQUEST, OFFER = 112, 112


def session(group, nonce, device_key, name):
    """`name` with its length."""
    return hash_of(D("clew-join-session-1"), group, nonce, device_key, name)


def request_prefix(session, h0, C):
    return D("clew-xr-join-1"), session, h0, C


def make_request(key, session, y, k):
    """Step 1: C' = h0^y' with its proof"""
    C = power(key.h0, y)
    return encode(C) + make_proof(k, y, key.h0, prefix=request_prefix(session, key.h0, C))


def decode_request(data):
    """C' and its proof"""
    at = Reader(data, "length")
    C, proof = at.take(48), at.take(64)
    at.end()
    decode_proof(proof)
    return decode_g1(C), proof


def check_request(key, session, data):
    """Step 2, the issuer: C'"""
    C, proof = decode_request(data)
    need(proof_holds(proof, (key.h0, C), prefix=request_prefix(session, key.h0, C)), "invalid", "proof of y")
    return C


@dataclass
class Offer:
    A: Point
    x: int
    s: int

    def encode(self):
        return encode(self.A) + encode_scalar(self.x) + encode_scalar(self.s)


def decode_offer(data):
    need(len(data) == OFFER, "length")
    x, s = decode_secret(data[48:80]), decode_scalar(data[80:])
    return Offer(decode_g1(data[:48]), x, s)


def commitment(key, C, s):
    """C = C' h0^s"""
    C = powers((C, 1), (key.h0, s))
    need(not is_inf(C), "invalid", "C")
    return C


def make_offer(key, C, gamma, x, s):
    """Step 2: A = (g1 C' h0^s)^(1/(gamma+x)). x is fresh for every offer."""
    need(x % r != 0 and (gamma + x) % r != 0, "invalid", "x")
    return Offer(power(product(key.g1, commitment(key, C, s)), pow(gamma + x, -1, r)), x, s)


def accept(key, y, data):
    """Step 3, the device: its A, x, y = y' + s. Only then it makes S and the proof of y."""
    offer = decode_offer(data)
    y = (y + offer.s) % r
    need(y != 0, "invalid", "y")
    xr.check_member(key, offer.A, offer.x, y)
    return offer.A, offer.x, y


def row_prefix(statement, h0, C):
    return D("clew-xr-row-1"), hash_of(statement), h0, C


def prove_y(key, statement, y, k):
    """Step 3, the device: the proof of y in its row"""
    return make_proof(k, y, key.h0, prefix=row_prefix(statement, key.h0, power(key.h0, y)))


def check_row_proof(key, statement, C, proof):
    need(proof_holds(proof, (key.h0, C), prefix=row_prefix(statement, key.h0, C)), "invalid", "proof of y")
