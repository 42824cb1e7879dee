//! From the layout of earlier programs to today's, in one transaction.

use super::{Begun, LAYOUT_VERSION, SCHEMA, Sqlite, copy, refused};
use crate::error::StoreError;
use crate::storage::{Result, fill_outbox};
use rusqlite::Connection;
use std::fs;
use std::ops::RangeInclusive;

/// The layouts that are brought to today's.
pub(super) const FROM: RangeInclusive<i64> = 4..=5;

/// What layout 5 changed in tables that there were.
const ALTERED: &str = include_str!("upgrade.sql");

/// Statements of the schema that layout 5 added.
const ADDED_BY_5: [&str; 4] = [
    "CREATE TABLE outbox (",
    "CREATE INDEX outbox_waiting",
    "CREATE TABLE queued (",
    "CREATE TABLE factory (",
];

/// Statements of the schema that layout 7 added: authors and the board. Layout 6 was never released.
const ADDED_BY_7: [&str; 12] = [
    "CREATE INDEX joining_open",
    "CREATE TABLE author (",
    "CREATE UNIQUE INDEX author_name",
    "CREATE TABLE trusteeship (",
    "CREATE TABLE post (",
    "CREATE UNIQUE INDEX post_topic",
    "CREATE INDEX post_plan",
    "CREATE INDEX post_author",
    "CREATE INDEX post_time",
    "CREATE TABLE seat (",
    "CREATE INDEX seat_topic",
    "CREATE TABLE posted (",
];

/// Brings a database to today's layout. A copy of it as it was stays beside it.
pub(super) fn upgrade(db: &Sqlite<Box<Connection>>, from: i64) -> Result<()> {
    let path = &db.path;
    let kept = path.with_extension(format!("db.layout-{from}"));
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
    if !FROM.contains(&version) {
        return Ok(()); // another process did it meanwhile
    }
    let add = |statements: &[&str]| {
        let mut each = statements.iter();
        each.try_for_each(|begin| begun.db.execute_batch(statement(begin)))
    };
    if version == 4 {
        let altered = begun
            .db
            .execute_batch(ALTERED)
            .and_then(|()| add(&ADDED_BY_5));
        altered.map_err(refused(path))?;
        fill_outbox(&begun)?;
    }
    add(&ADDED_BY_7).map_err(refused(path))?;
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
