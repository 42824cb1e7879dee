//! RPCs that wait, one behind the other in one piece of memory.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::limits::PACKET_MAX;

/// What is behind the front is moved to it when more than this many bytes in front of it are read.
const SLACK: usize = 4_096;

/// Byte strings in their order.
#[derive(Debug, Default)]
pub(super) struct Queue {
    bytes: Vec<u8>,
    begin: usize,
    lengths: VecDeque<u16>,
}

impl Queue {
    /// Nothing.
    pub(super) const fn new() -> Self {
        Self {
            bytes: Vec::new(),
            begin: 0,
            lengths: VecDeque::new(),
        }
    }

    /// Adds what `write` writes, unless it refuses.
    pub(crate) fn push_with<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<usize, E> {
        self.reserve(PACKET_MAX);
        let begin = self.bytes.len();
        if let Err(refused) = write(&mut self.bytes) {
            self.bytes.truncate(begin);
            return Err(refused);
        }
        let length = self.bytes.len() - begin;
        debug_assert!(length <= usize::from(u16::MAX), "an RPC fits a packet");
        self.lengths.push_back(length as u16);
        Ok(length)
    }

    /// Adds these bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        self.bytes.extend_from_slice(bytes);
        self.lengths.push_back(bytes.len() as u16);
    }

    /// Memory grows by a quarter, not by as much again: what others make us keep is bounded by what they may send.
    fn reserve(&mut self, bytes: usize) {
        if self.bytes.capacity() - self.bytes.len() < bytes {
            let more = bytes.max(self.bytes.len() / 4);
            self.bytes.reserve_exact(more);
        }
    }

    /// The first one.
    pub(super) fn front(&self) -> Option<&[u8]> {
        let length = usize::from(*self.lengths.front()?);
        self.bytes.get(self.begin..self.begin + length)
    }

    /// Takes the first one away.
    pub(super) fn pop(&mut self) {
        let Some(length) = self.lengths.pop_front() else {
            return;
        };
        self.begin += usize::from(length);
        if self.lengths.is_empty() {
            // An idle connection keeps no memory for what it once had.
            *self = Self::default();
        } else if self.begin > SLACK && self.begin * 2 > self.bytes.len() {
            self.bytes.drain(..self.begin);
            self.begin = 0;
        }
    }

    /// How many bytes wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len() - self.begin
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_takes_little_more_memory_than_it_has_bytes() {
        let mut queue = Queue::new();
        for n in 1..4_000 {
            queue.push(&[7; 1_100]);
            let most = queue.bytes() * 5 / 4 + 1_100;
            assert!(
                queue.bytes.capacity() <= most,
                "{n}: {}",
                queue.bytes.capacity()
            );
        }
    }
}
