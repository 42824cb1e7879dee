//! Key files: the member's, the issuer's, a trustee's. Formats in `spec/key-file.md`.

mod issuer;
mod member;
mod trustee;

pub use issuer::{IssuerKey, IssuerKeyFile};
pub use member::{HeldEpoch, MAX_HELD_EPOCHS, MemberKeyFile};
pub use trustee::{OpeningShare, TrusteeKeyFile};

use clew_evidence::wire::Reader;
use clew_group::Scheme;

/// Reads a scheme's code point.
fn scheme(fields: &mut Reader<'_>) -> Option<Scheme> {
    Scheme::from_code(fields.u8()?)
}
