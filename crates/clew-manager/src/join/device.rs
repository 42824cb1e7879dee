//! The device's side: what it keeps from the invitation to the key file.

use super::fault::JoinFault;
use super::files::{
    AcceptanceFile, CredentialFile, InvitationFile, OfferFile, RequestFile, TextFile, entry,
};
use crate::keys::{HeldEpoch, KeyError, MemberKeyFile, whole};
use clew_evidence::wire::Fields;
use clew_evidence::{CheckedGroup, GroupFile, How, armor, join_session};
use clew_group::xr::{self, Device};
use clew_group::{MemberKey, PublicKey, Witness};
use ed25519_dalek::{Signer, SigningKey};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

const LABEL: &str = "clew-joining-1";
const NO_OFFER: u8 = 0;
const OFFER: u8 = 1;

/// A join under way on the device's host. It holds y' and the device's seed: its text is secret, and
/// is written before the answer that it belongs to leaves.
pub struct Joining {
    invitation: InvitationFile,
    device: Device,
    key: SigningKey,
    request: RequestFile,
    /// The offer that this device has signed for.
    offer: Option<OfferFile>,
}

impl Joining {
    /// Answers an invitation: draws y' and the device key.
    ///
    /// # Errors
    /// [`JoinFault`] if the invitation is not one of this group's manager, or the group is `bbs04`.
    pub fn begin(
        invitation: InvitationFile,
        group: &GroupFile,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, JoinFault> {
        let genesis = check_invitation(&invitation, group)?;
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(seed.as_mut_slice());
        let key = SigningKey::from_bytes(&seed);
        let public = key.verifying_key().to_bytes();
        let session = join_session(group.id(), &invitation.nonce, &public, &invitation.name);
        let (device, request) = Device::new(genesis, &session, rng);
        Ok(Self {
            request: RequestFile {
                nonce: invitation.nonce,
                device: public,
                request,
            },
            device,
            invitation,
            key,
            offer: None,
        })
    }

    /// The invitation that this join answers.
    pub fn invitation(&self) -> &InvitationFile {
        &self.invitation
    }

    /// What goes to the issuer first; the same each time.
    pub fn request(&self) -> &RequestFile {
        &self.request
    }

    /// Checks an offer and signs for it: once, and only for this one.
    ///
    /// # Errors
    /// [`JoinFault`] if the offer does not hold, or is not the one that was accepted before.
    pub fn accept(
        &mut self,
        offer: &OfferFile,
        group: &CheckedGroup,
    ) -> Result<AcceptanceFile, JoinFault> {
        let genesis = self.check_offer(offer, group)?;
        self.device.accept(genesis, &offer.offer)?;
        let entry = entry(&self.invitation.name, &self.request, offer, genesis);
        let signature = self.key.sign(&entry.statement(group.id()));
        self.offer = Some(offer.clone());
        Ok(AcceptanceFile {
            nonce: self.invitation.nonce,
            signature: signature.to_bytes(),
        })
    }

    /// Makes the key file of a credential, with every check that signing needs.
    ///
    /// # Errors
    /// [`JoinFault`] if no offer was accepted, the credential is of another join, the group file is of
    /// another history than the offer, or a witness is not this machine's.
    pub fn finish(
        &self,
        credential: &CredentialFile,
        group: &CheckedGroup,
    ) -> Result<MemberKeyFile, JoinFault> {
        let genesis = check_invitation(&self.invitation, group)?;
        if credential.nonce != self.invitation.nonce {
            return Err(JoinFault::OtherJoin);
        }
        let offer = self.offer.as_ref().ok_or(JoinFault::NoOffer)?;
        check_history(offer, group)?;
        let key = self.device.accept(genesis, &offer.offer)?;
        let key = MemberKeyFile {
            group: group.id(),
            nonce: group.genesis().nonce,
            machine: self.invitation.name.clone(),
            index: credential.index,
            key: MemberKey::Xr(key),
            device: Some(self.key.clone()),
            epochs: held(&credential.witnesses, group)?,
        };
        match key
            .epochs
            .iter()
            .find(|held| key.signing_key(held).is_err())
        {
            Some(HeldEpoch { epoch, .. }) => Err(JoinFault::Witness { epoch: *epoch }),
            None => Ok(key),
        }
    }

    fn check_offer<'g>(
        &self,
        offer: &OfferFile,
        group: &'g CheckedGroup,
    ) -> Result<&'g xr::PublicKey, JoinFault> {
        let genesis = check_invitation(&self.invitation, group)?;
        if offer.nonce != self.invitation.nonce {
            return Err(JoinFault::OtherJoin);
        }
        if offer.how != How::OwnHost {
            return Err(JoinFault::How);
        }
        let before = self.offer.as_ref().map(TextFile::payload);
        if before.is_some_and(|before| before != offer.payload()) {
            return Err(JoinFault::OtherOffer);
        }
        check_history(offer, group)?;
        Ok(genesis)
    }

    /// The text of what is kept. Secret.
    pub fn encode(&self) -> Zeroizing<String> {
        let mut out = Zeroizing::new(Vec::with_capacity(1024));
        self.invitation.write(&mut out);
        out.extend_from_slice(&self.device.to_bytes());
        out.extend_from_slice(Zeroizing::new(self.key.to_bytes()).as_slice());
        self.request.write(&mut out);
        out.push(if self.offer.is_some() {
            OFFER
        } else {
            NO_OFFER
        });
        if let Some(offer) = &self.offer {
            offer.write(&mut out);
        }
        armor::encode(&self.comment(), LABEL, &out)
    }

    /// What the text's first line says.
    pub fn comment(&self) -> String {
        format!(
            "clew join under way of machine {}, group {}. SECRET: keep it here until the key is made.",
            self.invitation.name, self.invitation.group
        )
    }

    /// Reads the text.
    ///
    /// # Errors
    /// The rules of `spec/key-file.md` section 7.
    pub fn decode(text: &str) -> Result<Self, KeyError> {
        let payload = armor::decode(text, LABEL)?;
        let mut fields = Fields(&payload);
        let read = Self::read(&mut fields).and_then(|read| whole(&fields, read));
        read.ok_or(KeyError::DAMAGED)
    }

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let invitation = InvitationFile::read(fields)?;
        let device = Device::from_bytes(fields.take(xr::DEVICE_BYTES)?).ok()?;
        let seed = Zeroizing::new(fields.array()?);
        let request = RequestFile::read(fields)?;
        let offer = match fields.u8()? {
            NO_OFFER => None,
            OFFER => Some(OfferFile::read(fields)?),
            _ => return None,
        };
        Some(Self {
            invitation,
            device,
            key: SigningKey::from_bytes(&seed),
            request,
            offer,
        })
    }
}

impl std::fmt::Debug for Joining {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Joining(..)")
    }
}

/// Checks that the manager of an `xr` group made the invitation, and returns that group's first key.
fn check_invitation<'g>(
    invitation: &InvitationFile,
    group: &'g GroupFile,
) -> Result<&'g xr::PublicKey, JoinFault> {
    let PublicKey::Xr(genesis) = group.first_public_key() else {
        return Err(JoinFault::NoJoin);
    };
    if invitation.group != group.id() {
        return Err(JoinFault::OtherGroup {
            invitation: invitation.group,
            file: group.id(),
        });
    }
    match invitation.check(group) {
        Ok(()) => Ok(genesis),
        Err(_) => Err(JoinFault::NotTheManagers),
    }
}

/// Checks that the group file has the epoch of an offer, with the same history: under another one the
/// device would sign with epoch ids that nobody else has, and be known by them.
fn check_history(offer: &OfferFile, group: &GroupFile) -> Result<(), JoinFault> {
    let epoch = offer.joined;
    match group.epoch_id(epoch) {
        None => Err(no_such_epoch(epoch, group)),
        Some(id) if id != offer.id => Err(JoinFault::OtherHistory { epoch }),
        Some(_) => Ok(()),
    }
}

fn no_such_epoch(epoch: u32, group: &GroupFile) -> JoinFault {
    let newest = group.newest_epoch();
    JoinFault::NoSuchEpoch { epoch, newest }
}

/// The epochs of these witnesses, as the group file has them.
fn held(witnesses: &[(u32, Witness)], group: &CheckedGroup) -> Result<Vec<HeldEpoch>, JoinFault> {
    let each = witnesses.iter().map(|(epoch, witness)| {
        crate::update::held_epoch(group, *epoch, witness.clone())
            .ok_or_else(|| no_such_epoch(*epoch, group))
    });
    each.collect()
}
