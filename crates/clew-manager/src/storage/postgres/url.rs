//! Where a database of PostgreSQL is.

use crate::error::StoreError;
use crate::storage::Result;
use std::net::IpAddr;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// How long a server whose host is gone is waited for.
const GONE_WAIT: Duration = Duration::from_secs(30);

/// A server, and how it is connected to.
pub(super) struct Server(pub(super) Config);

impl Server {
    /// Reads a URL: `postgres://USER@HOST:PORT/DATABASE`, where HOST is a folder with a socket (its `/`
    /// as `%2F`) or an address of this host.
    pub(super) fn parse(url: &str) -> Result<Self> {
        let begins = |scheme| url.starts_with(scheme);
        if !begins("postgres://") && !begins("postgresql://") {
            return Err(StoreError::DatabaseUrl("not postgres://...".to_owned()));
        }
        // The reason does not repeat the URL, which may have a password.
        let parsed = url.parse::<Config>();
        let mut config = parsed.map_err(|error| StoreError::DatabaseUrl(error.to_string()))?;
        let hosts = config.get_hosts();
        if hosts.is_empty() || !hosts.iter().all(is_here) {
            return Err(StoreError::OtherHost);
        }
        if config.get_dbname().is_none() {
            return Err(StoreError::DatabaseUrl("it has no database".to_owned()));
        }
        config.application_name("clew");
        config.tcp_user_timeout(GONE_WAIT);
        config.keepalives_idle(GONE_WAIT);
        Ok(Self(config))
    }

    /// How it is named in messages: without a password.
    pub(super) fn name(&self) -> String {
        let hosts = self.0.get_hosts().iter().map(|host| match host {
            Host::Tcp(host) => host.clone(),
            Host::Unix(folder) => folder.display().to_string(),
        });
        let hosts = hosts.collect::<Vec<_>>().join(",");
        let database = self.0.get_dbname().unwrap_or_default();
        let user = self
            .0
            .get_user()
            .map_or_else(String::new, |user| format!("{user}@"));
        let ports: Vec<String> = self.0.get_ports().iter().map(u16::to_string).collect();
        format!("postgres://{user}{hosts}:{}/{database}", ports.join(","))
    }
}

/// Whether what is sent to a host stays on this one: it is not encrypted.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|at: IpAddr| at.is_loopback())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_server_without_the_password() {
        for (url, name) in [
            (
                "postgres://clew:secret@127.0.0.1:5433/acme",
                "postgres://clew@127.0.0.1:5433/acme",
            ),
            (
                "postgres://localhost/acme",
                "postgres://localhost:5432/acme",
            ),
        ] {
            assert_eq!(Server::parse(url).unwrap().name(), name);
        }
    }
}
