"""warrant.md: what a court allows."""

from dataclasses import dataclass

from . import need, Reader, Refused, text
from .curve import D
from .ed25519 import is_key, verifies
from .group_file import read_name

LABEL = "clew-warrant-1"
OPENING, MATCH = 1, 2
TIME_MAX = 366 * 86_400 * 10**9
LAYOUT, TIME, SCOPE, SIGNATURE = "warrant-layout", "warrant-time", "warrant-scope", "warrant-signature"


@dataclass
class Warrant:
    group: bytes
    asks: int
    issued: int
    expires: int
    nonce: bytes
    reference: str
    requester: bytes
    encryption: bytes
    requester_name: str
    machine: bytes  # or None
    digests: list
    issuer: bytes
    issuer_name: str

    def check_request(self, group, asks, digest, machine):
        """Section 3."""
        need(group == self.group, "warrant-group")
        need(asks == self.asks, "warrant-question")
        need(digest in self.digests, "warrant-packet")
        need(asks == OPENING or machine == self.machine, "warrant-machine")

    def check_time(self, now):
        """Section 3."""
        need(self.issued <= now, "warrant-early")
        need(now < self.expires, "warrant-expired")


def _fields(body):
    at = Reader(body)
    group, asks, issued, expires, nonce = at.take(16), at.number(1), at.number(8), at.number(8), at.take(16)
    reference = read_name(at)[1:].decode()
    requester, encryption, requester_name = at.take(32), at.take(32), read_name(at)[1:].decode()
    machine = at.take(32)
    need(asks == MATCH or (asks == OPENING and machine == bytes(32)), LAYOUT)
    digests = [at.take(32) for _ in range(at.number(2))]
    issuer, issuer_name = at.take(32), read_name(at)[1:].decode()
    at.end()
    need(is_key(requester), LAYOUT)
    whose = (requester, encryption, requester_name, machine if asks == MATCH else None)
    return Warrant(group, asks, issued, expires, nonce, reference, *whose, digests, issuer, issuer_name)


def read(data):
    """Section 2: rules layout, time, scope, signature."""
    label, payload = text.read(data)
    need(label == LABEL, "label", label)
    body, signature = payload[:-64], payload[-64:]
    try:
        warrant = _fields(body)
    except Refused as refused:
        raise Refused(LAYOUT, refused.where)
    need(0 < warrant.expires - warrant.issued <= TIME_MAX, TIME)
    digests = warrant.digests
    need(1 <= len(digests) <= 256 and all(a < b for a, b in zip(digests, digests[1:])), SCOPE)
    need(warrant.machine != bytes(32), SCOPE)
    need(is_key(warrant.issuer) and verifies(warrant.issuer, signature, D(LABEL) + body), SIGNATURE)
    return warrant
