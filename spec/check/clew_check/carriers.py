"""carriers.md 1 to 2.3: packets in UDP datagrams, and their fragments."""

from collections import OrderedDict
from hashlib import sha256

from . import datagram, need, Reader, Refused, trailer

MAGIC, COOKIE_BIT = bytes.fromhex("c16c6577"), 0x80
TUNNEL, TRANSPORT, FRAGMENT, COOKIE = 1, 2, 3, 4  # types
CODE = {TUNNEL: 2, TRANSPORT: 3}  # of the carrier in M
LENGTH, CUT = "bad-carrier-length", "bad-fragment"
RAW, LONGEST, SECOND = 101, 65507, 10**9
HEADERS = (0, 43, 44, 59, 60)  # no upper layers
IDS, BYTES, EACH = 4096, 8 << 20, 64  # what is kept of fragments


def payload_of(packet):
    """1: the UDP payload of a datagram that is a carrier's, or None."""
    upper = packet.upper
    if packet.protocol != trailer.UDP or len(upper) < 8 or upper[8:12] != MAGIC:
        return None
    need(int.from_bytes(upper[4:6], "big") == len(upper), LENGTH)
    need(len(packet.header) == (20 if packet.version == 4 else 40) and not packet.extensions, "bad-carrier")
    return upper[8:]


def parse(payload):
    """2: type and what follows the shim; of a cookie nothing is left to read"""
    at = Reader(payload, LENGTH)
    need(at.take(4) == MAGIC, "bad-carrier")
    version, kind = at.take(2)
    need(version == 1, "unknown-version")
    need(kind & 0x7F in (TUNNEL, TRANSPORT, FRAGMENT, COOKIE), "unknown-carrier")
    if kind & 0x7F == COOKIE:
        need(not kind & COOKIE_BIT, "reserved-bits")
        need(len(payload) == 38, LENGTH)
    elif kind & COOKIE_BIT:
        at.take(16)
    return kind & 0x7F, at.rest()


def read(outer, payload):
    """2.1: the inner datagram and what a trailer would say of it"""
    kind, rest = parse(payload)
    need(kind != COOKIE, "cookie")
    if kind == FRAGMENT:
        fragment(rest)
        raise Refused("missing-fragment")
    at = Reader(rest, LENGTH)
    flags, mode, length = at.number(1), at.number(1), at.number(2)
    group, epoch, timestamp, scheme, carried = at.take(8), at.number(4), at.number(8), at.number(1), at.number(1)
    content, tail = at.take(length), Reader(at.rest(), LENGTH)
    need(mode in (trailer.EACH, trailer.WINDOW, trailer.TREE), "unknown-mode")
    need(not flags & ~(trailer.NAT | trailer.TOLERANT | trailer.INCREMENTAL), "reserved-bits")
    need(carried == trailer.FULL or mode == trailer.TREE and carried in trailer.TAGS, "unknown-carriage")
    need(scheme in trailer.SCHEMES, "unknown-scheme")
    size, block = trailer.signature_length(trailer.SCHEMES[scheme], flags), trailer.read_block(tail, mode)
    body = tail.take(size) if carried == trailer.FULL else trailer.read_coded(tail, size, trailer.TAGS[carried] * block[21])
    tail.end()
    trailer.check_block(block, mode)
    trailer.check_code(block, body, carried)
    inner = tunnelled(content) if kind == TUNNEL else transported(outer, content)
    return inner, trailer.Trailer(inner.upper, body, block, {}, group, epoch, timestamp, scheme, flags, mode, 0, carried, CODE[kind])


def tunnelled(content):
    try:
        inner = datagram.read(datagram.Frame(content, len(content)), RAW)
    except Refused:
        raise Refused("bad-carrier")
    size = len(inner.header) + sum(len(data) for _, data in inner.extensions) + len(inner.upper)
    need(size == len(content), "bad-carrier", "length")
    for kind, data in inner.extensions:
        need(kind != datagram.ROUTING or data[3] == 0, "bad-carrier", "routing header")
    return inner


def transported(outer, content):
    need(content, "bad-carrier", "protocol")
    protocol, upper, four = content[0], content[1:], outer.version == 4
    need(protocol not in HEADERS and protocol < 139, "bad-carrier", "protocol")
    need(four or upper, "bad-carrier", "upper layer")
    if four:
        length = (20 + len(upper)).to_bytes(2, "big")
        header = b"\x45\0" + length + b"\0\0\x40\0" + bytes([64, protocol, 0, 0]) + outer.header[12:20]
        return datagram.Datagram(header, [], protocol, upper, 0, header[16:20])
    header = b"\x60\0\0\0" + len(upper).to_bytes(2, "big") + bytes([protocol, 64]) + outer.header[8:40]
    return datagram.Datagram(header, [], protocol, upper, 0, header[24:40])


# Delivery ------------------------------------------------------------------------------------------------------------


def internet_checksum(data):
    """RFC 1071"""
    data = data + b"\0" * (len(data) % 2)
    total = sum(int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def delivered(inner):
    """2.1, last: the inner packet with its checksums and UDP length"""
    header, upper = bytearray(inner.header), bytearray(inner.upper)
    if inner.version == 4:
        header[10:12] = bytes(2)
        header[10:12] = internet_checksum(bytes(header)).to_bytes(2, "big")
    known = trailer.known_upper(inner, upper)
    if known:
        at = known[1]
        if inner.protocol == trailer.UDP:
            upper[4:6] = len(upper).to_bytes(2, "big")
        upper[at : at + 2] = bytes(2)
        source = header[12:16] if inner.version == 4 else header[8:24]
        pseudo = bytes(source) + inner.final + len(upper).to_bytes(4, "big") + bytes([0, 0, 0, inner.protocol])
        pseudo = b"" if inner.protocol == trailer.ICMP else pseudo
        value = internet_checksum(pseudo + bytes(upper))
        value = value or (0xFFFF if inner.protocol == trailer.UDP else 0)
        upper[at : at + 2] = value.to_bytes(2, "big")
    return bytes(header) + b"".join(data for _, data in inner.extensions) + bytes(upper)


# Fragments -----------------------------------------------------------------------------------------------------------


def fragment(rest):
    """2.2: id, index, count, part"""
    at = Reader(rest, CUT)
    id, index, count, part = at.take(16), at.number(1), at.number(1), at.rest()
    need(2 <= count <= 64 and index < count and part, CUT)
    need((len(part) * (count - 1) if index < count - 1 else 0) + 1 <= LONGEST, CUT)
    return id, index, count, part


class Parts:
    """The fragments of a datagram; `said` is what becomes of them."""

    def __init__(self, count, time, said):
        self.count, self.time, self.said, self.parts, self.whole, self.bytes = count, time, said, {}, False, 0
        self.last_twice = False

    def fits(self, index, part):
        lengths = {i: len(p) for i, p in {**self.parts, index: part}.items()}
        last = lengths.pop(self.count - 1, 1)
        each = set(lengths.values())
        need(len(each) < 2, CUT)
        each = each.pop() if each else last
        need(last <= each and each * (self.count - 1) + last <= LONGEST, CUT)


class Fragments:
    """2.2: what a reader keeps. `new` makes what is said of a packet's fragments."""

    def __init__(self, new):
        self.kept, self.new, self.bytes = OrderedDict(), new, 0

    def take(self, rest, time):
        """What is said of the fragment's packet, whether it is a duplicate live, and the datagram if it is whole now."""
        id, index, count, part = fragment(rest)
        self.expire(time)
        while self.bytes + len(part) + EACH > BYTES:
            self.forget(next(iter(self.kept)))
        if (id, count) not in self.kept:
            while len(self.kept) >= IDS:
                self.forget(next(iter(self.kept)))
            self.kept[id, count] = Parts(count, time, self.new())
        found = self.kept[id, count]
        if index in found.parts:
            need(found.parts[index] == part, CUT)
            is_second = index == count - 1 and not found.last_twice
            found.last_twice |= is_second
            return found.said, not is_second, None
        found.fits(index, part)
        parts = {**found.parts, index: part}
        datagram = b"".join(parts[i] for i in sorted(parts))
        if len(parts) == count:
            need(sha256(b"clew-fragment-v1" + datagram).digest()[:16] == id, CUT)
            if datagram[:4] != MAGIC or len(datagram) < 6 or datagram[5] not in CODE:
                self.forget((id, count), CUT)
                raise Refused(CUT)
            found.whole = True
        found.parts = parts
        found.bytes += len(part) + EACH
        self.bytes += len(part) + EACH
        return found.said, False, datagram if found.whole else None

    def expire(self, time):
        while self.kept and time is not None:
            first = next(iter(self.kept))
            since = self.kept[first].time
            if since is None or time - since <= SECOND:
                return
            self.forget(first)

    def forget(self, key, reason="missing-fragment"):
        found = self.kept.pop(key)
        self.bytes -= found.bytes
        if not found.whole:
            found.said.settle(reason)
