"""group-signature.md 5.2: keys that the trustees make together, and hand on."""

from dataclasses import dataclass

from . import need, quorum, Reader
from .curve import *

DEAL, RESHARE = D("clew-deal-1"), D("clew-reshare-1")


@dataclass
class Round:
    """What both runs have: their domain, who deals, in which base, to how many."""

    domain: bytes
    context: bytes
    base: Point
    dealers: list
    t: int
    n: int
    constants: dict = None  # of a resharing: the share key of each dealer

    def prefix(self, i, n, t, commitments):
        return self.domain, self.context, bytes([i, n, t]), self.base, *commitments


@dataclass
class Broadcast:
    dealer: int
    n: int
    t: int
    commitments: list
    proof: bytes


def need_quorum(t, n):
    need(1 <= t <= n <= 32, "quorum")


def need_index(i):
    need(1 <= i <= 32, "index")


def at(coefficients, i):
    """f(i)"""
    return sum(a * i**k for k, a in enumerate(coefficients)) % r


def deal(round_, dealer, coefficients, k):
    """Step 1 and 2: the broadcast, and a dealt share for each."""
    commitments = [power(round_.base, a) for a in coefficients]
    head = bytes([dealer, round_.n, round_.t])
    prefix = round_.prefix(dealer, round_.n, round_.t, commitments)
    proof = make_proof(k, coefficients[0], round_.base, prefix=prefix)
    dealt = [bytes([dealer, j]) + encode_scalar(at(coefficients, j)) for j in range(1, round_.n + 1)]
    return head + b"".join(map(encode, commitments)) + proof, dealt


def decode_broadcast(data):
    need(len(data) >= 3, "length")
    dealer, n, t = data[:3]
    need_quorum(t, n)
    need(len(data) == 3 + 48 * t + 64, "length")
    decode_proof(data[-64:])
    commitments = [decode_g1(data[i : i + 48]) for i in range(3, 3 + 48 * t, 48)]
    need_index(dealer)
    return Broadcast(dealer, n, t, commitments, data[-64:])


def decode_dealt(data):
    """Dealer, trustee, f(trustee)"""
    fields = Reader(data, "length")
    dealer, trustee, value = fields.number(1), fields.number(1), fields.take(32)
    fields.end()
    need_index(dealer), need_index(trustee)
    return dealer, trustee, decode_scalar(value)


def gather(dealers, given):
    """One of each dealer, by index: {dealer: value}"""
    need(len({dealer for dealer, _ in given}) == len(given), "index")
    need(all(dealer in dealers for dealer, _ in given), "index")
    need(len(given) == len(dealers), "missing")
    return dict(sorted(given, key=lambda pair: pair[0]))


def receive(round_, trustee, broadcasts, dealt):
    """Steps 2 and 3, as trustee j: the commitments of the new sharing, and its share."""
    all_ = gather(round_.dealers, [(b.dealer, b) for b in broadcasts])
    for i, b in all_.items():
        need((b.t, b.n) == (round_.t, round_.n), "invalid", f"trustee {i}")
        holds = proof_holds(b.proof, (round_.base, b.commitments[0]), prefix=round_.prefix(i, b.n, b.t, b.commitments))
        need(holds, "invalid", f"trustee {i}")
        if round_.constants is not None:
            need(eq(b.commitments[0], round_.constants[i]), "invalid", f"trustee {i}")
    weights = {i: 1 if round_.constants is None else quorum.lagrange(i, round_.dealers) for i in all_}
    commitments = [powers(*((b.commitments[k], weights[i]) for i, b in all_.items())) for k in range(round_.t)]
    need(not any(map(is_inf, commitments)), "cancelled")
    need(trustee <= round_.n, "index")
    values = gather(round_.dealers, [(i, (j, value)) for i, j, value in dealt])
    share = 0
    for i, (j, value) in values.items():
        holds = j == trustee and eq(power(round_.base, value), quorum.share_key(all_[i].commitments, j))
        need(holds, "invalid", f"trustee {i}")
        share += weights[i] * value
    need(share % r != 0, "cancelled")
    return commitments, share % r
