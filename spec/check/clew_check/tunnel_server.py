"""A server: what it thinks of each packet, and what it may send (tunnel.md 6, 8 to 10 and 12.1)."""

from hashlib import sha256, sha512

from . import nacl, need, Refused, tunnel
from .tunnel import big
from .tunnel_end import DRAIN, SECOND, Closed, Connection, End, Line, Rate, same

ANSWER, REKEY, REKEY_ANSWER, PATH_TIMEOUT, AMPLIFICATION = 256, 600 * SECOND, 30 * SECOND, 3 * SECOND, 3
T1_RPCS = ("requestCert", "close")


class ServerEnd(End):
    def __init__(self, program, server, source, solved):
        super().__init__("S", program)
        self.server, self.address, self.proven, self.moved = server, source, solved, False
        self.before, self.back_at, self.received, self.sent = None, None, 0, 0
        self.keyed, self.dormant_key, self.initiated, self.puzzle, self.binder = None, None, None, None, None
        self.rekeys, self.moves, self.t1, self.bits = Rate(1, 4), Rate(1, 4), False, 0

    def came_from(self, line, newest, source, size, acknowledged, now, initiation):
        if line is self.line and newest and source != self.address:
            self.move(source, now, initiation)
        if source == self.address:
            self.received += size
        if acknowledged and not self.moved:
            self.proven = True

    def move(self, source, now, initiation):
        if not self.moves.take(now):
            return self.note("too-many-moves")
        if initiation:
            self.before = None
        elif self.proven:
            self.before, self.back_at = self.address, now + PATH_TIMEOUT
        self.address, self.proven, self.moved = source, False, True
        self.received = self.sent = 0

    def go_back(self):
        self.address, self.before, self.proven, self.puzzle = self.before, None, True, None

    def urgent(self, name, arguments, now):
        if name == "nextTid":
            return
        if name != "puzzSoln":
            raise Closed("order")
        r, nonce = arguments
        if self.puzzle is None or (nonce, sha512(r).digest()) != self.puzzle[:2]:
            return self.note("bad-solution")
        if self.puzzle[2] == self.address:
            self.proven, self.before = True, None
        self.puzzle = None

    def sends_urgent(self, name, arguments, now):
        _, digest, w, nonce = arguments
        same(name == "puzz" and big(w) <= tunnel.W_MAX, "puzz")
        if self.puzzle is not None and self.puzzle[0] == nonce:
            same(self.puzzle == (nonce, digest, self.address), "a puzzle for one address alone")
        self.puzzle = (nonce, digest, self.address)

    def admit(self, connection, name):
        if self.t1 and (connection or name not in T1_RPCS):
            raise Closed("not-allowed")

    def own_control(self, name, arguments, now):
        if name.startswith("create"):
            number = big(arguments[0])
            if not self.created < number < 2**31:
                raise Closed("bad-connection")
            self.created = number
            try:
                who = self.authorised(name, arguments)
            except Refused as refused:
                return self.note(refused.rule)
            self.connections[number] = Connection()
            self.program.expects.append(f"create {number} {arguments[1]} {who}")
        elif name == "requestCert":
            self.requested(arguments[0])
        else:
            need(name == "giveCert", "wrong-side")
            self.note("not-allowed")

    def authorised(self, name, arguments):
        need(name != "createAuthGroup", "not-offered")
        need(1 <= len(arguments[1].encode()) <= 64 and arguments[1].isprintable(), "bad-service")
        if name == "create":
            return "anonymous"
        server, user = self.server, arguments[2]
        need(self.bits & (1 if name == "createAuth" else 2), "not-offered")
        if name == "createAuth":
            tunnel.box(server.boxing_secret, user, arguments[3])
            return user.hex()
        live = {nacl.public(secret): secret for secret in server.live}
        need(arguments[3] in live, "stale-authenticator")
        tied = server.cert.signing, self.binder, user, arguments[0], arguments[1].encode()
        tunnel.bound(server.boxing_secret, live[arguments[3]], *tied, arguments[4])
        return user.hex()

    def requested(self, identity):
        try:
            own = tunnel.identity(identity) == self.server.cert.hostname
        except Refused as refused:
            return self.note(refused.rule)
        own = own and identity[1:33] in (self.server.cert.signing, identity[1:33] if identity[0] == 0 else None)
        if self.t1 and not own:
            raise Closed("not-allowed")
        if not own and not self.server.directory:
            return self.note("not-allowed")
        if not own:
            self.program.expects.append("request")

    def sends_control(self, name, arguments):
        if name in ("ack", "refuse") and big(arguments[0]):
            number = big(arguments[0])
            found = self.connections.get(number)
            same(number <= self.created and (found is not None and found.accepted) == (name == "ack"), name)

    def leaves(self, data, now, to):
        """A packet of this tunnel that the server sends."""
        line, first = self.line, self.initiated is not None
        if first:
            same(big(data[8:16]) == self.initiated + 1, "the server's first nonce under a key")
            same(len(data) in (ANSWER, self.server.m), "padding of the first packet")
            self.initiated, line.last = None, big(data[8:16])
            text = line.open(data)
        else:
            text = self.sends_next(line, data)
        same(to == self.address, "the client's address")
        self.sent += len(data)
        same(self.proven or self.sent <= AMPLIFICATION * self.received, "amplification")
        if self.closed:
            return self.said_last(text)
        self.sends(line, text, now)


class Server:
    def __init__(self, program, world):
        self.program, self.m, self.cert, self.boxing_secret = program, world.m, tunnel.Cert(world.cert), world.boxing_secret
        self.keys, self.directory = world.server_keys, world.directory
        self.tids, self.tunnels, self.replays, self.floor, self.spent = {}, [], {}, 0, set()
        self.replay_max, self.first_rate, self.rates = world.replay_max, world.first_rate, {}
        self.live, self.owed, self.puzzle_time, self.wall = [], [], 0, 0

    def tick(self, now):
        """What time alone does: keys that come and go, addresses that were not proven."""
        self.wall = max(self.wall, now)
        begun = [key for key in self.keys if key.begins * 10**6 <= now][::-1]
        self.newest = begun[0]
        self.live = [key.secret for key in begun[:2] if now // 10**6 <= key.ecert.end + tunnel.SKEW]
        self.puzzle_secrets = [key.puzzle_secret for key in begun[:2]]
        for end in self.tunnels:
            if end.closed:
                continue
            if end.old is not None and now >= end.old_until:
                self.drop(end)
            if end.before is not None and now >= end.back_at:
                end.go_back()
            if end.dormant_key is None and now >= end.keyed + REKEY + REKEY_ANSWER:
                self.drop(end)
                del self.tids[end.line.tid]
                end.dormant_key, end.line = sha256(end.line.key).digest(), None
                end.receiving.held.clear()
            due = end.receiving.ack_due
            same(due is None or now <= due or not end.proven or end.line is None, "an ack that was due")

    def drop(self, end):
        """The key before is erased."""
        if end.old is not None:
            del self.tids[end.old.tid]
        end.old = None

    def gets_all(self, packets, now):
        """Packets of one call: keys of new tunnels are computed when all of them were looked at."""
        begun = [self.judged(lambda p=p, s=s: self.begin(p, s, now)) for p, s in packets]
        return [self.judged(rest) if callable(rest) else rest for rest in begun]

    def judged(self, step):
        """What is still to be done, or the reason."""
        try:
            return step() or "taken"
        except Refused as refused:
            return refused.rule

    def begin(self, data, source, now):
        need(40 <= len(data) <= 1472, "bad-length")
        flags, tid, t = data[0] & 0xC0, bytes([data[0] & 0x3F]) + data[1:8], big(data[8:16]) // 2
        need(data[15] & 1 and flags in (0, 0x80, 0xC0), "bad-flags")
        found = self.tids.get(tid)
        end = found[0] if found else None
        if not flags:
            need(found and found[1] != "announced", "unknown-tid")
            line = end.line if found[1] == "current" else end.old
            return self.within(end, lambda: end.opened(line, data, len(data), now, source))
        need(len(data) >= self.m, "bad-size")
        client, skip = tunnel.key(data[16:48]), 32 + 148 * (flags == 0xC0)
        need(abs(t - self.wall) <= tunnel.WINDOW, "bad-time")
        solved = self.solution(data[48:196], tid, client, source) if flags == 0xC0 else None
        if found and found[1] == "current":
            return self.one_way_out(data, source, lambda: self.again(end, data, skip, source, now))
        self.check_replay(client, t)
        if found and found[1] == "announced":
            return self.one_way_out(data, source, lambda: self.rekey(end, data, skip, source, now))
        if found:
            return self.one_way_out(data, source, lambda: need(False, "bad-box"))
        solved = solved is not None and solved not in self.spent and solved
        if not solved and not self.has_room(source, now):
            self.owed.append((source, self.interrogation(tid, client, source)))
            need(False, "puzzle-asked")
        if solved:
            self.spent.add(solved)
        return lambda: self.new(data, skip, source, now, bool(solved))

    def within(self, end, do):
        try:
            do()
        except Closed as closed:
            self.close(end, closed.rule)
            raise
        if end.closed:
            self.forget(end)

    def close(self, end, reason):
        end.close(reason)
        self.forget(end)

    def forget(self, end):
        self.tids = {tid: found for tid, found in self.tids.items() if found[0] is not end}

    def one_way_out(self, data, source, step):
        """An initiation packet that fails is answered alike, whatever it was."""
        try:
            step()
        except Closed:
            raise
        except Refused:
            if data[16:48] not in self.replays:
                answer = bytes([data[0] & 0x3F | 0x80]) + data[1:15] + bytes([data[15] & 0xFE]) + self.newest.raw
                self.owed.append((source, answer))
            raise

    def check_replay(self, client, t):
        need(client not in self.replays and t > self.floor, "replayed")

    def remember(self, client, t):
        if len(self.replays) >= self.replay_max:
            oldest = next(iter(self.replays))
            self.floor = max(self.floor, self.replays.pop(oldest))
        self.replays[client] = t

    def has_room(self, source, now):
        prefix = source[0][:15]
        rate = self.rates.setdefault(prefix, Rate(self.first_rate, self.first_rate))
        return rate.take(now)

    def ka(self, k, source):
        return sha256(b"clew-mlt-puzzle0" + k + source[0] + source[1].to_bytes(2, "big")).digest()

    def solution(self, data, tid, client, source):
        for k in self.puzzle_secrets:
            for secret in self.live:
                try:
                    tunnel.solution(self.ka(k, source), tid, client, nacl.public(secret), self.wall, data)
                    return data[80:88]
                except Refused as refused:
                    need(refused.rule == "bad-solution", refused.rule)
        need(False, "bad-solution")

    def interrogation(self, tid, client, source):
        self.puzzle_time = max(self.wall, self.puzzle_time + 1)
        nonce, ka = (2 * self.puzzle_time).to_bytes(8, "big"), self.ka(self.puzzle_secrets[0], source)
        return tunnel.interrogation(ka, tid, nonce, client, self.newest.ecert.ephemeral, self.newest.ecert.w)

    def again(self, end, data, skip, source, now):
        t = big(data[8:16]) // 2
        end.line.check(t)
        text = end.line.open(data, skip)
        need(self.announced(data, text) == end.announced, "bad-tid")
        need(not end.sending.is_bad(big(text[4:8])), "bad-ack")
        self.within(end, lambda: end.take(end.line, t, text, now, source, len(data), True))

    def rekey(self, end, data, skip, source, now):
        t = big(data[8:16]) // 2
        line = Line(end.dormant_key or sha256(end.line.key).digest(), end.announced)
        text = line.open(data, skip)
        announced = self.announced(data, text)
        need(announced not in self.tids, "bad-tid")
        need(not end.sending.is_bad(big(text[4:8])), "bad-ack")
        need(end.rekeys.take(now), "too-many-rekeys")
        self.remember(data[16:48], t)
        self.drop(end)
        if end.line is not None:
            end.old, end.old_until = end.line, now + DRAIN
            self.tids[end.old.tid] = (end, "draining")
        end.line, end.dormant_key = line, None
        self.accepted(end, data, text, announced, source, now)

    def new(self, data, skip, source, now, solved):
        opened = []
        self.one_way_out(data, source, lambda: opened.append(self.open_new(data, skip)))
        (secret, line, text, announced), t = opened[0], big(data[8:16]) // 2
        self.check_replay(data[16:48], t)
        self.one_way_out(data, source, lambda: self.fits(line.tid, announced, text))
        self.remember(data[16:48], t)
        end = ServerEnd(self.program, self, source, solved)
        end.line, end.t1 = line, secret == self.boxing_secret
        end.bits = self.newest.ecert.bits
        parts = line.key + line.tid + data[16:48] + nacl.public(secret)
        end.binder = sha256(b"clew-mlt-binder0" + parts).digest()
        self.tunnels.append(end)
        self.accepted(end, data, text, announced, source, now)

    def open_new(self, data, skip):
        tid = bytes([data[0] & 0x3F]) + data[1:8]
        for secret in self.live + [self.boxing_secret] * self.directory:
            line = Line(tunnel.shared(secret, data[16:48]), tid)
            try:
                text = line.open(data, skip)
            except Refused:
                continue
            return secret, line, text, self.announced(data, text)
        need(False, "bad-box")

    def announced(self, data, text):
        """What step 8 asks of every initiation packet, and the TID that it announces."""
        announced = tunnel.first(text[8:], data[16:48])
        tunnel.in_sequence(big(text[:4]), text[8:])
        return announced

    def fits(self, tid, announced, text):
        need(tid not in self.tids and announced not in self.tids and announced != tid, "bad-tid")
        need(text[3] == 0 and text[4:8] == bytes(4), "bad-first")

    def accepted(self, end, data, text, announced, source, now):
        end.announced, end.initiated, end.keyed = announced, big(data[8:16]), now
        self.tids[end.line.tid] = (end, "current")
        self.tids[announced] = (end, "announced")
        t = big(data[8:16]) // 2
        self.within(end, lambda: end.take(end.line, t, text, now, source, len(data), True))

    def sends(self, data, now, source, to):
        tid = bytes([data[0] & 0x3F]) + data[1:8]
        same(not data[15] & 1, "side of the nonce")
        if data[0] & 0xC0:
            same(self.owed and self.owed.pop(0) == (to, data), "an answer without a box")
            return
        found = [end for end in self.tunnels if end.line is not None and end.line.tid == tid]
        same(found, "a TID under which nothing is sent")
        found[-1].leaves(data, now, to)
