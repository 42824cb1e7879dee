//! `clew log`: a group's transparency log.

mod audit;
mod entries;
mod keys;
mod manager;
mod prove;
mod ring;
mod serve;

pub use audit::{keep_evidence, smallest_quorum};
pub use keys::{create_for, new_key};
pub use manager::add_by_manager;
pub use serve::Started;

use crate::cli::{Believed, Log};
use crate::clock;
use crate::failure::{Failure, Status};
use clew_evidence::GroupFile;
use clew_log::{Founder, Policy, VerifierKey};
use clew_service::StorageError;
use clew_service::http::{ClientError, UNKNOWN_REFUSAL};
use clew_service::log::LogClientError;

pub fn run(command: Log) -> Result<Status, Failure> {
    match command {
        Log::Keygen(arguments) => keys::keygen(&arguments),
        Log::Create(arguments) => keys::create(&arguments),
        Log::Bind(arguments) => keys::bind(&arguments),
        Log::CreateWitness(arguments) => keys::create_witness(&arguments),
        Log::Serve(arguments) => crate::tunnel::run(serve::log(&arguments)),
        Log::Witness(arguments) => crate::tunnel::run(serve::witness(&arguments)),
        Log::Publish(arguments) => crate::tunnel::run_or_stop(manager::publish(&arguments)),
        Log::Add(arguments) => crate::tunnel::run_or_stop(entries::add(&arguments)),
        Log::Anchor(arguments) => crate::tunnel::run_or_stop(entries::anchor(&arguments)),
        Log::AnchorRing(arguments) => crate::tunnel::run(ring::anchor(&arguments)),
        Log::Result(arguments) => crate::tunnel::run_or_stop(entries::result(&arguments)),
        Log::Unseal(arguments) => crate::tunnel::run_or_stop(entries::unseal(&arguments)),
        Log::Verify(arguments) => crate::tunnel::run_or_stop(audit::verify(&arguments)),
        Log::Count(arguments) => crate::tunnel::run_or_stop(audit::count(&arguments)),
        Log::Prove(arguments) => crate::tunnel::run_or_stop(prove::prove(&arguments)),
    }
}

/// Whose log a group's is.
pub fn founder(group: &GroupFile) -> Result<Founder, Failure> {
    let id = group.epoch_id(0);
    let id = id.ok_or_else(|| Failure::new("the group file has no record 0"))?;
    Ok(Founder {
        record: id.0,
        manager: group.genesis().manager,
    })
}

/// What to do if no log answers at a URL.
const NO_LOG: &str = "this URL is not a log's. A log that clew manager serve has is at the manager's URL with \
                      log/ before the #, and serve prints it";

/// Whether another server than a log answered.
fn is_elsewhere(error: &LogClientError) -> bool {
    matches!(
        error,
        LogClientError::Http(ClientError::Refused { problem, .. })
            if problem.status == 404 && [UNKNOWN_REFUSAL, "path"].contains(&&*problem.title)
    )
}

/// Now, in seconds since 1970.
fn seconds() -> u64 {
    clock::now_ns() / 1_000_000_000
}

/// A majority.
const fn most_of(count: usize) -> usize {
    match count {
        0 => 0,
        count => count / 2 + 1,
    }
}

/// The witnesses, each once, and how many of them have to cosign.
pub fn distinct(
    witnesses: &[VerifierKey],
    threshold: Option<usize>,
) -> Result<(Vec<VerifierKey>, usize), Failure> {
    let mut witnesses = witnesses.to_vec();
    // One key is one witness, whatever its names.
    witnesses.sort_by_key(|key| *key.key().as_bytes());
    witnesses.dedup_by_key(|key| *key.key().as_bytes());
    let threshold = threshold.unwrap_or(most_of(witnesses.len()));
    match threshold <= witnesses.len() {
        true => Ok((witnesses, threshold)),
        false => {
            let why = format!("need {threshold} witnesses, have {}", witnesses.len());
            Err(Failure::new(why).hint("name more witnesses, or lower the threshold"))
        }
    }
}

/// The policy that the arguments state, for a log with this key.
pub fn policy(believed: &Believed, log: VerifierKey) -> Result<Policy, Failure> {
    let (witnesses, threshold) = distinct(&believed.witness, believed.threshold)?;
    Ok(Policy {
        log,
        witnesses,
        threshold,
        max_age: None,
    })
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Self {
        stored(error)
    }
}

fn stored(error: StorageError) -> Failure {
    let failure = Failure::new(&error);
    match &error {
        StorageError::InUse(_) => failure.hint("stop the other process first"),
        StorageError::NoGroup(dir) => {
            failure.hint(format!("clew log bind {} --group GROUPFILE", dir.display()))
        }
        StorageError::Exists(_) => failure.hint("use a new directory"),
        StorageError::Io { error, .. } if error.kind() == std::io::ErrorKind::NotFound => {
            failure.hint("use the directory that clew log create or create-witness made")
        }
        StorageError::Damaged { .. } => {
            failure.hint("restore a copy: the log's witnesses tell whether it is the newest one")
        }
        _ => failure,
    }
}
