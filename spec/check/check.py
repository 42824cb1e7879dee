#!/usr/bin/env python3
"""The independent verifier. Exit status: 0 holds, 1 does not, 2 undecided or unreadable."""

import argparse
import json
import sys
from collections import Counter, deque
from hashlib import sha256
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from clew_check import bundle, capture, flow_capture, flow_evidence, flow_receiver, group_file, opening, receiver, Refused, register, requested, text, vectors


def load(path):
    return group_file.Group(Path(path).read_bytes())


def verify(args):
    judge, counts, said = receiver.Receiver(load(args.group)), Counter(), deque()

    def tell(is_end):
        """In order: what waits holds up what is behind it."""
        while said and (is_end or not said[0][1].waits):
            number, one = said.popleft()
            counts[one.verdict] += 1
            print(number, one.verdict, one.reason, flush=True)

    try:
        for number, packet in enumerate(capture.packets(Path(args.capture).read_bytes()), 1):
            if args.limit is not None and number > args.limit:
                break
            said.append((number, judge.take(*packet)))
            tell(False)
    except Refused as refused:
        print(f"capture: {refused}", file=sys.stderr)
        counts["undecided"] += 1
    tell(True)
    if counts["invalid"]:
        return 1
    return 0 if counts["valid"] and not counts["undecided"] else 2


def judge(args):
    data = Path(args.evidence).read_bytes()
    if args.capture is None and data.startswith(b"PK"):
        return judge_bundle(args, data)
    if args.capture is None or args.group is None:
        print("unreadable: only a bundle has its own group file and capture")
        return 2
    proofs = None
    if args.request:
        proofs = (Path(args.request).read_bytes(), [(None, Path(each).read_bytes()) for each in args.decision], args.witness)
    return judge_files(Path(args.group).read_bytes(), data, Path(args.capture).read_bytes(), args.device, (), proofs)


def judge_bundle(args, data):
    """Also with a group file from elsewhere, if one is given."""
    try:
        files = bundle.read(data)
        group, packets = bundle.one_of(files, "group.clew"), bundle.one_of(files, "packets.pcap", "packets.pcapng")
        evidence, origin = bundle.one_of(files, "opening.txt", "match.txt"), json.loads(bundle.one_of(files, "origin.json"))
        canonical = json.dumps(origin, separators=(",", ":"), ensure_ascii=False) + "\n"
        good = list(origin) == ["clew", "capture", "sha256", "frames"] and canonical.encode() == files["origin.json"]
        if not good or not bundle.is_version(origin["clew"]) or not bundle.is_capture(origin["capture"]):
            raise Refused("files", "origin.json")
        bundle.check_names(files)
    except (Refused, ValueError, TypeError) as refused:
        print(f"bundle: fails ({refused})")
        return 1
    decisions = [(bundle.decision(name), data) for name, data in files.items() if bundle.decision(name)]
    proofs = (files["request.txt"], decisions, args.witness) if "request.txt" in files else None
    status = judge_files(group, evidence, packets, args.device, (files.get("warrant.txt"),), proofs)
    if status == 0 and args.group is not None:
        print("with the other group file:")
        status = judge_files(Path(args.group).read_bytes(), evidence, packets, args.device)
    print("the reports were not compared: this program writes none")
    return status


def judge_files(group, evidence, captured, device, warrant=(), proofs=None):
    """`warrant`: nothing, or the one that a bundle has, or None. `proofs`: of the request, of decisions, each with the
    trustee that its name says or None; witnesses."""
    try:
        group = group_file.Group(group)
        group.check_epochs()
        packets = list(capture.packets(captured))
        label, payload = text.read(evidence)
        if label not in (opening.OPENING, opening.MATCH):
            raise Refused("label", label)
    except (Refused, OSError) as refused:
        print(f"unreadable: {refused}")
        return 2
    try:
        found = opening.judge(group, label, payload, packets, lambda rule: print(f"{rule}: holds"), device)
    except Refused as refused:
        print(f"{refused.rule}: fails{f' ({refused.where})' if refused.where is not None else ''}")
        return 2 if opening.cannot_tell(refused) else 1
    if found.asked is None:
        print("unreadable: the packet that was asked about is not in the capture")
        return 2
    for each in warrant:
        if payload[134:166] != (sha256(each).digest() if each is not None else bytes(32)):
            print("warrant-pin: fails")
            return 1
    if proofs is not None:
        filed, decisions, witnesses = proofs
        need_of = len(witnesses) // 2 + 1 if witnesses else 0
        try:
            said = [data for _, data in decisions]
            place, logged, trustees = requested.judge(group, payload[:206], filed, said, witnesses, need_of)
            if any(named not in (None, trustee) for (named, _), trustee in zip(decisions, trustees)):
                raise Refused("files", "a decision of another trustee")
        except Refused as refused:
            print(f"{refused.rule}: fails{f' ({refused.where})' if refused.where is not None else ''}")
            return 1
        print(f"request: entry {place} of the log, added {logged}, approved by {' '.join(map(str, trustees)) or 'nobody shown'}")
        needed = group.sharing(int.from_bytes(payload[34:38], "big"))[0].t
        found.caveats = opening.caveats_of_request(found.caveats, trustees, needed)
    print(f"the {'opening' if label == opening.OPENING else 'match'} holds: {found.answer}")
    tell_judgement(group, found)
    return 0


HOW = {register.ON_ISSUER: "on the issuer's host", register.ON_DEVICE: "from its own host", register.ATTESTED: "with an attested key"}


def tell_judgement(group, found):
    """What belongs to it."""
    entry = found.row.entry
    print(f"machine: {entry.name[1:].decode()}, row {entry.index}, joined {HOW[entry.how]}")
    if entry.device_key:
        print(f"device key: {register.fingerprint(entry.device_key)}")
    print(f"packets: {' '.join(map(str, found.packets))}, asked about: {found.asked}")
    for name, epoch in found.caveats:
        print(f"caveat: {name}{f' {epoch}' if epoch is not None else ''}")


def group(args):
    try:
        found = load(args.group)
        found.check_all()
    except Refused as refused:
        print(refused)
        return 1
    scheme = found.scheme.__name__.rpartition(".")[2]
    print(f"group {found.id.hex()} ({found.name[1:].decode()}), {scheme}, epochs 0 to {found.last_epoch}: all rules hold")
    for e in range(found.last_epoch + 1):
        sharing, _ = found.sharing(e)
        origin = ("dealt", "distributed")[sharing.origin - 1]
        print(f"  epoch {e} {group_file.short_id(found.epoch_ids[e])}, starts {found.start(e)}: any {sharing.t} of {sharing.n} trustees open, {origin}")
    return 0


def flows(args):
    return [flow_evidence.descriptor(Path(path).read_bytes()) for path in args.flow or []]


def flow_verify(args):
    data, counts = Path(args.input).read_bytes(), Counter()
    if data.startswith(flow_evidence.FILE):
        try:
            print(f"whole: {len(flow_evidence.file(data, flows(args)))} bytes")
        except Refused as refused:
            print(f"not whole: {refused}")
            return 1
        return 0
    if args.manifest:
        judged = flow_capture.judge_listed(data, flows(args), Path(args.manifest).read_bytes(), args.assurance)
    else:
        judged = flow_capture.judge(data, flows(args), args.assurance)
    for number, reason in judged:
        verdict = flow_receiver.verdict_of(reason)
        counts[verdict] += 1
        print(number, verdict, reason)
    if counts["invalid"]:
        return 1
    return 0 if counts["valid"] and not counts["undecided"] else 2


def flow_proof(args):
    try:
        found, packet = flow_evidence.proof(Path(args.proof).read_bytes(), *flows(args))
    except Refused as refused:
        print(f"does not hold: {refused}")
        return 1
    print(f"holds: {len(packet)} bytes, of the flow {found.digest.hex()} ({found.name})")
    return 0


def main(words):
    """Answers the words of a command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("verify", help="every packet's verdict and reason")
    command.add_argument("--group", required=True)
    command.add_argument("--limit", type=int)
    command.add_argument("capture")
    command.set_defaults(run=verify)
    command = commands.add_parser("judge", help="does an opening, a match or a bundle hold?")
    command.add_argument("--group", help="required unless a bundle is judged")
    command.add_argument("--device", help="the fingerprint of the device key that is expected")
    command.add_argument("--request", help="the log's proof of the request")
    command.add_argument("--decision", action="append", default=[], help="the log's proof of a trustee's decision (repeatable)")
    command.add_argument("--witness", action="append", default=[], help="key of a witness that has to have cosigned (repeatable)")
    command.add_argument("evidence")
    command.add_argument("capture", nargs="?")
    command.set_defaults(run=judge)
    command = commands.add_parser("group", help="all rules of a group file")
    command.add_argument("group")
    command.set_defaults(run=group)
    command = commands.add_parser("flow-verify", help="every datagram's verdict and reason, or whether a signed file is whole")
    command.add_argument("--flow", action="append", required=True)
    command.add_argument("--manifest")
    command.add_argument("--assurance", type=int, default=256, help="bits to which signatures are verified, if they have levels")
    command.add_argument("input")
    command.set_defaults(run=flow_verify)
    command = commands.add_parser("flow-proof", help="does the proof of a packet hold?")
    command.add_argument("--flow", nargs=1)
    command.add_argument("proof")
    command.set_defaults(run=flow_proof)
    command = commands.add_parser("vectors", help="the test vectors in a folder")
    command.add_argument("folder", type=Path)
    command.set_defaults(run=lambda args: 0 if vectors.run(args.folder) else 1)
    args = parser.parse_args(words)
    try:
        return args.run(args)
    except (Refused, OSError) as e:
        print(f"unreadable: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
