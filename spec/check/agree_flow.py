#!/usr/bin/env python3
"""Compares `clew flow` with this verifier: agree_flow.py CLEW CAPTURE.

The packets of a capture, several times over, are signed in every carriage, with both hash functions, salted and not;
and by manifests beside them, by Ed25519, and once by eFFS. As they are, and with some changed by a bit, lost, swapped or repeated, each must get the same verdict and reason from
both. The program's proofs must hold here, and not with any bit changed; its signed files must be whole, and not when
they are cut, changed, or mixed from two. At last, our own signer makes packets right and wrong, of blocks in mixed
carriage and any order, which must be judged alike.
"""

import json
import random
import sys
import tempfile
from collections import Counter
from itertools import product, zip_longest
from pathlib import Path

from agree import SEED, records, run, write
from clew_check import flow, flow_capture, flow_evidence, flow_receiver, Refused, text
from clew_check.flow_tree import u
from effs_prover import secret
from flow_prover import Place, Signer, TIME
from prover import ipv4_udp, pcap

TIMES = 8
SPACING = 2000  # microseconds
CRAFTED = 40  # captures
# Digests and degree of the trees, by turns.
SHAPES = [("16", "2"), ("32", "4"), ("24", "1024")]


def repeated(capture, out):
    """The capture's packets, `TIMES` over and evenly spaced, so that blocks get long."""
    head, packets = records(capture, 99)
    line, start = [], int.from_bytes(packets[0][0][:4], "little")
    for number, (top, packet) in enumerate(packets * TIMES):
        at = number * SPACING
        time = (start + at // 10**6).to_bytes(4, "little") + (at % 10**6).to_bytes(4, "little")
        line.append((time + top[8:], packet))
    write(out, head, line)
    return out


def spoiled(capture, out, dice):
    """Every eighth packet changed by a bit of its end, where its signature is, or of the whole; some lost, one after its
    successors, one repeated."""
    head, packets = records(capture, 9999)
    packets = [(top, bytearray(packet)) for top, packet in packets]
    for i in range(0, len(packets), 8):
        packet = packets[i][1]
        bit = dice.randrange(max(0, len(packet) - 120) if i % 16 else 0, len(packet)) * 8 + dice.randrange(8)
        packet[bit // 8] ^= 1 << bit % 8
    late = packets.pop(len(packets) // 2)
    packets.insert(-5, late)
    del packets[20:60:7]
    write(out, head, [*packets, packets[3]])
    return out


def same(clew, flow, capture, name, sidecar=None, bits=None):
    """Both verifiers say the same of each datagram, to so many bits if they are given; its reasons."""
    descriptors, beside = [flow_evidence.descriptor(flow.read_bytes())], []
    if sidecar:
        found, beside = flow_capture.judge_listed(capture.read_bytes(), descriptors, sidecar.read_bytes()), ["--manifest", sidecar]
    else:
        found, beside = flow_capture.judge(capture.read_bytes(), descriptors, bits or 256), ["--assurance", bits] if bits else []
    ours = [(number, flow_receiver.verdict_of(reason), reason) for number, reason in found]
    lines = run([clew, "flow", "verify", "--flow", flow, *beside, "--json", capture], (0, 1, 2)).stdout.splitlines()
    told = [line for line in map(json.loads, lines) if "packet" in line]
    theirs = [(line["packet"], line["verdict"], line["reason"]) for line in told]
    if ours != theirs:
        differ = "\n".join(f"check {a}  clew {b}" for a, b in zip_longest(ours, theirs) if a != b)
        sys.exit(f"{name}: the verifiers differ\n{differ}")
    return dict(found)


def refused(function, *arguments):
    try:
        function(*arguments)
    except Refused:
        return True
    return False


def flipped(data, bit):
    return data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]


def compare_proofs(clew, flow, capture, original, dice, beside=()):
    """Of the shortest packet, with every bit changed, and of two others; how many changes there were."""
    descriptor = flow_evidence.descriptor(flow.read_bytes())
    _, packets = records(original, 9999)
    shortest = min(range(20, len(packets)), key=lambda i: len(packets[i][1]))
    changes = 0
    for place in (shortest, 0, len(packets) - 1):
        proof = flow.with_suffix(".proof")
        run([clew, "flow", "extract", "--flow", flow, *beside, capture, "--packet", place + 1, "-w", proof, "--force"])
        data = proof.read_bytes()
        _, content = flow_evidence.proof(data, descriptor)
        if not bytes(packets[place][1]).endswith(content):
            sys.exit(f"the proof of packet {place + 1} is of another packet")
        bits = range(8 * len(data)) if place == shortest else dice.sample(range(8 * len(data)), 200)
        held = [bit for bit in bits if not refused(flow_evidence.proof, flipped(data, bit))]
        if held:
            sys.exit(f"a proof holds with bits {held} changed")
        changes += len(bits)
        for bit in dice.sample(range(8 * len(data)), 4):
            proof.write_bytes(flipped(data, bit))
            run([clew, "flow", "check", proof], (1, 2))
    return changes


def compare_files(clew, folder, key, flow, original, dice):
    """Two signed files of one flow: whole, cut, changed and mixed; how many changes there were."""
    descriptors = [flow_evidence.descriptor(flow.read_bytes())]
    files = []
    for name, size in (("one", 9000), ("other", 9000)):
        plain, signed = folder / name, folder / f"{name}.signed"
        plain.write_bytes(original.read_bytes()[:size] + name.encode())
        run([clew, "flow", "sign", "--key", key, "--file", "--packet-bytes", "100", plain, "-w", signed, "--force"])
        files.append(signed.read_bytes())
        if flow_evidence.file(files[-1], descriptors) != plain.read_bytes():
            sys.exit("a signed file has other bytes than the file")
    one, other = files
    cut = [one[: dice.randrange(len(one))] for _ in range(100)]
    changed = [flipped(one, dice.randrange(8 * len(one))) for _ in range(200)]
    ends = [0] + ends_of(one)
    at_ends = [one[:end] for end in ends[:-1]] + [one[:16] + one[end:] for end in ends[2:]]
    mixed = [one[:end] + other[end:] for end in ends[2:-1] if end in ends_of(other)]
    if not mixed:
        sys.exit("the files have no end of a packet in common")
    bad = [*cut, *changed, *at_ends, *mixed, one + other[16:]]
    if not all(refused(flow_evidence.file, data, descriptors) for data in bad):
        sys.exit("a signed file is whole, and it should not be")
    return len(bad)


def ends_of(signed):
    """Where its magic and each of its packets end."""
    ends = [16]
    while ends[-1] < len(signed):
        ends.append(ends[-1] + 4 + int.from_bytes(signed[ends[-1] : ends[-1] + 4], "big"))
    return ends


def compare_signed(clew, folder, original, shape, carriage):
    """The capture is signed, or stays as it is and gets manifests; the reasons of its spoiled packets."""
    name = "-".join([carriage, *(word.strip("-") for word in shape)]).replace("alg-", "")
    key, flow, signed = (folder / f"{name}.{part}" for part in ("key", "flow", "pcap"))
    run([clew, "flow", "keygen", folder / name, *shape])
    run([clew, "flow", "sign", "--key", key, "--carriage", carriage, original, "-w", signed])
    capture, sidecar = (original, signed) if carriage == "manifest" else (signed, None)
    dice = random.Random(f"{SEED} {name}")
    good = same(clew, flow, capture, name, sidecar)
    if set(good.values()) != {"ok"}:
        sys.exit(f"{name}: not all packets are valid: {good}")
    bad = spoiled(capture, folder / "spoiled.pcap", dice)
    reasons = same(clew, flow, bad, f"{name}, spoiled", sidecar)
    proofs = compare_proofs(clew, flow, capture, original, dice, ["--manifest", sidecar] if sidecar else [])
    files = compare_files(clew, folder, key, flow, original, dice)
    print(f"{name}: {len(good)} packets, {len(reasons)} spoiled, {proofs} changed proofs, {files} changed files")
    return set(reasons.values())


def crafted_block(signer, place, dice):
    """Packets of one block, no index twice, in mixed carriage; in some, what is signed or shared is wrong."""
    contents = [b"packet %d of %d" % (i, place.seq) for i in range(dice.choice((1, 2, 5, 9, 12, 20)))]
    kinds = [flow.FULL, flow.SPARSE] if len(contents) < 9 else [flow.FULL, flow.SPARSE, flow.CODED, flow.SHORT, flow.UNTAGGED]
    kinds = dice.sample(kinds, dice.randrange(1, len(kinds) + 1))
    needed = dice.choice((4, 5, 9))
    blob = signer.descriptor.blob_size
    length = dice.choice((0, 0, 0, blob, blob + -blob % needed))
    wrong = (u(place.time, 8) + dice.randbytes(length))[:length] if length else None
    forms = {}
    for kind in kinds:
        whole = wrong if kind in (flow.CODED, flow.SHORT) or length == blob else None
        forms[kind] = signer.block(contents, kind, place, needed, whole)
    return [forms[dice.choice(kinds)][i] for i in range(len(contents)) if dice.random() < 0.9]


def distorted(packet, dice):
    """Sometimes a bit, a field or the length of its signature is another."""
    way = dice.random()
    if way < 0.85:
        return packet
    if way < 0.9:
        return flipped(packet, dice.randrange(8 * len(packet)))
    if way < 0.93:
        return packet[: -flow.FIXED - 1] + packet[-flow.FIXED :] if way < 0.915 else packet[1:]
    at, width = dice.choice(((12, 2), (10, 2), (8, 1), (7, 1), (6, 2), (20, 4)))
    value = dice.choice((0, 1, 2, 3, 8, 9, 40, 256, 257, len(packet), 2 ** (8 * width) - 1)) % 256**width
    return packet[: len(packet) - at] + value.to_bytes(width, "big") + packet[len(packet) - at + width :]


def crafted(signer, dice):
    """A capture: blocks mixed, some of the same seq, some far ahead; at the end some packets again. (Of two packets in
    one place that wait, either may be the accepted one: no block comes twice.)"""
    packets = []
    for _ in range(12):
        seq = dice.choice((*range(7000, 7008), 7063, 7064, 7070))
        place = Place(dice.choice((b"tag1", b"tag2")), seq, dice.randbytes(16), TIME - dice.choice((0, 0, 40)) * 10**9)
        packets.append([distorted(packet, dice) for packet in crafted_block(signer, place, dice)])
    mixed = []
    while any(packets):
        mixed.append(dice.choice([block for block in packets if block]).pop(0))
    for _ in range(len(mixed) // 2):
        i = dice.randrange(len(mixed) - 1)
        mixed[i : i + 2] = mixed[i : i + 2][::-1]
    mixed += dice.sample(mixed, len(mixed) // 10)
    return pcap([(TIME, ipv4_udp(packet)) for packet in mixed])


def compare_crafted(clew, folder):
    reasons = Counter()
    for number in range(CRAFTED):
        dice = random.Random(f"{SEED} crafted {number}")
        shape = dice.choice((1, 2)), dice.choice((16, 24, 32)), dice.choice((2, 3, 1024))
        signer = Signer(*shape, flags=dice.choice((0, 1)), secret=secret(2048, 64, 2, 18) if number % 5 == 4 else None)
        known, capture = folder / "crafted.flow", folder / "crafted.pcap"
        known.write_bytes(text.write(flow_evidence.LABEL, signer.bytes))
        capture.write_bytes(crafted(signer, dice))
        reasons.update(same(clew, known, capture, f"crafted {number}").values())
    wanted = "ok duplicate old conflict bad-digest bad-signature padding stale untagged needed bad-length bad-block coded-count"
    missing = set(wanted.split()) - set(reasons)
    if missing:
        sys.exit(f"no crafted packet was {missing}: {reasons}")
    print(f"{CRAFTED} captures of our own signer, {reasons.total()} packets: {dict(reasons)}")


def main():
    clew, capture = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        folder, seen, number = Path(folder), set(), 0
        original = repeated(capture, folder / "original.pcap")
        for hash, carriage in product(("blake3", "sha256"), ("full", "sparse", "coded", "manifest")):
            for salted in ([], ["--salted"]) if carriage != "manifest" else ([],):
                digest, degree = SHAPES[number % 3]
                shape = ["--alg", "ed25519", "--hash", hash, "--digest", digest, "--degree", degree, *salted]
                seen |= compare_signed(clew, folder, original, shape, carriage)
                number += 1
        seen |= compare_signed(clew, folder, original, ["--alg", "effs-2048", "--v-rule", "williams"], "coded")
        compare_crafted(clew, folder)
        missing = {"bad-digest", "bad-signature", "duplicate", "unsigned", "no-signature"} - seen
        if missing:
            sys.exit(f"no packet was {missing}")


if __name__ == "__main__":
    main()
