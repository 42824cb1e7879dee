//! What a device does in a join, wherever it runs: on its own host, or for `clew enrol` on the
//! issuer's.

use super::files::{AcceptanceFile, OfferFile, RequestFile};
use clew_evidence::{GroupId, Name, join_session};
use clew_group::xr::{Device, JoinError, MemberKey, PublicKey};
use ed25519_dalek::{Signer, SigningKey};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// A device that has asked to join: y', its own key, and the request.
pub struct Applicant {
    pub(super) device: Device,
    /// The device's own key.
    pub key: SigningKey,
    /// What goes to the issuer first.
    pub request: RequestFile,
}

impl Applicant {
    /// Draws y' and the device key, and asks to join under this name. `nonce` is the issuer's.
    pub fn new(
        group: GroupId,
        genesis: &PublicKey,
        nonce: [u8; 32],
        name: &Name,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(seed.as_mut_slice());
        let key = SigningKey::from_bytes(&seed);
        let public = key.verifying_key().to_bytes();
        let session = join_session(group, &nonce, &public, name);
        let (device, request) = Device::new(genesis, &session, rng);
        let request = RequestFile {
            nonce,
            device: public,
            request,
        };
        Self {
            device,
            key,
            request,
        }
    }

    /// Checks the values of an offer, and vouches for the entry that the offer leads to.
    ///
    /// # Errors
    /// [`JoinError`] if the offer does not hold.
    pub fn accept(
        &self,
        group: GroupId,
        genesis: &PublicKey,
        name: &Name,
        offer: &OfferFile,
        rng: &mut impl CryptoRng,
    ) -> Result<(MemberKey, AcceptanceFile), JoinError> {
        let member = self.device.accept(genesis, &offer.offer)?;
        let statement = offer.entry(name, &self.request, genesis).statement(group);
        let acceptance = AcceptanceFile {
            nonce: self.request.nonce,
            signature: self.key.sign(&statement).to_bytes(),
            proof: member.prove_y(genesis, &statement, rng),
        };
        Ok((member, acceptance))
    }
}
