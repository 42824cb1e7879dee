"""key-file.md 4: what a device checks of the files of its join, and what it answers."""

from . import join, key_file, need, Reader, Refused, register, text, xr
from .curve import *
from .group_file import read_name

JOINING = "clew-joining-1"
OWN_HOST = b"\2"
OFFER, ANSWER = 32 + 4 + 32 + 1 + 4 + join.OFFER, 32 + 64 + 64  # key-file.md 4


class Joining:
    """The state that this implementation of the device keeps: invitation, y', seed, request; and the offer that it accepted, with its answer."""

    def __init__(self, data):
        at = Reader(key_file.open_text(data, JOINING))
        start = at.at
        self.group, self.nonce, self.name = at.take(16), at.take(32), read_name(at)
        at.take(64)
        self.invitation = at.data[start : at.at]
        self.y, self.seed = decode_secret(at.take(32)), at.take(32)
        self.request_nonce, self.device_key, self.request = at.take(32), at.take(32), at.take(join.REQUEST)
        self.offer, self.answer = (at.take(OFFER), at.take(ANSWER)) if at.number(1) else (None, None)
        at.end()


def check_invitation(group, fields):
    need(group.scheme is xr, "no-join")
    need(fields["group"] == group.id, "other-group")
    key_file.check_invitation(fields, group.manager)


def check_state(group, joining, nonce):
    name = joining.name[1:]
    signature = joining.invitation[-64:]
    check_invitation(group, {"group": joining.group, "nonce": joining.nonce, "machine": name, "signature": signature})
    need(nonce == joining.nonce, "other-join")


def check_history(group, joined, epoch_id):
    """The group file has the epoch of an offer, with the same history."""
    joined = int.from_bytes(joined, "big")
    need(joined <= group.last_epoch, "no-such-epoch", joined)
    need(group.epoch_ids[joined] == epoch_id, "other-history", joined)
    return joined


def accept(group, joining, offer, payload):
    """The text that the device vouches for, and its y."""
    check_state(group, joining, offer["nonce"])
    need(offer["how"] == OWN_HOST, "how")
    need(joining.offer in (None, payload), "other-offer")
    joined = check_history(group, offer["joined"], offer["epoch-id"])
    try:
        A, x, y = join.accept(group.key(0), joining.y, offer["offer"])
    except Refused as refused:
        raise Refused("join", refused)
    parts = encode(power(group.key(0).h0, y)), encode(A), joining.device_key, joining.name
    numbers = joined, offer["how"][0], int.from_bytes(offer["replaces"], "big")
    return register.device_text(group.id, *numbers, *parts), y


def finish(group, joining, credential):
    """The payload of the member key file."""
    check_state(group, joining, credential["nonce"])
    need(joining.offer is not None, "no-offer")
    check_history(group, joining.offer[32:36], joining.offer[36:68])
    A, x, y = join.accept(group.key(0), joining.y, joining.offer[-join.OFFER :])
    out = b"\2" + group.id + group.nonce + joining.name + credential["index"]
    out += encode(A) + encode_scalar(x) + encode_scalar(y) + joining.seed
    held = [(int.from_bytes(e, "big"), W) for e, W in zip(credential["epoch"], credential["witness"])]
    for e, _ in held:
        need(e <= group.last_epoch, "no-such-epoch", e)
    out += bytes([len(held)])
    for e, W in held:
        try:
            xr.check_witness(group.key(e), decode_g1(W), x)
        except Refused as refused:
            raise Refused("witness", refused)
        key = group.key(e)
        out += e.to_bytes(4, "big") + group.epoch_ids[e] + group.start(e).to_bytes(8, "big")
        out += key.encode() + encode(key.v) + W
    return out
