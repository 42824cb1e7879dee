//! Shares of blocks whose signature is not restored yet: step 8 of coded packets.

use alloc::vec::Vec;
use sha2::{Digest as _, Sha256};

use super::FlowReceiver;
use super::waiting::{WAITING_MAX, Waiting};
use crate::reason::Reason;
use crate::wire::{Coded, Fixed, NEEDED_MIN, SignedPacket};
use clew_tree::Digest;
use clew_tree::carriage::{Answer, Bins, Inserted, Key, Limits, Tags};
use clew_wire::WallTime;

/// A block stands 63 bogus packets for each honest one that pretend to be of it, and 1,023 others.
const LIMITS: Limits = Limits {
    blocks: 1024,
    bins: 64,
    shares: WAITING_MAX,
    answers: 1024,
    needed: NEEDED_MIN,
};

/// No shares.
pub(crate) const NONE: Bins<Waiting> = Bins::new(LIMITS).expect("the limits are high enough");

/// What names a packet's block among bins.
pub(crate) fn block(fixed: &Fixed) -> Digest {
    let hash = Sha256::new_with_prefix(fixed.key.0)
        .chain_update(fixed.tag)
        .chain_update(fixed.seq.to_be_bytes())
        .chain_update(fixed.id)
        .chain_update(fixed.count.to_be_bytes());
    hash.finalize().into()
}

/// The bin of a share. Without tags, all shares of one code lead to the same.
fn key(packet: &SignedPacket<'_>, coded: &Coded<'_>, root: &Digest) -> Option<Key> {
    let fixed = &packet.fixed;
    let shares = match coded.tags {
        Some(size) => {
            let tags = Tags::new(fixed.id, coded.code, size);
            tags.root(fixed.index, coded.share, coded.tag).ok()?
        }
        None => {
            let mut code = [0; 32];
            code[..2].copy_from_slice(&coded.code.needed().to_be_bytes());
            code
        }
    };
    Some(Key {
        block: block(fixed),
        packets: *root,
        shares,
    })
}

impl FlowReceiver {
    /// Puts the share of a packet into its bin, and verifies the blob if the bin has it.
    pub(super) fn take_share(
        &mut self,
        packet: &SignedPacket<'_>,
        coded: &Coded<'_>,
        own: Waiting,
        now: WallTime,
    ) -> Reason {
        let Some(key) = key(packet, coded, &own.root) else {
            return Reason::BadLength;
        };
        let index = packet.fixed.index;
        let inserted = self.bins.insert(key, &coded.code, index, coded.share, own);
        let Inserted { answer, dropped } = inserted;
        for (packet, _) in dropped {
            self.resolve(packet.ticket, Reason::NoSignature);
        }
        match answer {
            Answer::Pending => Reason::Pending,
            // The same root and index: the packet that waits is the same one.
            Answer::Again { .. } => Reason::Duplicate,
            Answer::Refused(_) => Reason::BadSignature,
            Answer::Wrong { tokens, .. } => self.refuse(tokens, Reason::Padding),
            Answer::Restored { blob, tokens } => self.restored(packet, key, &blob, tokens, now),
            // Not verified for lack of time or effort, or verified and forgotten.
            Answer::Awaited(own) | Answer::Verified(own) => {
                let blob = self.bins.blob(&key).unwrap_or_default().to_vec();
                self.restored(packet, key, &blob, Vec::from([own]), now)
            }
        }
    }

    /// Steps 9 and 10 of a bin, whose last packet is the one at hand.
    fn restored(
        &mut self,
        packet: &SignedPacket<'_>,
        key: Key,
        blob: &[u8],
        mut of_bin: Vec<Waiting>,
        now: WallTime,
    ) -> Reason {
        match self.verify(packet, blob, &key.packets, now) {
            Ok(()) => {
                let own = of_bin.pop();
                of_bin.extend(self.bins.verified(&key));
                let leaf = own.map_or_else(|| packet.leaf(), |own| own.leaf);
                self.take_in(packet, &packet.claim(leaf), key.packets, blob, of_bin)
            }
            Err(reason) => {
                if reason == Reason::BadSignature {
                    self.bins.refused(&key);
                }
                self.refuse(of_bin, reason)
            }
        }
    }

    /// The reason of the packet at hand, the last of its bin, is that of the others.
    fn refuse(&mut self, mut of_bin: Vec<Waiting>, reason: Reason) -> Reason {
        of_bin.pop();
        for packet in of_bin {
            self.resolve(packet.ticket, reason);
        }
        reason
    }
}
