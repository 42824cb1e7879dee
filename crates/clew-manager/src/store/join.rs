//! The issuer's side of a join from the device's own host, one call a round (`clew_keys::join`).
//!
//! Many joins may be under way at once, in any order, and each round may be repeated: the argument
//! for that is the algebraic group model with a random oracle (`spec/security.md`), and it needs a
//! fresh x for every offer. So the salt of x and s is drawn with the offer and kept with the request
//! that it answers; another request gets nothing.

use super::batch::{JoinAnswer, JoinRound};
use super::enrol::{free, fresh_salt};
use super::epochs::RevokedRows;
use super::{Machine, Store};
use crate::error::StoreError;
use crate::storage::{Join, Tables};
use clew_evidence::Name;
use clew_group::{Witness, xr};
use clew_keys::join::{AcceptanceFile, CredentialFile, InvitationFile, OfferFile, RequestFile};
use clew_keys::{IssuerKey, IssuerKeyFile};
use rand_core::CryptoRng;

/// An invitation by which no machine has joined yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// Name of the invited machine.
    pub name: Name,
    /// When it was invited, nanoseconds since 1970.
    pub invited_at: u64,
    /// The epoch of the offer, if a device asked for one.
    pub offered: Option<u32>,
}

/// The nonce of a credential that belongs to no join.
const NO_JOIN: [u8; 32] = [0; 32];

impl Store {
    /// The open invitations, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] if a name does not decode.
    pub fn invitations(&self) -> Result<Vec<Invitation>, StoreError> {
        self.db.invitations()
    }

    /// How many invitations are open, and how many of these have an offer.
    ///
    /// # Errors
    /// The database's.
    pub fn count_invitations(&self) -> Result<(u64, u64), StoreError> {
        self.db.count_invitations()
    }

    /// Whether an invitation of that name is open.
    ///
    /// # Errors
    /// The database's.
    pub fn is_invited(&self, name: &Name) -> Result<bool, StoreError> {
        self.db.is_invited(name.as_str())
    }

    /// Withdraws the open invitations of a name, and returns how many there were. A device that answers
    /// one, or accepts its offer, is refused from now on.
    ///
    /// # Errors
    /// [`StoreError::NotInvited`] if none is open.
    pub fn withdraw(&mut self, name: &Name) -> Result<usize, StoreError> {
        let transaction = self.db.begin()?;
        match transaction.withdraw(name)? {
            0 => Err(StoreError::NotInvited(name.to_string())),
            withdrawn => {
                transaction.commit()?;
                Ok(withdrawn)
            }
        }
    }

    /// Gives a live machine its witnesses of today again, whichever way it joined. The nonce belongs to
    /// no join.
    ///
    /// # Errors
    /// [`StoreError::NoSuchMachine`], [`StoreError::AlreadyRevoked`], [`StoreError::ClockBehind`].
    pub fn witnesses(
        &self,
        issuer: &IssuerKeyFile,
        name: &Name,
        now: u64,
    ) -> Result<CredentialFile, StoreError> {
        self.check_key(issuer)?;
        let now = self.clock.time(&self.group, now)?;
        let machine = self.db.last_machine(name.as_str())?;
        let machine = machine.ok_or_else(|| StoreError::NoSuchMachine(name.to_string()))?;
        self.credential(issuer, NO_JOIN, &machine, now)
    }

    /// Invites a machine to join from its own host (`xr`). `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::NameTaken`] if the last machine of that name is not revoked;
    /// [`StoreError::NoJoin`] with `bbs04`; [`StoreError::Ended`], [`StoreError::ClockAhead`].
    pub fn invite(
        &mut self,
        issuer: &IssuerKeyFile,
        name: Name,
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<InvitationFile, StoreError> {
        self.check_key(issuer)?;
        self.check_not_halted()?;
        gamma(issuer)?;
        let now = self.clock.time(&self.group, now)?;
        let transaction = self.db.begin()?;
        free(&*transaction, &name)?;
        let mut nonce = [0; 32];
        rng.fill_bytes(&mut nonce);
        transaction.invite(&nonce, &name, now)?;
        transaction.commit()?;
        Ok(InvitationFile::new(
            self.group.id(),
            nonce,
            name,
            &issuer.manager,
        ))
    }

    /// Answers a device's request with an offer: the same offer each time that the same request comes.
    /// `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::NoInvitation`], [`StoreError::OtherRequest`], [`StoreError::NameTaken`],
    /// [`StoreError::ClockBehind`]; [`StoreError::Join`] if the device did not prove y' in this session.
    pub fn offer(
        &mut self,
        issuer: &IssuerKeyFile,
        request: &RequestFile,
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<OfferFile, StoreError> {
        let round = JoinRound::Request(request.clone());
        match self.answer_one(issuer, round, now, &mut || fresh_salt(rng))? {
            JoinAnswer::Offer(offer) => Ok(offer),
            _ => Err(StoreError::NotOffered),
        }
    }

    /// Takes a device's acceptance: enters the machine in the register, publishes it, and only then
    /// returns its witnesses. Repeated, it returns those of today, unless the machine was revoked.
    /// `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::NoInvitation`], [`StoreError::NotOffered`], [`StoreError::Device`],
    /// [`StoreError::OfferExpired`] if an epoch began since: held back, an acceptance would let the
    /// machine date packets back to the epoch of its offer, before it was enrolled, unseen;
    /// [`StoreError::NameTaken`] if another join had the name first, [`StoreError::AlreadyRevoked`].
    pub fn admit(
        &mut self,
        issuer: &IssuerKeyFile,
        acceptance: &AcceptanceFile,
        now: u64,
    ) -> Result<CredentialFile, StoreError> {
        let round = JoinRound::Acceptance(acceptance.clone());
        let no_offer = &mut || [0; 16]; // no salt is drawn for an acceptance
        match self.answer_one(issuer, round, now, no_offer)? {
            JoinAnswer::Credential(credential) => Ok(credential),
            _ => Err(StoreError::NotOffered),
        }
    }

    fn credential(
        &self,
        issuer: &IssuerKeyFile,
        nonce: [u8; 32],
        machine: &Machine,
        now: u64,
    ) -> Result<CredentialFile, StoreError> {
        let revoked = RevokedRows::read(&*self.db, issuer)?;
        let x = machine.x(issuer);
        let witnesses = revoked.witnesses_of(&self.group, issuer, &x, now)?;
        credential_with(nonce, machine, witnesses)
    }
}

/// A machine's credential with its witnesses, unless it is revoked and so has none.
pub(super) fn credential_with(
    nonce: [u8; 32],
    machine: &Machine,
    witnesses: Vec<(u32, Witness)>,
) -> Result<CredentialFile, StoreError> {
    match machine.revoked_in {
        Some(epoch) if witnesses.is_empty() => Err(StoreError::AlreadyRevoked {
            machine: machine.entry.name.to_string(),
            epoch,
        }),
        _ => Ok(CredentialFile {
            nonce,
            index: machine.entry.index,
            witnesses,
        }),
    }
}

pub(super) fn gamma(issuer: &IssuerKeyFile) -> Result<&xr::IssuerKey, StoreError> {
    match &issuer.issuer {
        IssuerKey::Xr(gamma) => Ok(gamma),
        IssuerKey::Bbs04(_) => Err(StoreError::NoJoin),
    }
}

pub(super) fn find(db: &dyn Tables, nonce: &[u8; 32]) -> Result<Join, StoreError> {
    db.join(nonce)?.ok_or(StoreError::NoInvitation)
}
