"""group-signature.md section 5: shares of an opening key, openings and matches by a quorum."""

from . import need, Refused
from .curve import *


def lagrange(i, indices):
    """The coefficient at 0 of index i: the product of j/(j-i) over the others."""
    value = 1
    for j in indices:
        if j != i:
            value = value * j * pow(j - i, -1, r) % r
    return value


def share_key(commitments, i):
    """base^f(i) = the product of C_k^(i^k)"""
    return powers(*((C, i**k) for k, C in enumerate(commitments)))


def decode_decryption(data):
    """5.3: D || c || s; returns D and the proof."""
    need(len(data) == 112, "length")
    decode_long(data[48:80]), decode_scalar(data[80:])
    return decode_g1(data[:48]), data[48:]


def decryption_holds(data, context, i, part, B, K, P):
    """5.3: D = P^share for the share key K = B^share"""
    D_, proof = decode_decryption(data)
    prefix = (D("clew-share-1"), context, bytes([i, part]), B, K, P, D_)
    return proof_holds(proof, (B, K), (P, D_), prefix=prefix)


def combine(hidden, decrypted):
    """5.3: the point that hides A, divided by the product of D_i^lambda_i; `decrypted` is {i: [D, ..]}"""
    return product(hidden, *(power(D_, -lagrange(i, decrypted)) for i, all_ in decrypted.items() for D_ in all_))


def members(set_):
    """5.4: the indices in a set; bit i-1 is trustee i."""
    return [i for i in range(1, 33) if set_ >> (i - 1) & 1]


def match_session(request_id, set_):
    return hash_of(D("clew-match-1"), request_id, set_.to_bytes(4, "big"))


def decode_blind(data):
    """E_i || F_i || c || s"""
    need(len(data) == 160, "length")
    decode_long(data[96:128]), decode_scalar(data[128:])
    return decode_g1(data[:48]), decode_g1(data[48:96]), data[96:]


def blind_holds(data, session, i, T1, Delta):
    """5.4 step 1: (E_i, F_i) = (T1^rho_i, Delta^rho_i)"""
    E, F, proof = decode_blind(data)
    prefix = (D("clew-blind-1"), session, bytes([i]), T1, Delta, E, F)
    return proof_holds(proof, (T1, E), (Delta, F), prefix=prefix)


def blind_commitment(session, i, blind):
    return hash_of(D("clew-blind-commit-1"), session, bytes([i]), blind)


def product_context(session, blinds):
    """5.4 step 3; blinds in the order of indices."""
    return hash_of(D("clew-product-1"), session, *(blind[:96] for blind in blinds))
