//! The feed: a small head, and bundles of 256 epoch records with their checkpoints
//! (`spec/manager-service.md` section 3).
//!
//! All of it is cut from a group file, and signed by the manager part by part. A full bundle never
//! changes.

use axum::body::Bytes;
use clew_evidence::{GroupFileError, GroupFileReader, GroupId, HEADER};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use thiserror::Error;

/// Records of a full bundle.
pub const BUNDLE_RECORDS: usize = 256;

/// Longest head in bytes.
pub(super) const HEAD_MAX: usize = 8 << 10;
/// Longest bundle in bytes: 256 records and as many checkpoints, and checkpoints between epochs.
pub(super) const BUNDLE_MAX: usize = 8 << 20;

const MAGIC: &[u8; 16] = b"clew-feed-head-1";
const FIXED: usize = 16 + 16 + 4 + 4;
/// Length and signature of a part.
const AROUND: usize = 4 + 64;
const KIND_CHECKPOINT: u8 = 3;
const KIND_REGISTER: u8 = 2;

/// Why bytes are not what a feed serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FeedError {
    /// The layout of a head.
    #[error("not the head of a feed")]
    Head,
    /// The parts of a file or a bundle.
    #[error("not the parts of a group file")]
    Parts,
}

/// What a feed has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedHead {
    /// The group.
    pub group: GroupId,
    /// How many records there are, record 0 among them.
    pub records: u32,
    /// How many checkpoints there are.
    pub checkpoints: u32,
    /// The register's head of that time: a signed part.
    pub register: Vec<u8>,
}

impl FeedHead {
    /// The bytes of a head.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&self.group.0);
        out.extend_from_slice(&self.records.to_be_bytes());
        out.extend_from_slice(&self.checkpoints.to_be_bytes());
        out.extend_from_slice(&self.register);
        out
    }

    /// Reads the bytes of a head. Nothing of it is signed but the register.
    ///
    /// # Errors
    /// [`FeedError::Head`].
    pub fn decode(bytes: &[u8]) -> Result<Self, FeedError> {
        let (fixed, register) = bytes.split_at_checked(FIXED).ok_or(FeedError::Head)?;
        let parts = parts(register).map_err(|_| FeedError::Head)?;
        let number = |at: usize| {
            let bytes = fixed[at..at + 4].try_into();
            bytes.map(u32::from_be_bytes).map_err(|_| FeedError::Head)
        };
        let head = Self {
            group: GroupId(fixed[16..32].try_into().map_err(|_| FeedError::Head)?),
            records: number(32)?,
            checkpoints: number(36)?,
            register: register.to_vec(),
        };
        let is_head = fixed.starts_with(MAGIC)
            && head.records > 0
            && matches!(parts[..], [register] if kind(register) == KIND_REGISTER);
        is_head.then_some(head).ok_or(FeedError::Head)
    }
}

/// Records with the checkpoints that belong to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bundle {
    pub records: Vec<Bytes>,
    pub checkpoints: Vec<Bytes>,
}

impl Bundle {
    /// Its first records and checkpoints.
    pub fn first(&self, records: usize, checkpoints: usize) -> Option<Vec<Bytes>> {
        let records = self.records.get(..records)?;
        let checkpoints = self.checkpoints.get(..checkpoints)?;
        Some([records, checkpoints].concat())
    }

    /// Has a reader check it behind the bundles before it.
    pub fn read(&self, reader: &mut GroupFileReader) -> Result<(), GroupFileError> {
        let mut parts = self.records.iter().chain(&self.checkpoints);
        parts.try_for_each(|part| reader.push(part))
    }

    /// Reads a bundle of so many records with all its checkpoints.
    pub fn full(bytes: &[u8], records: usize) -> Result<Self, FeedError> {
        let checkpoints = parts(bytes)?.len().checked_sub(records);
        Self::decode(bytes, records, checkpoints.ok_or(FeedError::Parts)?)
    }

    /// Reads a bundle of so many records and checkpoints.
    pub fn decode(bytes: &[u8], records: usize, checkpoints: usize) -> Result<Self, FeedError> {
        let parts = parts(bytes)?;
        let (first, rest) = parts.split_at_checked(records).ok_or(FeedError::Parts)?;
        let are_checkpoints = rest.iter().all(|part| kind(part) == KIND_CHECKPOINT);
        if rest.len() != checkpoints || !are_checkpoints {
            return Err(FeedError::Parts);
        }
        let own = |parts: &[&[u8]]| parts.iter().map(|p| Bytes::copy_from_slice(p)).collect();
        Ok(Self {
            records: own(first),
            checkpoints: own(rest),
        })
    }
}

/// What a service serves: of one moment.
#[derive(Clone, Debug)]
pub struct Feed {
    /// The head's bytes.
    pub(super) head: Bytes,
    /// The head's name, in quotes.
    pub(super) etag: String,
    pub(super) bundles: Vec<Bundle>,
    newest: u32,
}

impl Feed {
    /// Cuts the bytes of a group's file. All that it says is of these bytes, so of one moment.
    ///
    /// # Errors
    /// [`FeedError::Parts`] if they are other bytes.
    pub fn new(group: GroupId, bytes: &[u8]) -> Result<Self, FeedError> {
        let (bundles, register) = cut(bytes)?;
        let (records, checkpoints) = counts(bytes)?;
        let head = FeedHead {
            group,
            records,
            checkpoints,
            register,
        };
        let head = head.encode();
        Ok(Self {
            etag: etag(&head),
            head: head.into(),
            bundles,
            newest: records.saturating_sub(1),
        })
    }

    /// The newest epoch that it has.
    pub fn newest_epoch(&self) -> u32 {
        self.newest
    }

    /// Whether the bytes of a group file have the same records and checkpoints.
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        let head = FeedHead::decode(&self.head);
        head.is_ok_and(|head| counts(bytes) == Ok((head.records, head.checkpoints)))
    }
}

/// How many records and checkpoints the bytes of a group file have.
fn counts(bytes: &[u8]) -> Result<(u32, u32), FeedError> {
    let parts = parts(bytes.strip_prefix(HEADER).ok_or(FeedError::Parts)?)?;
    let of = |is: fn(u8) -> bool| parts.iter().filter(|part| is(kind(part))).count() as u32;
    let records = of(|kind| kind != KIND_CHECKPOINT && kind != KIND_REGISTER);
    Ok((records, of(|kind| kind == KIND_CHECKPOINT)))
}

/// The name of a content: the start of its SHA-256.
pub(super) fn etag(content: &[u8]) -> String {
    let mut name = "\"".to_owned();
    for byte in &Sha256::digest(content)[..16] {
        let _ = write!(name, "{byte:02x}");
    }
    name + "\""
}

/// Cuts a group file into bundles, and the register's head.
pub(super) fn cut(file: &[u8]) -> Result<(Vec<Bundle>, Vec<u8>), FeedError> {
    let parts = parts(file.strip_prefix(HEADER).ok_or(FeedError::Parts)?)?;
    let (register, parts) = parts.split_last().ok_or(FeedError::Parts)?;
    let records = parts.iter().position(|part| kind(part) == KIND_CHECKPOINT);
    let (records, checkpoints) = parts.split_at(records.unwrap_or(parts.len()));
    let mut left = checkpoints.iter().peekable();
    let mut bundles = Vec::new();
    for (number, chunk) in records.chunks(BUNDLE_RECORDS).enumerate() {
        let own = |part: &&[u8]| Bytes::copy_from_slice(part);
        let mut bundle = Bundle {
            records: chunk.iter().map(own).collect(),
            checkpoints: Vec::new(),
        };
        let is_last = (number + 1) * BUNDLE_RECORDS > records.len();
        let until = chunk.last().map_or(0, |record| machines(record));
        while let Some(part) = left.next_if(|part| is_last || checkpoint_machines(part) <= until) {
            bundle.checkpoints.push(own(part));
        }
        bundles.push(bundle);
    }
    // Full bundles never change: what came since the last record stands in the next one.
    if records.len().is_multiple_of(BUNDLE_RECORDS) {
        let checkpoints = left.map(|part| Bytes::copy_from_slice(part)).collect();
        let records = Vec::new();
        bundles.push(Bundle {
            records,
            checkpoints,
        });
    }
    Ok((bundles, register.to_vec()))
}

/// The bytes of a group file that is made of these.
pub(super) fn joined(bundles: &[Bundle], register: &[u8]) -> Vec<u8> {
    let mut out = HEADER.to_vec();
    let records = bundles.iter().flat_map(|bundle| &bundle.records);
    let checkpoints = bundles.iter().flat_map(|bundle| &bundle.checkpoints);
    for part in records.chain(checkpoints) {
        out.extend_from_slice(part);
    }
    out.extend_from_slice(register);
    out
}

/// Cuts parts by their lengths. Each has at least a kind.
fn parts(mut bytes: &[u8]) -> Result<Vec<&[u8]>, FeedError> {
    let mut parts = Vec::new();
    while let Some(length) = bytes.first_chunk() {
        let body = u32::from_be_bytes(*length) as usize;
        let length = body.checked_add(AROUND).filter(|_| body > 0);
        let cut = length.and_then(|length| bytes.split_at_checked(length));
        let (part, rest) = cut.ok_or(FeedError::Parts)?;
        parts.push(part);
        bytes = rest;
    }
    match bytes {
        [] => Ok(parts),
        _ => Err(FeedError::Parts),
    }
}

fn kind(part: &[u8]) -> u8 {
    part.get(4).copied().unwrap_or(u8::MAX)
}

/// The number of machines in a record (`spec/group-file.md` 2.2); 0 in record 0.
fn machines(record: &[u8]) -> u32 {
    match kind(record) {
        1 => number(record, 4 + 1 + 4 + 32 + 8 + 8),
        _ => 0,
    }
}

/// The number of machines of a checkpoint (`spec/group-file.md` 2.3).
fn checkpoint_machines(part: &[u8]) -> u32 {
    number(part, 4 + 1)
}

fn number(part: &[u8], at: usize) -> u32 {
    let bytes = part.get(at..).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(kind: u8, length: usize) -> Vec<u8> {
        let mut part = (length as u32).to_be_bytes().to_vec();
        part.push(kind);
        part.resize(4 + length + 64, 0);
        part
    }

    #[test]
    fn heads_that_are_none_are_refused() {
        let head = FeedHead {
            group: GroupId([7; 16]),
            records: 3,
            checkpoints: 1,
            register: part(KIND_REGISTER, 80),
        };
        let bytes = head.encode();
        assert_eq!(FeedHead::decode(&bytes), Ok(head.clone()));
        for length in 0..bytes.len() {
            assert_eq!(FeedHead::decode(&bytes[..length]), Err(FeedError::Head));
        }
        let none = FeedHead {
            records: 0,
            ..head.clone()
        };
        let other = FeedHead {
            register: part(KIND_CHECKPOINT, 80),
            ..head.clone()
        };
        let two = FeedHead {
            register: head.register.repeat(2),
            ..head
        };
        for bad in [none, other, two] {
            assert_eq!(FeedHead::decode(&bad.encode()), Err(FeedError::Head));
        }
    }

    /// A feed is of the moment of its bytes: another process may have made an epoch since the group was read.
    #[test]
    fn a_head_counts_what_its_bundles_have() {
        let file = |records: usize, checkpoints: usize| {
            let register = part(KIND_REGISTER, 80);
            let parts = [
                part(1, 90).repeat(records),
                part(3, 40).repeat(checkpoints),
                register,
            ];
            [&HEADER[..], &parts.concat()].concat()
        };
        let bytes = file(3, 1);
        let feed = Feed::new(GroupId([7; 16]), &bytes).unwrap();
        let head = FeedHead::decode(&feed.head).unwrap();
        assert_eq!((head.records, head.checkpoints), (3, 1));
        assert_eq!(feed.newest_epoch(), 2);
        let of_bundles: usize = feed.bundles.iter().map(|bundle| bundle.records.len()).sum();
        assert_eq!(of_bundles, 3);
        assert!(feed.is_of(&bytes) && !feed.is_of(&file(4, 1)) && !feed.is_of(&file(3, 2)));
    }

    #[test]
    fn bundles_have_what_was_asked_for() {
        let bytes = [part(1, 90), part(1, 90), part(3, 40)].concat();
        let bundle = Bundle::decode(&bytes, 2, 1).unwrap();
        assert_eq!(bundle.first(2, 1).unwrap().concat(), bytes);
        assert_eq!(bundle.first(3, 1), None);
        assert_eq!(Bundle::full(&bytes, 2), Ok(bundle));
        for (records, checkpoints) in [(1, 1), (1, 2), (2, 0), (3, 1), (4, 0)] {
            let refused = Bundle::decode(&bytes, records, checkpoints);
            assert_eq!(refused, Err(FeedError::Parts), "{records} {checkpoints}");
        }
        let huge = [&u32::MAX.to_be_bytes()[..], &[1; 100]].concat();
        for bad in [&huge[..], &[0; 68], &[1], &bytes[1..]] {
            assert_eq!(Bundle::decode(bad, 1, 0), Err(FeedError::Parts));
        }
    }
}
