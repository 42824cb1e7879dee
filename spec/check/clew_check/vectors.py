"""The cases of spec/vectors (format: its README.md) against this package."""

from collections import Counter
from functools import cache

from . import carriers, datagram, group_file, merkle, need, opening_key, receiver, Refused, trailer, vectors_carriage, vectors_effs, vectors_flow, vectors_opening, vectors_quorum, vectors_signature, vectors_tunnel, warrant
from .cases import equal, read
from .curve import encode, encode_scalar


def group_signature(case):
    check = case.one("check")
    if check in vectors_quorum.CHECKS:
        vectors_quorum.CHECKS[check](case)
    else:
        vectors_signature.CHECKS[check.removeprefix("xr-")](case)


group_cases, parsed_group = cache(read), cache(group_file.Group)


def group_of(case):
    return parsed_group(group_cases(case.path.with_name("group-file.jsonl"))[case.one("group-file")].one("file"))


def packet_trailer(case):
    judge = receiver.Receiver(group_of(case), case.one("receiver-start"))
    link_type, time = case.one("link-type"), case.one("time")
    for frame in case.get("earlier-frame", []):
        equal(judge.judge(frame, len(frame), link_type, time)[1] in ("ok", "too-few-shares"), True, "earlier frame")
    frame, wire = case.one("frame"), case.one("wire-length")
    if "message" in case:
        packet, found = receiver.read(frame, wire, link_type)
        equal(trailer.message(packet, found), case.one("message"), "message")
        if "fields" in case:
            equal(trailer.nonvolatile(packet, found), case.one("fields"), "fields")
    if "full" in case:
        packets = [(data, len(data), link_type, time) for data in [*case.all("earlier-frame"), frame]]
        _, restored = next(receiver.in_full(packets))
        whole, full = receiver.read(case.one("full"), len(case.one("full")), link_type)
        equal((full.carriage, full.body), (trailer.FULL, restored.body), "full form")
        equal(trailer.message(whole, full), case.one("message"), "message of the full form")
    verdict, reason = judge.judge(frame, wire, link_type, time)
    equal(verdict, case.one("verdict"), f"verdict, {reason},")
    need(reason == "ok", reason)


def carriers_(case):
    judge = receiver.Receiver(group_of(case), case.one("receiver-start"))
    link_type, time, fragments, said = case.one("link-type"), case.one("time"), carriers.Fragments(receiver.Said), None
    frame, wire, earlier = case.one("frame"), case.one("wire-length"), case.get("earlier-frame", [])
    times = case.get("earlier-time", [time.to_bytes(8, "big")] * len(earlier))
    times = [int.from_bytes(one, "big") for one in times]
    for data, at in zip(earlier, times):
        judge.take(data, len(data), link_type, at)
    said = judge.take(frame, wire, link_type, time)
    equal(said.verdict, case.one("verdict"), f"verdict, {said.reason},")
    need(said.reason == "ok", said.reason)
    if "message" not in case:
        return
    outer, whole = datagram.read(datagram.Frame(frame, wire), link_type), None
    for data in [*earlier, frame]:
        found = receiver.fragment_of(data, len(data), link_type)
        try:
            whole = fragments.take(found[1], time)[2] if found else None
        except Refused:
            pass
    packet, found = carriers.read(outer, whole or carriers.payload_of(outer))
    equal(trailer.message(packet, found), case.one("message"), "message")
    equal(carriers.delivered(packet), case.one("packet"), "packet")
    if "datagram" in case:
        equal(carriers.payload_of(outer), case.one("datagram"), "datagram")
        name = {2: "udp-tunnel", 3: "udp-transport"}[found.carrier]
        equal(name, case.one("carrier"), "carrier")
    if "full" in case:
        full, alone = receiver.read(case.one("full"), len(case.one("full")), link_type)
        equal(trailer.message(full, alone), case.one("message"), "message of the full form")
        equal(alone.carriage, trailer.FULL, "carriage of the full form")
        alone = receiver.Receiver(group_of(case)).judge(case.one("full"), len(case.one("full")), link_type, time)
        equal(alone, ("valid", "ok"), "the full form alone")


def group_file_(case):
    try:
        group = group_file.Group(case.one("file", b""))
        group.check_all()
    except Refused as refused:
        # of a key or sharing, with what is wrong behind a colon
        equal(int(str(refused.where or 0).partition(":")[0]), case.one("part"), f"part of {refused}")
        raise
    epochs = range(group.last_epoch + 1)
    equal(group.id, case.one("id"), "id")
    equal(group.scheme.CODE, case.one("scheme"), "scheme")
    equal(group.manager, case.one("manager"), "manager")
    equal(group.name[1:].decode(), case.one("name"), "name")
    equal([group.key(e).encode() for e in epochs], case.all("founding-key"), "founding keys")
    equal([encode(group.key(e).v) for e in epochs], case.all("v"), "V")
    equal(group.epoch_ids, case.all("epoch-id"), "epoch ids")
    equal([group_file.short_id(id) for id in group.epoch_ids], case.all("short-id"), "short forms of epoch ids")
    equal([record.made.to_bytes(8, "big") for record in group.records[1:]], case.all("made"), "made")
    equal([group.start(e).to_bytes(8, "big") for e in epochs[1:]], case.all("start"), "effective starts")
    equal([sharing_bytes(*group.sharing(e)) for e in epochs], case.all("sharing"), "sharings")
    equal([head.machines.to_bytes(4, "big") for head in group.checkpoints], case.all("checkpoint"), "checkpoints")
    bound = [machines.to_bytes(4, "big") + root for machines, root in (record.size for record in group.records[1:])]
    equal(bound, case.all("bound"), "registers of records")
    logs = [log.vkey() if log else "none" for log in map(group.log_at, epochs)]
    equal(logs, case.get("log", ["none"] * len(epochs)), "logs")
    entries = case.all("entry")
    equal(group.register.machines, case.one("machines"), "machines")
    equal(len(entries), case.one("machines"), "entries")
    equal(group.register.root, case.one("root"), "root")
    for head in [*group.checkpoints, group.register]:
        equal(head.root, merkle.tree_hash(entries[: head.machines]), "tree hash")


def sharing_bytes(sharing, lists):
    """Origin, t, n and all commitments, from the first, of each secret."""
    points = b"".join(encode(C) for commitments in lists for C in commitments)
    return bytes([sharing.origin, sharing.t, sharing.n]) + points


def opening_(case):
    vectors_opening.CHECKS[case.one("check")](case, group_of(case))


def key_file_(case):
    vectors_opening.key_file_(case, group_of(case) if "group-file" in case else None)


def flow_carriage(case):
    vectors_carriage.CHECKS[case.one("check")](case)


def effs(case):
    vectors_effs.CHECKS[case.one("check")](case)


def flow_signature(case):
    vectors_flow.CHECKS[case.one("check")](case)


def tunnel(case):
    vectors_tunnel.CHECKS[case.one("check")](case)


def opening_key_(case):
    plan, state = opening_key.Plan(case.one("plan")), opening_key.State(case.one("state"))
    deals = [opening_key.Deal(data) for data in case.all("deal")]
    commitments, share = opening_key.receive(plan, state, deals)
    run = opening_key.context(plan, deals[0].list)
    equal(plan.id, case.one("plan-id"), "plan id")
    equal(run, case.one("context"), "context")
    equal(opening_key.check_code(run), case.one("check-code"), "check code")
    equal([encode(C) for C in commitments], case.all("commitment"), "commitments")
    equal(bytes([plan.origin]), case.one("origin"), "origin")
    equal(encode_scalar(share), case.one("share"), "share")


def warrant_(case):
    read = warrant.read("\n".join(case.all("line")).encode())
    if "asked-time" in case:
        asked = (case.one(name) for name in ("asked-group", "asked-asks", "asked-digest", "asked-machine"))
        read.check_request(*asked)
        read.check_time(int.from_bytes(case.one("asked-time"), "big"))
        return
    times = [time.to_bytes(8, "big") for time in (read.issued, read.expires)]
    equal(times, [case.one("issued"), case.one("expires")], "times")
    for name in ("group", "asks", "nonce", "reference", "requester", "encryption", "issuer"):
        equal(getattr(read, name), case.one(name), name)
    equal((read.requester_name, read.issuer_name), (case.one("requester-name"), case.one("issuer-name")), "names")
    equal([read.machine] if read.machine else [], case.all("machine"), "machine")
    equal(read.digests, case.all("digest"), "digests")


FORMATS = {
    "group-signature": group_signature, "packet-trailer": packet_trailer, "carriers": carriers_, "group-file": group_file_, "opening": opening_,
    "key-file": key_file_, "flow-carriage": flow_carriage, "effs": effs,
    "warrant": warrant_, "opening-key": opening_key_, "flow-signature": flow_signature, "flow-manifest": flow_signature, "tunnel": tunnel,
}  # fmt: skip


def blamed(refused):
    """The trustee that is named."""
    word, _, index = str(refused.where).partition(" ")
    return int(index) if word == "trustee" else None


def run(folder):
    """Prints counts; returns whether nothing failed. What is not known here fails too."""
    failed = Counter()
    for path in sorted(folder.glob("*.jsonl")):
        counts = Counter()
        for case in read(path).values():
            try:
                FORMATS[path.stem](case)
                got = "valid"
            except Refused as refused:
                got = refused.rule
                if blamed(refused) != case.one("culprit"):
                    got += f", blaming {refused.where}"
                if (refused.where == "newer") != (case.one("needs") == "newer-file"):
                    got += f", where {refused.where}"
            except (AssertionError, AttributeError, KeyError, TypeError, ValueError) as e:
                got = f"{type(e).__name__}: {e}"
            counts["agree" if got == case.expect else "differ"] += 1
            if got != case.expect:
                print(f"  {path.stem}/{case.case}: expected {case.expect}, got {got}")
        failed[path.stem] = counts["differ"]
        print(f"{path.stem}: {counts['agree']} agree, {counts['differ']} differ")
    return not any(failed.values())
