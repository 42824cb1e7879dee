//! Revocation (section 7; Clue, "Revocation"): the group's key and every other member's key move on,
//! and the revoked key cannot.

use super::{MemberKey, PublicKey};
use crate::curve::{G1, G1_BYTES, G2, G2_BYTES, PreparedG2, SCALAR_BYTES, Scalar};
use crate::pairings::equal;
use crate::{DecodeError, Invalid, Revoked};
use zeroize::Zeroizing;

/// Size of an encoded revocation: x (32 bytes), g1 (48), g2 (96), lift (96).
pub const REVOCATION_BYTES: usize = SCALAR_BYTES + G1_BYTES + 2 * G2_BYTES;

/// What the issuer publishes when it revokes the member with secret x: x itself, g1^(1/(gamma+x))
/// and g2^(1/(gamma+x)) (the paper's A* in both groups), and the next lift. From here on x is public.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Revocation {
    pub(super) x: Scalar,
    pub(super) g1: G1,
    pub(super) g2: G2,
    pub(super) lift: G2,
}

impl Revocation {
    /// Decodes, with the checks of every value.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() != REVOCATION_BYTES {
            return Err(DecodeError::Length);
        }
        let (x, rest) = bytes.split_at(SCALAR_BYTES);
        let (g1, rest) = rest.split_at(G1_BYTES);
        let (g2, lift) = rest.split_at(G2_BYTES);
        Ok(Self {
            x: Scalar::from_bytes(x)?,
            g1: G1::from_bytes(g1)?,
            g2: G2::from_bytes(g2)?,
            lift: G2::from_bytes(lift)?,
        })
    }

    /// Encodes as x || g1 || g2 || lift.
    pub fn to_bytes(&self) -> [u8; REVOCATION_BYTES] {
        let mut out = [0; REVOCATION_BYTES];
        let (x, rest) = out.split_at_mut(SCALAR_BYTES);
        let (g1, rest) = rest.split_at_mut(G1_BYTES);
        let (g2, lift) = rest.split_at_mut(G2_BYTES);
        x.copy_from_slice(&self.x.to_bytes());
        g1.copy_from_slice(&self.g1.to_bytes());
        g2.copy_from_slice(&self.g2.to_bytes());
        lift.copy_from_slice(&self.lift.to_bytes());
        out
    }
}

impl PublicKey {
    /// The group update: the key of the next epoch, which anybody computes and checks alone.
    ///
    /// w = g2 of this epoch - x g2 of the next; checked are g1'^(gamma+x) = g1, one exponent for
    /// both groups, and the lift.
    pub fn after(&self, revocation: &Revocation) -> Result<Self, Invalid> {
        let next = Self {
            g1: revocation.g1,
            g2: revocation.g2,
            w: self.g2 - revocation.g2.mul(&revocation.x),
            lift: revocation.lift,
            ..self.clone()
        };
        if next.w.is_identity() {
            return Err(Invalid);
        }
        let [g2, w, lift, next_g2, next_lift] =
            [&self.g2, &self.w, &self.lift, &next.g2, &next.lift].map(PreparedG2::new);
        let raised = next.g1.mul(&revocation.x) - self.g1;
        // e(g1', w + x g2) = e(g1, g2);  e(g1, g2') = e(g1', g2);  e(g1', lift') = e(g1, lift).
        let holds = equal((&raised, &g2), (&-next.g1, &w))
            && equal((&self.g1, &next_g2), (&next.g1, &g2))
            && equal((&next.g1, &next_lift), (&self.g1, &lift));
        if holds { Ok(next) } else { Err(Invalid) }
    }
}

impl MemberKey {
    /// The member update: A' = (g1' / A)^(1/(x - x*)). A revoked member would divide by zero. The
    /// result is to be checked ([`super::SigningKey::new`]) before it signs.
    pub fn after(&self, revocation: &Revocation) -> Result<Self, Revoked> {
        let inverse = Zeroizing::new((self.x - revocation.x).invert().ok_or(Revoked)?);
        Ok(Self {
            a: (revocation.g1 - self.a).mul(&inverse),
            x: self.x,
        })
    }
}
