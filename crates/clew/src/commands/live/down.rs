//! `clew down`, `clew confirm`

use super::absent::without_daemon;
use super::{need_root, place};
use crate::cli::{Down, LiveName};
use crate::failure::{Failure, Status};
use clew_live::setup::{Confirmed, Place, SetupError};
use nix::sys::signal::Signal;
use std::time::{Duration, Instant};

/// How long a process may take to end before it is killed.
const END: Duration = Duration::from_secs(15);

/// How long the kernel may take to end a process that was killed.
const KILLED: Duration = Duration::from_secs(5);

/// How many processes that start meanwhile are ended, too, at most.
const STARTS: usize = 3;

/// How often to look.
const LOOK: Duration = Duration::from_millis(20);

pub fn down(arguments: &Down) -> Result<Status, Failure> {
    need_root("down")?;
    let place = place(arguments.name.as_deref())?;
    if arguments.after_stop && is_to_stay(&place) {
        mention!(
            "{}: the daemon failed, and its policy lets nothing pass",
            place.name()
        );
        return Ok(Status::Yes);
    }
    let processes = place.processes();
    if processes == [None, None] && !place.is_set_up() {
        let name = place.name();
        return match arguments.after_stop {
            true => Ok(Status::Yes),
            false => Err(Failure::new(format!("{name} is not up")).no()),
        };
    }
    // Who supervises ends the data plane and undoes everything.
    let signals: &[_] = match arguments.after_stop {
        // The service manager has killed both, and ends this process soon.
        true => &[(Signal::SIGKILL, KILLED)],
        false => &[(Signal::SIGTERM, END), (Signal::SIGKILL, KILLED)],
    };
    end_and_undo(&place, signals)?;
    mention!("{} is down", place.name());
    Ok(Status::Yes)
}

/// Ends who supervises and the data plane, and undoes what is left: once more if another process has started meanwhile.
fn end_and_undo(place: &Place, signals: &[(Signal, Duration)]) -> Result<(), Failure> {
    let mut starts = 0;
    loop {
        let has_ended = end(place, 0, signals)?;
        end(place, 1, signals)?;
        match place.undo_unless_supervised(!has_ended) {
            Err(SetupError::Runs { .. }) if starts < STARTS => starts += 1,
            undone => return Ok(undone?),
        }
    }
}

/// Whether the service manager says that the daemon failed, and nothing is to pass then. What nobody has
/// confirmed does not stay: its supervisor is not there to undo it in time. Neither does a part of a set-up: what would
/// let nothing pass may be missing.
fn is_to_stay(place: &Place) -> bool {
    let result = std::env::var("SERVICE_RESULT").unwrap_or_default();
    let has_failed = !result.is_empty() && result != "success";
    let is_confirmed = !place.unconfirmed().exists();
    let is_whole = !place.is_set_up_in_part();
    has_failed && is_confirmed && is_whole && place.kept().is_some_and(|kept| kept.fails_closed)
}

/// Ends the process that holds one of a place's locks, if there is one: with each of these signals, if it goes on for so
/// long after the one before. Returns whether it has ended.
fn end(place: &Place, which: usize, signals: &[(Signal, Duration)]) -> Result<bool, Failure> {
    for &(signal, time) in signals {
        let Some(process) = place.processes()[which] else {
            return Ok(true);
        };
        let sent = place.signal(which, signal);
        sent.map_err(|error| Failure::new(format!("cannot end process {process}: {error}")))?;
        let until = Instant::now() + time;
        while place.processes()[which].is_some() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
    }
    // A killed process does nothing more.
    let left = place.processes()[which];
    if let Some(process) = left {
        mention!(
            "warning: process {process} is killed, and does not end: the system still writes for it; see what keeps \
             the disk busy"
        );
    }
    Ok(left.is_none())
}

/// `clew confirm`
pub fn confirm(arguments: &LiveName) -> Result<Status, Failure> {
    need_root("confirm")?;
    let place = place(arguments.name.as_deref())?;
    if place.processes()[0].is_none() {
        return Err(without_daemon(&place));
    }
    let name = place.name();
    let failed = |why: &str| Err(Failure::new(format!("{name} {why}")).no());
    match place.confirm()? {
        Confirmed::Now => {
            mention!("{name} stays up");
            Ok(Status::Yes)
        }
        Confirmed::Before => failed("stays up already: nothing waits to be confirmed"),
        Confirmed::TooLate => failed("is being undone: it is too late to confirm it"),
        Confirmed::TooEarly => Err(without_daemon(&place)),
    }
}
