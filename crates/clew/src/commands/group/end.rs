//! `clew group end`: the last epoch of a group.

use super::describe::end_lines;
use crate::cli::GroupEnd;
use crate::clock;
use crate::commands::log;
use crate::failure::{Failure, Status};
use crate::groups::{GROUP_FILE_BYTES_MAX, read_group_file};
use clew_evidence::{End, GroupFile, WallTime};
use clew_keys::IssuerKeyFile;
use clew_keys::files::{IfExists, MODE_PUBLIC, write_atomically};
use clew_log::entry::Body;
use clew_manager::Store;
use std::fs::File;
use std::io::Read;
use std::path::Path;

pub fn end(arguments: &GroupEnd) -> Result<Status, Failure> {
    let mut store = Store::open(&arguments.dir)?;
    let name = &store.group().genesis().name;
    if *name != arguments.confirm {
        let why = format!("--confirm {}: this group is {name}", arguments.confirm);
        return Err(Failure::new(why));
    }
    let end = wanted(arguments)?;
    let issuer = arguments.unlock.issuer(&store)?;
    let now = clock::now_ns();
    if let (Some(published), Some(output)) = (&arguments.published, &arguments.output) {
        let ended = match output.exists() {
            true => read_group_file(output)?, // this command was interrupted
            false => write_ended(&store, &issuer, published, (end, now), output)?,
        };
        if let Some(url) = &arguments.log_url {
            let body = end_entry(&ended, output)?;
            crate::tunnel::run(log::add_by_manager(store, issuer, url, body))?;
        }
        tell(&ended, output);
        return Ok(Status::Yes);
    }
    store.end(&issuer, end, now)?;
    tell(store.group(), &store.group_file_path());
    Ok(Status::Yes)
}

/// Ends the group of a file, and keeps that before the log has it: tried again, it is the same end.
fn write_ended(
    store: &Store,
    issuer: &IssuerKeyFile,
    published: &Path,
    (end, now): (End, u64),
    output: &Path,
) -> Result<GroupFile, Failure> {
    let theirs = read_bytes(published)?;
    let bytes = store.end_file(issuer, &theirs, end, now)?;
    let written = write_atomically(output, &bytes, MODE_PUBLIC, IfExists::Refuse);
    written.map_err(|error| Failure::io(output, &error))?;
    read_group_file(output)
}

/// What the log is told of the end.
fn end_entry(ended: &GroupFile, path: &Path) -> Result<Body, Failure> {
    let not = || Failure::file(path, "this group has not ended").hint("use another --output");
    ended.end().ok_or_else(not)?;
    let last = ended.epochs().last().ok_or_else(not)?;
    Ok(Body::Epoch {
        epoch: last.epoch,
        id: last.epoch_id().0,
        start: last.start,
    })
}

fn wanted(arguments: &GroupEnd) -> Result<End, Failure> {
    let stolen_since = match &arguments.stolen_since {
        Some(text) => {
            let since = clock::parse_time(text)?;
            if since > clock::now_ns() || since == 0 {
                return Err(Failure::new(format!(
                    "--stolen-since {text}: not in the past"
                )));
            }
            Some(WallTime::from_nanos(since))
        }
        None => None,
    };
    let successor = match &arguments.successor {
        Some(path) => read_group_file(path)?.epoch_id(0),
        None => None,
    };
    Ok(End {
        stolen_since,
        successor,
    })
}

fn tell(group: &GroupFile, file: &Path) {
    for line in end_lines(group) {
        say!("{line}");
    }
    say!(
        "Give everybody {}: it is the group's last file.",
        file.display()
    );
    say!(
        "Keep it, the register and the trustees' shares: packets of this group can still be opened."
    );
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(GROUP_FILE_BYTES_MAX).read_to_end(&mut bytes));
    read.map_err(|error| Failure::io(path, &error))?;
    Ok(bytes)
}
