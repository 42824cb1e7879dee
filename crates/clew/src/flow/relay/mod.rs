//! Between an application and the network: datagrams in, signed ones out; and back. Applications know
//! nothing of it.

mod sign;
mod sockets;
mod verify;

pub use sign::{Signing, sign};
pub use sockets::{Ends, Wire};
pub use verify::{Verifying, verify};

use crate::is_interrupted;
use std::time::{Duration, Instant};

/// Datagrams that are worked on together, at most.
const BATCH: usize = 256;

/// How long the relay sleeps at most when nothing comes, so that it sees that it should stop.
const NAP: Duration = Duration::from_millis(100);

/// When a relay stops: when it is interrupted, or after a while.
#[derive(Clone, Copy, Debug)]
pub struct Until(Option<Instant>);

impl Until {
    /// After so long; none is for ever.
    pub fn after(duration: Option<Duration>) -> Self {
        Self(duration.and_then(|duration| Instant::now().checked_add(duration)))
    }

    /// Whether it is time.
    pub fn is_over(&self) -> bool {
        is_interrupted() || self.0.is_some_and(|end| Instant::now() >= end)
    }
}
