"""group-file.md: reading a group file and checking it."""

from base64 import b32encode, b64encode
from dataclasses import dataclass, replace

from . import bbs04, merkle, need, Reader, Refused, revocation, xr
from .curve import decode_g1, hash_of
from .ed25519 import is_key, verifies
from .revocation import STEPS_MAX

HEADER = b"clew-group-file\n"
SCHEMES = {1: bbs04, 2: xr}
STEPS, SHARING, REBASE, LOG, END = 1, 2, 3, 4, 5  # changes


# Section 1: what no name has, as first and last code points.
REFUSED = (
    (0x0, 0x1F), (0x7F, 0xA0), (0xAD, 0xAD), (0x34F, 0x34F), (0x600, 0x605), (0x61C, 0x61C), (0x6DD, 0x6DD),
    (0x70F, 0x70F), (0x890, 0x891), (0x8E2, 0x8E2), (0x115F, 0x1160), (0x1680, 0x1680), (0x17B4, 0x17B5),
    (0x180B, 0x180F), (0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F), (0x2800, 0x2800), (0x3000, 0x3000),
    (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x110BD, 0x110BD),
    (0x110CD, 0x110CD), (0x13430, 0x1343F), (0x13441, 0x13442), (0x16FE4, 0x16FE4), (0x1BCA0, 0x1BCA3),
    (0x1D159, 0x1D159), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip


def is_refused(c):
    return any(first <= ord(c) <= last for first, last in REFUSED)


def read_name(at):
    """Section 1: with its length; as bytes."""
    length = at.take(1)
    text = at.take(length[0])
    try:
        name = text.decode()
    except UnicodeDecodeError:
        raise Refused(at.rule)
    need(1 <= length[0] <= 64 and name.strip(" ") == name, at.rule)
    need(not any(map(is_refused, name)), at.rule)
    return length + text


@dataclass
class Sharing:
    """2.5"""

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
class Log:
    """2.6: a transparency log."""

    origin: str
    key: bytes

    def vkey(self):
        """NAME+ID+KEY of c2sp.org/signed-note."""
        typed = b"\x01" + self.key
        key_id = hash_of(self.origin.encode() + b"\n" + typed)[:4].hex()
        return f"{self.origin}+{key_id}+{b64encode(typed).decode()}"


def read_log(at):
    """2.6: None if there is none."""
    present = at.number(1)
    need(present in (0, 1), "layout", "log")
    if present == 0:
        return None
    origin, key = read_name(at)[1:].decode(), at.take(32)
    need(" " not in origin and "+" not in origin, "layout", "origin of the log")
    need(is_key(key), "layout", "key of the log")
    return Log(origin, key)


@dataclass
class Head:
    """2.3 and 2.4: the register, or a checkpoint of it, with the proof that it continues the checkpoint before."""

    machines: int
    root: bytes
    proof: list
    last: bytes = None
    time: int = None


def read_size(at):
    """The machines of a register and its root, which is zeros if there are none."""
    machines, root = at.number(4), at.take(32)
    need(machines > 0 or root == bytes(32), "layout", "root")
    return machines, root


def read_head(at, **fields):
    (machines, root), count = read_size(at), at.number(1)
    need(count <= 64, "layout", "hashes")
    return Head(machines, root, [at.take(32) for _ in range(count)], **fields)


@dataclass
class Record:
    """2.2, of an epoch after the first; what the change does not have is None."""

    epoch: int
    previous: bytes
    made: int
    start: int
    size: tuple  # (machines, root) of the register when it was made
    change: int
    steps: list = None  # (x*, V) as bytes
    opening: tuple = None  # h and h_w as bytes
    sharing: object = None
    rows: list = None  # that a rebase revokes
    log: Log = None
    stolen_since: int = None  # of an end; 0 for never
    successor: bytes = None  # of an end; zeros for none


def read_record(at, scheme):
    record = Record(at.number(4), at.take(32), at.number(8), at.number(8), read_size(at), at.number(1))
    if record.change == STEPS:
        count = at.number(1)
        need(scheme is xr and 1 <= count <= 48, "layout", "steps")
        record.steps = [(at.take(32), at.take(48)) for _ in range(count)]
    elif record.change == SHARING:
        need(scheme is xr, "layout", "change")
        record.opening = at.take(48), at.take(48)
        record.sharing = read_sharing(at, xr)
    elif record.change == LOG:
        record.log = read_log(at)
    elif record.change == END:
        record.stolen_since, record.successor = at.number(8), at.take(32)
    else:
        need(record.change == REBASE, "layout", "change")
        count = at.number(2)
        need(count <= 900, "layout", "rows")
        record.rows = [at.number(4) for _ in range(count)]
        need(all(a < b for a, b in zip(record.rows, record.rows[1:])), "layout", "rows")
    return record


def short_id(epoch_id):
    """An epoch id for people to compare."""
    text = b32encode(epoch_id[:20]).decode().lower()
    return "-".join(text[i : i + 4] for i in range(0, 32, 4))


def signed(part, manager):
    """`part` is (body, signature)."""
    return verifies(manager, part[1], b"clew-group-part-1" + part[0])


MAY_FOLLOW = {None: (0,), 0: (1, 3, 2), 1: (1, 3, 2), 3: (3, 2)}
EPOCHS_MAX = 2**20


def parts_of(data):
    """Section 3, rules 1 to 3: the parts, each (body, signature), one after the other."""
    need(data[:16] == HEADER, "header")
    at, part, before = 16, 0, None
    while before != 2:
        need(len(data) - at >= 4, "truncated", part)
        length = int.from_bytes(data[at : at + 4], "big")
        need(length <= 4096, "too-long", part)
        body, signature = data[at + 4 : at + 4 + length], data[at + 4 + length : at + 68 + length]
        need(len(signature) == 64, "truncated", part)
        kind = body[0] if body else None
        need(kind in MAY_FOLLOW[before], "kind", part)
        yield body, signature
        at, part, before = at + 68 + length, part + 1, kind
    need(at == len(data), "trailing-bytes", part)


class Group:
    """A group file. Rules 1 to 9 are checked at once. `key` gives keys of epochs as far as the manager's word goes;
    who opens, judges, matches, updates or gives shares calls `check_epochs` first."""

    def __init__(self, data):
        self.records, self.checkpoints, self.epoch_ids = [], [], []
        self._revoked, self._steps = set(), 0
        for number, part in enumerate(parts_of(data)):
            try:
                self._take(*part)
            except Refused as refused:
                raise Refused(refused.rule, number)
        self.id = self.epoch_ids[0][:16]
        self._check_sizes()
        self._checked, self._sharings = False, {}
        self._keys = [self._first_key()]

    def _take(self, body, signature):
        """Rules 4 to 8: a part beside those before it."""
        self._layout(Reader(body))
        need(signed((body, signature), self.manager), "signature")
        if body[0] in (0, 1):
            self._check_record(self.records[-1])
            self.epoch_ids.append(hash_of(body))
        elif body[0] == 3:
            self._check_head(self.checkpoints[-1], self.checkpoints[:-1])
        else:
            last = self.records[-1]
            need(last.change != END or self.register.machines == last.size[0], "ended")
            need(self.register.last == self.epoch_ids[-1], "chain")
            self._check_head(self.register, self.checkpoints)

    def _layout(self, at):
        kind = at.number(1)
        if kind == 0:
            code = at.number(1)
            need(code in SCHEMES, "layout")
            self.scheme = SCHEMES[code]
            self.created, self.nonce, self.manager = at.number(8), at.take(32), at.take(32)
            self._log = read_log(at)
            self.name = read_name(at)
            self._founding, self._proof = at.take(self.scheme.KEY), at.take(64 if self.scheme is xr else 0)
            self.records = [Record(0, b"", self.created, 0, (0, bytes(32)), 0, sharing=read_sharing(at, self.scheme))]
        elif kind == 1:
            self.records.append(read_record(at, self.scheme))
        elif kind == 3:
            head = read_head(at)
            need(head.machines > 0, "layout", "machines")
            self.checkpoints.append(head)
        else:
            last, time = at.take(32), at.number(8)
            self.register = read_head(at, last=last, time=time)
        at.end()

    def _check_record(self, record):
        """6. The last one so far; record 0 is the first."""
        e = len(self.records) - 1
        if e == 0:
            return
        before = self.records[e - 1]
        need(e <= EPOCHS_MAX, "too-many-epochs")
        need(record.epoch == e, "epoch")
        need(record.previous == self.epoch_ids[e - 1], "chain")
        need(before.made <= record.made <= record.start, "start")
        need(before.change != END, "ended")
        need(record.change != END or record.start == record.made, "ended")
        for revoked in [x for x, _ in record.steps or []] + (record.rows or []):
            need(revoked not in self._revoked, "revoked-twice")
            self._revoked.add(revoked)
        self._steps = 0 if record.change == REBASE else self._steps + len(record.steps or [])
        need(self._steps <= STEPS_MAX, "steps")
        need(before.size[0] <= record.size[0], "checkpoint")

    def _check_head(self, head, checkpoints):
        """7. and 8. A checkpoint continues the one before, and the register the last one."""
        if not checkpoints:
            need(not head.proof, "checkpoint")
            return
        before = checkpoints[-1]
        if head.last is not None and head.machines == before.machines:
            need(not head.proof and head.root == before.root, "checkpoint")
            return
        need(before.machines < head.machines, "checkpoint")
        sizes = (before.machines, before.root, head.machines, head.root)
        need(merkle.consistent(*sizes, head.proof), "checkpoint")

    def _check_sizes(self):
        """8. The register of each record is empty, or a checkpoint."""
        known = {(0, bytes(32)), *((head.machines, head.root) for head in self.checkpoints)}
        for e, record in enumerate(self.records):
            need(record.size in known, "checkpoint", e)

    def _first_key(self):
        try:
            key = self.scheme.founded(self.nonce, self._founding)
            self.scheme.check_genesis(key, self.nonce, self._proof)
            return key
        except Refused as refused:
            raise Refused("public-key", f"0: {refused}")

    @property
    def last_epoch(self):
        return len(self.records) - 1

    def start(self, e):
        """The effective one: of an epoch or of any after it, whichever is the least."""
        return min(record.start for record in self.records[e:]) if e else 0

    def change(self, e):
        return self.records[e].change

    def stolen(self):
        """The epoch that ended the group because its keys may be stolen, or None."""
        last = self.records[-1]
        return self.last_epoch if last.change == END and last.stolen_since else None

    def root(self, machines):
        """Of the register when it had so many entries, as far as this file says."""
        return next((h.root for h in [self.register, *self.checkpoints] if h.machines == machines), None)

    def has_key(self, e):
        """An epoch that ends the group has none."""
        return self.change(e) != END

    def key(self, e):
        """The public key of epoch e. It decodes; that its V is the right one only `check_epochs` shows."""
        while len(self._keys) <= e:
            epoch = len(self._keys)
            try:
                self._keys.append(self._next(self._keys[-1], self.records[epoch]))
            except Refused as refused:
                raise Refused("public-key", f"{epoch}: {refused}")
        return self._keys[e]

    def _next(self, key, record):
        """2.2: what a record does not state is as in the epoch before."""
        scheme = self.scheme
        if record.change == SHARING:
            h, h_w = map(decode_g1, record.opening)
            return replace(key, h=h, h_w=h_w)
        if record.change in (LOG, END):  # nobody looks for the key of an end: `has_key`
            return key
        if record.change == REBASE:
            return scheme.in_epoch(key, scheme.rebased_v(self.nonce, record.epoch, self.epoch_ids[record.epoch]))
        return scheme.in_epoch(key, decode_g1(record.steps[-1][1]))

    def steps(self, e):
        """Those of epoch e, decoded."""
        try:
            return [revocation.decode_step(x + v) for x, v in self.records[e].steps or []]
        except Refused as refused:
            raise Refused("public-key", f"{e}: {refused}")

    def base_epoch(self, e):
        """The epoch whose hashed V the chain of e starts from."""
        return max(i for i in range(e + 1) if i == 0 or self.change(i) == REBASE)

    def check_epochs(self):
        """11. and 12. All keys decode, each V follows from a hashed one, and each h_w is h^gamma."""
        if self._checked:
            return
        segments = []
        for e in range(self.last_epoch + 1):
            key = self.key(e)
            if e == 0 or self.change(e) == REBASE:
                segments.append((key.v, []))
            segments[-1][1].extend(self.steps(e))
            if self.change(e) == SHARING:
                self._blame(e, self.scheme.check_opening, key)
        try:
            revocation.check_steps(self.key(0).w, segments)
        except Refused:
            self._blame_step()
        self._checked = True

    def _blame(self, e, check, *arguments):
        try:
            check(*arguments)
        except Refused as refused:
            raise Refused("public-key", f"{e}: {refused}")

    def _blame_step(self):
        """The first step that is wrong."""
        for e in range(1, self.last_epoch + 1):
            v = self.key(e - 1).v
            for step in self.steps(e):
                self._blame(e, revocation.check_step, self.key(0).w, v, step)
                v = step.v
        raise AssertionError("each step holds, and not all of them together")

    def since(self, e):
        """The first epoch of the opening key of epoch e."""
        return max(i for i in range(e + 1) if i == 0 or self.change(i) == SHARING)

    def sharing(self, e):
        """The sharing in force in epoch e and its commitments C_0 .. C_t-1 for each secret (rule 10)."""
        since = self.since(e)
        if since not in self._sharings:
            sharing = self.records[since].sharing
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

    def log_at(self, e):
        """The log of epoch e, or None."""
        since = max(i for i in range(e + 1) if i == 0 or self.change(i) == LOG)
        return self.records[since].log if since else self._log

    def logs(self):
        """Where the log is set: (epoch, log or None), epoch 0 first."""
        later = [e for e in range(1, self.last_epoch + 1) if self.change(e) == LOG]
        return [(0, self._log)] + [(e, self.records[e].log) for e in later]

    def check_all(self):
        """Rules 10 to 12 for every epoch."""
        self.check_epochs()
        for e in range(self.last_epoch + 1):
            self.sharing(e)

    def revoked_in(self, index, x=None):
        """The epoch that revokes a row: by its index in a rebase, or by its x in a step."""
        for e, record in enumerate(self.records):
            by_step = x is not None and any(int.from_bytes(x_star, "big") == x for x_star, _ in record.steps or [])
            if by_step or index in (record.rows or []):
                return e
        return None
