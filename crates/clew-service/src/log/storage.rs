//! A log's database: entries, the nodes of their tree, and the newest checkpoints.

use crate::database::{self, Kind, StorageError};
use clew_log::entry::Logged;
use clew_log::tile::{self, Tile};
use clew_log::{Founder, Hash, tree};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use std::path::{Path, PathBuf};

const KIND: Kind = Kind {
    application: 0x636c_6c67, // "cllg"
    version: 1,
    schema: include_str!("schema.sql"),
};

pub(super) const FILE: &str = "log.db";

/// Bytes of a bundle that are in memory for one reader.
const PART_BYTES: usize = 64 << 10;

type Result<T> = std::result::Result<T, StorageError>;

/// A connection to the database. Several may read, one writes.
#[derive(Debug)]
pub(super) struct Storage {
    db: Connection,
    path: PathBuf,
}

/// A checkpoint in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) size: u64,
    pub(super) note: String,
}

/// Which of the two checkpoints.
#[derive(Clone, Copy, Debug)]
pub(super) enum Which {
    Signed = 0,
    Published = 1,
}

impl Storage {
    pub(super) fn create(dir: &Path, signed: &Kept) -> Result<Self> {
        let path = dir.join(FILE);
        let db = database::create(&path, &KIND)?;
        let storage = Self { db, path };
        storage.put(Which::Signed, signed)?;
        Ok(storage)
    }

    pub(super) fn open(dir: &Path) -> Result<Self> {
        let path = dir.join(FILE);
        let db = database::open(&path, &KIND)?;
        Ok(Self { db, path })
    }

    pub(super) fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    pub(super) fn damaged(&self, what: &'static str) -> StorageError {
        StorageError::damaged(&self.path, what)
    }

    pub(super) fn founder(&self) -> Result<Option<Founder>> {
        let query = "SELECT record, manager FROM founder";
        self.one(query, [], |row| {
            let (record, manager) = (row.get(0)?, row.get(1)?);
            Ok(Founder { record, manager })
        })
    }

    /// Sets the founder, once.
    pub(super) fn put_founder(&self, founder: &Founder) -> Result<()> {
        let parts = params![founder.record, founder.manager];
        self.write("INSERT INTO founder VALUES (0, ?1, ?2)", parts)
    }

    pub(super) fn checkpoint(&self, which: Which) -> Result<Option<Kept>> {
        let query = "SELECT size, note FROM checkpoint WHERE which = ?1";
        self.one(query, [which as u8], |row| {
            let (size, note) = (size(row.get(0)?), row.get(1)?);
            Ok(Kept { size, note })
        })
    }

    pub(super) fn put(&self, which: Which, kept: &Kept) -> Result<()> {
        let parts = params![which as u8, kept.size.cast_signed(), kept.note];
        self.write(
            "INSERT OR REPLACE INTO checkpoint VALUES (?1, ?2, ?3)",
            parts,
        )
    }

    pub(super) fn witnesses(&self) -> Result<Vec<(String, String)>> {
        let found = || {
            let mut statement = self
                .db
                .prepare("SELECT key, url FROM witness ORDER BY key")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        found().map_err(StorageError::database(&self.path))
    }

    pub(super) fn put_witness(&self, key: &str, url: &str) -> Result<()> {
        self.write("INSERT OR REPLACE INTO witness VALUES (?1, ?2)", [key, url])
    }

    pub(super) fn remove_witness(&self, key: &str) -> Result<()> {
        self.write("DELETE FROM witness WHERE key = ?1", [key])
    }

    /// Calls `each` with the entries from place `first` on, before place `end`, in their order.
    pub(super) fn each_entry(
        &self,
        first: u64,
        end: u64,
        mut each: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let refused = |error| StorageError::database(&self.path)(error);
        let query =
            "SELECT place, bytes FROM entry WHERE place >= ?1 AND place < ?2 ORDER BY place";
        let mut statement = self.db.prepare(query).map_err(refused)?;
        let range = [first.cast_signed(), end.cast_signed()];
        let mut rows = statement.query(range).map_err(refused)?;
        let mut expected = first;
        while let Some(row) = rows.next().map_err(refused)? {
            let place: i64 = row.get(0).map_err(refused)?;
            if place.cast_unsigned() != expected {
                break;
            }
            let bytes = row.get_ref(1).and_then(|bytes| Ok(bytes.as_blob()?));
            each(bytes.map_err(refused)?)?;
            expected += 1;
        }
        match expected == end {
            true => Ok(()),
            false => Err(self.damaged("an entry is missing")),
        }
    }

    /// The entries from place `first` on, before place `end`.
    pub(super) fn entries(&self, first: u64, end: u64) -> Result<Vec<Vec<u8>>> {
        let query = "SELECT bytes FROM entry WHERE place >= ?1 AND place < ?2 ORDER BY place";
        let range = params![first.cast_signed(), end.cast_signed()];
        let found = || {
            let mut statement = self.db.prepare_cached(query)?;
            let rows = statement.query_map(range, |row| row.get::<_, Vec<u8>>(0))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let entries = found().map_err(StorageError::database(&self.path))?;
        match entries.len() as u64 == end.saturating_sub(first) {
            true => Ok(entries),
            false => Err(self.damaged("an entry is missing")),
        }
    }

    /// Where a statement stands.
    pub(super) fn place_of(&self, statement: &Hash) -> Result<Option<u64>> {
        let query = "SELECT place FROM entry WHERE statement = ?1";
        self.one(query, [statement], |row| Ok(size(row.get(0)?)))
    }

    pub(super) fn node(&self, level: u32, place: u64) -> Result<Option<Hash>> {
        let query = "SELECT hash FROM node WHERE level = ?1 AND place = ?2";
        self.one(query, params![level, place.cast_signed()], |row| row.get(0))
    }

    /// Makes something of nodes. A node that is missing below the log's size is damage.
    pub(super) fn with_nodes<T>(
        &self,
        make: impl FnOnce(&mut dyn FnMut(u32, u64) -> Option<Hash>) -> Option<T>,
    ) -> Result<T> {
        let mut failed = None;
        let made = make(&mut |level, place| {
            self.node(level, place).unwrap_or_else(|error| {
                failed = Some(error);
                None
            })
        });
        match (made, failed) {
            (_, Some(error)) => Err(error),
            (Some(made), None) => Ok(made),
            (None, None) => Err(self.damaged("a node of the tree is missing")),
        }
    }

    pub(super) fn root(&self, size: u64) -> Result<Hash> {
        self.with_nodes(|node| tree::root(size, node))
    }

    /// The bytes of a tile of hashes that a log of that size has.
    pub(super) fn hashes(&self, level: u32, tile: &Tile) -> Result<Vec<u8>> {
        let query =
            "SELECT hash FROM node WHERE level = ?1 AND place >= ?2 AND place < ?3 ORDER BY place";
        let first = tile.index * tile::WIDTH;
        let range = params![
            8 * level,
            first.cast_signed(),
            (first + tile.width).cast_signed()
        ];
        let found = || {
            let mut statement = self.db.prepare_cached(query)?;
            let rows = statement.query_map(range, |row| row.get::<_, Hash>(0))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let hashes = found().map_err(StorageError::database(&self.path))?;
        match hashes.len() as u64 == tile.width {
            true => Ok(hashes.as_flattened().to_vec()),
            false => Err(self.damaged("a node of the tree is missing")),
        }
    }

    /// The next bytes of a bundle that ends before place `end`: of at least one entry, and of
    /// [`PART_BYTES`] at most if there are more. Returns them with the place that follows.
    pub(super) fn bundle_part(&self, first: u64, end: u64) -> Result<(Vec<u8>, u64)> {
        let refused = |error| StorageError::database(&self.path)(error);
        let query = "SELECT bytes FROM entry WHERE place >= ?1 AND place < ?2 ORDER BY place";
        let mut statement = self.db.prepare_cached(query).map_err(refused)?;
        let range = params![first.cast_signed(), end.cast_signed()];
        let mut rows = statement.query(range).map_err(refused)?;
        let (mut part, mut next) = (Vec::new(), first);
        while let Some(row) = rows.next().map_err(refused)? {
            let entry = row.get_ref(0).and_then(|bytes| Ok(bytes.as_blob()?));
            let entry = tile::bundle([entry.map_err(refused)?]);
            let entry = entry.ok_or_else(|| self.damaged("an entry is too long"))?;
            if next > first && part.len() + entry.len() > PART_BYTES {
                break;
            }
            part.extend(entry);
            next += 1;
        }
        match next > first {
            true => Ok((part, next)),
            false => Err(self.damaged("an entry is missing")),
        }
    }

    /// Begins to write. Until [`Writing::commit`] nothing is written.
    pub(super) fn begin(&mut self) -> Result<Writing<'_>> {
        let immediate = TransactionBehavior::Immediate;
        let begun = rusqlite::Transaction::new_unchecked(&self.db, immediate);
        let transaction = begun.map_err(StorageError::database(&self.path))?;
        Ok(Writing {
            storage: self,
            transaction,
        })
    }

    fn one<T>(
        &self,
        query: &str,
        params: impl rusqlite::Params,
        read: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        let found = || {
            let mut statement = self.db.prepare_cached(query)?;
            statement.query_row(params, read).optional()
        };
        found().map_err(StorageError::database(&self.path))
    }

    fn write(&self, command: &str, params: impl rusqlite::Params) -> Result<()> {
        let done = self
            .db
            .prepare_cached(command)
            .and_then(|mut statement| statement.execute(params));
        done.map(drop).map_err(StorageError::database(&self.path))
    }
}

/// A transaction that adds entries.
pub(super) struct Writing<'s> {
    storage: &'s Storage,
    transaction: rusqlite::Transaction<'s>,
}

impl Writing<'_> {
    /// What the transaction sees.
    pub(super) fn storage(&self) -> &Storage {
        self.storage
    }

    /// Where the statement stands already.
    pub(super) fn find(&self, statement: &Hash) -> Result<Option<(u64, Vec<u8>)>> {
        let query = "SELECT place, bytes FROM entry WHERE statement = ?1";
        self.storage.one(query, [statement], |row| {
            Ok((size(row.get(0)?), row.get(1)?))
        })
    }

    /// Adds an entry at the end, with the nodes that it completes.
    pub(super) fn append(&self, place: u64, logged: &Logged, bytes: &[u8]) -> Result<()> {
        let storage = self.storage;
        let leaf = tree::leaf(bytes);
        let nodes = storage.with_nodes(|node| tree::appended_nodes(place, &leaf, node))?;
        let parts = params![place.cast_signed(), bytes, logged.entry.statement()];
        storage.write("INSERT INTO entry VALUES (?1, ?2, ?3)", parts)?;
        for (level, place, hash) in nodes {
            let parts = params![level, place.cast_signed(), hash];
            storage.write("INSERT INTO node VALUES (?1, ?2, ?3)", parts)?;
        }
        Ok(())
    }

    /// Puts the new checkpoint in place of the last one, if that is still the one expected, and
    /// makes everything durable.
    pub(super) fn commit(self, last: &Kept, new: &Kept) -> Result<()> {
        if self.storage.checkpoint(Which::Signed)?.as_ref() != Some(last) {
            return Err(self.storage.damaged("another process wrote"));
        }
        self.storage.put(Which::Signed, new)?;
        let path = self.storage.path.clone();
        self.transaction
            .commit()
            .map_err(StorageError::database(&path))
    }
}

fn size(number: i64) -> u64 {
    number.cast_unsigned()
}
