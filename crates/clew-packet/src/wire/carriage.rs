//! How a block's signature travels: in full in every packet, or coded, a share in each
//! (specification section 3.3; the code is that of `spec/flow-carriage.md`).

use alloc::vec::Vec;

use clew_tree::DigestSize;
use clew_tree::carriage::{Code, Rate, ShareTree, TagSize, Tags};

use crate::{
    reason::Reason,
    wire::block::{Block, Mode, depth_max},
    wire::bytes::u16_at,
    wire::trailer::{FOOT_BYTES, HEAD_BYTES},
};

/// Fewest packets of a block in coded carriage: smaller ones have their signature in full.
pub const CODED_MIN: u16 = 9;

/// Most packets of a block in coded carriage: in larger ones the paths alone are as long.
pub const CODED_MAX: u16 = 128;

/// What senders keep a trailer in coded carriage to, in bytes without saved values, where they can.
pub const CODED_BUDGET: usize = 200;

/// Length of k in a body.
const NEEDED_BYTES: usize = 2;

/// How the signature is spread over packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carriage {
    /// Each packet carries all of it.
    Full,
    /// Each packet carries a share of its block's, with a tag of digests of this size.
    Coded(TagSize),
}

impl Carriage {
    /// Returns the code point of the carriage `code` in that mode.
    pub(crate) fn parse(code: u8, mode: Mode) -> Result<Self, Reason> {
        match (code, mode) {
            (1, _) => Ok(Self::Full),
            (2, Mode::Tree) => Ok(Self::Coded(TagSize::T8)),
            (3, Mode::Tree) => Ok(Self::Coded(TagSize::T4)),
            _ => Err(Reason::UnknownCarriage),
        }
    }

    /// Returns the code point.
    pub const fn code(self) -> u8 {
        match self {
            Self::Full => 1,
            Self::Coded(TagSize::T8) => 2,
            Self::Coded(TagSize::T4) => 3,
        }
    }
}

/// Cuts what stands before the saved values of a trailer in coded carriage into body and block
/// section, which comes first here: it tells its own length, and so the tag's.
///
/// # Errors
/// `bad-trailer-length` if they are not filled exactly; `bad-code` for k = 0, which no length fits.
pub(crate) fn coded_parts(
    rest: &[u8],
    signature: usize,
    size: TagSize,
) -> Result<(&[u8], &[u8]), Reason> {
    let (length, depth) = Block::tree_length(rest)?;
    let parts = rest.split_at_checked(length);
    let (block, body) = parts.ok_or(Reason::BadTrailerLength)?;
    if body.len() < NEEDED_BYTES {
        return Err(Reason::BadTrailerLength);
    }
    let needed = usize::from(u16_at(body, 0));
    if needed == 0 {
        return Err(Reason::BadCode);
    }
    let length = NEEDED_BYTES + signature.div_ceil(needed) + size.bytes() * depth;
    if body.len() != length {
        return Err(Reason::BadTrailerLength);
    }
    Ok((body, block))
}

/// A packet's share of its block's signature, with its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coded<'a> {
    pub(crate) tags: Tags,
    index: u16,
    size: TagSize,
    /// The share.
    pub share: &'a [u8],
    /// The digests that lead from it to the root of all shares.
    pub tag: &'a [u8],
}

impl<'a> Coded<'a> {
    /// Parses a body; none if it breaks a rule.
    pub(crate) fn parse(
        body: &'a [u8],
        block: &clew_tree::Block,
        index: u16,
        signature: usize,
        size: TagSize,
    ) -> Option<Self> {
        let (needed, rest) = body.split_first_chunk()?;
        let code = code(block.count(), u16::from_be_bytes(*needed), signature)?;
        let tags = Tags::new(*block.id(), code, size);
        let (share, tag) = rest.split_at_checked(code.share_bytes())?;
        let fits = tags.tag_bytes(index) == Ok(tag.len());
        fits.then_some(Self {
            tags,
            index,
            size,
            share,
            tag,
        })
    }

    /// Returns which share it is: the packet's index in its block.
    pub const fn index(&self) -> u16 {
        self.index
    }

    /// Returns T: the size of the digests in the tag, in bytes.
    pub const fn digest_bytes(&self) -> usize {
        self.size.bytes()
    }

    /// Returns k: how many packets of the block restore its signature.
    pub const fn needed(&self) -> u16 {
        self.tags.code().needed()
    }
}

/// The code of a block, if it may have that one.
fn code(count: u16, needed: u16, signature: usize) -> Option<Code> {
    let may_be = (CODED_MIN..=CODED_MAX).contains(&count) && needed >= least_needed(count);
    let signature = u16::try_from(signature).ok().filter(|_| may_be)?;
    Code::new(count, needed, signature).ok()
}

/// The least k: a verification costs a forger that many packets.
pub(crate) const fn least_needed(count: u16) -> u16 {
    Rate::QUARTER.needed(count)
}

/// How a sender codes the signature of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Coding {
    code: Code,
    size: TagSize,
}

impl Coding {
    /// Returns the coding of a signature of so many bytes over a block of so many packets, none
    /// where carriage is always full. k is the least one, from a quarter of the packets on, that
    /// keeps the trailer to [`CODED_BUDGET`]: with the longer tags if half of the packets may be
    /// lost then, else with the shorter ones if a tenth may. If none does, it is the least one that
    /// makes the shortest trailer of which half may be lost.
    pub fn of(count: u16, digest: DigestSize, signature: usize) -> Option<Self> {
        let section = Block::length_max(Mode::Tree, digest, count);
        let fixed = HEAD_BYTES + FOOT_BYTES + section;
        let codings = |size, least: u16, most: u16| {
            let code = move |needed| code(count, needed, signature);
            (least..=most)
                .filter_map(code)
                .map(move |code| Self { code, size })
        };
        let fits = |coding: &Self| fixed + coding.body_max() <= CODED_BUDGET;
        // With fewer packets a share alone is longer than the room: they need not be tried.
        let first = |size: TagSize, most| {
            let tag = size.bytes() * depth_max(count);
            let room = CODED_BUDGET.saturating_sub(fixed + NEEDED_BYTES + tag);
            let needed = u16::try_from(signature.checked_div(room)?).ok()?;
            codings(size, needed.max(least_needed(count)), most).find(fits)
        };
        let (half, most) = (count / 2, count - count.div_ceil(10));
        first(TagSize::T8, half)
            .or_else(|| first(TagSize::T4, most))
            .or_else(|| {
                let all = codings(TagSize::T4, least_needed(count), half);
                all.min_by_key(Self::body_max)
            })
    }

    /// Returns the carriage of the block's packets.
    pub const fn carriage(&self) -> Carriage {
        Carriage::Coded(self.size)
    }

    /// Returns the length of the longest body in bytes.
    pub fn body_max(&self) -> usize {
        let tag = self.size.bytes() * depth_max(self.code.count());
        NEEDED_BYTES + self.code.share_bytes() + tag
    }

    /// Returns the bodies of the packets of the block with that id, in their order.
    pub fn bodies(&self, id: [u8; clew_tree::ID_BYTES], signature: &[u8]) -> Vec<Vec<u8>> {
        let tags = Tags::new(id, self.code, self.size);
        let shares = self.code.encode(signature);
        let shares = shares.expect("the code was made for signatures of this length");
        let tree = ShareTree::new(tags, &shares).expect("the tags were made for these shares");
        let shares = shares.chunks_exact(self.code.share_bytes());
        let body = |(index, share): (u16, &[u8])| {
            let tag = tree.tag(index).expect("the code has this share");
            let needed = self.code.needed().to_be_bytes();
            [&needed[..], share, &tag].concat()
        };
        (0..).zip(shares).map(body).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Length of the longest trailer, k and T.
    fn made(count: u16, signature: usize) -> Option<(usize, u16, usize)> {
        let coding = Coding::of(count, DigestSize::D16, signature)?;
        let section = Block::length_max(Mode::Tree, DigestSize::D16, count);
        let length = HEAD_BYTES + FOOT_BYTES + section + coding.body_max();
        Some((length, coding.code.needed(), coding.size.bytes()))
    }

    #[test]
    fn every_coded_block_keeps_to_the_budget_with_xr() {
        for count in CODED_MIN..=CODED_MAX {
            let (length, needed, size) = made(count, 288).unwrap();
            assert!(length <= CODED_BUDGET, "{count}: {length}");
            let most = if size == 8 { 50 } else { 90 };
            assert!((count.div_ceil(4)..=count * most / 100).contains(&needed));
        }
    }

    /// The table of section 3.3.
    #[test]
    fn what_the_rule_gives() {
        let rows = [
            (9, [(193, 5, 4), (191, 6, 4), (411, 4, 4)]),
            (16, [(199, 6, 8), (199, 7, 8), (273, 8, 4)]),
            (32, [(199, 12, 8), (199, 14, 8), (200, 25, 4)]),
            (64, [(193, 16, 4), (196, 16, 4), (200, 45, 4)]),
            (65, [(200, 58, 4), (206, 31, 4), (230, 32, 4)]),
            (128, [(200, 58, 4), (200, 68, 4), (213, 62, 4)]),
        ];
        for (count, row) in rows {
            for (signature, expected) in [288, 336, 1104].into_iter().zip(row) {
                assert_eq!(made(count, signature), Some(expected));
            }
        }
        let full = [1, CODED_MIN - 1, CODED_MAX + 1, 1024];
        assert!(full.iter().all(|count| made(*count, 288).is_none()));
    }
}
