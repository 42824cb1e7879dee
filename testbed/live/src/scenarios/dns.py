"""A DNS server that answers every question with 192.0.2.7, or a client that asks one."""

import socket
import struct
import sys


def serve(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.bind((address, 53))
    while True:
        query, peer = sock.recvfrom(1500)
        end = query.index(b"\0", 12) + 5
        head = query[:2] + struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0)
        answer = struct.pack("!HHHIH", 0xC00C, 1, 1, 60, 4) + bytes([192, 0, 2, 7])
        sock.sendto(head + query[12:end] + answer, peer)


def ask(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.settimeout(3)
    name = b"".join(bytes([len(part)]) + part for part in (b"host", b"example"))
    query = struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 0) + name + b"\0" + struct.pack("!HH", 1, 1)
    sock.sendto(query, (address, 53))
    answer = sock.recv(1500)
    sys.exit(0 if answer[:2] == query[:2] and answer[-4:] == bytes([192, 0, 2, 7]) else 1)


{"serve": serve, "ask": ask}[sys.argv[1]](sys.argv[2])
