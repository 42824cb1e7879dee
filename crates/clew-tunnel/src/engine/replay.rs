//! What was accepted before: `spec/tunnel.md` section 6.2, the replay set, and 10.2.

use alloc::collections::VecDeque;
use clew_wire::WallTime;
use core::time::Duration;

use hashbrown::HashSet;

use super::hash::{Hashed, Hasher};
use crate::reason::Reason;

/// 8 bytes of a keyed hash of each thing that was accepted, as long as it could be accepted again: of C',
/// up to the end of the acceptance window of its packet's nonce, which is REPLAY_KEEP after its acceptance at
/// most; of a solution's n', up to PUZZLE_LIFE. Of two different ones one in 2^64 pairs has the same hash, and
/// nobody can find such without the secret.
#[derive(Debug)]
pub(super) struct ReplaySet {
    hasher: Hasher,
    most: usize,
    life: Duration,
    known: HashSet<u64, Hashed>,
    /// In the order of acceptance, with their times.
    order: VecDeque<(u64, u64)>,
    floor: u64,
}

impl ReplaySet {
    /// A set of at most `most` of this run, each good for `life` after its time.
    pub(super) fn new(hasher: Hasher, most: usize, life: Duration) -> Self {
        Self {
            hasher,
            most: most.max(1),
            life,
            known: HashSet::with_hasher(Hashed),
            order: VecDeque::new(),
            floor: 0,
        }
    }

    /// Whether this is known.
    pub(super) fn has(&self, thing: &[u8]) -> bool {
        self.known.contains(&self.hasher.of(thing))
    }

    /// Whether this, of time `t`, may have been accepted.
    ///
    /// # Errors
    /// `replayed`.
    pub(super) fn check(&self, thing: &[u8], t: u64) -> Result<(), Reason> {
        if t <= self.floor || self.has(thing) {
            return Err(Reason::Replayed);
        }
        Ok(())
    }

    /// Remembers it. `now` is the server's time, which never goes back.
    pub(super) fn insert(&mut self, thing: &[u8], t: u64, now: WallTime) {
        self.expire(now);
        if self.order.len() >= self.most {
            // A sixteenth at once: the floor rises in steps, not with each packet.
            for _ in 0..(self.most / 16).max(1) {
                if let Some(t) = self.forget_oldest() {
                    self.floor = self.floor.max(t);
                }
            }
        }
        let hash = self.hasher.of(thing);
        if self.known.insert(hash) {
            self.order.push_back((hash, t));
        }
    }

    /// How many are remembered.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Forgets what is too old to be accepted.
    fn expire(&mut self, now: WallTime) {
        while let Some((_, t)) = self.order.front()
            && WallTime::from_nanos(*t) + self.life < now
        {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) -> Option<u64> {
        let (hash, t) = self.order.pop_front()?;
        self.known.remove(&hash);
        Some(t)
    }
}
