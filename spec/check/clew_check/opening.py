"""opening.md: requests, register entries, and `judge` over openings and matches."""

from dataclasses import dataclass

from . import bbs04, need, quorum, Reader, receiver, Refused, xr
from .curve import *
from .group_file import read_name, read_register, SCHEMES, signed
from .ed25519 import verifies
from .trailer import message

OPENING, MATCH = "clew-opening-1", "clew-match-1"
WAS, WAS_NOT = "it was this machine", "it was not this machine"


@dataclass
class Request:
    """Section 2"""

    kind: int
    scheme: object
    group: bytes
    epoch: int
    epoch_id: bytes
    packet: bytes
    warrant: bytes
    machine: bytes
    id: bytes


def read_request(data, kind):
    at = Reader(data)
    need(at.take(16) == b"clew-request-1\0\0" and at.number(1) == kind, "layout", "request")
    scheme = SCHEMES.get(at.number(1))
    need(scheme is xr or (kind == 1 and scheme), "layout", "scheme")
    request = Request(kind, scheme, at.take(16), at.number(4), *(at.take(32) for _ in range(4)), hash_of(data))
    need(at.take(8) == bytes(8) and (kind == 2 or request.machine == bytes(32)), "layout", "request")
    at.end()
    return request


def packet_digest(M, body):
    """Section 2; `body` in its plain form."""
    return hash_of(D("clew-packet-digest-1"), hash_of(M), body)


# Section 4: the register ---------------------------------------------------------------------------------------------


@dataclass
class Entry:
    index: int
    joined: int
    credential: tuple
    name: bytes
    commitment: tuple = None
    device_key: bytes = None
    S: bytes = None


def read_entry(data, scheme):
    at = Reader(data)
    entry = Entry(at.number(4), at.number(4), decode_g1(at.take(48)), read_name(at))
    if scheme is xr:
        entry.commitment, entry.device_key, entry.S = decode_g1(at.take(48)), at.take(32), at.take(64)
    at.end()
    return entry


def leaf_hash(entry):
    return hash_of(b"\0", entry)


def tree_hash(entries):
    """RFC 6962, 2.1; 32 zero bytes if there is none."""
    if len(entries) < 2:
        return leaf_hash(entries[0]) if entries else bytes(32)
    k = 1 << (len(entries) - 1).bit_length() - 1
    return hash_of(b"\1", tree_hash(entries[:k]), tree_hash(entries[k:]))


def root_of(leaf, index, size, path):
    """RFC 9162, 2.1.3.2: the root that an inclusion proof leads to, or None."""
    if index >= size:
        return None
    fn, sn = index, size - 1
    for p in path:
        if sn == 0:
            return None
        if fn & 1 or fn == sn:
            leaf = hash_of(b"\1", p, leaf)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            leaf = hash_of(b"\1", leaf, p)
        fn, sn = fn >> 1, sn >> 1
    return leaf if sn == 0 else None


@dataclass
class Row:
    entry: Entry
    leaf: bytes
    path: list
    part: tuple  # body and signature of a register part
    register: object


def read_row(data, scheme):
    at = Reader(data)
    raw = at.take(at.number(2))
    count = at.number(1)
    need(count <= 32, "layout")
    path = [at.take(32) for _ in range(count)]
    part = at.take(at.number(4)), at.take(64)
    at.end()
    return Row(read_entry(raw, scheme), leaf_hash(raw), path, part, read_register(part[0]))


def check_row(group, row, epoch):
    """The rule `register`."""
    need(signed(row.part, group.manager), "register", "manager's signature")
    need(row.register.last in group.epoch_ids, "register", "last")
    need(row.entry.joined <= group.epoch_ids.index(row.register.last), "register", "joined")
    need(root_of(row.leaf, row.entry.index, row.register.machines, row.path) == row.register.root, "register", "root")
    need(row.entry.joined <= epoch, "register", "joined after the packet")


def check_device(group, row):
    """The rule `device`: S over the entry."""
    e = row.entry
    signed_text = b"clew-device-1".ljust(16, b"\0") + group.id + e.joined.to_bytes(4, "big")
    signed_text += encode(e.commitment) + encode(e.credential) + e.device_key + e.name
    need(verifies(e.device_key, e.S, signed_text), "device")


# Sections 6 and 7: judge ---------------------------------------------------------------------------------------------


def find_packet(group, request, packets):
    """The rule `packet`: a signed packet of that digest, with the group, scheme and epoch of the request."""
    for packet, found in receiver.in_full(packets):
        same = found.group == group.id[:8] and SCHEMES[found.scheme] is group.scheme and found.epoch == request.epoch
        body = found.body[: group.scheme.SIGNATURE]
        if same and packet_digest(message(packet, found), body) == request.packet:
            return packet, found, body
    raise Refused("packet")


def check_decryption(data, context, i, part, B, commitments, P):
    need(quorum.decryption_holds(data, context, i, part, B, quorum.share_key(commitments, i), P), "share", f"trustee {i}")
    return quorum.decode_decryption(data)[0]


def check_group(group, request):
    """The rule `group`: the public key of the epoch, the sharing in force, and its commitments."""
    known = request.group == group.id and request.scheme is group.scheme and request.epoch <= group.last_epoch
    need(known and group.epoch_ids[request.epoch] == request.epoch_id, "group")
    try:
        return group.key(request.epoch), *group.sharing(request.epoch)
    except Refused as refused:
        raise Refused("group", refused)


def check_signature(group, request, packet, found):
    try:
        receiver.check_signature(group, packet, found, request.epoch, plain=True)
    except Refused:
        raise Refused("signature")


def judge(group, label, payload, packets, say=lambda rule: None):
    """Checks rule after rule; raises Refused with the rule that fails. The answer, of a match; of an opening the row."""
    need(label in (OPENING, MATCH), "label")
    kind = 1 if label == OPENING else 2
    try:
        at = Reader(payload)
        request = read_request(at.take(174), kind)
        key, sharing, commitments = check_group(group, request)
        fields = (read_opening if kind == 1 else read_match)(at, group.scheme, sharing)
        row = read_row(at.rest(), group.scheme)
    except Refused as refused:  # what does not decode breaks `layout`
        raise refused if refused.rule == "group" else Refused("layout", refused)
    say("layout"), say("group")
    packet, found, body = find_packet(group, request, packets)
    say("packet")
    check_signature(group, request, packet, found)
    say("signature")
    rest = judge_opening if kind == 1 else judge_match
    return rest(group, request, key, commitments, fields, row, body, say)


def read_opening(at, scheme, sharing):
    """t shares: {index: [decryptions]}"""
    shares, before = {}, 0
    for _ in range(sharing.t):
        i = at.number(1)
        need(before < i <= sharing.n, "layout", "index")
        before = i
        shares[i] = [at.take(112) for _ in range(1 if scheme is xr else 2)]
        for data in shares[i]:
            quorum.decode_decryption(data)
    return shares


def judge_opening(group, request, key, commitments, shares, row, body, say):
    points, hidden = group.scheme.ciphertext(body)
    bases = [base for base, _ in group.scheme.share_bases(key)]
    decrypted = {
        i: [
            check_decryption(data, request.id, i, part + 1, bases[part], commitments[part], points[part])
            for part, data in enumerate(all_)
        ]
        for i, all_ in shares.items()
    }
    say("share")
    check_row(group, row, request.epoch)
    say("register")
    if group.scheme is xr:
        check_device(group, row)
        say("device")
    A = quorum.combine(hidden, decrypted)
    need(pairings_equal(A, key.lift, row.entry.credential, G2), "credential")
    say("credential")
    return row.entry.name[1:].decode()


@dataclass
class Match:
    set: int
    A_X: tuple
    blinds: list
    decryptions: list


def read_match(at, scheme, sharing):
    set_ = at.number(4)
    check_set(set_, sharing)
    size = set_.bit_count()
    A_X = decode_g1(at.take(48))
    match = Match(set_, A_X, [at.take(160) for _ in range(size)], [at.take(112) for _ in range(size)])
    for blind in match.blinds:
        quorum.decode_blind(blind)
    for data in match.decryptions:
        quorum.decode_decryption(data)
    return match


def check_set(set_, sharing):
    """Section 3: at least t, and none above n."""
    need(set_ >> sharing.n == 0 and set_.bit_count() >= sharing.t, "layout", "set")


def match_product(session, set_, T1, Delta, blinds):
    """The rule `blind`, of all of the set: E, F and the context of its decryption."""
    for i, blind in zip(quorum.members(set_), blinds):
        need(quorum.blind_holds(blind, session, i, T1, Delta), "blind", f"trustee {i}")
    opened = [quorum.decode_blind(blind) for blind in blinds]
    E, F = product(*(e for e, _, _ in opened)), product(*(f for _, f, _ in opened))
    need(not is_inf(E), "blind", "E")
    return E, F, quorum.product_context(session, blinds)


def judge_match(group, request, key, commitments, match, row, body, say):
    check_row(group, row, request.epoch)
    need(request.machine == row.leaf, "register", "machine")
    say("register")
    check_device(group, row)
    say("device")
    need(pairings_equal(match.A_X, key.lift, row.entry.credential, G2), "credential")
    say("credential")
    (T1,), T2 = xr.ciphertext(body)
    session, indices = quorum.match_session(request.id, match.set), quorum.members(match.set)
    Delta = powers((T2, 1), (match.A_X, -1))
    need(not is_inf(Delta), "blind", "Delta")
    E, F, context = match_product(session, match.set, T1, Delta, match.blinds)
    say("blind")
    decrypted = {
        i: [check_decryption(data, context, i, 1, key.u, commitments[0], E)]
        for i, data in zip(indices, match.decryptions)
    }
    say("share")
    # 5.4 step 4
    return WAS if is_inf(quorum.combine(F, decrypted)) else WAS_NOT


def revoked_in(group, entry):
    """Section 6: the epoch whose x* fits the entry: e(A_0, w G2^x*) = e(g1_0 C_0, G2)"""
    key = group.key(0)
    start = key.g1 if entry.commitment is None else product(key.g1, entry.commitment)
    for e in range(1, group.last_epoch + 1):
        if group.change(e) == 1:
            x = int.from_bytes(group.records[e][4][:32], "big")
            if pairings_equal(entry.credential, powers((key.w, 1), (G2, x)), start, G2):
                return e
    return None


# Section 3: shares ---------------------------------------------------------------------------------------------------


@dataclass
class Share:
    step: int
    request: Request
    raw_request: bytes
    trustee: int
    set: int = None
    decryptions: list = None
    commitment: bytes = None
    blinds: list = None


def read_share(payload):
    """What does not decode is `damaged`."""
    try:
        at = Reader(payload)
        step, raw = at.number(1), at.take(174)
        request = read_request(raw, 1 if step == 1 else 2)
        share = Share(step, request, raw, at.number(1))
        need(1 <= share.trustee <= 32 and 1 <= step <= 4, "layout")
        if step == 1:
            share.decryptions = [at.take(112) for _ in range(1 if request.scheme is xr else 2)]
        else:
            share.set = at.number(4)
            need(share.trustee in quorum.members(share.set), "layout", "set")
        if step == 2:
            share.commitment = at.take(32)
        if step in (3, 4):
            share.blinds = [at.take(160) for _ in range(1 if step == 3 else share.set.bit_count())]
        if step == 4:
            share.decryptions = [at.take(112)]
        at.end()
        for blind in share.blinds or []:
            quorum.decode_blind(blind)
        for decryption in share.decryptions or []:
            quorum.decode_decryption(decryption)
        return share
    except Refused as refused:
        raise Refused("damaged", refused)


def check_share(group, share, packets, A_X=None, blind=None):
    """That a share is one: what those check who put it together. `A_X` is the credential asked about; `blind` what a
    commitment is said to bind."""
    request, i = share.request, share.trustee
    key, sharing, commitments = check_group(group, request)
    packet, found, body = find_packet(group, request, packets)
    check_signature(group, request, packet, found)
    points, hidden = group.scheme.ciphertext(body)
    bases = [base for base, _ in group.scheme.share_bases(key)]
    if share.step == 1:
        need(i <= sharing.n, "layout", "index")
        for part, data in enumerate(share.decryptions):
            check_decryption(data, request.id, i, part + 1, bases[part], commitments[part], points[part])
        return
    check_set(share.set, sharing)
    session, Delta = quorum.match_session(request.id, share.set), powers((hidden, 1), (A_X, -1))
    need(not is_inf(Delta), "blind", "Delta")
    if share.step == 2:
        need(share.commitment == quorum.blind_commitment(session, i, blind), "blind", f"trustee {i}")
    if share.step == 3:
        need(quorum.blind_holds(share.blinds[0], session, i, points[0], Delta), "blind", f"trustee {i}")
    if share.step == 4:
        E, _, context = match_product(session, share.set, points[0], Delta, share.blinds)
        check_decryption(share.decryptions[0], context, i, 1, key.u, commitments[0], E)


# Section 4: register files -------------------------------------------------------------------------------------------

ROW_MAX = 2 + (4 + 4 + 48 + 65 + 48 + 32 + 64) + 1 + 32 * 32 + 4 + 77 + 64


def read_register_file(data, scheme):
    """Group id, epoch, and lines (row, tag, A)."""
    need(data[:16] == b"clew-register-1\n" and len(data) >= 36, "header")
    group, epoch, at, lines = data[16:32], int.from_bytes(data[32:36], "big"), Reader(data[36:], "truncated"), []
    while at.at < len(at.data):
        length = at.number(4)
        need(length <= ROW_MAX, "too-long")
        row, tag, A = at.take(length), at.take(32), at.take(48)
        try:
            lines.append((read_row(row, scheme), tag, A))
        except Refused as refused:
            raise Refused("layout", refused)
    return group, epoch, lines


def check_register_line(group, epoch, row, A):
    """Nothing in it is believed."""
    check_row(group, row, 2**32)
    if group.scheme is xr:
        check_device(group, row)
    if A != bytes(48):
        try:
            A = decode_g1(A)
        except Refused as refused:
            raise Refused("credential", refused)
        need(pairings_equal(A, group.key(epoch).lift, row.entry.credential, G2), "credential")
