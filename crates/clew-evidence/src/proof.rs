//! Proofs that an entry is in the register, and rows: an entry with its proof (`spec/opening.md`
//! section 4).

use crate::group_file::GroupFile;
use crate::merkle::{MAX_PROOF_HASHES, root_of_proof};
use crate::parts::SealedHead;
use crate::register::{MAX_ENTRY_BYTES, RegisterEntry};
use crate::wire::Fields;
use clew_group::Scheme;

/// Size of a sealed head.
const HEAD_BYTES: usize = 4 + 77 + 64;

/// Longest encoded row.
pub const MAX_ROW_BYTES: usize = 2 + MAX_ENTRY_BYTES + 1 + 32 * MAX_PROOF_HASHES + HEAD_BYTES;

/// That an entry is in the register, as it stood when the head was signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The inclusion proof (RFC 9162, 2.1.3), at most 32 hashes.
    pub hashes: Vec<[u8; 32]>,
    /// The head, whose root they lead to.
    pub head: SealedHead,
}

/// An entry of the register with its proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The entry.
    pub entry: RegisterEntry,
    /// That it is in the register.
    pub proof: Proof,
}

impl Row {
    /// Encodes the row.
    pub fn encode(&self) -> Vec<u8> {
        let entry = self.entry.encode();
        let mut out = (entry.len() as u16).to_be_bytes().to_vec();
        out.extend_from_slice(&entry);
        out.push(self.proof.hashes.len() as u8);
        out.extend_from_slice(self.proof.hashes.as_flattened());
        out.extend_from_slice(&self.proof.head.encode());
        out
    }

    /// Decodes a row of a group with that scheme; nothing if a field or the length is wrong. Its
    /// points are bytes still.
    pub fn decode(scheme: Scheme, bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let length = usize::from(u16::from_be_bytes(fields.array()?));
        let entry = RegisterEntry::decode(fields.take(length)?)?;
        let hashes = usize::from(fields.u8()?);
        if entry.scheme() != scheme || hashes > MAX_PROOF_HASHES {
            return None;
        }
        let (hashes, _) = fields.take(32 * hashes)?.as_chunks();
        let hashes = hashes.to_vec();
        let head = SealedHead::read(&mut fields)?;
        let proof = Proof { hashes, head };
        fields.0.is_empty().then_some(Self { entry, proof })
    }

    /// Whether the proof holds: the group's manager signed the head, for an epoch of the group that
    /// is not before the entry's machine joined, and the hashes lead from the entry to its root.
    pub fn is_in_register_of(&self, group: &GroupFile) -> bool {
        let Self { entry, proof } = self;
        let head = &proof.head.head;
        let signed = || group.manager().is_some_and(|m| proof.head.is_of(&m));
        let fits = entry.scheme() == group.scheme();
        let in_time = || {
            group
                .epoch_of(&head.last)
                .is_some_and(|e| entry.joined <= e)
        };
        let root = || {
            let leaf = entry.leaf_hash();
            root_of_proof(entry.index, head.machines, leaf, &proof.hashes)
        };
        fits && signed() && in_time() && root() == Some(head.root)
    }
}
