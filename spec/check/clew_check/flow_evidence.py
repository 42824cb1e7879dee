"""flow-signature.md sections 2, 8 and 9: descriptor files, proofs and signed files."""

from . import flow, flow_manifest, need, Reader, Refused, text
from .flow_receiver import Receiver

LABEL, PROOF, FILE = "clew-flow-1", b"clew-flow-proof1", b"clew-flow-file1\n"
LONGEST = 131_072


def descriptor(data):
    """Of a file."""
    label, payload = text.read(data)
    need(label == LABEL, "label")
    return flow.Descriptor(payload)


def proof(data, given=None):
    """Section 8: the descriptor, which is the one that was given, and the packet, of a proof that holds."""
    rule = "bad-proof"
    need(len(data) <= LONGEST, rule)
    fields = Reader(data, rule)
    need(fields.take(len(PROOF)) == PROOF, rule)
    own = fields.take(fields.number(2))
    try:
        named = flow.Descriptor(own)
        need(given is None or given.digest == named.digest, "another flow")
        return named, signed(fields.rest(), {named.key_id: named})
    except Refused as refused:
        raise Refused(rule, refused.rule)


def signed(data, descriptors):
    """The packet of a proof, if it is valid by itself."""
    found, _ = flow.read_fixed(data, descriptors)
    if found.carriage == flow_manifest.MANIFEST:
        return flow_manifest.full_form(data, descriptors)
    found = flow.read(data, descriptors)
    need(found.carriage == flow.FULL, "carriage")
    found.descriptor.check(found, found.root(), found.blob)
    return found.packet


def file(data, descriptors):
    """Section 9: the bytes of a signed file that is whole."""
    fields = Reader(data, "bad-file")
    need(fields.take(len(FILE)) == FILE, "bad-file")
    receiver, out, sequences, ended = Receiver(descriptors), b"", set(), False
    while fields.at < len(data):
        need(not ended, "bad-file", "end")
        length = fields.number(4)
        need(length <= LONGEST, "bad-file", "length")
        signed = fields.take(length)
        need(receiver.judge(signed) == "ok", "bad-file", receiver.reasons[-1])
        found = flow.read(signed, receiver.descriptors)
        sequences.add(found.sequence)
        need(len(sequences) == 1, "bad-file", "sequence")
        need(found.packet[:8] == len(out).to_bytes(8, "big"), "bad-file", "place")
        out, ended = out + found.packet[8:], len(found.packet) == 8
    need(ended, "bad-file", "no end")
    return out
