"""group-signature.md 3.2 and opening.md 5: how a device joins a group of xr."""

from . import need, Reader, xr
from .curve import *


def session(group, nonce, device_key, name):
    """`name` with its length."""
    return hash_of(D("clew-join-session-1"), group, nonce, device_key, name)


def request_prefix(session, h0, C):
    return D("clew-xr-join-1"), session, h0, C


def offer_prefix(session, C, A, D_):
    return D("clew-xr-offer-1"), session, C, A, D_


def make_request(key, session, y, k):
    """Step 1"""
    C = power(key.h0, y)
    return encode(C) + make_proof(k, y, key.h0, prefix=request_prefix(session, key.h0, C))


def check_request(key, session, data):
    """Step 2, the issuer: C"""
    at = Reader(data, "length")
    C, proof = at.take(48), at.take(64)
    at.end()
    decode_proof(proof)
    C = decode_g1(C)
    need(proof_holds(proof, (key.h0, C), prefix=request_prefix(session, key.h0, C)), "invalid", "proof of y")
    return C


def make_offer(key, session, C, gamma, x, k):
    """Step 2"""
    A = power(product(key.g1, C), pow(gamma + x, -1, r))
    D_ = power(A, x)
    return encode(A) + encode(D_) + make_proof(k, x, A, prefix=offer_prefix(session, C, A, D_))


def check_offer(key, session, C, data):
    """Step 3, the device: A and D"""
    at = Reader(data, "length")
    points, proof = (at.take(48), at.take(48)), at.take(64)
    at.end()
    decode_proof(proof)
    A, D_ = map(decode_g1, points)
    need(proof_holds(proof, (A, D_), prefix=offer_prefix(session, C, A, D_)), "invalid", "proof of x")
    need(pairings_give_one((A, key.w), (D_, G2), (powers((key.g1, -1), (C, -1)), G2)), "invalid", "A")
    return A, D_


def check_credential(key, A, D_, y, data):
    """Step 5, the device, with the present public key: A_e and x"""
    at = Reader(data, "length")
    A_e, x = at.take(48), at.take(32)
    at.end()
    x = decode_secret(x)
    A_e = decode_g1(A_e)
    need(eq(power(A, x), D_), "invalid", "x")
    need(pairings_equal(A_e, key.lift, A, G2), "invalid", "A_e")
    need(pairings_equal(key.h_w, G2, key.h, key.w), "invalid", "h_w")
    xr.check_member(key, A_e, x, y)
    return A_e, x
