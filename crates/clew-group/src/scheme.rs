//! What both schemes share: their names, and the id that ties signatures to an epoch.

use core::fmt;

/// Size of a founding key, what record 0 of a group file has of the public key, in either scheme:
/// two points of G1 (48 bytes each), w (96).
pub const FOUNDING_BYTES: usize = 192;

/// A group signature scheme, by its code point in trailers, group files and key files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// [`crate::bbs04`].
    Bbs04 = 1,
    /// [`crate::xr`], the default.
    Xr = 2,
}

impl Scheme {
    /// Returns the scheme with that code point.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Bbs04),
            2 => Some(Self::Xr),
            _ => None,
        }
    }

    /// Returns its code point.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns its name: `bbs04` or `xr`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bbs04 => "bbs04",
            Self::Xr => "xr",
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The name of the public key of one epoch and of all epochs before it: SHA-256 of the epoch's
/// record in the group file (`spec/group-file.md` section 2). Every signature's challenge binds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EpochId(pub [u8; 32]);

impl AsRef<[u8]> for EpochId {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
