//! The code (`spec/flow-carriage.md` section 2): Reed and Solomon, *Polynomial Codes over Certain
//! Finite Fields*, 1960, as Rabin's *Efficient Dispersal of Information*, 1989, uses it.

use alloc::vec::Vec;
use core::{error, fmt};

use super::field::{Log, UNITS, exp, log};

/// Fewest packets of a block with coded carriage.
pub const COUNT_MIN: u16 = 2;

/// Most packets of a block with coded carriage: as many as the field has elements.
pub const COUNT_MAX: u16 = 256;

/// Shortest blob, in bytes.
pub const BLOB_MIN: u16 = 64;

/// Longest blob, in bytes.
pub const BLOB_MAX: u16 = 1200;

/// The rule that a code, or what is given to it, breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A block has [`COUNT_MIN`] to [`COUNT_MAX`] packets.
    Count,
    /// The number of shares needed is 1 to that of the packets, and what the receiver takes.
    Needed,
    /// A blob has [`BLOB_MIN`] to [`BLOB_MAX`] bytes, and those that its code states.
    BlobLength,
    /// The share has not the length of its code's shares.
    ShareLength,
    /// The tag has not the length that the share's place gives it.
    TagLength,
    /// The block has no share of that index.
    Index,
    /// The same index twice.
    Repeated,
    /// Fewer shares than are needed.
    TooFew,
    /// What fills the last share is not zero.
    Padding,
}

impl Error {
    /// Returns the rule's name in `spec/flow-carriage.md`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Needed => "needed",
            Self::BlobLength => "blob-length",
            Self::ShareLength => "share-length",
            Self::TagLength => "tag-length",
            Self::Index => "index",
            Self::Repeated => "repeated",
            Self::TooFew => "too-few",
            Self::Padding => "padding",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Count => "a coded block has 2 to 256 packets",
            Self::Needed => "the number of shares needed is out of range",
            Self::BlobLength => "a blob has 64 to 1200 bytes, as many as its code states",
            Self::ShareLength => "the share has another length than its code's",
            Self::TagLength => "the tag has another length than its place gives it",
            Self::Index => "the block has no share of this index",
            Self::Repeated => "two shares have one index",
            Self::TooFew => "fewer shares than are needed",
            Self::Padding => "what fills the last share is not zero",
        })
    }
}

impl error::Error for Error {}

/// The part of a block's packets that restores its blob (g of *SAIDA*, Park, Chong and Siegel, 2002),
/// in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(u8);

impl Rate {
    /// A quarter, unless something else is chosen.
    pub const QUARTER: Self = Self(25);

    /// Creates a rate of 1 to 100 percent.
    pub const fn new(percent: u8) -> Option<Self> {
        if percent == 0 || percent > 100 {
            return None;
        }
        Some(Self(percent))
    }

    /// Returns k = ceil(g m): how many of `count` shares are needed.
    pub const fn needed(self, count: u16) -> u16 {
        (count as u32 * self.0 as u32).div_ceil(100) as u16
    }
}

/// How one block's blob is shared: m, k and the length of the blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    count: u16,
    needed: u16,
    blob: u16,
}

impl Code {
    /// Creates a code of `count` (m) shares, any `needed` (k) of which restore a blob of `blob`
    /// bytes.
    pub const fn new(count: u16, needed: u16, blob: u16) -> Result<Self, Error> {
        if count < COUNT_MIN || count > COUNT_MAX {
            return Err(Error::Count);
        }
        if needed == 0 || needed > count {
            return Err(Error::Needed);
        }
        if blob < BLOB_MIN || blob > BLOB_MAX {
            return Err(Error::BlobLength);
        }
        Ok(Self {
            count,
            needed,
            blob,
        })
    }

    /// Returns m: the number of shares, one for each packet.
    pub const fn count(&self) -> u16 {
        self.count
    }

    /// Returns k: how many shares restore the blob.
    pub const fn needed(&self) -> u16 {
        self.needed
    }

    /// Returns the length of the blob in bytes.
    pub const fn blob_bytes(&self) -> usize {
        self.blob as usize
    }

    /// Returns the length of each share in bytes.
    pub const fn share_bytes(&self) -> usize {
        self.blob_bytes().div_ceil(self.needed as usize)
    }

    /// Returns all shares of a blob, one after the other, each of [`Code::share_bytes`].
    pub fn encode(&self, blob: &[u8]) -> Result<Vec<u8>, Error> {
        if blob.len() != self.blob_bytes() {
            return Err(Error::BlobLength);
        }
        let (needed, size) = (usize::from(self.needed), self.share_bytes());
        let mut shares = Vec::with_capacity(usize::from(self.count) * size);
        shares.extend_from_slice(blob);
        shares.resize(needed * size, 0);
        let known: Vec<_> = (0..self.needed).zip(shares.chunks_exact(size)).collect();
        let polynomial = Polynomial::through(&known);
        shares.resize(usize::from(self.count) * size, 0);
        let parity = shares[needed * size..].chunks_exact_mut(size);
        (self.needed..)
            .zip(parity)
            .for_each(|(index, share)| polynomial.add_at(index, share));
        Ok(shares)
    }

    /// Returns the blob, from the first [`Code::needed`] of shares with their indices. All shares
    /// given are checked; [`Error::Padding`] is that of shares which no blob has.
    pub fn decode<S: AsRef<[u8]>>(&self, shares: &[(u16, S)]) -> Result<Vec<u8>, Error> {
        self.check_all(shares)?;
        let (needed, size) = (usize::from(self.needed), self.share_bytes());
        let known = shares
            .iter()
            .take(needed)
            .map(|(index, share)| (*index, share.as_ref()));
        let known: Vec<_> = known.collect();
        let mut blob = self.place(&known);
        let missing = blob
            .chunks_exact_mut(size)
            .zip(0..)
            .filter(|(_, index)| !is_in(&known, *index));
        let mut polynomial = None;
        for (share, index) in missing {
            polynomial
                .get_or_insert_with(|| Polynomial::through(&known))
                .add_at(index, share);
        }
        let padding = blob.split_off(self.blob_bytes());
        if padding.iter().any(|byte| *byte != 0) {
            return Err(Error::Padding);
        }
        Ok(blob)
    }

    /// Returns whether a share can be one of this code's.
    pub fn check(&self, index: u16, share: &[u8]) -> Result<(), Error> {
        if index >= self.count {
            return Err(Error::Index);
        }
        if share.len() != self.share_bytes() {
            return Err(Error::ShareLength);
        }
        Ok(())
    }

    fn check_all<S: AsRef<[u8]>>(&self, shares: &[(u16, S)]) -> Result<(), Error> {
        let mut seen = [false; COUNT_MAX as usize];
        for (index, share) in shares {
            self.check(*index, share.as_ref())?;
            if core::mem::replace(&mut seen[usize::from(*index)], true) {
                return Err(Error::Repeated);
            }
        }
        if shares.len() < usize::from(self.needed) {
            return Err(Error::TooFew);
        }
        Ok(())
    }

    /// The first k shares, as far as they are known; zero elsewhere.
    fn place(&self, known: &[(u16, &[u8])]) -> Vec<u8> {
        let size = self.share_bytes();
        let mut out = alloc::vec![0; usize::from(self.needed) * size];
        for (index, share) in known.iter().filter(|(index, _)| *index < self.needed) {
            out[usize::from(*index) * size..][..size].copy_from_slice(share);
        }
        out
    }
}

fn is_in(known: &[(u16, &[u8])], index: u16) -> bool {
    known.iter().any(|(other, _)| *other == index)
}

/// The polynomials of degree below k, one for each column of bytes, through k shares.
struct Polynomial {
    /// Indices of the shares.
    points: Vec<u8>,
    /// Logarithm of prod (x_j - x_l) over all other l, for each j, reduced.
    weights: Vec<Log>,
    /// Logarithms of all bytes of the shares.
    values: Vec<Log>,
}

impl Polynomial {
    /// Through distinct shares of one length.
    fn through(shares: &[(u16, &[u8])]) -> Self {
        let points: Vec<u8> = shares.iter().map(|(index, _)| *index as u8).collect();
        let weights = points.iter().map(|own| product(*own, &points)).collect();
        let bytes = shares.iter().flat_map(|(_, share)| share.iter());
        let values = bytes.map(|byte| log(*byte)).collect();
        Self {
            points,
            weights,
            values,
        }
    }

    /// Adds their values at another index to `out`: by Lagrange, the sum over j of
    /// y_j prod (x - x_l) / (x_j - x_l).
    fn add_at(&self, index: u16, out: &mut [u8]) {
        let x = index as u8;
        let all = product(x, &self.points);
        let rows = self.values.chunks_exact(out.len());
        for ((point, weight), row) in self.points.iter().zip(&self.weights).zip(rows) {
            let factor = (all + 2 * UNITS - log(x ^ point) - weight) % UNITS;
            for (sum, value) in out.iter_mut().zip(row) {
                *sum ^= exp(factor + value);
            }
        }
    }
}

/// Logarithm, reduced, of the product of x - x_l over all points but x itself.
fn product(x: u8, points: &[u8]) -> Log {
    let others = points.iter().filter(|point| **point != x);
    let sum: u32 = others.map(|point| u32::from(log(x ^ point))).sum();
    (sum % u32::from(UNITS)) as Log
}
