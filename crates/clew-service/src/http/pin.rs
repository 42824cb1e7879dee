//! The fingerprint of a server's key.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// What a pin begins with, in text.
const LABEL: &str = "SHA256:";

/// SHA-256 of a certificate's public key (`SubjectPublicKeyInfo`, RFC 7469 section 2.4), in text as ssh
/// prints fingerprints. It stays when the certificate is renewed with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin([u8; 32]);

impl Pin {
    /// The pin of a public key in DER.
    pub fn of(key: &[u8]) -> Self {
        Self(Sha256::digest(key).into())
    }

    /// The hash itself.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{LABEL}{}", STANDARD_NO_PAD.encode(self.0))
    }
}

impl FromStr for Pin {
    type Err = ();

    /// Reads `SHA256:` and 43 digits of base64.
    fn from_str(text: &str) -> Result<Self, ()> {
        let bytes = text.strip_prefix(LABEL).ok_or(())?;
        let bytes = STANDARD_NO_PAD.decode(bytes).map_err(drop)?;
        bytes.try_into().map(Self).map_err(drop)
    }
}
