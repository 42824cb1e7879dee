"""A tiny prover: founds groups, enrols machines, signs packets, opens and matches. For tests only: not constant in
time, with secrets from a seeded generator."""

import random
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from clew_check import bbs04, carriage, datagram, group_file, join, key_file, merkle, opening, quorum, receiver
from clew_check import register, text, trailer, xr
from clew_check.curve import *

rng = random.Random(1)


def rand():
    return rng.randrange(1, r)


def device(label):
    return Ed25519PrivateKey.from_private_bytes(hash_of(label.encode()))


def public(key):
    return key.public_key().public_bytes_raw()


def prove(exponent, *bases, prefix):
    """A proof c || s that every base was raised to this exponent."""
    k = rand()
    c = long_challenge(*prefix, *(power(B, k) for B in bases))
    return c + encode_scalar(k + int.from_bytes(c, "big") * exponent)


def name(text):
    return bytes([len(text.encode())]) + text.encode()


def u16(n):
    return n.to_bytes(2, "big")


def u32(n):
    return n.to_bytes(4, "big")


def u64(n):
    return n.to_bytes(8, "big")


@dataclass
class Machine:
    name: str
    index: int
    joined: int
    A: Point
    x: int
    y: int = 0
    entry: bytes = b""


def deal(secret, t, n, base):
    """5.1: {i: f(i)}, [C_0 .. C_t-1]"""
    a = [secret] + [rand() for _ in range(t - 1)]
    shares = {i: sum(a_k * i**k for k, a_k in enumerate(a)) % r for i in range(1, n + 1)}
    return shares, [power(base, a_k) for a_k in a]


def sharing(t, n, lists, origin=1):
    return bytes([origin, t, n]) + b"".join(encode(C) for Cs in lists for C in Cs[1:])


class Maker:
    """Issuer, manager and dealer of a group in one."""

    def __init__(self, scheme, t=2, n=3, nonce=b"n" * 32, gamma=None, origin=1):
        self.scheme, self.t, self.n, self.manager, self.nonce = scheme, t, n, device("manager"), nonce
        self.gamma = gamma or rand()
        self.machines, self.keys, self.shares, self.lists, self.heads = [], [], [], [], []
        self.gone = [set()]  # indices of rows that are revoked, by epoch
        w, proof = power(G2, self.gamma), b""
        if scheme is xr:
            u, xi = xr.generators(nonce)[0], rand()
            founding = encode(power(u, xi)) + encode(power(u, xi * self.gamma)) + encode(w)
            proof = prove(self.gamma, G2, prefix=(D("clew-xr-issuer-1"), nonce, w))
            dealt = [deal(xi, t, n, u)]
        else:
            h, secrets = bbs04.hash_h(nonce), (rand(), rand())
            u, v = (power(h, pow(s, -1, r)) for s in secrets)
            founding = encode(u) + encode(v) + encode(w)
            dealt = [deal(s, t, n, base) for s, base in zip(secrets, (u, v))]
        self.keep(scheme.founded(nonce, founding), dealt)
        body = b"\0" + bytes([scheme.CODE]) + u64(5) + nonce + public(self.manager) + b"\0" + name("test")
        self.bodies = [body + founding + proof + sharing(t, n, self.lists[0], origin)]
        self.made = 5

    def keep(self, key, dealt=None):
        self.keys.append(key)
        self.shares.append([s for s, _ in dealt] if dealt else self.shares[-1])
        self.lists.append([C for _, C in dealt] if dealt else self.lists[-1])

    @property
    def id(self):
        return hash_of(self.bodies[0])[:16]

    def epoch_id(self, e):
        return hash_of(self.bodies[e])

    # Joining (3.2, 4.1)

    def enrol(self, label, how=None, replaces=2**32 - 1, joined=None):
        """The whole join; for tests on one host, whatever `how` says."""
        e, key, index = len(self.keys) - 1 if joined is None else joined, self.keys[0], len(self.machines)
        x, y = rand(), 0
        if self.scheme is xr:
            session = join.session(self.id, hash_of(label.encode()), public(device(label)), name(label))
            y = rand()
            C = join.check_request(key, session, join.make_request(key, session, y, rand()))
            offer = join.make_offer(key, C, self.gamma, x, rand())
            A, x, y = join.accept(key, y, offer.encode())
            entry = self.entry(label, index, e, how or register.ON_DEVICE, replaces, A, power(key.h0, y), y)
        else:
            A, how = self.by_gamma(G1, x), how or register.ON_ISSUER
            entry = u32(index) + u32(e) + bytes([how]) + u32(replaces) + encode(A) + name(label) + encode(power(G2, x))
        machine = Machine(label, index, e, A, x, y, entry)
        self.machines.append(machine)
        return machine

    def entry(self, label, index, e, how, replaces, A, C, y):
        """xr: the entry of a device, with its S and the proof of y; C need not be of this y."""
        A, C, key, dev = encode(A), encode(C), self.keys[0], device(label)
        text = register.device_text(self.id, e, how, replaces, C, A, public(dev), name(label))
        proof = join.prove_y(key, text, y, rand())
        head = u32(index) + u32(e) + bytes([how]) + u32(replaces) + A + name(label)
        return head + C + public(dev) + dev.sign(text) + proof

    def by_gamma(self, base, x):
        """base^(1/(gamma+x))"""
        return power(base, pow(self.gamma + x, -1, r))

    def witness(self, machine, e):
        """W_e, which nobody gets for a row that is revoked."""
        assert machine.index not in self.gone[e], "rule 2"
        return self.by_gamma(self.keys[e].v, machine.x)

    def signs_with(self, machine, e):
        """B_e"""
        return product(machine.A, self.witness(machine, e))

    # Epochs (3.7, 3.8, 4.6)

    def revoke(self, *machines, start, made=None):
        """xr: a step for each; bbs04: a rebase."""
        if self.scheme is bbs04:
            return self.rebase(*machines, start=start, made=made)
        v, values = self.keys[-1].v, b""
        for machine in machines:
            v = self.by_gamma(v, machine.x)
            values += encode_scalar(machine.x) + encode(v)
        self.keep(self.scheme.in_epoch(self.keys[-1], v))
        self.epoch(start, group_file.STEPS, bytes([len(machines)]) + values, made, machines)

    def rebase(self, *machines, start, made=None):
        rows = sorted(machine.index for machine in machines)
        self.epoch(start, group_file.REBASE, u16(len(rows)) + b"".join(map(u32, rows)), made, machines)
        e = len(self.keys)
        v = self.scheme.rebased_v(self.nonce, e, self.epoch_id(e))
        self.keep(self.scheme.in_epoch(self.keys[-1], v))

    def new_opening_key(self, t, n, start, made=None):
        key, xi = self.keys[-1], rand()
        h = power(key.u, xi)
        self.keep(xr.with_opening(key, h, power(h, self.gamma)), [deal(xi, t, n, key.u)])
        values = encode(h) + encode(self.keys[-1].h_w) + sharing(t, n, self.lists[-1], 2)
        self.epoch(start, group_file.SHARING, values, made)

    def epoch(self, start, change, values, made=None, revoked=()):
        e, self.made = len(self.bodies), self.made if made is None else made
        self.gone.append(self.gone[-1] | {machine.index for machine in revoked})
        self.checkpoint()
        size = u32(len(self.machines)) + merkle.tree_hash(self.entries())
        head = b"\1" + u32(e) + self.epoch_id(e - 1) + u64(self.made) + u64(start) + size
        self.bodies.append(head + bytes([change]) + values)

    # Files

    def part(self, body):
        return u32(len(body)) + body + self.manager.sign(b"clew-group-part-1" + body)

    def entries(self, count=None):
        return [machine.entry for machine in self.machines[:count]]

    def head(self, count, before):
        """machines, root, and the proof that this register continues that of `before` entries."""
        entries = self.entries(count)
        proof = consistency(before, entries) if 0 < before < count else []
        return u32(count) + merkle.tree_hash(entries) + bytes([len(proof)]) + b"".join(proof)

    def checkpoint(self):
        before = self.heads[-1][0] if self.heads else 0
        if len(self.machines) > before:
            self.heads.append((len(self.machines), b"\3" + self.head(len(self.machines), before)))

    def register(self, last=None, machines=None):
        count = len(self.machines) if machines is None else machines
        before = self.heads[-1][0] if self.heads else 0
        return b"\2" + (last or hash_of(self.bodies[-1])) + u64(9) + self.head(count, before)

    def file(self, bodies=None):
        bodies = bodies or [*self.bodies, *(body for _, body in self.heads), self.register()]
        return b"clew-group-file\n" + b"".join(map(self.part, bodies))

    def row(self, machine, machines=None):
        count = len(self.machines) if machines is None else machines
        path = inclusion(machine.index, self.entries(count))
        return u16(len(machine.entry)) + machine.entry + u32(count) + bytes([len(path)]) + b"".join(path)

    def register_file(self, epochs, values=1, machines=None):
        data = b"clew-register-1\n" + self.id + bytes([values, len(epochs)]) + b"".join(map(u32, epochs))
        for machine in self.machines if machines is None else machines:
            row, given = self.row(machine), b""
            for e in epochs:
                if machine.index in self.gone[e]:
                    given += bytes(32 if values == 1 else 48)
                else:
                    B = self.signs_with(machine, e)
                    given += self.scheme.index(B) if values == 1 else encode(B)
            data += u32(len(row)) + row + (encode_scalar(machine.x) if self.scheme is xr else b"") + given
        return data

    def buckets(self, e):
        """Those of a rebase, by their first row."""
        out = {}
        for first in range(0, len(self.machines), key_file.BUCKET):
            rows = self.machines[first : first + key_file.BUCKET]
            listed = [bytes(48) if m.index in self.gone[e] else encode(self.witness(m, e)) for m in rows]
            head = b"clew-witness-1\n\0" + self.id + u32(e) + u32(first) + u16(len(rows))
            out[first] = head + b"".join(listed)
        return out

    def key_file(self, machine, epochs):
        """The payload and the label of a member key file."""
        group = group_file.Group(self.file())
        secret = encode(machine.A) + encode_scalar(machine.x) + (encode_scalar(machine.y) if self.scheme is xr else b"")
        seed = device(machine.name).private_bytes_raw() if self.scheme is xr else b""
        held = b"".join(
            u32(e) + self.epoch_id(e) + u64(group.start(e)) + self.keys[e].encode()
            + encode(self.keys[e].v) + encode(self.witness(machine, e))
            for e in epochs
        )  # fmt: skip
        head = bytes([self.scheme.CODE]) + self.id + self.nonce + name(machine.name) + u32(machine.index)
        return text.write(key_file.MEMBER, head + secret + seed + bytes([len(epochs)]) + held)

    # Signing (3.3, 4.2)

    def sign(self, machine, e, M, incremental=False, **twist):
        key, id, B = self.keys[e], self.epoch_id(e), self.signs_with(machine, e)
        return (sign_xr if self.scheme is xr else sign_bbs04)(key, id, M, B, machine, incremental, **twist)

    def packet(self, machine, e, payload=b"hello", time=0, incremental=False, sign=None, mode=1, block=b""):
        """An IPv4 UDP packet with a trailer; link type raw IP."""
        sign = sign or (lambda M: self.sign(machine, e, M, incremental))
        found = self.trailer(e, payload, time, trailer.INCREMENTAL if incremental else 0, mode, block)
        return frame_of(found, sign(trailer.message(datagram_of(payload), found)))

    def trailer(self, e, payload, time, flags, mode, block=b"", saved=None):
        upper, saved = ipv4_udp(payload)[20:], saved or {}
        return trailer.Trailer(upper, b"", block, saved, self.id[:8], e, time, self.scheme.CODE, flags, mode, 0)

    def window(self, machine, e, payloads, k_max, time=0, incremental=False, bodies=None):
        """Packets in mode window; `bodies`: {place: a body in the place of its signature}."""
        frames, before = [], []
        for i, payload in enumerate(payloads):
            covered = before[max(0, len(before) - k_max + 1) :]
            h = hash_of(b"clew-window-v1\0\0", *covered) if covered else bytes(32)
            Ms = []
            sign = lambda M: Ms.append(M) or (bodies or {}).get(i) or self.sign(machine, e, M, incremental)
            block = (len(covered) + 1).to_bytes(2, "big") + h
            frames.append(self.packet(machine, e, payload, time, incremental, sign, trailer.WINDOW, block))
            before.append(hash_of(b"\0", u32(len(Ms[0])), Ms[0], read_packet(frames[-1])[1].body))
        return frames

    def block(self, machine, e, payloads, size=16, time=0, flags=None, saved=None, id=b"i" * 16):
        """Packets of one block; `flags` and `saved`: {index: value}."""
        count, trailers, leaves = len(payloads), [], []
        for i, payload in enumerate(payloads):
            found = self.trailer(e, payload, time, (flags or {}).get(i, 0), trailer.TREE, b"", (saved or {}).get(i))
            values, fields = b"".join(found.saved.values()), trailer.nonvolatile(datagram_of(payload), found)
            content = bytes([found.flags & 0x1F, len(values)]) + values + u32(len(fields)) + fields
            leaves.append(hash_of(b"\0", id, u16(i), u16(count), bytes([size]), content))
            trailers.append(found)
        covered = id + u16(count) + bytes([size]) + subtree(id, size, leaves)
        M = b"clew-packet-v1\0\0" + bytes([1, 1, 3, self.scheme.CODE, 0]) + self.id[:8] + u32(e) + u64(time)
        M += u16(len(covered)) + covered + b"\0" + u32(0)
        body, frames = self.sign(machine, e, M, True), []
        for i, found in enumerate(trailers):
            path = audit(id, size, leaves, i)
            found.block = id + u16(i) + u16(count) + bytes([size, len(path)]) + b"".join(path)
            frames.append(frame_of(found, body if found.incremental else body[: self.scheme.SIGNATURE]))
        return frames

    def coded(self, frames, k, T):
        """The packets of a block, of one form, in coded carriage."""
        founds = [read_packet(frame)[1] for frame in frames]
        block, blob = trailer.read_tree(founds[0].block)[0], founds[0].body
        code = carriage.Code(block.count, k, len(blob))
        shares = code.shares(blob)
        _, tags = carriage.Tags(block.id, code, T).tree(shares)
        for found in founds:
            found.carriage = {8: 2, 4: 3}[T]
        return [frame_of(found, u16(k) + share + tag) for found, share, tag in zip(founds, shares, tags, strict=True)]

    # Openings (5.3, opening.md 6) and matches (5.4, opening.md 7)

    def request(self, kind, e, frame, machine=None, group=None):
        packet, found = receiver.read(frame, len(frame), 101)
        digest = opening.packet_digest(trailer.message(packet, found), found.body[: self.scheme.SIGNATURE])
        leaf = merkle.leaf_hash(machine.entry) if machine else bytes(32)
        start = b"clew-request-1\0\0" + bytes([kind, self.scheme.CODE]) + (group or self.id) + u32(e) + self.epoch_id(e)
        request = start + digest + trailer.asked(packet, found) + bytes(32) + leaf + bytes(8)
        return request, found.body[: self.scheme.SIGNATURE]

    def decrypt(self, e, i, part, context, P):
        base, _ = self.scheme.share_bases(self.keys[e])[part]
        share = self.shares[e][part][i]
        D_ = power(P, share)
        prefix = (D("clew-share-1"), context, bytes([i, part + 1]), base, power(base, share), P, D_)
        return encode(D_) + prove(share, base, P, prefix=prefix)

    def opening(self, e, frame, machine, indices, **changes):
        request, body = self.request(1, e, frame)
        points, _ = self.scheme.ciphertext(body)
        shares = [
            bytes([i]) + b"".join(self.decrypt(e, i, part, hash_of(request), P) for part, P in enumerate(points))
            for i in indices
        ]
        fields = {"request": request, "shares": b"".join(shares)}
        fields |= {"x": encode_scalar(machine.x)} if self.scheme is xr else {}
        fields |= {"anchor": u16(0), "row": self.row(machine)} | changes
        return b"".join(fields.values())

    def match(self, e, frame, machine, indices, rho=None, B_X=None, **changes):
        request, body = self.request(2, e, frame, machine)
        (T1,), T2 = xr.ciphertext(body)
        set_, B_X = sum(1 << i - 1 for i in indices), B_X or self.signs_with(machine, e)
        session, Delta = quorum.match_session(hash_of(request), set_), powers((T2, 1), (B_X, -1))
        blinds = []
        for i in indices:
            rho_i = rho[i] if rho else rand()
            E, F = power(T1, rho_i), power(Delta, rho_i)
            proof = prove(rho_i, T1, Delta, prefix=(D("clew-blind-1"), session, bytes([i]), T1, Delta, E, F))
            blinds.append(encode(E) + encode(F) + proof)
        E, context = product(*(decode_g1(b[:48]) for b in blinds)), quorum.product_context(session, blinds)
        decryptions = b"" if is_inf(E) else b"".join(self.decrypt(e, i, 0, context, E) for i in indices)
        fields = {"request": request, "set": u32(set_), "B_X": encode(B_X), "x": encode_scalar(machine.x), "blinds": b"".join(blinds)}
        fields |= {"decryptions": decryptions or bytes(0), "anchor": u16(0), "row": self.row(machine)}
        return b"".join((fields | changes).values())


def history(scheme):
    """Epochs: 0; 1 revokes b at 100 s; 2 a new opening key (xr) or a rebase; 3 a rebase revokes c, planned for 900 s;
    4 revokes d, urgently, at 400 s, which brings 3 forward. `late` joins in epoch 1, `last` in epoch 4."""
    maker = Maker(scheme, nonce=b"H" * 32)
    for label in "abcd":
        maker.enrol(label)
    a, b, c, d = maker.machines
    maker.revoke(b, start=100 * 10**9, made=90 * 10**9)
    maker.enrol("late", replaces=1)
    if scheme is xr:
        maker.new_opening_key(1, 2, 200 * 10**9, made=190 * 10**9)
    else:
        maker.rebase(start=200 * 10**9, made=190 * 10**9)
    maker.rebase(c, start=900 * 10**9, made=300 * 10**9)
    maker.revoke(d, start=400 * 10**9, made=390 * 10**9)
    maker.enrol("last")
    return maker


def inclusion(index, entries):
    """RFC 6962, 2.1.1"""
    if len(entries) == 1:
        return []
    k = 1 << (len(entries) - 1).bit_length() - 1
    if index < k:
        return inclusion(index, entries[:k]) + [merkle.tree_hash(entries[k:])]
    return inclusion(index - k, entries[k:]) + [merkle.tree_hash(entries[:k])]


def consistency(first, entries, whole=True):
    """RFC 9162, 2.1.4.1"""
    count = len(entries)
    if first == count:
        return [] if whole else [merkle.tree_hash(entries)]
    k = 1 << (count - 1).bit_length() - 1
    if first <= k:
        return consistency(first, entries[:k], whole) + [merkle.tree_hash(entries[k:])]
    return consistency(first - k, entries[k:], False) + [merkle.tree_hash(entries[:k])]


def subtree(id, size, leaves, start=0):
    """tree.md 2 by the recursive definition of RFC 6962, 2.1: the digest over `leaves`, the first of them at `start`."""
    if len(leaves) == 1:
        return leaves[0]
    level = (len(leaves) - 1).bit_length()
    k = 1 << level - 1
    left, right = subtree(id, size, leaves[:k], start), subtree(id, size, leaves[k:], start + k)
    return hash_of(b"\1", id, bytes([level]), u16(start >> level), left[:size], right[:size])


def audit(id, size, leaves, i, start=0):
    """The path of leaf i, likewise (RFC 6962, 2.1.1)."""
    if len(leaves) == 1:
        return []
    k = 1 << (len(leaves) - 1).bit_length() - 1
    if i < k:
        return audit(id, size, leaves[:k], i, start) + [subtree(id, size, leaves[k:], start + k)[:size]]
    return audit(id, size, leaves[k:], i - k, start + k) + [subtree(id, size, leaves[:k], start)[:size]]


def sign_xr(key, id, M, B, machine, incremental=False, ra=None, alpha=None, twist=None):
    alpha, ra, rx, rd, ry = alpha or rand(), ra if ra is not None else rand(), rand(), rand(), rand()
    T1, T2 = power(key.u, alpha), powers((B, 1), (key.h, alpha))
    R1, R3 = power(key.u, ra), powers((T2, rx), (key.h, -rd), (key.h0, -ry), (key.h_w, -ra))
    if twist == "R1":  # everything fits an R1 that is not the derived one
        R1 = power(R1, 2)
    c_bytes = hash_of(D("clew-xr-signature-1"), id, T1, T2, R1, R3, M)[:16]
    c = decode_short(c_bytes)
    s = [ra + c * alpha, rx + c * machine.x, rd + c * alpha * machine.x, ry + c * machine.y]
    data = encode(T1) + encode(T2) + encode(R3) + c_bytes + b"".join(map(encode_scalar, s))
    return data + (encode(R1) if incremental else b"")


def sign_bbs04(key, id, M, B, machine, incremental=False):
    alpha, beta, ra, rb, rx, rd1, rd2 = (rand() for _ in range(7))
    T1, T2, T3 = power(key.u, alpha), power(key.v_, beta), powers((B, 1), (key.h, alpha + beta))
    R = [encode(power(key.u, ra)), encode(power(key.v_, rb))]
    R += [gt_bytes((powers((T3, rx), (key.h, -rd1 - rd2)), key.g2), (power(key.h, -ra - rb), key.w))]
    R += [encode(powers((T1, rx), (key.u, -rd1))), encode(powers((T2, rx), (key.v_, -rd2)))]
    digest = long_challenge(b"clew-bbs04-sig-1", id, T1, T2, T3, *R, M)
    c, x = int.from_bytes(digest, "big"), machine.x
    s = [ra + c * alpha, rb + c * beta, rx + c * x, rd1 + c * x * alpha, rd2 + c * x * beta]
    data = encode(T1) + encode(T2) + encode(T3) + digest + b"".join(map(encode_scalar, s))
    return data + (b"".join(R) if incremental else b"")


def ipv4_udp(payload, behind=b""):
    upper = bytes.fromhex("c6336402") + (8 + len(payload) + len(behind)).to_bytes(2, "big") + b"\0\0" + payload + behind
    return bytes([0x45, 0]) + (20 + len(upper)).to_bytes(2, "big") + bytes.fromhex("abcd000040110000c0000201c6336402") + upper


def frame_of(found, body):
    """The packet with this trailer."""
    parts = body + found.block if found.carriage == trailer.FULL else found.block + body
    parts += b"".join(found.saved.values())
    parts += found.group + u32(found.epoch) + u64(found.timestamp) + bytes([found.scheme, found.carriage])
    foot = bytes([found.flags, found.mode]) + (len(parts) + 9).to_bytes(2, "big") + b"\1" + trailer.MAGIC
    return ipv4_udp(found.upper[8:], parts + foot)


def datagram_of(payload):
    original = ipv4_udp(payload)
    return datagram.Datagram(original[:20], [], 17, original[20:], 9999, original[16:20])


def read_packet(frame):
    packet = datagram.read(datagram.Frame(frame, len(frame)), 101)
    return packet, trailer.read(packet)


def pcap(frames):
    """frames: (time in ns, frame); link type raw IP"""
    out = bytes.fromhex("4d3cb2a1 0200 0400 00000000 00000000 ffff0000 65000000")
    for time, frame in frames:
        words = (time // 10**9, time % 10**9, len(frame), len(frame))
        out += b"".join(n.to_bytes(4, "little") for n in words) + frame
    return out
