#!/usr/bin/env python3
"""Compares the program `clew` with this verifier: agree.py CLEW CAPTURE.

Both schemes and forms: groups are made, a small capture is signed, some packets are changed by a bit,
and each packet must get the same verdict and reason from both. Then a packet is opened, compared
with its own machine and another, and judged by both; changed evidence must be refused by both.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from clew_check import text

CHECK = [sys.executable, str(Path(__file__).parent / "check.py")]
PACKETS_MAX = 8
SEED = 20111


def run(command, statuses=(0,)):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode not in statuses:
        sys.exit(f"{command}\nstatus {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def records(path):
    """The header of a classic little-endian pcap file and its first packets, header and bytes."""
    data = path.read_bytes()
    at, out = 24, []
    while at < len(data) and len(out) < PACKETS_MAX:
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
    lines = run([*CHECK, "verify", "--group", group, capture], (0, 1, 2)).stdout.splitlines()
    words = [line.split() for line in lines]
    return [(int(w[0]), w[1], w[2]) for w in words if len(w) >= 3 and w[0].isdigit()]


def compare_packets(clew, folder, capture, scheme, form):
    group, key = folder / scheme / "public/group.clew", folder / f"{scheme}-a.key"
    signed, changed = folder / f"{scheme}{form}.pcap", folder / f"{scheme}{form}-changed.pcap"
    run([clew, "sign", "--key", key, *([form] if form else []), capture, "-w", signed])
    head, packets = records(signed)
    dice = random.Random(f"{SEED} {scheme} {form}")
    for _, packet in packets[::2]:
        bit = dice.randrange(8 * len(packet))
        packet[bit // 8] ^= 1 << bit % 8
    write(changed, head, packets)
    ours, theirs = verdicts_of_check(group, changed), verdicts_of_clew(clew, group, changed)
    if ours != theirs or not any(verdict == "valid" for _, verdict, _ in ours):
        sys.exit(f"{scheme} {form}: the verifiers differ\ncheck {ours}\nclew  {theirs}")
    print(f"{scheme} {form or '(plain)'}: {len(ours)} packets, the same verdicts and reasons")
    return signed, changed


def judged_alike(clew, group, evidence, capture, status):
    ours = run([*CHECK, "judge", "--group", group, evidence, capture], (0, 1, 2))
    theirs = run([clew, "judge", "--group", group, evidence, capture], (0, 1, 2))
    if ours.returncode != status or theirs.returncode != status:
        sys.exit(f"{evidence}: check says {ours.returncode}, clew {theirs.returncode}, not {status}")


def spoiled(evidence, dice):
    """The evidence with one bit of its payload changed and a right checksum."""
    label, payload = text.read(evidence.read_bytes())
    payload = bytearray(payload)
    bit = dice.randrange(8 * len(payload))
    payload[bit // 8] ^= 1 << bit % 8
    out = evidence.with_suffix(".spoiled")
    out.write_bytes(text.write(label, bytes(payload)))
    return out


def compare_evidence(clew, folder, scheme, signed, other):
    store = folder / scheme
    group = store / "public/group.clew"
    of = ["--group", group, signed, "--packet", "1"]
    trustee = lambda i: ["--trustee", store / f"trustees/{i}.key"]
    shares = []
    for i in (1, 3):
        shares += ["--share", folder / f"{scheme}-{i}.share"]
        run([clew, "share", *trustee(i), *of, "-o", shares[-1]])
    opening = folder / f"{scheme}.opening"
    run([clew, "open", "--register", store, *shares, *of, "-o", opening])
    judged_alike(clew, group, opening, signed, 0)
    judged_alike(clew, group, opening, other, 2)
    evidence = [opening]
    for name, was in [("a", 0), ("b", 1)] if scheme == "xr" else []:
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
    dice = random.Random(f"{SEED} {scheme} evidence")
    for good in evidence:
        bad = spoiled(good, dice)
        ours = run([*CHECK, "judge", "--group", group, bad, signed], (1, 2)).returncode
        theirs = run([clew, "judge", "--group", group, bad, signed], (1, 2)).returncode
        if ours != theirs:
            sys.exit(f"{bad}: check says {ours}, clew {theirs}")
    print(f"{scheme}: {len(evidence)} pieces of evidence, judged alike, good and spoiled")


def main():
    clew, capture = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        head, packets = records(capture)
        small = folder / "small.pcap"
        write(small, head, packets)
        for scheme in ("xr", "bbs04"):
            store = folder / scheme
            run([clew, "group", "create", store, "--name", scheme, "--scheme", scheme])
            for name in ("a", "b"):
                run([clew, "enrol", store, name, "-o", folder / f"{scheme}-{name}.key"])
            compare_packets(clew, folder, small, scheme, "--incremental")
            signed, changed = compare_packets(clew, folder, small, scheme, "")
            compare_evidence(clew, folder, scheme, signed, changed)


if __name__ == "__main__":
    main()
