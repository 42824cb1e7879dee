//! How far packets were accepted, on disk: after a crash nothing of it counts again, whatever the clock says.

use clew_packet::{SECOND_NS, Timestamp};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tracing::warn;

/// What is kept is so far ahead of what was accepted, in nanoseconds: it is written every second, and
/// timestamps are whole seconds.
const AHEAD: u64 = 2 * SECOND_NS;

/// A receiver whose clock is right accepts nothing that is further ahead of it, in nanoseconds: packets up to
/// 30 s ahead (`spec/packet-trailer.md` 6), and what is kept besides.
const AHEAD_MAX: u64 = 30 * SECOND_NS + AHEAD;

/// The latest timestamp that data planes before this one may have accepted, and this one.
#[derive(Debug)]
pub(super) struct Accepted {
    path: PathBuf,
    until: Option<Timestamp>,
    /// It cannot be written, and that was said.
    has_failed: bool,
}

impl Accepted {
    /// Reads what data planes before this one left.
    pub fn read(path: &Path) -> Self {
        let until = read(path).unwrap_or_else(|error| {
            warn!("{}: {error}: began anew", path.display());
            None
        });
        Self {
            path: path.to_owned(),
            until,
            has_failed: false,
        }
    }

    /// Returns the latest timestamp that may have been accepted.
    pub const fn until(&self) -> Option<Timestamp> {
        self.until
    }

    /// Leaves out what is further ahead than it can be: the clock was wrong when it was kept, or is wrong now.
    /// Nobody is locked out until a wrong clock's time. Returns how far ahead it was, if it was too far.
    pub fn limit(&mut self, now: Timestamp) -> Option<Duration> {
        let ahead = self.until?.since(now);
        let is_wrong = ahead > AHEAD_MAX;
        is_wrong.then(|| {
            self.keep(Some(now.after(AHEAD_MAX)));
            Duration::from_nanos(ahead)
        })
    }

    /// Keeps what will be accepted until the next call, if all goes well.
    pub fn see(&mut self, latest: Option<Timestamp>) {
        let ahead = latest.map(|latest| latest.after(AHEAD));
        if ahead > self.until {
            self.keep(ahead);
        }
    }

    /// Keeps what was accepted: nothing more will be.
    pub fn end(&mut self, latest: Option<Timestamp>) {
        if latest.is_some() && latest != self.until {
            self.keep(latest);
        }
    }

    /// Returns what is wrong and what helps while the file cannot be written.
    pub fn trouble(&self) -> Option<String> {
        let path = self.path.display();
        self.has_failed.then(|| {
            format!(
                "{path} cannot be written: after a crash replays may count; make room in its folder"
            )
        })
    }

    fn keep(&mut self, until: Option<Timestamp>) {
        self.until = until;
        let text = until.unwrap_or(Timestamp::NONE).0.to_string();
        let new = self.path.with_extension("new");
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &self.path));
        if let Err(error) = &written
            && !self.has_failed
        {
            let path = self.path.display();
            warn!("{path}: {error}: after a crash and a step of the clock, replays may count");
        }
        self.has_failed = written.is_err();
    }
}

fn read(path: &Path) -> io::Result<Option<Timestamp>> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(other) => Err(other),
        Ok(text) => match text.trim_end().parse() {
            Ok(nanos) => Ok(Some(Timestamp(nanos))),
            Err(_) => Err(ErrorKind::InvalidData.into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Option<Timestamp> {
        Some(Timestamp(seconds * SECOND_NS))
    }

    #[test]
    fn a_file_that_cannot_be_written_is_trouble_until_it_can() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing/accepted");
        let mut accepted = Accepted::read(&path);
        assert_eq!(accepted.trouble(), None);
        accepted.see(at(100));
        let said = accepted.trouble().unwrap();
        assert!(
            said.contains("missing/accepted cannot be written"),
            "{said}"
        );
        fs::create_dir(folder.path().join("missing")).unwrap();
        accepted.see(at(200));
        assert_eq!(accepted.trouble(), None);
    }

    #[test]
    fn it_is_ahead_of_what_is_accepted_and_exact_in_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accepted");
        let kept = || Accepted::read(&path).until();
        let mut accepted = Accepted::read(&path);
        assert_eq!(accepted.until(), None);
        accepted.see(None);
        assert_eq!(kept(), None, "nothing was accepted");
        accepted.see(at(100));
        assert_eq!(kept(), at(102));
        // The clock went back: what was accepted before still counts.
        accepted.see(at(50));
        assert_eq!(kept(), at(102));
        accepted.see(at(101));
        assert_eq!(kept(), at(103));
        accepted.end(at(101));
        assert_eq!(kept(), at(101));
        // A clock that was a day ahead locks nobody out for a day.
        let mut accepted = Accepted::read(&path);
        assert_eq!(accepted.limit(Timestamp(70 * SECOND_NS)), None);
        accepted.see(at(86_500));
        let mut accepted = Accepted::read(&path);
        let ahead = accepted.limit(Timestamp(100 * SECOND_NS));
        assert_eq!(ahead, Some(Duration::from_secs(86_402)));
        assert_eq!((accepted.until(), kept()), (at(132), at(132)));
        fs::write(&path, "no number").unwrap();
        assert_eq!(kept(), None);
    }
}
