//! Boxes of many tunnels, decrypted together: `spec/tunnel.md` section 6.3.

use alloc::vec::Vec;

use super::packet_keys::PacketKeys;
use crate::boxes;
use crate::reason::{Counters, Reason};
use crate::wire::packet::Boxed;

/// Packets that are decrypted in one call.
pub(super) const GROUP: usize = 16;

/// Decrypts the boxes of a group, [`GROUP`] at most, each with the key that `keys` finds for what stands beside
/// it. Those whose nonces do not allow it are counted and leave the group; which of the others are good.
pub(super) fn decrypt<'t, W>(
    group: &mut Vec<(W, Boxed<'_>)>,
    keys: impl Fn(&W) -> Option<&'t PacketKeys>,
    counters: &mut Counters,
) -> [bool; GROUP] {
    group.retain(|(waiting, boxed)| {
        let checked = keys(waiting)
            .ok_or(Reason::UnknownTid)
            .and_then(|keys| keys.seen.check(boxed.nonce));
        checked
            .inspect_err(|reason| counters.count(*reason))
            .is_ok()
    });
    let mut are_good = [false; GROUP];
    let mut packets = Vec::with_capacity(GROUP);
    for (waiting, boxed) in group {
        packets.extend(keys(waiting).and_then(|keys| boxed.packet(&keys.stream)));
    }
    let count = packets.len();
    boxes::decrypt(&mut packets, &mut are_good[..count]);
    are_good
}
