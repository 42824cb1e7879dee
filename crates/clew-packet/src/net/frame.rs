//! A frame as it was captured: the one input of everything in this crate.

use crate::{net::link::LinkType, reason::Reason};

/// One frame of a capture or of a live interface.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The first header's kind.
    pub link: LinkType,
    /// The bytes that were captured.
    pub bytes: &'a [u8],
    /// How many bytes there were on the wire; equal to `bytes.len()` live. A smaller number, which
    /// broken captures have, counts as `bytes.len()`.
    pub wire_len: usize,
}

impl<'a> Frame<'a> {
    /// Returns a frame that was captured whole.
    pub const fn whole(link: LinkType, bytes: &'a [u8]) -> Self {
        Self {
            link,
            bytes,
            wire_len: bytes.len(),
        }
    }

    /// Returns the frame that signing or stripping made of this one: its length on the wire differs
    /// from this one's by as much as its bytes do.
    pub const fn with<'b>(&self, bytes: &'b [u8]) -> Frame<'b> {
        let wire_len = self
            .wire_len
            .saturating_add(bytes.len())
            .saturating_sub(self.bytes.len());
        Frame {
            link: self.link,
            bytes,
            wire_len,
        }
    }

    /// Returns `len` bytes at `at`.
    ///
    /// # Errors
    /// `truncated` if the wire had them and the capture does not; `missing` if the wire had not.
    pub(crate) fn slice(&self, at: usize, len: usize, missing: Reason) -> Result<&'a [u8], Reason> {
        let end = at + len;
        if end > self.wire_len.max(self.bytes.len()) {
            return Err(missing);
        }
        self.bytes.get(at..end).ok_or(Reason::Truncated)
    }

    /// Returns `N` bytes at `at`; errors as [`slice`](Self::slice).
    pub(crate) fn read<const N: usize>(
        &self,
        at: usize,
        missing: Reason,
    ) -> Result<[u8; N], Reason> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.slice(at, N, missing)?);
        Ok(bytes)
    }
}
