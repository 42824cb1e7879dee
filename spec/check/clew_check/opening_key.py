"""opening-key.md: the files by which trustees make an opening key, as one trustee reads them."""

import hmac
from base64 import b32encode
from dataclasses import dataclass
from hashlib import sha256

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from . import dkg, ed25519, nacl, need, quorum, Reader, Refused
from .curve import *

FOUNDING, NEW_KEY, RESHARING = 1, 2, 3
PARTICIPANT, SEALED = 66, 82


# Files --------------------------------------------------------------------------------------------------------------


def read_quorum(fields):
    t, n = fields.take(2)
    need(1 <= t <= n <= 32, "damaged")
    return t, n


class Plan:
    """3.1"""

    def __init__(self, data):
        fields = Reader(data, "damaged")
        self.id = sha256(D("clew-dkg-plan-1") + data).digest()
        self.purpose = fields.number(1)
        self.name = fields.take(fields.number(1))
        self.nonce, self.random = fields.take(32), fields.take(32)
        self.t, self.n = read_quorum(fields)
        self.u = hash_to_g1(self.nonce, b"clew-xr-u-1")
        self.dealers, self.origin, self.old = list(range(1, self.n + 1)), 2, None
        need(self.purpose in (FOUNDING, NEW_KEY, RESHARING), "damaged")
        if self.purpose != FOUNDING:
            self.place = fields.take(16), fields.number(4), fields.take(32)
        if self.purpose == RESHARING:
            bits = fields.number(4)
            self.dealers = [i for i in range(1, 33) if bits >> (i - 1) & 1]
            self.since, self.origin = fields.number(4), fields.number(1)
            need(self.origin in (1, 2), "damaged")
            t, n = read_quorum(fields)
            self.old = [decode_g1(fields.take(48)) for _ in range(t)]
            need(len(self.dealers) >= t and max(self.dealers) <= n, "damaged")
        fields.end()


@dataclass(frozen=True)
class Participant:
    """3.2"""

    trustee: int
    dealer: int
    seal_key: bytes
    sign_key: bytes


def read_participants(fields):
    """3.3: the participants, and their encoding."""
    start = fields.at
    all_ = [Participant(fields.number(1), fields.number(1), fields.take(32), fields.take(32)) for _ in range(fields.number(1))]
    need(all(p.trustee <= 32 and p.dealer <= 32 and (p.trustee or p.dealer) for p in all_), "damaged")
    order = [(p.trustee == 0, p.trustee, p.dealer) for p in all_]
    need(order == sorted(order), "damaged")
    return all_, fields.data[start : fields.at]


def check_participants(plan, all_):
    for p in all_:
        need(plan.purpose == RESHARING or p.trustee == p.dealer, "role")
        need(p.trustee <= plan.n, "role")
        need(p.dealer == 0 or p.dealer in plan.dealers, "role")
    for wanted, found in (range(1, plan.n + 1), [p.trustee for p in all_]), (plan.dealers, [p.dealer for p in all_]):
        for i in wanted:
            need(found.count(i) > 0, "no-hello", i)
            need(found.count(i) == 1, "two-hellos", i)
    for keys in [p.seal_key for p in all_], [p.sign_key for p in all_]:
        need(len(set(keys)) == len(keys), "same-key")


class Deal:
    """3.4"""

    def __init__(self, data):
        fields = Reader(data, "damaged")
        self.plan_id = fields.take(32)
        self.participants, self.list = read_participants(fields)
        at = fields.at
        i, n, t = fields.take(3)
        fields.at = at
        self.broadcast_bytes = fields.take(3 + 48 * t + 64)
        try:
            self.broadcast = dkg.decode_broadcast(self.broadcast_bytes)
        except Refused:
            raise Refused("damaged")
        self.dealer = i
        self.sealed = [fields.take(SEALED) for _ in range(n)]
        self.body, self.signature = data[: fields.at], fields.take(64)
        fields.end()

    def check(self, plan):
        need(self.plan_id == plan.id, "other-plan")
        check_participants(plan, self.participants)
        signer = [p.sign_key for p in self.participants if p.dealer == self.dealer]
        need(signer, "role")
        need(ed25519.verifies(signer[0], self.signature, D("clew-dkg-deal-1") + self.body), "deal-signature")


class State:
    """3.5"""

    def __init__(self, data):
        fields = Reader(data, "damaged")
        self.plan_id, self.trustee, self.dealer = fields.take(32), fields.number(1), fields.number(1)
        self.seal_secret, self.sign_seed = fields.take(32), fields.take(32)
        rest = fields.rest()
        self.deal = Deal(rest) if rest else None


# HPKE (RFC 9180), base mode: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20Poly1305 ------------------------------

KEM = b"KEM" + (0x20).to_bytes(2, "big")
SUITE = b"HPKE" + b"".join(i.to_bytes(2, "big") for i in (0x20, 1, 3))


def extract(suite, salt, label, ikm):
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + ikm, "sha256")


def expand(suite, prk, label, info, length):
    info = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(prk, info + b"\x01", "sha256")[:length]  # 32 bytes at the most


def hpke_open(secret, sealed, info, aad):
    """The plaintext, or None."""
    enc, text = sealed[:32], sealed[32:]
    dh = nacl.x25519(secret, enc)
    if dh == bytes(32):
        return None
    prk = extract(KEM, b"", b"eae_prk", dh)
    shared = expand(KEM, prk, b"shared_secret", enc + nacl.public(secret), 32)
    context = b"\x00" + extract(SUITE, b"", b"psk_id_hash", b"") + extract(SUITE, b"", b"info_hash", info)
    prk = extract(SUITE, shared, b"secret", b"")
    key, nonce = expand(SUITE, prk, b"key", context, 32), expand(SUITE, prk, b"base_nonce", context, 12)
    try:
        return ChaCha20Poly1305(key).decrypt(nonce, text, aad)
    except InvalidTag:
        return None


# What a trustee does ------------------------------------------------------------------------------------------------


def context(plan, participants):
    return sha256(D("clew-dkg-1") + plan.id + participants).digest()


def check_code(context_):
    text = b32encode(context_[:20]).decode().lower()
    return "-".join(text[i : i + 4] for i in range(0, 32, 4))


def gather(plan, participants, deals):
    """4, check: h and the commitments of the sum, and the broadcasts by dealer."""
    for deal in deals:
        deal.check(plan)
    for deal in deals:
        need(deal.list == participants, "hellos", deal.dealer)
    by_dealer = {deal.dealer: deal for deal in deals}
    need(len(by_dealer) == len(deals), "two-deals")
    need(sorted(by_dealer) == plan.dealers, "no-deal")
    domain = dkg.RESHARE if plan.old else dkg.DEAL
    for i in plan.dealers:
        b = by_dealer[i].broadcast
        need((b.t, b.n) == (plan.t, plan.n), "commitments", f"trustee {i}")
        prefix = (domain, context(plan, participants), bytes([i, b.n, b.t]), plan.u, *b.commitments)
        need(proof_holds(b.proof, (plan.u, b.commitments[0]), prefix=prefix), "possession", f"trustee {i}")
        if plan.old:
            need(eq(b.commitments[0], quorum.share_key(plan.old, i)), "constant", f"trustee {i}")
    pairs = [[(by_dealer[i].broadcast.commitments[k], weight(plan, i)) for i in plan.dealers] for k in range(plan.t)]
    commitments = [powers(*row) for row in pairs]
    need(not any(map(is_inf, commitments)), "cancelled")
    return commitments, by_dealer


def weight(plan, i):
    return quorum.lagrange(i, plan.dealers) if plan.old else 1


def receive(plan, state, deals):
    """What the trustee of this state makes of these deals: the commitments, and its share."""
    need(state.plan_id == plan.id, "other-plan")
    known = state.deal or (deals[0] if deals else None)
    need(known, "no-deal")
    commitments, by_dealer = gather(plan, known.list, deals)
    own = Participant(state.trustee, state.dealer, nacl.public(state.seal_secret), public_key(state.sign_seed))
    need(own in known.participants, "own-hello")
    if state.dealer:
        need(state.deal and by_dealer[state.dealer].body == state.deal.body, "own-deal")
    need(state.trustee, "no-share")
    run, values = context(plan, known.list), {}
    for i, deal in by_dealer.items():
        info = D("clew-dealt-share-1") + run + bytes([i, state.trustee])
        plain = hpke_open(state.seal_secret, deal.sealed[state.trustee - 1], info, deal.broadcast_bytes)
        need(plain is not None and plain[:2] == bytes([i, state.trustee]), "sealed-share", f"trustee {i}")
        values[i] = int.from_bytes(plain[2:], "big")
        need(values[i] < r, "sealed-share", f"trustee {i}")
    for i in plan.dealers:
        key = quorum.share_key(by_dealer[i].broadcast.commitments, state.trustee)
        need(eq(power(plan.u, values[i]), key), "dealt-share", f"trustee {i}")
    share = sum(weight(plan, i) * values[i] for i in plan.dealers) % r
    need(share, "cancelled")
    return commitments, share


def public_key(seed):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
