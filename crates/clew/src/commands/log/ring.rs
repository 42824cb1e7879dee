//! `clew log anchor-ring`: an observer's evidence files get into the log as they appear.
//!
//! The files are the truth: one without a proof beside it waits. So nothing is lost when this program or
//! the log is away, and an entry that is sent again has its place already.

use super::entries::{anchored, author_key, policy_of, refused};
use super::seconds;
use crate::cli::LogAnchorRing;
use crate::clock;
use crate::failure::{Failure, Status};
use crate::flow::relay::Until;
use crate::groups::read_group_file;
use clew_keys::AuthorKeyFile;
use clew_keys::files::{IfExists, MODE_PUBLIC, write_atomically};
use clew_log::entry::Entry;
use clew_service::log::LogClient;
use sd_notify::NotifyState;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How the names of evidence files end, and those of their proofs.
const CAPTURE: &str = ".pcapng";
const PROOF: &str = ".anchor";
/// How often the folder is looked at.
const LOOK: Duration = Duration::from_secs(5);
/// How long nothing is sent after the log did not answer, at most.
const PAUSE_MAX: Duration = Duration::from_secs(300);

pub async fn anchor(arguments: &LogAnchorRing) -> Result<Status, Failure> {
    let key = author_key(&arguments.key, &arguments.unlock)?;
    let log = LogClient::new(&arguments.log.url).map_err(Failure::new)?;
    let mut ring = Ring {
        arguments,
        key,
        log,
        useless: BTreeSet::new(),
        failing: false,
        pause: LOOK,
    };
    policy_of(&arguments.log, &read_group_file(&arguments.log.group)?)?;
    if arguments.once {
        ring.all().await?;
        return match ring.useless.len() {
            0 => Ok(Status::Yes),
            _ => Ok(Status::No),
        };
    }
    let _ = sd_notify::notify(&[NotifyState::Ready]);
    tokio::select! {
        () = ring.run() => {}
        () = crate::tunnel::over(Until::after(None)) => {}
    }
    Ok(Status::Yes)
}

struct Ring<'a> {
    arguments: &'a LogAnchorRing,
    key: AuthorKeyFile,
    log: LogClient,
    /// Files that cannot be anchored: said once. At most as many as the ring has.
    useless: BTreeSet<OsString>,
    failing: bool,
    pause: Duration,
}

impl Ring<'_> {
    async fn run(&mut self) {
        loop {
            match self.all().await {
                Ok(()) => {
                    if self.failing {
                        mention!("the log answers again");
                    }
                    (self.failing, self.pause) = (false, LOOK);
                }
                Err(failure) => {
                    if !self.failing {
                        mention!("clew: {}; files wait", failure.message);
                    }
                    self.failing = true;
                    self.pause = (self.pause * 2).min(PAUSE_MAX);
                }
            }
            tokio::time::sleep(self.pause).await;
        }
    }

    /// Anchors every file that has no proof, the oldest first.
    ///
    /// # Errors
    /// The folder or the group file cannot be read; the log does not answer, or refuses.
    async fn all(&mut self) -> Result<(), Failure> {
        let (folder, files) = self.files()?;
        self.useless.retain(|name| files.contains(name));
        for name in files {
            let path = folder.join(&name);
            let proof = with(&path, PROOF);
            if proof.exists() || self.useless.contains(&name) {
                continue;
            }
            self.one(name, &path, &proof).await?;
        }
        Ok(())
    }

    async fn one(&mut self, name: OsString, path: &Path, to: &Path) -> Result<(), Failure> {
        let of = path.to_owned();
        let body = tokio::task::spawn_blocking(move || anchored(&of)).await;
        let body = match body.map_err(Failure::new)? {
            Ok(body) => body,
            Err(_) if !path.exists() => return Ok(()), // the ring removed it
            Err(failure) => {
                mention!("clew: {}; it is not anchored", failure.message);
                self.useless.insert(name);
                return Ok(());
            }
        };
        // The file is read each time: the group may write into another log by now.
        let group = read_group_file(&self.arguments.log.group)?;
        let policy = policy_of(&self.arguments.log, &group)?;
        let (id, now) = (group.id().0, clock::wall_time());
        let entry = Entry::sign(id, now, body, &self.key.signing_key());
        let entry = entry.ok_or_else(|| Failure::new("the entry would be too long for a log"))?;
        let proof = self.log.add_cosigned(&entry, &policy, seconds()).await;
        let proof = proof.map_err(|error| refused(&error))?;
        let text = proof.to_string();
        let written = write_atomically(to, text.as_bytes(), MODE_PUBLIC, IfExists::Replace);
        written.map_err(|error| Failure::io(to, &error))?;
        say!("{}: entry {}", to.display(), proof.index);
        Ok(())
    }

    /// The evidence files by their numbers. Proofs of files that are gone are removed.
    fn files(&self) -> Result<(PathBuf, BTreeSet<OsString>), Failure> {
        let prefix = &self.arguments.prefix;
        let folder = clew_keys::files::directory(prefix).to_owned();
        let begin = prefix.file_name().and_then(|name| name.to_str());
        let begin = begin.ok_or_else(|| Failure::file(prefix, "need a prefix of file names"))?;
        let (mut files, mut proofs) = (BTreeSet::new(), Vec::new());
        let failed = |error| Failure::io(&folder, &error);
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let Some(text) = name.to_str() else {
                continue;
            };
            if is_evidence(text, begin) {
                files.insert(name);
            } else if let Some(of) = text.strip_suffix(PROOF).filter(|of| is_evidence(of, begin)) {
                proofs.push(OsString::from(of));
            }
        }
        for of in proofs.into_iter().filter(|of| !files.contains(of)) {
            let path = with(&folder.join(of), PROOF);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Failure::io(&path, &error));
                }
                _ => {}
            }
        }
        Ok((folder, files))
    }
}

/// Whether a name is that of a file of the ring: prefix, `-`, digits, `.pcapng`.
fn is_evidence(name: &str, begin: &str) -> bool {
    let number = name
        .strip_prefix(begin)
        .and_then(|rest| rest.strip_prefix('-'));
    let number = number.and_then(|rest| rest.strip_suffix(CAPTURE));
    number.is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn with(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}
