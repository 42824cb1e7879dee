//! What a group writes into its log (`spec/log.md` section 3).

mod body;

pub use body::{
    Answer, Asks, Body, Filed, LEAVES_MAX, Role, Seal, Trusteeship, Warrant, warrant_hash,
};

use crate::signed::{self, SIGNATURE_BYTES};
use crate::tile::ENTRY_BYTES_MAX;
use crate::{Hash, tree};
use alloc::vec::Vec;
use clew_wire::{Reader, WallTime};
use ed25519_dalek::{Signer, SigningKey};
use sha2::{Digest, Sha256};

/// How an entry begins, and the domain of its signature.
const LABEL: &[u8; 16] = b"clew-log-entry-1";
/// Bytes of a time, which stands before an entry in the log.
const TIME_BYTES: usize = 8;

/// An entry, as its author signs it. Its signature is not checked until [`is_signed`](Self::is_signed).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The group's id.
    pub group: [u8; 16],
    /// The author's clock when it signed.
    pub time: WallTime,
    /// The author's Ed25519 key.
    pub author: [u8; 32],
    /// What it says.
    pub body: Body,
    signature: [u8; SIGNATURE_BYTES],
}

impl Entry {
    /// Signs an entry. Returns `None` if it would be longer than a log takes.
    pub fn sign(group: [u8; 16], time: WallTime, body: Body, key: &SigningKey) -> Option<Self> {
        let mut entry = Self {
            group,
            time,
            author: key.verifying_key().to_bytes(),
            body,
            signature: [0; SIGNATURE_BYTES],
        };
        entry.signature = key.sign(&entry.message()).to_bytes();
        // What no reader would take is not signed: a list that is too long, say.
        let encoded = entry.encode();
        let is_short = encoded.len() + TIME_BYTES <= ENTRY_BYTES_MAX;
        (is_short && Self::decode(&encoded).as_ref() == Some(&entry)).then_some(entry)
    }

    /// Returns the encoding.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.unsigned();
        bytes.extend(self.signature);
        bytes
    }

    /// Reads an entry. Returns `None` if a field does not decode, or something is left over.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() + TIME_BYTES > ENTRY_BYTES_MAX {
            return None;
        }
        let (head, signature) = bytes.split_last_chunk()?;
        let mut fields = Reader(head);
        if fields.array()? != *LABEL {
            return None;
        }
        let kind = fields.u8()?;
        Some(Self {
            group: fields.array()?,
            time: WallTime::from_nanos(fields.u64()?),
            author: fields.array()?,
            body: Body::read(kind, &mut fields).filter(|_| fields.0.is_empty())?,
            signature: *signature,
        })
    }

    /// Returns whether the author's signature holds.
    pub fn is_signed(&self) -> bool {
        signed::strict_key(&self.author)
            .is_some_and(|key| signed::holds(&key, &self.message(), &self.signature))
    }

    /// Returns what names the entry's statement: the hash of its kind, author and body. A log has no
    /// two entries with one statement, so an entry that was signed again is not added again.
    pub fn statement(&self) -> Hash {
        let mut body = Vec::new();
        self.body.write(&mut body);
        let digest = Sha256::new_with_prefix(domain(b"clew-log-said-1"))
            .chain_update([self.body.kind()])
            .chain_update(self.author)
            .chain_update(&body);
        digest.finalize().into()
    }

    fn unsigned(&self) -> Vec<u8> {
        let mut bytes = LABEL.to_vec();
        bytes.push(self.body.kind());
        bytes.extend(self.group);
        bytes.extend(self.time.as_nanos().to_be_bytes());
        bytes.extend(self.author);
        self.body.write(&mut bytes);
        bytes
    }

    fn message(&self) -> Vec<u8> {
        [&domain(LABEL)[..], &self.unsigned()].concat()
    }
}

/// An entry as the log keeps it: behind the log's own time.
///
/// Deadlines count from this time, because an author could choose its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The log's clock when it added the entry.
    pub logged: WallTime,
    /// The entry.
    pub entry: Entry,
}

impl Logged {
    /// Returns the encoding: time (8), entry. It is what the log's tree has as a leaf.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.logged.as_nanos().to_be_bytes().to_vec();
        bytes.extend(self.entry.encode());
        bytes
    }

    /// Reads an entry of a log. Returns `None` as [`Entry::decode`].
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (time, entry) = bytes.split_first_chunk::<TIME_BYTES>()?;
        Some(Self {
            logged: WallTime::from_nanos(u64::from_be_bytes(*time)),
            entry: Entry::decode(entry)?,
        })
    }

    /// Returns the hash of the entry in the log's tree.
    pub fn leaf(&self) -> Hash {
        tree::leaf(&self.encode())
    }
}

/// Returns a domain separator: the text, filled with zeros to 32 bytes.
fn domain(text: &[u8]) -> [u8; 32] {
    core::array::from_fn(|place| text.get(place).copied().unwrap_or(0))
}

#[cfg(test)]
pub(crate) mod tests;
