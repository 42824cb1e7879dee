//! Packets that wait for the signature of another one of their block.

use super::order::Token;
use super::queue::Source;
use clew_packet::{Affinity, Pending};
use std::collections::HashMap;

/// Most packets that wait for another's signature.
pub const FOLLOWERS_MAX: usize = 1 << 14;

/// A block as one source brings it: nobody's copy of a packet holds the original up.
pub(super) type Leader = (Source, Affinity);

/// All of them, by the block.
#[derive(Debug, Default)]
pub(super) struct Followers {
    blocks: HashMap<Leader, Vec<(Pending, Token)>>,
    count: usize,
}

impl Followers {
    /// Takes a packet in. Returns it if its own signature is to be verified: it is the first of its
    /// block, or too many wait.
    pub fn add(&mut self, leader: Leader, pending: Pending, token: Token) -> Option<Pending> {
        match self.blocks.get_mut(&leader) {
            Some(waiting) if self.count < FOLLOWERS_MAX => {
                self.count += 1;
                waiting.push((pending, token));
                None
            }
            Some(_) => Some(pending),
            None => {
                self.blocks.insert(leader, Vec::new());
                Some(pending)
            }
        }
    }

    /// Takes out the packets of a block.
    pub fn remove(&mut self, leader: &Leader) -> Vec<(Pending, Token)> {
        let waiting = self.blocks.remove(leader).unwrap_or_default();
        self.count -= waiting.len();
        waiting
    }

    /// Returns how many wait.
    pub const fn count(&self) -> usize {
        self.count
    }
}
