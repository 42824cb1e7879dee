"""A client: what it may send, and what it thinks of what comes (tunnel.md 6.1, 6.3, 6.4, 8, 10 and 13)."""

from hashlib import sha256, sha512

from . import nacl, need, tunnel
from .tunnel import big
from .tunnel_end import DRAIN, SECOND, Closed, End, Line, same

NOISE, PUZZLES, STALE_MAX, CERT_LIFETIME = 10 * SECOND, 3, 2, 2 * 366 * 86_400_000


class Attempt:
    """The initiation packet that is not answered."""

    def __init__(self, client_key, secret):
        self.client_key, self.secret, self.last_t, self.offset = client_key, secret, None, None
        self.nonces, self.text, self.puzzles, self.stale, self.asked = [], None, 0, 0, {}

    def sent(self, t, now):
        """The offset is drawn once; what is sent again takes the time anew."""
        if self.offset is None:
            self.offset = t - now
            same(abs(self.offset) <= NOISE, "offset of an initiation packet")
        same(t in (now + self.offset, (self.last_t or 0) + 1), "nonce of an initiation packet")
        self.last_t = t


class ClientEnd(End):
    def __init__(self, program, world):
        super().__init__("C", program)
        self.world, self.state, self.attempt, self.first, self.held = world, "FIRST", None, [], None
        self.source, self.asked, self.posed = None, [], {}

    def urgent(self, name, arguments, now):
        q, digest, w, nonce = arguments
        if name != "puzz":
            raise Closed("order")
        if big(w) > tunnel.W_MAX:
            raise Closed("too-hard")
        self.posed[nonce] = digest

    def sends_urgent(self, name, arguments, now):
        if name == "puzzSoln":
            same(sha512(arguments[0]).digest() == self.posed.get(arguments[1]), "answer to a puzzle")

    def own_control(self, name, arguments, now):
        if name == "rekeyNow":
            return
        if name in ("giveCert", "ok") or name == "refuse" and not big(arguments[0]):
            wanted = "giveCert" if name == "ok" else "requestCert"
            if not self.asked or name != "refuse" and self.asked[0] != wanted:
                return self.note("unasked")
            self.asked.pop(0)
            return self.program.expects.append({"giveCert": "given", "ok": "ok", "refuse": "refused 0"}[name])
        number = big(arguments[0])
        connection = self.find(number)
        if connection is None:
            return
        if connection.accepted:
            return self.note("unasked")
        if name == "ack":
            self.accept(number)
        else:
            del self.connections[number]
        self.program.expects.append(f"{'accepted' if name == 'ack' else 'refused'} {number}")

    def sends_control(self, name, arguments):
        if name.startswith("create"):
            same(big(arguments[0]) > self.created, "ids upwards")
            self.created = big(arguments[0])
            self.connections[self.created] = self.world.connection()
        elif name in ("requestCert", "giveCert"):
            self.asked.append(name)

    def came_from(self, line, newest, source, size, acknowledged, now, initiation):
        if line is self.line and self.state == "REKEY":
            self.state, self.attempt = "OPEN", None

    def initiates(self, data, now, source):
        """An initiation packet: of a new tunnel, a rekey, or one of these again."""
        tid, puzzle = bytes([data[0] & 0x3F]) + data[1:8], data[0] & 0x40
        same(len(data) == self.world.m, "length M")
        client, t = data[16:48], big(data[8:16]) // 2
        if self.attempt is None:
            self.begins(tid, client, source, now)
        attempt, line = self.attempt, self.first[-1][0] if self.state == "FIRST" else self.line
        same((tid, client) == (line.tid, attempt.client_key), "the same TID and C'")
        attempt.sent(t, now)
        attempt.nonces.append(big(data[8:16]))
        line.last = big(data[8:16])
        if puzzle:
            r, nonce = data[48:128], data[128:136]
            same(sha512(r).digest() == attempt.asked.get(nonce), "solution of a puzzle that was taken")
            same(not any(data[136:196]), "60 zeros")
        text = line.open(data, 32 + 148 * (puzzle > 0))
        announced = tunnel.first(text[8:], client)
        same(announced != tid and self.announced in (None, announced), "the announced TID")
        self.announced = announced
        found, end = tunnel.calls(text[8:])
        same(end <= self.world.m - 220, "room for a solution")
        carried = text[:4] + text[8 : 8 + end]
        same(attempt.text in (None, carried) or attempt.stale, "the same RPCs")
        attempt.text, self.source = carried, source
        if self.state == "FIRST":
            same(text[4:8] == bytes(4), "ack of a new tunnel")
        self.sends(line, text, now, attempt.stale > 0)

    def begins(self, tid, client, source, now):
        secret = self.world.client_secrets[client]
        self.attempt = Attempt(client, secret)
        if self.state == "OPEN":
            same(tid == self.announced, "the announced TID")
            moved = source != self.source
            self.old, self.old_until = (None, None) if moved else (self.line, now + DRAIN)
            self.line, self.state, self.announced = Line(sha256(self.line.key).digest(), tid), "REKEY", None
            return
        self.held = self.world.held_by_client(self, tid)
        server = self.held.ephemeral if self.held else self.world.boxing
        self.first = [(Line(tunnel.shared(secret, server), tid), server)]


class Client:
    def __init__(self, program, world):
        self.program, self.world, self.tunnels = program, world, []

    def tick(self, now):
        for end in self.tunnels:
            if end.old is not None and now >= end.old_until:
                end.old = None
            due = end.receiving.ack_due
            same(end.closed or end.state == "FIRST" or due is None or now <= due, "an ack that was due")

    def open(self):
        return [end for end in self.tunnels if end.closed is None]

    def sends(self, data, now, source, to):
        flags, tid = data[0] & 0xC0, bytes([data[0] & 0x3F]) + data[1:8]
        same(to in self.world.server_addresses, "a server's address")
        same(data[15] & 1, "side of the nonce")
        if flags:
            found = [end for end in self.open() if tid in (end.announced, *self.tids(end))]
            if not found:
                self.tunnels.append(ClientEnd(self.program, self.world))
                self.tunnels[-1].packet, found = data, self.tunnels[-1:]
            return found[0].initiates(data, now, source)
        found = [end for end in self.tunnels if end.line is not None and end.line.tid == tid]
        same(found, "a TID under which nothing is sent")
        end = found[-1]
        text = end.sends_next(end.line, data)
        if end.closed:
            return end.said_last(text)
        # A NAT may change the address; a client that moved has rekeyed.
        same(end.state != "FIRST", "nothing else before the first answer")
        end.sends(end.line, text, now)

    def tids(self, end):
        return [line.tid for line in end.lines() + [line for line, _ in end.first]]

    def gets(self, data, now, source):
        need(40 <= len(data) <= 1472, "bad-length")
        flags, tid, nonce = data[0] & 0xC0, bytes([data[0] & 0x3F]) + data[1:8], data[8:16]
        need(not nonce[7] & 1 and flags in (0, 0x40, 0x80), "bad-flags")
        end = next((end for end in self.open() if tid in self.tids(end)), None)
        if flags == 0x40:
            need(len(data) == 164, "bad-length")
            need(end and end.state == "FIRST", "unexpected-answer")
            return self.interrogated(end, data)
        if flags == 0x80:
            need(190 <= len(data) - 16 <= 335, "bad-length")
            need(end and end.state != "OPEN", "unexpected-answer")
            return self.stale(end, big(nonce), data[16:], now)
        need(end, "unknown-tid")
        try:
            if end.state == "FIRST":
                self.first_answer(end, data)
            line = end.line if end.line.tid == tid else end.old
            end.opened(line, data, len(data), now, source)
        except Closed as closed:
            end.close(closed.rule)
            raise

    def first_answer(self, end, data):
        for line, server in reversed(end.first):
            if nacl.opened(line.key, tunnel.full_nonce(line.tid, data[8:16]), data[16:]) is not None:
                end.line, end.state, end.first, end.attempt = line, "OPEN", [], None
                return self.program.expects.append("opened")
        need(False, "bad-box")

    def interrogated(self, end, data):
        q, digest, w = data[16:96], data[96:160], big(data[160:])
        need(end.attempt.puzzles < PUZZLES, "too-many-puzzles")
        need(w <= min(tunnel.W_MAX, end.held.w if end.held else tunnel.W_MAX), "too-hard")
        end.attempt.puzzles += 1
        tunnel.search(q, digest, w)
        end.attempt.asked[data[8:16]] = digest

    def stale(self, end, nonce, ecert, now):
        if end.state == "FIRST":
            need(end.held and any(own & ~1 == nonce for own in end.attempt.nonces), "unexpected-answer")
            need(end.attempt.stale < STALE_MAX, "too-many-answers")
        cert = self.world.cert
        parsed = tunnel.Cert(cert)
        record = b"".join(len(part).to_bytes(2, "big") + part for part in (cert, ecert))
        tunnel.record(record, parsed.issuer, parsed.hostname, now // 10**6, CERT_LIFETIME)
        ecert = tunnel.Ecert(ecert)
        tunnel.newer(ecert, end.held)
        end.held = ecert
        self.program.expects.append("newer")
        if end.state == "REKEY":
            return
        end.attempt.stale += 1
        key = tunnel.shared(end.attempt.secret, ecert.ephemeral)
        end.first.append((Line(key, end.first[0][0].tid), ecert.ephemeral))
        # Before its solution nothing is known of the new S'.
        end.attempt.asked = {}
