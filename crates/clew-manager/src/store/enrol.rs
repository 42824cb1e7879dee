//! Enrolling a machine on the issuer's host: for demonstrations and factories.
//!
//! With bbs04 the issuer makes the machine's key. With xr this host plays both sides of a join
//! ([`super::join`]): whoever has it at that moment could keep the machine's secret, and the register
//! says so.

use super::epochs::RevokedRows;
use super::join::gamma;
use super::register::{append, check_tree, write_head};
use super::{LOG_ENROLLED, Locked, Machine, Store, enrolled_body};
use crate::error::StoreError;
use crate::storage::{Tables, Transaction};
use clew_evidence::{EntryKey, GroupFile, KeyOrigin, Name, RegisterEntry, WallTime, join_session};
use clew_group::curve::{G2, Scalar};
use clew_group::{MemberKey, PublicKey, bbs04, xr};
use clew_keys::join::{AcceptanceFile, Applicant, OfferFile, RequestFile};
use clew_keys::{HeldEpoch, IssuerKey, IssuerKeyFile, MemberKeyFile};
use ed25519_dalek::SigningKey;
use rand_core::CryptoRng;

/// An enrolment that is written to the database and not yet committed. Dropped, it never happened.
///
/// The caller takes the room of the key file on disk first, then commits, then writes the key: a key
/// that is on any disk is in the register.
pub struct PendingEnrolment<'a> {
    transaction: Box<dyn Transaction + 'a>,
    key: MemberKeyFile,
}

impl PendingEnrolment<'_> {
    /// The new machine's key.
    pub fn key(&self) -> &MemberKeyFile {
        &self.key
    }

    /// Commits. Call [`Store::refresh`] afterwards, which publishes the new register.
    ///
    /// # Errors
    /// [`StoreError::Database`]; then the machine is not enrolled.
    pub fn commit(self) -> Result<(), StoreError> {
        self.transaction.commit()
    }
}

impl Store {
    /// Prepares the enrolment of a machine on this host. `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::NameTaken`] if the last machine of that name is not revoked;
    /// [`StoreError::OtherGroupsKey`], [`StoreError::ClockBehind`], [`StoreError::Full`].
    pub fn enrol<'a>(
        &'a mut self,
        issuer: &'a IssuerKeyFile,
        name: Name,
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<PendingEnrolment<'a>, StoreError> {
        let mut place = self.place(issuer, name, now)?;
        place.salt = fresh_salt(rng);
        match &issuer.issuer {
            IssuerKey::Bbs04(gamma) => place.issue(gamma),
            IssuerKey::Xr(_) => place.join_here(rng),
        }
    }

    /// Takes the next place in the register, under the database's write lock.
    pub(super) fn place<'a>(
        &'a mut self,
        issuer: &'a IssuerKeyFile,
        name: Name,
        now: u64,
    ) -> Result<Place<'a>, StoreError> {
        self.check_key(issuer)?;
        self.check_not_halted()?;
        let Locked {
            transaction,
            group,
            clock,
            ..
        } = self.lock()?;
        let now = clock.time(group, now)?;
        Ok(Place {
            joined: group.epoch_at(WallTime::from_nanos(now)),
            replaces: free(&*transaction, &name)?,
            transaction,
            group: &*group,
            issuer,
            name,
            salt: [0; 16],
            now,
        })
    }
}

/// A salt for one offer and no other: x, and s, derive from it.
pub(super) fn fresh_salt(rng: &mut impl CryptoRng) -> [u8; 16] {
    let mut salt = [0; 16];
    rng.fill_bytes(&mut salt);
    salt
}

/// Checks that a name can be given, and returns the revoked row that it would replace.
pub(super) fn free(db: &dyn Tables, name: &Name) -> Result<Option<u32>, StoreError> {
    match db.last_machine(name.as_str())? {
        None => Ok(None),
        Some(last) if last.revoked_in.is_some() => Ok(Some(last.entry.index)),
        Some(_) => Err(StoreError::NameTaken(name.to_string())),
    }
}

/// A, x and s for a device. The same for the same request and salt.
pub(super) fn offer_values(
    group: &GroupFile,
    issuer: &IssuerKeyFile,
    name: &Name,
    salt: &[u8; 16],
    request: &RequestFile,
) -> Result<xr::Offer, StoreError> {
    let session = join_session(group.id(), &request.nonce, &request.device, name);
    let x = issuer.derive_x(salt, name.as_str());
    let s = issuer.derive_s(salt, name.as_str());
    let genesis = genesis(group)?;
    Ok(gamma(issuer)?.offer(genesis, &session, &request.request, &x, &s)?)
}

/// The register entry of an offer that the device accepted, without its place.
pub(super) fn check_entry(
    group: &GroupFile,
    name: &Name,
    request: &RequestFile,
    offer: &OfferFile,
    acceptance: &AcceptanceFile,
) -> Result<RegisterEntry, StoreError> {
    let mut entry = offer.entry(name, request, genesis(group)?);
    if let EntryKey::Xr(device) = &mut entry.key {
        device.signature = acceptance.signature;
        device.proof = acceptance.proof.to_bytes();
    }
    match entry.check_device(group) {
        Ok(()) => Ok(entry),
        Err(_) => Err(StoreError::Device),
    }
}

fn genesis(group: &GroupFile) -> Result<&xr::PublicKey, StoreError> {
    match group.first_public_key() {
        PublicKey::Xr(key) => Ok(key),
        PublicKey::Bbs04(_) => Err(StoreError::NoJoin),
    }
}

/// A machine's place in the register, while it is being enrolled.
pub(super) struct Place<'a> {
    pub transaction: Box<dyn Transaction + 'a>,
    pub group: &'a GroupFile,
    pub issuer: &'a IssuerKeyFile,
    pub name: Name,
    /// The epoch in force.
    pub joined: u32,
    pub replaces: Option<u32>,
    pub salt: [u8; 16],
    pub now: u64,
}

impl<'a> Place<'a> {
    fn x(&self) -> Scalar {
        self.issuer.derive_x(&self.salt, self.name.as_str())
    }

    /// Writes the machine's row and extends the register. Only then are there witnesses.
    pub fn write(&self, entry: &RegisterEntry) -> Result<(), StoreError> {
        self.transaction.add_machine(&Machine {
            entry: entry.clone(),
            enrolled_at: self.now,
            revoked_in: None,
            salt: self.salt.to_vec(),
        })?;
        let (db, machines) = (&*self.transaction, self.group.register().machines);
        check_tree(db, self.group)?;
        let leaf = append(db, machines, entry)?;
        db.send(LOG_ENROLLED, &enrolled_body(machines, &[leaf]))?;
        let last = self.group.last_id();
        write_head(db, machines + 1, last, self.now, self.issuer).map(drop)
    }

    fn issue(self, gamma: &bbs04::IssuerKey) -> Result<PendingEnrolment<'a>, StoreError> {
        let x = self.x();
        let unfit = || StoreError::Damaged("a derived x is zero or -gamma".to_owned());
        let key = gamma.issue(&x).ok_or_else(unfit)?;
        let entry = RegisterEntry {
            index: self.group.register().machines,
            joined: self.joined,
            how: KeyOrigin::IssuerHost,
            replaces: self.replaces,
            credential: key.credential().to_bytes(),
            name: self.name.clone(),
            key: EntryKey::Bbs04(Box::new(G2::generator().mul(&x).to_bytes())),
        };
        self.finish(&entry, MemberKey::Bbs04(key), None)
    }

    /// A whole join on this host. The store's half sees what an issuer sees: y' stays in the device's.
    fn join_here(self, rng: &mut impl CryptoRng) -> Result<PendingEnrolment<'a>, StoreError> {
        let mut nonce = [0; 32];
        rng.fill_bytes(&mut nonce);
        let (id, genesis) = (self.group.id(), genesis(self.group)?);
        let applicant = Applicant::new(id, genesis, nonce, &self.name, rng);
        let request = &applicant.request;
        let values = offer_values(self.group, self.issuer, &self.name, &self.salt, request)?;
        let joined = self.group.epoch_id(self.joined);
        let offer = OfferFile {
            nonce,
            joined: self.joined,
            id: joined.ok_or_else(|| StoreError::no_epoch(self.joined))?,
            how: KeyOrigin::IssuerHost,
            replaces: self.replaces,
            offer: values,
        };
        let (member, acceptance) = applicant.accept(id, genesis, &self.name, &offer, rng)?;
        let entry = check_entry(self.group, &self.name, request, &offer, &acceptance)?;
        let entry = RegisterEntry {
            index: self.group.register().machines,
            ..entry
        };
        self.finish(&entry, MemberKey::Xr(member), Some(applicant.key))
    }

    fn finish(
        self,
        entry: &RegisterEntry,
        key: MemberKey,
        device: Option<SigningKey>,
    ) -> Result<PendingEnrolment<'a>, StoreError> {
        self.write(entry)?;
        let key = MemberKeyFile {
            group: self.group.id(),
            nonce: self.group.genesis().nonce,
            machine: self.name.clone(),
            index: entry.index,
            key,
            device,
            epochs: self.epochs()?,
        };
        Ok(PendingEnrolment {
            transaction: self.transaction,
            key,
        })
    }

    fn epochs(&self) -> Result<Vec<HeldEpoch>, StoreError> {
        let revoked = RevokedRows::read(&*self.transaction, self.issuer)?;
        let x = self.x();
        let witnesses = revoked.witnesses_of(self.group, self.issuer, &x, self.now)?;
        let each = witnesses.into_iter().map(|(epoch, witness)| {
            HeldEpoch::of(self.group, epoch, witness).ok_or_else(|| StoreError::no_epoch(epoch))
        });
        each.collect()
    }
}
