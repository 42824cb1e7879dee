//! What all services share: servers, their certificates, and clients.
//!
//! - [`Server`] answers over TLS 1.3, with bounds on connections, times and sizes.
//! - [`Certificate`] is a self-signed one. Clients know it by its [`Pin`].
//! - [`Client`] asks the server of a [`ServiceUrl`], and believes no answer to be short.
//! - [`Problem`] is how a service refuses, in JSON (RFC 9457).

mod certificate;
mod client;
mod connections;
mod pin;
mod problem;
mod refusal;
mod server;
mod tls;
mod url;
mod whole;

pub use axum::Router;
pub use certificate::{Certificate, CertificateError};
pub use client::{Answer, Client, ClientError, UNKNOWN_REFUSAL};
pub(crate) use connections::host;
pub use pin::Pin;
pub use problem::Problem;
pub(crate) use refusal::metrics as refusal_metrics;
pub(crate) use server::stops;
pub use server::{From, Server, ServerLimits, Stopping};
pub(crate) use tls::client_config;
pub use url::{ServiceUrl, UrlError};
