"""A file of spec/vectors (format: its README.md)."""

NUMBERS = (
    "time", "receiver-start", "link-type", "wire-length", "part", "start", "scheme", "index", "dealer", "threshold", "trustees",
    "old-trustees", "set", "dealers", "culprit", "machines", "epoch", "step", "revoked",
    "count", "needed", "blob-length", "tag-size", "percent", "seq", "one-in", "level", "bits", "assurance", "signature-length",
)  # fmt: skip


class Case(dict):
    """A vector file: name -> list of values; a text is str, everything else bytes."""

    def __init__(self, path):
        self.path = path
        for line in path.read_text("utf-8").split("\n"):
            if line:
                name, _, value = line.partition(": ")
                plain = name in ("expect", "comment")
                value = value if plain else value[1:-1] if value[:1] == '"' else bytes.fromhex(value)
                self.setdefault(name, []).append(value)
        self.expect = self["expect"][0]

    def one(self, name, default=None):
        value = self.get(name, [default])[0]
        if name in NUMBERS and isinstance(value, bytes):
            return int.from_bytes(value, "big")
        return b"" if value == "" else value

    def all(self, name):
        return [b"" if value == "" else value for value in self.get(name, [])]


def equal(got, wanted, name):
    if wanted is not None and got != wanted:
        raise AssertionError(f"{name} differs")
