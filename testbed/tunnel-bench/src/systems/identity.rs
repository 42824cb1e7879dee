//! The certificates of server and user. The processes of `memory` hand them to each other as a line of text.

use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, SignatureAlgorithm};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::fmt::Write;
use std::io;

/// The only name of the server.
pub const NAME: &str = "localhost";

/// A certificate that signs itself, and its key.
#[derive(Clone)]
pub struct Certificate {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Certificate {
    fn new(algorithm: &'static SignatureAlgorithm) -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate_for(algorithm)?;
        let certificate = CertificateParams::new(vec![NAME.to_owned()])?.self_signed(&key)?;
        Ok(Self {
            certificate: certificate.der().to_vec(),
            key: key.serialize_der(),
        })
    }

    /// The certificate, as rustls wants it.
    pub fn chain(&self) -> CertificateDer<'static> {
        self.certificate.clone().into()
    }

    /// The key, as rustls wants it.
    pub fn key(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.clone()).into()
    }
}

/// What servers and users prove who they are with.
#[derive(Clone)]
pub struct Identity {
    pub ed25519: Certificate,
    pub p256: Certificate,
    /// The user's, for rows that authenticate the client too.
    pub user: Certificate,
}

impl Identity {
    /// A new one.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            ed25519: Certificate::new(&PKCS_ED25519).map_err(io::Error::other)?,
            p256: Certificate::new(&PKCS_ECDSA_P256_SHA256).map_err(io::Error::other)?,
            user: Certificate::new(&PKCS_ED25519).map_err(io::Error::other)?,
        })
    }

    /// For another process of this program.
    pub fn to_line(&self) -> String {
        let parts = [&self.ed25519, &self.p256, &self.user]
            .map(|c| hex(&c.certificate) + " " + &hex(&c.key));
        parts.join(" ")
    }

    /// From another process of this program.
    pub fn from_line(line: &str) -> Option<Self> {
        let mut parts = line.split_whitespace().map(bytes);
        let mut next = || parts.next().flatten();
        let mut certificate = || {
            Some(Certificate {
                certificate: next()?,
                key: next()?,
            })
        };
        Some(Self {
            ed25519: certificate()?,
            p256: certificate()?,
            user: certificate()?,
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = (0..hex.len()).step_by(2).map(|i| hex.get(i..i + 2));
    digits
        .map(|pair| u8::from_str_radix(pair?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_survive_their_line() {
        let identity = Identity::new().unwrap();
        let read = Identity::from_line(&identity.to_line()).unwrap();
        assert_eq!(read.to_line(), identity.to_line());
        assert!(Identity::from_line("00 11 22").is_none());
        assert!(Identity::from_line("0g 11 22 33 44 55").is_none());
    }
}
