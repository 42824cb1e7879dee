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

/// Tells the data plane what the host's filter counted, which it may not read itself. If it answers,
/// the service manager is told that it lives.
pub(super) struct Teller {
    /// `None` if nobody wants to know.
    next: Option<Instant>,
    programs: Option<Programs>,
    table: String,
}

impl Teller {
    pub fn new(up: &Supervised<'_>) -> Self {
        let wants = up.config.metrics.is_some() || sd_notify::watchdog_enabled().is_some();
        Self {
            next: wants.then(Instant::now),
            programs: Programs::find().ok(),
            table: Kept::of(up.config).table,
        }
    }

    pub fn wait(&self) -> Option<Duration> {
        let next = self.next?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    pub fn report_counters(&mut self, place: &Place) {
        let now = Instant::now();
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        self.next = Some(now + TELL);
        let counts = self
            .programs
            .as_ref()
            .map(|programs| filtered(programs, &self.table));
        let request = Request::Filtered(counts.unwrap_or_default());
        if matches!(ask(&place.control(), request), Ok(Answer::Done)) {
            alive();
        }
    }
}
