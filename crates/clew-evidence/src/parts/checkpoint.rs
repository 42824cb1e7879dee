//! Checkpoints: earlier sizes of the register that rows may still name (spec 2.3).

use super::{KIND_CHECKPOINT, read_size, write_size};
use crate::merkle::{MAX_CONSISTENCY_HASHES, Size, leads};
use crate::wire::{read_hashes, write_hashes};
use alloc::vec;
use alloc::vec::Vec;
use clew_wire::Reader;

/// An earlier register of the same group, with the proof that later ones only added to it.
///
/// Rows made when it was the present register stay good: see [`crate::Row`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Number of entries; not zero.
    pub machines: u32,
    /// Merkle tree hash over the entries.
    pub root: [u8; 32],
    /// Consistency proof from the checkpoint before ([`crate::consistency`]); none for the first.
    pub hashes: Vec<[u8; 32]>,
}

impl Checkpoint {
    /// Encodes the body, up to 2,086 bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![KIND_CHECKPOINT];
        write_size(&mut out, self.size());
        write_hashes(&mut out, &self.hashes);
        out
    }

    pub(crate) fn decode(body: &[u8]) -> Option<Self> {
        let mut fields = Reader(body.strip_prefix(&[KIND_CHECKPOINT])?);
        let (machines, root) = read_size(&mut fields).filter(|(machines, _)| *machines > 0)?;
        let hashes = read_hashes(&mut fields, MAX_CONSISTENCY_HASHES)?;
        fields.0.is_empty().then_some(Self {
            machines,
            root,
            hashes,
        })
    }

    pub(crate) fn size(&self) -> Size {
        (self.machines, self.root)
    }

    /// Whether it may follow `before`: larger, with a proof that leads from there.
    pub(crate) fn follows(&self, before: Option<&Self>) -> bool {
        before.map_or(self.hashes.is_empty(), |before| {
            self.machines > before.machines && leads(before.size(), self.size(), &self.hashes)
        })
    }
}
