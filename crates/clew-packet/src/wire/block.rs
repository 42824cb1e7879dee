//! What the mode needs besides the signature: specification section 3.2.

use clew_tree::DigestSize;

use crate::{
    reason::Reason,
    wire::bytes::{put_u16, u16_at},
};

/// Most packets of a window.
pub const WINDOW_MAX: u16 = 1024;

/// The code point that stands in a mark where a trailer has its mode.
pub(crate) const MARK: u8 = 0;

/// Byte ranges of the block section in mode `window`.
mod window {
    use core::ops::Range;

    pub(super) const K: usize = 0;
    pub(super) const H: Range<usize> = 2..34;
    pub(super) const BYTES: usize = 34;
}

/// Byte ranges of the block section in mode `tree`.
mod tree {
    use core::ops::Range;

    pub(super) const ID: Range<usize> = 0..16;
    pub(super) const INDEX: usize = 16;
    pub(super) const COUNT: usize = 18;
    pub(super) const DIGEST: usize = 20;
    pub(super) const DEPTH: usize = 21;
    pub(super) const PATH: usize = 22;
}

/// Which block section a trailer has, by its code point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every packet is signed for itself.
    Each = 1,
    /// One signature for a window of packets.
    Window = 2,
    /// One signature for a block of packets under a tree.
    Tree = 3,
}

impl Mode {
    /// Returns the mode that a trailer's foot names.
    pub(crate) fn parse(byte: u8) -> Result<Self, Reason> {
        match byte {
            1 => Ok(Self::Each),
            2 => Ok(Self::Window),
            3 => Ok(Self::Tree),
            _ => Err(Reason::UnknownMode),
        }
    }

    /// Returns the word for it in files and on terminals.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Each => "each",
            Self::Window => "window",
            Self::Tree => "tree",
        }
    }
}

/// The block section, parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block<'a> {
    /// Empty: every packet is signed for itself.
    Each,
    /// One signature for this packet and those before it in its flow.
    Window {
        /// Number of packets, this one counted: 1 to [`WINDOW_MAX`].
        k: u16,
        /// Hash over those before, 32 bytes; zeros if there are none.
        h: &'a [u8; 32],
    },
    /// One signature for a block of packets under a tree.
    Tree {
        /// Which block.
        block: clew_tree::Block,
        /// Which packet of it.
        index: u16,
        /// Digests on the way to the root.
        path: &'a [u8],
    },
}

impl<'a> Block<'a> {
    /// Length in bytes of the section in mode `window`.
    pub(crate) const WINDOW_BYTES: usize = window::BYTES;

    /// Parses all of `bytes`.
    ///
    /// # Errors
    /// `bad-trailer-length` if they are not exactly what the mode needs; `bad-block` if a value is
    /// out of its bounds.
    pub(crate) fn parse(mode: Mode, bytes: &'a [u8]) -> Result<Self, Reason> {
        match mode {
            Mode::Each if bytes.is_empty() => Ok(Self::Each),
            Mode::Each => Err(Reason::BadTrailerLength),
            Mode::Window => Self::parse_window(bytes),
            Mode::Tree => Self::parse_tree(bytes),
        }
    }

    fn parse_window(bytes: &'a [u8]) -> Result<Self, Reason> {
        let fits = bytes.len() == window::BYTES;
        let h = bytes.last_chunk().filter(|_| fits);
        let h = h.ok_or(Reason::BadTrailerLength)?;
        let k = u16_at(bytes, window::K);
        let canonical = (1..=WINDOW_MAX).contains(&k) && (k > 1 || *h == [0; 32]);
        canonical
            .then_some(Self::Window { k, h })
            .ok_or(Reason::BadBlock)
    }

    fn parse_tree(bytes: &'a [u8]) -> Result<Self, Reason> {
        let (length, depth) = Self::tree_length(bytes)?;
        if bytes.len() != length {
            return Err(Reason::BadTrailerLength);
        }
        let (fixed, path) = bytes.split_at(tree::PATH);
        let digest = fixed[tree::DIGEST];
        let (index, count) = (u16_at(fixed, tree::INDEX), u16_at(fixed, tree::COUNT));
        let mut id = [0; clew_tree::ID_BYTES];
        id.copy_from_slice(&fixed[tree::ID]);
        DigestSize::from_bytes(digest)
            .and_then(|digest| clew_tree::Block::new(id, count, digest))
            .filter(|block| block.depth(index) == Some(depth))
            .map(|block| Self::Tree { block, index, path })
            .ok_or(Reason::BadBlock)
    }

    /// Returns the length in bytes of a section of mode `tree` that `bytes` begin with, and the depth,
    /// by digest size and depth as they stand.
    ///
    /// # Errors
    /// `bad-trailer-length` if there are fewer bytes than say so.
    pub(crate) fn tree_length(bytes: &[u8]) -> Result<(usize, usize), Reason> {
        let fixed = bytes.get(..tree::PATH).ok_or(Reason::BadTrailerLength)?;
        let (digest, depth) = (fixed[tree::DIGEST], usize::from(fixed[tree::DEPTH]));
        Ok((tree::PATH + usize::from(digest) * depth, depth))
    }

    /// Returns the mode.
    pub const fn mode(&self) -> Mode {
        match self {
            Self::Each => Mode::Each,
            Self::Window { .. } => Mode::Window,
            Self::Tree { .. } => Mode::Tree,
        }
    }

    /// Returns the length in bytes.
    pub(crate) const fn length(&self) -> usize {
        match self {
            Self::Each => 0,
            Self::Window { .. } => window::BYTES,
            Self::Tree { path, .. } => tree::PATH + path.len(),
        }
    }

    /// Returns the length in bytes of a section in a block of up to `most` packets, at most.
    pub(crate) fn length_max(mode: Mode, digest: DigestSize, most: u16) -> usize {
        match mode {
            Mode::Each => 0,
            Mode::Window => window::BYTES,
            Mode::Tree => tree::PATH + digest.bytes() * depth_max(most),
        }
    }

    /// Writes the section to a buffer of its length.
    pub(crate) fn emit(&self, buffer: &mut [u8]) {
        match *self {
            Self::Each => {}
            Self::Window { k, h } => {
                put_u16(buffer, window::K, k);
                buffer[window::H].copy_from_slice(h);
            }
            Self::Tree { block, index, path } => {
                let digest = block.digest().bytes();
                buffer[tree::ID].copy_from_slice(block.id());
                put_u16(buffer, tree::INDEX, index);
                put_u16(buffer, tree::COUNT, block.count());
                buffer[tree::DIGEST] = digest as u8;
                buffer[tree::DEPTH] = (path.len() / digest) as u8;
                buffer[tree::PATH..].copy_from_slice(path);
            }
        }
    }
}

/// Digests of the longest path in a block of so many packets.
pub(crate) const fn depth_max(packets: u16) -> usize {
    (u16::BITS - packets.saturating_sub(1).leading_zeros()) as usize
}
