//! Between an application and the network: datagrams in, signed ones out; and back. Applications know
//! nothing of it.

mod sign;
mod sockets;
mod verify;

pub use sign::{Signing, sign};
pub use sockets::{Ends, Wire};
pub use verify::{Verifying, verify};

use crate::is_interrupted;
use crate::metrics::Heartbeat;
use std::time::{Duration, Instant};

/// Datagrams that are worked on together, at most.
const BATCH: usize = 256;

/// How long the relay sleeps at most when nothing comes, so that it sees that it should stop.
const NAP: Duration = Duration::from_millis(100);

/// When a loop stops: when it is interrupted, or after a while.
#[derive(Clone, Debug)]
pub struct Until {
    end: Option<Instant>,
    heartbeat: Option<Heartbeat>,
}

impl Until {
    /// After so long; none is for ever.
    pub fn after(duration: Option<Duration>) -> Self {
        Self {
            end: duration.and_then(|duration| Instant::now().checked_add(duration)),
            heartbeat: None,
        }
    }

    /// The same; each turn of the loop, which asks whether it is time, is a beat.
    #[must_use]
    pub fn beating(self, heartbeat: Heartbeat) -> Self {
        Self {
            heartbeat: Some(heartbeat),
            ..self
        }
    }

    /// Whether it is time.
    pub fn is_over(&self) -> bool {
        self.heartbeat.iter().for_each(Heartbeat::beat);
        is_interrupted() || self.end.is_some_and(|end| Instant::now() >= end)
    }
}
