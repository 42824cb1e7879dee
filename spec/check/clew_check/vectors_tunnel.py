"""The cases of spec/vectors/tunnel.jsonl."""

from hashlib import sha256

from . import nacl, need, tunnel
from .cases import equal
from .tunnel import big
from .vectors_tunnel_run import run


def plaintext(case):
    text = case.one("plaintext")
    found, _ = tunnel.calls(text[8:])
    equal(text[:8], b"\0\0\x01\0\0\0\0\0", "seq and ack")
    equal([length.to_bytes(4, "big") for *_, length in found], case.all("value-length"), "lengths")


def rpc(case):
    found, _ = tunnel.calls(case.one("rpc"))
    equal(len(found), 1, "number of RPCs")
    tunnel.rpc(*found[0][1:4], "C" if case.one("from") == "client" else "S")


def first(case):
    equal(tunnel.first(case.one("plaintext")[8:], case.one("client-key")), case.one("next-tid"), "next TID")


def order(case):
    text = case.one("plaintext")
    equal(tunnel.in_sequence(big(text[:4]), text[8:]), case.one("in-sequence"), "in sequence")


def packet(case):
    kind, text = tunnel.packet(case.one("packet"), big(case.one("m")), case.one("key"))
    equal(kind, case.one("kind"), "kind")
    equal(text, case.one("plaintext"), "plaintext")


def time(case):
    apart = abs(big(case.one("nonce")) // 2 - big(case.one("now")))
    need(apart <= tunnel.WINDOW, "bad-time")


def keys(case):
    secret, client = case.one("client-secret"), case.one("client-key")
    equal(nacl.public(secret), client, "public key")
    server = tunnel.key(case.one("ephemeral-key"))
    key, tid = tunnel.shared(secret, server), case.one("tid")
    equal(key, case.one("key-0"), "K_0")
    equal(sha256(key).digest(), case.one("key-1"), "K_1")
    equal(sha256(sha256(key).digest()).digest(), case.one("key-2"), "K_2")
    binder = sha256(b"clew-mlt-binder0" + key + tid + client + server).digest()
    equal(binder, case.one("binder"), "B")
    equal(tunnel.full_nonce(tid, case.one("nonce")), case.one("full-nonce"), "nonce")


def record(case):
    now, lifetime = big(case.one("now")), big(case.one("cert-lifetime"))
    tunnel.record(case.one("record"), case.one("issuer"), case.one("hostname").encode(), now, lifetime)


def newer(case):
    tunnel.newer(tunnel.Ecert(case.one("ecert")), tunnel.Ecert(case.one("held")))


def identity(case):
    equal(tunnel.identity(case.one("identity")), case.one("hostname", "").encode(), "hostname")


def box(case):
    tunnel.box(case.one("boxing-secret"), case.one("user"), case.one("authenticator"))


def bound(case):
    secrets = case.one("boxing-secret"), case.one("ephemeral-secret")
    tied = case.one("signing-key"), case.one("binder"), case.one("user")
    tunnel.bound(*secrets, *tied, case.one("connection"), case.one("service").encode(), case.one("authenticator"))


def puzzle(case):
    parts = b"clew-mlt-puzzle0" + case.one("secret") + case.one("address") + case.one("port")
    ka, tid, sent = sha256(parts).digest(), case.one("tid"), case.one("interrogation")
    keys = case.one("client-key"), case.one("ephemeral-key")
    tunnel.solution(ka, tid, *keys, big(case.one("now")), case.one("solution"))
    equal(tunnel.interrogation(ka, tid, sent[8:16], *keys, big(sent[160:])), sent, "interrogation")


def search(case):
    r = tunnel.search(case.one("q"), case.one("digest"), big(case.one("w")))
    equal(r, case.one("r"), "r")


CHECKS = {
    "plaintext": plaintext, "rpc": rpc, "first": first, "order": order, "packet": packet, "time": time, "keys": keys,
    "record": record, "newer": newer, "identity": identity, "box": box, "bound": bound, "puzzle": puzzle, "search": search,
    "run": run,
}  # fmt: skip
