//! Enrolling a machine.

use super::{Store, begin, derive_x, last_hash, read_group, write_register};
use crate::error::StoreError;
use crate::keys::{IssuerKeyFile, MemberKeyFile};
use clew_evidence::{Frontier, GroupFile, Name, RegisterEntry, RegisterHead};
use clew_group::bbs04::PublicKey;
use rand_core::CryptoRng;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

/// An enrolment that is written to the database and not yet committed. Dropped, it never happened.
///
/// The caller writes and syncs the key file under a temporary name first, then commits, then gives
/// the file its name: a key that exists is always in the register.
pub struct PendingEnrolment<'a> {
    transaction: Transaction<'a>,
    key: MemberKeyFile,
}

impl PendingEnrolment<'_> {
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
    /// Prepares the enrolment of a machine in the newest epoch.
    pub fn enrol(
        &mut self,
        issuer: &IssuerKeyFile,
        name: Name,
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<PendingEnrolment<'_>, StoreError> {
        self.check_key(issuer)?;
        let transaction = begin(&mut self.db)?;
        let group = read_group(&transaction)?; // another process may have changed it
        if name_is_taken(&transaction, &name)? {
            return Err(StoreError::NameTaken(name.to_string()));
        }
        let mut salt = [0; 16];
        rng.fill_bytes(&mut salt);
        let x = derive_x(issuer, &salt, name.as_str());
        let public = key_of(&group, group.newest_epoch())?;
        let first = key_of(&group, 0)?;
        let not_issued = || StoreError::Damaged("a derived key has no inverse".to_owned());
        let key = issuer.issuer.issue(&public, x).ok_or_else(not_issued)?;
        let credential = issuer
            .issuer
            .issue(&first, x)
            .ok_or_else(not_issued)?
            .credential();
        let entry = RegisterEntry {
            index: group.register().machines,
            joined: group.newest_epoch(),
            credential: credential.to_bytes(),
            name,
        };
        transaction.execute(
            "INSERT INTO machine VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL)",
            params![
                entry.index,
                entry.name.as_str(),
                entry.joined,
                now.cast_signed(),
                salt,
                entry.credential,
                first.tag(&credential)
            ],
        )?;
        append(&transaction, &group, &entry, now, issuer)?;
        let (group, epoch, machine) = (group.id(), entry.joined, entry.name);
        let key = MemberKeyFile {
            group,
            epoch,
            machine,
            public,
            key,
        };
        Ok(PendingEnrolment { transaction, key })
    }
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

pub(super) fn key_of(group: &GroupFile, epoch: u32) -> Result<PublicKey, StoreError> {
    group
        .public_key(epoch)
        .ok_or_else(|| StoreError::Damaged(format!("epoch {epoch} is missing")))?
        .map_err(|error| StoreError::Damaged(error.to_string()))
}

/// Extends the register by one entry.
fn append(
    db: &Connection,
    group: &GroupFile,
    entry: &RegisterEntry,
    now: u64,
    issuer: &IssuerKeyFile,
) -> Result<(), StoreError> {
    let peaks: Vec<u8> = db.query_row("SELECT peaks FROM register", [], |row| row.get(0))?;
    let mut frontier = Frontier::from_parts(group.register().machines, &peaks)
        .ok_or_else(|| StoreError::Damaged("the register's state does not fit".to_owned()))?;
    if !frontier.append(&entry.encode()) {
        return Err(StoreError::Full("machines"));
    }
    let head = RegisterHead {
        last: last_hash(group),
        time: now,
        machines: frontier.entries(),
        root: frontier.root(),
    };
    write_register(db, &head, &frontier.peaks(), issuer)
}
