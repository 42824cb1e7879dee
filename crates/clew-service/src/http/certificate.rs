//! A server's own certificate.

use super::Pin;
use clew_keys::files::{self, IfExists, MODE_PUBLIC, MODE_SECRET};
use rcgen::{CertificateParams, DnType, KeyPair, PKCS_ECDSA_P256_SHA256, PublicKeyData};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use zeroize::Zeroizing;

const KEY: &str = "tls.key";
const CERTIFICATE: &str = "tls.crt";

/// A certificate with its secret key.
#[derive(Debug)]
pub struct Certificate {
    chain: Vec<CertificateDer<'static>>,
    key: KeyPair,
}

/// Why there is no certificate.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// The key or the certificate.
    #[error("{path}: {error}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: rcgen::Error,
    },
}

impl Certificate {
    /// Reads `tls.key` of a directory, or makes it (0600), and a self-signed certificate of that key
    /// for the names: `tls.crt`, for people and other programs. The pin depends on the key alone.
    ///
    /// # Errors
    /// [`CertificateError`].
    pub fn of(dir: &Path, names: &[String]) -> Result<Self, CertificateError> {
        let path = dir.join(KEY);
        let io = |path: &Path| {
            let path = path.to_owned();
            move |error| CertificateError::Io { path, error }
        };
        let damaged = |error| CertificateError::Damaged {
            path: dir.join(KEY),
            error,
        };
        let key = match fs::read_to_string(&path).map(Zeroizing::new) {
            Ok(text) => KeyPair::from_pem(&text).map_err(damaged)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Not Ed25519: no browser takes a certificate of such a key.
                let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(damaged)?;
                let pem = Zeroizing::new(key.serialize_pem());
                files::write_atomically(&path, pem.as_bytes(), MODE_SECRET, IfExists::Refuse)
                    .map_err(io(&path))?;
                key
            }
            Err(error) => return Err(io(&path)(error)),
        };
        let mut params = CertificateParams::new(names).map_err(damaged)?;
        params.distinguished_name.push(DnType::CommonName, "clew");
        let certificate = params.self_signed(&key).map_err(damaged)?;
        let path = dir.join(CERTIFICATE);
        let pem = certificate.pem();
        let written =
            files::write_atomically(&path, pem.as_bytes(), MODE_PUBLIC, IfExists::Replace);
        match written {
            // The file of an earlier start has the same key: a full disk stops no service.
            Err(_) if path.exists() => {}
            written => written.map_err(io(&path))?,
        }
        Ok(Self {
            chain: vec![certificate.der().clone()],
            key,
        })
    }

    /// The pin of the key in a directory, which is not changed.
    ///
    /// # Errors
    /// [`CertificateError`] if there is no key.
    pub fn pin_of(dir: &Path) -> Result<Pin, CertificateError> {
        let path = dir.join(KEY);
        let text = fs::read_to_string(&path).map(Zeroizing::new);
        let text = text.map_err(|error| CertificateError::Io {
            path: path.clone(),
            error,
        })?;
        let key = KeyPair::from_pem(&text);
        let key = key.map_err(|error| CertificateError::Damaged { path, error })?;
        Ok(Pin::of(&key.subject_public_key_info()))
    }

    /// The fingerprint by which clients know it.
    pub fn pin(&self) -> Pin {
        Pin::of(&self.key.subject_public_key_info())
    }

    /// How a server shows it.
    pub(crate) fn server_config(&self) -> Result<rustls::ServerConfig, rustls::Error> {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let mut config = rustls::ServerConfig::builder_with_provider(provider.into())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}
