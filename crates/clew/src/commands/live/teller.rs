//! What the data plane may not find out itself, and the service manager's watchdog.

use super::supervise::Supervised;
use clew_live::control::{Answer, Request, ask};
use clew_live::setup::{Kept, Place, Programs, filtered};
use sd_notify::NotifyState;
use std::time::{Duration, Instant};

/// How often the data plane is told what the host's filter counted, and asked whether it turns.
const TELL: Duration = Duration::from_secs(5);

/// How often the service manager is told that this process lives while no data plane runs.
pub(super) const BEAT: Duration = TELL;

/// Tells the service manager that this process lives. While a data plane starts or ends, which takes no
/// longer than it may, or waits to start again, nobody else can say so.
pub(super) fn alive() {
    let _ = sd_notify::notify(&[NotifyState::Watchdog]);
}

/// A data plane that did not answer so often, one time after the other, hangs.
const HANGS: u32 = 3;

/// Asks the data plane whether it turns, and tells it what the host's filter counted, which it may not read itself.
/// If it answers, the service manager is told that it lives.
pub(super) struct Teller {
    next: Instant,
    /// `None` if nobody wants to know what was counted.
    programs: Option<Programs>,
    table: String,
    /// How often it did not answer since it last did.
    unanswered: u32,
}

impl Teller {
    pub fn new(up: &Supervised<'_>) -> Self {
        let wants = up.config.metrics.is_some() || sd_notify::watchdog_enabled().is_some();
        Self {
            next: Instant::now(),
            programs: Programs::find().ok().filter(|_| wants),
            table: Kept::of(up.config).table,
            unanswered: 0,
        }
    }

    pub fn wait(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    pub fn report_counters(&mut self, place: &Place) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + TELL;
        let counts = self
            .programs
            .as_ref()
            .map(|programs| filtered(programs, &self.table));
        let request = Request::Filtered(counts.unwrap_or_default());
        let has_answered = matches!(ask(&place.control(), request), Ok(Answer::Done));
        if has_answered {
            alive();
        }
        self.see(has_answered);
    }

    /// Says once that the data plane hangs, and once that it does not any more. Nobody ends it for that: without a
    /// service manager's watchdog it may be an administrator who stopped it.
    fn see(&mut self, has_answered: bool) {
        if has_answered {
            if self.unanswered >= HANGS {
                tracing::warn!("the data plane answers again");
            }
            self.unanswered = 0;
            return;
        }
        self.unanswered = self.unanswered.saturating_add(1);
        if self.unanswered == HANGS {
            tracing::error!("the data plane does not answer any more: no packets go through");
        }
    }
}
