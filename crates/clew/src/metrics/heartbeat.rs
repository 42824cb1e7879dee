//! Whether a running command still turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// `/readyz` says "not ready" if the command's loop has not turned for so long.
const READY_WAIT: Duration = Duration::from_secs(5);

/// `/healthz` says "stuck" if the command's loop has not turned for so long.
const ALIVE_WAIT: Duration = Duration::from_secs(30);

/// When a command's loop has turned last. Starts as "not ready".
#[derive(Clone, Debug)]
pub struct Heartbeat {
    begin: Instant,
    /// In milliseconds from the beginning on, and one more; 0 is never.
    last: Arc<AtomicU64>,
    /// Whether the command can do its work while its loop turns.
    is_able: Arc<AtomicBool>,
}

impl Heartbeat {
    pub(super) fn new() -> Self {
        Self {
            begin: Instant::now(),
            last: Arc::default(),
            is_able: Arc::new(AtomicBool::new(true)),
        }
    }

    /// The loop turns.
    pub fn beat(&self) {
        self.last.store(self.now() + 1, Ordering::Relaxed);
    }

    /// Says whether the command can do its work. If not, it is alive and not ready.
    pub fn set_able(&self, is_able: bool) {
        self.is_able.store(is_able, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_millis()).unwrap_or(u64::MAX - 1)
    }

    pub(super) fn is_ready(&self) -> bool {
        let has_begun = self.last.load(Ordering::Relaxed) > 0;
        has_begun && self.silence() < READY_WAIT && self.is_able.load(Ordering::Relaxed)
    }

    pub(super) fn is_alive(&self) -> bool {
        self.silence() < ALIVE_WAIT
    }

    /// How long the loop has not turned.
    fn silence(&self) -> Duration {
        let last = self.last.load(Ordering::Relaxed).saturating_sub(1);
        Duration::from_millis(self.now().saturating_sub(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_stands_still_is_not_ready_and_later_not_alive() {
        let ago = |seconds| {
            let begin = Instant::now().checked_sub(Duration::from_secs(seconds));
            let heartbeat = Heartbeat::new();
            Heartbeat {
                begin: begin.unwrap(),
                ..heartbeat
            }
        };
        for (seconds, is_ready, is_alive) in [(0, true, true), (6, false, true), (31, false, false)]
        {
            let heartbeat = ago(seconds);
            assert_eq!(
                (heartbeat.is_ready(), heartbeat.is_alive()),
                (false, is_alive)
            );
            heartbeat.last.store(1, Ordering::Relaxed);
            let is = (heartbeat.is_ready(), heartbeat.is_alive());
            assert_eq!(is, (is_ready, is_alive), "{seconds} s");
            heartbeat.beat();
            assert!(heartbeat.is_ready() && heartbeat.is_alive());
        }
    }
}
