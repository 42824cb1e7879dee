"""What one end of a tunnel remembers, and does alike on both sides (tunnel.md 4.1, 6.3, 7 and 11.1)."""

from . import need, nacl, Refused, tunnel
from .tunnel import big

SECOND = 10**9
NONCES, AHEAD, CREDIT, DRAIN, ACK_DELAY = 1024, 4096, 16384, 3 * SECOND, 25 * 10**6
PLACES = 2**32 - 1


class Closed(Refused):
    """A reason that closes the tunnel."""


def plus(seq, n):
    return (seq - 1 + n) % PLACES + 1


def distance(a, b):
    return (b - a) % PLACES


def is_before(a, b):
    return 0 < distance(a, b) < 2**31


class Rate:
    """So many a second, and so many at once."""

    def __init__(self, per_second, at_once):
        self.per_second, self.at_once, self.left, self.at = per_second, at_once, at_once, 0

    def take(self, now):
        self.left = min(self.at_once, self.left + (now - self.at) * self.per_second / SECOND)
        self.at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


class Line:
    """A key with its TID: what was opened under it, and what was sent."""

    def __init__(self, key, tid):
        self.key, self.tid, self.opened, self.highest, self.last = key, tid, set(), None, None

    def check(self, t):
        if self.highest is not None and t <= self.highest - NONCES:
            need(False, "old-nonce")
        need(t not in self.opened, "duplicate-nonce")

    def note(self, t):
        """Whether it is above all before it."""
        self.opened.add(t)
        newest = self.highest is None or t > self.highest
        self.highest = t if newest else self.highest
        return newest

    def open(self, data, skip=0):
        text = nacl.opened(self.key, tunnel.full_nonce(self.tid, data[8:16]), data[16 + skip :])
        need(text is not None, "bad-box")
        return text


class Receiving:
    def __init__(self):
        self.next, self.begun, self.held, self.counted = None, False, {}, 0
        self.ack_due = None

    def ack(self):
        return plus(self.next, PLACES - 1) if self.begun else 0

    def owe(self, now):
        self.ack_due = now if self.ack_due is None else min(self.ack_due, now)

    def take(self, seq, rpcs, now):
        """The RPCs of all packets whose turn it is."""
        self.counted += 1
        self.owe(now if self.counted >= 2 else now + ACK_DELAY)
        if self.next is None:
            self.next = seq & ~0xFF
        if seq != self.next or self.held:
            self.owe(now)
        need(not is_before(seq, self.next) and seq not in self.held, "duplicate-seq")
        need(distance(self.next, seq) <= AHEAD, "ahead")
        self.held[seq] = rpcs
        done = []
        while self.next in self.held:
            done.append(self.held.pop(self.next))
            self.next, self.begun = plus(self.next, 1), True
        return done


class Sending:
    def __init__(self):
        self.next, self.start, self.known, self.out = None, None, False, {}

    def send(self, seq, rpcs, may_change=False):
        """Whether the packet is a new one. Again it has the same RPCs."""
        if self.next is None:
            same(seq % 256 == 0 and 0 < seq // 256 < 2**23, "start of a sequence")
            self.start = self.next = seq
        if seq == self.next:
            same(self.known or distance(self.start, seq) < 255, "packets before the first ack")
            self.next = plus(seq, 1)
            self.out[seq] = rpcs
            return True
        same(seq in self.out or self.known and is_before(seq, self.next), "a place in the sequence")
        same(may_change or self.out.get(seq, rpcs) == rpcs, "RPCs of a packet that is sent again")
        if seq in self.out:
            self.out[seq] = rpcs
        return False

    def is_bad(self, ack):
        """It is of what was never sent, or, before anything is acknowledged, not among what was."""
        return ack != 0 and ack not in self.out and not (self.known and is_before(ack, self.next))

    def acknowledge(self, ack):
        """How many packets are acknowledged by it."""
        if self.is_bad(ack):
            raise Closed("bad-ack")
        if ack not in self.out:
            return 0
        self.known = True
        done = [seq for seq in self.out if seq == ack or is_before(seq, ack)]
        for seq in done:
            del self.out[seq]
        return len(done)


def same(holds, what):
    """For what a side sends against the rules: no reason, but a vector that is wrong."""
    if not holds:
        raise AssertionError(what)


class Connection:
    def __init__(self):
        self.received, self.granted, self.sent, self.limit = 0, CREDIT, 0, CREDIT
        self.accepted, self.pending = False, []


class End:
    """One end of a tunnel: `side` is C or S."""

    def __init__(self, side, program):
        self.side, self.other, self.program = side, "S" if side == "C" else "C", program
        self.receiving, self.sending = Receiving(), Sending()
        self.connections, self.created, self.closed, self.close_received = {}, 0, None, False
        self.line = self.old = self.old_until = self.announced = None

    def note(self, reason):
        self.program.notes.append(reason)

    def lines(self):
        return [line for line in (self.line, self.old) if line is not None]

    def opened(self, line, data, size, now, source):
        """A packet without key, from the nonce memory on."""
        t = big(data[8:16]) // 2
        line.check(t)
        text = line.open(data)
        closing = self.closing(lambda: tunnel.calls(text[8:])[0])
        need(not any((c, name) == (0, "nextTid") for _, c, name, _, _ in closing), "misplaced")
        self.take(line, t, text, now, source, size)

    def closing(self, judge):
        """A rule that closes the tunnel."""
        try:
            return judge()
        except Refused as refused:
            raise Closed(refused.rule) from None

    def take(self, line, t, text, now, source, size, initiation=False):
        newest = line.note(t)
        seq, ack = big(text[:4]), big(text[4:8])
        acknowledged = self.sending.acknowledge(ack)
        self.came_from(line, newest, source, size, acknowledged, now, initiation)
        rest = self.closing(lambda: tunnel.in_sequence(seq, text[8:]))
        for _, connection, name, arguments, _ in tunnel.calls(text[8:])[0]:
            if connection == 0 and name in tunnel.URGENT:
                self.closing(lambda c=connection, n=name, a=arguments: tunnel.rpc(c, n, a, self.other))
                self.urgent(name, [value for _, value in arguments], now)
        if initiation:
            self.receiving.owe(now)
        if seq:
            for rpcs in self.receiving.take(seq, rest, now):
                self.do_all(rpcs, now)

    def came_from(self, line, newest, source, size, acknowledged, now, initiation):
        pass

    def do_all(self, rpcs, now):
        for _, connection, name, arguments, length in tunnel.calls(rpcs)[0]:
            self.admit(connection, name)
            if connection:
                self.deliver(connection, name, arguments, length)
                continue
            try:
                tunnel.rpc(connection, name, arguments, self.other)
            except Refused as refused:
                if refused.rule != "unknown-rpc":
                    raise Closed(refused.rule) from None
                self.note("unknown-rpc")
                continue
            self.control(name, [value for _, value in arguments], now)

    def admit(self, connection, name):
        pass

    def find(self, number):
        """None for one that ended."""
        if not 1 <= number <= self.created:
            raise Closed("unknown-connection")
        if number not in self.connections:
            self.note("closed-connection")
        return self.connections.get(number)

    def deliver(self, number, name, arguments, length):
        connection = self.find(number)
        if connection is None:
            return
        if self.side == "C" and not connection.accepted:
            raise Closed("unknown-connection")
        if length > (connection.granted - connection.received) % 2**32:
            raise Closed("over-window")
        connection.received = (connection.received + length) % 2**32
        first = arguments[0][1].hex() if arguments and arguments[0][0] == "b" else ""
        said = f"rpc {number} {name} {first}".rstrip()
        (self.program.unread if connection.accepted else connection.pending).append(said)

    def accept(self, number):
        connection = self.connections[number]
        connection.accepted = True
        self.program.unread += connection.pending

    def control(self, name, arguments, now):
        if name == "windowSize":
            connection, n = self.find(big(arguments[0])), big(arguments[1])
            if connection is None:
                return
            if n == connection.limit:
                return
            if (n - connection.limit) % 2**32 < 2**31:
                connection.limit = n
            else:
                self.note("old-window")
        elif name == "close" and big(arguments[0]):
            if self.find(big(arguments[0])) is not None:
                del self.connections[big(arguments[0])]
                self.program.expects.append(f"closed {big(arguments[0])}")
        elif name == "close":
            self.close_received = True
            self.close(None)
        else:
            self.own_control(name, arguments, now)

    def close(self, reason):
        if self.closed is None:
            self.closed = reason or "closed"
            self.program.expects.append("gone" if reason is None else f"gone {reason}")

    def sends(self, line, text, now, may_change=False):
        """What every packet has that this end sends: ack, place in the sequence, RPCs that it may send."""
        seq, ack = big(text[:4]), big(text[4:8])
        same(ack == self.receiving.ack(), "ack")
        self.receiving.ack_due, self.receiving.counted = None, 0
        rest = tunnel.in_sequence(seq, text[8:])
        for _, connection, name, arguments, _ in tunnel.calls(text[8:])[0]:
            if connection == 0:
                tunnel.rpc(connection, name, arguments, self.side)
                if name in tunnel.URGENT:
                    self.sends_urgent(name, [value for _, value in arguments], now)
        if not seq or not self.sending.send(seq, rest, may_change):
            return
        for _, connection, name, arguments, length in tunnel.calls(rest)[0]:
            if connection:
                found = self.connections[connection]
                same(self.side == "C" or found.accepted, "RPC of a server before its ack")
                same(length <= (found.limit - found.sent) % 2**32, "receive window of the other side")
                found.sent = (found.sent + length) % 2**32
            elif name == "windowSize":
                self.connections[big(arguments[0][1])].granted = big(arguments[1][1])
            elif name == "close":
                if big(arguments[0][1]):
                    del self.connections[big(arguments[0][1])]
                elif self.closed is None:
                    self.closed = "closed"
            else:
                self.sends_control(name, [value for _, value in arguments])

    def sends_next(self, line, data):
        """The nonce of a packet that is no initiation packet."""
        same(line.last is not None and big(data[8:16]) == line.last + 2, "nonce: 2 more than the last")
        line.last += 2
        return line.open(data)

    def said_last(self, text):
        """close(0), once, of a tunnel that is gone; none where one was received."""
        found, _ = tunnel.calls(text[8:])
        same(not self.close_received and self.closed != "said", "no word of a tunnel that is gone")
        same([call[1:4] for call in found] == [(0, "close", [("d", bytes(4))])], "close(0) alone")
        same(big(text[4:8]) == self.receiving.ack(), "ack")
        self.closed = "said"
