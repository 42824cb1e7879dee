//! How an opening key is shared (spec 2.5).

use alloc::vec::Vec;
use clew_group::Scheme;
use clew_group::quorum::{Quorum, Sharing};
use clew_wire::Reader;

/// Where an opening key comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A trusted dealer made it and could open alone.
    TrustedDealer = 1,
    /// The trustees generated it together (DKG): it never existed in one place (`xr`).
    Dkg = 2,
}

impl Origin {
    fn read(scheme: Scheme, fields: &mut Reader<'_>) -> Option<Self> {
        match (fields.u8()?, scheme) {
            (1, _) => Some(Self::TrustedDealer),
            (2, Scheme::Xr) => Some(Self::Dkg),
            _ => None,
        }
    }

    /// Returns the name that JSON output uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TrustedDealer => "trusted-dealer",
            Self::Dkg => "dkg",
        }
    }
}

/// How an opening key is shared, as it stands in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharingRecord {
    /// Where the key comes from.
    pub origin: Origin,
    /// How many trustees there are, and how many open.
    pub quorum: Quorum,
    /// The commitments after C_0, encoded: t-1 points with `xr`, 2(t-1) with `bbs04`.
    pub commitments: Vec<u8>,
}

impl SharingRecord {
    /// Describes the sharing of an `xr` group's key.
    pub fn xr(origin: Origin, of_xi: &Sharing) -> Self {
        Self {
            origin,
            quorum: of_xi.quorum(),
            commitments: of_xi.to_bytes(),
        }
    }

    /// Describes the two sharings of a `bbs04` group's key, which have one quorum.
    pub fn bbs04([of_xi1, of_xi2]: &[Sharing; 2]) -> Self {
        Self {
            origin: Origin::TrustedDealer,
            quorum: of_xi1.quorum(),
            commitments: [of_xi1.to_bytes(), of_xi2.to_bytes()].concat(),
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(self.origin as u8);
        out.push(self.quorum.threshold());
        out.push(self.quorum.trustees());
        out.extend_from_slice(&self.commitments);
    }

    pub(super) fn read(scheme: Scheme, fields: &mut Reader<'_>) -> Option<Self> {
        let origin = Origin::read(scheme, fields)?;
        let [threshold, trustees] = fields.array()?;
        let quorum = Quorum::new(threshold, trustees).ok()?;
        let secrets = match scheme {
            Scheme::Bbs04 => 2,
            Scheme::Xr => 1,
        };
        let points = secrets * usize::from(threshold - 1);
        let commitments = fields.take(48 * points)?.to_vec();
        Some(Self {
            origin,
            quorum,
            commitments,
        })
    }
}
