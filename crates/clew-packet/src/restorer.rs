//! Signatures of blocks in coded carriage, for who takes packets out: `extract` and the court's
//! commands. A [`Receiver`](crate::Receiver) restores those that it verifies by itself.

use alloc::vec::Vec;

use clew_tree::carriage::{Answer, Bins};

use crate::{
    receiver::waiting::{LIMITS, bin},
    signed::SignedPacket,
};

/// Puts shares together, in the bounds that a receiver has.
#[derive(Clone, Debug)]
pub struct Restorer<T> {
    bins: Bins<T>,
}

/// A signature that nobody has verified yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored<T> {
    /// Its encoding.
    pub signature: Vec<u8>,
    /// What was given with the packets that it was restored from, in the order of arrival.
    pub from: Vec<T>,
}

impl<T> Restorer<T> {
    /// Returns one that has seen nothing.
    pub const fn new() -> Self {
        Self {
            bins: const { Bins::new(LIMITS).expect("the limits are high enough") },
        }
    }

    /// Takes a packet in. Returns the signature of its block, if the packet is in coded carriage and
    /// its share the last one needed. Anybody may send shares: what is restored is to be verified, and
    /// of one block more than one signature may be restored.
    pub fn take(&mut self, packet: &SignedPacket<'_>, token: T) -> Option<Restored<T>> {
        let coded = packet.trailer().coded()?;
        let mut message = Vec::new();
        packet.write_message(&mut message);
        let bin = bin(&message, &coded)?;
        let code = coded.tags.code();
        let inserted = self
            .bins
            .insert(bin, code, coded.index(), coded.share, token);
        match inserted.answer {
            Answer::Restored { blob, tokens } => Some(Restored {
                signature: blob,
                from: tokens,
            }),
            _ => None,
        }
    }
}

impl<T> Default for Restorer<T> {
    fn default() -> Self {
        Self::new()
    }
}
