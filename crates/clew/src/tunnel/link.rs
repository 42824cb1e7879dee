//! Tunnels to servers: by a record that is there, or that a directory gives.

use super::keys;
use super::records::{self, Trust};
use super::watch;
use crate::failure::Failure;
use clew_tunnel::Reason;
use clew_tunnel::engine::client::{Target, UserId};
use clew_tunnel::record::{Cert, Record};
use clew_tunnel_udp::{Client, Connection, Error, FirstPacket, State, Tunnel};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a directory or a name server has to answer.
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
    /// How long an answer is waited for.
    pub patience: Duration,
}

impl Whom {
    /// Its record, verified, of the present. `held` is one that was good before.
    ///
    /// # Errors
    /// The file's or the record's; the directory does not answer, or has none; the record has expired, and the
    /// server gives no newer one.
    pub async fn record(&self, client: &Client, held: Option<&Record>) -> Result<Record, Failure> {
        let (record, host, what) = match &self.source {
            Source::File(path, host) => {
                let record = records::read(path)?;
                (record, host.as_deref(), path.display().to_string())
            }
            Source::Directory(path, host) => {
                let record = self.ask_directory(client, path, host).await?;
                (record, Some(host.as_str()), host.clone())
            }
        };
        let wanted = Wanted {
            host,
            trust: &self.trust,
            held,
            what: &what,
        };
        wanted.of_the_present(client, record, self.patience).await
    }

    /// What a directory has for a host.
    async fn ask_directory(
        &self,
        client: &Client,
        path: &Path,
        host: &str,
    ) -> Result<Record, Failure> {
        let directory = renewed(client, path, self.patience).await?;
        let tunnel = client.prepare(Target::Host(Box::new(directory)));
        let pin = self.trust.pin();
        let asked = tokio::time::timeout(self.patience, tunnel.lookup(pin, host)).await;
        match asked.unwrap_or(Err(Reason::NoAnswer.into())) {
            Ok(record) => Ok(record),
            Err(Error::Refused(Reason::UnknownHost)) => {
                let key = pin.map_or("", |_| " with this key");
                let what = format!("{host}: the directory does not have a record{key}");
                Err(Failure::new(what))
            }
            Err(error) => {
                let what = format!("directory {}", path.display());
                Err(why(&tunnel, error, &what))
            }
        }
    }
}

/// The record in a file that was given by hand, of the present.
///
/// # Errors
/// As [`Whom::record`].
pub async fn renewed(client: &Client, path: &Path, patience: Duration) -> Result<Record, Failure> {
    let whom = Wanted {
        host: None,
        trust: &Trust::Given,
        held: None,
        what: &path.display().to_string(),
    };
    let record = records::read(path)?;
    whom.of_the_present(client, record, patience).await
}

/// What a record has to be, and what it is called in messages.
struct Wanted<'a> {
    host: Option<&'a str>,
    trust: &'a Trust,
    held: Option<&'a Record>,
    what: &'a str,
}

impl Wanted<'_> {
    /// The record, verified. If it has ended, the server is asked for a newer one by its long-term key
    /// (`spec/tunnel.md` 12.1, T1): a record by hand is of use as long as its certificate.
    async fn of_the_present(
        &self,
        client: &Client,
        record: Record,
        patience: Duration,
    ) -> Result<Record, Failure> {
        match self.verify(&record) {
            Ok(()) => Ok(record),
            Err(Reason::Expired) if record.cert.body.end < records::now() => {
                Err(records::certificate_ended(self.what, &record.cert))
            }
            Err(Reason::Expired) => match self.held.filter(|held| self.follows(held, &record)) {
                Some(held) => Ok(held.clone()),
                None => self.newer(client, &record, patience).await,
            },
            Err(reason @ Reason::WrongHost) => {
                let host = keys::host(&record.cert);
                Err(records::refused(self.what, reason).hint(format!(
                    "this record is for {host}: use --host {host}, or get the record of the other \
                     host"
                )))
            }
            Err(reason) => Err(records::refused(self.what, reason)),
        }
    }

    fn verify(&self, record: &Record) -> Result<(), Reason> {
        records::verify(record, self.host, |cert| self.trust.trusts(cert))
    }

    /// Whether a record is of the same server as one that has ended, and good.
    fn follows(&self, record: &Record, ended: &Record) -> bool {
        record.ecert.check_newer(&ended.ecert).is_ok() && self.verify(record).is_ok()
    }

    async fn newer(
        &self,
        client: &Client,
        held: &Record,
        patience: Duration,
    ) -> Result<Record, Failure> {
        let (cert, ecert) = (&held.cert.body, &held.ecert.body);
        let target = Target::Directory {
            addresses: ecert.addresses.clone(),
            m: ecert.m,
            w: ecert.w,
            boxing: cert.boxing,
        };
        let host = keys::host(&held.cert);
        let tunnel = client.prepare(target);
        let asked = tunnel.lookup(Some(cert.signing), &host);
        let asked = tokio::time::timeout(patience, asked).await;
        let what = format!(
            "{} has expired, and its server did not send a newer one",
            self.what
        );
        let newer = asked
            .unwrap_or(Err(Reason::NoAnswer.into()))
            .map_err(|error| why(&tunnel, error, &what))?;
        let is_the_same = |of: &Cert| of.body.signing == cert.signing && self.trust.trusts(of);
        records::verify(&newer, Some(&host), is_the_same)
            .and_then(|()| newer.ecert.check_newer(&held.ecert))
            .map_err(|reason| records::refused(self.what, reason))?;
        Ok(newer)
    }
}

/// Why a tunnel is of no use, for people.
pub fn why(tunnel: &Tunnel, error: Error, what: &str) -> Failure {
    let reason = match (&*tunnel.state().borrow(), error) {
        (State::Gone(Some(reason)), _) => Some(*reason),
        (_, Error::Refused(reason)) => Some(reason),
        (_, Error::Declined) => {
            return Failure::new(format!("{what}: the server refused the connection"))
                .no()
                .hint("the service may not exist, not be open to this user, or not answer");
        }
        _ => None,
    };
    match reason {
        Some(Reason::NoAnswer) => Failure::new(format!("{what}: no answer ({})", Reason::NoAnswer))
            .hint(
                "check that the server runs with this record's key, UDP is not blocked, and clocks \
                 agree",
            ),
        Some(reason) => Failure::new(format!("{what}: the tunnel ended ({reason})")),
        None => Failure::new(format!("{what}: the server ended the tunnel")),
    }
}

/// A way to one server that opens tunnels as they are needed.
pub struct Link {
    client: Client,
    whom: Whom,
    tunnel: Option<Arc<Tunnel>>,
    /// What the newest tunnel was opened with.
    record: Option<Record>,
}

impl Link {
    /// No tunnel yet.
    pub const fn new(client: Client, whom: Whom) -> Self {
        Self {
            client,
            whom,
            tunnel: None,
            record: None,
        }
    }

    /// Asks for a connection. In a new tunnel `first` goes along, in its first packet. The tunnel ends when
    /// nobody holds it any more.
    ///
    /// # Errors
    /// There is no record that may be used.
    pub async fn connect(
        &mut self,
        service: &str,
        user: Option<UserId>,
        first: impl FnOnce(&mut FirstPacket, &Connection),
    ) -> Result<(Arc<Tunnel>, Connection), Failure> {
        // One that is silent may be of a server that has started anew, and knows it no more.
        let is_there =
            |tunnel: &Tunnel| matches!(*tunnel.state().borrow(), State::Opening | State::Open);
        if let Some(tunnel) = self.tunnel.as_ref().filter(|tunnel| is_there(tunnel)) {
            return Ok((Arc::clone(tunnel), tunnel.connect(service, user)));
        }
        let record = self.prepare().await?;
        let addresses = record.ecert.body.addresses.clone();
        let (tunnel, connection) = self.client.open(Target::Host(Box::new(record)), |asked| {
            let connection = asked.connect(service, user);
            first(asked, &connection);
            connection
        });
        let tunnel = Arc::new(tunnel);
        let watched = Arc::downgrade(&tunnel);
        tokio::spawn(watch::watch(watched, addresses, service.to_owned()));
        self.tunnel = Some(Arc::clone(&tunnel));
        Ok((tunnel, connection))
    }
    /// The record of a tunnel that is opened now.
    ///
    /// # Errors
    /// There is none that may be used.
    pub async fn prepare(&mut self) -> Result<Record, Failure> {
        let held = self.record.take();
        let record = self.whom.record(&self.client, held.as_ref()).await?;
        self.record = Some(record.clone());
        Ok(record)
    }
}
