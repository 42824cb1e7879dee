//! The register's head (spec 2.4).

use super::{Checkpoint, KIND_REGISTER, read_size, read_time, write_size};
use crate::merkle::{MAX_CONSISTENCY_HASHES, Size, leads};
use crate::wire::{read_hashes, write_hashes};
use alloc::vec;
use alloc::vec::Vec;
use clew_group::EpochId;
use clew_wire::{Reader, WallTime};

/// The register's head: the last part of a group file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterHead {
    /// The epoch id of the newest epoch.
    pub last: EpochId,
    /// When it was made.
    pub time: WallTime,
    /// Number of entries, revoked ones included.
    pub machines: u32,
    /// Merkle tree hash over the entries; zeros if there are none.
    pub root: [u8; 32],
    /// Consistency proof from the last checkpoint ([`crate::consistency`]).
    ///
    /// Empty if there is no checkpoint or it has the same number of entries.
    pub hashes: Vec<[u8; 32]>,
}

impl RegisterHead {
    /// Encodes the body, up to 2,126 bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![KIND_REGISTER];
        out.extend_from_slice(&self.last.0);
        out.extend_from_slice(&self.time.as_nanos().to_be_bytes());
        write_size(&mut out, self.size());
        write_hashes(&mut out, &self.hashes);
        out
    }

    pub(crate) fn decode(body: &[u8]) -> Option<Self> {
        let mut fields = Reader(body.strip_prefix(&[KIND_REGISTER])?);
        let (last, time) = (fields.array()?, read_time(&mut fields)?);
        let (machines, root) = read_size(&mut fields)?;
        let hashes = read_hashes(&mut fields, MAX_CONSISTENCY_HASHES)?;
        fields.0.is_empty().then_some(Self {
            last: EpochId(last),
            time,
            machines,
            root,
            hashes,
        })
    }

    pub(crate) fn size(&self) -> Size {
        (self.machines, self.root)
    }

    /// Whether the register only added to the last checkpoint.
    pub(crate) fn follows(&self, last: Option<&Checkpoint>) -> bool {
        last.map_or(self.hashes.is_empty(), |last| {
            leads(last.size(), self.size(), &self.hashes)
        })
    }
}
