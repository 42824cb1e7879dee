//! A log on this host: its key, its entries, and the state that they make.

use super::recent::Recent;
use super::storage::{Kept, Storage, Which};
use crate::database::{self, StorageError};
use clew_keys::files::{IfExists, MODE_PUBLIC, MODE_SECRET, write_atomically};
use clew_keys::{LogKeyFile, TextFile};
use clew_log::entry::{Entry, Logged};
use clew_log::tree::Frontier;
use clew_log::{
    Checkpoint, Founder, Hash, KeptState, KeyKind, LogState, Note, Rule, VerifierKey, sign, tree,
};
use clew_wire::WallTime;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

const KEY: &str = "log.key";
const GROUP: &str = "group.clew";
const PUBLIC: &str = "log.vkey";
/// A state of the log, so that it starts without reading all entries. Without it, it reads them.
const STATE: &str = "state";
/// The state is kept after so many entries, or as many as it has parts.
const KEPT_EVERY: u64 = 4_096;

/// The files of a log beside its database, and whether they are secret.
pub(super) const KEPT_FILES: [(&str, bool); 3] = [(KEY, true), (GROUP, false), (PUBLIC, false)];

type Result<T> = std::result::Result<T, StorageError>;

/// A log that this process has for itself.
#[derive(Debug)]
pub struct Log {
    dir: PathBuf,
    storage: Storage,
    state: LogState,
    edge: Frontier,
    /// How many entries the kept state has.
    kept: u64,
    key: LogKeyFile,
    newest: Signed,
    /// The last commit failed: the state in memory may be ahead of the disk.
    is_stale: bool,
    recent: Recent,
    _lock: File,
}

/// A checkpoint that the log signed, without cosignatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// How many entries it has.
    pub size: u64,
    /// The root over them.
    pub root: Hash,
    /// The checkpoint with the log's signature.
    pub note: Note,
}

/// An entry's place in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The place, from 0.
    pub place: u64,
    /// The entry as the log has it. If the log had the statement already, it is the earlier entry.
    pub bytes: Vec<u8>,
    /// Whether it is new.
    pub is_new: bool,
}

/// Why an entry was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAdded {
    /// It breaks a rule.
    Rule(Rule),
    /// Its author wrote more than [`super::ENTRIES_PER_HOUR_MAX`] entries, or [`super::BYTES_PER_HOUR_MAX`].
    TooMany,
}

impl Log {
    /// Makes the directory of a new log. It has no group yet, since a group file may name its log's key.
    /// `text` is that of the key file, encrypted or not.
    ///
    /// # Errors
    /// The directory exists, or cannot be written.
    pub fn create(dir: &Path, key: &LogKeyFile, text: &str) -> Result<()> {
        database::make_dir(dir, || Self::fill(dir, key, text))
    }

    fn fill(dir: &Path, key: &LogKeyFile, text: &str) -> Result<()> {
        let lock = database::lock(dir)?;
        let empty = checkpoint(key, 0, tree::EMPTY);
        let note = empty.map(|signed| signed.note.to_string());
        let note = note.ok_or_else(|| StorageError::damaged(dir, "the key's name"))?;
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
        // Last: without it the directory is not a log.
        Storage::create(dir, &Kept { size: 0, note })?;
        drop(lock);
        Ok(())
    }

    /// Returns the public key of the log in a directory, without its secret key.
    ///
    /// # Errors
    /// The directory is not a log's, or cannot be read.
    pub fn public_of(dir: &Path) -> Result<VerifierKey> {
        let path = dir.join(PUBLIC);
        let text = std::fs::read_to_string(&path).map_err(StorageError::io(&path))?;
        let key = text.trim_end().parse::<VerifierKey>();
        key.map_err(|_| StorageError::damaged(&path, "the log's public key"))
    }

    /// Says which group a new log is of, and keeps a copy of the group file for its operator.
    ///
    /// # Errors
    /// The log has a group already, is in use, or cannot be written.
    pub fn bind(dir: &Path, founder: &Founder, group_file: &[u8]) -> Result<()> {
        let storage = Storage::open(dir)?;
        let _lock = database::lock(dir)?;
        if storage.founder()?.is_some() {
            return Err(StorageError::HasGroup(dir.to_owned()));
        }
        let path = dir.join(GROUP);
        write_atomically(&path, group_file, MODE_PUBLIC, IfExists::Replace)
            .map_err(StorageError::io(&path))?;
        storage.put_founder(founder)
    }

    /// Opens a log, and checks it against its newest checkpoint: the entries since the state was kept last,
    /// at most some 4,096 or as many as the state has parts, and the tree. `unlock` reads the key file at a path;
    /// [`clear_key`] reads one that is not encrypted.
    ///
    /// # Errors
    /// Another process has it; it is not a log, or damaged. Those of `unlock`.
    pub fn open<E: From<StorageError>>(
        dir: &Path,
        unlock: impl FnOnce(&Path) -> std::result::Result<LogKeyFile, E>,
    ) -> std::result::Result<Self, E> {
        let lock = match dir.join(super::storage::FILE).exists() {
            true => database::lock(dir)?,
            false => {
                let missing = io::Error::new(io::ErrorKind::NotFound, "not the directory of a log");
                return Err(StorageError::io(dir)(missing).into());
            }
        };
        let path = dir.join(KEY);
        let key = unlock(&path)?;
        if key.public().kind() != KeyKind::Log {
            return Err(StorageError::damaged(&path, "not the key of a log").into());
        }
        let storage = Storage::open(dir)?;
        let Checked {
            newest,
            kept,
            last_kept,
        } = read(&storage, key.public(), Some(&dir.join(STATE)))?;
        let mut log = Self {
            dir: dir.to_owned(),
            storage,
            state: kept.state,
            edge: kept.edge,
            kept: last_kept,
            key,
            newest,
            is_stale: false,
            recent: Recent::default(),
            _lock: lock,
        };
        log.keep_state();
        Ok(log)
    }

    /// Returns its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns its public key.
    pub fn public(&self) -> &VerifierKey {
        self.key.public()
    }

    /// Returns the newest checkpoint that it signed.
    pub fn newest(&self) -> &Signed {
        &self.newest
    }

    /// Returns what its entries say.
    pub fn state(&self) -> &LogState {
        &self.state
    }

    /// The entries from place `first` on, before place `end`.
    pub(crate) fn entries(&self, first: u64, end: u64) -> Result<Vec<Vec<u8>>> {
        self.storage.entries(first, end)
    }

    /// Returns the witnesses that it asks: each with its key and address, in text.
    ///
    /// # Errors
    /// The database's.
    pub fn witnesses(&self) -> Result<Vec<(String, String)>> {
        self.storage.witnesses()
    }

    /// Asks a witness from the next start on, at this address.
    ///
    /// # Errors
    /// The database's.
    pub fn put_witness(&mut self, key: &VerifierKey, url: &str) -> Result<()> {
        self.storage.put_witness(&key.to_string(), url)
    }

    /// Asks a witness no more.
    ///
    /// # Errors
    /// The database's.
    pub fn remove_witness(&mut self, key: &VerifierKey) -> Result<()> {
        self.storage.remove_witness(&key.to_string())
    }

    pub(super) fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Adds entries whose layout and signatures were checked, in one commit with a new checkpoint. When
    /// this returns they are on the disk. `now` is the log's clock.
    ///
    /// # Errors
    /// The disk's or the database's: then no entry was added, and a later call may succeed.
    pub fn add(
        &mut self,
        entries: Vec<Entry>,
        now: WallTime,
    ) -> Result<Vec<std::result::Result<Placed, NotAdded>>> {
        if self.is_stale {
            let path = self.dir.join(STATE);
            let checked = read(&self.storage, self.key.public(), Some(&path))?;
            (self.state, self.edge) = (checked.kept.state, checked.kept.edge);
            self.newest = checked.newest;
        }
        // Whatever fails from here on, the state is read again.
        self.is_stale = true;
        let last = kept(&self.newest);
        let writing = self.storage.begin()?;
        let mut answers = Vec::with_capacity(entries.len());
        for entry in entries {
            let statement = entry.statement();
            if let Some((place, bytes)) = writing.find(&statement)? {
                let is_new = false;
                answers.push(Ok(Placed {
                    place,
                    bytes,
                    is_new,
                }));
                continue;
            }
            let logged = Logged { logged: now, entry };
            let place = self.state.size();
            let checked = self.state.check(&logged).map_err(NotAdded::Rule);
            let added = checked.and_then(|()| {
                let is_manager = logged.entry.author == self.state.founder().manager;
                let within = is_manager || self.recent.count(&logged, now);
                within.then_some(()).ok_or(NotAdded::TooMany)?;
                self.state.add(&logged).map_err(NotAdded::Rule)
            });
            if let Err(why) = added {
                answers.push(Err(why));
                continue;
            }
            let bytes = logged.encode();
            // A tree has fewer entries than a list can have.
            let _ = self.edge.push(tree::leaf(&bytes));
            writing.append(place, &logged, &bytes)?;
            let is_new = true;
            answers.push(Ok(Placed {
                place,
                bytes,
                is_new,
            }));
        }
        let size = self.state.size();
        if size > self.newest.size {
            let root = writing.storage().root(size)?;
            let signed = checkpoint(&self.key, size, root);
            let signed = signed.ok_or_else(|| writing.storage().damaged("the key's name"))?;
            writing.commit(&last, &kept(&signed))?;
            self.newest = signed;
        } else {
            drop(writing);
        }
        self.is_stale = false;
        self.keep_state();
        Ok(answers)
    }

    /// Keeps the state if that is due. If it cannot be written, the next start reads more entries.
    fn keep_state(&mut self) {
        let (size, parts) = (self.state.size(), self.state.parts() as u64);
        if size - self.kept.min(size) < KEPT_EVERY.max(parts) {
            return;
        }
        let kept = KeptState {
            state: self.state.clone(),
            edge: self.edge.clone(),
        };
        let bytes = kept.sign(&self.key.signing_key());
        let path = self.dir.join(STATE);
        if write_atomically(&path, &bytes, MODE_SECRET, IfExists::Replace).is_ok() {
            self.kept = size;
        }
    }
}

/// A log that was checked against its newest checkpoint.
struct Checked {
    newest: Signed,
    kept: KeptState,
    /// How many entries the state in the file has.
    last_kept: u64,
}

/// Reads the key of a log or witness that is not encrypted.
///
/// # Errors
/// It cannot be read, is encrypted, or is another file.
pub fn clear_key(path: &Path) -> Result<LogKeyFile> {
    let text = fs::read_to_string(path).map(Zeroizing::new);
    let text = text.map_err(StorageError::io(path))?;
    let key = LogKeyFile::decode(&text);
    key.map_err(|_| StorageError::damaged(path, "not the key of a log or witness"))
}

/// Reads a log's state from all of its entries, without taking the log: another process may be serving it.
///
/// # Errors
/// It is not a log, or damaged.
pub fn read_state(dir: &Path) -> Result<LogState> {
    let storage = Storage::open(dir)?;
    let path = dir.join(PUBLIC);
    let text = fs::read_to_string(&path).map_err(StorageError::io(&path))?;
    let key = text.trim().parse();
    let key = key.map_err(|_| StorageError::damaged(&path, "not a verifier key"))?;
    read(&storage, &key, None).map(|checked| checked.kept.state)
}

/// Returns the path of the group file that a log was made with.
pub fn group_file_of(dir: &Path) -> PathBuf {
    dir.join(GROUP)
}

/// Reads entries, and compares their root with the newest checkpoint: all of them, or those since the state
/// that is kept in a file.
fn read(storage: &Storage, key: &VerifierKey, shortcut: Option<&Path>) -> Result<Checked> {
    let signed = storage.checkpoint(Which::Signed)?;
    let signed = signed.ok_or_else(|| storage.damaged("it has no checkpoint"))?;
    let newest = read_signed(&signed.note, key).filter(|newest| newest.size == signed.size);
    let newest = newest.ok_or_else(|| storage.damaged("the newest checkpoint"))?;
    let founder = storage.founder()?;
    let founder = founder.ok_or_else(|| StorageError::NoGroup(storage.dir().to_owned()))?;
    let known = shortcut.and_then(|path| fs::read(path).ok());
    let known = known.and_then(|bytes| KeptState::read(&bytes, key.key(), founder));
    // A copy that was restored may be older than the file, or of another history.
    let known = known.filter(|kept| {
        let size = kept.edge.entries();
        size <= newest.size
            && storage
                .root(size)
                .is_ok_and(|root| root == kept.edge.root())
    });
    let last_kept = known.as_ref().map_or(0, |kept| kept.state.size());
    let KeptState {
        mut state,
        mut edge,
    } = known.unwrap_or_else(|| KeptState {
        state: LogState::new(founder),
        edge: Frontier::EMPTY,
    });
    storage.each_entry(state.size(), newest.size, |bytes| {
        let logged = Logged::decode(bytes).ok_or_else(|| storage.damaged("an entry"))?;
        let added = edge.push(tree::leaf(bytes)).and(state.add(&logged).ok());
        added.ok_or_else(|| storage.damaged("an entry breaks a rule"))
    })?;
    match edge.root() == newest.root && storage.root(newest.size)? == newest.root {
        true => Ok(Checked {
            newest,
            kept: KeptState { state, edge },
            last_kept,
        }),
        false => Err(storage.damaged("entries do not fit the newest checkpoint")),
    }
}

/// Reads a checkpoint that the log signed.
pub(super) fn read_signed(note: &str, key: &VerifierKey) -> Option<Signed> {
    let note = Note::parse(note).ok()?;
    note.signature(key).ok()?;
    let stated = Checkpoint::parse(note.text()).ok()?;
    (stated.origin == key.name()).then_some(Signed {
        size: stated.size,
        root: stated.root,
        note,
    })
}

fn kept(signed: &Signed) -> Kept {
    Kept {
        size: signed.size,
        note: signed.note.to_string(),
    }
}

fn checkpoint(key: &LogKeyFile, size: u64, root: Hash) -> Option<Signed> {
    let origin = key.public().name().to_owned();
    let stated = Checkpoint { origin, size, root };
    let mut note = Note::new(stated.to_string()).ok()?;
    let line = sign(note.text(), key.public().name(), &key.signing_key()).ok()?;
    note.add(line).ok()?;
    Some(Signed { size, root, note })
}
