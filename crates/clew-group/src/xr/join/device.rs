//! The device's side: its secret y', from the request to the member key.

use super::JoinError;
use super::messages::{JoinRequest, Offer};
use crate::DecodeError;
use crate::curve::{SCALAR_BYTES, Scalar};
use crate::secret::{Secret, shielded};
use crate::xr::{MemberKey, PublicKey};
use alloc::vec::Vec;
use clew_wire::opaque;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// Size of an encoded device: y'.
pub const DEVICE_BYTES: usize = SCALAR_BYTES;

/// A device that has asked to join. Holds y', which never leaves it; on the heap, and wiped when
/// dropped.
pub struct Device {
    y: Secret<Scalar>,
}

impl Device {
    /// Draws y' and asks to join (step 1). `session` names this join and no other; `genesis` is a
    /// key of the group, of any epoch.
    pub fn new(
        genesis: &PublicKey,
        session: &[u8; 32],
        rng: &mut impl CryptoRng,
    ) -> (Self, JoinRequest) {
        let y = Secret::random(rng);
        let request = shielded(|| JoinRequest::of(genesis, session, &y, rng));
        (Self { y }, request)
    }

    /// Decodes what [`Self::to_bytes`] kept; zero is [`DecodeError::Scalar`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        Secret::decode(bytes).map(|y| Self { y })
    }

    /// Encodes as y', for a join that takes longer than a process lives. Secret.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        self.y.encode()
    }

    /// Accepts the issuer's offer (step 3): y = y' + s, and checks e(A, w G2^x) = e(g1 h0^y, G2).
    /// Only then the device vouches for its row: S by its device key, outside this crate, and
    /// [`MemberKey::prove_y`].
    ///
    /// # Errors
    /// [`JoinError::UnfitS`] if y is zero; [`JoinError::IssuerOfferedNoCredential`] if A is of another
    /// device, another request or another issuer.
    pub fn accept(&self, genesis: &PublicKey, offer: &Offer) -> Result<MemberKey, JoinError> {
        let key = MemberKey::new(*offer.a(), || (*offer.x(), *self.y + *offer.s()));
        if key.commitment(genesis).is_identity() {
            return Err(JoinError::UnfitS);
        }
        if key.is_certified(genesis) {
            Ok(key)
        } else {
            Err(JoinError::IssuerOfferedNoCredential)
        }
    }
}

opaque!(Device);
