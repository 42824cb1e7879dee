//! Revocation (spec 3.7): the group's key and every other member's key move on, and the revoked key
//! cannot.

use super::{MemberKey, PublicKey};
use crate::curve::{G1, G1_BYTES, G2, G2_BYTES, PreparedG2, SCALAR_BYTES, Scalar, pairing_product};
use crate::pairings::equal;
use crate::wire::{Reader, concat};
use crate::{DecodeError, Invalid, Revoked};
use zeroize::Zeroizing;

/// Size of an encoded revocation: x (32 bytes), g1, h0 (48 each), lift (96).
pub const REVOCATION_BYTES: usize = SCALAR_BYTES + 2 * G1_BYTES + G2_BYTES;

/// What the issuer publishes when it revokes the member with secret x: x itself, and g1, h0 and lift
/// of the next epoch. From here on x is public.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Revocation {
    pub(super) x: Scalar,
    pub(super) g1: G1,
    pub(super) h0: G1,
    pub(super) lift: G2,
}

impl Revocation {
    /// Decodes, with the checks of every value.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::exactly(REVOCATION_BYTES, bytes)?;
        Ok(Self {
            x: reader.scalar()?,
            g1: reader.g1()?,
            h0: reader.g1()?,
            lift: reader.g2()?,
        })
    }

    /// Encodes as x || g1 || h0 || lift.
    pub fn to_bytes(&self) -> [u8; REVOCATION_BYTES] {
        let [g1, h0] = G1::to_bytes_many(&[self.g1, self.h0]);
        concat(&[&self.x.to_bytes(), &g1, &h0, &self.lift.to_bytes()])
    }

    /// The x that is revoked.
    pub fn x(&self) -> &Scalar {
        &self.x
    }
}

impl PublicKey {
    /// The key of the next epoch, which anybody computes and checks alone: u, h, h_w, w stay.
    pub fn after(&self, revocation: &Revocation) -> Result<Self, Invalid> {
        let next = Self {
            g1: revocation.g1,
            h0: revocation.h0,
            lift: revocation.lift,
            ..self.clone()
        };
        let [standard, w, lift, next_lift] =
            [G2::generator(), self.w, self.lift, next.lift].map(|q| PreparedG2::new(&q));
        // e(P', w G2^x) = e(P, G2), as e(P', w) e(P'^x / P, G2) = 1.
        let lowered = |next: &G1, now: &G1| {
            let in_g2 = next.mul(&revocation.x) - *now;
            pairing_product([(next, &w), (&in_g2, &standard)]).is_identity()
        };
        let holds = lowered(&next.g1, &self.g1)
            && lowered(&next.h0, &self.h0)
            && equal((&next.g1, &next_lift), (&self.g1, &lift));
        if holds { Ok(next) } else { Err(Invalid) }
    }
}

impl MemberKey {
    /// The member update: A' = (g1' h0'^y / A)^(1/(x-x*)). The revoked member would divide by zero.
    /// The result is checked by [`super::SigningKey::new`] before it signs; after several
    /// revocations it is enough to check the last.
    pub fn after(&self, revocation: &Revocation) -> Result<Self, Revoked> {
        let inverse = Zeroizing::new((self.x - revocation.x).invert().ok_or(Revoked)?);
        let sum = revocation.g1 + revocation.h0.mul(&self.y);
        Ok(Self {
            a: (sum - self.a).mul(&inverse),
            x: self.x,
            y: self.y,
        })
    }
}
