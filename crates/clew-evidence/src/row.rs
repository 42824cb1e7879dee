//! Rows: an entry of the register with the proof that it is there (`spec/opening.md` section 4).

use crate::group_file::GroupFile;
use crate::merkle::{MAX_PROOF_HASHES, root_of_proof};
use crate::register::{MAX_ENTRY_BYTES, RegisterEntry};
use crate::wire::{read_hashes, write_hashes};
use alloc::vec::Vec;
use clew_group::Scheme;
use clew_wire::Reader;

/// Longest encoded row.
pub const MAX_ROW_BYTES: usize = 2 + MAX_ENTRY_BYTES + 4 + 1 + 32 * MAX_PROOF_HASHES;

/// An entry of the register, with the proof that it was there when the register had some size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The entry.
    pub entry: RegisterEntry,
    /// Number of entries of the register that the proof is for.
    pub machines: u32,
    /// The inclusion proof ([`crate::inclusion`]), at most 32 hashes.
    pub hashes: Vec<[u8; 32]>,
}

impl Row {
    /// Encodes the row, up to [`MAX_ROW_BYTES`].
    pub fn encode(&self) -> Vec<u8> {
        let entry = self.entry.encode();
        let mut out = (entry.len() as u16).to_be_bytes().to_vec();
        out.extend_from_slice(&entry);
        out.extend_from_slice(&self.machines.to_be_bytes());
        write_hashes(&mut out, &self.hashes);
        out
    }

    /// Decodes a row of a group with that scheme. Its points are not decoded.
    ///
    /// Returns `None` if a field or the length is wrong.
    pub fn decode(scheme: Scheme, bytes: &[u8]) -> Option<Self> {
        let mut fields = Reader(bytes);
        let length = usize::from(fields.u16()?);
        let entry = RegisterEntry::decode(fields.take(length)?)?;
        let machines = fields.u32()?;
        let hashes = read_hashes(&mut fields, MAX_PROOF_HASHES)?;
        let fits = entry.scheme() == scheme && fields.0.is_empty();
        fits.then_some(Self {
            entry,
            machines,
            hashes,
        })
    }

    /// Returns whether the row is in the register of this group file.
    ///
    /// Its size is that of the register or of a checkpoint, and its hashes lead to that root. Its
    /// machine joined in an epoch of the file, and replaces none but an earlier row. A register that
    /// the same manager signed elsewhere does not count.
    pub fn is_in_register_of(&self, group: &GroupFile) -> bool {
        let Self {
            entry,
            machines,
            hashes,
        } = self;
        let fits = entry.scheme() == group.scheme()
            && entry.joined <= group.newest_epoch()
            && entry.replaces.is_none_or(|row| row < entry.index);
        let root = group.register_root(*machines);
        let leaf = entry.leaf_hash();
        let led = root_of_proof(entry.index, *machines, leaf, hashes);
        fits && led.is_some() && led.as_ref() == root
    }
}
