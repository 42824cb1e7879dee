//! From the layout of earlier programs to today's, in one transaction.

use super::{BOARD, LAYOUT_VERSION, SCHEMA, copy, refused};
use crate::error::StoreError;
use crate::storage::Result;
use clew_evidence::{GroupFile, HEADER};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

/// The layouts that are brought to today's.
pub(super) const FROM: RangeInclusive<i64> = 4..=5;

/// What layout 5 added to tables that there were.
const ALTERED: &str = include_str!("upgrade.sql");

/// Tables that layout 5 added.
const ADDED: [&str; 4] = [
    "CREATE TABLE outbox (",
    "CREATE INDEX outbox_waiting",
    "CREATE TABLE queued (",
    "CREATE TABLE factory (",
];

/// Most leaf hashes in one entry of the log (`spec/log.md` section 3).
const LEAVES_MAX: u32 = 1_000;

/// Brings a database to today's layout. A copy of it as it was stays beside it.
pub(super) fn upgrade(db: &Connection, path: &Path, from: i64) -> Result<()> {
    let kept = path.with_extension(format!("db.layout-{from}"));
    let partial = path.with_extension("db.partial");
    match fs::remove_file(&partial) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(StoreError::io(&partial)(error));
        }
        _ => {}
    }
    if !kept.exists() {
        copy(db, path, &partial)?;
        fs::rename(&partial, &kept).map_err(StoreError::io(&kept))?;
        let folder = clew_keys::files::directory(&kept);
        clew_keys::files::sync_directory(folder).map_err(StoreError::io(folder))?;
    }
    changed(db).map_err(refused(path))
}

fn changed(db: &Connection) -> rusqlite::Result<()> {
    db.busy_timeout(std::time::Duration::from_secs(10))?;
    db.pragma_update(None, "synchronous", "EXTRA")?;
    let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if !FROM.contains(&version) {
        return Ok(()); // another process did it meanwhile
    }
    if version == 4 {
        transaction.execute_batch(ALTERED)?;
        for begin in ADDED {
            transaction.execute_batch(statement(begin))?;
        }
        fill_outbox(&transaction)?;
    }
    transaction.execute_batch(BOARD)?;
    transaction.pragma_update(None, "user_version", LAYOUT_VERSION)?;
    transaction.commit()
}

/// The statement of the schema that begins so.
fn statement(begin: &str) -> &'static str {
    let from = SCHEMA.find(begin).map_or("", |at| &SCHEMA[at..]);
    // A comment may have a semicolon, and none ends its line.
    from.find(";\n").map_or(from, |end| &from[..=end])
}

/// Fills the outbox with what the log has to have of a group as it is.
pub(super) fn fill_outbox(db: &Connection) -> rusqlite::Result<()> {
    let damaged = |what: String| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Null, what.into())
    };
    let mut parts: Vec<u8> = HEADER.to_vec();
    let mut each = |query: &str| -> rusqlite::Result<()> {
        let mut statement = db.prepare(query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            parts.extend(row.get::<_, Vec<u8>>(0)?);
        }
        Ok(())
    };
    each("SELECT bytes FROM part ORDER BY epoch")?;
    each("SELECT bytes FROM checkpoint ORDER BY machines")?;
    each("SELECT bytes FROM register")?;
    let group = GroupFile::from_bytes(&parts).map_err(|error| damaged(error.to_string()))?;
    let mut add = db.prepare("INSERT INTO outbox (kind, body) VALUES (?1, ?2)")?;
    let genesis = Sha256::digest(group.genesis().encode());
    add.execute(params![crate::store::LOG_GROUP, &genesis[..]])?;
    let mut leaves = db.prepare("SELECT hash FROM node WHERE level = 0 AND idx = ?1")?;
    let machines = group.register().machines;
    for first in (0..machines).step_by(LEAVES_MAX as usize) {
        let count = LEAVES_MAX.min(machines - first);
        let hashes: Vec<[u8; 32]> = (first..first + count)
            .map(|index| leaves.query_row([index], |row| row.get(0)))
            .collect::<rusqlite::Result<_>>()?;
        let body = crate::store::enrolled_body(first, &hashes);
        add.execute(params![crate::store::LOG_ENROLLED, body])?;
    }
    for record in group.epochs() {
        let body = crate::store::epoch_body(record);
        add.execute(params![crate::store::LOG_EPOCH, body])?;
    }
    Ok(())
}
