//! The issuer: makes member keys and revokes them.

use super::{MemberKey, PublicKey, Revocation};
use crate::DecodeError;
use crate::curve::{G2, Scalar};
use core::fmt;
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

/// The issuer's secret gamma. Wiped when dropped.
pub struct IssuerKey {
    gamma: Scalar,
}

/// What the issuer publishes: w = G2^gamma.
#[derive(Clone, Debug)]
pub struct Issuing {
    pub(super) w: G2,
}

impl IssuerKey {
    /// A fresh key (KeyGen, section 4).
    pub fn generate(rng: &mut impl CryptoRng) -> (Self, Issuing) {
        let key = Self {
            gamma: Scalar::random(rng),
        };
        let issuing = key.issuing();
        (key, issuing)
    }

    /// Decodes 32 bytes; zero is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let gamma = Scalar::from_bytes(bytes)?;
        if gamma.is_zero() {
            Err(DecodeError::Scalar)
        } else {
            Ok(Self { gamma })
        }
    }

    /// Encodes as 32 bytes. Secret.
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.gamma.to_bytes())
    }

    /// The public half.
    pub fn issuing(&self) -> Issuing {
        Issuing {
            w: G2::generator().mul(&self.gamma),
        }
    }

    /// Issues A = g1^(1/(gamma + x)) in the epoch of `group`; nothing if x = -gamma. Each member
    /// needs an x of its own.
    pub fn issue(&self, group: &PublicKey, x: Scalar) -> Option<MemberKey> {
        let exponent = Zeroizing::new((self.gamma + x).invert()?);
        Some(MemberKey {
            a: group.g1.mul(&exponent),
            x,
        })
    }

    /// Issues for a random x.
    pub fn issue_random(&self, group: &PublicKey, rng: &mut impl CryptoRng) -> MemberKey {
        loop {
            if let Some(key) = self.issue(group, Scalar::random(rng)) {
                return key;
            }
        }
    }

    /// Revokes x (section 7): what all others need to move to the next epoch. Nothing if x = -gamma.
    pub fn revoke(&self, group: &PublicKey, x: Scalar) -> Option<Revocation> {
        let sum = Zeroizing::new(self.gamma + x);
        let inverse = Zeroizing::new(sum.invert()?);
        Some(Revocation {
            x,
            g1: group.g1.mul(&inverse),
            g2: group.g2.mul(&inverse),
            lift: group.lift.mul(&sum),
        })
    }
}

impl fmt::Debug for IssuerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IssuerKey(..)")
    }
}

impl Drop for IssuerKey {
    fn drop(&mut self) {
        self.gamma.zeroize();
    }
}
