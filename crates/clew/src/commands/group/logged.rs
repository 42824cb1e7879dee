//! What a member checks in its group's log before it signs in a new epoch: `--log-witness`.

use super::remote::unanswered;
use crate::cli::LogWitnesses;
use crate::clock;
use crate::commands::log::{distinct, keep_evidence};
use crate::failure::Failure;
use clew_evidence::GroupFile;
use clew_keys::files::{IfExists, MODE_PUBLIC, write_atomically};
use clew_service::manager::{LogMemory, ManagerClient, NotAccepted};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The file beside a key that has the witnesses and the newest checkpoint.
#[derive(Debug)]
pub struct Logged {
    path: PathBuf,
    given: Option<LogMemory>,
}

/// Why a member does not sign in the newest epoch.
pub struct Refused {
    pub failure: Failure,
    /// Another time the answer may be another one.
    pub is_passing: bool,
}

impl Logged {
    /// What is kept beside this key, with what the arguments change.
    pub fn beside(key: &Path, arguments: &LogWitnesses) -> Result<Self, Failure> {
        let mut name = key.as_os_str().to_owned();
        name.push(".log");
        let named = &arguments.log_witness;
        let (witnesses, threshold) = distinct(named, arguments.log_threshold)?;
        if threshold == 0 && !named.is_empty() {
            return Err(Failure::new("--log-threshold 0: need at least 1"));
        }
        let given = (!named.is_empty()).then_some(LogMemory {
            witnesses,
            threshold,
            reads: arguments.log_read,
            last: None,
        });
        let path = name.into();
        Ok(Self { path, given })
    }

    /// The witnesses in force. `None` if none were ever given.
    fn seen(&self) -> Result<Option<LogMemory>, Failure> {
        let kept = match std::fs::read_to_string(&self.path) {
            Ok(text) => {
                let kept = text.parse::<LogMemory>();
                Some(kept.map_err(|error| {
                    Failure::file(&self.path, error).hint("remove it, and use --log-witness again")
                })?)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(Failure::io(&self.path, &error)),
        };
        Ok(match (self.given.clone(), kept) {
            (Some(given), Some(kept)) => Some(LogMemory {
                last: kept.last,
                ..given
            }),
            (given, kept) => given.or(kept),
        })
    }

    /// Checks that the log has the group's newest epoch, and keeps the checkpoint, synced. Without witnesses
    /// nothing is checked.
    pub async fn check(&self, client: &ManagerClient, group: &GroupFile) -> Result<(), Refused> {
        let lasting = |failure| Refused {
            failure,
            is_passing: false,
        };
        let Some(seen) = self.seen().map_err(lasting)? else {
            return Ok(());
        };
        let now = clock::now_ns() / 1_000_000_000;
        let seen = seen.check(client, group, now).await;
        let seen = seen.map_err(|error| self.refused(&error))?;
        let text = seen.to_string();
        let replace = IfExists::Replace;
        let written = write_atomically(&self.path, text.as_bytes(), MODE_PUBLIC, replace);
        written.map_err(|error| lasting(Failure::io(&self.path, &error)))
    }

    fn refused(&self, error: &NotAccepted) -> Refused {
        let is_passing = error.is_passing();
        let failure = match error {
            NotAccepted::Client(error) => {
                let failure = unanswered(error);
                let why = format!(
                    "{}: the newest epoch is not shown to be in the log",
                    failure.message
                );
                Failure::new(why).hint("run the command again; the key stays as it is")
            }
            NotAccepted::Answer(_) | NotAccepted::Proof { .. } => {
                Failure::new(error).hint("ask the log's operator which witnesses cosign")
            }
            NotAccepted::ClockBehind { cosigned, now } => {
                let (cosigned, now) = (at(*cosigned), at(*now));
                Failure::new(error).hint(format!(
                    "set the clock: here it is {now}, and the log was cosigned at {cosigned}"
                ))
            }
            NotAccepted::Frozen { newest: 0, .. } => Failure::new(error).no(),
            NotAccepted::Frozen { newest, now } => {
                let (newest, now) = (at(*newest), at(*now));
                let hint = format!(
                    "here it is {now}, and the newest cosignature is of {newest}: if the clock is right, \
                     ask the manager, and compare with another machine"
                );
                Failure::new(error).no().hint(hint)
            }
            NotAccepted::Fork { .. } | NotAccepted::OtherEpoch { .. } => self.evidence(error),
            _ => Failure::new(error).no(),
        };
        Refused {
            failure,
            is_passing,
        }
    }

    /// Keeps what proves it.
    fn evidence(&self, error: &NotAccepted) -> Failure {
        let mut name = self.path.as_os_str().to_owned();
        name.push(".evidence");
        let path = PathBuf::from(name);
        let text = error.evidence().join("\n");
        let failure = Failure::new(error);
        match keep_evidence(&path, text.as_bytes()) {
            Ok(path) => failure.hint(format!("show {} to the log's witnesses", path.display())),
            Err(error) => failure.hint(Failure::io(&path, &error).message),
        }
        .no()
    }
}

/// A time in seconds since 1970, for people.
fn at(seconds: u64) -> String {
    clock::to_the_second(seconds.saturating_mul(1_000_000_000))
}
