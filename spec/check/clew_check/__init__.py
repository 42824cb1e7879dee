"""An independent, slow and readable verifier of clew's formats, written from spec/*.md alone."""


class Refused(Exception):
    """A rule of the specification does not hold. `rule` is its name there; `where` the part, trustee or field."""

    def __init__(self, rule, where=None):
        super().__init__(rule if where is None else f"{rule} ({where})")
        self.rule, self.where = rule, where


def need(condition, rule, where=None):
    if not condition:
        raise Refused(rule, where)


class Reader:
    """Fields one after the other; bytes that are missing or left over break `rule`."""

    def __init__(self, data, rule="layout"):
        self.data, self.at, self.rule = bytes(data), 0, rule

    def take(self, count):
        need(self.at + count <= len(self.data), self.rule)
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, count):
        return int.from_bytes(self.take(count), "big")

    def rest(self):
        return self.take(len(self.data) - self.at)

    def end(self):
        need(self.at == len(self.data), self.rule)
