//! Prepares precursors: with what processor time nobody else wants, and with more if they run short.

use super::shared::{Shared, thread_time};
use crate::sys;
use clew_packet::KeySource;
use clew_wire::nanos;
use rand_core::CryptoRng;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// Precursors between two looks at whether to stop.
const BATCH: usize = 16;

/// How long to sleep when the pool is full.
const FULL: Duration = Duration::from_millis(100);

/// The next epoch's precursors are prepared this long before it starts.
const AHEAD: u64 = 300 * clew_packet::SECOND_NS;

/// Fills the pool at the lowest priority until the daemon stops.
pub(super) fn run<K: KeySource>(shared: &Shared<K>, rng: &mut impl CryptoRng) {
    sys::lower_priority();
    while !shared.is_stopping() {
        if prepare(shared, rng).is_zero() {
            thread::park_timeout(FULL);
        }
    }
}

/// Fills the pool at the usual priority while less than a quarter is left, until the daemon stops. On a
/// busy machine the other thread comes to nothing, and then each signature would wait for its own
/// precursor.
///
/// It takes half of a core at most, so that others make progress if there is one core.
pub(super) fn run_if_short<K: KeySource>(shared: &Shared<K>, rng: &mut impl CryptoRng) {
    while !shared.is_stopping() {
        let spent = match shared.pool.level().is_short {
            true => prepare(shared, rng),
            false => Duration::ZERO,
        };
        // Whoever ends the daemon wakes it.
        thread::park_timeout(if spent.is_zero() { FULL } else { spent });
    }
}

/// Prepares some precursors. Returns the CPU time that they took: none if the pool is full.
fn prepare<K: KeySource>(shared: &Shared<K>, rng: &mut impl CryptoRng) -> Duration {
    let now = shared.clock.now().wall;
    let identity = shared.identity();
    let current = identity.at(now).ok().map(AsRef::as_ref);
    let next = identity.next(now).and_then(Result::ok);
    let next = next.filter(|(_, start)| start.since(now) < AHEAD);
    let keys = [current, next.map(|(key, _)| key.as_ref())];
    let begin = thread_time();
    let made = shared.pool.fill_some(keys, shared.generation, BATCH, rng);
    let Some(each) = thread_time().saturating_sub(begin).checked_div(made as u32) else {
        return Duration::ZERO;
    };
    shared.precursor_cost.store(nanos(each), Ordering::Relaxed);
    each * made as u32
}
