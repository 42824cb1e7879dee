"""opening.md section 4: entries of the register, rows with their proofs, register files."""

from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256

from . import join, need, Reader, Refused, xr
from .curve import *
from .ed25519 import verifies
from .group_file import read_name
from .merkle import leaf_hash, root_of

ON_ISSUER, ON_DEVICE, ATTESTED = 1, 2, 3  # how a machine joined
NOTHING_REPLACED = 2**32 - 1


@dataclass
class Entry:
    index: int
    joined: int
    how: int
    replaces: int
    credential: Point
    name: bytes
    commitment: Point = None
    device_key: bytes = None
    S: bytes = None
    proof: bytes = None  # of y
    X: Point = None

    @property
    def key(self):
        """What fixes the machine's x, beside its credential."""
        return self.X if self.commitment is None else self.commitment


def read_entry(data, scheme):
    at = Reader(data)
    entry = Entry(at.number(4), at.number(4), at.number(1), at.number(4), decode_g1(at.take(48)), read_name(at))
    if scheme is xr:
        need(entry.how in (ON_ISSUER, ON_DEVICE, ATTESTED), "layout", "how")
        entry.commitment, entry.device_key, entry.S = decode_g1(at.take(48)), at.take(32), at.take(64)
        entry.proof = at.take(64)
        decode_proof(entry.proof)
    else:
        need(entry.how == ON_ISSUER, "layout", "how")
        entry.X = decode_g2(at.take(96))
    at.end()
    return entry


@dataclass
class Row:
    entry: Entry
    leaf: bytes
    machines: int  # of the register that the proof leads to
    path: list


def read_row(data, scheme):
    at = Reader(data)
    raw = at.take(at.number(2))
    machines, count = at.number(4), at.number(1)
    need(count <= 32, "layout", "hashes")
    path = [at.take(32) for _ in range(count)]
    at.end()
    return Row(read_entry(raw, scheme), leaf_hash(raw), machines, path)


def check_row(group, row):
    """The rule `register`: the row is in the register of this group file, or of one of its checkpoints."""
    root = group.root(row.machines)
    need(root is not None, "register", "machines")
    need(root_of(row.leaf, row.entry.index, row.machines, row.path) == root, "register", "root")
    need(row.entry.joined <= group.last_epoch, "register", "joined")
    need(row.entry.replaces == NOTHING_REPLACED or row.entry.replaces < row.entry.index, "register", "replaces")


def device_text(group_id, joined, how, replaces, C, A, device_key, name):
    """What the device vouches for; points and `name` are encoded."""
    numbers = joined.to_bytes(4, "big") + bytes([how]) + replaces.to_bytes(4, "big")
    return b"clew-device-1".ljust(16, b"\0") + group_id + numbers + C + A + device_key + name


def check_device(group, row):
    """The rule `device`: S, and the proof of y, for the entry."""
    e = row.entry
    points = encode(e.commitment), encode(e.credential)
    text = device_text(group.id, e.joined, e.how, e.replaces, *points, e.device_key, e.name)
    need(verifies(e.device_key, e.S, text), "device", "S")
    try:
        join.check_row_proof(group.key(0), text, e.commitment, e.proof)
    except Refused as refused:
        raise Refused("device", refused)


def fingerprint(device_key):
    """As ssh prints it."""
    return "SHA256:" + b64encode(sha256(device_key).digest()).decode().rstrip("=")


def check_names(group, key, row, B, x):
    """The rules `credential` and `signer`. Both: the first fixes x, the second says who signed."""
    known = (row.entry.commitment, x) if group.scheme is xr else (row.entry.X,)
    need(group.scheme.certifies(key, row.entry.credential, *known), "credential")
    need(group.scheme.names(key, B, *known), "signer")


# Section 4: register files -------------------------------------------------------------------------------------------

ROW_MAX = 2 + (4 + 4 + 1 + 4 + 48 + 65 + 48 + 32 + 64 + 64) + 4 + 1 + 32 * 32
HASHES, POINTS = 1, 2


@dataclass
class RegisterFile:
    group: bytes
    values: int
    epochs: list
    lines: list  # (row, x or None, [value of each epoch])


def read_register_file(data, scheme):
    need(data[:16] == b"clew-register-1\n", "header")
    at = Reader(data[16:], "header")
    group, values, count = at.take(16), at.number(1), at.number(1)
    need(values in (HASHES, POINTS) and 1 <= count <= 16, "header", "values or count")
    epochs, lines = [at.number(4) for _ in range(count)], []
    need(all(a < b for a, b in zip(epochs, epochs[1:])), "header", "epochs")
    at = Reader(at.rest(), "truncated")
    while at.at < len(at.data):
        length = at.number(4)
        need(length <= ROW_MAX, "too-long")
        row, x = at.take(length), at.take(32 if scheme is xr else 0)
        given = [at.take(32 if values == HASHES else 48) for _ in epochs]
        try:
            lines.append((read_row(row, scheme), decode_secret(x) if x else None, given))
        except Refused as refused:
            raise Refused("layout", refused)
    return RegisterFile(group, values, epochs, lines)


def check_register_line(group, file, row, x, given):
    """Nothing in it is believed. A hash only helps to find; whoever finds checks B_e."""
    check_row(group, row)
    if group.scheme is xr:
        check_device(group, row)
    known = (row.entry.commitment, x) if group.scheme is xr else (row.entry.X,)
    need(group.scheme.certifies(group.key(0), row.entry.credential, *known), "credential")
    for epoch, value in zip(file.epochs, given):
        if file.values == POINTS and value != bytes(48):
            try:
                B = decode_g1(value)
            except Refused as refused:
                raise Refused("signer", refused)
            need(group.scheme.names(group.key(epoch), B, *known), "signer")
