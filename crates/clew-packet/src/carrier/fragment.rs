//! Parts of a datagram that is too long for its path: section 2.2.

use alloc::vec::Vec;
use core::fmt;

use sha2::{Digest, Sha256};

pub use super::reassembler::{
    FRAGMENT_BYTES_MAX, FRAGMENT_IDS_MAX, FRAGMENT_TIME_MAX, FRAGMENT_WRONG_MAX, Reassembler, Taken,
};
use super::{
    DATAGRAM_MAX, SHIM_BYTES,
    datagram::{Cookie, write_fragment_shim},
};
use crate::reason::Reason;

/// Most fragments of a datagram.
pub const FRAGMENTS_MAX: u8 = 64;

/// Names the fragments of one datagram.
pub type FragmentId = [u8; 16];

const DOMAIN: &[u8; 16] = b"clew-fragment-v1";

/// id, index, count.
const HEAD_BYTES: usize = 16 + 1 + 1;

/// The last of two parts has no fewer bytes, unless both have less.
const LAST_MIN: usize = 16;

/// A part of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// A hash of the whole datagram.
    pub id: &'a FragmentId,
    /// Which part it is, less than `count`.
    pub index: u8,
    /// How many parts there are: 2 to [`FRAGMENTS_MAX`].
    pub count: u8,
    /// The bytes of the part, at least one.
    pub part: &'a [u8],
}

impl<'a> Fragment<'a> {
    /// Reads what stands behind a shim of type 3.
    pub(super) fn parse(rest: &'a [u8]) -> Result<Self, Reason> {
        let (id, rest) = rest.split_first_chunk().ok_or(Reason::BadFragment)?;
        let (&[index, count], part) = rest.split_first_chunk().ok_or(Reason::BadFragment)?;
        let in_range = (2..=FRAGMENTS_MAX).contains(&count) && index < count;
        // All parts before the last one have one length, and the last one is not empty.
        let before = count.saturating_sub(1);
        let before = if index < before { before } else { 0 };
        let least = usize::from(before) * part.len() + 1;
        (in_range && !part.is_empty() && least <= DATAGRAM_MAX)
            .then_some(Self {
                id,
                index,
                count,
                part,
            })
            .ok_or(Reason::BadFragment)
    }
}

/// A datagram does not fit [`FRAGMENTS_MAX`] fragments of the length given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyFragments;

impl fmt::Display for TooManyFragments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the datagram needs more than 64 fragments: raise the MTU")
    }
}

impl core::error::Error for TooManyFragments {}

/// Cuts a datagram that a [`Sender`](crate::Sender) wrote, and that is longer than `payload_max`
/// bytes with its cookie. Appends the payloads of the fragments to `out`, in order, and returns the
/// length of each but the last, which is not longer.
///
/// # Errors
/// There would be too many. Nothing is written then.
pub fn split(
    datagram: &[u8],
    payload_max: usize,
    cookie: Option<&Cookie>,
    out: &mut Vec<u8>,
) -> Result<usize, TooManyFragments> {
    let overhead = SHIM_BYTES + cookie.map_or(0, |cookie| cookie.len()) + HEAD_BYTES;
    let part = payload_max.checked_sub(overhead).filter(|part| *part > 0);
    // Two fragments at least, the first as long as it may be: a sender can afford a short one twice.
    let half = datagram.len().div_ceil(2);
    let most = half.max(datagram.len().saturating_sub(LAST_MIN));
    let part = part.map(|part| part.min(most));
    let part = part.filter(|part| *part > 0).ok_or(TooManyFragments)?;
    let count = u8::try_from(datagram.len().div_ceil(part)).ok();
    let count = count.filter(|count| (2..=FRAGMENTS_MAX).contains(count));
    let count = count.ok_or(TooManyFragments)?;
    let id = id(datagram);
    out.reserve(datagram.len() + usize::from(count) * overhead);
    for (index, part) in (0..count).zip(datagram.chunks(part)) {
        write_fragment_shim(cookie, out);
        out.extend_from_slice(&id);
        out.extend([index, count]);
        out.extend_from_slice(part);
    }
    Ok(overhead + part)
}

/// Returns the id of a datagram's fragments.
pub(super) fn id(datagram: &[u8]) -> FragmentId {
    let digest = Sha256::new_with_prefix(DOMAIN)
        .chain_update(datagram)
        .finalize();
    let mut id = [0; 16];
    id.copy_from_slice(&digest[..16]);
    id
}
