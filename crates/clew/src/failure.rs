//! How a command ends: the answer as exit status, or a sentence for people.

use crate::clock;
use clew_manager::StoreError;
use std::fmt::Display;
use std::io;

/// The answer of a command, and the program's exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Yes, or done: 0.
    Yes,
    /// No: evidence or a signature is invalid. 1.
    No,
    /// Could not tell, or bad usage: 2.
    CouldNotTell,
}

impl Status {
    /// The exit status.
    pub fn code(self) -> u8 {
        match self {
            Self::Yes => 0,
            Self::No => 1,
            Self::CouldNotTell => 2,
        }
    }
}

/// Why a command could not do its work: what went wrong and where, and what to do.
#[derive(Debug)]
pub struct Failure {
    /// Lower case, no full stop; empty if there is nothing to say.
    pub message: String,
    /// What may help, if we know.
    pub hint: Option<String>,
    /// Nearly always [`Status::CouldNotTell`].
    pub status: Status,
}

impl Failure {
    /// A failure that leaves the question open.
    pub fn new(message: impl Display) -> Self {
        Self {
            message: message.to_string(),
            hint: None,
            status: Status::CouldNotTell,
        }
    }

    /// The same, with a hint.
    pub fn hint(self, hint: impl Display) -> Self {
        Self {
            hint: Some(hint.to_string()),
            ..self
        }
    }

    /// The same as a "no".
    pub fn no(self) -> Self {
        Self {
            status: Status::No,
            ..self
        }
    }

    /// The failure of a file, by its name.
    pub fn file(path: &std::path::Path, error: impl Display) -> Self {
        Self::new(format!("{}: {error}", path.display()))
    }

    /// The failure to write output. If its reader went away there is nothing to say.
    pub fn write(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(""),
            _ => Self::new(format!("cannot write: {error}")),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let failure = Self::new(&error);
        match hint(&error) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// What helps against a refusal of the store.
fn hint(error: &StoreError) -> Option<String> {
    let hint = match error {
        StoreError::ClockBehind { last } => {
            let last = clock::rfc3339(*last);
            return Some(format!(
                "the newest record was made at {last}: set the clock"
            ));
        }
        StoreError::NameTaken(name) => {
            return Some(format!("to replace it, first run: clew revoke DIR {name}"));
        }
        StoreError::StartInThePast => "leave out --at to start now",
        StoreError::StartFarAhead => "confirm it with --far",
        StoreError::RebaseIsDue => "revoke with --rebase",
        StoreError::TooManyAtOnce(_) => "revoke them in several epochs, or with --rebase",
        StoreError::NoInvitation => "give the directory of the group that sent the invitation",
        StoreError::PublishedIsNewer(_) => {
            "restore the newest store; or move that file away, and revoke again whoever was \
             revoked since the backup"
        }
        StoreError::AlreadyRevoked { .. } => {
            "if that epoch is only announced, begin it now: clew group rebase DIR"
        }
        StoreError::OtherRequest | StoreError::OfferExpired { .. } => {
            "invite the machine again: clew enrol DIR MACHINE --invite"
        }
        StoreError::RegisterMoved => "run the command again",
        StoreError::NotOffered => "answer the device's request first",
        _ => return None,
    };
    Some(hint.to_owned())
}

impl From<crate::output::OutputError> for Failure {
    fn from(error: crate::output::OutputError) -> Self {
        Self::new(error)
    }
}
