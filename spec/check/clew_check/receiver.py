"""packet-trailer.md section 6: the verdict on a packet."""

from dataclasses import dataclass

from . import datagram, need, Refused, trailer
from .group_file import SCHEMES

SECOND = 10**9
UNSIGNED = "link-type not-ip bad-version zero-length jumbo bad-length fragment extension-headers routing-header too-big"
UNSIGNED = tuple(UNSIGNED.split()) + ("no-trailer",)


def verdict_of(reason):
    """Section 7, for captures."""
    if reason in ("ok", "duplicate"):
        return "valid"
    return "unsigned" if reason in UNSIGNED else "undecided" if reason == "truncated" else "invalid"


def read(data, wire, link_type):
    """Steps 1 to 3: the datagram and its trailer."""
    packet = datagram.read(datagram.Frame(data, wire), link_type)
    return packet, trailer.read(packet)


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


@dataclass
class Receiver:
    """Judges the packets of a capture; with `live_since` (a time), as a live receiver."""

    group: object
    live_since: int = None
    grace: int = 60 * SECOND
    window: int = 30 * SECOND
    resolution: int = SECOND

    def __post_init__(self):
        self.accepted, self.verified = set(), {}

    def judge(self, data, wire, link_type, time):
        """The verdict and the reason."""
        try:
            reason = self._judge(data, wire, link_type, time)
        except Refused as refused:
            if refused.rule == "public-key":  # it is the group file that is bad, not the packet
                raise
            reason = refused.rule
        live = reason == "duplicate" and self.live_since is not None
        return ("invalid" if live else verdict_of(reason)), reason

    def _judge(self, data, wire, link_type, time):
        group = self.group
        packet, found = read(data, wire, link_type)
        # 4. group and epoch
        need(found.group == group.id[:8], "unknown-group")
        need(SCHEMES[found.scheme] is group.scheme, "unknown-scheme")
        need(found.epoch <= group.last_epoch, "unknown-epoch")
        if time is not None:
            # 5. epoch
            if found.epoch < group.last_epoch:
                need(time < group.start(found.epoch + 1) + self.grace, "epoch-over")
            # 6. freshness
            need(time - found.timestamp <= self.window + self.resolution, "stale")
            need(found.timestamp - time <= self.window, "future")
        need(self.live_since is None or found.timestamp >= self.live_since, "stale")
        # 7. the signature
        self._check_signature(packet, found)
        # 8. replay: named by its first three points, which both forms share, what they sign, and the place in the block
        name = (found.body[:144], trailer.message(packet, found), found.index)
        duplicate = name in self.accepted
        self.accepted.add(name)
        return "duplicate" if duplicate else "ok"

    def _check_signature(self, packet, found):
        """Once for the packets of a block: same M, same body (whose length tells its form)."""
        key = trailer.message(packet, found), found.body
        if key not in self.verified:
            self.verified[key] = unless(check_signature, self.group, packet, found, found.epoch)
        if self.verified[key]:
            raise self.verified[key]
