//! What an administrator should know of the host's clocks, each once.

use super::notices::{Notices, Topic};
use crate::clock::ClockState;
use crate::status::ClockStatus;
use crate::sys;
use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// A shorter sleep is not told.
const SLEEP_MIN: Duration = Duration::from_secs(1);

/// Receivers refuse packets whose time is wrong by 30 s. A clock that may be wrong by half of that is
/// told of.
const ERROR_MAX_US: u64 = 15_000_000;

/// What the clocks say at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    /// Steps of the wall clock.
    pub steps: ClockState,
    /// How long the host has slept since it was started.
    pub slept: Duration,
    /// What the system knows of the clock's error.
    pub status: ClockStatus,
}

/// What was told already.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    steps: u64,
    slept: Duration,
}

impl Reading {
    /// Reads the system's clocks.
    pub fn now(steps: ClockState) -> Self {
        Self {
            steps,
            slept: slept(),
            status: status(),
        }
    }
}

/// Returns what the system knows of its clock.
pub fn status() -> ClockStatus {
    sys::clock_state().map_or(ClockStatus::default(), |(is_kept, error)| ClockStatus {
        is_synchronised: Some(is_kept),
        error_us: is_kept.then_some(error),
    })
}

/// How long the host has slept: one clock stood meanwhile, and one did not.
fn slept() -> Duration {
    let read = |clock| clock_gettime(clock).map_or(Duration::ZERO, Duration::from);
    let monotonic = read(ClockId::CLOCK_MONOTONIC);
    read(ClockId::CLOCK_BOOTTIME).saturating_sub(monotonic)
}

impl Clocks {
    /// Takes what was so before the start for granted.
    pub fn new(start: &Reading) -> Self {
        Self {
            steps: start.steps.steps,
            slept: start.slept,
        }
    }

    /// Notes what is so at a time, in seconds since 1970. Returns what is new, as sentences.
    pub fn see(&mut self, now: &Reading, notices: &mut Notices, time: u64) -> Vec<String> {
        let mut said = self.events(now);
        said.iter().for_each(|event| notices.event(event, time));
        for (topic, trouble) in [
            (Topic::ClockKept, unkept(now.status)),
            (Topic::ClockError, far(now.status)),
        ] {
            if notices.set(topic, trouble.as_deref(), time) {
                said.extend(trouble);
            }
        }
        said
    }

    fn events(&mut self, now: &Reading) -> Vec<String> {
        let slept = now.slept.saturating_sub(self.slept);
        let has_slept = slept >= SLEEP_MIN;
        let mut said = Vec::new();
        if has_slept {
            self.slept = now.slept;
            said.push(format!(
                "the host slept for {} s: what was under way is stale",
                slept.as_secs()
            ));
        }
        if now.steps.steps > self.steps {
            self.steps = now.steps.steps;
            // A sleep looks like a step.
            said.extend(now.steps.last.filter(|_| !has_slept).map(|step| {
                let way = if step.is_back { "back" } else { "forward" };
                format!(
                    "the clock went {way} by {:.1} s: peers refuse packets whose time is wrong by 30 s",
                    step.by.as_secs_f64()
                )
            }));
        }
        said
    }
}

/// What to do if nothing keeps the clock right.
fn unkept(status: ClockStatus) -> Option<String> {
    let is_unkept = status.is_synchronised == Some(false);
    is_unkept.then(|| {
        "nothing keeps the clock right: start an NTP service, such as systemd-timesyncd or chrony".into()
    })
}

/// What to do if the clock may be far from right.
fn far(status: ClockStatus) -> Option<String> {
    // The bound grows all the time while no server answers: a number would be news each second.
    let error = status.error_us.unwrap_or(0);
    (error > ERROR_MAX_US).then(|| {
        let seconds = ERROR_MAX_US / 1_000_000;
        format!("the clock may be wrong by more than {seconds} s: look at the NTP service")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ClockWatch;
    use crate::packet::Moment;
    use clew_packet::Timestamp;
    use clew_wire::Instant;

    /// A host in simulated time.
    struct Host {
        /// The clock that stands while the host sleeps, the wall clock, and all sleep, in seconds.
        monotonic: u64,
        wall: u64,
        slept: u64,
        watch: ClockWatch,
        clocks: Clocks,
        notices: Notices,
        status: ClockStatus,
    }

    impl Host {
        fn new() -> Self {
            let start = Reading::default();
            Self {
                monotonic: 0,
                wall: 1_000_000,
                slept: 0,
                watch: ClockWatch::new(moment(0, 1_000_000)),
                clocks: Clocks::new(&start),
                notices: Notices::default(),
                status: ClockStatus {
                    is_synchronised: Some(true),
                    error_us: Some(20_000),
                },
            }
        }

        /// A second later.
        fn tick(&mut self) -> Vec<String> {
            (self.monotonic, self.wall) = (self.monotonic + 1, self.wall + 1);
            self.watch.see(moment(self.monotonic, self.wall));
            let reading = Reading {
                steps: self.watch.state(),
                slept: Duration::from_secs(self.slept),
                status: self.status,
            };
            self.clocks.see(&reading, &mut self.notices, self.wall)
        }
    }

    fn moment(monotonic: u64, wall: u64) -> Moment {
        Moment {
            instant: Instant::from_nanos(monotonic * 1_000_000_000),
            wall: Timestamp(wall * 1_000_000_000),
        }
    }

    #[test]
    fn a_sleep_is_said_once_and_not_as_a_step() {
        let mut host = Host::new();
        assert!(host.tick().is_empty());
        (host.slept, host.wall) = (3_600, host.wall + 3_600);
        let said = host.tick();
        assert_eq!(
            said,
            ["the host slept for 3600 s: what was under way is stale"]
        );
        assert!(host.tick().is_empty(), "said once");
    }

    #[test]
    fn steps_in_both_directions_are_said_once_each() {
        let mut host = Host::new();
        host.wall -= 100;
        let said = host.tick();
        assert!(
            said[0].starts_with("the clock went back by 100.0 s"),
            "{said:?}"
        );
        assert!(host.tick().is_empty());
        host.wall += 7;
        let said = host.tick();
        assert!(
            said[0].starts_with("the clock went forward by 7.0 s"),
            "{said:?}"
        );
        assert_eq!(said.len(), 1);
    }

    #[test]
    fn a_clock_that_nothing_keeps_right_is_said_again_only_after_it_was_right() {
        let mut host = Host::new();
        let kept = host.status;
        let unkept = ClockStatus {
            is_synchronised: Some(false),
            error_us: None,
        };
        for (status, expected) in [(unkept, 1), (unkept, 0), (kept, 0), (unkept, 1)] {
            host.status = status;
            assert_eq!(host.tick().len(), expected, "{status:?}");
        }
        host.status.is_synchronised = Some(true);
        host.status.error_us = Some(16_000_000);
        let said = host.tick();
        assert!(
            said[0].starts_with("the clock may be wrong by more than 15 s"),
            "{said:?}"
        );
        host.status.error_us = Some(17_000_000);
        assert!(host.tick().is_empty(), "the same trouble");
        assert_eq!(host.notices.all().len(), 1);
        host.status = ClockStatus::default();
        assert!(host.tick().is_empty(), "a system that does not tell");
        assert!(host.notices.all().is_empty(), "it is over");
    }
}
