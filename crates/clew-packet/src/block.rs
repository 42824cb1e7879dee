//! What the mode needs besides the signature: specification section 3.2.

use crate::{
    bytes::{put_u16, u16_at},
    reason::Reason,
};

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

    /// The word for it in files and on terminals.
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
    /// One signature for a window of packets.
    Window {
        /// Number of packets.
        k: u16,
        /// Hash over the window, 32 bytes.
        h: &'a [u8],
    },
    /// One signature for a block of packets under a tree.
    Tree {
        /// Which block, 16 bytes.
        id: &'a [u8],
        /// Which packet of it.
        index: u16,
        /// Number of packets.
        count: u16,
        /// Size of a digest in bytes.
        digest: u8,
        /// Siblings on the way to the root, each of the digest's size.
        path: &'a [u8],
    },
}

impl<'a> Block<'a> {
    /// Parses all of `bytes`; none if they are not exactly what the mode needs.
    pub(crate) fn parse(mode: Mode, bytes: &'a [u8]) -> Option<Self> {
        match mode {
            Mode::Each => bytes.is_empty().then_some(Self::Each),
            Mode::Window => (bytes.len() == window::BYTES).then(|| Self::Window {
                k: u16_at(bytes, window::K),
                h: &bytes[window::H],
            }),
            Mode::Tree => Self::parse_tree(bytes),
        }
    }

    fn parse_tree(bytes: &'a [u8]) -> Option<Self> {
        let (fixed, path) = bytes.split_at_checked(tree::PATH)?;
        let digest = fixed[tree::DIGEST];
        let path_bytes = usize::from(digest) * usize::from(fixed[tree::DEPTH]);
        // The depth is known from the path again, so that a digest of no bytes has no depth.
        let canonical = digest > 0 || fixed[tree::DEPTH] == 0;
        (path.len() == path_bytes && canonical).then(|| Self::Tree {
            id: &fixed[tree::ID],
            index: u16_at(fixed, tree::INDEX),
            count: u16_at(fixed, tree::COUNT),
            digest,
            path,
        })
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

    /// Writes the section to a buffer of its length.
    pub(crate) fn emit(&self, buffer: &mut [u8]) {
        match *self {
            Self::Each => {}
            Self::Window { k, h } => {
                put_u16(buffer, window::K, k);
                buffer[window::H].copy_from_slice(h);
            }
            Self::Tree {
                id,
                index,
                count,
                digest,
                path,
            } => {
                buffer[tree::ID].copy_from_slice(id);
                put_u16(buffer, tree::INDEX, index);
                put_u16(buffer, tree::COUNT, count);
                buffer[tree::DIGEST] = digest;
                buffer[tree::DEPTH] =
                    path.len().checked_div(usize::from(digest)).unwrap_or(0) as u8;
                buffer[tree::PATH..].copy_from_slice(path);
            }
        }
    }
}
