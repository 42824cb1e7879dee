//! Tunnels to servers: by a record that is there, or that a directory gives.

use super::keys;
use super::records::{self, Trust};
use super::stream::{DATA, DATA_MAX, FIRST_MAX};
use super::watch::Watched;
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

/// Connections of one tunnel at once, below what a tunnel has: those that end keep their places for a while.
const AT_ONCE: usize = 60;

/// Connections of one tunnel in all, below what a server takes at once (CREATE_RATE).
const USES: u32 = 200;

/// How long a server may have been silent, for a new connection to be in the tunnel that is there. A server that
/// began anew does not know that tunnel; a new one's first packet is as fast.
const QUIET: Duration = Duration::from_millis(200);

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
                // One round trip is saved as long as the record is good.
                if let Some(held) = held.filter(|held| self.is_good(held, host)) {
                    return Ok(held.clone());
                }
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

    fn is_good(&self, record: &Record, host: &str) -> bool {
        records::verify(record, Some(host), |cert| self.trust.trusts(cert)).is_ok()
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
            Ok(()) => {
                let held = held_newer(self, &record);
                Ok(held.cloned().unwrap_or(record))
            }
            Err(Reason::Expired) if record.cert.body.end < records::now() => {
                Err(records::certificate_ended(self.what, &record.cert))
            }
            Err(Reason::Expired) => match held_newer(self, &record) {
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

/// The record that is held already, if it is newer than this one, and good.
fn held_newer<'a>(wanted: &Wanted<'a>, record: &Record) -> Option<&'a Record> {
    wanted.held.filter(|held| wanted.follows(held, record))
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
    newest: Option<Newest>,
    /// One that waits for the next connection that needs a tunnel, and the record that it is for.
    prepared: Option<(Tunnel, Record)>,
    /// The newest that is known.
    record: Option<Record>,
    watched: Arc<Watched>,
}

/// The newest tunnel, in which new connections are as long as it is fit for that.
struct Newest {
    tunnel: Arc<Tunnel>,
    uses: u32,
}

impl Link {
    /// No tunnel yet. `what` is on the other side. Within tokio.
    pub fn new(client: Client, whom: Whom, what: String) -> Self {
        Self {
            client,
            whom,
            newest: None,
            prepared: None,
            record: None,
            watched: Watched::begin(what),
        }
    }

    /// Asks for a connection, and sends its first bytes: in a new tunnel, the first of them are in its first
    /// packet. A tunnel ends when nobody holds it any more.
    ///
    /// # Errors
    /// There is no record that may be used.
    pub async fn connect(
        &mut self,
        service: &str,
        user: Option<UserId>,
        early: &[u8],
    ) -> Result<(Arc<Tunnel>, Connection), Failure> {
        let begin = |asked: &mut FirstPacket| {
            let connection = asked.connect(service, user);
            let first = early.len().min(FIRST_MAX.saturating_sub(2 * service.len()));
            let (first, rest) = early.split_at(first);
            let pieces = [first].into_iter().chain(rest.chunks(DATA_MAX));
            for piece in pieces.filter(|piece| !piece.is_empty()) {
                // So few bytes fit into any RPC.
                let _ = asked.send(&connection, DATA, |call| call.bytes(piece));
            }
            connection
        };
        if let Some(newest) = &mut self.newest
            && newest.uses < USES
            && newest.tunnel.is_ready(AT_ONCE, QUIET).await
        {
            newest.uses += 1;
            let connection = newest.tunnel.begin(begin);
            return Ok((Arc::clone(&newest.tunnel), connection));
        }
        let record = self.newest_record().await?;
        let (tunnel, connection) = match self.prepared.take() {
            Some((tunnel, of)) if of == record && *tunnel.state().borrow() == State::Opening => {
                let connection = tunnel.begin(begin);
                (tunnel, connection)
            }
            _ => self
                .client
                .open(Target::Host(Box::new(record.clone())), begin),
        };
        let tunnel = Arc::new(tunnel);
        self.watched.add(&tunnel, &record.ecert.body.addresses);
        self.newest = Some(Newest {
            tunnel: Arc::clone(&tunnel),
            uses: 1,
        });
        self.prepare_with(record);
        Ok((tunnel, connection))
    }

    /// Prepares the next tunnel: its first packet then waits for no key.
    ///
    /// # Errors
    /// There is no record that may be used.
    pub async fn prepare(&mut self) -> Result<(), Failure> {
        let record = self.newest_record().await?;
        self.prepare_with(record);
        Ok(())
    }

    fn prepare_with(&mut self, record: Record) {
        let target = Target::Host(Box::new(record.clone()));
        self.prepared = Some((self.client.prepare(target), record));
    }

    /// A tunnel found no server: a directory is asked again where it is.
    pub fn forget(&mut self) {
        (self.record, self.prepared) = (None, None);
    }

    /// The record of a tunnel that is opened now.
    async fn newest_record(&mut self) -> Result<Record, Failure> {
        let told = self.newest.as_ref();
        let told = told.and_then(|newest| newest.tunnel.newer());
        let held = told.or_else(|| self.record.take());
        let record = self.whom.record(&self.client, held.as_ref()).await?;
        self.record = Some(record.clone());
        Ok(record)
    }
}
