//! The register's head (spec 2.4).

use super::{Checkpoint, KIND_REGISTER, read_hashes, read_size};
use crate::merkle::leads;
use crate::wire::Fields;
use alloc::vec;
use alloc::vec::Vec;
use clew_group::EpochId;

/// The register's head: the last part of a group file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterHead {
    /// The epoch id of the newest epoch.
    pub last: EpochId,
    /// Nanoseconds since 1970 at which it was made.
    pub time: u64,
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
        out.extend_from_slice(&self.time.to_be_bytes());
        out.extend_from_slice(&self.machines.to_be_bytes());
        out.extend_from_slice(&self.root);
        out.push(self.hashes.len() as u8);
        out.extend_from_slice(self.hashes.as_flattened());
        out
    }

    pub(crate) fn decode(body: &[u8]) -> Option<Self> {
        let mut fields = Fields(body.strip_prefix(&[KIND_REGISTER])?);
        let (last, time) = (fields.array()?, fields.u64()?);
        let (machines, root) = read_size(&mut fields)?;
        let hashes = read_hashes(&mut fields)?;
        fields.0.is_empty().then_some(Self {
            last: EpochId(last),
            time,
            machines,
            root,
            hashes,
        })
    }

    /// Whether the register only added to the last checkpoint.
    pub(crate) fn follows(&self, last: Option<&Checkpoint>) -> bool {
        last.map_or(self.hashes.is_empty(), |last| {
            leads(last.size(), (self.machines, self.root), &self.hashes)
        })
    }
}
