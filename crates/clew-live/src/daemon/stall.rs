//! Verifiers that stand still: somebody stops a thread, or the host gives it no time.

use super::shared::{Shared, lock};
use clew_packet::KeySource;
use clew_wire::Instant;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Work that lasts longer is not work: a batch takes a tenth of a second.
const STALL: Duration = Duration::from_secs(3);

/// Which verifiers stand still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stall {
    /// None.
    None,
    /// Others go on.
    Some,
    /// Nobody verifies.
    All,
}

impl Stall {
    /// Judges when each verifier took what it has, 0 for one that waits, and how long the first signature
    /// has waited for any of them.
    fn of(since: impl Iterator<Item = u64>, wait: Duration, now: Instant) -> Self {
        let is_stalled = |since: u64| since != 0 && now - Instant::from_nanos(since) > STALL;
        let (mut any, mut all) = (false, true);
        for since in since {
            any |= is_stalled(since);
            all &= is_stalled(since);
        }
        match (any, all || wait > STALL) {
            (_, true) => Self::All,
            (true, false) => Self::Some,
            (false, false) => Self::None,
        }
    }

    /// Returns what an administrator should know.
    pub const fn sentence(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Some => Some(
                "a verifier has stood still for 3 s: the others go on, and the packets that it took are \
                 dropped",
            ),
            Self::All => Some(
                "verification has stood still for 3 s: packets with a new signature are dropped; does the \
                 host give clew any CPU time?",
            ),
        }
    }
}

impl<K: KeySource> Shared<K> {
    /// Returns which verifiers stand still.
    pub fn stall(&self) -> Stall {
        let now = self.clock.now();
        let wait = lock(&self.inbound).state(now).wait;
        let since = self.verifying_since.iter();
        let since = since.map(|since| since.load(Ordering::Relaxed));
        Stall::of(since, wait, now.instant)
    }

    /// Returns what an administrator should know of the process of the kernel's queue, if there is one.
    pub fn stall_of_queue(&self) -> Option<&'static str> {
        let silence = self.network.silence();
        let is_stalled = silence.is_some_and(|silence| silence > STALL);
        is_stalled.then_some(
            "the process of the kernel's queue (clew up --stage queue) has stood still for 3 s: no packet of a \
             peer comes in; did somebody stop it?",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_stands_still_if_its_work_lasts_too_long() {
        let second = 1_000_000_000;
        let now = Instant::from_nanos(10 * second);
        let stall =
            |since: &[u64], wait| Stall::of(since.iter().copied(), Duration::from_secs(wait), now);
        assert_eq!(stall(&[0, 9 * second], 0), Stall::None);
        assert_eq!(stall(&[0, 0], 0), Stall::None, "both wait");
        assert_eq!(stall(&[0, second], 0), Stall::Some);
        assert_eq!(stall(&[2 * second, second], 0), Stall::All);
        assert_eq!(stall(&[0], 4), Stall::All, "nobody takes work");
        assert!(
            Stall::None.sentence().is_none() && Stall::Some.sentence() != Stall::All.sentence()
        );
    }
}
