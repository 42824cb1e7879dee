"""flow-signature.md section 5: the verdict on a packet. With unbounded memory and as many verifications as it takes, so
that no packet is `no-signature` or `busy`."""

from dataclasses import dataclass, field

from . import flow, need, Refused

SECOND = 10**9
REMEMBERED = 64  # blocks of a tag
UNDECIDED, REPLAYED = ("pending", "no-signature", "busy", "weak"), ("old", "duplicate")


def verdict_of(reason):
    if reason in UNDECIDED:
        return "undecided"
    return {"ok": "valid", "unsigned": "unsigned"}.get(reason, "replayed" if reason in REPLAYED else "invalid")


@dataclass
class Verified:
    """A block whose signature holds."""

    id: bytes
    count: int
    root: bytes
    blob: bytes
    accepted: set = field(default_factory=set)


@dataclass
class Waiting:
    number: int
    found: flow.Found
    root: bytes


@dataclass
class Bin:
    """Of coded packets."""

    shares: dict = field(default_factory=dict)  # index: (Waiting, share)
    blob: bytes = None  # restored
    refused: bool = False


class Receiver:
    """`reasons` has one for each packet, in the order in which they came."""

    def __init__(self, descriptors, untagged=False, window=30 * SECOND, bits=flow.ALL):
        """`untagged`: carriage 5 is taken. `bits`: to so many signatures that have levels are verified; below 128 they are
        `weak`, and nothing is kept of their blocks."""
        self.descriptors, self.untagged, self.window = {d.key_id: d for d in descriptors}, untagged, window
        self.bits = bits
        self.reasons, self.tags, self.waiting, self.bins, self.time = [], {}, {}, {}, None

    def judge(self, packet, time=None):
        """The reason as of now. Without a time, freshness is left out."""
        self.time, number = time, len(self.reasons)
        self.reasons.append("pending")
        self.decide(number, lambda: self._judge(number, packet))
        return self.reasons[number]

    def decide(self, number, judge):
        try:
            self.reasons[number] = judge()
        except Refused as refused:
            self.reasons[number] = refused.rule

    def _judge(self, number, packet):
        found = flow.read(packet, self.descriptors, self.untagged)  # steps 1 to 5
        self.check_replay(found)
        waiting = Waiting(number, found, found.root())
        if self.block_of(found):
            return self.accept(waiting)
        if found.carriage == flow.FULL:
            self.check_blob(waiting, found.blob)
        elif found.coded:
            self.add_share(waiting)
        else:
            self.wait((found.sequence, found.seq), waiting)
        return self.reasons[number]

    def block_of(self, found):
        return self.tags.get(found.sequence, {}).get(found.seq)

    def check_replay(self, found):
        """Step 6"""
        blocks = self.tags.get(found.sequence, {})
        need(not blocks or max(blocks) - found.seq < REMEMBERED, "old")
        if block := blocks.get(found.seq):
            self.check_same(found, block)

    def check_same(self, found, block):
        need((found.id, found.count) == (block.id, block.count), "conflict")
        need(found.index not in block.accepted, "duplicate")

    def accept(self, waiting):
        """Step 7. A root is of one path only, so that the nodes on the way need no look."""
        found, block = waiting.found, self.block_of(waiting.found)
        need(found.blob in (b"", block.blob), "bad-signature")
        need(waiting.root == block.root, "bad-digest")
        self.check_replay(found)  # it may have waited
        block.accepted.add(found.index)
        return "ok"

    def wait(self, place, waiting):
        self.waiting.setdefault(place, []).append(waiting)

    def add_share(self, waiting):
        """Step 8, of a coded packet."""
        found = waiting.found
        name = (found.block, waiting.root, found.share_root())
        bin = self.bins.setdefault(name, Bin())
        need(not bin.refused, "bad-signature")
        if not bin.blob:
            need(found.index not in bin.shares, "duplicate")
            bin.shares[found.index] = (waiting, found.share)
            if len(bin.shares) < found.needed:
                return
        try:
            bin.blob = bin.blob or found.code().restore((i, share) for i, (_, share) in bin.shares.items())
            self.check_blob(waiting, bin.blob)
        except Refused as refused:
            bin.refused = refused.rule in ("padding", "bad-signature")
            for other, _ in bin.shares.values():
                self.reasons[other.number] = refused.rule
            bin.shares.clear()
            raise

    def check_blob(self, waiting, blob):
        """Steps 9 and 10. If they hold, the packet at hand is decided, then all that wait for the block."""
        found = waiting.found
        self.check_freshness(blob)
        found.descriptor.check(found, waiting.root, blob, self.bits)
        self.remember(found, Verified(found.id, found.count, waiting.root, blob))
        of_bins = [bin.shares for (block, *_), bin in self.bins.items() if block == found.block]
        coded = [other for shares in of_bins for other, _ in shares.values()]
        for one in [waiting, *coded, *self.waiting.pop((found.sequence, found.seq), [])]:
            if self.reasons[one.number] == "pending":
                self.decide(one.number, lambda: self.accept(one))

    def check_freshness(self, blob):
        if self.time is not None:
            timestamp = int.from_bytes(blob[: flow.TIMESTAMP], "big")
            need(self.time - timestamp <= self.window, "stale")
            need(timestamp - self.time <= self.window, "future")

    def remember(self, found, block):
        blocks = self.tags.setdefault(found.sequence, {})
        blocks[found.seq] = block
        for seq in [seq for seq in blocks if max(blocks) - seq >= REMEMBERED]:
            del blocks[seq]
