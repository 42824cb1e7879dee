//! Directories and name servers: records of other hosts (`spec/tunnel.md` section 12).

use super::keys::{self, PublicKey, parse_key};
use super::names::Names;
use super::records::{self, Trust};
use crate::failure::Failure;
use clew_tunnel::Reason;
use clew_tunnel::record::{Cert, Record, check_hostname};
use clew_tunnel_udp::{Answer, Registry};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};
use tracing::warn;

/// How files of records are called.
const EXTENSION: &str = "record";

/// Records that are kept; more are refused (`busy`).
const HOSTS_MAX: usize = 100_000;

/// Records that wait to be written; more are refused (`busy`).
const WRITES_MAX: usize = 1_024;

/// How often a folder is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// A host and the key that it may register with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Its name.
    pub host: String,
    /// Its signing key.
    pub key: PublicKey,
}

/// Reads `NAME=KEY`.
///
/// # Errors
/// What to write, for a command line.
pub fn parse_pin(text: &str) -> Result<Pin, String> {
    let (host, key) = text.split_once('=').ok_or("use the form NAME=KEY")?;
    check_hostname(host.as_bytes()).map_err(|_| format!("{host}: not a valid host name"))?;
    Ok(Pin {
        host: host.to_owned(),
        key: parse_key(key)?,
    })
}

/// Records by their hosts.
#[derive(Clone, Debug, Default)]
struct Table(Arc<Mutex<HashMap<String, Record>>>);

impl Table {
    fn with<T>(&self, see: impl FnOnce(&mut HashMap<String, Record>) -> T) -> T {
        see(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn find(&self, signing: Option<[u8; 32]>, hostname: &str) -> Result<Record, Reason> {
        let found = self.with(|records| records.get(hostname).cloned());
        let is_asked = |record: &Record| signing.is_none_or(|key| key == record.cert.body.signing);
        found.filter(is_asked).ok_or(Reason::UnknownHost)
    }
}

/// A directory: the records in a folder, as they change, and those that name servers have. It vouches for
/// none of them.
#[derive(Default)]
pub struct Directory {
    table: Table,
    names: Option<Names>,
}

impl Directory {
    /// The same, which asks name servers for what it does not have.
    #[must_use]
    pub fn asking(self, names: Names) -> Self {
        Self {
            names: Some(names),
            ..self
        }
    }

    /// The records of this folder, looked at by a thread of its own.
    ///
    /// # Errors
    /// The folder's.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        let table = Table::default();
        let mut look = Look::new(folder);
        look.look(&table).map_err(|e| Failure::io(folder, &e))?;
        let directory = Self {
            table: table.clone(),
            names: None,
        };
        let folder = folder.to_owned();
        thread::spawn(move || {
            let mut was_there = true;
            loop {
                thread::sleep(LOOK);
                let looked = look.look(&table);
                if let Err(error) = &looked
                    && was_there
                {
                    warn!(folder = %folder.display(), %error, "cannot read the records");
                }
                was_there = looked.is_ok();
            }
        });
        Ok(directory)
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.table.with(|records| records.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Registry for Directory {
    fn find(&mut self, signing: Option<[u8; 32]>, hostname: &str, answer: Answer) {
        match (self.table.find(signing, hostname), &self.names) {
            (Err(Reason::UnknownHost), Some(names)) => names.find(signing, hostname, answer),
            (found, _) => answer.give(found),
        }
    }

    fn take(&mut self, _: Record) -> Result<(), Reason> {
        Err(Reason::NotAllowed)
    }
}

/// Files that were read, with their times.
struct Look {
    folder: PathBuf,
    seen: HashMap<PathBuf, (Option<SystemTime>, Option<String>)>,
}

impl Look {
    fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            seen: HashMap::new(),
        }
    }

    /// Reads what changed, and forgets what is gone.
    fn look(&mut self, table: &Table) -> io::Result<()> {
        let mut seen = HashMap::new();
        for entry in std::fs::read_dir(&self.folder)?.take(HOSTS_MAX) {
            let path = entry?.path();
            if path
                .extension()
                .is_none_or(|extension| extension != EXTENSION)
            {
                continue;
            }
            let time = path
                .metadata()
                .and_then(|metadata| metadata.modified())
                .ok();
            let known = self.seen.remove(&path).filter(|(then, _)| *then == time);
            let file = known.unwrap_or_else(|| (time, take(&path, table)));
            seen.insert(path, file);
        }
        let gone = self.seen.drain().filter_map(|(_, (_, host))| host);
        let gone: Vec<String> = gone.collect();
        let is_here = |host: &String| seen.values().any(|(_, other)| other.as_ref() == Some(host));
        let gone = gone.into_iter().filter(|host| !is_here(host));
        let gone: Vec<String> = gone.collect();
        table.with(|records| {
            for host in gone {
                records.remove(&host);
            }
        });
        self.seen = seen;
        Ok(())
    }
}

/// Reads a file of a folder: the host whose record it is.
fn take(path: &Path, table: &Table) -> Option<String> {
    match records::read_file(path) {
        Err(error) => {
            warn!(file = %path.display(), %error, "not a record");
            None
        }
        Ok(record) => {
            let host = keys::host(&record.cert);
            table.with(|records| records.insert(host.clone(), record));
            Some(host)
        }
    }
}

/// A name server: it takes records by its policy of trust, and keeps them in a folder.
pub struct NameServer {
    table: Table,
    policy: Policy,
    folder: PathBuf,
    writes: SyncSender<(PathBuf, Record)>,
}

/// Who may register which host.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Issuers, for every host that they sign for.
    pub issuers: Vec<PublicKey>,
    /// Single hosts.
    pub pins: Vec<Pin>,
}

impl Policy {
    fn trusts(&self, cert: &Cert) -> bool {
        let host = keys::host(cert);
        let pinned = self.pins.iter().filter(|pin| pin.host == host);
        let mut pins = pinned.map(|pin| Trust::Pin(pin.key)).peekable();
        // A pinned host registers with its own key, whatever issuers sign.
        if pins.peek().is_some() {
            return pins.any(|pin| pin.trusts(cert));
        }
        let mut issuers = self.issuers.iter().map(|key| Trust::Issuer(*key));
        issuers.any(|issuer| issuer.trusts(cert))
    }
}

impl NameServer {
    /// A name server that has the records of this folder, and writes others there by a thread of its own.
    ///
    /// # Errors
    /// The folder's.
    pub fn open(folder: &Path, policy: Policy) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder).map_err(|e| Failure::io(folder, &e))?;
        let table = Table::default();
        let looked = Look::new(folder).look(&table);
        looked.map_err(|e| Failure::io(folder, &e))?;
        // What was taken by another policy is not given any more.
        table.with(|records| records.retain(|_, record| policy.trusts(&record.cert)));
        let (writes, written) = sync_channel::<(PathBuf, Record)>(WRITES_MAX);
        thread::spawn(move || {
            for (path, record) in written {
                if let Err(error) = records::write(&path, &record) {
                    warn!(file = %path.display(), %error, "cannot write the record");
                }
            }
        });
        Ok(Self {
            table,
            policy,
            folder: folder.to_owned(),
            writes,
        })
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.table.with(|records| records.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Registry for NameServer {
    fn find(&mut self, signing: Option<[u8; 32]>, hostname: &str, answer: Answer) {
        answer.give(self.table.find(signing, hostname));
    }

    fn take(&mut self, record: Record) -> Result<(), Reason> {
        records::verify(&record, None, |cert| self.policy.trusts(cert))?;
        let host = keys::host(&record.cert);
        let Self {
            folder,
            writes,
            table,
            ..
        } = self;
        table.with(|records| {
            let room = records.len() < HOSTS_MAX;
            match records.get(&host) {
                Some(held) if *held == record => return Ok(()),
                Some(held) => is_newer(&record, held)?,
                None if room => {}
                None => return Err(Reason::Busy),
            }
            // A hostname has letters, digits, hyphens and single dots: it is the name of a file.
            let path = folder.join(format!("{host}.{EXTENSION}"));
            let write = writes.try_send((path, record.clone()));
            write.map_err(|_| Reason::Busy)?;
            records.insert(host, record);
            Ok(())
        })
    }
}

/// Of the same S its ephemeral certificate is newer; of another S, that the policy trusts too, it starts later.
fn is_newer(record: &Record, held: &Record) -> Result<(), Reason> {
    let newer = record.ecert.body.start > held.ecert.body.start;
    newer.then_some(()).ok_or(Reason::NotNewer)
}
