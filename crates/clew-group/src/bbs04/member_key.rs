//! A member's key.

use super::PublicKey;
use crate::curve::{G1, G1_BYTES, G2, PreparedG2, SCALAR_BYTES, Scalar, pairing_product};
use crate::secret::{Secret, secret_bytes, shielded};
use crate::wire::Values;
use crate::{DecodeError, Invalid, Witness};
use alloc::vec::Vec;
use clew_wire::opaque;
use zeroize::{Zeroize, Zeroizing};

/// Size of an encoded member key: A (48 bytes), x (32).
pub const MEMBER_KEY_BYTES: usize = G1_BYTES + SCALAR_BYTES;

/// A member's key gsk\[i\] = (A, x) with A = g1^(1/(gamma + x)), the same in every epoch. Secret;
/// on the heap, and wiped when dropped. The issuer knows it.
#[derive(Clone)]
pub struct MemberKey(Secret<Parts>);

#[derive(Clone, Zeroize)]
struct Parts {
    a: G1,
    x: Scalar,
}

impl MemberKey {
    pub(super) fn new(make: impl FnOnce() -> Option<(G1, Scalar)>) -> Option<Self> {
        let parts = || make().map(|(a, x)| Parts { a, x }).ok_or(());
        Secret::try_new(parts).ok().map(Self)
    }

    /// Decodes; x of zero is [`DecodeError::Scalar`]. That the key is of some group is checked by
    /// [`super::SigningKey::new`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        Secret::try_new(|| {
            let mut values = Values::exactly(MEMBER_KEY_BYTES, bytes)?;
            let (a, x) = (values.take(G1_BYTES)?, values.secret()?);
            let a = G1::from_bytes(a)?;
            Ok(Parts { a, x })
        })
        .map(Self)
    }

    /// Encodes as A || x. Secret.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        shielded(|| {
            let x = Zeroizing::new(self.0.x.to_bytes());
            secret_bytes(&[&self.0.a.to_bytes(), x.as_slice()])
        })
    }

    /// Returns A, which the register has in this member's row.
    pub fn credential(&self) -> G1 {
        self.0.a
    }

    /// Returns x. Secret for ever: no revocation publishes it.
    pub fn x(&self) -> &Scalar {
        &self.0.x
    }

    /// Returns X = G2^x, which the register has in this member's row.
    pub fn public_x(&self) -> G2 {
        shielded(|| G2::generator().mul(self.x()))
    }

    /// Checks this key and a witness in the epoch of `group`: e(A, w g2^x) = e(g1, g2) and
    /// e(W, w g2^x) = e(V, g2).
    pub fn check(&self, group: &PublicKey, witness: &Witness) -> Result<(), Invalid> {
        let [standard, w] = [G2::generator(), group.w].map(|q| PreparedG2::new(&q));
        let is_power = |p: &G1, q: &G1| {
            let in_g2 = p.mul(self.x()) - *q;
            pairing_product([(&in_g2, &standard), (p, &w)]).is_identity()
        };
        let holds =
            || is_power(&self.0.a, &G1::generator()) && is_power(&witness.0, &group.epoch_v);
        Invalid::unless(shielded(holds))
    }
}

opaque!(MemberKey);
