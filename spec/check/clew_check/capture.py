"""Captures: pcap and pcapng, as far as packets need them. A packet is (data, wire length, link type, time or None)."""

import struct

from . import need, Refused


def packets(data):
    """All packets; raises Refused("damaged") where the file breaks off."""
    try:
        if data[:4] == b"\x0a\x0d\x0d\x0a":
            yield from pcapng(data)
        else:
            yield from pcap(data)
    except struct.error:
        raise Refused("damaged")


def pcap(data):
    for order in "<>":
        for magic, unit in ((0xA1B2C3D4, 1000), (0xA1B23C4D, 1)):
            if data[:4] == struct.pack(order + "I", magic):
                break
        else:
            continue
        break
    else:
        raise Refused("damaged")
    link_type, at = struct.unpack_from(order + "I", data, 20)[0] & 0x03FFFFFF, 24
    while at < len(data):
        seconds, fraction, length, wire = struct.unpack_from(order + "IIII", data, at)
        need(at + 16 + length <= len(data), "damaged")
        yield data[at + 16 : at + 16 + length], wire, link_type, seconds * 10**9 + fraction * unit
        at += 16 + length


def pcapng(data):
    at, order, interfaces = 0, "<", []
    while at < len(data):
        if data[at : at + 4] == b"\x0a\x0d\x0d\x0a":  # section header
            order = "<" if data[at + 8 : at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            interfaces = []
        kind, length = struct.unpack_from(order + "II", data, at)
        need(length >= 12 and length % 4 == 0 and at + length <= len(data), "damaged")
        body = data[at + 8 : at + length - 4]
        at += length
        if kind == 1:
            interfaces.append(interface(body, order))
        elif kind == 6:
            number, high, low, captured, wire = struct.unpack_from(order + "IIIII", body)
            need(number < len(interfaces) and 20 + captured <= len(body), "damaged")
            link_type, _, unit, offset = interfaces[number]
            ticks = high << 32 | low
            yield body[20 : 20 + captured], wire, link_type, ticks * 10**9 // unit + offset * 10**9
        elif kind == 3:
            (wire,) = struct.unpack_from(order + "I", body)
            need(interfaces, "damaged")
            link_type, limit, _, _ = interfaces[0]
            captured = min(wire, limit or wire, len(body) - 4)
            yield body[4 : 4 + captured], wire, link_type, None


def interface(body, order):
    """Link type, snap length, ticks per second, offset in seconds."""
    link_type, _, limit = struct.unpack_from(order + "HHI", body)
    unit, offset, at = 10**6, 0, 8
    while at + 4 <= len(body):
        code, length = struct.unpack_from(order + "HH", body, at)
        value = body[at + 4 : at + 4 + length]
        if code == 9:  # if_tsresol
            unit = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        elif code == 14:  # if_tsoffset
            (offset,) = struct.unpack(order + "q", value)
        elif code == 0:
            break
        at += 4 + (length + 3) // 4 * 4
    return link_type, limit, unit, offset
