//! Tunnels to servers: by a record that is there, or that a directory gives.

use super::keys;
use super::records::{self, Trust};
use crate::failure::Failure;
use clew_tunnel::Reason;
use clew_tunnel::engine::client::{Target, UserId};
use clew_tunnel::record::Record;
use clew_tunnel_udp::{Client, Connection, Error, First, State, Tunnel};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a directory or a name service has to answer.
pub const ANSWER: Duration = Duration::from_secs(20);

/// Where the record of a server comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// From a file, of this host if one is named.
    File(PathBuf, Option<String>),
    /// From the directory whose record is in this file, for this host.
    Directory(PathBuf, String),
}

/// A server that is to be reached.
#[derive(Clone, Debug)]
pub struct Whom {
    /// Where its record comes from.
    pub source: Source,
    /// Who is trusted for it.
    pub trust: Trust,
}

impl Whom {
    /// Its record, verified.
    ///
    /// # Errors
    /// The file's or the record's; the directory does not answer, or has none.
    pub async fn record(&self, client: &Client) -> Result<Record, Failure> {
        let (record, host, what) = match &self.source {
            Source::File(path, host) => {
                let record = records::read(path)?;
                (record, host.as_deref(), path.display().to_string())
            }
            Source::Directory(path, host) => {
                let record = ask_directory(client, path, host, self.trust.pin()).await?;
                (record, Some(host.as_str()), host.clone())
            }
        };
        let verified = records::verify(&record, host, |cert| self.trust.trusts(cert));
        verified.map_err(|reason| records::refused(&what, reason))?;
        Ok(record)
    }
}

/// What a directory has for a host.
async fn ask_directory(
    client: &Client,
    path: &Path,
    host: &str,
    pin: Option<[u8; 32]>,
) -> Result<Record, Failure> {
    let directory = renewed(client, path).await?;
    let (tunnel, ()) = client.open(Target::Host(Box::new(directory)), |_| ());
    let asked = tokio::time::timeout(ANSWER, tunnel.lookup(pin, host)).await;
    match asked.unwrap_or(Err(Reason::NoAnswer.into())) {
        Ok(record) => Ok(record),
        Err(Error::Refused(Reason::UnknownHost)) => {
            let key = pin.map_or("", |_| " with this key");
            let what = format!("the directory has no record of {host}{key}");
            Err(Failure::new(what))
        }
        Err(error) => Err(why(
            &tunnel,
            error,
            &format!("directory {}", path.display()),
        )),
    }
}

/// A record from a file that was given by hand. If it has ended, the server is asked for a newer one by its
/// long-term key, which directories and name services answer (T1).
///
/// # Errors
/// The file's; no answer; what comes is not of the same server.
pub async fn renewed(client: &Client, path: &Path) -> Result<Record, Failure> {
    let record = records::read(path)?;
    let what = path.display().to_string();
    match records::verify(&record, None, |_| true) {
        Ok(()) => return Ok(record),
        Err(Reason::Expired) => {}
        Err(reason) => return Err(records::refused(&what, reason)),
    }
    let held = &record.ecert.body;
    let target = Target::Directory {
        addresses: held.addresses.clone(),
        m: held.m,
        w: held.w,
        boxing: held.boxing,
    };
    let (host, key) = (keys::host(&record.cert), record.cert.body.signing);
    let (tunnel, ()) = client.open(target, |_| ());
    let asked = tokio::time::timeout(ANSWER, tunnel.lookup(Some(key), &host)).await;
    let newer = asked
        .unwrap_or(Err(Reason::NoAnswer.into()))
        .map_err(|error| why(&tunnel, error, &what))?;
    let verified = records::verify(&newer, Some(&host), |cert| cert.body.signing == key);
    verified.map_err(|reason| records::refused(&what, reason))?;
    Ok(newer)
}

/// Why a tunnel is of no use, for people.
pub fn why(tunnel: &Tunnel, error: Error, what: &str) -> Failure {
    let reason = match (&*tunnel.state().borrow(), error) {
        (State::Gone(Some(reason)), _) => Some(*reason),
        (_, Error::Refused(reason)) => Some(reason),
        (_, Error::Declined) => {
            return Failure::new(format!("{what}: the server refused the connection"))
                .no()
                .hint("it has no such service, or not for this user");
        }
        _ => None,
    };
    match reason {
        Some(Reason::NoAnswer) => Failure::new(format!("{what}: no answer ({})", Reason::NoAnswer))
            .hint("is the server there, with the key of this record? UDP may be blocked, or clocks differ"),
        Some(reason) => Failure::new(format!("{what}: the tunnel ended ({reason})")),
        None => Failure::new(format!("{what}: the server ended the tunnel")),
    }
}

/// A way to one server that opens tunnels as they are needed.
pub struct Link {
    client: Client,
    whom: Whom,
    tunnel: Option<Tunnel>,
}

impl Link {
    /// No tunnel yet.
    pub const fn new(client: Client, whom: Whom) -> Self {
        Self {
            client,
            whom,
            tunnel: None,
        }
    }

    /// Asks for a connection. In a new tunnel `first` goes along, in its first packet.
    ///
    /// # Errors
    /// There is no record that may be used.
    pub async fn connect(
        &mut self,
        service: &str,
        user: Option<UserId>,
        first: impl FnOnce(&mut First, &Connection),
    ) -> Result<Connection, Failure> {
        let is_there = |tunnel: &Tunnel| !matches!(*tunnel.state().borrow(), State::Gone(_));
        if let Some(tunnel) = self.tunnel.as_ref().filter(|tunnel| is_there(tunnel)) {
            return Ok(tunnel.connect(service, user));
        }
        let record = self.whom.record(&self.client).await?;
        let (tunnel, connection) = self.client.open(Target::Host(Box::new(record)), |asked| {
            let connection = asked.connect(service, user);
            first(asked, &connection);
            connection
        });
        self.tunnel = Some(tunnel);
        Ok(connection)
    }

    /// The server.
    pub const fn whom(&self) -> &Whom {
        &self.whom
    }

    /// The newest tunnel, if there was one.
    pub const fn tunnel(&self) -> Option<&Tunnel> {
        self.tunnel.as_ref()
    }
}
