//! Revoking a machine: the next epoch.

use super::register::write_head;
use super::{Store, begin, key_of, read_group};
use crate::error::StoreError;
use crate::keys::{IssuerKey, IssuerKeyFile};
use clew_evidence::{Change, EpochRecord, GroupFile, MAX_EPOCHS, RegisterHead, seal};
use clew_group::PublicKey;
use clew_group::curve::Scalar;
use rusqlite::{Connection, OptionalExtension, params};

impl Store {
    /// Revokes a machine from `start` (nanoseconds since 1970) on, and returns the new epoch.
    pub fn revoke(
        &mut self,
        issuer: &IssuerKeyFile,
        machine: &str,
        start: u64,
        now: u64,
    ) -> Result<u32, StoreError> {
        self.check_key(issuer)?;
        let transaction = begin(&mut self.db)?;
        let group = read_group(&transaction)?; // another process may have changed it
        let x = secret_of(&transaction, issuer, machine)?;
        let record = next_epoch(&group, issuer, x, start)?;
        transaction.execute(
            "INSERT INTO part VALUES (?1, ?2)",
            params![record.epoch, seal(&record.encode(), &issuer.manager)],
        )?;
        transaction.execute(
            "UPDATE machine SET revoked_in = ?1 WHERE name = ?2",
            params![record.epoch, machine],
        )?;
        let head = RegisterHead {
            last: record.epoch_id(),
            time: now,
            ..group.register().clone()
        };
        write_head(&transaction, &head.seal(&issuer.manager))?;
        transaction.commit()?;
        self.refresh()?;
        Ok(record.epoch)
    }
}

fn secret_of(db: &Connection, issuer: &IssuerKeyFile, name: &str) -> Result<Scalar, StoreError> {
    let row: Option<(Vec<u8>, Option<u32>)> = db
        .query_row(
            "SELECT salt, revoked_in FROM machine WHERE name = ?1",
            [name],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    match row {
        None => Err(StoreError::NoSuchMachine(name.to_owned())),
        Some((_, Some(epoch))) => Err(StoreError::AlreadyRevoked {
            machine: name.to_owned(),
            epoch,
        }),
        Some((salt, None)) => Ok(issuer.derive_x(&salt, name)),
    }
}

fn next_epoch(
    group: &GroupFile,
    issuer: &IssuerKeyFile,
    x: Scalar,
    start: u64,
) -> Result<EpochRecord, StoreError> {
    let newest = group.newest_epoch();
    let start_before = group.start(newest).unwrap_or(0);
    if start <= start_before {
        return Err(StoreError::StartTooEarly {
            newest: start_before,
        });
    }
    if newest as usize >= MAX_EPOCHS {
        return Err(StoreError::Full("epochs"));
    }
    let change = change(&key_of(group, newest)?, issuer, x)
        .ok_or_else(|| StoreError::Damaged("the issuer key does not fit the group".to_owned()))?;
    Ok(EpochRecord {
        epoch: newest + 1,
        previous: group.last_id(),
        start,
        change,
    })
}

/// The revocation of x, once it is known to lead somewhere.
fn change(current: &PublicKey, issuer: &IssuerKeyFile, x: Scalar) -> Option<Change> {
    match (current, &issuer.issuer) {
        (PublicKey::Bbs04(key), IssuerKey::Bbs04(gamma)) => {
            let revocation = gamma.revoke(key, x)?;
            let next = key.after(&revocation).ok()?;
            Some(Change::Bbs04Revocation {
                revocation: Box::new(revocation.to_bytes()),
                w: Box::new(next.w_bytes()),
            })
        }
        (PublicKey::Xr(key), IssuerKey::Xr(gamma)) => {
            let revocation = gamma.revoke(key, &x)?;
            key.after(&revocation).ok()?;
            Some(Change::XrRevocation(Box::new(revocation.to_bytes())))
        }
        _ => None,
    }
}
