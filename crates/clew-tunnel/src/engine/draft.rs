//! The RPCs of a packet that is being written.

use alloc::vec::Vec;

use crate::wire::rpc::Rpc;

/// RPCs, one behind the other, as far as there is room.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    out: &'a mut Vec<u8>,
    room: usize,
    count: usize,
}

impl<'a> Draft<'a> {
    /// Room for so many bytes and RPCs behind what `out` has.
    pub(super) const fn new(out: &'a mut Vec<u8>, room: usize, count: usize) -> Self {
        Self { out, room, count }
    }

    /// Whether there is room for another RPC of so many bytes.
    pub(super) const fn fits(&self, bytes: usize) -> bool {
        self.count > 0 && bytes <= self.room
    }

    /// Writes an RPC, if it fits.
    pub(super) fn push(&mut self, rpc: &[u8]) -> bool {
        let fits = self.fits(rpc.len());
        if fits {
            self.out.extend_from_slice(rpc);
            self.took(rpc.len());
        }
        fits
    }

    /// Writes an RPC of connection 0, if it fits.
    pub(super) fn control(&mut self, rpc: &Rpc<'_>) -> bool {
        let begin = self.out.len();
        let is_written = rpc.write(self.out).is_ok();
        let bytes = self.out.len() - begin;
        if !is_written || !self.fits(bytes) {
            self.out.truncate(begin);
            return false;
        }
        self.took(bytes);
        true
    }

    fn took(&mut self, bytes: usize) {
        self.room -= bytes;
        self.count -= 1;
    }
}
