"""The vectors of group-signature section 5: sharings, decryptions, key generation, matches."""

from . import bbs04, dkg, need, quorum, xr
from .cases import equal
from .curve import *


def number(data):
    return int.from_bytes(data, "big")


def points_of(case, name):
    return [decode_g1(data) for data in case.all(name)]


def scalars_of(case, name):
    return [decode_scalar(data) for data in case.all(name)]


def sharing_of(case, name="commitment", trustees="trustees"):
    """base, commitments, n"""
    return decode_g1(case.one("base")), points_of(case, name), case.one(trustees)


def indices_of(case):
    indices = list(map(number, case.all("index")))
    for i in indices:
        dkg.need_index(i)
    return indices


def equal_all(got, case, name):
    equal(list(got), case.all(name), name)


def lagrange(case):
    indices = quorum.members(case.one("set"))
    equal_all((encode_scalar(quorum.lagrange(i, indices)) for i in indices), case, "lambda")


def sharing(case):
    base, commitments, n = sharing_of(case)
    coefficients = scalars_of(case, "coefficient")
    equal_all((encode(power(base, a)) for a in coefficients), case, "commitment")
    equal_all((encode_scalar(dkg.at(coefficients, i)) for i in range(1, n + 1)), case, "share")
    equal_all((encode(quorum.share_key(commitments, i)) for i in range(1, n + 1)), case, "share-key")


def share(case):
    base, commitments, n = sharing_of(case)
    (i,) = indices_of(case)
    value = decode_secret(case.one("share"))
    need(i <= n, "index")
    key = quorum.share_key(commitments, i)
    need(eq(power(base, value), key), "invalid", "share")
    equal(encode(key), case.one("share-key"), "share key")


def check_decryption(data, context, i, part, base, commitments, P):
    K = quorum.share_key(commitments, i)
    need(quorum.decryption_holds(data, context, i, part, base, K, P), "invalid", f"trustee {i}")
    return quorum.decode_decryption(data)[0]


def decryption(case):
    base, commitments, n = sharing_of(case)
    (i,), part, context = indices_of(case), case.one("part"), case.one("context")
    P, data = decode_g1(case.one("point")), case.one("decryption")
    quorum.decode_decryption(data)
    need(i <= n, "index")
    D_ = check_decryption(data, context, i, part, base, commitments, P)
    value, k = decode_secret(case.one("share")), decode_scalar(case.one("k"))
    equal(encode(power(P, value)), data[:48], "D")
    prefix = (D("clew-share-1"), context, bytes([i, part]), base, quorum.share_key(commitments, i), P, D_)
    equal(make_proof(k, value, base, P, prefix=prefix), data[48:], "proof")


def decrypted(indices, data, context, part, base, commitments, n, P):
    """{i: D_i} of at least t distinct trustees."""
    need(len(set(indices)) == len(indices) and all(i <= n for i in indices), "index")
    need(len(indices) >= len(commitments), "too-few")
    pairs = sorted(zip(indices, data))
    return {i: check_decryption(each, context, i, part, base, commitments, P) for i, each in pairs}


def combine(case):
    base, commitments, n = sharing_of(case)
    indices, all_ = indices_of(case), case.all("decryption")
    for data in all_:
        quorum.decode_decryption(data)
    P, part, context = decode_g1(case.one("point")), case.one("part"), case.one("context")
    given = decrypted(indices, all_, context, part, base, commitments, n, P)
    power_ = powers(*((D_, quorum.lagrange(i, given)) for i, D_ in given.items()))
    equal(encode(power_), case.one("power"), "power")


def open_shares(case):
    scheme = xr if len(case.one("signature")) == xr.SIGNATURE else bbs04
    key, context = scheme.founded(case.one("nonce"), case.one("founding-key")), case.one("context")
    base, in_u, n = sharing_of(case)
    lists = [in_u, in_u[:1] + points_of(case, "commitment-in-v")]
    points, hidden = scheme.ciphertext(case.one("signature"))
    indices, all_ = indices_of(case), case.all("decryption")
    combined, bases = {i: [] for i in indices}, scheme.share_bases(key)
    for part, ((B, C_0), P) in enumerate(zip(bases, points)):
        equal(encode(C_0), encode(lists[part][0]), "C_0")
        data = all_[part :: len(bases)]
        for i, D_ in decrypted(indices, data, context, part + 1, B, lists[part], n, P).items():
            combined[i].append(D_)
    equal(encode(base), encode(key.u), "base")
    B = quorum.combine(hidden, combined)
    equal(encode(B), case.one("b"), "B")
    equal(scheme.index(B), case.one("b-hash"), "hash of B")


# Ceremonies --------------------------------------------------------------------------------------------------------------


def founding(case):
    t, n = case.one("threshold"), case.one("trustees")
    dkg.need_quorum(t, n)
    return dkg.Round(dkg.DEAL, case.one("context"), decode_g1(case.one("base")), list(range(1, n + 1)), t, n)


def deal(case):
    coefficients, k = scalars_of(case, "coefficient"), decode_scalar(case.one("k"))
    broadcast, dealt = dkg.deal(founding(case), case.one("dealer"), coefficients, k)
    equal(broadcast, case.one("broadcast"), "broadcast")
    equal_all(dealt, case, "dealt")


def receive(case, round_):
    broadcasts = list(map(dkg.decode_broadcast, case.all("broadcast")))
    dealt = list(map(dkg.decode_dealt, case.all("dealt")))
    commitments, value = dkg.receive(round_, case.one("index"), broadcasts, dealt)
    equal_all(map(encode, commitments), case, "commitment")
    equal(encode_scalar(value), case.one("share"), "share")
    return commitments


def resharing(case):
    base, old, n = sharing_of(case, "old-commitment", "old-trustees")
    dealers, t = quorum.members(case.one("dealers")), case.one("threshold")
    need(all(i <= n for i in dealers), "index")
    need(len(dealers) >= len(old), "too-few")
    constants = {i: quorum.share_key(old, i) for i in dealers}
    new = dkg.Round(dkg.RESHARE, case.one("context"), base, dealers, t, case.one("trustees"), constants)
    return old, new


def reshare_deal(case):
    _, round_ = resharing(case)
    coefficients = [decode_secret(case.one("share")), *scalars_of(case, "coefficient")]
    broadcast, _ = dkg.deal(round_, case.one("dealer"), coefficients, decode_scalar(case.one("k")))
    equal(broadcast, case.one("broadcast"), "broadcast")


def reshare(case):
    old, round_ = resharing(case)
    equal(encode(receive(case, round_)[0]), encode(old[0]), "h")


# Matches -----------------------------------------------------------------------------------------------------------------


def question(case):
    """Session, set, T1 and Delta"""
    _, commitments, n = sharing_of(case)
    indices = quorum.members(case.one("set"))
    T1, T2, B_X = (decode_g1(case.one(name)) for name in ("t1", "t2", "b"))
    need(all(i <= n for i in indices), "index")
    need(len(indices) >= len(commitments), "too-few")
    Delta = powers((T2, 1), (B_X, -1))
    need(not is_inf(Delta), "no-answer")
    return quorum.match_session(case.one("request"), case.one("set")), indices, T1, Delta


def blind(case):
    session, _, T1, Delta = question(case)
    equal(session, case.one("session"), "session")
    i, rho, k = case.one("index"), decode_scalar(case.one("rho")), decode_scalar(case.one("k"))
    E, F = power(T1, rho), power(Delta, rho)
    proof = make_proof(k, rho, T1, Delta, prefix=(D("clew-blind-1"), session, bytes([i]), T1, Delta, E, F))
    made = encode(E) + encode(F) + proof
    equal(made, case.one("blind"), "blind")
    equal(quorum.blind_commitment(session, i, made), case.one("blind-commitment"), "commitment")


def match(case):
    blinds, data = case.all("blind"), case.all("decryption")
    opened = list(map(quorum.decode_blind, blinds))
    for each in data:
        quorum.decode_decryption(each)
    base, commitments, n = sharing_of(case)
    session, indices, T1, Delta = question(case)
    need(len(blinds) == len(indices), "too-few")
    for i, each in zip(indices, blinds):
        need(quorum.blind_holds(each, session, i, T1, Delta), "invalid", f"trustee {i}")
    E, F = product(*(E for E, _, _ in opened)), product(*(F for _, F, _ in opened))
    need(not is_inf(E), "cancelled")
    need(len(data) == len(indices), "too-few")
    given = decrypted(indices, data, quorum.product_context(session, blinds), 1, base, commitments, n, E)
    yes = is_inf(quorum.combine(F, {i: [D_] for i, D_ in given.items()}))
    equal("yes" if yes else "no", case.one("answer"), "answer")


CHECKS = {
    "lagrange": lagrange, "sharing": sharing, "share": share, "decryption": decryption, "combine": combine,
    "open-shares": open_shares, "deal": deal, "ceremony": lambda case: receive(case, founding(case)),
    "reshare-deal": reshare_deal, "resharing": reshare, "blind": blind, "match": match,
}  # fmt: skip
