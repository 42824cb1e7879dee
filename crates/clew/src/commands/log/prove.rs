//! `clew log prove`: that an entry is in a log, or that a log only grew.

use super::audit::{is_no, log_key};
use super::{NO_LOG, is_elsewhere, policy, seconds};
use crate::cli::LogProve;
use crate::commands::shown::proof;
use crate::failure::{Failure, Status};
use crate::secrets;
use clew_keys::files::MODE_PUBLIC;
use clew_log::{AddCheckpoint, Checkpoint, Note, Policy};
use clew_service::log::{LogClient, LogClientError};
use std::path::Path;

pub async fn prove(arguments: &LogProve) -> Result<Status, Failure> {
    let policy = policy(&arguments.believed, log_key(&arguments.believed)?)?;
    let log = LogClient::new(&arguments.url).map_err(Failure::new)?;
    let path = &arguments.out.output;
    if let Some(since) = &arguments.since {
        return continued(&log, &policy, (since, arguments.to.as_deref()), path).await;
    }
    let place = arguments.place.unwrap_or_default();
    let proof = log.prove(place, &policy, seconds()).await;
    let proof = proof.map_err(refused)?;
    secrets::write_same(path, &proof.to_string(), MODE_PUBLIC)?;
    say!("{}: entry {}", path.display(), proof.index);
    Ok(Status::Yes)
}

/// Writes the proof that the log of a later checkpoint continues that of an earlier one.
async fn continued(
    log: &LogClient,
    policy: &Policy,
    (since, to): (&Path, Option<&Path>),
    path: &Path,
) -> Result<Status, Failure> {
    let old = stated(&proof(since)?.checkpoint, policy)?;
    let checkpoint = match to {
        Some(to) => proof(to)?.checkpoint,
        None => log.checkpoint().await.map_err(Failure::new)?,
    };
    let new = stated(&checkpoint, policy)?;
    if new.size < old.size {
        let why = format!(
            "the checkpoint has {} entries, fewer than the {} of {}",
            new.size,
            old.size,
            since.display()
        );
        return Err(Failure::new(why).no());
    }
    let both = ((old.size, old.root), (new.size, new.root));
    let continues = match old.size {
        0 => true,
        _ => log.continues(both.0, both.1).await.map_err(Failure::new)?,
    };
    let hashes = match old.size == new.size || old.size == 0 {
        true => Vec::new(),
        false => {
            let hashes = log.consistency(old.size, new.size).await;
            hashes.map_err(Failure::new)?
        }
    };
    if !continues {
        let why = format!(
            "the log shows two histories: its checkpoint of {} entries does not continue that of {}",
            new.size,
            since.display()
        );
        return Err(Failure::new(why).no());
    }
    let continued = AddCheckpoint {
        old_size: old.size,
        hashes,
        checkpoint,
    };
    secrets::write_same(path, &continued.to_string(), MODE_PUBLIC)?;
    let (old, new) = (old.size, new.size);
    say!("{}: {new} entries continue {old}", path.display());
    Ok(Status::Yes)
}

/// What a checkpoint states that the policy accepts.
fn stated(note: &Note, policy: &Policy) -> Result<Checkpoint, Failure> {
    let checked = policy.checkpoint(note, seconds());
    checked.map_err(|error| refused(LogClientError::from(error)))
}

fn refused(error: LogClientError) -> Failure {
    let failure = Failure::new(&error);
    match error {
        LogClientError::Proof(error) if is_no(error) => failure.no(),
        error if is_elsewhere(&error) => failure.hint(NO_LOG),
        _ => failure,
    }
}
