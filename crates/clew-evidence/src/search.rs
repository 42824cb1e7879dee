//! Finding the row of an opened signature (`spec/opening.md` section 4).
//!
//! Three ways lead to it. A register with hashes for the packet's epoch answers at once by
//! [`Search::hash`]. Without them [`Search::fits`] asks row by row, a pairing each. With the
//! manager's Q ([`Search::with_q`], `xr`) it asks without a pairing.

use crate::credential::Credential;
use crate::group_file::CheckedGroup;
use crate::register::RegisterEntry;
use crate::request::Request;
use crate::row::Row;
use clew_group::curve::{G1, Scalar};
use clew_group::{Invalid, PublicKey, xr};
use sha2::{Digest, Sha256};

/// Returns SHA-256 of an encoded base B_e, by which an index finds its row.
pub fn base_hash(base: &[u8; 48]) -> [u8; 32] {
    Sha256::digest(base).into()
}

/// What a search finds: the row, and the x of its machine (`None` with `bbs04`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRow {
    /// The row.
    pub row: Row,
    /// x.
    pub x: Option<Scalar>,
}

/// The base B of a packet's verified signature, which good shares opened.
///
/// Only [`crate::combine_opening`] makes one. For such a base and for no other point the manager gives
/// Q (`spec/group-signature.md` section 6, rule 11).
#[derive(Debug)]
pub struct OpenedBase {
    request: Request,
    search: Search,
}

impl OpenedBase {
    pub(crate) fn new(request: Request, search: Search) -> Self {
        Self { request, search }
    }

    /// Returns the request that the shares answer.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Returns B.
    pub fn point(&self) -> &G1 {
        &self.search.base
    }

    /// Returns the search for the row of B.
    pub fn search(self) -> Search {
        self.search
    }
}

/// A search for the row with one base in one epoch.
#[derive(Debug)]
pub struct Search {
    group: PublicKey,
    base: G1,
    hash: [u8; 32],
    by_q: Option<xr::Search>,
}

impl Search {
    /// Searches for the row of `base` in `epoch`. Returns `None` if the file has no good key of that
    /// epoch.
    pub fn new(group: &CheckedGroup, epoch: u32, base: &G1) -> Option<Self> {
        let key = group.public_key(epoch)?.ok()?;
        Some(Self::with_key(key, base))
    }

    pub(crate) fn with_key(group: PublicKey, base: &G1) -> Self {
        Self {
            group,
            base: *base,
            hash: base_hash(&base.to_bytes()),
            by_q: None,
        }
    }

    /// Returns the base B_e that was opened.
    pub fn base(&self) -> &G1 {
        &self.base
    }

    /// Returns the hash of the base.
    pub fn hash(&self) -> &[u8; 32] {
        &self.hash
    }

    /// Searches with the manager's Q = B^gamma, which one pairing checks.
    ///
    /// # Errors
    /// [`Invalid`] if Q is another point, or the group is of `bbs04`.
    pub fn with_q(self, q: &G1) -> Result<Self, Invalid> {
        let PublicKey::Xr(group) = &self.group else {
            return Err(Invalid);
        };
        let by_q = Some(group.search(q, &self.base)?);
        Ok(Self { by_q, ..self })
    }

    /// Returns whether A of an entry is the issuer's credential for this x. A register with a wrong
    /// x hides a row: who found none asks this of every row.
    ///
    /// False too if a point does not decode.
    pub fn certifies(&self, entry: &RegisterEntry, x: Option<&Scalar>) -> bool {
        let candidate = Credential::of(entry, x);
        candidate.is_some_and(|candidate| candidate.is_certified(&self.group))
    }

    /// Returns whether an entry with this x is the one: both equations of the judge hold.
    ///
    /// False too if a point does not decode.
    pub fn fits(&self, entry: &RegisterEntry, x: Option<&Scalar>) -> bool {
        let by_q = self.by_q.as_ref();
        if by_q.is_some_and(|by_q| !fits_by_q(by_q, entry, x)) {
            return false;
        }
        let candidate = Credential::of(entry, x);
        candidate.is_some_and(|candidate| {
            candidate.has_base(&self.group, &self.base) && candidate.is_certified(&self.group)
        })
    }
}

/// Whether g1 V C B^(-x) = Q.
fn fits_by_q(by_q: &xr::Search, entry: &RegisterEntry, x: Option<&Scalar>) -> bool {
    let Some((device, x)) = entry.device().zip(x) else {
        return false;
    };
    G1::from_bytes(&device.commitment).is_ok_and(|c| by_q.row_fits(&c, x))
}
