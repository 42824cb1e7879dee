//! How a command ends: the answer as exit status, or a sentence for people.

use crate::clock;
use crate::output::{OutputError, STANDARD_STREAM};
use clew_engine::{SignError, captures};
use clew_keys::files::directory;
use clew_manager::StoreError;
use clew_service::http::ClientError;
use std::fmt::Display;
use std::io;
use std::path::Path;

/// The first line of clew's binary files is at most so long.
const BINARY_HEADER: usize = 16;

const GROUPS_OWNER: &str = "run the command as the owner of the group's directory; others need \
                            only public/group.clew";

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
    /// No if something is not as it has to be, else could not tell if something is open, else yes.
    pub fn of(is_no: bool, is_open: bool) -> Self {
        match (is_no, is_open) {
            (true, _) => Self::No,
            (false, true) => Self::CouldNotTell,
            (false, false) => Self::Yes,
        }
    }

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
    /// Whether the same may work later, though nobody does anything: a service did not answer.
    pub may_pass: bool,
}

impl Failure {
    /// A failure that leaves the question open.
    pub fn new(message: impl Display) -> Self {
        Self {
            message: message.to_string(),
            hint: None,
            status: Status::CouldNotTell,
            may_pass: false,
        }
    }

    /// A service did not answer, or refused.
    pub fn unanswered(error: &ClientError) -> Self {
        Self {
            may_pass: error.may_pass(),
            ..Self::new(error)
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
    pub fn file(path: &Path, error: impl Display) -> Self {
        Self::new(format!("{}: {error}", path.display()))
    }

    /// What the system refused to do with a file: what that means, and what helps.
    pub fn io(path: &Path, error: &io::Error) -> Self {
        let folder = directory(path);
        let nearest = folder.ancestors().find(|folder| folder.exists());
        let nearest = nearest.unwrap_or(Path::new("."));
        let is_here = [Path::new("."), Path::new("")].contains(&nearest);
        let nearest = nearest.display();
        let (what, hint) = match error.kind() {
            io::ErrorKind::NotFound => {
                let what = match folder.exists() {
                    true => "file does not exist",
                    false => "folder does not exist",
                };
                if is_here {
                    return Self::file(path, what);
                }
                (what, format!("ls {nearest}"))
            }
            io::ErrorKind::IsADirectory => (
                "need a file, have a folder",
                format!("ls {}", path.display()),
            ),
            io::ErrorKind::PermissionDenied => {
                let hint = match path.is_file() {
                    true => format!("ls -l {}", path.display()),
                    false => format!("ls -ld {nearest}"),
                };
                ("permission denied", hint)
            }
            _ => return Self::file(path, error),
        };
        Self::file(path, what).hint(hint)
    }

    /// The failure of a binary file of clew that begins with these bytes.
    pub fn binary(path: &Path, bytes: &[u8], error: impl Display) -> Self {
        let head = &bytes[..bytes.len().min(BINARY_HEADER + 1)];
        if head.starts_with(b"clew-") && head.windows(2).any(|pair| pair == b"\r\n") {
            Self::file(path, "a text-mode transfer changed the line endings")
                .hint("copy it again in binary mode")
        } else {
            Self::file(path, error)
        }
    }

    /// The failure to write output. If its reader went away there is nothing to say.
    pub fn write(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(""),
            _ if error.get_ref().is_some_and(|e| e.is::<OutputError>()) => Self::new(error),
            _ => Self::new(format!("cannot write: {error}")),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        if let StoreError::Io { path, error } = &error {
            let failure = Self::io(path, error);
            return match error.kind() {
                io::ErrorKind::PermissionDenied => failure.hint(GROUPS_OWNER),
                _ => failure,
            };
        }
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
                "set the clock: it should be {last} or later. If it is right, and was ahead then: clew \
                 manager clock DIR --confirm"
            ));
        }
        StoreError::ClockAhead { last, now } => {
            let (last, now) = (clock::rfc3339(*last), clock::rfc3339(*now));
            return Some(format!(
                "it says {now}, and should say about {last}: set it, or confirm it with clew manager \
                 clock DIR --confirm"
            ));
        }
        StoreError::NameTaken(name) => {
            return Some(format!(
                "to replace it, or a key file lost in an interrupted enrol, run clew revoke DIR \
                 {name} and enrol it again"
            ));
        }
        StoreError::Exists(_) => "use a new directory",
        StoreError::Ended(_) => "clew group show DIR names its successor",
        StoreError::NotAStore(_) => "use the directory that clew group create made",
        StoreError::StartInThePast => "omit --at to start now",
        StoreError::StartFarAhead => "use --far to confirm",
        StoreError::RebaseIsDue => "use --rebase",
        StoreError::TooManyAtOnce(_) => "use --rebase, or revoke in several epochs",
        StoreError::NoInvitation => "use the directory of the group that sent the invitation",
        StoreError::NotInvited(_) => "clew group list DIR lists open invitations",
        StoreError::PublishedIsDamaged(_) => {
            "if this store is the newest, move that file away and repeat the command"
        }
        StoreError::NotPublished(_) => {
            "fix that, then run clew group show DIR to publish the change"
        }
        StoreError::PublishedIsNewer(_) => {
            "restore the newest store. If it is lost, and no other copy of it is in use, run clew \
             manager catch-up DIR, which takes over what that file has"
        }
        StoreError::AlreadyRevoked { .. } => "clew group list DIR tells when that epoch starts",
        StoreError::OtherRequest | StoreError::OfferExpired { .. } => {
            "run clew enrol DIR MACHINE --invite again, and join with a new --state"
        }
        StoreError::RegisterMoved | StoreError::AnsweredMeanwhile => "run the command again",
        StoreError::Busy(_) => "wait for the other command, then run this one again",
        StoreError::Served(_) => "stop that service first, and start it again afterwards",
        StoreError::OtherHistory(_) => {
            "use the newest group file, and the log that it names. If there is none, found a new group"
        }
        StoreError::RowsMissing { .. } => {
            "use --log-url with a copy of the group's log that has them. If there is none, found a new group"
        }
        StoreError::LogNeeded => "use --log-url",
        StoreError::NoFactoryOf(_) => "use the prefix that the batch was made with",
        StoreError::FactoryOver => "use --until with a later time",
        StoreError::AuthorAdmitted(_) | StoreError::NoAuthor(_) => {
            "clew manager authors DIR lists them"
        }
        StoreError::AuthorNameTaken(_) => "use --name with another name",
        StoreError::NotOffered => "answer the device's request first",
        _ => return stored(error).map(str::to_owned),
    };
    Some(hint.to_owned())
}

/// The same, if it is about the store as a whole or its database.
fn stored(error: &StoreError) -> Option<&'static str> {
    let hint = match error {
        StoreError::Halted(_) => {
            "stop the other manager. If this store is the right one, give the group a new log: clew \
             group set-log DIR"
        }
        StoreError::Damaged(_)
        | StoreError::DamagedRow(_)
        | StoreError::OtherDatabase(_)
        | StoreError::DamagedDatabase(_) => {
            "run clew manager check DIR, then clew manager restore with the newest backup"
        }
        StoreError::Backup(_) => "use another backup, or a disk with more room",
        StoreError::DatabaseUrl(_) | StoreError::OtherHost => {
            "use a URL such as postgres://USER@%2Frun%2Fpostgresql/clew, with the user who runs this command"
        }
        StoreError::Unreachable { .. } if error.is_refused_by_server() => {
            "the server runs and refuses: use a URL with a user and a database that it has. By its socket, the \
             user is usually the system's user who runs this command"
        }
        StoreError::Unreachable { .. } | StoreError::Lost(_) | StoreError::Silent(_) => {
            "start the database, then run the command again"
        }
        StoreError::Unanswered(_) => {
            "start the database, and look with clew group list DIR before you repeat the command"
        }
        StoreError::NoSync(_) => "set fsync = on in postgresql.conf and restart the server",
        StoreError::HasGroup(_) => "use an empty database, or a URL with another schema",
        StoreError::NoGroup(_) => {
            "if clew group create was interrupted, remove the directory and create the group again"
        }
        _ => return None,
    };
    Some(hint)
}

impl From<SignError> for Failure {
    fn from(error: SignError) -> Self {
        let failure = Self::new(&error);
        match error {
            SignError::NoEpoch(_) | SignError::Unfit(..) => {
                failure.hint("run clew update, or enrol the machine again")
            }
            SignError::NotABlock(_) => failure,
        }
    }
}

impl From<captures::Error> for Failure {
    fn from(error: captures::Error) -> Self {
        match error {
            captures::Error::Write(error) => Self::write(error),
            captures::Error::Sign(error) => error.into(),
            captures::Error::Oversize(..) => {
                Self::new(error).hint("increase --mtu, or use --oversize pass")
            }
            captures::Error::Read(_) => Self::new(error),
        }
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        match &error {
            OutputError::Io { path, error } if path != Path::new(STANDARD_STREAM) => {
                Self::io(path, error)
            }
            OutputError::Io { .. } => Self::new(error),
            OutputError::Exists(_) => Self::new(error).hint("use --force to replace it"),
            OutputError::IsInput(_) => Self::new(error).hint("use another output"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(failure: Failure) -> (String, String) {
        (failure.message, failure.hint.unwrap_or_default())
    }

    #[test]
    fn what_the_system_refused_has_words_and_a_hint() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let refused = |name: &str| {
            let read = std::fs::read(path(name)).unwrap_err();
            said(Failure::io(&path(name), &read))
        };
        let (message, hint) = refused("nothing");
        assert!(
            message.ends_with("/nothing: file does not exist"),
            "{message}"
        );
        assert_eq!(hint, format!("ls {}", dir.path().display()));
        let (message, hint) = refused("no/thing");
        assert!(
            message.ends_with("/no/thing: folder does not exist"),
            "{message}"
        );
        assert_eq!(hint, format!("ls {}", dir.path().display()));
        let missing = io::ErrorKind::NotFound.into();
        for here in ["no file", "-", "./no file", "no folder/file"] {
            assert_eq!(said(Failure::io(Path::new(here), &missing)).1, "", "{here}");
        }
        std::fs::create_dir(path("folder")).unwrap();
        let (message, hint) = refused("folder");
        assert!(
            message.ends_with("/folder: need a file, have a folder"),
            "{message}"
        );
        assert_eq!(hint, format!("ls {}", path("folder").display()));
    }

    #[test]
    fn what_no_command_mends_is_not_promised() {
        let hint = |error: StoreError| said(error.into()).1;
        let behind = hint(StoreError::ClockBehind { last: 0 });
        assert!(behind.contains("was ahead then"), "{behind}");
        // Whoever has the newer file refuses every other history.
        let newer = hint(StoreError::PublishedIsNewer("group.clew".into()));
        assert!(newer.contains("catch-up"), "{newer}");
        assert!(newer.contains("no other copy"), "{newer}");
        assert!(!newer.contains("rebase"), "{newer}");
    }

    #[test]
    fn what_the_groups_owner_keeps_needs_the_owner() {
        let error = StoreError::Io {
            path: "acme/issuer/store.db".into(),
            error: io::ErrorKind::PermissionDenied.into(),
        };
        let (message, hint) = said(error.into());
        assert_eq!(message, "acme/issuer/store.db: permission denied");
        assert_eq!(hint, GROUPS_OWNER);
    }

    #[test]
    fn a_text_mode_transfer_is_named() {
        let failure = |bytes: &[u8]| said(Failure::binary(Path::new("g"), bytes, "other")).0;
        for header in [
            "clew-group-file\r\n",
            "clew-register-1\r\n",
            "clew-witness-1\r\n",
        ] {
            let message = failure(&[header.as_bytes(), b"\0rest"].concat());
            assert_eq!(message, "g: a text-mode transfer changed the line endings");
        }
        for other in [&b"clew-group-file\n\0\r\n"[..], b"", b"\r\n"] {
            assert_eq!(failure(other), "g: other");
        }
    }
}
