//! A database's first rows, and the first entries of its outbox.

use super::{Result, SERVER, Transaction, postgres, sqlite};
use crate::error::StoreError;
use crate::store::{LOG_ENROLLED, LOG_EPOCH, LOG_GROUP, enrolled_body, epoch_body, holes};
use clew_evidence::{GroupFile, HEADER};
use clew_keys::files::{IfExists, MODE_SECRET, write_atomically};
use sha2::{Digest, Sha256};
use std::path::Path;

/// Most leaf hashes in one entry of the log (`spec/log.md` section 3).
const LEAVES_MAX: u32 = 1_000;

/// Makes the database of a new directory, which is not in its place yet: a file in it, or, with a URL,
/// tables in a database that has none of a group. `fill` writes its rows, `place` gives the directory its
/// name. A file is complete before that. A database of PostgreSQL commits after it: if that fails, the
/// directory has no group.
pub(crate) fn create(
    dir: &Path,
    url: Option<&str>,
    fill: &mut dyn FnMut(&dyn Transaction) -> Result<()>,
    place: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let Some(url) = url else {
        sqlite::create(dir, fill)?;
        return place();
    };
    let path = dir.join(SERVER);
    let line = format!("{url}\n");
    write_atomically(&path, line.as_bytes(), MODE_SECRET, IfExists::Refuse)
        .map_err(StoreError::io(&path))?;
    postgres::create(url, fill, place)
}

/// Fills the outbox with what the log has to have of a group as it is.
pub(crate) fn fill_outbox(db: &dyn Transaction) -> Result<()> {
    let bytes = [&HEADER[..], &db.parts()?].concat();
    let group = GroupFile::from_bytes(&bytes);
    let group = group.map_err(|error| StoreError::Damaged(error.to_string()))?;
    let genesis = Sha256::digest(group.genesis().encode());
    db.send(LOG_GROUP, &genesis)?;
    let machines = group.register().machines;
    for first in (0..machines).step_by(LEAVES_MAX as usize) {
        let count = LEAVES_MAX.min(machines - first);
        let leaf = |index| db.node(0, index)?.ok_or_else(holes);
        let hashes = (first..first + count)
            .map(leaf)
            .collect::<Result<Vec<[u8; 32]>>>()?;
        db.send(LOG_ENROLLED, &enrolled_body(first, &hashes))?;
    }
    for record in group.epochs() {
        db.send(LOG_EPOCH, &epoch_body(record))?;
    }
    Ok(())
}
