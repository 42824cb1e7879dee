//! What stands in the text forms of section 3, whose envelope is that of `spec/key-file.md` section 1.

use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::{Cert, SigningSecret};
use crate::reason::Reason;
use crate::x25519::{BYTES, Secret};

/// Label of a record's text form; [`super::Record::to_bytes`] is what it has.
pub const RECORD_LABEL: &str = "clew-tunnel-record-1";
/// Label of a server's secret.
pub const SERVER_LABEL: &str = "clew-tunnel-server-1";
/// Label of a user's secret.
pub const USER_LABEL: &str = "clew-tunnel-user-1";

/// S with its certificate.
#[derive(Debug)]
pub struct ServerSecret {
    /// Signs ephemeral certificates.
    pub signing: SigningSecret,
    /// Opens authenticators.
    pub boxing: Secret,
    /// Of its public keys.
    pub cert: Cert,
}

impl ServerSecret {
    /// Reads the payload.
    ///
    /// # Errors
    /// `record-length`, `record-version`; `record-keys` if the certificate is of other keys.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Reason> {
        let (seed, rest) = bytes.split_first_chunk().ok_or(Reason::RecordLength)?;
        let (boxing, cert) = rest.split_first_chunk().ok_or(Reason::RecordLength)?;
        let secret = Self {
            signing: SigningSecret::from_seed(seed),
            boxing: Secret::from_bytes(*boxing),
            cert: Cert::parse(cert)?,
        };
        let body = &secret.cert.body;
        let public = crate::keys::public(&secret.boxing);
        let same = body.signing == secret.signing.public() && body.boxing == public;
        same.then_some(secret).ok_or(Reason::RecordKeys)
    }

    /// The payload.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let parts: [&[u8]; 3] = [
            self.signing.seed(),
            self.boxing.as_bytes(),
            &self.cert.to_bytes(),
        ];
        Zeroizing::new(parts.concat())
    }
}

/// U. Its payload is its 32 bytes.
#[derive(Debug)]
pub struct UserSecret(pub Secret);

impl UserSecret {
    /// Reads the payload. None if it has not 32 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        Some(Self(Secret::from_bytes(*bytes)))
    }

    /// The payload.
    pub fn to_bytes(&self) -> Zeroizing<[u8; BYTES]> {
        Zeroizing::new(*self.0.as_bytes())
    }
}
