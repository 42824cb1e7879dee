//! Reads all files as the user who will run the data plane: root itself decrypts no key.

use super::lines::{bounded, decode};
use super::{material, plane, readable};
use crate::clock;
use crate::failure::{Failure, Status};
use clew_live::config::Config;
use clew_live::identity::{Identity, Unready};
use clew_live::setup::privileges::{end_with_parent, without_terminal};
use clew_live::visible::visible;
use nix::unistd::{User, geteuid};
use serde::{Deserialize, Serialize};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::{io, thread};

/// Longest complaint of a probe that is repeated, in bytes.
const COMPLAINT_MAX: u64 = 2_000;

/// Longest answer of a probe, in bytes.
const ANSWER_MAX: u64 = 64 << 10;

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
        return read(path, config);
    }
    let failed = |error| Failure::new(format!("cannot start a process as {}: {error}", user.name));
    let mut command = Command::new("/proc/self/exe");
    command
        .args(["up", "--stage", "probe"])
        .arg(path)
        .uid(user.uid.as_raw())
        .gid(user.gid.as_raw());
    let output = output(&mut command).map_err(failed)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<String> = said.lines().map(visible).collect();
    if !output.status.success() {
        return Err(complaint(&said, output.status.code(), || {
            readable::advice(path, config, user)
        }));
    }
    // A key that others can read, for example.
    said.iter().for_each(|warning| mention!("{warning}"));
    decode(&output.stdout)
        .map_err(|_| Failure::new(format!("the process of {} gave no answer", user.name)))
}

/// Runs a program far from this one's terminal, and takes of what it says as much as it may say.
fn output(command: &mut Command) -> io::Result<Output> {
    without_terminal(command);
    let command = command.stdin(Stdio::null());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let reader = thread::Builder::new();
    let reader = reader.spawn(move || err.map(|err| bounded(err, COMPLAINT_MAX)))?;
    let stdout = out.map(|out| bounded(out, ANSWER_MAX));
    let stderr = reader.join().ok().flatten();
    Ok(Output {
        status: child.wait()?,
        stdout: stdout.unwrap_or_default(),
        stderr: stderr.unwrap_or_default(),
    })
}

/// What the process said. If its user cannot read a file, there is a command that helps.
fn complaint(
    said: &[String],
    code: Option<i32>,
    advice: impl Fn() -> Option<(String, String)>,
) -> Failure {
    let find = |prefix: &str| said.iter().find_map(|line| line.strip_prefix(prefix));
    let mut failures = said
        .iter()
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

fn read(path: &Path, config: &Config) -> Result<Signer, Failure> {
    material::files(config).try_for_each(|file| refuse_missing(path, file))?;
    let material = material::load(config, &plane::memory_of(config)?)?;
    material::warn_if_exposed(config);
    Ok(Signer::of(&material.identity))
}

/// Refuses a file that does not exist, with the line of the configuration that names it.
fn refuse_missing(path: &Path, file: &Path) -> Result<(), Failure> {
    let Err(error) = file.metadata() else {
        return Ok(());
    };
    if error.kind() != io::ErrorKind::NotFound {
        return Ok(());
    }
    let failure = Failure::io(file, &error);
    let place = match line_of(path, file) {
        Some(line) => format!("{}:{line}: ", path.display()),
        None => String::new(),
    };
    Err(Failure::new(format!("{place}{}", failure.message))
        .hint("copy the file there, or correct its name in the configuration"))
}

/// The first line of a configuration that has the name of a file in quotes.
fn line_of(path: &Path, file: &Path) -> Option<usize> {
    let text = std::fs::read_to_string(path).ok()?;
    let name = file.file_name()?.to_str()?;
    let mut lines = text.lines();
    let names = |line: &str| {
        line.split(['"', '\''])
            .any(|word| Path::new(word).ends_with(name))
    };
    Some(lines.position(names)? + 1)
}

/// The process that reads: it says what it found in one line.
pub(super) fn answer(path: &Path, config: &Config) -> Result<Status, Failure> {
    // Nobody waits for the answer then.
    end_with_parent()?;
    let text = serde_json::to_string(&read(path, config)?);
    say!("{}", text.map_err(Failure::new)?);
    Ok(Status::Yes)
}
