"""The cases of spec/vectors (format: its README.md)."""

import json

NUMBERS = (
    "time", "receiver-start", "link-type", "wire-length", "part", "start", "scheme", "index", "dealer", "threshold", "trustees",
    "old-trustees", "set", "dealers", "culprit", "machines", "epoch", "step", "revoked",
    "count", "needed", "asks", "asked-asks", "blob-length", "tag-size", "percent", "seq", "one-in", "level", "bits", "assurance", "signature-length",
)  # fmt: skip


class Case(dict):
    """A line of a vector file: name -> list of values; a text is str, everything else bytes."""

    def __init__(self, path, line):
        self.path = path
        values = json.loads(line)
        self.case, self.expect, self.comment = values.pop("case"), values.pop("expect"), values.pop("comment")
        for name, value in values.items():
            self[name] = [decoded(one) for one in (value if isinstance(value, list) else [value])]

    def one(self, name, default=None):
        value = self.get(name, [default])[0]
        if name in NUMBERS and isinstance(value, bytes):
            return int.from_bytes(value, "big")
        return b"" if value == "" else value

    def all(self, name):
        return [b"" if value == "" else value for value in self.get(name, [])]


def decoded(value):
    return bytes.fromhex(value[2:]) if value.startswith("0x") else value


def read(path):
    """The cases of a file by their names, in its order."""
    cases = [Case(path, line) for line in path.read_text("utf-8").splitlines()]
    return {case.case: case for case in cases}


def equal(got, wanted, name):
    if wanted is not None and got != wanted:
        raise AssertionError(f"{name} differs")
