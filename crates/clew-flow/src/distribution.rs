//! How a block's signature is distributed to its packets: `spec/flow-signature.md` section 6.

use alloc::vec::Vec;

use crate::wire::{CODED_COUNT_MIN, Carriage, NEEDED_BYTES, NEEDED_MIN, tag_bytes};
use clew_tree::Block;
use clew_tree::carriage::{COUNT_MAX, Code, Error, Rate, ShareTree, TagSize, Tags};

/// How a block's signature is distributed to its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// All have the whole.
    Every,
    /// The first has the whole, and every so many after it; the others nothing.
    OneIn(u16),
    /// Each has a share, of which a part of the packets is enough. All have the whole if the block
    /// has fewer than [`CODED_COUNT_MIN`] packets, or shares would not be shorter.
    Coded {
        /// That part.
        rate: Rate,
        /// Size of digests in tags; none only where nobody else can send.
        tags: Option<TagSize>,
    },
}

impl Distribution {
    /// Coded as it should be on open networks: any quarter of the packets is enough, 8-byte tags.
    pub const CODED: Self = Self::Coded {
        rate: Rate::QUARTER,
        tags: Some(TagSize::T8),
    };
}

/// The parts of one block's signature.
pub(crate) enum SignatureParts {
    /// The blob, in one packet of so many.
    Whole { blob: Vec<u8>, one_in: u16 },
    /// Shares, one after the other.
    Coded {
        code: Code,
        shares: Vec<u8>,
        tags: Option<ShareTree>,
    },
}

impl SignatureParts {
    /// # Errors
    /// The block has more packets than a code has shares.
    pub fn new(blob: Vec<u8>, block: &Block, distribution: Distribution) -> Result<Self, Error> {
        let (rate, tags) = match distribution {
            Distribution::Every => return Ok(Self::Whole { blob, one_in: 1 }),
            Distribution::OneIn(one_in) => return Ok(Self::Whole { blob, one_in }),
            Distribution::Coded { rate, tags } => (rate, tags),
        };
        let Some(code) = code(block, blob.len(), rate, tags)? else {
            return Ok(Self::Whole { blob, one_in: 1 });
        };
        let shares = code.encode(&blob)?;
        let tree = tags.map(|size| ShareTree::new(Tags::new(*block.id(), code, size), &shares));
        Ok(Self::Coded {
            code,
            shares,
            tags: tree.transpose()?,
        })
    }

    /// Appends what a packet of the block carries, and says how.
    pub fn write(&self, index: u16, out: &mut Vec<u8>) -> Carriage {
        match self {
            Self::Whole { blob, one_in } if index.is_multiple_of((*one_in).max(1)) => {
                out.extend_from_slice(blob);
                Carriage::Full
            }
            Self::Whole { .. } => Carriage::Sparse,
            Self::Coded { code, shares, tags } => {
                let size = code.share_bytes();
                out.extend_from_slice(&code.needed().to_be_bytes());
                out.extend_from_slice(&shares[usize::from(index) * size..][..size]);
                if let Some(tags) = tags {
                    tags.write_tag(index, out);
                }
                Carriage::Coded(tags.as_ref().map(ShareTree::size))
            }
        }
    }
}

/// The code of a block; none if its packets are better off with the whole blob.
fn code(
    block: &Block,
    blob: usize,
    rate: Rate,
    tags: Option<TagSize>,
) -> Result<Option<Code>, Error> {
    let count = block.count();
    if count < CODED_COUNT_MIN {
        return Ok(None);
    }
    if count > COUNT_MAX {
        return Err(Error::Count);
    }
    let needed = rate.needed(count).max(NEEDED_MIN);
    let blob_bytes = u16::try_from(blob).map_err(|_| Error::BlobLength)?;
    let code = Code::new(count, needed, blob_bytes)?;
    // No tag is longer than the first one.
    let longest = NEEDED_BYTES + code.share_bytes() + tag_bytes(block, code, tags, 0);
    Ok((longest < blob).then_some(code))
}
