//! Who is first: an administrator who confirms a set-up, or who supervises it when the time is over.

use super::{Lock, Place};
use crate::setup::SetupError;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// What became of a confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmed {
    /// The set-up stays up.
    Now,
    /// Nothing waits to be confirmed.
    Before,
    /// The set-up is being undone.
    TooLate,
    /// Not all is set up yet, or no data plane runs.
    TooEarly,
}

/// While this is held, nobody confirms any more.
#[derive(Debug)]
pub struct Refused(#[expect(dead_code, reason = "the lock goes with it")] Option<Lock>);

impl Place {
    /// Returns the file whose presence says that the set-up waits for an administrator to confirm it. It
    /// says until when, in seconds since this machine started.
    pub fn unconfirmed(&self) -> PathBuf {
        self.folder.join("unconfirmed")
    }

    /// Confirms the set-up, unless its undo has begun.
    ///
    /// # Errors
    /// The system's.
    pub fn confirm(&self) -> Result<Confirmed, SetupError> {
        let path = self.unconfirmed();
        let confirmed = match lock_unconfirmed(&path) {
            // A set-up without a data plane is undone for that. Before all is set up, whoever still reaches the host
            // does not know that it stays so.
            Ok(_) if self.processes()[1].is_none() || self.is_set_up_in_part() => {
                Ok(Confirmed::TooEarly)
            }
            Ok(_lock) => fs::remove_file(&path).map(|()| Confirmed::Now),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Confirmed::TooLate),
            Err(error) => Err(error),
        };
        match confirmed {
            // The undo removes what it undoes last.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(match self.is_set_up() {
                true => Confirmed::Before,
                false => Confirmed::TooLate,
            }),
            done => self.failed(&path, done),
        }
    }

    /// Refuses whoever confirms from now on, because the time is over. Returns `None` if somebody has confirmed, or
    /// is about to.
    pub fn refuse_confirmation(&self) -> Option<Refused> {
        match lock_unconfirmed(&self.unconfirmed()) {
            Ok(lock) => Some(Refused(Some(lock))),
            Err(error) => {
                let is_other = [ErrorKind::NotFound, ErrorKind::WouldBlock].contains(&error.kind());
                // Whoever waits for the undo gets it, even if nothing can be locked.
                (!is_other).then_some(Refused(None))
            }
        }
    }
}

/// Locks the file that waits to be removed. The process that has the lock decides what becomes of it.
fn lock_unconfirmed(path: &Path) -> io::Result<Lock> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let lock = Lock::of(file)?;
    // Whoever had it before may have removed the file.
    match lock.has_name()? {
        true => Ok(lock),
        false => Err(ErrorKind::NotFound.into()),
    }
}
