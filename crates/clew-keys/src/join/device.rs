//! The device's side: what it keeps from the invitation to the key file.

use super::applicant::Applicant;
use super::fault::JoinFault;
use super::files::{AcceptanceFile, CredentialFile, InvitationFile, OfferFile, RequestFile};
use crate::{HeldEpoch, MemberKeyFile, TextFile};
use clew_evidence::wire::Reader;
use clew_evidence::{CheckedGroup, GroupFile, KeyOrigin};
use clew_group::xr::{self, Device};
use clew_group::{MemberKey, PublicKey, Witness};
use ed25519_dalek::SigningKey;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

const NO_OFFER: u8 = 0;
const OFFER: u8 = 1;

/// A join under way on the device's host. It holds y' and the device's seed: its text is secret, and
/// is written before the answer that it belongs to leaves.
pub struct Joining {
    invitation: InvitationFile,
    applicant: Applicant,
    /// The offer that this device has vouched for, and what it answered.
    accepted: Option<(OfferFile, AcceptanceFile)>,
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
        let nonce = invitation.nonce;
        Ok(Self {
            applicant: Applicant::new(group.id(), genesis, nonce, &invitation.name, rng),
            invitation,
            accepted: None,
        })
    }

    /// The invitation that this join answers.
    pub fn invitation(&self) -> &InvitationFile {
        &self.invitation
    }

    /// What goes to the issuer first; the same each time.
    pub fn request(&self) -> &RequestFile {
        &self.applicant.request
    }

    /// Checks an offer and vouches for it: once, and only for this one. The same answer each time.
    ///
    /// # Errors
    /// [`JoinFault`] if the offer does not hold, or is not the one that was accepted before.
    pub fn accept(
        &mut self,
        offer: &OfferFile,
        group: &CheckedGroup,
        rng: &mut impl CryptoRng,
    ) -> Result<AcceptanceFile, JoinFault> {
        let genesis = self.check_offer(offer, group)?;
        if let Some((_, answered)) = &self.accepted {
            return Ok(answered.clone());
        }
        let (id, name) = (group.id(), &self.invitation.name);
        let (_, acceptance) = self.applicant.accept(id, genesis, name, offer, rng)?;
        self.accepted = Some((offer.clone(), acceptance.clone()));
        Ok(acceptance)
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
        let (offer, _) = self.accepted.as_ref().ok_or(JoinFault::NoOffer)?;
        check_history(offer, group)?;
        let device = &self.applicant.device;
        let key = device.accept(genesis, &offer.offer)?;
        let key = MemberKeyFile {
            group: group.id(),
            nonce: group.genesis().nonce,
            machine: self.invitation.name.clone(),
            index: credential.index,
            key: MemberKey::Xr(key),
            device: Some(self.applicant.key.clone()),
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
        if offer.how != KeyOrigin::OwnHost {
            return Err(JoinFault::How);
        }
        let before = self.accepted.as_ref().map(|(offer, _)| offer.payload());
        if before.is_some_and(|before| before != offer.payload()) {
            return Err(JoinFault::OtherOffer);
        }
        check_history(offer, group)?;
        Ok(genesis)
    }
}

impl TextFile for Joining {
    const LABEL: &'static str = "clew-joining-1";

    fn comment(&self) -> String {
        format!(
            "clew join under way of machine {}, group {}. SECRET: keep it here until the key is made.",
            self.invitation.name, self.invitation.group
        )
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.invitation.write(out);
        let Applicant {
            device,
            key,
            request,
        } = &self.applicant;
        out.extend_from_slice(&device.to_bytes());
        out.extend_from_slice(Zeroizing::new(key.to_bytes()).as_slice());
        request.write(out);
        match &self.accepted {
            None => out.push(NO_OFFER),
            Some((offer, acceptance)) => {
                out.push(OFFER);
                offer.write(out);
                acceptance.write(out);
            }
        }
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        let invitation = InvitationFile::read(fields)?;
        let device = Device::from_bytes(fields.take(xr::DEVICE_BYTES)?).ok()?;
        let seed = Zeroizing::new(fields.array()?);
        let request = RequestFile::read(fields)?;
        let accepted = match fields.u8()? {
            NO_OFFER => None,
            OFFER => Some((OfferFile::read(fields)?, AcceptanceFile::read(fields)?)),
            _ => return None,
        };
        Some(Self {
            invitation,
            applicant: Applicant {
                device,
                key: SigningKey::from_bytes(&seed),
                request,
            },
            accepted,
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
        HeldEpoch::of(group, *epoch, witness.clone()).ok_or_else(|| no_such_epoch(*epoch, group))
    });
    each.collect()
}
