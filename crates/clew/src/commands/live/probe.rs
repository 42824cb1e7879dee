//! Reads all files as the user who will run the data plane: root itself decrypts no key.

use super::{material, plane, readable};
use crate::clock;
use crate::failure::{Failure, Status};
use clew_live::config::Config;
use clew_live::identity::{Identity, Unready};
use nix::unistd::{User, geteuid};
use serde::{Deserialize, Serialize};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Longest complaint of a probe that is repeated, in bytes.
const COMPLAINT_MAX: usize = 2_000;

/// Who signs, and how far: all that root learns of a key.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Signer {
    pub machine: String,
    pub state: State,
}

/// Whether a key signs now.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum State {
    /// In this epoch.
    Signs(u32),
    /// It does not.
    Not {
        why: String,
        remedy: String,
        is_revoked: bool,
    },
}

impl Signer {
    fn of(identity: &Identity) -> Self {
        let state = match identity.at(clock::now()) {
            Ok(key) => State::Signs(key.number()),
            Err(trouble) => State::Not {
                why: trouble.to_string(),
                remedy: remedy(&trouble).to_owned(),
                is_revoked: matches!(trouble, Unready::Revoked { .. }),
            },
        };
        Self {
            machine: identity.machine().to_string(),
            state,
        }
    }
}

/// What helps if a key signs nothing.
fn remedy(trouble: &Unready) -> &'static str {
    match trouble {
        Unready::NotYet { .. } => "timedatectl",
        Unready::Behind { .. } => "clew update --key KEY --group GROUP",
        Unready::NoKey | Unready::Unfit { .. } | Unready::Revoked { .. } => {
            "get a new key with clew join or clew enrol"
        }
    }
}

/// Reads all files, in a process of that user if this one is root's.
pub(super) fn ask(path: &Path, config: &Config, user: &User) -> Result<Signer, Failure> {
    if !geteuid().is_root() {
        return read(config);
    }
    let failed = |error| Failure::new(format!("cannot start a process as {}: {error}", user.name));
    let output = Command::new("/proc/self/exe")
        .args(["up", "--stage", "probe"])
        .arg(path)
        .uid(user.uid.as_raw())
        .gid(user.gid.as_raw())
        .stdin(Stdio::null())
        .output()
        .map_err(failed)?;
    let said = String::from_utf8_lossy(&output.stderr[..output.stderr.len().min(COMPLAINT_MAX)]);
    if !output.status.success() {
        return Err(complaint(&said, output.status.code(), || {
            readable::advice(path, config, user)
        }));
    }
    // A key that others can read, for example.
    said.lines().for_each(|warning| mention!("{warning}"));
    serde_json::from_slice(&output.stdout)
        .map_err(|_| Failure::new(format!("the process of {} gave no answer", user.name)))
}

/// What the process said. If its user cannot read a file, there is a command that helps.
fn complaint(
    said: &str,
    code: Option<i32>,
    advice: impl Fn() -> Option<(String, String)>,
) -> Failure {
    let find = |prefix: &str| said.lines().find_map(|line| line.strip_prefix(prefix));
    let mut failures = said
        .lines()
        .filter(|line| !line.starts_with("clew: warning"));
    let line = failures.find_map(|line| line.strip_prefix("clew: "));
    let line = line.unwrap_or("the process that reads the files ended without a word");
    let failure = match (advice(), find("hint: ")) {
        (Some((user, hint)), _) => Failure::new(format!("as user {user}: {line}")).hint(hint),
        (None, Some(hint)) => Failure::new(line).hint(hint),
        (None, None) => Failure::new(line),
    };
    match code {
        Some(1) => failure.no(),
        _ => failure,
    }
}

fn read(config: &Config) -> Result<Signer, Failure> {
    let material = material::load(config, &plane::memory_of(config)?)?;
    Ok(Signer::of(&material.identity))
}

/// The process that reads: it says what it found in one line.
pub(super) fn answer(config: &Config) -> Result<Status, Failure> {
    let text = serde_json::to_string(&read(config)?);
    say!("{}", text.map_err(Failure::new)?);
    Ok(Status::Yes)
}
