//! In which seconds packets of each group were accepted, on disk: after a crash no packet of these
//! counts again, whatever the clock says, and those of other seconds and groups do.
//!
//! No packet is delivered before the file has its second. So that this rarely has to wait for a disk, the file
//! is ahead: every second it takes in what senders are expected to sign next.
//!
//! A thread of its own writes, so that a slow disk stops nothing else. Who delivers waits 100 ms at most, once
//! for each write that hangs; then packets are delivered as if it had failed.

mod file;
#[cfg(test)]
mod tests;

use super::no_thread;
use super::shared::{Shared, lock};
use crate::files;
use crate::receiver::Inbound;
use crate::unkept::{slow, unkept};
use clew_packet::{AcceptedSeconds, GroupTag, Interval, KeySource, SECOND_NS, Timestamp};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tracing::warn;

/// What is kept is so far ahead of what was accepted, in seconds: it is written every second.
const AHEAD: u64 = 2;

/// How long a delivery waits for the file.
const DELIVERY_WAIT: Duration = Duration::from_millis(100);

/// How long the end of the daemon waits for it.
const END_WAIT: Duration = Duration::from_secs(2);

/// How far ahead timestamps are accepted, in seconds.
const WINDOW: u64 = 30;

/// So many seconds ahead are kept while all clocks are right, and a little more.
const USUAL_AHEAD: usize = 3;

/// What data planes before this one may have accepted, and this one.
#[derive(Debug)]
pub(super) struct Accepted {
    before: AcceptedSeconds,
    keeper: Arc<Keeper>,
}

/// What all threads share with the one that writes.
#[derive(Debug)]
struct Keeper {
    path: PathBuf,
    delivery_wait: Duration,
    state: Mutex<State>,
    /// There is something to write, or it is written.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// What the file should have.
    wanted: AcceptedSeconds,
    /// What it has, as far as this process could write it.
    file: AcceptedSeconds,
    /// What is being written.
    writing: Option<AcceptedSeconds>,
    /// What this process had accepted a second ago.
    earlier: AcceptedSeconds,
    /// How many writes were asked for.
    asked: u64,
    /// How many of these are over, the last ones together.
    done: u64,
    trouble: Option<Trouble>,
    /// Nobody will ask any more.
    is_over: bool,
}

/// Why the file does not have what it should.
#[derive(Debug, PartialEq, Eq)]
enum Trouble {
    /// The last write failed: what is wrong, and what helps.
    Failed(String),
    /// A delivery waited for a write in vain, and none is over since.
    Slow,
}

impl State {
    fn ask(&mut self, wanted: AcceptedSeconds) {
        self.wanted = wanted;
        self.asked += 1;
    }

    /// Asks for what differs from the file, or could not be written, unless it was asked for already.
    fn ask_other(&mut self, wanted: AcceptedSeconds) {
        let is_open = self.asked != self.done;
        let is_kept = wanted == self.file && self.trouble.is_none();
        if wanted != self.wanted || !(is_open || is_kept) {
            self.ask(wanted);
        }
    }

    /// Returns whether the file has all of these, and keeps them.
    fn keeps(&self, accepted: &AcceptedSeconds) -> bool {
        let all = [Some(&self.file), self.writing.as_ref(), Some(&self.wanted)];
        all.into_iter().flatten().all(|kept| kept.covers(accepted))
    }
}

impl Accepted {
    /// Reads what data planes before this one left, and begins to keep what this one accepts.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn read(path: &Path, now: Timestamp) -> io::Result<Self> {
        let to = path.to_owned();
        let write = move |bytes: &[u8]| files::replace(&to, bytes);
        Self::written_by(path, now, DELIVERY_WAIT, write)
    }

    fn written_by(
        path: &Path,
        now: Timestamp,
        delivery_wait: Duration,
        write: impl FnMut(&[u8]) -> io::Result<()> + Send + 'static,
    ) -> io::Result<Self> {
        let before = file::read(path, now).unwrap_or_else(|error| {
            warn!("{}: {error}: began anew", path.display());
            AcceptedSeconds::default()
        });
        let keeper = Arc::new(Keeper {
            path: path.to_owned(),
            delivery_wait,
            state: Mutex::new(State {
                wanted: before.clone(),
                file: before.clone(),
                ..State::default()
            }),
            changed: Condvar::new(),
        });
        let own = Arc::clone(&keeper);
        let writer = thread::Builder::new().name("clew-accepted".into());
        // The end of the daemon does not wait for a write that hangs.
        let begun = writer.spawn(move || own.write_all(write));
        drop(begun.map_err(|error| io::Error::other(no_thread(&error)))?);
        Ok(Self { before, keeper })
    }

    /// Returns what data planes before this one may have accepted.
    pub const fn before(&self) -> &AcceptedSeconds {
        &self.before
    }

    /// Keeps what was accepted. When this returns, it may be delivered.
    pub fn see(&self, accepted: &AcceptedSeconds, now: Timestamp) {
        let mut state = lock(&self.keeper.state);
        if !state.wanted.covers(accepted) {
            let mut wanted = state.wanted.clone();
            wanted.insert_all(accepted, now);
            state.ask(wanted);
            self.keeper.changed.notify_all();
        }
        // Whoever waited said so already.
        if state.trouble == Some(Trouble::Slow) {
            return;
        }
        let (asked, most) = (state.asked, self.keeper.delivery_wait);
        let is_open = |state: &mut State| state.done < asked && !state.keeps(accepted);
        let (mut state, waited) = self.keeper.wait_while(state, most, is_open);
        if waited {
            state.trouble = Some(Trouble::Slow);
        }
    }

    /// Keeps what was accepted, and what is expected to be until the next call. What was expected before and
    /// did not come is no longer kept. Does not wait.
    ///
    /// Reads what was accepted when nobody can ask for more meanwhile.
    pub fn tick(&self, accepted: impl FnOnce() -> AcceptedSeconds, now: Timestamp) {
        let mut state = lock(&self.keeper.state);
        let accepted = accepted();
        let mut wanted = self.with_before(&accepted, now);
        for (group, (_, last)) in ends(&accepted) {
            let at = |second: u64| Timestamp(second.saturating_mul(SECOND_NS));
            let was_there = group.is_some_and(|group| state.earlier.has(group, at(last)));
            if !was_there {
                wanted.insert_interval(group, (last, last.saturating_add(AHEAD)), now);
            }
        }
        if state.earlier != accepted {
            state.earlier = accepted;
        }
        state.ask_other(wanted);
        self.keeper.changed.notify_all();
    }

    /// Keeps what was accepted: nothing more will be. Waits for that, but not for ever.
    pub fn end(&self, accepted: &AcceptedSeconds, now: Timestamp) {
        let mut state = lock(&self.keeper.state);
        state.ask_other(self.with_before(accepted, now));
        self.keeper.changed.notify_all();
        let is_open = |state: &mut State| state.done < state.asked;
        let (state, waited) = self.keeper.wait_while(state, END_WAIT, is_open);
        drop(state);
        if waited {
            warn!("{}", slow(&self.keeper.path));
        }
    }

    fn with_before(&self, accepted: &AcceptedSeconds, now: Timestamp) -> AcceptedSeconds {
        let mut all = self.before.clone();
        all.insert_all(accepted, now);
        all
    }

    /// Returns what is wrong and what helps while the file does not have what it should.
    pub fn trouble(&self) -> Option<String> {
        match &lock(&self.keeper.state).trouble {
            Some(Trouble::Failed(sentence)) => Some(sentence.clone()),
            Some(Trouble::Slow) => Some(slow(&self.keeper.path)),
            None => None,
        }
    }
}

impl Drop for Accepted {
    fn drop(&mut self) {
        lock(&self.keeper.state).is_over = true;
        self.keeper.changed.notify_all();
    }
}

impl Keeper {
    /// Waits while something is so, and for no longer than that. Returns whether it still is.
    fn wait_while<'a>(
        &self,
        state: MutexGuard<'a, State>,
        most: Duration,
        is_so: impl FnMut(&mut State) -> bool,
    ) -> (MutexGuard<'a, State>, bool) {
        let waited = self.changed.wait_timeout_while(state, most, is_so);
        let (state, result) = waited.unwrap_or_else(PoisonError::into_inner);
        (state, result.timed_out())
    }

    /// Writes what is asked for until nobody asks any more, without the lock.
    fn write_all(&self, mut write: impl FnMut(&[u8]) -> io::Result<()>) {
        let mut state = lock(&self.state);
        loop {
            let has_time = |state: &mut State| state.done == state.asked && !state.is_over;
            let waited = self.changed.wait_while(state, has_time);
            state = waited.unwrap_or_else(PoisonError::into_inner);
            if state.done == state.asked {
                return;
            }
            let (asked, seconds) = (state.asked, state.wanted.clone());
            state.writing = Some(seconds.clone());
            drop(state);
            let written = write(file::to_json(&seconds).as_bytes());
            let trouble = written
                .err()
                .map(|error| Trouble::Failed(unkept(&self.path, &error)));
            state = lock(&self.state);
            (state.writing, state.done) = (None, asked);
            if trouble.is_none() {
                state.file = seconds;
            }
            state.trouble = trouble;
            self.changed.notify_all();
        }
    }
}

impl<K: KeySource> Shared<K> {
    /// Refuses what data planes before this one may have accepted, and which nobody remembers.
    pub fn forget(&self) {
        let before = self.accepted.before().clone();
        lock(&self.inbound).forgot(before);
    }

    /// Returns what an administrator should know if packets of a group are refused now because data planes
    /// before this one accepted some, as the file says.
    pub fn refused(&self) -> Option<String> {
        let now = self.clock.now().wall;
        let groups = lock(&self.peers).groups.clone();
        let forgotten = lock(&self.inbound).forgotten().clone();
        let ahead = |group: &GroupTag| {
            let at = |second: &u64| now.after(second * SECOND_NS);
            let is_refused = |second: &u64| forgotten.has(*group, at(second));
            (1..=WINDOW).filter(is_refused).count()
        };
        let refused = groups.iter().map(ahead).max().unwrap_or(0);
        sentence_of_refused(&self.accepted.keeper.path, refused)
    }

    /// Keeps on disk what was accepted, each second.
    pub fn keep_accepted(&self) {
        let accepted = || lock(&self.inbound).accepted_seconds().0.clone();
        self.accepted.tick(accepted, self.clock.now().wall);
    }

    /// Keeps on disk what was accepted in all.
    pub fn keep_accepted_in_the_end(&self) {
        let accepted = lock(&self.inbound).accepted_seconds().0.clone();
        self.accepted.end(&accepted, self.clock.now().wall);
    }

    /// Keeps on disk in which seconds packets were accepted, before they are delivered.
    pub fn keep_new(&self, inbound: MutexGuard<'_, Inbound<K>>) {
        let (seconds, number) = inbound.accepted_seconds();
        let is_new = self.accepted_number.load(Ordering::Relaxed) != number;
        let new = is_new.then(|| seconds.clone());
        drop(inbound);
        if let Some(seconds) = new {
            self.accepted.see(&seconds, self.clock.now().wall);
            self.accepted_number.store(number, Ordering::Relaxed);
        }
    }
}

/// What to say if so many of the seconds of the window ahead are refused.
fn sentence_of_refused(path: &Path, refused: usize) -> Option<String> {
    let path = path.display();
    match refused {
        0..=USUAL_AHEAD => None,
        some if (some as u64) < WINDOW => Some(format!(
            "{path} names some of the next {WINDOW} seconds: packets of a group in these are refused as stale; \
             a clock is ahead, or was"
        )),
        _ => Some(format!(
            "{path} names all of the next {WINDOW} seconds: every packet of a group is refused as stale; if no \
             clock was ahead, clew down, remove this file, clew up"
        )),
    }
}

/// The intervals of all groups.
fn ends(seconds: &AcceptedSeconds) -> impl Iterator<Item = (Option<GroupTag>, Interval)> {
    let entries = seconds.iter();
    entries.flat_map(|(group, intervals)| intervals.iter().map(move |interval| (group, *interval)))
}
