//! From the layout of earlier programs to today's, in one transaction.

use super::{Begun, LAYOUT_VERSION, SCHEMA, Sqlite, copy, refused};
use crate::error::StoreError;
use crate::storage::{Result, fill_outbox};
use rusqlite::Connection;
use std::fs;

/// The layout that is brought to today's.
pub(super) const FROM: i64 = 4;

/// What the new layout adds to tables that there were.
const ALTERED: &str = include_str!("upgrade.sql");

/// Tables that the new layout adds.
const ADDED: [&str; 4] = [
    "CREATE TABLE outbox (",
    "CREATE INDEX outbox_waiting",
    "CREATE TABLE queued (",
    "CREATE TABLE factory (",
];

/// Brings a database to today's layout. A copy of it as it was stays beside it.
pub(super) fn upgrade(db: &Sqlite<Box<Connection>>) -> Result<()> {
    let path = &db.path;
    let kept = path.with_extension(format!("db.layout-{FROM}"));
    let partial = path.with_extension("db.partial");
    match fs::remove_file(&partial) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(StoreError::io(&partial)(error));
        }
        _ => {}
    }
    if !kept.exists() {
        copy(&db.db, path, &partial)?;
        fs::rename(&partial, &kept).map_err(StoreError::io(&kept))?;
        let folder = clew_keys::files::directory(&kept);
        clew_keys::files::sync_directory(folder).map_err(StoreError::io(folder))?;
    }
    let begun = db.lock().map_err(refused(path))?;
    let version = || {
        begun
            .db
            .pragma_query_value(None, "user_version", |row| row.get(0))
    };
    let version: i64 = version().map_err(refused(path))?;
    if version != FROM {
        return Ok(()); // another process did it meanwhile
    }
    let alter = || {
        begun.db.execute_batch(ALTERED)?;
        let mut added = ADDED.iter();
        added.try_for_each(|begin| begun.db.execute_batch(statement(begin)))
    };
    alter().map_err(refused(path))?;
    fill_outbox(&begun)?;
    let mark = || begun.db.pragma_update(None, "user_version", LAYOUT_VERSION);
    mark().map_err(refused(path))?;
    Begun::commit(begun)
}

/// The statement of the schema that begins so.
fn statement(begin: &str) -> &'static str {
    let from = SCHEMA.find(begin).map_or("", |at| &SCHEMA[at..]);
    // A comment may have a semicolon, and none ends its line.
    from.find(";\n").map_or(from, |end| &from[..=end])
}
