//! Revoking a machine: the next epoch.

use super::enrol::key_of;
use super::{Store, begin, derive_x, last_hash, read_group, write_register};
use crate::error::StoreError;
use crate::keys::IssuerKeyFile;
use clew_evidence::{EpochRecord, GroupFile, MAX_EPOCHS, RegisterHead, seal};
use clew_group::curve::Scalar;
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

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
        let body = record.encode();
        transaction.execute(
            "INSERT INTO part VALUES (?1, ?2)",
            params![record.epoch, seal(&body, &issuer.manager)],
        )?;
        transaction.execute(
            "UPDATE machine SET revoked_in = ?1 WHERE name = ?2",
            params![record.epoch, machine],
        )?;
        let head = RegisterHead {
            last: Sha256::digest(&body).into(),
            time: now,
            ..group.register().clone()
        };
        let peaks: Vec<u8> =
            transaction.query_row("SELECT peaks FROM register", [], |row| row.get(0))?;
        write_register(&transaction, &head, &peaks, issuer)?;
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
        Some((salt, None)) => Ok(derive_x(issuer, &salt, name)),
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
    let current = key_of(group, newest)?;
    let damaged = || StoreError::Damaged("the issuer key does not fit the group".to_owned());
    let revocation = issuer.issuer.revoke(&current, x).ok_or_else(damaged)?;
    let next = current.after(&revocation).map_err(|_| damaged())?;
    Ok(EpochRecord {
        epoch: newest + 1,
        previous: last_hash(group),
        start,
        revocation: revocation.to_bytes(),
        w: next.w_bytes(),
    })
}
