//! TLS 1.3 by rustls and AWS-LC, for TCP, quinn and s2n-quic alike.

use super::identity::{Certificate, Identity, NAME};
use super::tickets::Tickets;
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{self, cipher_suite, kx_group};
use rustls::pki_types::ServerName;
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::io;
use std::sync::Arc;

/// How many sessions a server remembers whose tickets are good once: more than a sample has.
const SESSIONS: usize = 1 << 17;

/// What client and server agree on.
#[derive(Clone)]
pub struct Tls {
    certificate: Certificate,
    /// The user's, if the server wants one.
    user: Option<Certificate>,
    hybrid: bool,
    chacha: bool,
    pub handshake: Handshake,
}

/// What a connection has of an earlier one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Handshake {
    /// Nothing; the server issues no tickets.
    Full,
    /// A ticket that the server needs not remember, and a new key exchange.
    Resumed,
    /// The same with data in the first flight; the server remembers tickets, each is good once.
    Early,
}

impl Tls {
    /// Full handshakes by X25519 with an Ed25519 certificate, and AES-128-GCM.
    pub fn new(identity: &Identity) -> Self {
        Self {
            certificate: identity.ed25519.clone(),
            user: None,
            hybrid: false,
            chacha: false,
            handshake: Handshake::Full,
        }
    }

    /// The same with an ECDSA certificate over P-256.
    pub fn p256(self, identity: &Identity) -> Self {
        let certificate = identity.p256.clone();
        Self {
            certificate,
            ..self
        }
    }

    /// The same with a user who has an Ed25519 certificate, too.
    pub fn mutual(self, identity: &Identity) -> Self {
        let user = Some(identity.user.clone());
        Self { user, ..self }
    }

    /// The same by X25519MLKEM768.
    pub fn hybrid(self) -> Self {
        Self {
            hybrid: true,
            ..self
        }
    }

    /// The same with ChaCha20-Poly1305.
    pub fn chacha(self) -> Self {
        Self {
            chacha: true,
            ..self
        }
    }

    /// The same with another handshake.
    pub fn handshake(self, handshake: Handshake) -> Self {
        Self { handshake, ..self }
    }

    /// The server's side.
    pub fn server(&self) -> io::Result<ServerConfig> {
        let builder = ServerConfig::builder_with_provider(self.provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(io::Error::other)?;
        let builder = match &self.user {
            None => builder.with_no_client_auth(),
            Some(user) => {
                let roots = Arc::new(trusting(user)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, self.provider());
                builder.with_client_cert_verifier(verifier.build().map_err(io::Error::other)?)
            }
        };
        let mut config = builder
            .with_single_cert(vec![self.certificate.chain()], self.certificate.key())
            .map_err(io::Error::other)?;
        config.alpn_protocols = vec![b"bench".to_vec()];
        match self.handshake {
            Handshake::Full => {
                config.session_storage = Arc::new(NoServerSessionStorage {});
                config.send_tls13_tickets = 0;
            }
            Handshake::Resumed => {
                config.ticketer = aws_lc_rs::Ticketer::new().map_err(io::Error::other)?;
            }
            Handshake::Early => {
                config.session_storage = ServerSessionMemoryCache::new(SESSIONS);
                config.max_early_data_size = u32::MAX;
            }
        }
        Ok(config)
    }

    /// The client's side, with the store of its tickets.
    pub fn client(&self) -> io::Result<(ClientConfig, Arc<Tickets>)> {
        let builder = ClientConfig::builder_with_provider(self.provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(io::Error::other)?
            .with_root_certificates(trusting(&self.certificate)?);
        let mut config = match &self.user {
            None => builder.with_no_client_auth(),
            Some(user) => builder
                .with_client_auth_cert(vec![user.chain()], user.key())
                .map_err(io::Error::other)?,
        };
        config.alpn_protocols = vec![b"bench".to_vec()];
        let tickets = Arc::new(Tickets::default());
        config.resumption = match self.handshake {
            Handshake::Full => Resumption::disabled(),
            _ => Resumption::store(Arc::clone(&tickets) as Arc<_>),
        };
        config.enable_early_data = self.handshake == Handshake::Early;
        Ok((config, tickets))
    }

    fn provider(&self) -> Arc<CryptoProvider> {
        let aes = cipher_suite::TLS13_AES_128_GCM_SHA256;
        let chacha = cipher_suite::TLS13_CHACHA20_POLY1305_SHA256;
        Arc::new(CryptoProvider {
            // QUIC's first packets want AES in any case; the client's first choice is taken.
            cipher_suites: if self.chacha {
                vec![chacha, aes]
            } else {
                vec![aes]
            },
            kx_groups: if self.hybrid {
                vec![kx_group::X25519MLKEM768]
            } else {
                vec![kx_group::X25519]
            },
            ..aws_lc_rs::default_provider()
        })
    }
}

fn trusting(certificate: &Certificate) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.chain()).map_err(io::Error::other)?;
    Ok(roots)
}

/// The server's name.
pub fn name() -> ServerName<'static> {
    ServerName::try_from(NAME).expect("a DNS name")
}
