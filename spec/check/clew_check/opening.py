"""opening.md: requests, shares, and `judge` over openings and matches."""

from dataclasses import dataclass

from . import need, quorum, Reader, receiver, Refused, xr
from .curve import *
from .group_file import SCHEMES
from .register import check_device, check_names, check_row, fingerprint, NOTHING_REPLACED, ON_ISSUER, read_row, Row
from .trailer import asked, message, TREE

REQUEST = 206
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
    asked: bytes
    warrant: bytes
    machine: bytes
    id: bytes


def read_request(data, kind):
    at = Reader(data)
    need(at.take(16) == b"clew-request-1\0\0" and at.number(1) == kind, "layout", "request")
    scheme = SCHEMES.get(at.number(1))
    need(scheme is xr or (kind == 1 and scheme), "layout", "scheme")
    request = Request(kind, scheme, at.take(16), at.number(4), *(at.take(32) for _ in range(5)), hash_of(data))
    at.take(8)  # place in the log
    need(kind == 2 or request.machine == bytes(32), "layout", "request")
    at.end()
    return request


def packet_digest(M, body):
    """Section 2; `body` in its plain form."""
    return hash_of(D("clew-packet-digest-1"), hash_of(M), body)


# Sections 6 and 7: judge ---------------------------------------------------------------------------------------------


def find_packet(group, request, packets, only_asked=False):
    """The rule `packet`: a signed packet of that digest, with the group, scheme and epoch of the request. Of a block any
    packet will do for a judge; a trustee has to see the one that was asked about."""
    where = None
    for packet, found in receiver.in_full(packets):
        if is_of(group, request, found) and digest_of(group, packet, found) == request.packet:
            if asked(packet, found) == request.asked or (found.mode == TREE and not only_asked):
                return packet, found, found.body[: group.scheme.SIGNATURE]
            where = None if found.mode == TREE else "asked"  # it is there, and the request contradicts itself
    raise Refused("packet", where)


def cannot_tell(refused):
    """Without the packet, or with a group file that is older than the epoch or the row, there is no judgement."""
    return refused.where == "newer" or (refused.rule, refused.where) == ("packet", None)


def is_of(group, request, found):
    return found.group == group.id[:8] and SCHEMES[found.scheme] is group.scheme and found.epoch == request.epoch


def digest_of(group, packet, found):
    return packet_digest(message(packet, found), found.body[: group.scheme.SIGNATURE])


def covered(M, request, packets):
    """The numbers of the packets that the signature covers, and of the one that was asked about (or None)."""
    numbers, asked_for = [], None
    for number, packet, found in receiver.wholes(packets):
        if message(packet, found) == M:
            numbers.append(number)
            if asked_for is None and asked(packet, found) == request.asked:
                asked_for = number
    return numbers, asked_for


def check_decryption(data, context, i, part, B, commitments, P):
    need(quorum.decryption_holds(data, context, i, part, B, quorum.share_key(commitments, i), P), "share", f"trustee {i}")
    return quorum.decode_decryption(data)[0]


def check_group(group, request):
    """The rule `group`: the public key of the epoch, which descends from epoch 0, the sharing in force, and its commitments."""
    need(request.group == group.id and request.scheme is group.scheme, "group")
    need(request.epoch <= group.last_epoch, "group", "newer")
    need(group.epoch_ids[request.epoch] == request.epoch_id, "group")
    need(group.has_key(request.epoch), "group", "the group ended")
    try:
        group.check_epochs()
        return group.key(request.epoch), *group.sharing(request.epoch)
    except Refused as refused:
        raise Refused("group", refused)


def check_signature(group, request, packet, found):
    try:
        receiver.check_signature(group, packet, found, request.epoch, plain=True)
    except Refused:
        raise Refused("signature")


@dataclass
class Judgement:
    """What evidence says that holds: the machine, or the answer of a match; and what is to be said beside it."""

    answer: str
    row: Row
    caveats: list  # (stable name, epoch or None)
    packets: list  # numbers of those that the signature covers
    asked: int  # the number of the one that was asked about, or None
    x: int  # of the row; None with bbs04


def judge(group, label, payload, packets, say=lambda rule: None, device=None):
    """Checks rule after rule; raises Refused with the rule that fails. `device`: the fingerprint that is expected."""
    need(label in (OPENING, MATCH), "label")
    kind = 1 if label == OPENING else 2
    try:
        at = Reader(payload)
        request = read_request(at.take(REQUEST), kind)
        key, sharing, commitments = check_group(group, request)
        fields = (read_opening if kind == 1 else read_match)(at, group.scheme, sharing)
        need(at.number(2) == 0, "layout", "anchor")
        row = read_row(at.rest(), group.scheme)
    except Refused as refused:  # what does not decode breaks `layout`
        raise refused if refused.rule == "group" else Refused("layout", refused)
    say("layout"), say("group")
    need(row.machines <= group.register.machines, "register", "newer")
    packet, found, body = find_packet(group, request, packets)
    say("packet")
    check_signature(group, request, packet, found)
    say("signature")
    rest = judge_opening if kind == 1 else judge_match
    answer = rest(group, request, key, commitments, fields, row, body, say)
    if device is not None:
        need(row.entry.device_key and fingerprint(row.entry.device_key) == device, "device-pin")
    said = caveats(group, request.epoch, row.entry, fields.x, answer != WAS_NOT)
    return Judgement(answer, row, said, *covered(message(packet, found), request, packets), fields.x)


def caveats(group, epoch, entry, x, is_signer=True):
    """Section 8: what the evidence does not say. Of a machine that did not sign, nothing is said as of a signer."""
    revoked = group.revoked_in(entry.index, x)
    of_signer = [
        ("issuer-could-sign", None, group.scheme is not xr),
        ("joined-on-issuer-host", None, entry.how == ON_ISSUER),
        ("joined-later", entry.joined, entry.joined > epoch),
        ("revoked-later", revoked, revoked is not None and revoked > epoch),
        ("revoked-before", revoked, revoked is not None and revoked <= epoch),
    ]
    out = of_signer[:1] + [("trusted-dealer", None, group.sharing(epoch)[0].origin == 1)] + of_signer[1:]
    stolen = group.stolen()
    out += [("keys-stolen", stolen, stolen is not None)]
    has_log, gone = False, None
    for since, log in group.logs():
        gone = None if log else since if has_log and gone is None else gone
        has_log = has_log or log is not None
    out += [("not-anchored", None, True), ("log-given-up", gone, gone is not None)]
    out += [("not-requested", None, has_log), ("name-reissued", None, entry.replaces != NOTHING_REPLACED)]
    return [(name, e) for name, e, holds in out if holds and (is_signer or (name, e, holds) not in of_signer)]


def caveats_of_request(said, trustees, needed):
    """Section 10: what is said once the proof of the request holds, with the yes of these trustees."""
    said = [each for each in said if each[0] not in ("log-given-up", "not-requested")]
    if len(set(trustees)) < needed:
        at = next((i for i, (name, _) in enumerate(said) if name == "name-reissued"), len(said))
        said.insert(at, ("not-decided", None))
    return said


@dataclass
class Opening:
    shares: dict  # {index: [decryptions]}
    x: int = None


def read_opening(at, scheme, sharing):
    """t shares, and x"""
    shares, before = {}, 0
    for _ in range(sharing.t):
        i = at.number(1)
        need(before < i <= sharing.n, "layout", "index")
        before = i
        shares[i] = [at.take(112) for _ in range(1 if scheme is xr else 2)]
        for data in shares[i]:
            quorum.decode_decryption(data)
    return Opening(shares, decode_secret(at.take(32)) if scheme is xr else None)


def judge_opening(group, request, key, commitments, opening, row, body, say):
    points, hidden = group.scheme.ciphertext(body)
    bases = [base for base, _ in group.scheme.share_bases(key)]
    decrypted = {
        i: [
            check_decryption(data, request.id, i, part + 1, bases[part], commitments[part], points[part])
            for part, data in enumerate(all_)
        ]
        for i, all_ in opening.shares.items()
    }
    say("share")
    check_machine(group, row, say)
    check_names(group, key, row, quorum.combine(hidden, decrypted), opening.x)
    say("credential"), say("signer")
    return row.entry.name[1:].decode()


def check_machine(group, row, say):
    check_row(group, row)
    say("register")
    if group.scheme is xr:
        check_device(group, row)
        say("device")


@dataclass
class Match:
    set: int
    B_X: Point
    x: int
    blinds: list
    decryptions: list


def read_match(at, scheme, sharing):
    set_ = at.number(4)
    check_set(set_, sharing)
    size = set_.bit_count()
    B_X, x = decode_g1(at.take(48)), decode_secret(at.take(32))
    match = Match(set_, B_X, x, [at.take(160) for _ in range(size)], [at.take(112) for _ in range(size)])
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
    need(request.machine == row.leaf, "register", "machine")
    check_machine(group, row, say)
    check_names(group, key, row, match.B_X, match.x)
    say("credential"), say("signer")
    (T1,), T2 = xr.ciphertext(body)
    session, indices = quorum.match_session(request.id, match.set), quorum.members(match.set)
    Delta = powers((T2, 1), (match.B_X, -1))
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
        step, raw = at.number(1), at.take(REQUEST)
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


def check_share(group, share, packets, B_X=None, blind=None):
    """That a share is one: what those check who put it together. `B_X` is what the machine asked about would have
    signed with; `blind` what a commitment is said to bind."""
    request, i = share.request, share.trustee
    key, sharing, commitments = check_group(group, request)
    packet, found, body = find_packet(group, request, packets, only_asked=True)
    check_signature(group, request, packet, found)
    points, hidden = group.scheme.ciphertext(body)
    bases = [base for base, _ in group.scheme.share_bases(key)]
    if share.step == 1:
        need(i <= sharing.n, "layout", "index")
        for part, data in enumerate(share.decryptions):
            check_decryption(data, request.id, i, part + 1, bases[part], commitments[part], points[part])
        return
    check_set(share.set, sharing)
    session, Delta = quorum.match_session(request.id, share.set), powers((hidden, 1), (B_X, -1))
    need(not is_inf(Delta), "blind", "Delta")
    if share.step == 2:
        need(share.commitment == quorum.blind_commitment(session, i, blind), "blind", f"trustee {i}")
    if share.step == 3:
        need(quorum.blind_holds(share.blinds[0], session, i, points[0], Delta), "blind", f"trustee {i}")
    if share.step == 4:
        E, _, context = match_product(session, share.set, points[0], Delta, share.blinds)
        check_decryption(share.decryptions[0], context, i, 1, key.u, commitments[0], E)
