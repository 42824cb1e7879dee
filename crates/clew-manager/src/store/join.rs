//! The join of xr (`spec/group-signature.md` 3.2): the issuer's side by its rounds, and both sides
//! together where device and issuer are on one host.
//!
//! A join holds the database's write lock from its first round to its last, so that joins of one
//! group run one after the other, as the security argument has it.

use super::enrol::{PendingEnrolment, Place};
use super::register::scale;
use super::{Store, key_of};
use crate::error::StoreError;
use crate::keys::{IssuerKey, IssuerKeyFile};
use clew_evidence::{DeviceEntry, Name, RegisterEntry, join_session};
use clew_group::xr::{self, Credential, Device, JoinRequest, Offer};
use clew_group::{MemberKey, PublicKey};
use ed25519_dalek::{Signer, SigningKey};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// A join that waits for the device's request.
pub struct Join<'s, 'i> {
    place: Place<'s>,
    issuer: &'i IssuerKeyFile,
    gamma: &'i xr::IssuerKey,
    first: xr::PublicKey,
    device: [u8; 32],
    session: [u8; 32],
}

/// A join that waits for the device's signature.
pub struct Offered<'s, 'i> {
    join: Join<'s, 'i>,
    offer: Offer,
    entry: RegisterEntry,
}

/// A join whose machine is in the register, not committed yet.
pub struct Admitted<'s> {
    place: Place<'s>,
    credential: Credential,
    public: xr::PublicKey,
}

impl Store {
    /// Begins a join for the device with this Ed25519 public key.
    pub fn join<'s, 'i>(
        &'s mut self,
        issuer: &'i IssuerKeyFile,
        name: Name,
        device: [u8; 32],
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<Join<'s, 'i>, StoreError> {
        let IssuerKey::Xr(gamma) = &issuer.issuer else {
            return Err(StoreError::NoJoin);
        };
        let mut nonce = [0; 32];
        rng.fill_bytes(&mut nonce);
        let place = self.place(issuer, name, now, rng)?;
        let session = join_session(place.group.id(), &nonce, &device, &place.name);
        Ok(Join {
            first: key_in(&place, 0)?,
            place,
            issuer,
            gamma,
            device,
            session,
        })
    }

    /// A whole join on this host. The store sees what an issuer sees: y stays in the device's half.
    pub(super) fn join_here(
        &mut self,
        issuer: &IssuerKeyFile,
        name: Name,
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<PendingEnrolment<'_>, StoreError> {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(seed.as_mut_slice());
        let key = SigningKey::from_bytes(&seed);
        let join = self.join(issuer, name, key.verifying_key().to_bytes(), now, rng)?;
        let (device, request) = Device::new(&join.first, &join.session, rng);
        let first = join.first.clone();
        let offered = join.offer(&request, rng)?;
        let accepted = device.accept(&first, &offered.offer)?;
        let statement = offered.statement();
        let Admitted {
            place,
            credential,
            public,
        } = offered.admit(key.sign(&statement).to_bytes())?;
        let member = MemberKey::Xr(accepted.finish(&public, &credential)?);
        let file = place.key_file(PublicKey::Xr(public), member, Some(key))?;
        Ok(PendingEnrolment::new(place.transaction, file))
    }
}

impl<'s, 'i> Join<'s, 'i> {
    /// What the device binds its proof to.
    pub fn session(&self) -> [u8; 32] {
        self.session
    }

    /// Checks the device's request and makes the issuer's offer.
    pub fn offer(
        self,
        request: &JoinRequest,
        rng: &mut impl CryptoRng,
    ) -> Result<Offered<'s, 'i>, StoreError> {
        let (gamma, x) = (self.gamma, self.place.x);
        let offer = gamma.offer(&self.first, &self.session, request, &x, rng)?;
        let entry = RegisterEntry {
            index: self.place.index(),
            joined: self.place.joined(),
            credential: offer.credential().to_bytes(),
            name: self.place.name.clone(),
            device: Some(DeviceEntry {
                commitment: request.commitment().to_bytes(),
                key: self.device,
                signature: [0; 64],
            }),
        };
        Ok(Offered {
            join: self,
            offer,
            entry,
        })
    }
}

impl<'s> Offered<'s, '_> {
    /// What goes to the device.
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    /// What the device signs: S.
    pub fn statement(&self) -> Vec<u8> {
        self.entry.statement(self.join.place.group.id())
    }

    /// Takes the device's signature S over its entry, and enters the machine in the register. Only
    /// then is there a credential to send.
    pub fn admit(mut self, signature: [u8; 64]) -> Result<Admitted<'s>, StoreError> {
        if let Some(device) = &mut self.entry.device {
            device.signature = signature;
        }
        let place = self.join.place;
        if self.entry.check_device(place.group.id()).is_err() {
            return Err(StoreError::DeviceSignature);
        }
        let credential = self.offer.credential();
        place.write(
            &self.entry,
            &self.join.first.tag(&credential),
            self.join.issuer,
        )?;
        let scale = scale(self.join.gamma, &place.group, place.joined())?;
        let credential = scale.credential(&credential, &place.x);
        let public = key_in(&place, place.joined())?;
        Ok(Admitted {
            place,
            credential,
            public,
        })
    }
}

impl Admitted<'_> {
    /// What goes to the device, after [`Admitted::commit`].
    pub fn credential(&self) -> &Credential {
        &self.credential
    }

    /// Commits. Call [`Store::refresh`] afterwards, which publishes the new register.
    pub fn commit(self) -> Result<Credential, StoreError> {
        self.place.transaction.commit()?;
        Ok(self.credential)
    }
}

fn key_in(place: &Place<'_>, epoch: u32) -> Result<xr::PublicKey, StoreError> {
    match key_of(&place.group, epoch)? {
        PublicKey::Xr(key) => Ok(key),
        PublicKey::Bbs04(_) => Err(StoreError::OtherGroupsKey),
    }
}
