//! The socket of a service, its certificate, and the address that clients pin.

use crate::cli::Reached;
use crate::failure::Failure;
use crate::flow::relay::Until;
use clew_service::http::{Certificate, Router, Server, ServerLimits, ServiceUrl};
use sd_notify::NotifyState;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

/// A socket that listens, before it is served.
pub struct Bound {
    listener: TcpListener,
    /// The service's own certificate.
    pub certificate: Certificate,
    /// What clients are told: never an address that means all addresses.
    pub url: ServiceUrl,
}

impl Bound {
    /// Listens, and reads or makes the certificate in `tls`.
    ///
    /// # Errors
    /// The system's or the certificate's; no address for clients.
    pub fn at(listen: SocketAddr, reached: &Reached, tls: &Path) -> Result<Self, Failure> {
        if reached.address.is_none() && listen.ip().is_unspecified() {
            let why = format!("--listen {listen}: this does not name an address for clients");
            let hint = "add --address HOST:PORT, which clients reach";
            return Err(Failure::new(why).hint(hint));
        }
        let cannot = |error| Failure::new(format!("cannot listen on {listen}: {error}"));
        let listener = TcpListener::bind(listen).map_err(cannot)?;
        let local = listener.local_addr().map_err(cannot)?;
        let address = reached.address.clone().unwrap_or_else(|| local.to_string());
        let host = address.rsplit_once(':').map_or(&*address, |(host, _)| host);
        let host = host.trim_matches(['[', ']']).to_owned();
        let mut names = vec!["localhost".to_owned()];
        if !names.contains(&host) {
            names.push(host);
        }
        let certificate = Certificate::of(tls, &names).map_err(Failure::new)?;
        let url = ServiceUrl::pinned(&address, certificate.pin());
        let url = url.map_err(|error| Failure::new(format!("--address {address}: {error}")))?;
        Ok(Self {
            listener,
            certificate,
            url,
        })
    }

    /// Tells systemd that the service is ready, and serves until a signal comes.
    ///
    /// # Errors
    /// The system's, or TLS's.
    pub async fn serve(self, router: Router) -> Result<(), Failure> {
        let server = Server::new(
            self.listener,
            Some(&self.certificate),
            ServerLimits::default(),
        );
        let server = server.map_err(|error| Failure::new(format!("{}: {error}", self.url)))?;
        ready();
        server
            .run(router, crate::tunnel::over(Until::after(None)))
            .await;
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
        Ok(())
    }
}

/// Tells systemd, if it waits for that, that the service is ready.
pub fn ready() {
    let _ = sd_notify::notify(&[NotifyState::Ready]);
}
