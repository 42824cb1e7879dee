"""packet-trailer.md section 6: the verdict on a packet."""

from dataclasses import dataclass, replace

from . import carriers, datagram, need, Refused, trailer
from .group_file import SCHEMES

SECOND = 10**9
UNSIGNED = "link-type not-ip bad-version zero-length jumbo bad-length fragment extension-headers routing-header too-big"
UNSIGNED = tuple(UNSIGNED.split()) + ("no-trailer", "cookie")


def verdict_of(reason):
    """Section 7, for captures."""
    if reason in ("ok", "reordered", "duplicate"):
        return "valid"
    undecided = ("truncated", "missing-fragment", "too-few-shares")
    return "unsigned" if reason in UNSIGNED else "undecided" if reason in undecided else "invalid"


def read(data, wire, link_type):
    """Steps 1 to 3: the packet that was signed and its trailer, or what another carrier has for it."""
    packet = datagram.read(datagram.Frame(data, wire), link_type)
    payload = carriers.payload_of(packet)
    return carriers.read(packet, payload) if payload else (packet, trailer.read(packet))


def fragment_of(data, wire, link_type):
    """The outer datagram and what follows the shim, if the frame has a fragment; else None."""
    try:
        packet = datagram.read(datagram.Frame(data, wire), link_type)
        payload = carriers.payload_of(packet)
        kind, rest = carriers.parse(payload) if payload else (None, None)
    except Refused:
        return None
    return (packet, rest) if kind == carriers.FRAGMENT else None


def wholes(packets):
    """(number, packet, trailer) of each frame that has one, or makes one whole: that has the number of its first."""
    fragments, first = carriers.Fragments(Said), {}
    for number, (data, wire, link_type, time) in enumerate(packets, 1):
        try:
            found = fragment_of(data, wire, link_type)
            if not found:
                yield number, *read(data, wire, link_type)
                continue
            said, _, whole = fragments.take(found[1], time)
            first.setdefault(id(said), (number, said))
            if whole:
                yield first[id(said)][0], *carriers.read(found[0], whole)
        except Refused:
            continue


def check_signature(group, packet, found, epoch, plain=False):
    """Step 7; `plain`: of a body in the incremental form only the signature within."""
    scheme, key = group.scheme, group.key(epoch)
    body = found.body[: scheme.SIGNATURE] if plain else found.body
    try:
        M = trailer.message(packet, found)
        incremental = found.incremental and not plain
        if incremental:
            scheme.check_hash(group.epoch_ids[epoch], M, body)  # before anything is decoded
        scheme.verify(key, group.epoch_ids[epoch], M, body, incremental)
    except Refused as refused:
        raise Refused("bad-signature" if refused.rule == "invalid" else "bad-encoding")


def unless(function, *arguments):
    """The Refused that it raises, or None."""
    try:
        function(*arguments)
    except Refused as refused:
        return refused


def in_full(packets):
    """Datagrams with their trailers; of a block in coded carriage, the packet whose share restores the signature, with
    that for its body. Nothing is verified."""
    bins = {}
    for _, packet, found in wholes(packets):
        if found.carriage == trailer.FULL:
            yield packet, found
            continue
        tags, share, tag = found.share()
        bin = bins.setdefault((trailer.message(packet, found), tags.root(found.index, share, tag)), {})
        if found.index in bin:
            continue
        bin[found.index] = share
        if len(bin) == tags.code.needed:
            blob = restore(tags.code, bin)
            if blob:
                yield packet, replace(found, body=blob)


def restore(code, bin):
    """The blob; None if there is none."""
    try:
        return code.restore(list(bin.items()))
    except Refused:
        return None


@dataclass
class Said:
    """The verdict and the reason of a packet; in coded carriage it may have to wait for others of its block."""

    verdict: str = "undecided"
    reason: str = "too-few-shares"
    waits: bool = True

    def settle(self, reason, live=False):
        self.verdict, self.reason, self.waits = verdict_of(reason), reason, False
        if reason == "duplicate" and live:
            self.verdict = "invalid"


@dataclass
class Receiver:
    """Judges the packets of a capture; with `live_since` (a time), as a live receiver."""

    group: object
    live_since: int = None
    grace: int = 60 * SECOND
    window: int = 30 * SECOND
    resolution: int = SECOND

    def __post_init__(self):
        self.accepted, self.verified, self.latest = set(), {}, {}
        self.fragments = carriers.Fragments(lambda: Said(reason="missing-fragment"))
        # Of coded carriage: the body that was verified, by M; shares by (M, S); who waits, by M; bins that were refused.
        self.bodies, self.bins, self.waiting, self.refused = {}, {}, {}, set()

    def judge(self, data, wire, link_type, time):
        """The verdict and the reason, as far as they are known now."""
        said = self.take(data, wire, link_type, time)
        return said.verdict, said.reason

    def take(self, data, wire, link_type, time):
        """What is said of the packet, now or later; of fragments it is one for all."""
        said = Said()
        try:
            fragment = fragment_of(data, wire, link_type)
            if not fragment:
                return self._take(said, *read(data, wire, link_type), time)
            outer, rest = fragment
            shared, again, whole = self.fragments.take(rest, time)
            need(not (again and self._is_live), "duplicate")
            if whole:
                said, said.reason = shared, "too-few-shares"  # until it is judged
                self._take(said, *carriers.read(outer, whole), time)
            return shared
        except Refused as refused:
            if refused.rule == "public-key":  # it is the group file that is bad, not the packet
                raise
            said.settle(refused.rule, self._is_live)
        return said

    def _take(self, said, packet, found, time):
        try:
            self._admit(found, time)
            M = trailer.message(packet, found)
            if found.carriage == trailer.FULL:
                self._check_signature(M, packet, found)
                self._release(M)
                said.settle(self._accept(M, found.body, found), self._is_live)
            else:
                self._take_share(said, M, packet, found)
        except Refused as refused:
            if refused.rule == "public-key":  # it is the group file that is bad, not the packet
                raise
            said.settle(refused.rule)
        return said

    @property
    def _is_live(self):
        return self.live_since is not None

    def _admit(self, found, time):
        group = self.group
        # 4. group and epoch
        need(found.group == group.id[:8], "unknown-group")
        need(SCHEMES[found.scheme] is group.scheme, "unknown-scheme")
        need(found.epoch <= group.last_epoch and group.has_key(found.epoch), "unknown-epoch")
        if time is not None:
            # 5. epoch
            if found.epoch < group.last_epoch:
                need(time < group.start(found.epoch + 1) + self.grace, "epoch-over")
            # 6. freshness
            need(time - found.timestamp <= self.window + self.resolution, "stale")
            need(found.timestamp - time <= self.window, "future")
        need(self.live_since is None or found.timestamp >= self.live_since, "stale")

    def _check_signature(self, M, packet, found):
        """7. Once for the packets of a block: same M, same body (whose length tells its form)."""
        key = M, found.body
        if key not in self.verified:
            self.verified[key] = unless(check_signature, self.group, packet, found, found.epoch)
            if not self.verified[key]:
                self.bodies[M] = found.body
        if self.verified[key]:
            raise self.verified[key]

    def _take_share(self, said, M, packet, found):
        """7. in coded carriage"""
        if M in self.bodies:
            return said.settle(self._accept(M, self.bodies[M], found), self._is_live)
        tags, share, tag = found.share()
        S = tags.root(found.index, share, tag)
        need((M, S) not in self.refused, "bad-signature")
        bin = self.bins.setdefault((M, S), {})
        bin.setdefault(found.index, share)
        self.waiting.setdefault(M, []).append((said, found, S))
        if len(bin) < tags.code.needed:
            return
        try:
            blob = restore(tags.code, bin)
            need(blob, "padding")
            self._check_signature(M, packet, replace(found, body=blob))
            self._release(M)
        except Refused:
            self.refused.add((M, S))
            for other, _, _ in [waiter for waiter in self.waiting[M] if waiter[2] == S]:
                other.settle("bad-signature")
            self.waiting[M] = [waiter for waiter in self.waiting[M] if waiter[2] != S]

    def _release(self, M):
        """All packets of a block that was verified, whatever their shares are."""
        for said, found, _ in self.waiting.pop(M, []):
            said.settle(self._accept(M, self.bodies[M], found), self._is_live)

    def _accept(self, M, body, found):
        # 8. replay: named by its first three points, which both forms share, what they sign, and the place in the block
        name = body[:144], M, found.index
        if name in self.accepted:
            return "duplicate"
        self.accepted.add(name)
        # 9. order within a block
        latest = self.latest.get((M, body), found.index)
        self.latest[M, body] = max(latest, found.index)
        return "reordered" if found.index < latest else "ok"
