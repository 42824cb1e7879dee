"""The cases of spec/vectors/flow-carriage.jsonl."""

from . import carriage
from .cases import equal


def code(case):
    return carriage.Code(case.one("count"), case.one("needed"), case.one("blob-length"))


def tags(case):
    return carriage.Tags(case.one("id"), code(case), case.one("tag-size"))


def rate(case):
    equal(carriage.needed(case.one("percent"), case.one("count")), case.one("needed"), "needed")


def encode(case):
    equal(code(case).shares(case.one("blob")), case.all("share"), "shares")


def restore(case):
    indices = [int.from_bytes(index, "big") for index in case.all("index")]
    shares = list(zip(indices, case.all("share"), strict=True))
    equal(code(case).restore(shares), case.one("blob"), "blob")


def tree(case):
    found, shares = tags(case), case.all("share")
    root, all_tags = found.tree(shares)
    equal(root, case.one("share-root"), "root")
    equal(all_tags, case.all("tag"), "tags")
    for i, (share, tag) in enumerate(zip(shares, all_tags, strict=True)):
        equal(found.root(i, share, tag), root, f"root of share {i}")


def root(case):
    got = tags(case).root(case.one("index"), case.one("share"), case.one("tag"))
    equal(got, case.one("share-root"), "root")


CHECKS = {"rate": rate, "code": encode, "restore": restore, "tags": tree, "root": root}
