//! Prepares precursors with what processor time nobody else wants.

use super::shared::Shared;
use crate::sys;
use clew_packet::KeySource;
use rand_core::CryptoRng;
use std::thread;
use std::time::Duration;

/// Precursors between two looks at whether to stop.
const BATCH: usize = 16;

/// How long to sleep when the pool is full.
const FULL: Duration = Duration::from_millis(100);

/// The next epoch's precursors are prepared this long before it starts.
const AHEAD: u64 = 300 * clew_packet::SECOND_NS;

/// Runs until the daemon stops.
pub(super) fn run<K: KeySource>(shared: &Shared<K>, rng: &mut impl CryptoRng) {
    sys::lower_priority();
    while !shared.is_stopping() {
        let now = shared.clock.now().wall;
        let identity = shared.identity();
        let current = identity.at(now).ok().map(AsRef::as_ref);
        let next = identity.next(now).and_then(Result::ok);
        let next = next.filter(|(_, start)| start.since(now) < AHEAD);
        let keys = [current, next.map(|(key, _)| key.as_ref())];
        if shared.pool.fill_some(keys, shared.generation, BATCH, rng) == 0 {
            thread::park_timeout(FULL);
        }
    }
}
