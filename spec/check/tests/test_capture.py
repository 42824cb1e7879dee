"""capture.py and the parts of packet-trailer.md 2 that the vectors leave open."""

import struct
import unittest

from common import Case
from clew_check import capture, datagram
from prover import ipv4_udp, pcap

FRAME = ipv4_udp(b"x")


def block(kind, body, order):
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


class Capture(Case):
    def test_pcap(self):
        self.assertEqual(list(capture.packets(pcap([(5, FRAME)]))), [(FRAME, len(FRAME), 101, 5)])
        micro = struct.pack(">IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 0, 0x14000065) + struct.pack(">IIII", 1, 2, 3, 9) + b"abc"
        self.assertEqual(list(capture.packets(micro)), [(b"abc", 9, 101, 10**9 + 2000)])
        for bad in (b"", b"abcd", micro[:-1], micro[:30]):
            self.refuses("damaged", list, capture.packets(bad))

    def test_pcapng(self):
        for order in "<>":
            start = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)
            options = struct.pack(order + "HHBxxxHH", 9, 1, 9, 0, 0)
            start += block(1, struct.pack(order + "HHI", 101, 0, 0) + options, order)
            start += block(1, struct.pack(order + "HHI", 1, 0, 0), order)
            start += block(6, struct.pack(order + "IIIII", 0, 1, 2, 3, 9) + b"abc", order)
            start += block(6, struct.pack(order + "IIIII", 1, 0, 7, 3, 3) + b"abc", order)
            start += block(3, struct.pack(order + "I", 3) + b"abc", order)
            wanted = [(b"abc", 9, 101, 2**32 + 2), (b"abc", 3, 1, 7000), (b"abc", 3, 101, None)]
            self.assertEqual(list(capture.packets(start)), wanted)
            self.refuses("damaged", list, capture.packets(start[:-1]))


class Signable(Case):
    def test_reasons(self):
        tag, ip, udp6 = b"\x81\0\0\1", FRAME, bytes.fromhex("60000000 0008 11 40") + bytes(32) + bytes(8)
        for reason, link_type, frame in (
            (None, 1, bytes(12) + tag * 8 + b"\x08\0" + ip),
            ("not-ip", 1, bytes(12) + tag * 9 + b"\x08\0" + ip),
            ("not-ip", 1, bytes(12) + b"\x81"),
            ("not-ip", 101, b""),
            ("not-ip", 101, b"\x50" + ip[1:]),
            ("bad-length", 101, b"\x44" + ip[1:]),
            ("bad-length", 101, b"\x4f\0\0\x20" + ip[4:]),
            ("fragment", 101, ip[:6] + b"\0\1" + ip[8:]),
            (None, 101, ip[:6] + b"\x40\0" + ip[8:]),  # don't fragment
            (None, 0, b"\x1e\0\0\0" + udp6),
            (None, 0, b"\0\0\0\x18" + udp6),
            ("not-ip", 108, b"\x1e\0\0\0" + udp6),
            ("zero-length", 101, udp6[:4] + b"\0\0" + udp6[6:]),
            ("fragment", 101, udp6[:6] + b"\x2c" + udp6[7:]),
            ("extension-headers", 101, udp6[:6] + b"\x3c\x40" + udp6[8:40] + b"\x11\1" + bytes(6)),
            ("bad-length", 1, bytes(12) + b"\0\x20" + bytes.fromhex("aaaa030000000800") + ip),  # 802.3 length too small
            ("not-ip", 1, bytes(12) + b"\x88\x64\x12\0\0\1\0\x40\0\x21" + ip),
        ):
            read = datagram.read, datagram.Frame(frame, len(frame)), link_type
            if reason:
                self.refuses(reason, *read)
            else:
                self.assertTrue(read[0](*read[1:]).upper)


if __name__ == "__main__":
    unittest.main()
