"""packet-trailer.md sections 3 and 4: the parts of a trailer, and the message that it signs."""

from dataclasses import dataclass
from hashlib import sha256

from . import bbs04, carriage, need, Reader, Refused, tree, xr
from .datagram import DESTINATION, MARK

MAGIC = bytes.fromhex("c14c4557")
NAT, TOLERANT, IPV4_CHECKSUM, UDP_LENGTH, L4_CHECKSUM, INCREMENTAL = 1, 2, 4, 8, 16, 32
SIGNED = 0x1F  # of the flags
SAVED = IPV4_CHECKSUM | UDP_LENGTH | L4_CHECKSUM
MODE_MARK, EACH, WINDOW, TREE = range(4)
WINDOW_MAX = 1024
SCHEMES = {1: bbs04, 2: xr}
PACKET, CARRIER, TUNNEL = 1, 1, 2  # of M: what is signed, how it travels
FULL, TAGS = 1, {2: 8, 3: 4}  # carriages; T of the coded ones
CODED = range(9, 129)  # packets of a coded block
TCP, UDP, ICMP, ICMPV6 = 6, 17, 1, 58
# section 4, "upper layer": least length, place of the checksum
CHECKED = {(4, TCP): (20, 16), (6, TCP): (20, 16), (4, UDP): (8, 6), (6, UDP): (8, 6), (4, ICMP): (8, 2), (6, ICMPV6): (8, 2)}


@dataclass
class Trailer:
    upper: bytes  # of the packet without trailer and marks
    body: bytes
    block: bytes
    saved: dict  # by flag
    group: bytes
    epoch: int
    timestamp: int
    scheme: int
    flags: int
    mode: int
    marks: int
    carriage: int = FULL
    carrier: int = CARRIER

    @property
    def incremental(self):
        return bool(self.flags & INCREMENTAL)

    @property
    def index(self):
        """Of the packet in its block; 0 in the other modes."""
        return read_tree(self.block)[1] if self.mode == TREE else 0

    def share(self):
        """3.3, coded: how shares are tagged, the share, its tag."""
        block, _, depth, _ = read_tree(self.block)
        scheme, T = SCHEMES[self.scheme], TAGS[self.carriage]
        k, end = int.from_bytes(self.body[:2], "big"), len(self.body) - depth * T
        code = carriage.Code(block.count, k, signature_length(scheme, self.flags))
        return carriage.Tags(block.id, code, T), self.body[2:end], self.body[end:]


def has_magic(upper):
    return upper[-4:] == MAGIC


def known_upper(datagram, upper):
    """(least length, place of the checksum) or None, judged without mark and trailer."""
    known = CHECKED.get((datagram.version, datagram.protocol))
    return known if known and len(upper) >= known[0] else None


def read_saved(flags, data):
    at, saved = Reader(data, "bad-trailer-length"), {}
    for flag in (IPV4_CHECKSUM, UDP_LENGTH, L4_CHECKSUM):
        if flags & flag:
            saved[flag] = at.take(2)
    at.end()
    return saved


def check_saved(datagram, upper, flags):
    """Section 3, last: a saved flag that makes no sense for the packet."""
    known = known_upper(datagram, upper)
    need(not flags & IPV4_CHECKSUM or datagram.version == 4, "reserved-bits")
    need(not flags & UDP_LENGTH or (known and datagram.protocol == UDP), "reserved-bits")
    need(not flags & L4_CHECKSUM or known, "reserved-bits")


def read(datagram):
    """Section 2's `too-big`, then sections 3 and 3.1: the trailer of a datagram, behind a mark if there is one."""
    upper = datagram.upper
    need(not has_magic(upper) or len(upper) < 9 or upper[-8] == MODE_MARK or datagram.room >= MARK, "too-big")
    need(has_magic(upper), "no-trailer")
    flags, mode, length = read_foot(upper)
    if mode != MODE_MARK:
        return read_trailer(datagram, upper)
    need(not flags & ~SAVED, "reserved-bits")
    read_saved(flags, upper[len(upper) - length : -10])
    count, inside = upper[-10], upper[: len(upper) - length]
    need(count != 0, "bad-mark")
    try:
        need(has_magic(inside) and read_foot(inside)[1] != MODE_MARK, "bad-mark")
        trailer = read_trailer(datagram, inside)
    except Refused:
        raise Refused("bad-mark")
    need(datagram.room + length >= MARK, "bad-mark")
    check_saved(datagram, trailer.upper, flags)
    trailer.marks = count
    return trailer


def read_foot(upper):
    """version, length against the upper layer, mode, flags"""
    need(len(upper) >= 5, "bad-trailer-length")
    need(upper[-5] == 1, "unknown-version")
    need(len(upper) >= 9, "bad-trailer-length")
    flags, mode, length = upper[-9], upper[-8], int.from_bytes(upper[-7:-5], "big")
    need(9 <= length <= len(upper), "bad-trailer-length")
    need(mode <= TREE, "unknown-mode")
    need(not flags & 0xC0, "reserved-bits")
    need(mode != MODE_MARK or length >= 10, "bad-trailer-length")
    return flags, mode, length


def read_trailer(datagram, upper):
    flags, mode, length = read_foot(upper)
    end = 31 + 2 * (flags & SAVED).bit_count()
    need(length >= end, "bad-trailer-length")
    trailer, original = upper[-length:], upper[:-length]
    head = Reader(trailer[-31:-9])
    group, epoch, timestamp = head.take(8), head.number(4), head.number(8)
    scheme, carried = head.number(1), head.number(1)
    need(carried == FULL or mode == TREE and carried in TAGS, "unknown-carriage")
    need(scheme in SCHEMES, "unknown-scheme")
    at = Reader(trailer[: length - end], "bad-trailer-length")
    size = signature_length(SCHEMES[scheme], flags)
    if carried == FULL:
        body, block = at.take(size), read_block(at, mode)
    else:
        block = read_block(at, mode)
        body = read_coded(at, size, TAGS[carried] * block[21])
    at.end()
    check_block(block, mode)
    check_code(block, body, carried)
    saved = read_saved(flags, trailer[length - end : -31])
    check_saved(datagram, original, flags)
    return Trailer(original, body, block, saved, group, epoch, timestamp, scheme, flags, mode, 0, carried)


def signature_length(scheme, flags):
    return scheme.INCREMENTAL if flags & INCREMENTAL else scheme.SIGNATURE


def read_coded(at, length, tag):
    """3.3: k, the share of so many bytes, the tag"""
    k = at.number(2)
    need(k > 0, "bad-code", "k")
    return k.to_bytes(2, "big") + at.take(-(-length // k) + tag)


def read_block(at, mode):
    """3.2: the bytes, so that what follows is found; whether they make sense is judged after all lengths."""
    if mode == EACH:
        return b""
    if mode == WINDOW:
        return at.take(34)
    block = at.take(22)
    return block + at.take(block[20] * block[21])


def read_tree(data):
    """The block, the packet's index, depth, path."""
    at = Reader(data)
    id, index, count, size, depth = at.take(16), at.number(2), at.number(2), at.number(1), at.number(1)
    return tree.Block(id, count, size), index, depth, [at.take(size) for _ in range(depth)]


def check_block(data, mode):
    """3.2: `bad-block`"""
    if mode == WINDOW:
        k, h = int.from_bytes(data[:2], "big"), data[2:]
        need(1 <= k <= WINDOW_MAX, "bad-block", "k")
        need(k > 1 or h == bytes(32), "bad-block", "h")
    if mode == TREE:
        block, index, depth, _ = read_tree(data)
        need(block.ok() and index < block.count, "bad-block", "count, index or digest size")
        need(depth == len(tree.sides(index, block.count)), "bad-block", "depth")


def check_code(block, body, carried):
    """3.3: `bad-code`"""
    if carried != FULL:
        k, count = int.from_bytes(body[:2], "big"), read_tree(block)[0].count
        need(count in CODED and carriage.needed(25, count) <= k <= count, "bad-code")


# Section 4 -----------------------------------------------------------------------------------------------------------


def message(datagram, trailer):
    """M"""
    flags, block, saved, fields = trailer.flags & SIGNED, trailer.block, saved_of(trailer), nonvolatile(datagram, trailer)
    if trailer.mode == TREE:  # of the block
        flags, block, saved, fields = 0, tree_block(datagram, trailer), b"", b""
    return b"".join(
        [b"clew-packet-v1\0\0", bytes([PACKET, trailer.carrier, trailer.mode, trailer.scheme, flags]), trailer.group]
        + [trailer.epoch.to_bytes(4, "big"), trailer.timestamp.to_bytes(8, "big")]
        + [len(block).to_bytes(2, "big"), block]
        + counted(saved, fields)
    )


def window_hash(before):
    """h, over (M, body) of the packets before."""
    digests = [sha256(b"\0" + len(M).to_bytes(4, "big") + M + body).digest() for M, body in before]
    return sha256(b"clew-window-v1\0\0" + b"".join(digests)).digest() if before else bytes(32)


def saved_of(trailer):
    return b"".join(trailer.saved.values())


def counted(saved, fields):
    return [bytes([len(saved)]), saved, len(fields).to_bytes(4, "big"), fields]


def content(datagram, trailer):
    """Of a packet's leaf."""
    return bytes([trailer.flags & SIGNED]) + b"".join(counted(saved_of(trailer), nonvolatile(datagram, trailer)))


def asked(datagram, trailer):
    """opening.md 2: what names one packet: in a tree its leaf, else SHA-256(M)."""
    if trailer.mode != TREE:
        return sha256(message(datagram, trailer)).digest()
    block, index, _, _ = read_tree(trailer.block)
    return tree.leaf(block, index, content(datagram, trailer))


def tree_block(datagram, trailer):
    block, index, _, path = read_tree(trailer.block)
    root = tree.root_of(block, index, content(datagram, trailer), path)
    return block.id + block.count.to_bytes(2, "big") + bytes([block.size]) + root


def nonvolatile(datagram, trailer):
    header, length = datagram.header, len(trailer.upper).to_bytes(2, "big")
    upper = nonvolatile_upper(datagram, trailer)
    size = 4 if datagram.version == 4 else 16
    source = header[12:16] if size == 4 else header[8:24]
    source = bytes(size) if trailer.flags & NAT else source
    if trailer.carrier == TUNNEL:  # carriers.md 3
        return whole_headers(datagram, source) + upper
    if size == 4:
        options = ipv4_options(header[20:])
        return bytes([4, len(header)]) + length + header[9:10] + source + datagram.final + options + upper
    options = b"".join(ipv6_options(data[2:]) for kind, data in datagram.extensions if kind == DESTINATION)
    start = b"\6" + length + bytes([datagram.protocol]) + source + datagram.final
    return start + len(options).to_bytes(2, "big") + options + upper


def whole_headers(datagram, source):
    header = datagram.header
    extensions = b"".join(data for _, data in datagram.extensions)
    if datagram.version == 4:
        return header[:10] + bytes(2) + source + header[16:]
    return header[:8] + source + header[24:] + extensions


def ipv4_options(options):
    out, at = b"", 0
    while at < len(options):
        kind = options[at]
        if kind == 0:  # end of list, with all that follows
            return out + options[at:]
        length = 1 if kind == 1 else options[at + 1] if at + 1 < len(options) else 0
        if kind != 1 and length < 2 or at + length > len(options):
            return out + bytes(len(options) - at)
        out += options[at : at + length] if kind in (1, 130, 133, 134, 148, 149) else bytes(length)
        at += length
    return out


def ipv6_options(options):
    out, at = b"", 0
    while at < len(options):
        if options[at] == 0:
            at += 1
            continue
        if at + 2 > len(options) or at + 2 + options[at + 1] > len(options):
            return b""  # an option that does not fit its header: none of that header
        end = at + 2 + options[at + 1]
        if options[at] != 1 and not options[at] & 0x20:
            out += options[at:end]
        at = end
    return out


def nonvolatile_upper(datagram, trailer):
    upper = bytearray(trailer.upper)
    known = known_upper(datagram, upper)
    if not known:
        return bytes(upper)
    upper[known[1] : known[1] + 2] = bytes(2)
    nat, protocol = trailer.flags & NAT, datagram.protocol
    if protocol == UDP:
        upper[4:6] = trailer.saved.get(UDP_LENGTH, len(upper).to_bytes(2, "big"))
    if nat and protocol in (TCP, UDP):
        upper[0:2] = bytes(2)
    echo = (0, 8, 13, 14, 15, 16, 17, 18) if protocol == ICMP else (128, 129) if protocol == ICMPV6 else ()
    if nat and upper[0] in echo:
        upper[4:6] = bytes(2)
    if trailer.flags & TOLERANT and protocol == TCP:
        upper[12] &= 0xFE  # AE
        upper[13] &= 0x3F  # CWR, ECE
        if upper[13] & 2:  # SYN
            zero_mss(upper)
    return bytes(upper)


def zero_mss(tcp):
    at, end = 20, min(4 * (tcp[12] >> 4), len(tcp))
    while at < end and tcp[at] != 0:
        length = 1 if tcp[at] == 1 else tcp[at + 1] if at + 1 < end else 0
        if tcp[at] != 1 and length < 2 or at + length > end:
            return
        if tcp[at] == 2:
            tcp[at + 2 : at + length] = bytes(length - 2)
        at += length
