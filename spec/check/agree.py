#!/usr/bin/env python3
"""Compares the program `clew` with this verifier: agree.py CLEW CAPTURE [MIXED ..].

Groups are made, and small captures signed: in mode each with both schemes and forms, in mode window with xr, in mode
tree with both schemes, in full and coded carriage; and one capture mixed of several of one link type, with many flows. Some packets are changed by a bit, lost, swapped or repeated, and each must get the same verdict
and reason from both; so must packets with random block sections, and packets that our own prover signed. Then packets
are opened, one compared with its own machine and another, and judged by both, one of a block also where only another
of that block is left; changed evidence must be refused by both. In the end machines are revoked, now and later, others
join, keys are updated, and packets and evidence of those epochs are compared, caveats too.
"""

import json
import random
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from hashlib import sha256
from io import StringIO
from itertools import zip_longest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "tests"))
import check
import prover
from clew_check import bbs04, bundle, opening, Refused, receiver, text, trailer, tree, xr

CRAFTED = 3000
MIXED = 60
SEED = 20111


def run(command, statuses=(0,)):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode not in statuses:
        sys.exit(f"{command}\nstatus {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def checked(*words):
    """The same of `check.py`, without a process of its own."""
    told, errors = StringIO(), StringIO()
    with redirect_stdout(told), redirect_stderr(errors):
        status = check.main([str(word) for word in words])
    return subprocess.CompletedProcess(words, status, told.getvalue(), errors.getvalue())


def records(path, count):
    """The header of a classic little-endian pcap file and its first `count` packets, header and bytes."""
    data = path.read_bytes()
    at, out = 24, []
    while at < len(data) and len(out) < count:
        length = int.from_bytes(data[at + 8 : at + 12], "little")
        out.append((data[at : at + 16], bytearray(data[at + 16 : at + 16 + length])))
        at += 16 + length
    return data[:24], out


def write(path, head, packets):
    path.write_bytes(head + b"".join(top + bytes(packet) for top, packet in packets))


def verdicts_of_clew(clew, group, capture):
    lines = run([clew, "verify", "--group", group, "--json", capture], (0, 1, 2)).stdout.splitlines()
    packets = [json.loads(line) for line in lines]
    return [(p["packet"], p["verdict"], p["reason"]) for p in packets if "packet" in p]


def verdicts_of_check(group, capture):
    lines = checked("verify", "--group", group, capture).stdout.splitlines()
    words = [line.split() for line in lines]
    return [(int(w[0]), w[1], w[2]) for w in words if len(w) >= 3 and w[0].isdigit()]


def section(frame, link_type):
    """First and last bit of the block section, or of the frame if there is none."""
    try:
        _, found = receiver.read(frame, len(frame), link_type)
    except Refused:
        return 0, 8 * len(frame)
    behind = len(found.body) if found.carriage == trailer.FULL else -len(found.block)
    at = frame.index(found.body) + behind if found.block else 0
    return 8 * at, 8 * (at + len(found.block) if found.block else len(frame))


def spoil(head, packets, dice):
    """Every second packet changed by a bit, of the frame or of the block section in turn; one lost, one moved to the
    front, the middle third turned round, and the last, which is unchanged if there is an even number, repeated."""
    out = [(top, bytearray(packet)) for top, packet in packets]
    for i in range(0, len(out), 2):
        packet = out[i][1]
        bits = section(bytes(packet), int.from_bytes(head[20:24], "little")) if i % 4 else (0, 8 * len(packet))
        bit = dice.randrange(*bits)
        packet[bit // 8] ^= 1 << bit % 8
    if len(out) > 4:
        out.insert(1, out.pop(-2))
        del out[2]
        third = slice(len(out) // 3, 2 * len(out) // 3)
        out[third] = out[third][::-1]
    return out + [out[-1]]


def same(clew, group, capture, name, *wanted):
    ours, theirs = verdicts_of_check(group, capture), verdicts_of_clew(clew, group, capture)
    missing = set(wanted) - {reason for _, _, reason in ours}
    if ours != theirs or missing:
        differ = "\n".join(f"check {a}  clew {b}" for a, b in zip_longest(ours, theirs) if a != b)
        sys.exit(f"{name}: the verifiers differ, or {missing} did not occur\n{differ}")
    print(f"{name}: {len(ours)} packets, the same verdicts and reasons")


def check_windows(head, packets, k_max):
    """Every h is that of the packets before in the flow (here: of the same ports)."""
    flows = {}
    for _, data in packets:
        packet, found = receiver.read(bytes(data), len(data), int.from_bytes(head[20:24], "little"))
        before = flows.setdefault(found.upper[:4], [])
        covered = before[max(0, len(before) - k_max + 1) :]
        if found.block != (len(covered) + 1).to_bytes(2, "big") + trailer.window_hash(covered):
            sys.exit("a window is not over the packets before it")
        before.append((trailer.message(packet, found), found.body))


def compare_packets(clew, folder, capture, scheme, words, count, *wanted):
    """Signs the first `count` packets; they and spoiled ones must be judged alike, the wanted reasons among them."""
    name = " ".join([scheme, *words])
    group, key = folder / scheme / "public/group.clew", folder / f"{scheme}-a.key"
    stem = name.replace(" --", "-").replace(" ", "-")
    start, signed, changed = (folder / f"{stem}{part}.pcap" for part in ("-start", "", "-changed"))
    head, packets = records(capture, count)
    write(start, head, packets)
    run([clew, "sign", "--key", key, *words, start, "-w", signed])
    head, packets = records(signed, count)
    if words[-1].isdigit() and "window" in words:
        check_windows(head, packets, int(words[-1]))
    write(changed, head, spoil(head, packets, random.Random(f"{SEED} {name}")))
    same(clew, group, changed, name, "ok", "duplicate", *wanted)
    return signed, changed


def compare_mixed(clew, folder, captures):
    """The first packets of each in turn, as one capture."""
    parts = [records(capture, MIXED) for capture in captures]
    heads = {head[:16] + b"\0\0\1\0" + head[20:] for head, _ in parts}  # their snap lengths may differ
    if len(heads) != 1:
        sys.exit("captures that are mixed have one link type")
    rounds = zip_longest(*(packets for _, packets in parts))
    packets = [packet for turn in rounds for packet in turn if packet]
    mixed = folder / "mixed.pcap"
    write(mixed, *heads, packets)
    compare_packets(clew, folder, mixed, "xr", ["--mode", "tree"], len(packets), "reordered", "bad-signature")
    compare_packets(clew, folder, mixed, "xr", ["--mode", "window", "--window", "adaptive"], len(packets) // 8 * 2)


def crafted(dice):
    """A packet of a group that nobody knows, with a block section that may be wrong: judged up to `unknown-group`."""
    mode, code = dice.choice((trailer.WINDOW, trailer.TREE, trailer.TREE)), dice.choice((1, 2))
    flags = dice.choice((0, 0, 0, trailer.UDP_LENGTH, trailer.IPV4_CHECKSUM, trailer.L4_CHECKSUM, trailer.INCREMENTAL, 64))
    saved = {flags: dice.randbytes(2)} if flags & trailer.SAVED else {}
    if mode == trailer.WINDOW:
        k = dice.choice((0, 1, 2, 1024, 1025, dice.randrange(65536)))
        block = k.to_bytes(2, "big") + (bytes(32) if dice.random() < 0.5 else dice.randbytes(32))
    else:
        count = dice.choice((0, 1, 2, 3, 5, 8, 9, 16, 64, 128, 129, 1023, 1024, 1025, dice.randrange(1, 1025)))
        index = dice.choice((0, max(count, 1) - 1, count, dice.randrange(max(count, 1)), dice.randrange(max(count, 1))))
        size = dice.choice((16, 16, 24, 32, 32, 0, 20, dice.randrange(256)))
        depth = len(tree.sides(index, count)) if 0 <= index < count else dice.randrange(12)
        depth = max(0, depth + dice.choice((0, 0, 0, 0, 1, -1)))
        block = dice.randbytes(16) + index.to_bytes(2, "big") + count.to_bytes(2, "big") + bytes([size, depth])
        block += dice.randbytes(size * depth)
    if dice.random() < 0.1:
        block = block[:-1] if dice.random() < 0.5 else block + b"x"
    found = trailer.Trailer(b"", b"", block, saved, b"nobody's", 0, 0, code, flags, mode, 0)
    found.upper = prover.ipv4_udp(b"hello")[20:]
    length = trailer.signature_length(trailer.SCHEMES[code], flags)
    if mode == trailer.TREE and dice.random() < 0.5:
        found.carriage = dice.choice((2, 2, 3, 3, 4))
        k = dice.choice((max(1, count // 4), -(-count // 4), count, count + 1, 0, dice.randrange(65536)))
        length = 2 + -(-length // max(k, 1)) + {2: 8}.get(found.carriage, 4) * depth + dice.choice((0, 0, 0, 0, 1, -1))
    body = dice.randbytes(length) if found.carriage == trailer.FULL else (k.to_bytes(2, "big") + bytes(length))[:length]
    frame = bytearray(prover.frame_of(found, body))
    if dice.random() < 0.1:  # no UDP
        frame[9] = 99
    if dice.random() < 0.1:
        bit = dice.randrange(8 * (len(frame) - 31), 8 * len(frame))
        frame[bit // 8] ^= 1 << bit % 8
    if dice.random() < 0.1:
        frame = prover.ipv4_udp(frame[28:], b"\1" + bytes([0, 0, 0, 10, 1]) + trailer.MAGIC)
    return bytes(frame)


def compare_sections(clew, folder):
    dice, capture = random.Random(f"{SEED} sections"), folder / "sections.pcap"
    capture.write_bytes(prover.pcap([(0, crafted(dice)) for _ in range(CRAFTED)]))
    wanted = "bad-block bad-code bad-trailer-length reserved-bits bad-mark unknown-carriage unknown-group"
    same(clew, folder / "xr/public/group.clew", capture, "block sections", *wanted.split())


def compare_prover(clew, folder):
    """What `tests/prover.py` signs: one packet of the block has flags of its own, one of the window is changed."""
    maker = prover.Maker(xr)
    one = maker.enrol("one")
    payloads = [b"one", b"two", b"three"]
    frames = maker.block(one, 0, payloads, 24, flags={1: trailer.NAT, 2: trailer.INCREMENTAL})
    window = maker.window(one, 0, payloads[:2], 2)
    window[0] = window[0][:28] + b"ONE" + window[0][31:]
    group, capture = folder / "prover.group", folder / "prover.pcap"
    group.write_bytes(maker.file())
    capture.write_bytes(prover.pcap([(0, frame) for frame in frames[::-1] + window]))
    same(clew, group, capture, "packets that the prover signed", "ok", "bad-signature")


def compare_coded(clew, folder, scheme, other):
    """Blocks in coded carriage: some packets, changed, lost and mixed; evidence about one; one extracted."""
    words = ["--mode", "tree", "--carriage", "coded"]
    signed, _ = compare_packets(clew, folder, folder / "mixed.pcap", scheme, words, 120, "too-few-shares")
    group = folder / scheme / "public/group.clew"
    head, packets = records(signed, 120)
    dice = random.Random(f"{SEED} coded {scheme}")
    for part, *wanted in ((0.3, "too-few-shares"), (0.6, "reordered")):
        some = [p for p in packets if dice.random() < part]
        dice.shuffle(some)
        left = folder / f"{scheme}-coded-left.pcap"
        write(left, head, some)
        same(clew, group, left, f"{scheme} coded, {part:.0%} of the packets", "ok", *wanted)
    numbers = [i for i, (_, p) in enumerate(packets, 1) if is_coded(p, head)]
    alone = folder / f"{scheme}-alone.pcap"
    run([clew, "extract", "--group", group, signed, "--packet", numbers[0], "-w", alone])
    same(clew, group, alone, f"{scheme} coded, one packet extracted", "ok")
    compare_evidence(clew, folder, scheme, signed, other, number=numbers[0])


def is_coded(packet, head):
    """Whether it carries a share."""
    try:
        _, found = receiver.read(bytes(packet), len(packet), int.from_bytes(head[20:24], "little"))
    except Refused:
        return False
    return found.carriage != trailer.FULL


def block_mate(signed, out):
    """A capture with no packet of the first one's block but the last one."""
    head, packets = records(signed, 99)
    found = [receiver.read(bytes(p), len(p), int.from_bytes(head[20:24], "little"))[1] for _, p in packets]
    mates = [i for i, f in enumerate(found) if f.block[:16] == found[0].block[:16]]
    write(out, head, [p for i, p in enumerate(packets) if i not in mates[:-1]])
    if len(mates) < 2:
        sys.exit("the first packet's block has no other packet")
    return out


def judged_alike(clew, group, evidence, capture, status):
    """The same answer; of what holds, also the same caveats, device key and packets. A bundle has no `capture`."""
    words = ["--group", group, evidence, capture] if capture else [evidence]
    ours = checked("judge", *words)
    theirs = run([clew, "judge", "--json", *words], (0, 1, 2))
    if ours.returncode != status or theirs.returncode != status:
        sys.exit(f"{evidence}: check says {ours.returncode}, clew {theirs.returncode}, not {status}")
    if status == 0:
        said = [line.partition(": ")[2] for line in ours.stdout.splitlines() if line.startswith("caveat: ")]
        told = [f"{each['name']} {each.get('epoch') or ''}".strip() for each in json.loads(theirs.stdout)["caveats"]]
        keys = [line for line in ours.stdout.splitlines() if line.startswith("device key: ")]
        if sorted(said) != sorted(told) or not all(line.partition(": ")[2] in theirs.stdout for line in keys):
            sys.exit(f"{evidence}: check says {said} {keys}, clew {theirs.stdout}")


def spoiled(evidence, dice):
    """The evidence with one bit of its payload changed and a right checksum."""
    label, payload = text.read(evidence.read_bytes())
    payload = bytearray(payload)
    bit = dice.randrange(8 * len(payload))
    payload[bit // 8] ^= 1 << bit % 8
    out = evidence.with_suffix(".spoiled")
    out.write_bytes(text.write(label, bytes(payload)))
    return out


def compare_bundle(clew, group, evidence, signed, dice):
    """A bundle of evidence is judged alike, whole, changed, and with a file changed and right sums."""
    made = evidence.with_suffix(evidence.suffix + ".zip")
    run([clew, "bundle", "--group", group, evidence, signed, "-o", made])
    judged_alike(clew, group, made, None, 0)
    changed = made.with_suffix(".changed")
    data = bytearray(made.read_bytes())
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    changed.write_bytes(data)
    judged_alike(clew, group, changed, None, 1)
    files = bundle.read(made.read_bytes())
    name = next(name for name in files if name.startswith(("opening", "match")))
    without = [{other: files[other] for other in files if other != drop} for drop in (name, "origin.json", "report.pdf")]
    further = [files | {more: b"1"} for more in ("README.html", "decision-1.txt")]
    for rest in without + further:
        changed.write_bytes(bundle.write(rest | {bundle.SUMS: bundle.sums_of(rest)}))
        judged_alike(clew, group, changed, None, 1)


def compare_evidence(clew, folder, scheme, signed, other, matches=False, number=1):
    """Packet `number` of `signed` is opened; `other` does not hold it."""
    store = folder / scheme
    group = store / "public/group.clew"
    of = ["--group", group, signed, "--packet", number]
    trustee = lambda i: ["--trustee", store / f"trustees/{i}.key"]
    shares, stem = [], signed.stem
    for i in (1, 3):
        shares += ["--share", folder / f"{stem}-{i}.share"]
        run([clew, "share", *trustee(i), *of, "-o", shares[-1]])
    opening = folder / f"{stem}.opening"
    run([clew, "open", "--register", store, *shares, *of, "-o", opening])
    judged_alike(clew, group, opening, signed, 0)
    judged_alike(clew, group, opening, other, 2)
    if "tree" in stem and "coded" not in stem:
        judged_alike(clew, group, opening, block_mate(signed, folder / f"{stem}-mate.pcap"), 2)
    evidence = [opening]
    for name, was in [("a", 0), ("b", 1)] if matches else []:
        with_machine = ["--match", name, "--register", store]
        given = []
        for step in ("commit", "blind", "share"):
            files = [folder / f"{name}-{i}.{step}" for i in (1, 3)]
            for i, file in zip((1, 3), files):
                before = given or ["--with", "1,3"]
                run([clew, "share", *trustee(i), *with_machine, *before, *of, "-o", file])
            given = [word for file in files for word in ("--share", file)]
        result = folder / f"{name}.match"
        run([clew, "match", "--machine", name, "--register", store, *given, *of, "-o", result], (was,))
        judged_alike(clew, group, result, signed, 0)
        evidence.append(result)
    dice = random.Random(f"{SEED} {stem} evidence")
    for good in evidence[:2]:
        compare_bundle(clew, group, good, signed, dice)
    for good in evidence:
        bad = spoiled(good, dice)
        if same_status(clew, group, bad, signed, bad) == 0:
            sys.exit(f"{bad}: it holds")
    print(f"{stem}: {len(evidence)} pieces of evidence, judged alike, good and spoiled")


def same_status(clew, group, evidence, capture, what):
    """The one that both answer."""
    ours = checked("judge", "--group", group, evidence, capture).returncode
    theirs = run([clew, "judge", "--group", group, evidence, capture], (0, 1, 2)).returncode
    if ours != theirs:
        sys.exit(f"{what}: check says {ours}, clew {theirs}")
    return ours


def compare_history(clew, folder, scheme):
    """Our own prover's group of five epochs: evidence of each, who joined and went, all of it changed by bits, and the
    group file's parts too, signed again."""
    maker, dice = prover.history(scheme), random.Random(f"{SEED} history {scheme.CODE}")
    group, capture, evidence = (folder / f"history{part}" for part in (".group", ".pcap", ".opening"))
    group.write_bytes(maker.file())
    a, b, c, d, late, last = maker.machines
    count = 0
    for e, machine in ((0, b), (1, c), (2, late), (3, d), (3, last), (4, a), (0, late)):
        frame = maker.packet(machine, e)
        indices = [1, 2] if e < 2 or scheme is not xr else [2]
        capture.write_bytes(prover.pcap([(0, frame)]))
        evidence.write_bytes(text.write(opening.OPENING, maker.opening(e, frame, machine, indices)))
        judged_alike(clew, group, evidence, capture, 0)
        for _ in range(4):
            same_status(clew, group, spoiled(evidence, dice), capture, f"epoch {e}, {machine.name}, spoiled")
            count += 1
    bodies = [*maker.bodies, *(body for _, body in maker.heads), maker.register()]
    for part in range(len(bodies)):
        for _ in range(4):
            bad, bit = [bytearray(body) for body in bodies], dice.randrange(8 * len(bodies[part]))
            bad[part][bit // 8] ^= 1 << bit % 8
            for i in range(part, len(maker.bodies)):  # what follows names it
                following, at = (i + 1, 5) if i + 1 < len(maker.bodies) else (len(bodies) - 1, 1)
                bad[following][at : at + 32] = sha256(bad[i]).digest()
            group.write_bytes(maker.file([bytes(body) for body in bad]))
            same_status(clew, group, evidence, capture, f"part {part}, bit {bit}")
            count += 1
    print(f"our own group of {maker.scheme.__name__.rpartition('.')[2]} with five epochs: judged alike, and {count} changes of it")


def compare_epochs(clew, folder, scheme, capture):
    """Two revocations, one that is announced, a late machine, a rebase: packets and evidence of the epochs."""
    store, group, key = folder / scheme, folder / scheme / "public/group.clew", folder / f"{scheme}-a.key"
    witnesses = ["--witness", store / "public/witnesses"]
    for name in ("c", "d", "e"):
        run([clew, "enrol", store, name, "-o", folder / f"{scheme}-{name}.key"])
    run([clew, "revoke", store, "c", "d"])
    run([clew, "update", "--key", key, "--group", group, *witnesses])
    run([clew, "enrol", store, "late", "-o", folder / f"{scheme}-late.key"])
    run([clew, "revoke", store, "e", "--at", "2099-01-01T00:00:00Z", "--far"])
    after, _ = compare_packets(clew, folder, capture, scheme, ["--mode", "each", "--nat"], 4)
    run([clew, "group", "rebase", store])
    run([clew, "update", "--key", key, "--group", group, *witnesses])
    other, _ = compare_packets(clew, folder, capture, scheme, ["--mode", "each", "--tolerant"], 4)
    compare_evidence(clew, folder, scheme, after, other)
    compare_evidence(clew, folder, scheme, other, after)
    done = checked("group", group)
    print(done.stdout, end="")
    if done.returncode:
        sys.exit("the group file does not hold")


def main():
    clew, capture = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for scheme in ("xr", "bbs04"):
            store = folder / scheme
            run([clew, "group", "create", store, "--name", scheme, "--scheme", scheme])
            for name in ("a", "b"):
                run([clew, "enrol", store, name, "-o", folder / f"{scheme}-{name}.key"])
        sign = lambda scheme, words, count: compare_packets(clew, folder, capture, scheme, words.split(), count)
        compare_sections(clew, folder)
        compare_prover(clew, folder)
        if sys.argv[3:]:
            compare_mixed(clew, folder, [Path(word) for word in sys.argv[3:]])
        for scheme in ("xr", "bbs04"):
            sign(scheme, "--incremental --mode each", 4)
            each, _ = sign(scheme, "--mode each", 4)
            tree_, _ = sign(scheme, "--mode tree --block 5", 10)
            compare_evidence(clew, folder, scheme, tree_, each, matches=scheme == "xr")
            if sys.argv[3:]:
                compare_coded(clew, folder, scheme, each)
            compare_evidence(clew, folder, scheme, each, tree_)
        window, _ = sign("xr", "--mode window --window 4", 8)
        compare_evidence(clew, folder, "xr", window, each)
        for scheme in ("xr", "bbs04"):
            compare_epochs(clew, folder, scheme, capture)
        for scheme in (xr, bbs04):
            compare_history(clew, folder, scheme)


if __name__ == "__main__":
    main()
