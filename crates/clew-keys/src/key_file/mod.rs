//! Key files: the member's, the issuer's, a trustee's, an author's, a log's. Formats in `spec/key-file.md`.

mod author;
mod issuer;
mod log;
mod member;
mod trustee;

pub use author::{Author, AuthorKeyFile, is_contributory};
pub use issuer::{IssuerKey, IssuerKeyFile};
pub use log::LogKeyFile;
pub use member::{HeldEpoch, MAX_HELD_EPOCHS, MemberKeyFile};
pub use trustee::{OpeningShare, TrusteeKeyFile};

use clew_evidence::wire::Reader;
use clew_group::Scheme;

/// Reads a scheme's code point.
fn scheme(fields: &mut Reader<'_>) -> Option<Scheme> {
    Scheme::from_code(fields.u8()?)
}
