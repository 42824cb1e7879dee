"""The UDP datagrams of a capture, judged by flow-signature.md."""

from . import capture, datagram, flow, flow_manifest, need, Refused, trailer
from .flow_manifest import ManifestReceiver
from .flow_receiver import Receiver


def payload(data, wire, link_type):
    """What the application sent in the frame's outermost datagram; none if that is not one whole UDP datagram."""
    try:
        found = datagram.read(datagram.Frame(data, wire), link_type)
    except Refused:
        return None
    whole = found.protocol == trailer.UDP and found.upper[4:6] == len(found.upper).to_bytes(2, "big")
    return found.upper[8:] if whole and len(found.upper) >= 8 else None


def datagrams(data):
    """Number, payload and time of each."""
    for number, (frame, wire, link_type, time) in enumerate(capture.packets(data), 1):
        found = payload(frame, wire, link_type)
        if found is not None:
            yield number, found, time


def judge(data, descriptors, bits=flow.ALL):
    """Number and reason of each datagram, in their order, when all have come."""
    receiver, numbers = Receiver(descriptors, bits=bits), []
    for number, found, time in datagrams(data):
        numbers.append(number)
        receiver.judge(flow.from_rtp(found), time)
    reasons = ("no-signature" if reason == "pending" else reason for reason in receiver.reasons)
    return list(zip(numbers, reasons, strict=True))


def judge_listed(data, descriptors, sidecar, bits=flow.ALL):
    """The same by a file of manifests, whose times are not looked at."""
    receiver, numbers = ManifestReceiver(descriptors, bits=bits), []
    for manifest in flow_manifest.manifests(sidecar):
        need(receiver.judge_manifest(manifest) == "ok", "manifest", receiver.reasons[-1])
    manifests = len(receiver.reasons)
    for number, found, _ in datagrams(data):
        numbers.append(number)
        receiver.judge(found)
    receiver.end()
    return list(zip(numbers, receiver.reasons[manifests:], strict=True))
