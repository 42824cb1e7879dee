"""packet-trailer.md section 2: from a frame to its outermost IP datagram, and whether that is signable."""

from dataclasses import dataclass

from . import need, Refused

MARK = 16  # the largest mark
LINK_NULL, LINK_LOOP = 0, 108
VLAN = (0x8100, 0x88A8, 0x9100)
HOP_BY_HOP, ROUTING, FRAGMENT, NO_NEXT, DESTINATION = 0, 43, 44, 59, 60
LINK_TYPES = (0, 108, 1, 9, 12, 14, 101, 228, 229, 113, 276)


class Frame:
    """The captured bytes of a frame that had `wire` bytes. What the capture lacks is `truncated`; what the wire
    lacked breaks the rule that is being judged."""

    def __init__(self, data, wire):
        self.data, self.wire = bytes(data), max(wire, len(data))

    def take(self, at, count, rule):
        need(at + count <= self.wire, rule)
        need(at + count <= len(self.data), "truncated")
        return self.data[at : at + count]

    def number(self, at, count, rule="not-ip"):
        return int.from_bytes(self.take(at, count, rule), "big")


@dataclass
class Datagram:
    header: bytes  # of IP, without extension headers
    extensions: list  # of IPv6: (type, header)
    protocol: int  # of the upper layer
    upper: bytes
    room: int  # by how many bytes every length field can still grow
    final: bytes  # destination

    @property
    def version(self):
        return self.header[0] >> 4


def descend(frame, link_type):
    """2.1: version or None, offset of the datagram, and its bounds [(end, field's value, field's limit)]."""
    need(link_type in LINK_TYPES, "link-type")
    bounds = []

    def typed(at, content, ethernet):
        kind = frame.number(at, 2)
        if ethernet and kind <= 1500:  # 802.3
            bounds.append((content + kind, kind, 1500))
            need(frame.take(content, 6, "not-ip") == bytes.fromhex("aaaa03000000"), "not-ip")
            return typed(content + 6, content + 8, False)
        if kind in VLAN:
            typed.tags += 1
            need(typed.tags <= 8, "not-ip")
            return typed(content + 2, content + 4, ethernet)
        if kind == 0x8864:  # PPPoE: 11 00, session, length
            need(frame.number(content, 2) == 0x1100, "not-ip")
            length = frame.number(content + 4, 2)
            bounds.append((content + 6 + length, length, 65535))
            return ppp(content + 6)
        need(kind in (0x0800, 0x86DD), "not-ip")
        return (4 if kind == 0x0800 else 6), content

    def ppp(at):
        first = frame.number(at, 1)
        protocol, at = (first, at + 1) if first & 1 else (frame.number(at, 2), at + 2)
        need(protocol in (0x21, 0x57), "not-ip")
        return (4 if protocol == 0x21 else 6), at

    typed.tags = 0
    if link_type in (LINK_NULL, LINK_LOOP):
        family = frame.take(0, 4, "not-ip")
        orders = ("big", "little") if link_type == LINK_NULL else ("big",)
        families = [int.from_bytes(family, order) for order in orders]
        need(any(f in (2, 10, 23, 24, 28, 30) for f in families), "not-ip")
        version, at = (4 if 2 in families else 6), 4
    elif link_type == 1:
        version, at = typed(12, 14, True)
    elif link_type == 9:
        version, at = ppp(2 if frame.take(0, 1, "not-ip") == b"\xff" and frame.number(0, 2) == 0xFF03 else 0)
    elif link_type in (12, 14, 101):
        version, at = frame.number(0, 1) >> 4, 0
        need(version in (4, 6), "not-ip")
    elif link_type in (228, 229):
        version, at = (4 if link_type == 228 else 6), 0
    elif link_type == 113:
        version, at = typed(14, 16, False)
    else:
        version, at = typed(0, 20, False)
    return version, at, bounds


def has_jumbo(options):
    at = 0
    while at < len(options):
        if options[at] == 0xC2:
            return True
        at += 1 if options[at] == 0 else 2 + (options[at + 1] if at + 1 < len(options) else 0)
    return False


def read(frame, link_type):
    """The datagram, if it is signable but for the rule `too-big`; else Refused with the reason."""
    version, start, bounds = descend(frame, link_type)
    need(frame.number(start, 1, "bad-length") >> 4 == version, "bad-version")
    if version == 4:
        total = frame.number(start + 2, 2, "bad-length")
        need(total != 0, "zero-length")
        size, length = (frame.number(start, 1) & 15) * 4, total
        need(20 <= size <= total, "bad-length")
    else:
        payload, first = frame.number(start + 4, 2, "bad-length"), frame.number(start + 6, 1, "bad-length")
        if payload == 0 and first == HOP_BY_HOP:
            count = 8 * (frame.number(start + 41, 1, "zero-length") + 1)
            need(not has_jumbo(frame.take(start + 40, count, "zero-length")[2:]), "jumbo")
        need(payload != 0 or first == NO_NEXT, "zero-length")
        size, length = 40, 40 + payload
    need(start + length <= min([frame.wire] + [end for end, _, _ in bounds]), "bad-length")
    data = frame.take(start, length, "bad-length")
    room = min(limit - value for _, value, limit in bounds + [(0, length if version == 4 else payload, 65535)])
    header, upper = data[:size], data[size:]
    if version == 4:
        need(int.from_bytes(data[6:8], "big") & 0x3FFF == 0, "fragment")
        return Datagram(header, [], data[9], upper, room, data[16:20])
    extensions, kind, final = [], data[6], data[24:40]
    while kind in (HOP_BY_HOP, ROUTING, DESTINATION):
        need(len(extensions) < 8, "extension-headers")
        need(len(upper) >= 2 and len(upper) >= 8 * (upper[1] + 1), "extension-headers")
        count = 8 * (upper[1] + 1)
        extensions.append((kind, upper[:count]))
        kind, upper = upper[0], upper[count:]
    need(kind != FRAGMENT, "fragment")
    for type_, extension in extensions:
        if type_ == ROUTING and extension[3] != 0:
            final = final_destination(extension)
    return Datagram(header, extensions, kind, upper, room, final)


def final_destination(routing):
    """Section 4, of a routing header with segments left."""
    addresses = routing[8:]
    need(routing[2] in (0, 2, 4) and len(addresses) >= 16, "routing-header")
    if routing[2] == 0:
        need(len(addresses) % 16 == 0, "routing-header")
        return addresses[-16:]
    return addresses[:16]
