//! The issuer's side of a join from the device's own host, one call a round (`clew_keys::join`).
//!
//! Many joins may be under way at once, in any order, and each round may be repeated: the argument
//! for that is the algebraic group model with a random oracle (`spec/security.md`), and it needs a
//! fresh x for every offer. So the salt of x and s is drawn with the offer and kept with the request
//! that it answers; another request gets nothing.

use super::enrol::{Place, free, fresh_salt};
use super::epochs::RevokedRows;
use super::revoke::not_before_newest;
use super::{Machine, Store, read_group, register};
use crate::error::StoreError;
use crate::storage::{Join, Offered, Tables};
use clew_evidence::{KeyOrigin, Name, WallTime};
use clew_group::xr;
use clew_keys::join::{AcceptanceFile, CredentialFile, InvitationFile, OfferFile, RequestFile};
use clew_keys::{IssuerKey, IssuerKeyFile, TextFile};
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
        let now = not_before_newest(&self.group, now)?;
        let machine = self.db.last_machine(name.as_str())?;
        let machine = machine.ok_or_else(|| StoreError::NoSuchMachine(name.to_string()))?;
        self.credential(issuer, NO_JOIN, &machine, now)
    }

    /// Invites a machine to join from its own host (`xr`). `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::NameTaken`] if the last machine of that name is not revoked;
    /// [`StoreError::NoJoin`] with `bbs04`.
    pub fn invite(
        &mut self,
        issuer: &IssuerKeyFile,
        name: Name,
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<InvitationFile, StoreError> {
        self.check_key(issuer)?;
        gamma(issuer)?;
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
        let gamma = gamma(issuer)?;
        let join = find(&*self.db, &request.nonce)?;
        if let Some(offered) = join.offered {
            if offered.request != *request.payload() {
                return Err(StoreError::OtherRequest);
            }
            return self.repeat(issuer, join.name, offered, now)?.offer(gamma);
        }
        let mut place = self.place(issuer, join.name, now)?;
        // Again under the lock: two processes may have the same request.
        if find(&*place.transaction, &request.nonce)?.offered.is_some() {
            drop(place);
            return self.offer(issuer, request, now, rng);
        }
        place.salt = fresh_salt(rng);
        let offer = place.offer(gamma, request, KeyOrigin::OwnHost)?;
        let offered = Offered {
            request: request.payload().to_vec(),
            salt: place.salt,
            joined: place.joined,
            replaces: place.replaces,
            machine: None,
        };
        place.transaction.keep_offer(&request.nonce, &offered)?;
        place.transaction.commit()?;
        Ok(offer)
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
        let gamma = gamma(issuer)?;
        let join = find(&*self.db, &acceptance.nonce)?;
        let offered = join.offered.ok_or(StoreError::NotOffered)?;
        let repeat = self.repeat(issuer, join.name, offered, now)?;
        let index = repeat.admit(gamma, acceptance)?;
        self.refresh()?;
        let machine = register::at(&*self.db, index)?;
        self.credential(issuer, acceptance.nonce, &machine, now)
    }

    /// The place of an offer again, under the database's write lock.
    fn repeat<'a>(
        &'a mut self,
        issuer: &'a IssuerKeyFile,
        name: Name,
        offered: Offered,
        now: u64,
    ) -> Result<Repeat<'a>, StoreError> {
        self.check_key(issuer)?;
        let transaction = self.db.begin()?;
        let damaged = || StoreError::Damaged("the request of a join does not decode".to_owned());
        Ok(Repeat {
            request: RequestFile::from_payload(&offered.request).ok_or_else(damaged)?,
            machine: offered.machine,
            place: Place {
                group: read_group(&*transaction)?,
                transaction,
                issuer,
                name,
                joined: offered.joined,
                replaces: offered.replaces,
                salt: offered.salt,
                now,
            },
        })
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
}

fn gamma(issuer: &IssuerKeyFile) -> Result<&xr::IssuerKey, StoreError> {
    match &issuer.issuer {
        IssuerKey::Xr(gamma) => Ok(gamma),
        IssuerKey::Bbs04(_) => Err(StoreError::NoJoin),
    }
}

fn find(db: &dyn Tables, nonce: &[u8; 32]) -> Result<Join, StoreError> {
    db.join(nonce)?.ok_or(StoreError::NoInvitation)
}

/// An offer that was made before.
struct Repeat<'a> {
    place: Place<'a>,
    request: RequestFile,
    machine: Option<u32>,
}

impl Repeat<'_> {
    fn offer(&self, gamma: &xr::IssuerKey) -> Result<OfferFile, StoreError> {
        self.place.offer(gamma, &self.request, KeyOrigin::OwnHost)
    }

    /// Enters the machine, unless it is entered, and returns its row.
    fn admit(self, gamma: &xr::IssuerKey, acceptance: &AcceptanceFile) -> Result<u32, StoreError> {
        let offer = self.offer(gamma)?;
        let Self { place, request, .. } = &self;
        let entry = place.entry(request, &offer, acceptance)?;
        if let Some(index) = self.entered(&acceptance.nonce)? {
            return Ok(index);
        }
        if free(&*place.transaction, &place.name)? != place.replaces {
            return Err(StoreError::NameTaken(place.name.to_string()));
        }
        let now = not_before_newest(&place.group, place.now)?;
        let in_force = place.group.epoch_at(WallTime::from_nanos(now));
        if place.joined != in_force {
            return Err(StoreError::OfferExpired {
                offered: place.joined,
                in_force,
            });
        }
        place.write(&entry)?;
        let transaction = &place.transaction;
        transaction.keep_joined(&acceptance.nonce, entry.index)?;
        self.place.transaction.commit()?;
        Ok(entry.index)
    }

    /// The machine's row, if there is one: as it was found, or as another process made it since.
    fn entered(&self, nonce: &[u8; 32]) -> Result<Option<u32>, StoreError> {
        match self.machine {
            Some(index) => Ok(Some(index)),
            None => {
                let again = find(&*self.place.transaction, nonce)?;
                Ok(again.offered.and_then(|offered| offered.machine))
            }
        }
    }
}
