//! The issuer: makes member keys, and witnesses for them in each epoch.

use super::{MemberKey, PublicKey};
use crate::curve::{G1, G2, Scalar};
use crate::secret::{Secret, shielded};
use crate::{DecodeError, EpochIssuer};
use alloc::vec::Vec;
use clew_wire::opaque;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// The issuer's secret gamma. On the heap, and wiped when dropped.
pub struct IssuerKey {
    gamma: Secret<Scalar>,
}

/// What the issuer publishes: w = G2^gamma.
#[derive(Clone, Debug)]
pub struct Issuing {
    pub(super) w: G2,
}

impl IssuerKey {
    /// Draws a key (KeyGen, section 4).
    pub fn generate(rng: &mut impl CryptoRng) -> (Self, Issuing) {
        let gamma = Secret::random(rng);
        let key = Self { gamma };
        let issuing = key.issuing();
        (key, issuing)
    }

    /// Decodes 32 bytes; zero is [`DecodeError::Scalar`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        Secret::decode(bytes).map(|gamma| Self { gamma })
    }

    /// Encodes as 32 bytes. Secret.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        self.gamma.encode()
    }

    /// Returns the public half.
    pub fn issuing(&self) -> Issuing {
        let w = shielded(|| G2::generator().mul(&self.gamma));
        Issuing { w }
    }

    /// Issues A = g1^(1/(gamma + x)), for an x that no other member has. Returns `None` if x is
    /// zero or -gamma.
    pub fn issue(&self, x: &Scalar) -> Option<MemberKey> {
        MemberKey::new(|| {
            let exponent = Zeroizing::new((*self.gamma + *x).invert()?);
            (!x.is_zero()).then(|| (G1::generator().mul(&exponent), *x))
        })
    }

    /// Issues for a random x.
    pub fn issue_random(&self, rng: &mut impl CryptoRng) -> MemberKey {
        loop {
            let x = Secret::random(rng);
            if let Some(key) = self.issue(&x) {
                return key;
            }
        }
    }

    /// Returns the issuer in the epoch of `group`. `revoked` are the x of all rows that rebases up
    /// to that epoch revoked.
    pub fn in_epoch(
        &self,
        group: &PublicKey,
        revoked: impl IntoIterator<Item = Scalar>,
    ) -> EpochIssuer {
        EpochIssuer::new(&self.gamma, &group.epoch_v, revoked)
    }
}

opaque!(IssuerKey);
