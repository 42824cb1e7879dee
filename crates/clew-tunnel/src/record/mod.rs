//! Service records: `spec/tunnel.md` section 3, and the identity of a host (12).

mod cert;
mod dns;
mod ecert;
mod identity;
mod secrets;
mod signing;
mod verify;

use alloc::vec::Vec;

pub use cert::{Cert, CertBody, check_hostname};
pub use dns::{from_dns_cert, from_dns_ecert, to_dns_cert, to_dns_ecert};
pub(crate) use ecert::ECERT_BYTES_MIN;
pub use ecert::{Authenticators, ECERT_BYTES_MAX, Ecert, EcertBody};
pub use identity::Identity;
pub use secrets::{RECORD_LABEL, SERVER_LABEL, ServerSecret, USER_LABEL, UserSecret};
pub use signing::SigningSecret;
pub use verify::Wanted;

use crate::reason::Reason;
use clew_wire::Reader;

/// Bytes of a signature of Ed25519, and of its public keys.
const SIGNATURE_BYTES: usize = 64;
const KEY_BYTES: usize = 32;

/// Least bytes of a part: signature and version.
const PART_BYTES_MIN: usize = SIGNATURE_BYTES + 2;

/// The version that is known here.
const VERSION: [u8; 2] = [0, 0];

/// A certificate and an ephemeral certificate, in their fields. Nothing of it is verified: [`Wanted::verify`]
/// does that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Binds S to a hostname.
    pub cert: Cert,
    /// Binds S' to S.
    pub ecert: Ecert,
}

impl Record {
    /// Reads a record.
    ///
    /// # Errors
    /// `record-length`, `record-version`: the first of section 3.3 that applies.
    pub fn parse(bytes: &[u8]) -> Result<Self, Reason> {
        let mut at = Reader(bytes);
        let mut part = || {
            let length = at.u16()?;
            at.take(length.into())
        };
        let (cert, ecert) = part().zip(part()).ok_or(Reason::RecordLength)?;
        if !at.0.is_empty() {
            return Err(Reason::RecordLength);
        }
        Self::of(cert, ecert)
    }

    /// Reads the two parts of a record.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn of(cert: &[u8], ecert: &[u8]) -> Result<Self, Reason> {
        let parts = [cert, ecert];
        if parts.iter().any(|part| part.len() < PART_BYTES_MIN) {
            return Err(Reason::RecordLength);
        }
        if parts.iter().any(|part| !has_version(part)) {
            return Err(Reason::RecordVersion);
        }
        Ok(Self {
            cert: Cert::parse(cert)?,
            ecert: Ecert::parse(ecert)?,
        })
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for part in [self.cert.to_bytes(), self.ecert.to_bytes()] {
            // Both are far below 65,536 bytes by their counts of one byte.
            out.extend_from_slice(&(part.len() as u16).to_be_bytes());
            out.extend_from_slice(&part);
        }
        out
    }
}

/// Whether the version behind the signature is the one that is known.
fn has_version(part: &[u8]) -> bool {
    part.get(SIGNATURE_BYTES..PART_BYTES_MIN) == Some(&VERSION)
}

/// The signature and the body of a part, as they stand.
fn split(part: &[u8]) -> Result<([u8; SIGNATURE_BYTES], &[u8]), Reason> {
    if part.len() < PART_BYTES_MIN {
        return Err(Reason::RecordLength);
    }
    if !has_version(part) {
        return Err(Reason::RecordVersion);
    }
    let (signature, body) = part.split_first_chunk().ok_or(Reason::RecordLength)?;
    Ok((*signature, body))
}
