"""opening.md 10: whether a log has the request of an opening or a match, and trustees' yes."""

from base64 import b64decode
from binascii import Error
from dataclasses import dataclass

from . import need, Reader, Refused
from .curve import D, hash_of
from .ed25519 import verifies
from .merkle import leaf_hash, root_of

ENTRY, REQUEST, DECISION, YES = b"clew-log-entry-1", 5, 6, 1
LAYOUT = "request-entry"


@dataclass
class Entry:
    logged: int
    kind: int
    group: bytes
    author: bytes
    body: bytes


@dataclass
class Proof:
    extra: bytes
    index: int
    hashes: list
    text: str  # of the checkpoint
    lines: list  # (name, signature with its key id)

    def signed_by(self, name, key, typed, message):
        """Whether this key signed: `message` makes what it signs of the bytes before the signature."""
        key_id = hash_of(name.encode() + b"\n" + typed)[:4]
        for own, data in self.lines:
            if own == name and data[:4] == key_id and len(data) >= 68:
                head, signature = data[4:-64], data[-64:]
                return verifies(key, signature, message(head))
        return False


def decoded(text):
    try:
        return b64decode(text, validate=True)
    except (Error, ValueError):
        raise Refused(LAYOUT)


def read(data):
    """c2sp.org/tlog-proof, with a c2sp.org/signed-note at its end."""
    try:
        head, note = data.decode().split("\n\n", 1)
        text, signatures = note.split("\n\n", 1)
    except (UnicodeDecodeError, ValueError):
        raise Refused(LAYOUT)
    first, extra, index, *hashes = head.split("\n") if head.count("\n") >= 2 else [""] * 3
    need(first == "c2sp.org/tlog-proof@v1" and extra.startswith("extra ") and index.startswith("index "), LAYOUT)
    need(index[6:].isdecimal(), LAYOUT)
    lines = []
    for line in signatures.removesuffix("\n").split("\n"):
        parts = line.split(" ")
        need(len(parts) == 3 and parts[0] == "\u2014", LAYOUT)
        lines.append((parts[1], decoded(parts[2])))
    return Proof(decoded(extra[6:]), int(index[6:]), [decoded(each) for each in hashes], text + "\n", lines)


def entry(data):
    """log.md 3: an entry as the log keeps it, signed by its author."""
    at = Reader(data, LAYOUT)
    logged = at.number(8)
    whole = at.rest()
    need(len(whole) > 137 and whole.startswith(ENTRY), LAYOUT)
    signed, signature = whole[:-64], whole[-64:]
    found = Entry(logged, signed[16], signed[17:33], signed[41:73], signed[73:])
    need(verifies(found.author, signature, D("clew-log-entry-1") + signed), LAYOUT)
    return found


def statement(entry):
    """log.md 3: what a log has only once."""
    return hash_of(D("clew-log-said-1") + bytes([entry.kind]) + entry.author + entry.body)


def check(group, data, witnesses, threshold):
    """A signed entry of this group that is in a log of it. Returns the proof, too."""
    proof = read(data)
    logs = {log.vkey(): log for _, log in group.logs() if log}
    plain = lambda head: proof.text.encode() if not head else b""
    log = next((log for log in logs.values() if proof.signed_by(log.origin, log.key, b"\1" + log.key, plain)), None)
    need(log, "request-log")
    origin, size, root, *_ = proof.text.split("\n")
    need(origin == log.origin and size.isdecimal(), "request-proof")
    need(sum(cosigned(proof, each) for each in witnesses) >= threshold, "request-proof", "witnesses")
    need(root_of(leaf_hash(proof.extra), proof.index, int(size), proof.hashes) == decoded(root), "request-proof")
    found = entry(proof.extra)
    need(found.group == group.id, LAYOUT)
    return proof, found


def cosigned(proof, vkey):
    """c2sp.org/tlog-cosignature, type 4."""
    name, _, key = vkey.split("+", 2)
    typed = decoded(key)
    stamped = lambda head: b"cosignature/v1\ntime %d\n" % int.from_bytes(head, "big") + proof.text.encode()
    return typed[:1] == b"\4" and proof.signed_by(name, typed[1:], typed, stamped)


def judge(group, request, filed, decisions, witnesses=(), threshold=0):
    """`request` is the encoded one of the evidence. Returns place, the log's time, and the trustees that said yes."""
    proof, found = check(group, filed, witnesses, threshold)
    place = int.from_bytes(request[198:206], "big")
    without = hash_of(request[:198] + bytes(8))
    need(found.kind == REQUEST and proof.index == place, LAYOUT)
    need(found.body[:1] == request[16:17] and found.body[1:33] == without, LAYOUT)
    trustees = []
    for each in decisions:
        try:
            _, said = check(group, each, witnesses, threshold)
        except Refused as refused:
            raise Refused("request-decision" if refused.rule == LAYOUT else refused.rule, refused.where)
        at = Reader(said.body, "request-decision")
        need(said.kind == DECISION and at.take(8) == request[198:206] and at.take(32) == statement(found), "request-decision")
        need(at.number(4) == group.since(int.from_bytes(request[34:38], "big")), "request-decision")
        trustee, answer = at.number(1), at.number(1)
        need(answer == YES and not at.rest(), "request-decision")
        trustees.append(trustee)
    return place, found.logged, trustees
