"""Merkle trees of RFC 6962 (2.1) and RFC 9162 (2.1.3, 2.1.4): registers and their checkpoints."""

from .curve import hash_of


def leaf_hash(entry):
    return hash_of(b"\0", entry)


def node(left, right):
    return hash_of(b"\1", left, right)


def tree_hash(entries):
    """RFC 6962, 2.1; 32 zero bytes if there is none."""
    if len(entries) < 2:
        return leaf_hash(entries[0]) if entries else bytes(32)
    k = 1 << (len(entries) - 1).bit_length() - 1
    return node(tree_hash(entries[:k]), tree_hash(entries[k:]))


def root_of(leaf, index, size, path):
    """RFC 9162, 2.1.3.2: the root that an inclusion proof leads to, or None."""
    if index >= size:
        return None
    fn, sn = index, size - 1
    for p in path:
        if sn == 0:
            return None
        if fn & 1 or fn == sn:
            leaf = node(p, leaf)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            leaf = node(leaf, p)
        fn, sn = fn >> 1, sn >> 1
    return leaf if sn == 0 else None


def consistent(first, first_root, second, second_root, path):
    """RFC 9162, 2.1.4.2: whether the tree of `first` entries is a prefix of that of `second`, 0 < first < second."""
    if not path:
        return False
    if first & first - 1 == 0:
        path = [first_root, *path]
    fn, sn = first - 1, second - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = path[0]
    for c in path[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr, sr = node(c, fr), node(c, sr)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node(sr, c)
        fn, sn = fn >> 1, sn >> 1
    return fr == first_root and sr == second_root and sn == 0
