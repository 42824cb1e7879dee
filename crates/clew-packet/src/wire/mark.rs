//! The mark, which says that signing met a trailer: specification section 3.1.

use crate::{
    reason::Reason,
    wire::block::MARK,
    wire::saved::{self, Saved},
    wire::trailer::{FOOT_BYTES, Foot, VERSION, split_end},
};

/// Length of the largest mark in bytes.
pub(crate) const MARK_BYTES_MAX: usize = 6 + COUNT_BYTES + FOOT_BYTES;

const COUNT_BYTES: usize = 1;

/// A mark, parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What the packet within had in fields that the first marking rewrote.
    pub saved: Saved,
    /// How many runs of signing passed the packet after it had its trailer; at least 1.
    pub count: u8,
}

impl Mark {
    /// Parses the mark at the end of `upper`, whose foot names that mode.
    ///
    /// # Errors
    /// `unknown-version`, `bad-trailer-length`, `reserved-bits`, `bad-mark`.
    pub(crate) fn parse(upper: &[u8], foot: &Foot) -> Result<Self, Reason> {
        foot.check(upper.len())?;
        if foot.flags & !saved::flag::ALL != 0 {
            return Err(Reason::ReservedBits);
        }
        if foot.length != Saved::bytes(foot.flags) + COUNT_BYTES + FOOT_BYTES {
            return Err(Reason::BadTrailerLength);
        }
        let (_, mark) = split_end(upper, foot.length)?;
        let (saved, rest) = mark.split_at(Saved::bytes(foot.flags));
        match rest[0] {
            0 => Err(Reason::BadMark),
            count => Ok(Self {
                saved: Saved::parse(foot.flags, saved),
                count,
            }),
        }
    }

    /// Returns the length in bytes.
    pub fn length(&self) -> usize {
        self.saved.length() + COUNT_BYTES + FOOT_BYTES
    }

    /// Writes the mark.
    ///
    /// # Panics
    /// If `buffer` is not [`length`](Self::length) bytes long.
    pub fn emit(&self, buffer: &mut [u8]) {
        let (saved, rest) = buffer.split_at_mut(self.saved.length());
        let (count, foot) = rest.split_at_mut(COUNT_BYTES);
        self.saved.emit(saved);
        count[0] = self.count;
        let (flags, length) = (self.saved.flags(), self.length());
        Foot {
            flags,
            mode: MARK,
            length,
            version: VERSION,
        }
        .emit(foot);
    }
}
