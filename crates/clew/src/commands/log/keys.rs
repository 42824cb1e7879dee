//! `clew log keygen`, `create`, `bind` and `create-witness`.

use super::founder;
use crate::cli::{LogBind, LogCreate, LogCreateWitness, LogKeygen};
use crate::failure::{Failure, Status};
use crate::groups::read_group_file;
use crate::{random, secrets};
use clew_evidence::{GroupFile, Name};
use clew_keys::encryption::Secret;
use clew_keys::files::MODE_PUBLIC;
use clew_keys::{AuthorKeyFile, LogKeyFile, TextFile};
use clew_log::KeyKind;
use clew_service::log::Log;
use clew_service::witness::WitnessStore;
use rand_core::Rng;
use std::path::Path;
use zeroize::Zeroizing;

pub fn keygen(arguments: &LogKeygen) -> Result<Status, Failure> {
    let key = AuthorKeyFile::new(seed(), arguments.name.clone());
    let sealed = arguments.seal.secret()?;
    let public = key.public().encode();
    secrets::write_key(&arguments.out.output, &key, sealed.as_ref())?;
    if let Some(path) = &arguments.public {
        secrets::write_same(path, &public, MODE_PUBLIC)?;
    }
    say!("{}", public.lines().last().unwrap_or_default());
    Ok(Status::Yes)
}

/// Generates the key of a log with that origin.
pub fn new_key(origin: &Name) -> Result<LogKeyFile, Failure> {
    log_key(KeyKind::Log, origin)
}

fn sealed(key: &LogKeyFile, secret: Option<&Secret>) -> Zeroizing<String> {
    secrets::sealed(&key.encode(), &key.comment(), secret)
}

/// Creates the log of the group with this group file, in a new directory.
pub fn create_for(
    dir: &Path,
    key: &LogKeyFile,
    secret: Option<&Secret>,
    group: &[u8],
) -> Result<(), Failure> {
    Log::create(dir, key, &sealed(key, secret))?;
    let read = GroupFile::from_bytes(group).map_err(Failure::new)?;
    Ok(Log::bind(dir, &founder(&read)?, group)?)
}

pub fn create(arguments: &LogCreate) -> Result<Status, Failure> {
    let key = new_key(&arguments.origin)?;
    let text = sealed(&key, arguments.seal.secret()?.as_ref());
    Log::create(&arguments.dir, &key, &text)?;
    say!("{}", key.public());
    Ok(Status::Yes)
}

pub fn bind(arguments: &LogBind) -> Result<Status, Failure> {
    let path = &arguments.group;
    let group = read_group_file(path)?;
    let bytes = std::fs::read(path).map_err(|error| Failure::io(path, &error))?;
    let key = Log::public_of(&arguments.dir)?;
    if !group.logs().any(|log| *log.key() == key) {
        let failure = Failure::file(path, "does not name this log's key");
        return Err(failure.hint(format!(
            "on the manager's host: clew group set-log DIR {key}"
        )));
    }
    Log::bind(&arguments.dir, &founder(&group)?, &bytes)?;
    say!(
        "{}: the log of {}",
        arguments.dir.display(),
        group.genesis().name
    );
    Ok(Status::Yes)
}

pub fn create_witness(arguments: &LogCreateWitness) -> Result<Status, Failure> {
    let key = log_key(KeyKind::Witness, &arguments.name)?;
    let text = sealed(&key, arguments.seal.secret()?.as_ref());
    WitnessStore::create(&arguments.dir, &key, &text)?;
    say!("{}", key.public());
    Ok(Status::Yes)
}

fn log_key(kind: KeyKind, name: &Name) -> Result<LogKeyFile, Failure> {
    let unfit = || {
        Failure::new(format!(
            "{name:?}: the name of a log or witness has no space and no +"
        ))
        .hint("use its address without https://, as log.example/acme")
    };
    LogKeyFile::new(kind, seed(), name).ok_or_else(unfit)
}

fn seed() -> Zeroizing<[u8; 32]> {
    let mut seed = Zeroizing::new([0; 32]);
    random::os().fill_bytes(seed.as_mut_slice());
    seed
}
