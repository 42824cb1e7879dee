//! Key files: the member's, the issuer's, a trustee's. Formats in `spec/key-file.md`.

mod issuer;
mod member;
mod trustee;

pub use issuer::{IssuerKey, IssuerKeyFile};
pub use member::{HeldEpoch, MAX_HELD_EPOCHS, MemberKeyFile};
pub use trustee::{OpeningShare, TrusteeKeyFile};

use clew_evidence::TextError;
use clew_evidence::wire::Fields;
use clew_group::Scheme;
use std::fmt;

/// Reads a scheme's code point.
fn scheme(fields: &mut Fields<'_>) -> Option<Scheme> {
    Scheme::from_code(fields.u8()?)
}

/// All of `read`, or nothing if bytes are left over.
pub(crate) fn whole<T>(fields: &Fields<'_>, read: T) -> Option<T> {
    fields.0.is_empty().then_some(read)
}

/// Why a key file was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// Its text is not that of such a key.
    Text(TextError),
    /// The passphrase or key file does not open it.
    WrongSecret,
}

impl KeyError {
    /// A field is wrong.
    pub const DAMAGED: Self = Self::Text(TextError::Damaged);

    /// The rule's name in `spec/key-file.md` section 7.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Text(error) => error.as_str(),
            Self::WrongSecret => "wrong-secret",
        }
    }
}

impl From<TextError> for KeyError {
    fn from(error: TextError) -> Self {
        Self::Text(error)
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(error) => error.fmt(f),
            Self::WrongSecret => f.write_str("wrong passphrase or secret file"),
        }
    }
}

impl std::error::Error for KeyError {}
