//! RPCs that wait, one behind the other in one piece of memory.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

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
        self.bytes.extend_from_slice(bytes);
        self.lengths.push_back(bytes.len() as u16);
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
