"""The bytes of tunnels (tunnel.md 1 to 5, 7.1, 10 and 11)."""

from hashlib import sha256, sha512

from . import ed25519, nacl, need

PACKET_MIN, PACKET_MAX = 40, 1472
SKEW, LIFETIME_MAX = 30_000, 86_400_000
W_MAX, PUZZLE_LIFE, WINDOW = 22, 60 * 10**9, 30 * 10**9
URGENT = ("nextTid", "puzz", "puzzSoln")

# Arguments and sender of each RPC; d number, q 8 bytes, s text, b bytes of any length, a number so many bytes.
RPCS = {
    "nextTid": ("q 32", "C"), "rekeyNow": ("", "S"), "create": ("d s", "C"), "createAuth": ("d s 32 72", "C"),
    "createAuthBound": ("d s 32 32 b", "C"), "ack": ("d", "S"), "refuse": ("d", "S"), "close": ("d", "CS"),
    "windowSize": ("d d", "CS"), "puzz": ("80 64 d 8", "S"), "puzzSoln": ("80 8", "C"), "requestCert": ("b", "C"),
    "giveCert": ("b b", "CS"), "ok": ("", "S"),
}  # fmt: skip


def big(data):
    return int.from_bytes(data, "big")


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n, reason="truncated"):
        need(self.at + n <= len(self.data), reason)
        self.at += n
        return self.data[self.at - n : self.at]

    def rest(self):
        return self.data[self.at :]


def items(reader, depth, left):
    """Values up to the end of a list; `left` holds how many may still come."""
    found = []
    while (kind := reader.take(1)) != b"e":
        need(kind in b"dqsbl", "unknown-type")
        need(left[0] > 0, "too-many-values")
        left[0] -= 1
        if kind == b"l":
            need(depth < 4, "too-deep")
            found.append(("l", items(reader, depth + 1, left)))
        else:
            found.append((kind.decode(), single(kind, reader)))
    return found


def single(kind, reader):
    if kind in b"dq":
        return reader.take(4 if kind == b"d" else 8)
    length = big(reader.take(2))
    need(kind == b"b" or length <= 512, "too-long")
    data = reader.take(length)
    if kind == b"s":
        try:
            return data.decode()
        except UnicodeDecodeError:
            need(False, "bad-utf8")
    return data


def call(reader):
    """Connection, name, arguments, and the length of the value."""
    connection, start = big(reader.take(4)), reader.at
    kind = reader.take(1)
    need(kind in b"dqsbl", "unknown-type")
    need(kind == b"l", "not-a-call")
    kind = reader.take(1)
    need(kind in b"dqsble", "unknown-type")
    need(kind == b"s", "not-a-call")
    name = single(kind, reader)
    need(1 <= len(name.encode()) <= 64, "not-a-call")
    arguments = items(reader, 1, [255])
    return connection, name, arguments, reader.at - start


def calls(data):
    """Each RPC with the place where it begins, and the place behind the last."""
    reader, found = Reader(data), []
    while any(reader.rest()):
        need(len(reader.rest()) >= 5, "bad-padding")
        need(len(found) < 64, "too-many-rpcs")
        start = reader.at
        found.append((start, *call(reader)))
    return found, reader.at


def rpc(connection, name, arguments, side):
    """An RPC of connection 0."""
    if name == "createAuthGroup" and side == "C" and arguments and arguments[0][0] == "d":
        return
    need(name in RPCS, "unknown-rpc")
    wanted, senders = RPCS[name]
    wanted = wanted.split()
    right = len(wanted) == len(arguments)
    for word, (kind, value) in zip(wanted, arguments, strict=False):
        right = right and (kind == word or word.isdigit() and kind == "b" and len(value) == int(word))
    if right and name == "createAuthBound":
        right = len(arguments[4][1]) == 44 + len(arguments[1][1].encode())
    need(right, "bad-arguments")
    need(side in senders, "wrong-side")


def first(data, key):
    """The TID that an initiation packet announces."""
    found, _ = calls(data)
    need(found and found[0][1:3] == (0, "nextTid"), "bad-first")
    rpc(*found[0][1:4], "C")
    (_, tid), (_, again) = found[0][3]
    need(again == key, "key-mismatch")
    need(tid[0] < 0x40, "bad-tid")
    return tid


def in_sequence(seq, data):
    found, end = calls(data)
    urgent = [connection == 0 and name in URGENT for _, connection, name, _, _ in found]
    behind = urgent.index(False) if False in urgent else len(urgent)
    need(not any(urgent[behind:]), "order")
    need((seq == 0) == (behind == len(urgent)), "order")
    return data[found[behind][0] : end] if behind < len(urgent) else b""


def key(data):
    need(int.from_bytes(data, "little") < 2**255 - 19, "bad-key")
    return data


def dh(secret, public):
    out = nacl.x25519(secret, public)
    need(any(out), "bad-key")
    return out


def shared(secret, public):
    return nacl.hsalsa20(dh(secret, public), bytes(16))


def full_nonce(tid, nonce):
    return b"minimaLT" + tid + nonce


def packet(data, m, k):
    """Its kind, and the plaintext where there is one."""
    need(PACKET_MIN <= len(data) <= PACKET_MAX, "bad-length")
    flags, tid, nonce, rest = data[0] & 0xC0, bytes([data[0] & 0x3F]) + data[1:8], data[8:16], data[16:]
    client = nonce[7] & 1
    need((flags, client) in ((0, 0), (0, 1), (0x40, 0), (0x80, 0), (0x80, 1), (0xC0, 1)), "bad-flags")
    if flags == 0x40:
        need(len(data) == 164, "bad-length")
        return "interrogation", None
    if flags == 0x80 and not client:
        need(190 <= len(rest) <= 335, "bad-length")
        return "stale-key", None
    kind = "client" if client else "server"
    if flags:
        need(len(data) >= m, "bad-size")
        key(rest[:32])
        kind, rest = "initiation", rest[32 + 148 * (flags == 0xC0) :]
    text = nacl.opened(k, full_nonce(tid, nonce), rest)
    need(text is not None, "bad-box")
    return kind, text


def hostname(name):
    parts = name.split(b".")
    letters = b"abcdefghijklmnopqrstuvwxyz0123456789-"
    good = len(name) <= 253 and all(1 <= len(part) <= 63 and all(c in letters for c in part) for part in parts)
    return good and not any(part.startswith(b"-") or part.endswith(b"-") for part in parts)


class Ecert:
    def __init__(self, data):
        reader = Reader(data)

        def take(n):
            return reader.take(n, "record-length")

        self.signature, self.body = take(64), data[64:]
        need(take(2) == b"\0\0", "record-version")
        self.bits, self.w, self.m = take(1)[0], take(1)[0], big(take(2))
        self.signing, self.boxing, self.ephemeral = take(32), take(32), take(32)
        self.start, self.end = big(take(8)), big(take(8))
        self.addresses = []
        for _ in range(take(1)[0]):
            family = take(1)[0]
            need(family in (4, 6), "record-length")
            self.addresses.append((take(4 if family == 4 else 16), big(take(2))))
        need(not reader.rest(), "record-length")


class Cert:
    def __init__(self, data):
        reader = Reader(data)

        def take(n):
            return reader.take(n, "record-length")

        self.signature, self.body = take(64), data[64:]
        need(take(2) == b"\0\0", "record-version")
        self.issuer, self.signing, self.boxing = take(32), take(32), take(32)
        self.start, self.end = big(take(8)), big(take(8))
        self.hostname = take(take(1)[0])
        need(not reader.rest(), "record-length")


def reachable(address, port):
    multicast = address[0] == 255 if len(address) == 16 else address[0] >> 4 == 14
    return port and any(address) and not multicast and address[:12] != bytes(10) + b"\xff\xff"


def record(data, issuer, host, now, cert_lifetime):
    reader = Reader(data)
    parts = [reader.take(big(reader.take(2, "record-length")), "record-length") for _ in range(2)]
    need(not reader.rest() and all(len(part) >= 66 for part in parts), "record-length")
    need(all(part[64:66] == b"\0\0" for part in parts), "record-version")
    cert, ecert = Cert(parts[0]), Ecert(parts[1])
    need(cert.issuer == issuer, "untrusted")
    for who, signed, label in ((issuer, cert, b"clew-mlt-cert"), (cert.signing, ecert, b"clew-mlt-ecert")):
        message = label.ljust(16, b"\0") + signed.body
        need(ed25519.verifies(who, signed.signature, message), "record-signature")
    need((cert.signing, cert.boxing) == (ecert.signing, ecert.boxing), "record-keys")
    need(hostname(cert.hostname), "bad-hostname")
    need(cert.hostname == host, "wrong-host")
    need(ecert.bits < 4, "reserved-bits")
    need(ecert.w <= W_MAX and 1024 <= ecert.m <= 1232, "bad-limits")
    need(1 <= len(ecert.addresses) <= 8 and all(reachable(*a) for a in ecert.addresses), "bad-address")
    key(cert.boxing)
    key(ecert.ephemeral)
    for part, most in ((cert, cert_lifetime), (ecert, LIFETIME_MAX)):
        need(part.start < part.end and part.end - part.start <= most, "bad-lifetime")
    need(max(cert.start, ecert.start) <= now + SKEW, "not-yet-valid")
    need(now <= min(cert.end, ecert.end), "expired")


def newer(ecert, held):
    same = (ecert.signing, ecert.boxing) == (held.signing, held.boxing)
    need(same and ecert.start > held.start, "not-newer")


def identity(data):
    reader = Reader(data)
    length = reader.take(1, "bad-identity")[0]
    need(length in (0, 32), "bad-identity")
    reader.take(length, "bad-identity")
    name = reader.take(reader.take(1, "bad-identity")[0], "bad-identity")
    need(not reader.rest() and hostname(name), "bad-identity")
    return name


def box(boxing, user, x):
    text = nacl.opened(shared(boxing, key(user)), x[:24], x[24:])
    need(text == nacl.public(boxing), "authenticator")


def bound(boxing, ephemeral, signing, binder, user, connection, service, x):
    dhs = dh(boxing, key(user)) + dh(ephemeral, user)
    keys = user + nacl.public(boxing) + nacl.public(ephemeral) + signing
    kb = sha256(b"clew-mlt-bound-0" + dhs + binder + keys).digest()
    need(len(x) >= 40 and nacl.opened(kb, x[:24], x[24:]) == connection + service, "authenticator")


def interrogation(ka, tid, nonce, client, ephemeral, w):
    r = nacl.seal(ka, full_nonce(tid, nonce), client + ephemeral)
    q = (big(r) >> w << w).to_bytes(80, "big")
    return bytes([tid[0] | 0x40]) + tid[1:] + nonce + q + sha512(r).digest() + w.to_bytes(4, "big")


def solution(ka, tid, client, ephemeral, now, data):
    r, nonce, zeros = data[:80], data[80:88], data[88:]
    need(not any(zeros) and not nonce[7] & 1, "bad-solution")
    need(nacl.opened(ka, full_nonce(tid, nonce), r) == client + ephemeral, "bad-solution")
    need(0 <= now - big(nonce) // 2 <= PUZZLE_LIFE, "old-solution")


def search(q, digest, w):
    need(w <= W_MAX, "too-hard")
    start = big(q) >> w << w
    ends = ((start + end).to_bytes(80, "big") for end in range(2**w))
    r = next((r for r in ends if sha512(r).digest() == digest), None)
    need(r is not None, "unsolvable")
    return r
