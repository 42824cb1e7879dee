//! What a packet carries of its block's signature: `spec/flow-signature.md` section 3.

use super::descriptor::Descriptor;
use crate::reason::Reason;
use clew_tree::Block;
use clew_tree::carriage::{COUNT_MAX, Code, TagSize, Tags};
use clew_wire::WallTime;

/// Size of a timestamp.
pub const TIMESTAMP_BYTES: usize = 8;

/// The timestamp and the signature in a blob.
pub(crate) fn blob_parts(blob: &[u8]) -> Option<(WallTime, &[u8])> {
    let (timestamp, signature) = blob.split_first_chunk()?;
    let timestamp = WallTime::from_nanos(u64::from_be_bytes(*timestamp));
    Some((timestamp, signature))
}

/// Size of k, in front of a share.
pub(crate) const NEEDED_BYTES: usize = 2;

/// Fewest packets of a block with coded carriage: below, full carriage costs little.
pub const CODED_COUNT_MIN: u16 = 9;

/// Least k: what a forged signature costs whoever wants it to be looked at, in packets.
pub const NEEDED_MIN: u16 = 4;

/// How a packet carries the block signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carriage {
    /// Whole.
    Full,
    /// Not at all: other packets of the block do.
    Sparse,
    /// A share, with tags of digests of this size or without.
    Coded(Option<TagSize>),
}

impl Carriage {
    pub(crate) const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Full),
            2 => Some(Self::Sparse),
            3 => Some(Self::Coded(Some(TagSize::T8))),
            4 => Some(Self::Coded(Some(TagSize::T4))),
            5 => Some(Self::Coded(None)),
            _ => None,
        }
    }

    /// Returns its name in the specification.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Sparse => "sparse",
            Self::Coded(_) => "coded",
        }
    }

    pub(crate) const fn byte(self) -> u8 {
        match self {
            Self::Full => 1,
            Self::Sparse => 2,
            Self::Coded(Some(TagSize::T8)) => 3,
            Self::Coded(Some(TagSize::T4)) => 4,
            Self::Coded(None) => 5,
        }
    }
}

/// What a packet carries of the block signature. Nothing of it is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignaturePart<'a> {
    /// The blob: timestamp and signature.
    Full(&'a [u8]),
    /// Nothing.
    Sparse,
    /// A share of the blob.
    Coded(Coded<'a>),
}

/// A share of a block's blob, and what tells that it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coded<'a> {
    /// How the blob is shared.
    pub code: Code,
    /// Size of the digests in the tag; none if there is no tag.
    pub tags: Option<TagSize>,
    /// The share.
    pub share: &'a [u8],
    /// The share's way to the root of all shares.
    pub tag: &'a [u8],
}

impl<'a> SignaturePart<'a> {
    /// Reads what the packet at a place that its block has carries.
    ///
    /// # Errors
    /// `coded-count`, `needed`, `bad-length`.
    pub(crate) fn of(
        bytes: &'a [u8],
        carriage: Carriage,
        (block, index): (&Block, u16),
        descriptor: &Descriptor,
    ) -> Result<Self, Reason> {
        match carriage {
            Carriage::Full if bytes.len() == descriptor.blob_bytes() => Ok(Self::Full(bytes)),
            Carriage::Sparse if bytes.is_empty() => Ok(Self::Sparse),
            Carriage::Full | Carriage::Sparse => Err(Reason::BadLength),
            Carriage::Coded(tags) => {
                let blob = descriptor.blob_bytes();
                Coded::of(bytes, (block, index), blob, tags).map(Self::Coded)
            }
        }
    }

    /// Returns when the block was signed, or `None` if the packet alone does not tell.
    pub fn timestamp(&self) -> Option<WallTime> {
        match self {
            Self::Full(blob) => blob_parts(blob).map(|(timestamp, _)| timestamp),
            Self::Sparse | Self::Coded(_) => None,
        }
    }

    /// Returns the carriage.
    pub const fn carriage(&self) -> Carriage {
        match self {
            Self::Full(_) => Carriage::Full,
            Self::Sparse => Carriage::Sparse,
            Self::Coded(coded) => Carriage::Coded(coded.tags),
        }
    }
}

impl<'a> Coded<'a> {
    fn of(
        bytes: &'a [u8],
        (block, index): (&Block, u16),
        blob: usize,
        tags: Option<TagSize>,
    ) -> Result<Self, Reason> {
        let count = block.count();
        if !(CODED_COUNT_MIN..=COUNT_MAX).contains(&count) {
            return Err(Reason::CodedCount);
        }
        let (needed, rest) = bytes
            .split_first_chunk::<NEEDED_BYTES>()
            .ok_or(Reason::BadLength)?;
        let needed = u16::from_be_bytes(*needed);
        if needed < NEEDED_MIN {
            return Err(Reason::Needed);
        }
        // All blobs of flows have a length that a code may have: what is left is k above count.
        let code = Code::new(count, needed, blob as u16).map_err(|_| Reason::Needed)?;
        let (share, tag) = rest
            .split_at_checked(code.share_bytes())
            .ok_or(Reason::BadLength)?;
        if tag.len() != tag_bytes(block, code, tags, index) {
            return Err(Reason::BadLength);
        }
        Ok(Self {
            code,
            tags,
            share,
            tag,
        })
    }
}

/// Length of the tag of the share at an index that the block has.
pub(crate) fn tag_bytes(block: &Block, code: Code, tags: Option<TagSize>, index: u16) -> usize {
    let bytes = tags.map(|size| Tags::new(*block.id(), code, size).tag_bytes(index));
    bytes.and_then(Result::ok).unwrap_or(0)
}
