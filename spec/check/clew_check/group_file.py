"""group-file.md: reading a group file and checking it."""

import unicodedata
from dataclasses import dataclass

from . import bbs04, need, Reader, Refused, xr
from .curve import decode_g1, decode_g2, hash_of
from .ed25519 import verifies

HEADER = b"clew-group-file\n"
SCHEMES = {1: bbs04, 2: xr}


def read_name(at):
    """Section 1: with its length; as bytes."""
    length = at.take(1)
    text = at.take(length[0])
    try:
        name = text.decode()
    except UnicodeDecodeError:
        raise Refused(at.rule)
    need(1 <= length[0] <= 64 and name.strip() == name, at.rule)
    need(all(unicodedata.category(c) != "Cc" for c in name), at.rule)
    return length + text


@dataclass
class Sharing:
    """2.4"""

    origin: int
    t: int
    n: int
    commitments: list  # for each secret: C_1 .. C_t-1, encoded


def read_sharing(at, scheme):
    origin, t, n = at.take(3)
    need(origin in (1, 2) if scheme is xr else origin == 1, "layout")
    need(1 <= t <= n <= 32, "layout")
    lists = 1 if scheme is xr else 2
    return Sharing(origin, t, n, [[at.take(48) for _ in range(t - 1)] for _ in range(lists)])


@dataclass
class Register:
    """2.3"""

    last: bytes
    time: int
    machines: int
    root: bytes


def read_register(body):
    at = Reader(body)
    need(at.take(1) == b"\2", "layout")
    register = Register(at.take(32), at.number(8), at.number(4), at.take(32))
    at.end()
    return register


def signed(part, manager):
    """`part` is (body, signature)."""
    return verifies(manager, part[1], b"clew-group-part-1" + part[0])


def split(data):
    """Section 3, rules 1 to 3: the parts, each (body, signature)."""
    need(data[:16] == HEADER, "header")
    data, parts = data[16:], []
    while not parts or parts[-1][0][:1] != b"\2":
        part = len(parts)
        need(len(data) >= 4, "truncated", part)
        length = int.from_bytes(data[:4], "big")
        need(length <= 4096, "too-long", part)
        need(len(data) >= 4 + length + 64, "truncated", part)
        parts.append((data[4 : 4 + length], data[4 + length : 68 + length]))
        data = data[68 + length :]
    for part, (body, _) in enumerate(parts):
        expected = 2 if part == len(parts) - 1 else 0 if part == 0 else 1
        need(body[:1] == bytes([expected]) and (part or expected == 0), "kind", part)
    need(not data, "trailing-bytes", len(parts))
    return parts


class Group:
    """A group file. Rules 1 to 6 are checked at once; keys and sharings (7 to 9) when they are first used."""

    def __init__(self, data):
        parts = split(data)
        # 4. layout
        for part, (body, _) in enumerate(parts):
            try:
                self._layout(part, part == len(parts) - 1, body)
            except Refused as e:
                raise Refused(e.rule, part)
        # 5. signature
        for part, each in enumerate(parts):
            need(signed(each, self.manager), "signature", part)
        # 6. epoch, chain, start
        bodies = [body for body, _ in parts[:-1]]
        self.epoch_ids = [hash_of(body) for body in bodies]
        self.id = self.epoch_ids[0][:16]
        for e in range(1, len(bodies)):
            epoch, previous, start, *_ = self.records[e]
            need(epoch == e, "epoch", e)
            need(previous == self.epoch_ids[e - 1], "chain", e)
            need(start > self.start(e - 1), "start", e)
            need(e <= 2**20, "too-many-epochs", e)
        need(self.register.last == self.epoch_ids[-1], "chain", len(bodies))
        self._keys, self._sharings = {}, {}

    def _layout(self, part, last, body):
        at = Reader(body)
        if last:
            self.register = read_register(body)
            return
        at.take(1)
        if part == 0:
            code = at.number(1)
            need(code in SCHEMES, "layout")
            self.scheme = SCHEMES[code]
            self.created, self.nonce, self.manager = at.number(8), at.take(32), at.take(32)
            need(at.number(1) == 0, "layout", "log")
            self.name = read_name(at)
            key, proof = at.take(self.scheme.KEY), at.take(64 if self.scheme is xr else 0)
            self.records = [(key, proof, read_sharing(at, self.scheme))]
        else:
            epoch, previous, start, change = at.number(4), at.take(32), at.number(8), at.number(1)
            if change == 1:
                values = at.take(self.scheme.REVOCATION + (96 if self.scheme is bbs04 else 0))
            else:
                need(change == 2 and self.scheme is xr, "layout", "change")
                values = (at.take(48), at.take(48), read_sharing(at, xr))
            self.records.append((epoch, previous, start, change, values))
        at.end()

    @property
    def last_epoch(self):
        return len(self.records) - 1

    def start(self, e):
        return self.records[e][2] if e else 0

    def change(self, e):
        return self.records[e][3] if e else 0

    def key(self, e):
        """The public key of epoch e, checked (rules 7 and 9)."""
        if e not in self._keys:
            first = None if e == 0 else self.key(0)
            try:
                key = self.scheme.decode_key(self._key_bytes(e))
                if e == 0:
                    self.scheme.check_epoch_0(key, self.nonce, self.records[0][1])
                else:
                    self.scheme.check_epoch(key, first)
            except Refused as refused:
                raise Refused("public-key", f"{e}: {refused}")
            self._keys[e] = key
        return self._keys[e]

    def _key_bytes(self, e):
        """2.2: what a record does not state is as in the epoch before."""
        key = self.records[0][0]
        for *_, change, values in self.records[1 : e + 1]:
            if change == 2:  # h, h_w into g1 h0 u | h h_w | w lift
                key = key[:144] + values[0] + values[1] + key[240:]
            elif self.scheme is xr:  # x g1 h0 lift into g1 h0 | u h h_w w | lift
                key = values[32:128] + key[96:336] + values[128:]
            else:  # x g1 g2 lift w into g1 | h u v | g2 w lift
                key = values[32:80] + key[48:192] + values[80:176] + values[272:] + values[176:272]
        return key

    def sharing(self, e):
        """The sharing in force in epoch e and its commitments C_0 .. C_t-1 for each secret (rule 8)."""
        since = max(i for i in range(e + 1) if i == 0 or self.change(i) == 2)
        if since not in self._sharings:
            sharing = self.records[0][2] if since == 0 else self.records[since][4][2]
            bases = self.scheme.share_bases(self.key(since))
            try:
                lists = [
                    [C_0] + [decode_g1(C) for C in encoded]
                    for (_, C_0), encoded in zip(bases, sharing.commitments)
                ]
            except Refused as refused:
                raise Refused("sharing", f"{since}: {refused}")
            self._sharings[since] = (sharing, lists)
        return self._sharings[since]

    def check_all(self):
        """Rules 7, 8 and 9 for every epoch."""
        self.key(0)
        for e in range(self.last_epoch + 1):
            self.sharing(e)
            self.key(e)
