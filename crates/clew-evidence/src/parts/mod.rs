//! The parts of a group file: record 0, the records of later epochs, checkpoints, the register's
//! head (spec section 2).

mod checkpoint;
mod epoch;
mod genesis;
mod head;
mod log;
mod sharing;

pub use checkpoint::Checkpoint;
pub use epoch::{Change, End, EpochRecord, MAX_REBASE_ROWS, MAX_STEPS_PER_RECORD, NewOpeningKey};
pub use genesis::Genesis;
pub use head::RegisterHead;
pub use log::{BadLog, GroupLog};
pub use sharing::{Origin, SharingRecord};

use crate::merkle::Size;
use crate::signed::SIGNATURE_BYTES;
use alloc::vec::Vec;
use clew_wire::{Reader, WallTime};
use ed25519_dalek::{Signer, SigningKey};
use sha2::{Digest, Sha256};

const SIGNATURE_DOMAIN: &[u8] = b"clew-group-part-1";
const KIND_GENESIS: u8 = 0;
const KIND_EPOCH: u8 = 1;
const KIND_REGISTER: u8 = 2;
const KIND_CHECKPOINT: u8 = 3;

/// Size of the length in front of a body.
pub(crate) const LENGTH_BYTES: usize = 4;

/// Longest part: length, body, signature.
pub(crate) const MAX_WHOLE_BYTES: usize = LENGTH_BYTES + MAX_PART_BYTES + SIGNATURE_BYTES;

/// Longest body of a part.
pub const MAX_PART_BYTES: usize = 4096;

/// SHA-256 of a body: the epoch id of a record, by which the next one names it.
pub(crate) fn body_hash(body: &[u8]) -> [u8; 32] {
    Sha256::digest(body).into()
}

pub(crate) fn signed_message(body: &[u8]) -> Vec<u8> {
    [SIGNATURE_DOMAIN, body].concat()
}

/// Wraps a body as a part of the file: length, body, the manager's signature.
pub fn sign_part(body: &[u8], manager: &SigningKey) -> Vec<u8> {
    let mut part = (body.len() as u32).to_be_bytes().to_vec();
    part.extend_from_slice(body);
    part.extend_from_slice(&manager.sign(&signed_message(body)).to_bytes());
    part
}

/// One part as it stands in the file, behind its length.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub body: &'a [u8],
    pub signature: &'a [u8; SIGNATURE_BYTES],
}

impl<'a> Part<'a> {
    /// The part of so many bytes that begins with these. `None` if they do not have the length yet.
    pub(crate) fn length(begin: &[u8]) -> Option<usize> {
        let body = u32::from_be_bytes(*begin.first_chunk()?);
        Some((LENGTH_BYTES + SIGNATURE_BYTES).saturating_add(body as usize))
    }

    /// The part that these bytes are.
    pub(crate) fn of(whole: &'a [u8]) -> Option<Self> {
        let (body, signature) = whole.get(LENGTH_BYTES..)?.split_last_chunk()?;
        Some(Self { body, signature })
    }
}

/// Reads a time (8): nanoseconds since 1970.
fn read_time(fields: &mut Reader<'_>) -> Option<WallTime> {
    fields.u64().map(WallTime::from_nanos)
}

/// Writes the size of a register.
fn write_size(out: &mut Vec<u8>, (machines, root): Size) {
    out.extend_from_slice(&machines.to_be_bytes());
    out.extend_from_slice(&root);
}

/// Reads the size of a register: a number of entries (4) and their root, which is zeros if there are
/// none.
fn read_size(fields: &mut Reader<'_>) -> Option<Size> {
    let (machines, root) = (fields.u32()?, fields.array()?);
    (machines > 0 || root == [0; 32]).then_some((machines, root))
}

/// The kind that a body claims to be.
pub(crate) enum Kind {
    Genesis,
    Epoch,
    Checkpoint,
    Register,
}

pub(crate) fn kind(body: &[u8]) -> Option<Kind> {
    match *body.first()? {
        KIND_GENESIS => Some(Kind::Genesis),
        KIND_EPOCH => Some(Kind::Epoch),
        KIND_CHECKPOINT => Some(Kind::Checkpoint),
        KIND_REGISTER => Some(Kind::Register),
        _ => None,
    }
}
