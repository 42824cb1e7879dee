//! A member's key.

use super::PublicKey;
use crate::curve::{G1, G1_BYTES, SCALAR_BYTES, Scalar};
use crate::secret::{Secret, secret_bytes, shielded};
use crate::wire::Values;
use crate::{DecodeError, Invalid, Proof, Witness};
use alloc::vec::Vec;
use clew_wire::opaque;
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

/// Size of an encoded member key: A (48 bytes), x, y (32 each).
pub const MEMBER_KEY_BYTES: usize = G1_BYTES + 2 * SCALAR_BYTES;

/// A member's key (A, x, y) with A^(gamma+x) = g1 h0^y, the same in every epoch. The issuer knows A
/// and x; nobody but the machine knows y. Secret; on the heap, and wiped when dropped.
#[derive(Clone)]
pub struct MemberKey(Secret<Parts>);

#[derive(Clone, Zeroize)]
struct Parts {
    a: G1,
    x: Scalar,
    y: Scalar,
}

impl MemberKey {
    /// Puts a key together, from an x and a y that `make` returns.
    pub(super) fn new(a: G1, make: impl FnOnce() -> (Scalar, Scalar)) -> Self {
        Self(Secret::new(|| {
            let (x, y) = make();
            Parts { a, x, y }
        }))
    }

    /// Decodes; x or y of zero is [`DecodeError::Scalar`]. That the key is of some group is checked
    /// by [`super::SigningKey::new`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        Secret::try_new(|| {
            let mut values = Values::exactly(MEMBER_KEY_BYTES, bytes)?;
            let a = values.take(G1_BYTES)?;
            let (x, y) = (values.secret()?, values.secret()?);
            let a = G1::from_bytes(a)?;
            Ok(Parts { a, x, y })
        })
        .map(Self)
    }

    /// Encodes as A || x || y. Secret.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        shielded(|| {
            let [x, y] = [self.x(), self.y()].map(|s| Zeroizing::new(s.to_bytes()));
            secret_bytes(&[&self.0.a.to_bytes(), x.as_slice(), y.as_slice()])
        })
    }

    /// Returns A, which the register has in this member's row.
    pub fn credential(&self) -> G1 {
        self.0.a
    }

    /// Returns x, which the member update needs ([`Witness::after`]). Secret until it is revoked.
    pub fn x(&self) -> &Scalar {
        &self.0.x
    }

    pub(super) fn y(&self) -> &Scalar {
        &self.0.y
    }

    /// Returns C = h0^y, which the register has in this member's row. `genesis` is a key of the
    /// group, of any epoch.
    pub fn commitment(&self, genesis: &PublicKey) -> G1 {
        shielded(|| genesis.commitment(self.y()))
    }

    /// Proves knowledge of y for a statement about this key: that of the member's row (spec 3.2,
    /// step 3). `genesis` is a key of the group, of any epoch.
    ///
    /// The issuer knows y of no honest machine, so that it cannot put that machine's A and C, or a C
    /// that it computes from the machine's signatures, into the row of another device.
    pub fn prove_y(
        &self,
        genesis: &PublicKey,
        statement: &[u8],
        rng: &mut impl CryptoRng,
    ) -> Proof {
        shielded(|| {
            let hash = genesis.row_hash(statement, &genesis.commitment(self.y()));
            Proof::new([&genesis.h0], self.y(), hash, rng)
        })
    }

    /// Checks this key and a witness in the epoch of `group` (spec 3.2, step 5): e(A, w G2^x) =
    /// e(g1 h0^y, G2), e(W, w G2^x) = e(V, G2), and h_w = h^gamma. Together with the checks of
    /// `group` when it was loaded, they keep a bad update from marking every signature made with it.
    pub fn check(&self, group: &PublicKey, witness: &Witness) -> Result<(), Invalid> {
        let has_witness = || shielded(|| group.is_power(&witness.0, group.v(), self.x()));
        Invalid::unless(self.is_certified(group) && has_witness() && group.has_good_h_w())
    }

    /// e(A, w G2^x) = e(g1 h0^y, G2).
    pub(super) fn is_certified(&self, group: &PublicKey) -> bool {
        shielded(|| group.certifies(&self.0.a, &group.commitment(self.y()), self.x()))
    }
}

opaque!(MemberKey);
