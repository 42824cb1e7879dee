"""key-file.md 2 and group-file.md 3, last: a member key follows its group to later epochs."""

from . import need, revocation


def follow(group, held, witness, x, target, listed=None):
    """W of the epoch `target`, from that of `held` (its number and id). `listed`: {epoch of a rebase: this row's W}.
    Public data only, checked before it is used, and the result too."""
    epoch, epoch_id = held
    need(epoch <= target <= group.last_epoch, "unknown-epoch")
    need(group.epoch_ids[epoch] == epoch_id, "fork", epoch)
    need(group.has_key(target), "ended")
    group.check_epochs()
    base = group.base_epoch(target)
    if base > epoch:
        need(base in (listed or {}), "witness-needed", base)
        need(listed[base] is not None, "revoked", base)
        epoch, witness = base, listed[base]
        group.scheme.check_witness(group.key(base), witness, x)
    steps = [step for e in range(epoch + 1, target + 1) for step in group.steps(e)]
    witness = revocation.after(witness, x, steps)
    group.scheme.check_witness(group.key(target), witness, x)
    return witness


def to_hold(group, clock, most=16):
    """The epochs that a key file holds at a time: the one in force, and those announced, nearest first."""
    in_force = max(e for e in range(group.last_epoch + 1) if group.start(e) <= clock)
    return [e for e in range(in_force, group.last_epoch + 1) if group.has_key(e)][:most]
