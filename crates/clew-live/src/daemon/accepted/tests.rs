//! What is on disk when, with disks that work, fail and hang.

use super::*;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

/// Whatever lasts longer waits for something that does not come.
const LONG: Duration = Duration::from_secs(20);

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
        Accepted::read(&self.path, at(100)).unwrap()
    }

    /// The seconds of a group, from 90 on: nothing if it is no such file.
    fn seconds(&self, group: GroupTag) -> Vec<u64> {
        let kept = file::read(&self.path, at(100)).unwrap_or_default();
        (90..240)
            .filter(|second| kept.has(group, at(*second)))
            .collect()
    }
}

impl Accepted {
    /// Does what a second does, and waits until it is written.
    fn tick_whole(&self, accepted: &AcceptedSeconds, now: Timestamp) {
        self.tick(|| accepted.clone(), now);
        self.settle();
    }

    /// Waits until all is written.
    fn settle(&self) {
        let state = lock(&self.keeper.state);
        let is_open = |state: &mut State| state.done < state.asked;
        assert!(!self.keeper.wait_while(state, LONG, is_open).1, "it hangs");
    }

    /// Waits until something is so.
    fn until(&self, is_so: impl Fn(&State) -> bool) {
        let begin = Instant::now();
        while !is_so(&lock(&self.keeper.state)) {
            assert!(begin.elapsed() < LONG, "it does not come");
            thread::yield_now();
        }
    }

    fn writes(&self) -> u64 {
        lock(&self.keeper.state).done
    }
}

/// A disk: each write waits for leave, and goes on without one when nobody can give any more.
fn slow_disk(file: &File, delivery_wait: Duration) -> (Accepted, Sender<()>) {
    let (leave, wait) = channel();
    let path = file.path.clone();
    let write = move |bytes: &[u8]| {
        let _ = wait.recv();
        files::replace(&path, bytes)
    };
    let accepted = Accepted::written_by(&file.path, at(100), delivery_wait, write).unwrap();
    (accepted, leave)
}

fn seconds_of(group: GroupTag, seconds: impl IntoIterator<Item = u64>) -> AcceptedSeconds {
    let mut all = AcceptedSeconds::default();
    for second in seconds {
        all.insert(group, at(second), at(100));
    }
    all
}

#[test]
fn a_disk_that_hangs_is_waited_for_once_and_told_of_until_it_goes_on() {
    let file = File::new();
    let (accepted, leave) = slow_disk(&file, DELIVERY_WAIT);
    let begin = Instant::now();
    accepted.see(&seconds_of(ONE, [100]), at(100));
    assert!(begin.elapsed() >= DELIVERY_WAIT, "it is waited for");
    let said = accepted.trouble().unwrap();
    assert!(said.contains(": the disk is slow"), "{said}");
    accepted.until(|state| state.writing.is_some());
    // A wait for each of them would take longer.
    let begin = Instant::now();
    let mut own = AcceptedSeconds::default();
    for second in 100..=220 {
        own.insert(ONE, at(second), at(100));
        accepted.see(&own, at(100));
        accepted.tick(|| own.clone(), at(100));
    }
    let took = begin.elapsed();
    assert!(took < DELIVERY_WAIT * 60, "{took:?}");
    assert_eq!(file.seconds(ONE), Vec::<u64>::new(), "nothing is written");
    // The disk goes on. All that was asked for meanwhile is one write.
    leave.send(()).unwrap();
    leave.send(()).unwrap();
    accepted.settle();
    assert_eq!(accepted.trouble(), None);
    assert!((100..=220).all(|second| file.seconds(ONE).contains(&second)));
    // It hangs again, and is told of again.
    let begin = Instant::now();
    accepted.see(&seconds_of(TWO, [100]), at(100));
    assert!(begin.elapsed() >= DELIVERY_WAIT, "it is waited for");
    assert!(accepted.trouble().is_some());
    let begin = Instant::now();
    accepted.end(&own, at(100));
    let took = begin.elapsed();
    assert!((END_WAIT..LONG).contains(&took), "{took:?}");
    drop(leave);
    accepted.settle();
    assert_eq!(accepted.trouble(), None, "each write went through");
}

/// The file has a second that was expected. Another write is on its way, in which it is missing: who
/// delivers waits for the one behind that.
#[test]
fn a_second_that_is_about_to_go_from_the_file_is_waited_for() {
    let file = File::new();
    let (accepted, leave) = slow_disk(&file, LONG);
    let own = seconds_of(ONE, [100]);
    leave.send(()).unwrap();
    accepted.tick_whole(&own, at(100));
    assert_eq!(file.seconds(ONE), [100, 101, 102]);
    // Nothing came of it: it is no longer expected.
    accepted.tick(|| own.clone(), at(101));
    accepted.until(|state| state.writing.is_some());
    thread::scope(|scope| {
        let delivery = scope.spawn(|| {
            accepted.see(&seconds_of(ONE, [100, 101]), at(101));
            accepted.writes()
        });
        accepted.until(|state| state.asked == 3);
        assert_eq!(accepted.writes(), 1);
        assert!(!delivery.is_finished(), "it is waited for");
        (0..2).for_each(|_| leave.send(()).unwrap());
        assert_eq!(delivery.join().unwrap(), 3);
    });
    assert_eq!(accepted.trouble(), None);
    drop(leave);
    accepted.settle();
    assert_eq!(file.seconds(ONE), [100, 101]);
}

#[test]
fn a_file_that_cannot_be_written_is_trouble_until_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing/accepted");
    let accepted = Accepted::read(&path, at(100)).unwrap();
    assert_eq!(accepted.trouble(), None);
    let mut own = AcceptedSeconds::default();
    own.insert(ONE, at(100), at(100));
    accepted.see(&own, at(100));
    let said = accepted.trouble().unwrap();
    assert!(said.contains("missing: folder does not exist: "), "{said}");
    fs::create_dir(folder.path().join("missing")).unwrap();
    // Nothing new comes, and it is tried again all the same.
    accepted.tick_whole(&own, at(101));
    assert_eq!(accepted.trouble(), None);
    assert!(file::read(&path, at(101)).unwrap().covers(&own));
}

#[test]
fn what_is_delivered_is_on_disk_and_a_little_that_is_expected() {
    let file = File::new();
    let accepted = file.read();
    assert_eq!(*accepted.before(), AcceptedSeconds::default());
    let mut own = AcceptedSeconds::default();
    own.insert(ONE, at(100), at(100));
    accepted.see(&own, at(100));
    assert_eq!((file.seconds(ONE), file.seconds(TWO)), (vec![100], vec![]));
    accepted.tick_whole(&own, at(100));
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
    accepted.tick_whole(&own, at(101));
    assert_eq!(file.seconds(ONE), [100, 101, 102, 103, 129, 130, 131]);
    // It is silent: nothing more is expected of it.
    own.insert(ONE, at(102), at(102));
    accepted.tick_whole(&own, at(102));
    assert_eq!(file.seconds(ONE), [100, 101, 102, 103, 104, 129]);
    accepted.end(&own, at(102));
    assert_eq!(file.seconds(ONE), [100, 101, 102, 129]);
    // The next one keeps that, too.
    let next = file.read();
    let mut own = AcceptedSeconds::default();
    own.insert(TWO, at(103), at(103));
    next.tick_whole(&own, at(103));
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
        assert_eq!(*file.read().before(), AcceptedSeconds::default());
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

#[test]
fn a_file_that_refuses_everything_is_named_with_what_to_do() {
    let path = Path::new("/state/accepted");
    let said = |refused| sentence_of_refused(path, refused).unwrap_or_default();
    assert_eq!(said(USUAL_AHEAD), "", "a crash a moment ago");
    assert!(said(4).contains("/state/accepted names some of the next 30"));
    assert!(said(29).contains("a clock is ahead, or was"));
    let all = said(30);
    assert!(
        all.contains("/state/accepted names all of the next 30 seconds"),
        "{all}"
    );
    assert!(
        all.ends_with("clew down, remove this file, clew up"),
        "{all}"
    );
    // However far ahead: a clock that was wrong leaves such ones, too.
    let file = File::new();
    let text = r#"{"version":2,"all":[[0,99999999999]],"groups":[]}"#;
    fs::write(&file.path, text).unwrap();
    assert_eq!(file.seconds(ONE).len(), 150);
}
