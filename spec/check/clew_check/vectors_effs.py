"""The cases of spec/vectors/effs.jsonl."""

from . import effs, need
from .cases import equal


def public_key(case):
    key = effs.Key(case.one("public-key", b""))
    named(case, key)


def named(case, key):
    equal(key.name, case.one("name"), "name")
    equal(key.id, case.one("pkid"), "pkid")
    equal(key.signature_size, case.one("signature-length"), "signature length")


def secret_key(case):
    key = effs.Key(case.one("public-key"))
    secret = effs.Secret(key, case.one("secret-key"))
    rule = key.rule + (effs.COMPACT if key.compact else 0)
    equal(effs.public(secret.p, secret.q, key.k, key.t, rule), key.data, "public key")


def signature(case):
    """At each level its outcome, of which that at `level` is the case's."""
    key, message, found = effs.Key(case.one("public-key")), case.one("message", b""), case.one("signature", b"")
    got = [str(key.outcome(message, found, level)) for level in range(1, key.t + 1)]
    equal(got, case.all("outcome"), f"outcomes {got},")
    bits = key.outcome(message, found, case.one("level"))
    need(isinstance(bits, int), bits)
    equal(bits, case.one("bits"), "bits")
    if "secret-key" in case:
        equal(again(key, case.one("secret-key"), message, found), found, "signature, made again")


def again(key, data, message, found):
    """Signed with the r that it was made with: up to their sign they follow from b and y."""
    secret = effs.Secret(key, data)
    b, y, _ = key.split(found)
    return secret.sign(message, [one * pow(secret.root(key.product(b, i)), -1, key.n) % key.n for i, one in enumerate(y, 1)])


CHECKS = {"public-key": public_key, "secret-key": secret_key, "signature": signature}
