//! Enrolling a machine.
//!
//! With bbs04 the issuer makes the machine's key. With xr the device joins with a secret of its own
//! ([`super::join`]); [`Store::enrol`] plays both sides where both are on this host.

use super::register::append;
use super::{Store, begin, key_of, read_group};
use crate::error::StoreError;
use crate::keys::{IssuerKey, IssuerKeyFile, MemberKeyFile};
use clew_evidence::{GroupFile, Name, RegisterEntry};
use clew_group::curve::Scalar;
use clew_group::{MemberKey, PublicKey, bbs04};
use rand_core::CryptoRng;
use rusqlite::{Connection, OptionalExtension, Transaction};

/// An enrolment that is written to the database and not yet committed. Dropped, it never happened.
///
/// The caller writes and syncs the key file under a temporary name first, then commits, then gives
/// the file its name: a key that exists is always in the register.
pub struct PendingEnrolment<'a> {
    transaction: Transaction<'a>,
    key: MemberKeyFile,
}

impl<'a> PendingEnrolment<'a> {
    pub(super) fn new(transaction: Transaction<'a>, key: MemberKeyFile) -> Self {
        Self { transaction, key }
    }

    /// The new machine's key.
    pub fn key(&self) -> &MemberKeyFile {
        &self.key
    }

    /// Commits. Call [`Store::refresh`] afterwards, which publishes the new register.
    pub fn commit(self) -> Result<(), StoreError> {
        Ok(self.transaction.commit()?)
    }
}

impl Store {
    /// Prepares the enrolment of a machine in the newest epoch, on this host.
    pub fn enrol(
        &mut self,
        issuer: &IssuerKeyFile,
        name: Name,
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<PendingEnrolment<'_>, StoreError> {
        match &issuer.issuer {
            IssuerKey::Bbs04(gamma) => self.issue(issuer, gamma, name, now, rng),
            IssuerKey::Xr(_) => self.join_here(issuer, name, now, rng),
        }
    }

    fn issue(
        &mut self,
        issuer: &IssuerKeyFile,
        gamma: &bbs04::IssuerKey,
        name: Name,
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<PendingEnrolment<'_>, StoreError> {
        let place = self.place(issuer, name, now, rng)?;
        let key_in = |epoch: u32| match key_of(&place.group, epoch)? {
            PublicKey::Bbs04(public) => {
                let key = gamma.issue(&public, place.x).ok_or_else(no_inverse)?;
                Ok((public, key))
            }
            PublicKey::Xr(_) => Err(StoreError::OtherGroupsKey),
        };
        let (first, first_key) = key_in(0)?;
        let (public, key) = key_in(place.joined())?;
        let credential = first_key.credential();
        let entry = RegisterEntry {
            index: place.index(),
            joined: place.joined(),
            credential: credential.to_bytes(),
            name: place.name.clone(),
            device: None,
        };
        place.write(&entry, &first.tag(&credential), issuer)?;
        let file = place.key_file(PublicKey::Bbs04(public), MemberKey::Bbs04(key), None)?;
        Ok(PendingEnrolment::new(place.transaction, file))
    }

    /// Takes the next place in the register, under the database's write lock.
    pub(super) fn place(
        &mut self,
        issuer: &IssuerKeyFile,
        name: Name,
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<Place<'_>, StoreError> {
        self.check_key(issuer)?;
        let transaction = begin(&mut self.db)?;
        let group = read_group(&transaction)?; // another process may have changed it
        if name_is_taken(&transaction, &name)? {
            return Err(StoreError::NameTaken(name.to_string()));
        }
        let mut salt = [0; 16];
        rng.fill_bytes(&mut salt);
        let x = issuer.derive_x(&salt, name.as_str());
        Ok(Place {
            transaction,
            group,
            name,
            salt,
            x,
            now,
        })
    }
}

/// A machine's place in the register, while it is being enrolled.
pub(super) struct Place<'a> {
    pub transaction: Transaction<'a>,
    pub group: GroupFile,
    pub name: Name,
    pub x: Scalar,
    salt: [u8; 16],
    now: u64,
}

impl Place<'_> {
    pub fn index(&self) -> u32 {
        self.group.register().machines
    }

    pub fn joined(&self) -> u32 {
        self.group.newest_epoch()
    }

    /// Writes the machine's row and extends the register.
    pub fn write(
        &self,
        entry: &RegisterEntry,
        tag: &[u8; 32],
        issuer: &IssuerKeyFile,
    ) -> Result<(), StoreError> {
        self.transaction.execute(
            "INSERT INTO machine VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL)",
            rusqlite::params![
                entry.index,
                entry.name.as_str(),
                self.now.cast_signed(),
                self.salt,
                entry.encode(),
                tag
            ],
        )?;
        append(&self.transaction, &self.group, entry, self.now, issuer)
    }

    pub fn key_file(
        &self,
        public: PublicKey,
        key: MemberKey,
        device: Option<ed25519_dalek::SigningKey>,
    ) -> Result<MemberKeyFile, StoreError> {
        let epoch = self.joined();
        let id = self.group.epoch_id(epoch);
        Ok(MemberKeyFile {
            group: self.group.id(),
            epoch,
            id: id.ok_or_else(|| StoreError::Damaged(format!("epoch {epoch} is missing")))?,
            machine: self.name.clone(),
            public,
            key,
            device,
        })
    }
}

pub(super) fn no_inverse() -> StoreError {
    StoreError::Damaged("a derived key has no inverse".to_owned())
}

fn name_is_taken(db: &Connection, name: &Name) -> Result<bool, StoreError> {
    let found = db
        .query_row(
            "SELECT 1 FROM machine WHERE name = ?1",
            [name.as_str()],
            |_| Ok(()),
        )
        .optional()?;
    Ok(found.is_some())
}
