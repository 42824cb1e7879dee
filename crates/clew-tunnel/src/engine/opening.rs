//! Boxes of many tunnels, opened together: `spec/tunnel.md` section 6.3.

use alloc::vec::Vec;

use super::line::Line;
use crate::boxes;
use crate::reason::{Counters, Reason};
use crate::wire::packet::Boxed;

/// Packets that are opened in one call.
pub const GROUP: usize = 16;

/// Opens the boxes of a group, [`GROUP`] at most, each with the key that `line` finds for what stands beside
/// it. Those whose nonces do not allow it are counted and leave the group; which of the others are good.
pub fn open<'t, W>(
    group: &mut Vec<(W, Boxed<'_>)>,
    line: impl Fn(&W) -> Option<&'t Line>,
    counters: &mut Counters,
) -> [bool; GROUP] {
    group.retain(|(waiting, boxed)| {
        let checked = line(waiting)
            .ok_or(Reason::UnknownTid)
            .and_then(|line| line.seen.check(boxed.nonce));
        checked
            .inspect_err(|reason| counters.count(*reason))
            .is_ok()
    });
    let mut are_good = [false; GROUP];
    let mut packets = Vec::with_capacity(GROUP);
    for (waiting, boxed) in group {
        packets.extend(line(waiting).and_then(|line| boxed.packet(&line.stream)));
    }
    let count = packets.len();
    boxes::open(&mut packets, &mut are_good[..count]);
    are_good
}
