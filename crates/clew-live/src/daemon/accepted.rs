//! In which seconds packets of each group were accepted, on disk: after a crash no packet of these
//! counts again, whatever the clock says, and those of other seconds and groups do.
//!
//! No packet is delivered before the file has its second. So that this rarely has to wait for a disk, the file
//! is ahead: every second it takes in what senders are expected to sign next.

use super::shared::{Shared, lock};
use crate::files;
use crate::receiver::Inbound;
use clew_packet::{AcceptedSeconds, GroupTag, Interval, KeySource, SECOND_NS, Timestamp};
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use tracing::warn;

/// The format of the file.
const VERSION: u32 = 2;

/// What is kept is so far ahead of what was accepted, in seconds: it is written every second.
const AHEAD: u64 = 2;

/// Version 1 is a timestamp up to which packets of all groups may have been accepted. A receiver whose clock is
/// right accepts nothing that is further ahead of it, in seconds: 30 s, and what was kept besides.
const OLD_AHEAD_MAX: u64 = 32;

/// Longest file, in bytes: as many intervals and groups as there can be.
const FILE_MAX: u64 = 8 << 20;

/// How far ahead timestamps are accepted, in seconds.
const WINDOW: u64 = 30;

/// So many seconds ahead are kept while all clocks are right, and a little more.
const USUAL_AHEAD: usize = 3;

/// The file, as JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    version: u32,
    /// Seconds of every group: the first one and the last one of each interval.
    all: Vec<Interval>,
    /// Groups, and their seconds.
    groups: Vec<([u8; 8], Vec<Interval>)>,
}

/// What data planes before this one may have accepted, and this one.
#[derive(Debug)]
pub(super) struct Accepted {
    path: PathBuf,
    before: AcceptedSeconds,
    /// What the file has, as far as this process could write it.
    kept: AcceptedSeconds,
    /// What this process had accepted a second ago.
    earlier: AcceptedSeconds,
    /// It cannot be written, and that was said.
    has_failed: bool,
}

impl Accepted {
    /// Reads what data planes before this one left.
    pub fn read(path: &Path, now: Timestamp) -> Self {
        let before = read(path, now).unwrap_or_else(|error| {
            warn!("{}: {error}: began anew", path.display());
            AcceptedSeconds::default()
        });
        Self {
            path: path.to_owned(),
            kept: before.clone(),
            before,
            earlier: AcceptedSeconds::default(),
            has_failed: false,
        }
    }

    /// Returns what data planes before this one may have accepted.
    pub const fn before(&self) -> &AcceptedSeconds {
        &self.before
    }

    /// Keeps what was accepted. When this returns, it may be delivered.
    pub fn see(&mut self, accepted: &AcceptedSeconds, now: Timestamp) {
        if !self.kept.covers(accepted) {
            let mut kept = self.kept.clone();
            kept.insert_all(accepted, now);
            self.keep(kept);
        }
    }

    /// Keeps what was accepted, and what is expected to be until the next call. What was expected before and
    /// did not come is no longer kept.
    pub fn tick(&mut self, accepted: &AcceptedSeconds, now: Timestamp) {
        let mut kept = self.with_before(accepted, now);
        for (group, (_, last)) in ends(accepted) {
            let at = |second: u64| Timestamp(second.saturating_mul(SECOND_NS));
            let was_there = group.is_some_and(|group| self.earlier.has(group, at(last)));
            if !was_there {
                kept.insert_interval(group, (last, last.saturating_add(AHEAD)), now);
            }
        }
        if self.earlier != *accepted {
            self.earlier = accepted.clone();
        }
        self.keep_other(kept);
    }

    /// Keeps what was accepted: nothing more will be.
    pub fn end(&mut self, accepted: &AcceptedSeconds, now: Timestamp) {
        let kept = self.with_before(accepted, now);
        self.keep_other(kept);
    }

    fn with_before(&self, accepted: &AcceptedSeconds, now: Timestamp) -> AcceptedSeconds {
        let mut all = self.before.clone();
        all.insert_all(accepted, now);
        all
    }

    /// Writes what differs from the file, or what could not be written.
    fn keep_other(&mut self, kept: AcceptedSeconds) {
        if kept != self.kept || self.has_failed {
            self.keep(kept);
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

    fn keep(&mut self, kept: AcceptedSeconds) {
        let written = files::replace(&self.path, to_json(&kept).as_bytes());
        self.kept = kept;
        if let Err(error) = &written
            && !self.has_failed
        {
            let path = self.path.display();
            warn!(
                "{path}: {error}: after a crash, replays of a sender whose clock is ahead may count"
            );
        }
        self.has_failed = written.is_err();
    }
}

impl<K: KeySource> Shared<K> {
    /// Refuses what data planes before this one may have accepted, and which nobody remembers.
    pub fn forget(&self) {
        let before = lock(&self.accepted).before().clone();
        let now = self.clock.now().wall;
        let groups = lock(&self.peers).groups.clone();
        let ahead = |group: &GroupTag| {
            let at = |second: &u64| now.after(second * SECOND_NS);
            let is_refused = |second: &u64| before.has(*group, at(second));
            (1..=WINDOW).filter(is_refused).count()
        };
        let refused = groups.iter().map(ahead).max().unwrap_or(0);
        if refused > USUAL_AHEAD {
            warn!(
                "{refused} of the next {WINDOW} seconds were accepted before the start: the packets of a group in these \
                 seconds are refused"
            );
        }
        lock(&self.inbound).forgot(before);
    }

    /// Keeps on disk what was accepted: each second, or in the end.
    pub fn keep_accepted(&self, keep: fn(&mut Accepted, &AcceptedSeconds, Timestamp)) {
        let now = self.clock.now().wall;
        // Locked before the state is read: nobody keeps a newer one meanwhile.
        let mut accepted = lock(&self.accepted);
        let seconds = lock(&self.inbound).accepted_seconds().0.clone();
        keep(&mut accepted, &seconds, now);
    }

    /// Keeps on disk in which seconds packets were accepted, before they are delivered.
    pub fn keep_new(&self, inbound: MutexGuard<'_, Inbound<K>>) {
        let (seconds, number) = inbound.accepted_seconds();
        let is_new = self.accepted_number.load(Ordering::Relaxed) != number;
        let new = is_new.then(|| seconds.clone());
        drop(inbound);
        if let Some(seconds) = new {
            let now = self.clock.now().wall;
            lock(&self.accepted).see(&seconds, now);
            self.accepted_number.store(number, Ordering::Relaxed);
        }
    }
}

/// The intervals of all groups.
fn ends(seconds: &AcceptedSeconds) -> impl Iterator<Item = (Option<GroupTag>, Interval)> {
    let entries = seconds.iter();
    entries.flat_map(|(group, intervals)| intervals.iter().map(move |interval| (group, *interval)))
}

fn to_json(seconds: &AcceptedSeconds) -> String {
    let mut kept = Kept {
        version: VERSION,
        all: Vec::new(),
        groups: Vec::new(),
    };
    for (group, intervals) in seconds.iter() {
        match group {
            Some(group) => kept.groups.push((group.0, intervals.to_vec())),
            None => kept.all = intervals.to_vec(),
        }
    }
    serde_json::to_string(&kept).unwrap_or_default()
}

fn read(path: &Path, now: Timestamp) -> io::Result<AcceptedSeconds> {
    let text = match files::read(path, FILE_MAX) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(AcceptedSeconds::default()),
        read => read?,
    };
    of_text(&text, now).ok_or_else(|| ErrorKind::InvalidData.into())
}

fn of_text(text: &str, now: Timestamp) -> Option<AcceptedSeconds> {
    let mut seconds = AcceptedSeconds::default();
    if let Ok(nanos) = text.trim_end().parse::<u64>() {
        let until = (nanos / SECOND_NS).min(now.0 / SECOND_NS + OLD_AHEAD_MAX);
        seconds.insert_interval(None, (0, until), now);
        return Some(seconds);
    }
    let kept: Kept = serde_json::from_str(text).ok()?;
    let groups = kept.groups.into_iter();
    let groups = groups.map(|(tag, intervals)| (Some(GroupTag(tag)), intervals));
    for (group, intervals) in groups.chain([(None, kept.all)]) {
        for interval in intervals {
            seconds.insert_interval(group, interval, now);
        }
    }
    (kept.version == VERSION).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    const ONE: GroupTag = GroupTag([1; 8]);
    const TWO: GroupTag = GroupTag([2; 8]);

    fn at(seconds: u64) -> Timestamp {
        Timestamp(seconds * SECOND_NS)
    }

    /// A file, and what a data plane would read now.
    struct File {
        _folder: tempfile::TempDir,
        path: PathBuf,
    }

    impl File {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("accepted");
            Self {
                _folder: folder,
                path,
            }
        }

        fn read(&self) -> Accepted {
            Accepted::read(&self.path, at(100))
        }

        /// The seconds of a group, from 90 on.
        fn seconds(&self, group: GroupTag) -> Vec<u64> {
            let kept = self.read().before;
            (90..140)
                .filter(|second| kept.has(group, at(*second)))
                .collect()
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_is_trouble_until_it_can() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing/accepted");
        let mut accepted = Accepted::read(&path, at(100));
        assert_eq!(accepted.trouble(), None);
        let mut own = AcceptedSeconds::default();
        own.insert(ONE, at(100), at(100));
        accepted.see(&own, at(100));
        let said = accepted.trouble().unwrap();
        assert!(
            said.contains("missing/accepted cannot be written"),
            "{said}"
        );
        fs::create_dir(folder.path().join("missing")).unwrap();
        // Nothing new comes, and it is tried again all the same.
        accepted.tick(&own, at(101));
        assert_eq!(accepted.trouble(), None);
        assert!(Accepted::read(&path, at(101)).before.covers(&own));
    }

    #[test]
    fn what_is_delivered_is_on_disk_and_a_little_that_is_expected() {
        let file = File::new();
        let mut accepted = file.read();
        assert_eq!(*accepted.before(), AcceptedSeconds::default());
        let mut own = AcceptedSeconds::default();
        own.insert(ONE, at(100), at(100));
        accepted.see(&own, at(100));
        assert_eq!((file.seconds(ONE), file.seconds(TWO)), (vec![100], vec![]));
        accepted.tick(&own, at(100));
        assert_eq!(file.seconds(ONE), [100, 101, 102]);
        // It is expected: nothing is written.
        let inode = || fs::metadata(&file.path).unwrap().ino();
        let before = inode();
        own.insert(ONE, at(101), at(101));
        accepted.see(&own, at(101));
        assert_eq!(inode(), before);
        // Another sender's clock is ahead.
        own.insert(ONE, at(129), at(101));
        accepted.see(&own, at(101));
        assert_eq!(file.seconds(ONE), [100, 101, 102, 129]);
        accepted.tick(&own, at(101));
        assert_eq!(file.seconds(ONE), [100, 101, 102, 103, 129, 130, 131]);
        // It is silent: nothing more is expected of it.
        own.insert(ONE, at(102), at(102));
        accepted.tick(&own, at(102));
        assert_eq!(file.seconds(ONE), [100, 101, 102, 103, 104, 129]);
        accepted.end(&own, at(102));
        assert_eq!(file.seconds(ONE), [100, 101, 102, 129]);
        // The next one keeps that, too.
        let mut next = file.read();
        let mut own = AcceptedSeconds::default();
        own.insert(TWO, at(103), at(103));
        next.tick(&own, at(103));
        assert_eq!(file.seconds(ONE), [100, 101, 102, 129]);
        assert_eq!(file.seconds(TWO), [103, 104, 105]);
    }

    #[test]
    fn files_of_version_1_are_read_and_lock_nobody_out_for_long() {
        let file = File::new();
        for (kept, until) in [(95, 95), (120, 120), (86_500, 132)] {
            fs::write(&file.path, (kept * SECOND_NS).to_string()).unwrap();
            assert_eq!(file.seconds(ONE), (90..=until).collect::<Vec<u64>>());
            assert_eq!(file.seconds(TWO), file.seconds(ONE));
        }
    }

    #[test]
    fn what_is_no_such_file_is_said_and_left() {
        let file = File::new();
        for text in [
            "no number",
            "{}",
            r#"{"version":3,"all":[[90,95]],"groups":[]}"#,
        ] {
            fs::write(&file.path, text).unwrap();
            assert_eq!(file.seconds(ONE), Vec::<u64>::new());
        }
        fs::remove_file(&file.path).unwrap();
        mkfifo(&file.path, Mode::S_IRWXU).unwrap();
        assert_eq!(file.seconds(ONE), Vec::<u64>::new());
        // Whoever opens this one to write waits for a reader.
        mkfifo(&file.path.with_extension("new"), Mode::S_IRWXU).unwrap();
        let mut own = AcceptedSeconds::default();
        own.insert(ONE, at(100), at(100));
        file.read().see(&own, at(100));
        assert_eq!(file.seconds(ONE), [100], "a file took its place");
    }
}
