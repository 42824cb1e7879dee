"""Runs of spec/vectors/tunnel.jsonl: two ends in virtual time, whose every packet is judged anew."""

from ipaddress import ip_address

from . import Refused, nacl, need, tunnel
from .cases import equal
from .tunnel import big
from .tunnel_client import Client
from .tunnel_end import Connection, same
from .tunnel_server import Server


class ServerKey:
    """An S' with its certificate and the puzzle secret of its time."""

    def __init__(self, raw, secret, puzzle_secret, first):
        self.raw, self.ecert, self.secret, self.puzzle_secret = raw, tunnel.Ecert(raw), secret, puzzle_secret
        self.begins = 0 if first else self.ecert.start
        equal(nacl.public(secret), self.ecert.ephemeral, "S'")


class World:
    """Secrets, certificates and bounds of the file."""

    def __init__(self, case):
        keys = zip(case.all("ecert"), case.all("ephemeral-secret"), case.all("puzzle-secret"), strict=True)
        self.server_keys = [ServerKey(*key, i == 0) for i, key in enumerate(keys)]
        self.cert, self.boxing_secret = case.one("cert"), case.one("boxing-secret")
        self.boxing = nacl.public(self.boxing_secret)
        equal(self.boxing, tunnel.Cert(self.cert).boxing, "boxing key")
        self.m = self.server_keys[0].ecert.m
        self.server_addresses = [(mapped(a), port) for a, port in self.server_keys[0].ecert.addresses]
        self.client_secrets = {nacl.public(secret): secret for secret in case.all("client-secret")}
        self.replay_max = big(case.one("replay-max", (6_000_000).to_bytes(4, "big")))
        self.first_rate = big(case.one("first-rate", (1000).to_bytes(4, "big")))
        self.directory = "directory" in case

    def connection(self):
        return Connection()

    def held_by_client(self, end, tid):
        """The ecert under which a new tunnel's first packet is; none: the boxing key (12.1)."""
        data = end.packet
        for key in self.server_keys:
            k = tunnel.shared(self.client_secrets[data[16:48]], key.ecert.ephemeral)
            if nacl.opened(k, tunnel.full_nonce(tid, data[8:16]), data[48:]) is not None:
                return key.ecert
        return None


def mapped(address):
    return address if len(address) == 16 else bytes(10) + b"\xff\xff" + address


def address(text):
    host, _, port = text.rpartition(":")
    return mapped(ip_address(host.strip("[]")).packed), int(port)


class Program:
    """What the program of a side is told: at once, or when it reads. Reasons that are only counted."""

    def __init__(self):
        self.expects, self.unread, self.notes, self.reads = [], [], [], False

    def hears(self, what, side):
        queue = self.unread if what.startswith("rpc ") else self.expects
        if what.startswith("gone") and not queue:
            return self.gone(what, side)
        equal(what, queue.pop(0) if queue else "nothing", f"what the program hears, {what},")

    def gone(self, what, side):
        """A program, or silence, ends the last tunnel: nothing in a packet does."""
        same(what in ("gone", "gone no-answer", "gone idle"), f"what the program hears, {what}")
        end = next((end for end in reversed(side.tunnels) if end.closed is None), None)
        end.closed = "closed"
        if hasattr(side, "forget"):
            side.forget(end)


def events(case):
    """Each with its packets: those that come in one call are one event."""
    grouped = []
    for event in case.all("event"):
        at, side, verb, *words = event.split(" ")
        if verb == "gets-also":
            grouped[-1][3].append(words)
        else:
            grouped.append((int(at), side, verb, [words]))
    return grouped


def run(case):
    world, packets = World(case), case.all("packet")
    programs = {"client": Program(), "server": Program()}
    for name, program in programs.items():
        program.reads = any(event.split(" ")[1:4:2] == [name, "rpc"] for event in case.all("event"))
    sides = {"client": Client(programs["client"], world), "server": Server(programs["server"], world)}
    start, last, faults = case.one("start"), 0, []
    for at, name, verb, all_words in events(case):
        same(at >= last, "time goes on")
        last, now, side, words = at, start + at, sides[name], all_words[0]
        program = programs[name]
        for one in sides.values():
            one.tick(now)
        if verb == "sends":
            sends(side, packets[int(words[0])], now, address(words[1]), address(words[2]))
        elif verb == "gets":
            settled(sides)
            arriving = [(packets[int(w[0])], address(w[1])) for w in all_words]
            faults += compare(side, program, arriving, now, [w[2:] for w in all_words])
        elif verb == "hears":
            program.hears(" ".join(words), side)
        else:
            decided(side, verb, int(words[0]))
    settled(sides)
    need(not faults, faults[0] if faults else "")


def sends(side, data, now, source, to):
    """A rule that a sender breaks is no reason of the file."""
    try:
        side.sends(data, now, source, to)
    except Refused as refused:
        raise AssertionError(f"{refused.rule} in what is sent") from None


def settled(sides):
    """What had to follow has followed."""
    equal(sides["server"].owed, [], "answers without a box that were not sent")
    for end in sides["server"].tunnels:
        same(end.closed or end.initiated is None, "the first packet back leaves at once")
    for side in sides.values():
        equal(side.program.expects, [], "what the program did not hear")
        same(not side.program.reads or not side.program.unread, "RPCs that the program did not read")


def decided(server, verb, number):
    end = next((end for end in reversed(server.tunnels) if number in end.connections), None)
    if verb == "accepts":
        end.accept(number)
    else:
        del end.connections[number]


def compare(side, program, arriving, now, wanted):
    """Judges packets of one call, and compares with what the file says: the reasons that are not `taken`."""
    program.notes = []
    if hasattr(side, "gets_all"):
        verdicts = side.gets_all(arriving, now)
    else:
        verdicts = [gets(side, data, now, source) for data, source in arriving]
    said = [[verdict] if verdict != "taken" else [] for verdict in verdicts]
    said[-1] = sorted(said[-1] + program.notes)
    said = [reasons or ["taken"] for reasons in said]
    equal(said, [sorted(reasons) for reasons in wanted], f"verdict: {said} for {wanted},")
    return [reason for reasons in wanted for reason in reasons if reason != "taken"]


def gets(client, data, now, source):
    try:
        client.gets(data, now, source)
    except Refused as refused:
        return refused.rule
    return "taken"
