//! The long-term certificate: `spec/tunnel.md` section 3.1.

use alloc::vec::Vec;

use super::signing::{self, SigningSecret};
use super::{KEY_BYTES, SIGNATURE_BYTES, VERSION, split};
use crate::reason::Reason;
use crate::x25519::Public;
use clew_wire::Reader;

const LABEL: &[u8; 16] = b"clew-mlt-cert\0\0\0";
const HOSTNAME_MAX: usize = 253;
const PART_MAX: usize = 63;

/// What a certificate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertBody {
    /// The key that signs it; for a self-signed one it is `signing`.
    pub issuer: [u8; KEY_BYTES],
    /// The signing key of S.
    pub signing: [u8; KEY_BYTES],
    /// The boxing key of S.
    pub boxing: Public,
    /// Since when, in milliseconds since 1970.
    pub start: u64,
    /// Until when, in milliseconds since 1970.
    pub end: u64,
    /// Of at most 255 bytes; [`check_hostname`] says whether it is well-formed.
    pub hostname: Vec<u8>,
}

/// A certificate: what it says, and a signature that may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cert {
    /// By `issuer`.
    pub signature: [u8; SIGNATURE_BYTES],
    /// What is signed.
    pub body: CertBody,
}

impl Cert {
    /// Signs a certificate. The issuer becomes that of the secret, and a hostname has at most 255 bytes.
    ///
    /// # Errors
    /// `bad-hostname`.
    pub fn sign(mut body: CertBody, issuer: &SigningSecret) -> Result<Self, Reason> {
        check_hostname(&body.hostname)?;
        body.issuer = issuer.public();
        let signature = issuer.sign(LABEL, &body.to_bytes());
        Ok(Self { signature, body })
    }

    /// Reads a certificate.
    ///
    /// # Errors
    /// `record-length`, `record-version`.
    pub fn parse(bytes: &[u8]) -> Result<Self, Reason> {
        let (signature, body) = split(bytes)?;
        let body = CertBody::read(body).ok_or(Reason::RecordLength)?;
        Ok(Self { signature, body })
    }

    /// Its bytes: a fixed number and the hostname's.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.signature[..], &self.body.to_bytes()].concat()
    }

    /// Whether the issuer signed it.
    pub(super) fn is_signed(&self) -> bool {
        let body = self.body.to_bytes();
        signing::holds(&self.body.issuer, LABEL, &body, &self.signature)
    }
}

impl CertBody {
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut at = Reader(bytes);
        at.array::<2>()?;
        let body = Self {
            issuer: at.array()?,
            signing: at.array()?,
            boxing: Public(at.array()?),
            start: at.u64()?,
            end: at.u64()?,
            hostname: {
                let length = at.u8()?;
                at.take(length.into())?.to_vec()
            },
        };
        at.0.is_empty().then_some(body)
    }

    fn to_bytes(&self) -> Vec<u8> {
        // A hostname that was read or signed has one byte of length.
        let length = [self.hostname.len() as u8];
        let parts: [&[u8]; 8] = [
            &VERSION,
            &self.issuer,
            &self.signing,
            &self.boxing.0,
            &self.start.to_be_bytes(),
            &self.end.to_be_bytes(),
            &length,
            &self.hostname,
        ];
        parts.concat()
    }
}

/// Whether a hostname is well-formed: 1 to 253 bytes, parts of 1 to 63 of `a-z 0-9 -` without `-` at an
/// end, joined by dots.
///
/// # Errors
/// `bad-hostname`.
pub fn check_hostname(hostname: &[u8]) -> Result<(), Reason> {
    let is_part = |part: &[u8]| {
        (1..=PART_MAX).contains(&part.len())
            && part
                .iter()
                .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
            && !part.starts_with(b"-")
            && !part.ends_with(b"-")
    };
    let good = hostname.len() <= HOSTNAME_MAX && hostname.split(|b| *b == b'.').all(is_part);
    good.then_some(()).ok_or(Reason::BadHostname)
}
