//! `/run/clew/NAME`: the undo of what was set up, the locks of who runs, the socket for `clew status`.

mod confirmation;
mod journal;
mod locks;
mod remove;
mod settings;

pub use confirmation::{Confirmed, Refused};
pub use locks::Lock;

use super::{Action, Force, Kept, Plan, SetupError, Step, privileges, programs};
use crate::config::plain;
use crate::files;
use journal::{Journal, whole_lines};
use nix::unistd::{Gid, Uid, chown, geteuid};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tracing::warn;

/// The folder of all daemons.
const RUN: &str = "/run/clew";

/// The file that a supervisor locks, in the folder of a daemon.
const LOCK: &str = "lock";

/// How long a data plane may take to end when its supervisor was killed.
const LEAVING: Duration = Duration::from_secs(3);

/// How long the undo of another daemon may take.
const OTHERS_UNDO: Duration = Duration::from_secs(10);

/// How long the removal of the folder may take, whatever is in it.
const REMOVAL: Duration = Duration::from_secs(5);

/// Longest file that is read, in bytes: many times what the most peers and prefixes need.
const FILE_MAX: u64 = 64 << 20;

/// The folder of what daemons remember when they are down.
const STATE: &str = "/var/lib/clew-live";

/// Where a daemon keeps what lasts until it goes down. Root owns it, so that nobody else says what
/// root undoes; in it is a folder of the data plane's user.
#[derive(Clone, Debug)]
pub struct Place {
    name: String,
    folder: PathBuf,
}

/// A place that is locked.
#[derive(Debug)]
pub struct Made {
    /// Held by whoever supervises.
    pub lock: Lock,
    /// What an earlier set-up left, which nobody undid.
    pub left: Option<Kept>,
}

impl Place {
    /// Returns the place of the daemon of this name.
    pub fn of(name: &str) -> Self {
        Self::within(Path::new(RUN), name)
    }

    fn within(folder: &Path, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            folder: folder.join(name),
        }
    }

    /// Returns the names of all places. A folder without a lock is no daemon's.
    pub fn names() -> Vec<String> {
        Self::names_in(Path::new(RUN))
    }

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let entries = entries.filter(|entry| entry.path().join(LOCK).is_file());
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// Returns the daemon's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the socket for `clew status`.
    pub fn control(&self) -> PathBuf {
        self.folder.join("daemon/control")
    }

    /// Returns the file with what one data plane leaves to the next.
    pub fn succession(&self) -> PathBuf {
        self.folder.join("daemon/succession")
    }

    /// Returns the file that says how new the group files were. It outlasts the daemon.
    pub fn known_groups(&self) -> PathBuf {
        self.state_folder().join("groups")
    }

    /// Returns the file that says in which seconds packets were accepted. It outlasts the daemon.
    pub fn accepted(&self) -> PathBuf {
        self.state_folder().join("accepted")
    }

    fn state_folder(&self) -> PathBuf {
        Path::new(STATE).join(&self.name)
    }

    /// Makes the folder for what outlasts the daemon.
    ///
    /// # Errors
    /// The system's.
    pub fn make_state(&self, user: Uid, group: Gid) -> Result<(), SetupError> {
        let folder = self.state_folder();
        self.make_folder(Path::new(STATE), 0o755)?;
        self.make_folder(&folder, 0o700)?;
        let owned = chown(&folder, Some(user), Some(group));
        self.failed(&folder, owned.map_err(io::Error::from))?;
        for path in [self.known_groups(), self.accepted()] {
            match privileges::give(&path, user, group) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                done => self.failed(&path, done)?,
            }
        }
        Ok(())
    }

    /// Returns the file that names the program to hand over to.
    pub fn successor(&self) -> PathBuf {
        self.folder.join("successor")
    }

    /// Returns the file that says what became of that: it is empty, or says why not.
    pub fn handed_over(&self) -> PathBuf {
        self.folder.join("handed-over")
    }

    /// Returns the file in which who supervises says why the data plane fails.
    pub fn failing(&self) -> PathBuf {
        self.folder.join("failing")
    }

    fn undo_file(&self) -> PathBuf {
        self.folder.join("undo")
    }

    fn supervisor_lock(&self) -> PathBuf {
        self.folder.join(LOCK)
    }

    fn daemon_lock(&self) -> PathBuf {
        self.folder.join("daemon.lock")
    }

    /// Returns whether something was set up, or tried.
    pub fn is_set_up(&self) -> bool {
        self.undo_file().exists()
    }

    /// Returns whether a part of a set-up is there, and nobody knows which, if nobody is at work on it now. What it
    /// looks like in force is kept last, and the undo forgets it first.
    pub fn is_set_up_in_part(&self) -> bool {
        self.is_set_up() && !self.force_file().exists()
    }

    /// Refuses a second daemon of this name. A data plane whose supervisor was killed has 3 s to end.
    ///
    /// # Errors
    /// One runs.
    pub fn refuse_second(&self) -> Result<(), SetupError> {
        self.refuse_running(&self.supervisor_lock())?;
        locks::wait_for_end(&self.daemon_lock(), LEAVING);
        self.refuse_running(&self.daemon_lock())
    }

    /// Makes the place, with its folder for the user, and locks it for the process that supervises.
    ///
    /// # Errors
    /// The name is taken by another process.
    pub fn make(&self, user: Uid, group: Gid) -> Result<Made, SetupError> {
        let daemon = self.folder.join("daemon");
        if let Some(parent) = self.folder.parent() {
            self.make_folder(parent, 0o755)?;
        }
        // Whoever looks while another process undoes finds what is gone a moment later.
        let _undone = self.undo_lock(OTHERS_UNDO);
        self.make_folder(&self.folder, 0o755)?;
        let lock = self.lock(&self.supervisor_lock())?;
        drop(self.lock_daemon()?);
        self.make_folder(&daemon, 0o700)?;
        // The user can lock the file, and not put another into its place.
        for path in [daemon, self.daemon_lock()] {
            let owned = chown(&path, Some(user), Some(group));
            self.failed(&path, owned.map_err(io::Error::from))?;
        }
        let left = self.is_set_up().then(|| self.kept());
        // A set-up that did not get as far as its description is like no other.
        let left = left.map(|kept| kept.unwrap_or_default());
        Ok(Made { lock, left })
    }

    /// Returns what was kept of the set-up. `None` if there is none.
    pub fn kept(&self) -> Option<Kept> {
        read_json(&self.kept_file())
    }

    /// Keeps what a later command has to know.
    ///
    /// # Errors
    /// The system's.
    pub fn keep(&self, kept: &Kept) -> Result<(), SetupError> {
        self.write_json(&self.kept_file(), kept)
    }

    /// Returns what the set-up looks like in force, if it is known.
    pub fn force(&self) -> Option<Force> {
        read_json(&self.force_file())
    }

    /// Keeps what the set-up looks like in force.
    ///
    /// # Errors
    /// The system's.
    pub fn keep_force(&self, force: &Force) -> Result<(), SetupError> {
        self.write_json(&self.force_file(), force)
    }

    fn write_json(&self, path: &Path, value: &impl Serialize) -> Result<(), SetupError> {
        let text = serde_json::to_string(value).map_err(io::Error::from);
        let written = text.and_then(|text| files::replace(path, text.as_bytes()));
        self.failed(path, written)
    }

    /// Returns what is not in force, as who supervises said last.
    pub fn trouble(&self) -> Option<String> {
        files::read(&self.trouble_file(), FILE_MAX).ok()
    }

    /// Says what is not in force.
    ///
    /// # Errors
    /// The system's.
    pub fn say_trouble(&self, trouble: Option<&str>) -> Result<(), SetupError> {
        let path = self.trouble_file();
        let done = match trouble {
            // The data plane reads it, and takes what it cannot read for no trouble.
            Some(trouble) => files::replace_with(&path, trouble.as_bytes(), 0o644, false),
            None => match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        };
        self.failed(&path, done)
    }

    fn force_file(&self) -> PathBuf {
        self.folder.join("force")
    }

    fn trouble_file(&self) -> PathBuf {
        self.folder.join("not-in-force")
    }

    fn kept_file(&self) -> PathBuf {
        self.folder.join("kept")
    }

    fn make_folder(&self, path: &Path, mode: u32) -> Result<(), SetupError> {
        let mut maker = DirBuilder::new();
        let made = maker.recursive(true).mode(mode).create(path);
        // The caller's umask is for files with secrets.
        self.failed(path, made.and_then(|()| permit(path, mode)))
    }

    fn failed<T>(&self, path: &Path, done: io::Result<T>) -> Result<T, SetupError> {
        done.map_err(|error| {
            let path = path.to_owned();
            SetupError::Io { path, error }
        })
    }

    /// Does steps, the undo of each written to the disk before.
    ///
    /// # Errors
    /// A step fails. Those before it stay done: see [`undo`](Self::undo).
    pub fn carry_out(&self, steps: &[Step]) -> Result<(), SetupError> {
        let path = self.undo_file();
        let mut journal = self.failed(&path, Journal::open(&path))?;
        for step in steps {
            if let Some(undo) = &step.undo {
                self.failed(&path, journal.add(undo))?;
            }
            programs::act(&step.action)?;
        }
        Ok(())
    }

    /// Undoes all steps, the last one first. Those that fail stay on the list, and those that this version
    /// cannot read: the set-up is one in part from then on.
    ///
    /// # Errors
    /// The first that failed.
    pub fn undo(&self) -> Result<(), SetupError> {
        let _lock = self.undo_lock(OTHERS_UNDO);
        self.undo_steps()
    }

    /// The same for a process that does not supervise, if nobody else does. `is_stuck`: somebody does, but was killed,
    /// and the system does not let it end.
    ///
    /// # Errors
    /// The first that failed; [`SetupError::Runs`] if another process has started meanwhile.
    pub fn undo_unless_supervised(&self, is_stuck: bool) -> Result<(), SetupError> {
        let _lock = self.undo_lock(OTHERS_UNDO);
        if !is_stuck {
            self.refuse_running(&self.supervisor_lock())?;
        }
        self.undo_steps()
    }

    fn undo_steps(&self) -> Result<(), SetupError> {
        let path = self.undo_file();
        let text = match files::read(&path, FILE_MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return self.remove(),
            Err(error) => return self.failed(&path, Err(error)),
        };
        // Nobody is to take what is left for all of it, and to make the rest again.
        self.forget_force();
        let others = self.written_by_others();
        let is_needed = |path: &Path| others.iter().any(|(other, _)| other == path);
        let mut left = Vec::new();
        let mut failure = None;
        for (number, line) in whole_lines(&text).rev() {
            let done = match serde_json::from_str(line) {
                // The last daemon that needs the setting puts it back.
                Ok(Action::Write { path, .. }) if is_needed(&path) => Ok(()),
                Ok(action) => programs::undo(&action),
                Err(_) => Err(SetupError::Journal {
                    path: path.clone(),
                    line: number,
                }),
            };
            if let Err(error) = done {
                failure.get_or_insert(error);
                left.push(line);
            }
        }
        let Some(failure) = failure else {
            return self.remove();
        };
        left.reverse();
        let left = left.join("\n") + "\n";
        let written = files::replace_with(&path, left.as_bytes(), 0o600, true);
        self.failed(&path, written)?;
        Err(failure)
    }

    fn forget_force(&self) {
        let path = self.force_file();
        let removed = fs::remove_file(&path);
        if let Err(error) = removed
            && error.kind() != ErrorKind::NotFound
        {
            // The undo goes on: all of it may work.
            warn!("{}: {}", path.display(), plain(&error));
        }
    }

    /// Removes the folder. All is undone: what the data plane's user made in its own folder does not change that.
    fn remove(&self) -> Result<(), SetupError> {
        self.remove_within(REMOVAL)
    }

    fn remove_within(&self, wait: Duration) -> Result<(), SetupError> {
        let removed = remove::remove_all(&self.folder, &self.undo_file(), Instant::now() + wait);
        match removed {
            Err(error) if self.is_set_up() => self.failed(&self.folder, Err(error)),
            Err(error) => {
                let (name, folder) = (&self.name, self.folder.display());
                let why = match error.kind() {
                    ErrorKind::TimedOut => {
                        format!("what is in it takes longer than {wait:?} to remove")
                    }
                    _ => plain(&error),
                };
                warn!(
                    "{folder}: {why}: it is left, and {name} is down all the same; look for processes of the data \
                     plane's user, then rm -r {folder}"
                );
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Returns what a plan does, for people.
    pub fn describe(plan: &Plan) -> Vec<String> {
        plan.steps()
            .flat_map(|step| step.action.commands())
            .collect()
    }
}

/// What a file says, if it is there and can be read.
fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_str(&files::read(path, FILE_MAX).ok()?).ok()
}

/// Gives a folder its mode. Only a file's owner may do that without a capability more (CAP_FOWNER).
fn permit(path: &Path, mode: u32) -> io::Result<()> {
    let found = fs::metadata(path)?;
    if found.permissions().mode() & 0o7777 == mode {
        return Ok(());
    }
    if found.uid() != geteuid().as_raw() {
        chown(path, Some(geteuid()), None)?;
    }
    fs::set_permissions(path, Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests;
