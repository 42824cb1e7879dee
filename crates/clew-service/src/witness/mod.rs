//! A witness of logs (`c2sp.org/tlog-witness`): it cosigns a checkpoint only if that continues the last
//! one, and remembers before it answers.

mod routes;

use crate::database::{self, Kind, StorageError};
use clew_keys::LogKeyFile;
use clew_keys::files::{IfExists, MODE_PUBLIC, MODE_SECRET, write_atomically};
use clew_log::{AddCheckpoint, Cosignature, KeyKind, Note, Refusal, VerifierKey, Witnessed};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use std::fs::File;
use std::path::{Path, PathBuf};

pub use routes::{WitnessOptions, router};

const KIND: Kind = Kind {
    application: 0x636c_7774, // "clwt"
    version: 1,
    schema: include_str!("schema.sql"),
};
const FILE: &str = "witness.db";
const KEY: &str = "witness.key";
const PUBLIC: &str = "witness.vkey";

/// A witness that this process has for itself: a key, and what it cosigned.
#[derive(Debug)]
pub struct WitnessStore {
    db: Connection,
    path: PathBuf,
    key: LogKeyFile,
    _lock: File,
}

/// Why a checkpoint was not cosigned.
#[derive(Debug)]
pub enum NotCosigned {
    /// By a rule of the protocol.
    Refused(Refusal),
    /// The disk or the database failed: nothing was remembered, so nothing is answered.
    Storage(StorageError),
}

impl From<StorageError> for NotCosigned {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl WitnessStore {
    /// Makes the directory of a new witness. `text` is that of the key file, encrypted or not.
    ///
    /// # Errors
    /// The directory exists, or cannot be written.
    pub fn create(dir: &Path, key: &LogKeyFile, text: &str) -> Result<(), StorageError> {
        database::make_dir(dir, || Self::fill(dir, key, text))
    }

    fn fill(dir: &Path, key: &LogKeyFile, text: &str) -> Result<(), StorageError> {
        let put = |name: &str, bytes: &[u8], mode| {
            let path = dir.join(name);
            let written = write_atomically(&path, bytes, mode, IfExists::Refuse);
            written.map_err(StorageError::io(&path))
        };
        put(
            PUBLIC,
            format!("{}\n", key.public()).as_bytes(),
            MODE_PUBLIC,
        )?;
        put(KEY, text.as_bytes(), MODE_SECRET)?;
        // Last: a key without its memory does not witness.
        database::create(&dir.join(FILE), &KIND).map(drop)
    }

    /// Opens a witness. `unlock` reads the key file at a path; [`crate::log::clear_key`] reads one that is
    /// not encrypted.
    ///
    /// # Errors
    /// Another process has it; it is not a witness, or its memory is missing. Those of `unlock`.
    pub fn open<E: From<StorageError>>(
        dir: &Path,
        unlock: impl FnOnce(&Path) -> Result<LogKeyFile, E>,
    ) -> Result<Self, E> {
        let path = dir.join(FILE);
        path.metadata().map_err(StorageError::io(&path))?;
        let lock = database::lock(dir)?;
        let of_key = dir.join(KEY);
        let key = unlock(&of_key)?;
        if key.public().kind() != KeyKind::Witness {
            return Err(StorageError::damaged(&of_key, "not the key of a witness").into());
        }
        Ok(Self {
            db: database::open(&path, &KIND)?,
            path,
            key,
            _lock: lock,
        })
    }

    /// Returns its public key.
    pub fn public(&self) -> &VerifierKey {
        self.key.public()
    }

    /// Returns the newest checkpoint of a log that it cosigned, with both signatures.
    ///
    /// # Errors
    /// The database's.
    pub fn newest(&self, origin: &str) -> Result<Option<String>, StorageError> {
        let query = "SELECT note FROM cosigned WHERE origin = ?1";
        let read = self.db.query_row(query, [origin], |row| row.get(0));
        read.optional().map_err(StorageError::database(&self.path))
    }

    /// Cosigns a checkpoint of a log, if it continues the last one. When this returns, the disk has it.
    /// `now` is in seconds since 1970.
    ///
    /// # Errors
    /// [`NotCosigned`]: what was remembered is as before.
    pub fn cosign(
        &mut self,
        log: &VerifierKey,
        request: &AddCheckpoint,
        now: u64,
    ) -> Result<String, NotCosigned> {
        let refused = |error| NotCosigned::Storage(StorageError::database(&self.path)(error));
        let immediate = TransactionBehavior::Immediate;
        let begun = Transaction::new_unchecked(&self.db, immediate).map_err(refused)?;
        let query = "SELECT size, root FROM cosigned WHERE origin = ?1";
        let last = begun.query_row(query, [log.name()], |row| {
            let size: i64 = row.get(0)?;
            let (size, root) = (size.cast_unsigned(), row.get(1)?);
            Ok(Witnessed { size, root })
        });
        let last = last.optional().map_err(refused)?;
        let new = request.consider(log, last).map_err(NotCosigned::Refused)?;
        let unnamed = |_| StorageError::damaged(&self.path, "the key's name");
        let (text, name) = (request.checkpoint.text(), self.key.public().name());
        let line = Cosignature::sign(text, now.max(1), name, &self.key.signing_key());
        let line = line.map_err(unnamed)?;
        let own = request.checkpoint.signature(log);
        let note = Note::new(text.to_owned()).and_then(|mut note| {
            note.add(own?.clone())?;
            note.add(line.clone())?;
            Ok(note)
        });
        let note = note.map_err(|_| NotCosigned::Refused(Refusal::Layout))?;
        let command = "INSERT OR REPLACE INTO cosigned VALUES (?1, ?2, ?3, ?4)";
        let parts = params![
            log.name(),
            new.size.cast_signed(),
            new.root,
            note.to_string()
        ];
        begun.execute(command, parts).map_err(refused)?;
        begun.commit().map_err(refused)?;
        Ok(format!("{line}\n"))
    }
}
