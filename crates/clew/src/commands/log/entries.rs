//! `clew log add`, `anchor`, `result` and `unseal`: what authors write, each with its proof.

use super::{NO_LOG, distinct, is_elsewhere, seconds};
use crate::cli::{Authored, EntryTo, GroupsLog, LogAdd, LogAnchor, LogResult, LogUnseal};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::groups::read_group_file;
use crate::secrets::{self, Unlock};
use clew_capture::Reader;
use clew_evidence::GroupFile;
use clew_keys::files::MODE_PUBLIC;
use clew_keys::{AuthorKeyFile, TextFile};
use clew_log::Policy;
use clew_log::entry::{Body, Entry, Warrant};
use clew_log::tile::ENTRY_BYTES_MAX;
use clew_service::log::{LogClient, LogClientError};
use clew_wire::WallTime;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

pub async fn add(arguments: &LogAdd) -> Result<Status, Failure> {
    let path = &arguments.entry;
    let read = File::open(path).and_then(|file| {
        let mut bytes = Vec::new();
        file.take(ENTRY_BYTES_MAX as u64 + 1)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    let bytes = read.map_err(|error| Failure::io(path, &error))?;
    let entry = Entry::decode(&bytes).filter(Entry::is_signed);
    let entry = entry.ok_or_else(|| {
        Failure::file(path, "not a signed entry for a log")
            .hint("make one with clew warrant request or clew share --decide")
    })?;
    let group = read_group_file(&arguments.to.log.group)?;
    send(&arguments.to, &group, &entry).await
}

pub async fn anchor(arguments: &LogAnchor) -> Result<Status, Failure> {
    let body = anchored(&arguments.capture)?;
    write(&arguments.by, body).await
}

pub async fn result(arguments: &LogResult) -> Result<Status, Failure> {
    let path = &arguments.evidence;
    let mut hashing = Hashing::open(path).map_err(|error| Failure::io(path, &error))?;
    let evidence = hashing.rest().map_err(|error| Failure::io(path, &error))?;
    let place = arguments.place;
    write(&arguments.by, Body::Result { place, evidence }).await
}

pub async fn unseal(arguments: &LogUnseal) -> Result<Status, Failure> {
    let text = secrets::read_text(&arguments.warrant)?;
    let body = Body::Unsealed {
        place: arguments.place,
        warrant: Warrant {
            salt: arguments.salt.0,
            file: text.as_bytes().to_vec(),
        },
    };
    write(&arguments.by, body).await
}

/// Signs an entry, adds it, and writes its proof.
async fn write(by: &Authored, body: Body) -> Result<Status, Failure> {
    let group = read_group_file(&by.to.log.group)?;
    let key = author_key(&by.key, &by.unlock)?;
    let entry = Entry::sign(group.id().0, clock::wall_time(), body, &key.signing_key());
    let entry = entry.ok_or_else(|| Failure::new("the entry would be too long for a log"))?;
    send(&by.to, &group, &entry).await
}

/// Reads an author's key.
pub(super) fn author_key(path: &Path, unlock: &Unlock) -> Result<AuthorKeyFile, Failure> {
    let (text, _) = unlock.read(path)?;
    let key = AuthorKeyFile::decode(&text);
    key.map_err(|error| Failure::file(path, error))
}

async fn send(to: &EntryTo, group: &GroupFile, entry: &Entry) -> Result<Status, Failure> {
    let policy = policy_of(&to.log, group)?;
    let log = LogClient::new(&to.log.url).map_err(Failure::new)?;
    let proof = log.add_cosigned(entry, &policy, seconds()).await;
    let proof = proof.map_err(|error| refused(&error))?;
    let path = &to.out.output;
    secrets::write_same(path, &proof.to_string(), MODE_PUBLIC)?;
    say!("{}: entry {}", path.display(), proof.index);
    Ok(Status::Yes)
}

/// What a proof of the group's log has to have.
pub(super) fn policy_of(at: &GroupsLog, group: &GroupFile) -> Result<Policy, Failure> {
    let named = group.newest_log();
    let named = named.ok_or_else(|| Failure::file(&at.group, "the group has no log"))?;
    let (witnesses, threshold) = distinct(&at.witness, at.threshold)?;
    Ok(Policy {
        log: named.key().clone(),
        witnesses,
        threshold,
        max_age: None,
    })
}

pub(super) fn refused(error: &LogClientError) -> Failure {
    match error.rule() {
        _ if is_elsewhere(error) => Failure::new(error).hint(NO_LOG),
        Some("busy") => Failure::new(error).hint("run the command again: an entry is added once"),
        Some(rule) => Failure::new(format!("{error} ({rule})")).no(),
        None => Failure::new(error).hint("run the command again: an entry is added once"),
    }
}

/// What an anchor says of a capture: the bytes that are hashed are those that are read.
pub(super) fn anchored(path: &Path) -> Result<Body, Failure> {
    let failed = |error: &io::Error| Failure::io(path, error);
    let mut hashing = Hashing::open(path).map_err(|error| failed(&error))?;
    let mut reader = Reader::new(&mut hashing).map_err(|error| Failure::file(path, &error))?;
    let mut times: Option<(u64, u64)> = None;
    let mut packets = 0;
    for record in &mut reader {
        let record = record.map_err(|error| failed(&error))?;
        let Some(packet) = record.packet() else {
            continue;
        };
        packets += 1;
        if let Some(time) = packet.time_ns {
            let (first, last) = times.unwrap_or((time, time));
            times = Some((first.min(time), last.max(time)));
        }
    }
    if let Some(damage) = reader.damage() {
        return Err(Failure::file(path, damage).hint("anchor a capture that is whole"));
    }
    drop(reader);
    let (first, last) = times.ok_or_else(|| Failure::file(path, "no packet with a time"))?;
    Ok(Body::Anchor {
        segment: hashing.rest().map_err(|error| failed(&error))?,
        first: WallTime::from_nanos(first),
        last: WallTime::from_nanos(last),
        packets,
    })
}

/// A file whose bytes are hashed as they are read.
struct Hashing {
    file: File,
    hash: Sha256,
}

impl Hashing {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let hash = Sha256::new();
        Ok(Self { file, hash })
    }

    /// Reads what is left, and returns the SHA-256 of the whole file.
    fn rest(&mut self) -> io::Result<[u8; 32]> {
        io::copy(self, &mut io::sink())?;
        Ok(self.hash.clone().finalize().into())
    }
}

impl Read for Hashing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.hash.update(&buffer[..count]);
        Ok(count)
    }
}
