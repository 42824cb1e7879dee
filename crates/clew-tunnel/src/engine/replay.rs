//! Which initiation packets were accepted: `spec/tunnel.md` section 6.2, the replay set.

use alloc::collections::VecDeque;

use hashbrown::HashSet;

use super::hash::{Hashed, Hasher};
use crate::keys::Nonce;
use crate::limits::WINDOW;
use crate::reason::Reason;
use crate::x25519::Public;

/// 8 bytes of a keyed hash of each C' that was accepted, as long as its packet could be accepted again: up
/// to the end of the acceptance window of its nonce, which is REPLAY_KEEP after its acceptance at most. Of
/// two different keys one in 2^64 pairs has the same hash, and nobody can find such without the secret.
#[derive(Debug)]
pub struct ReplaySet {
    hasher: Hasher,
    most: usize,
    known: HashSet<u64, Hashed>,
    /// In the order of acceptance, with the nonce's t.
    order: VecDeque<(u64, u64)>,
    floor: u64,
}

impl ReplaySet {
    /// A set of at most `most` keys, of this run alone.
    pub fn new(hasher: Hasher, most: usize) -> Self {
        Self {
            hasher,
            most: most.max(1),
            known: HashSet::with_hasher(Hashed),
            order: VecDeque::new(),
            floor: 0,
        }
    }

    /// Whether a packet with this C' and nonce may be one that was accepted.
    ///
    /// # Errors
    /// `replayed`.
    pub fn check(&self, client: &Public, nonce: Nonce) -> Result<(), Reason> {
        if nonce.t() <= self.floor || self.known.contains(&self.hasher.of(&client.0)) {
            return Err(Reason::Replayed);
        }
        Ok(())
    }

    /// Remembers an accepted packet. `now` is the server's time in nanoseconds, which never goes back.
    pub fn insert(&mut self, client: &Public, nonce: Nonce, now: u64) {
        self.expire(now);
        if self.order.len() >= self.most {
            // A sixteenth at once: the floor rises in steps, not with each packet.
            for _ in 0..(self.most / 16).max(1) {
                if let Some(t) = self.forget_oldest() {
                    self.floor = self.floor.max(t);
                }
            }
        }
        let hash = self.hasher.of(&client.0);
        if self.known.insert(hash) {
            self.order.push_back((hash, nonce.t()));
        }
    }

    /// How many are remembered.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Forgets what the acceptance window keeps out.
    fn expire(&mut self, now: u64) {
        while let Some((_, t)) = self.order.front()
            && t.saturating_add(WINDOW) < now
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
