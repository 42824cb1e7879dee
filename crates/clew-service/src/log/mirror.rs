//! An auditor's copy of a log.

use super::client::{LogClient, LogClientError};
use clew_keys::files::{IfExists, MODE_PUBLIC, write_atomically};
use clew_log::entry::Logged;
use clew_log::tree::{self, Frontier};
use clew_log::{
    CLOCK_DIFFERENCE_MAX, Checkpoint, Cosignature, Founder, LogState, Note, Policy, Rule,
};
use clew_wire::{Reader, WallTime};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

const HEADER: &[u8; 16] = b"clew-log-copy-1\n";
const NS: u64 = 1_000_000_000;

/// Everything that an auditor has read of a log, checked. With a file it goes on where it ended.
#[derive(Debug)]
pub struct Mirror {
    policy: Policy,
    founder: Option<Founder>,
    watched: Vec<u32>,
    state: Option<LogState>,
    edge: Frontier,
    last: Option<Note>,
    /// How many of the file's entries no checkpoint states.
    unstated: u64,
    file: Option<(PathBuf, File)>,
}

/// What an audit found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audited {
    /// How many entries were read and checked now.
    pub new: u64,
    /// The checkpoint that they lead to.
    pub checkpoint: Checkpoint,
    /// When the last of the policy's witnesses cosigned it.
    pub cosigned: Option<WallTime>,
}

/// Why an audit did not end well.
#[derive(Debug, Error)]
pub enum AuditError {
    /// The log does not answer, or its checkpoint is not good enough.
    #[error(transparent)]
    Log(#[from] LogClientError),
    /// The copy's file cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// The copy's file is of another log, or was changed.
    #[error("{}: not the copy of this log that an audit wrote", .0.display())]
    Copy(PathBuf),
    /// The copy's file has entries, its checkpoint is missing, and the log does not show these entries.
    #[error(
        "{}: its checkpoint is missing, and its entries do not lead to the log's checkpoint", .0.display()
    )]
    Unstated(PathBuf),
    /// The log shows two histories.
    #[error(
        "the log shows two histories: its checkpoint of {} entries is not consistent with the one of {} \
         entries that was seen before", new.1, old.1
    )]
    Fork {
        /// The checkpoint that was seen before, and its size.
        old: (Box<Note>, u64),
        /// The one that does not fit.
        new: (Box<Note>, u64),
    },
    /// The log went back.
    #[error("the log went back: it shows {} entries, and had {} before", new.1, old.1)]
    Rollback {
        /// The checkpoint that was seen before, and its size.
        old: (Box<Note>, u64),
        /// The older one that is shown now.
        new: (Box<Note>, u64),
    },
    /// The entries are not those of the checkpoint.
    #[error("the log serves entries that are not those of its checkpoint")]
    Entries(Box<Note>),
    /// An entry breaks a rule: the log added what it must not.
    #[error("entry {place} breaks the rule {}: {rule}", rule.as_str())]
    Rule {
        /// Its place.
        place: u64,
        /// The rule.
        rule: Rule,
        /// The checkpoint that has it.
        checkpoint: Box<Note>,
    },
    /// The log's time of an entry does not fit the witnesses' times.
    #[error("entry {place} has a time that differs by more than 1 hour from its witnesses'")]
    Clock {
        /// Its place.
        place: u64,
        /// The checkpoint that has it.
        checkpoint: Box<Note>,
    },
}

impl AuditError {
    /// Returns the checkpoints that prove it, if it is the log's fault.
    pub fn evidence(&self) -> Vec<&Note> {
        match self {
            Self::Fork { old, new } | Self::Rollback { old, new } => vec![&old.0, &new.0],
            Self::Entries(note) => vec![note],
            Self::Rule { checkpoint, .. } | Self::Clock { checkpoint, .. } => vec![checkpoint],
            Self::Log(_) | Self::Io { .. } | Self::Copy(_) | Self::Unstated(_) => Vec::new(),
        }
    }
}

type Result<T> = std::result::Result<T, AuditError>;

impl Mirror {
    /// A copy that is not kept. Without a founder it is the log's word whose it is. The register's
    /// roots are remembered at the `watched` numbers of rows.
    pub fn new(policy: Policy, founder: Option<Founder>, watched: Vec<u32>) -> Self {
        let mut mirror = Self {
            policy,
            founder,
            watched,
            state: None,
            edge: Frontier::EMPTY,
            last: None,
            unstated: 0,
            file: None,
        };
        if let Some(founder) = mirror.founder {
            mirror.begin(founder);
        }
        mirror
    }

    /// Reads the copy in a file, or makes the file. What an audit that was killed left behind its
    /// checkpoint is cut off. If there is no checkpoint, no whole entry is cut off: the log's checkpoint has
    /// to lead to them.
    ///
    /// # Errors
    /// The file cannot be read or written, is in use, or not a copy of this log.
    pub fn open(mut self, path: &Path) -> Result<Self> {
        let io = |error| AuditError::Io {
            path: path.to_owned(),
            error,
        };
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(io)?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(io(io::Error::other("another audit uses it")));
        }
        let other = || AuditError::Copy(path.to_owned());
        if file.metadata().map_err(io)?.len() == 0 {
            file.write_all(HEADER).map_err(io)?;
            self.file = Some((path.to_owned(), file));
            return Ok(self);
        }
        let mut reader = BufReader::new(&file);
        let mut header = [0; HEADER.len()];
        if reader.read_exact(&mut header).is_err() || header != *HEADER {
            return Err(other());
        }
        let mut end = HEADER.len() as u64;
        match std::fs::read_to_string(of_checkpoint(path)) {
            Ok(text) => {
                let note = Note::parse(&text).map_err(|_| other())?;
                note.signature(&self.policy.log).map_err(|_| other())?;
                let stated = Checkpoint::parse(note.text()).map_err(|_| other())?;
                for _ in 0..stated.size {
                    let bytes = next(&mut reader).ok_or_else(other)?;
                    end += 2 + bytes.len() as u64;
                    self.take(&bytes).map_err(|_| other())?;
                }
                if self.edge.root() != stated.root {
                    return Err(other());
                }
                self.last = Some(note);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                while let Some(bytes) = next(&mut reader) {
                    let logged = Logged::decode(&bytes).filter(|own| own.entry.is_signed());
                    end += 2 + bytes.len() as u64;
                    self.follow(&bytes, &logged.ok_or_else(other)?)
                        .map_err(|_| other())?;
                }
                self.unstated = self.edge.entries();
            }
            Err(error) => return Err(io(error)),
        }
        drop(reader);
        file.set_len(end).map_err(io)?;
        io::Seek::seek(&mut file, io::SeekFrom::Start(end)).map_err(io)?;
        self.file = Some((path.to_owned(), file));
        Ok(self)
    }

    /// Returns what the log's entries say. `None` if none was read.
    pub fn state(&self) -> Option<&LogState> {
        self.state.as_ref()
    }

    /// Reads and checks what the log has added. `now` is in seconds since 1970. If this fails, the
    /// copy in memory is not used any more; the one in the file is as before.
    ///
    /// # Errors
    /// [`AuditError`].
    pub async fn update(&mut self, log: &LogClient, now: u64) -> Result<Audited> {
        let note = log.checkpoint().await?;
        let checked = self.policy.checkpoint(&note, now);
        let checkpoint = checked.map_err(LogClientError::from)?;
        let before = self.edge.entries();
        if checkpoint.size < before {
            self.stated()?;
            return Err(self.went_back(note, &checkpoint));
        }
        let times = (
            self.last.as_ref().map(|last| self.times(last, now)),
            self.times(&note, now),
        );
        let earliest = times.0.and_then(|times| times.into_iter().min());
        let latest = times.1.into_iter().max();
        while self.edge.entries() < checkpoint.size {
            let place = self.edge.entries();
            for bytes in log.entries(place, checkpoint.size).await? {
                self.add(&bytes, (earliest, latest), &note)?;
            }
        }
        if self.edge.root() != checkpoint.root {
            self.stated()?;
            return Err(self.not_these(log, note, &checkpoint, before).await);
        }
        self.keep(&note)?;
        self.unstated = 0;
        self.last = Some(note);
        let new = checkpoint.size - before;
        Ok(Audited {
            new,
            checkpoint,
            cosigned: latest,
        })
    }

    fn begin(&mut self, founder: Founder) -> &mut LogState {
        let watched = &self.watched;
        self.state.get_or_insert_with(|| {
            let mut state = LogState::new(founder);
            state.watch(watched.iter().copied());
            state
        })
    }

    /// Takes an entry that was signed and checked before.
    fn take(&mut self, bytes: &[u8]) -> std::result::Result<(), Rule> {
        let logged = Logged::decode(bytes).ok_or(Rule::Layout)?;
        self.follow(bytes, &logged)
    }

    fn follow(&mut self, bytes: &[u8], logged: &Logged) -> std::result::Result<(), Rule> {
        let state = match &mut self.state {
            Some(state) => state,
            None => {
                let founder = Founder::of(logged).ok_or(Rule::Order)?;
                self.begin(founder)
            }
        };
        state.add(logged)?;
        self.edge.push(tree::leaf(bytes)).ok_or(Rule::Order)
    }

    fn add(
        &mut self,
        bytes: &[u8],
        (earliest, latest): (Option<WallTime>, Option<WallTime>),
        note: &Note,
    ) -> Result<()> {
        let place = self.edge.entries();
        let broken = |rule| AuditError::Rule {
            place,
            rule,
            checkpoint: Box::new(note.clone()),
        };
        let logged = Logged::decode(bytes).ok_or_else(|| broken(Rule::Layout))?;
        if !logged.entry.is_signed() {
            return Err(broken(Rule::Signature));
        }
        self.follow(bytes, &logged).map_err(broken)?;
        let time = logged.logged;
        let is_late = latest.is_some_and(|latest| time > latest + CLOCK_DIFFERENCE_MAX);
        if is_late || earliest.is_some_and(|earliest| time < earliest - CLOCK_DIFFERENCE_MAX) {
            let checkpoint = Box::new(note.clone());
            return Err(AuditError::Clock { place, checkpoint });
        }
        if let Some((path, file)) = &mut self.file {
            let written = u16::try_from(bytes.len())
                .map_err(io::Error::other)
                .and_then(|length| {
                    let mut writer = BufWriter::new(file);
                    writer.write_all(&length.to_be_bytes())?;
                    writer.write_all(bytes)?;
                    writer.flush()
                });
            written.map_err(|error| AuditError::Io {
                path: path.clone(),
                error,
            })?;
        }
        Ok(())
    }

    /// When the policy's witnesses cosigned, but for times from the future.
    fn times(&self, note: &Note, now: u64) -> Vec<WallTime> {
        let until = now.saturating_add(CLOCK_DIFFERENCE_MAX.as_secs());
        let keys = self.policy.witnesses.iter();
        let lines = keys.filter_map(|key| note.signature(key).ok());
        let times = lines.filter_map(|line| Cosignature::decode(&line.bytes));
        times
            .filter(|own| own.time <= until)
            .map(|own| WallTime::from_nanos(own.time.saturating_mul(NS)))
            .collect()
    }

    /// Without a checkpoint over the copy's entries nobody knows whether the log is wrong, or the copy.
    fn stated(&self) -> Result<()> {
        match &self.file {
            Some((path, _)) if self.unstated > 0 => Err(AuditError::Unstated(path.clone())),
            _ => Ok(()),
        }
    }

    fn went_back(&self, note: Note, checkpoint: &Checkpoint) -> AuditError {
        let old = match self.last_seen() {
            Ok(old) => old,
            Err(error) => return error,
        };
        let new = (Box::new(note), checkpoint.size);
        // Is it the past, or another one? The copy knows.
        match self.root_at(checkpoint.size) {
            Some(root) if root != checkpoint.root => AuditError::Fork { old, new },
            _ => AuditError::Rollback { old, new },
        }
    }

    /// The root over the first entries of the copy, if it is in a file.
    fn root_at(&self, size: u64) -> Option<clew_log::Hash> {
        let (path, _) = self.file.as_ref()?;
        let mut reader = BufReader::new(File::open(path).ok()?);
        reader.read_exact(&mut [0; HEADER.len()]).ok()?;
        let mut edge = Frontier::EMPTY;
        for _ in 0..size {
            edge.push(tree::leaf(&next(&mut reader)?))?;
        }
        Some(edge.root())
    }

    /// Entries that do not lead to the root: of another history, or not of this checkpoint at all.
    async fn not_these(
        &self,
        log: &LogClient,
        note: Note,
        checkpoint: &Checkpoint,
        before: u64,
    ) -> AuditError {
        let Ok(old) = self.last_seen() else {
            return AuditError::Entries(Box::new(note));
        };
        let root = Checkpoint::parse(old.0.text()).map(|old| old.root);
        let new = (Box::new(note), checkpoint.size);
        let Ok(root) = root else {
            return AuditError::Entries(new.0);
        };
        let now = (checkpoint.size, checkpoint.root);
        // Tiles that do not lead to the new root are anybody's: they prove no fork.
        match before > 0 && matches!(log.continues((before, root), now).await, Ok(false)) {
            true => AuditError::Fork { old, new },
            false => AuditError::Entries(new.0),
        }
    }

    fn last_seen(&self) -> Result<(Box<Note>, u64)> {
        let nothing = || LogClientError::Answer("consistent with itself");
        let last = self.last.clone().ok_or_else(nothing)?;
        let size = Checkpoint::parse(last.text()).map_err(|_| nothing())?.size;
        Ok((Box::new(last), size))
    }

    /// Makes the entries durable, and only then the checkpoint over them.
    fn keep(&self, note: &Note) -> Result<()> {
        let Some((path, file)) = &self.file else {
            return Ok(());
        };
        let kept = file.sync_all().and_then(|()| {
            let text = note.to_string();
            let path = of_checkpoint(path);
            write_atomically(&path, text.as_bytes(), MODE_PUBLIC, IfExists::Replace)
        });
        kept.map_err(|error| AuditError::Io {
            path: path.clone(),
            error,
        })
    }
}

fn of_checkpoint(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".checkpoint");
    name.into()
}

/// Reads an entry behind its length.
fn next(reader: &mut impl Read) -> Option<Vec<u8>> {
    let mut length = [0; 2];
    reader.read_exact(&mut length).ok()?;
    let mut bytes = vec![0; usize::from(Reader(&length).u16()?)];
    reader.read_exact(&mut bytes).ok()?;
    Some(bytes)
}
