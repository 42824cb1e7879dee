"""The cases of spec/vectors/flow-signature.jsonl and flow-manifest.jsonl."""

from . import carriage, flow, flow_evidence, flow_manifest, need
from .cases import equal
from .flow_manifest import ManifestReceiver
from .flow_receiver import Receiver


def descriptors(case):
    return [flow.Descriptor(data) for data in case.all("descriptor")]


def descriptor(case):
    found = flow.Descriptor(case.one("descriptor", b""))
    equal(found.digest, case.one("digest"), "digest")
    equal(found.key_id, case.one("key-id"), "key id")


def packets(case):
    """The first reason that is not `ok`, when all have come, is the case's."""
    receiver = Receiver(descriptors(case), "untagged" in case, bits=case.one("assurance", flow.ALL))
    times, received = case.all("time"), case.all("packet")
    for number, packet in enumerate(received):
        receiver.judge(packet, int.from_bytes(times[number % len(times)], "big"))
    if "content" in case:
        block(case, [flow.read(packet, receiver.descriptors, True) for packet in received])
    told(case, receiver)


def told(case, receiver):
    equal(receiver.reasons, case.all("reason"), f"reasons {receiver.reasons},")
    for reason in receiver.reasons:
        need(reason == "ok", reason)


def manifests(case):
    receiver, times = ManifestReceiver(descriptors(case)), case.all("time")
    for number, (kind, data) in enumerate(zip(case.all("kind"), case.all("received"), strict=True)):
        judge = {"manifest": receiver.judge_manifest, "packet": receiver.judge}[kind]
        judge(data, int.from_bytes(times[number % len(times)], "big"))
    if "message" in case:
        found = flow_manifest.read(case.one("received"), receiver.descriptors)
        equal([found.message(), found.blob], [case.one("message"), case.one("blob")], "message")
        listed = [flow_manifest.digest(found.found.descriptor, packet) for packet in case.all("content")]
        equal(found.digests, listed, "digests")
    if "end" in case:
        receiver.end()
    told(case, receiver)


def block(case, all_found):
    """The packets of a block are made of its contents; the secret is not used, for verifiers do not sign."""
    contents, blob = case.all("content"), case.one("blob")
    salts = case.all("salt") or [b""] * len(contents)
    first = all_found[0]
    root, paths = first.descriptor.tree(first).build([s + c for s, c in zip(salts, contents, strict=True)])
    equal(root, case.one("root"), "root")
    equal(first.descriptor.message(first, root, blob), case.one("message"), "message")
    equal(blob[: flow.TIMESTAMP], case.one("timestamp"), "timestamp")
    for found in all_found:
        i = found.index
        equal([found.tag, found.seq, found.id], [case.one("tag"), case.one("seq"), case.one("id")], "place")
        equal([found.packet, found.salt, found.path], [contents[i], salts[i], paths[i]], f"packet {i}")
        if found.coded:
            coded(case, found, blob)
        else:
            full = i % case.one("one-in", 1) == 0
            equal([found.carriage, found.blob], [flow.FULL, blob] if full else [flow.SPARSE, b""], "carriage")


def coded(case, found, blob):
    equal(found.needed, max(flow.LEAST_NEEDED, carriage.needed(case.one("percent"), found.count)), "k")
    shares, size = found.code().shares(blob), case.one("tag-size")
    equal(flow.TAG_SIZES[found.carriage], size, "tag size")
    tags = carriage.Tags(found.id, found.code(), size).tree(shares)[1] if size else [b""] * found.count
    equal([found.share, found.share_tag], [shares[found.index], tags[found.index]], "share")


def rtp(case):
    equal(flow.from_rtp(case.one("received")), case.one("signed"), "signed packet")


def proof(case):
    descriptor, packet = flow_evidence.proof(case.one("proof"))
    equal(descriptor.data, case.one("descriptor"), "descriptor")
    equal(packet, case.one("content"), "content")


def file(case):
    equal(flow_evidence.file(case.one("file"), descriptors(case)), case.one("content"), "content")


CHECKS = {"descriptor": descriptor, "packets": packets, "manifests": manifests, "rtp": rtp, "proof": proof, "file": file}
