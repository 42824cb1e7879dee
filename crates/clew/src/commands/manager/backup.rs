//! `clew manager backup`, `restore`, `check`.

use crate::cli::{ManagerBackup, ManagerCheck, ManagerRestore};
use crate::clock;
use crate::exposure::warn_if_exposed;
use crate::failure::{Failure, Status};
use crate::random;
use crate::secrets::{cannot_write, check_named};
use clew_keys::files::{IfExists, MODE_SECRET, Pending};
use clew_keys::sealed_stream::SealedWriter;
use clew_manager::{Beside, ISSUER_KEY, LOG, SERVICE_TLS, Store};
use clew_service::log::LogBackup;
use std::io::{BufWriter, Write};

/// Bytes that are collected before they are written.
const BUFFER: usize = 1 << 20;

pub fn backup(arguments: &ManagerBackup) -> Result<Status, Failure> {
    let output = &arguments.out.output;
    check_named(output)?;
    let failed = |error| cannot_write(output, &error);
    let secret = arguments.seal.secret()?;
    let store = Store::open(&arguments.dir)?;
    let (file, pending) = Pending::create(output, MODE_SECRET, IfExists::Refuse).map_err(failed)?;
    let mut buffer = BufWriter::with_capacity(BUFFER, &file);
    let (keys, now) = (arguments.with_keys, clock::now_ns());
    let dir = arguments.dir.join(LOG);
    let mut log = dir.exists().then(|| LogBackup::new(&dir, keys));
    let mut beside = log.as_mut().map(|log| log as &mut dyn Beside);
    match &secret {
        None => drop(store.backup(&mut buffer, keys, now, beside)?),
        Some(secret) => {
            let mut sealed =
                SealedWriter::new(&mut buffer, secret, &mut random::os()).map_err(failed)?;
            store.backup(&mut sealed, keys, now, beside.take())?;
            sealed.finish().map_err(failed)?;
        }
    }
    buffer.flush().map_err(failed)?;
    drop(buffer);
    pending.commit(&file).map_err(failed)?;
    let group = store.group();
    say!(
        "backup of group {}: {}  ({} machines, epoch {})",
        group.genesis().name,
        output.display(),
        group.register().machines,
        group.newest_epoch()
    );
    if !keys {
        say!(
            "It does not have {} and {}: keep copies of both elsewhere.",
            store.issuer_key_path().display(),
            arguments.dir.join(SERVICE_TLS).display()
        );
    }
    if secret.is_none() {
        say!("It is not encrypted, and has {}.", bare(keys));
    }
    Ok(Status::Yes)
}

/// What a backup shows to everybody who reads it.
const fn bare(with_keys: bool) -> &'static str {
    match with_keys {
        true => "the issuer key, with which anybody can enrol, and the names of all machines",
        false => "the names of all machines",
    }
}

pub fn restore(arguments: &ManagerRestore) -> Result<Status, Failure> {
    let (from, dir) = (&arguments.backup, &arguments.dir);
    let published = arguments.published.as_ref().map(|path| {
        let read = std::fs::read(path);
        read.map_err(|error| Failure::io(path, &error))
    });
    let published = published.transpose()?;
    let mut file = arguments.unlock.stream(from)?;
    let database = arguments.database.as_deref();
    let backup = Store::restore(&mut *file, dir, database, published.as_deref())?;
    warn_if_exposed(from);
    let store = Store::open(dir)?;
    say!(
        "group {} restored: {}  (as of {})",
        store.group().genesis().name,
        dir.display(),
        clock::to_the_second(backup.made)
    );
    if !backup.has_keys {
        say!(
            "Next: copy the issuer key to {}, and the service's certificate to {}.",
            dir.join(ISSUER_KEY).display(),
            dir.join(SERVICE_TLS).display()
        );
        say!(
            "Without that certificate the service has another URL, which every device is to be told."
        );
    }
    Ok(Status::Yes)
}

pub fn check(arguments: &ManagerCheck) -> Result<Status, Failure> {
    let store = Store::open(&arguments.dir)?;
    let group = store.check()?;
    let has_key = !arguments.without_key && store.issuer_key_path().exists();
    if has_key {
        store.check_salts(&arguments.unlock.issuer(&store)?)?;
    }
    if !has_key {
        say!("Rows are not compared with the issuer key: their salts may be damaged.");
    }
    say!(
        "{}: whole: {} machines, epoch {}",
        arguments.dir.display(),
        group.register().machines,
        group.newest_epoch()
    );
    Ok(Status::Yes)
}
