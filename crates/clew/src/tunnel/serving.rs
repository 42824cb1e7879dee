//! What every server of tunnels does: it is bound, keeps its record published, counts, and stops.

use super::link;
use super::records;
use super::traces;
use crate::cli::Serving;
use crate::failure::Failure;
use crate::flow::relay::Until;
use crate::metrics::{Endpoint, TunnelMetrics};
use crate::tunnel::keys::{self, PublicKey};
use clew_tunnel::Reason;
use clew_tunnel::engine::client;
use clew_tunnel::engine::client::Target;
use clew_tunnel::engine::server::Config;
use clew_tunnel::limits::ADDRESSES_MAX;
use clew_tunnel::record::Record;
use clew_tunnel_udp::{Client, Error, Options, Registry, Server};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tracing::warn;

/// Shortest and longest time between two short-lived keys.
const ROTATION: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(60)..=Duration::from_secs(12 * 3_600);

/// Shortest and longest silence after which a tunnel ends.
const IDLE: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(30 * 86_400);

/// How long after a failure a record is given to a name server again.
const AGAIN: Duration = Duration::from_secs(10);

/// A server that runs, and what it counts.
pub struct Begun {
    /// The server.
    pub server: Server,
    /// What it counts.
    pub metrics: TunnelMetrics,
    /// When it stops.
    pub until: Until,
}

/// Binds a server, publishes its record and tells people. Within tokio.
///
/// # Errors
/// The key's, of addresses and sockets.
pub async fn begin(
    serving: &Serving,
    configure: impl FnOnce(&mut Config),
    registry: Option<Box<dyn Registry>>,
) -> Result<Begun, Failure> {
    let secret = serving.unlock.load(&serving.key, keys::decode_server)?;
    check(serving)?;
    let key = PublicKey(secret.signing.public());
    let host = keys::host(&secret.cert);
    let end = secret.cert.body.end;
    if end < records::now() {
        return Err(Failure::file(&serving.key, "certificate has expired")
            .hint("make a new key with clew tunnel keygen server"));
    }
    let mut config = Config::new(serving.address.clone());
    config.rotation = serving.rotation;
    config.limits.tunnels = serving.max_tunnels as usize;
    config.limits.unproven = serving.max_unproven as usize;
    config.limits.idle = serving.tunnel_idle;
    configure(&mut config);
    let parts = parts(serving.cores)?;
    let (traces, trace_files) = match &serving.qlog {
        None => (Vec::new(), Vec::new()),
        Some(path) => traces::begin(path, parts, "server")?,
    };
    let offload = serving.offload_handshakes.map(|many| many as usize);
    let options = Options {
        at: serving.listen.clone(),
        shards: NonZeroUsize::new(parts),
        offload_handshakes: offload.and_then(NonZeroUsize::new),
        registry,
        traces,
    };
    let server = Server::bind(&secret, config, options)
        .map_err(|error| cannot_serve(&serving.listen, error))?;
    let addresses: Vec<String> = server.addresses().iter().map(ToString::to_string).collect();
    let metrics = TunnelMetrics::new(server.metrics());
    let first = server.record().await;
    let first = first.ok_or_else(|| Failure::new("the server failed to start"))?;
    let mut until = Until::after(serving.duration);
    let mut metrics_at = None;
    if let Some(at) = serving.metrics {
        let metrics = metrics.clone();
        let endpoint = Endpoint::listen(at, move || metrics.text())?;
        until = until.beating(endpoint.heartbeat);
        metrics_at = Some(endpoint.at);
    }
    // Nothing can fail any more: a server that cannot start leaves the record of the one that runs alone.
    if let Some(path) = &serving.record {
        publish(path, &first).map_err(|e| not_published(path, &e))?;
        tokio::spawn(keep_published(server.records(), path.clone()));
    }
    mention!("{host} at {}", addresses.join(", "));
    mention!("key: {key}");
    if !trace_files.is_empty() {
        let names = trace_files.iter().map(|name| name.display().to_string());
        let names: Vec<String> = names.collect();
        mention!("traces: {}", names.join(", "));
    }
    if let Some(at) = metrics_at {
        mention!("metrics: http://{at}/metrics");
    }
    Ok(Begun {
        server,
        metrics,
        until,
    })
}

/// One part for each core, where the system gives datagrams to parts by what is in them.
fn parts(asked: Option<u16>) -> Result<usize, Failure> {
    match asked {
        Some(1) => Ok(1),
        _ if !cfg!(target_os = "linux") => match asked {
            None => Ok(1),
            Some(_) => Err(Failure::new("--cores above 1 requires Linux")),
        },
        Some(cores) => Ok(cores.into()),
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
    }
}

fn check(serving: &Serving) -> Result<(), Failure> {
    if !ROTATION.contains(&serving.rotation) {
        return Err(Failure::new("--rotation must be 60s to 12h"));
    }
    if !IDLE.contains(&serving.tunnel_idle) {
        return Err(Failure::new("--tunnel-idle must be 1s to 720h"));
    }
    let v4 = serving.listen.iter().filter(|at| at.is_ipv4()).count();
    if v4 > 1 || serving.listen.len() - v4 > 1 {
        return Err(
            Failure::new("--listen: need at most one IPv4 and one IPv6 address")
                .hint("0.0.0.0 or [::] receives at all addresses; use --address to tell clients"),
        );
    }
    if serving.address.len() > ADDRESSES_MAX {
        return Err(Failure::new(format!(
            "--address: a record can have at most {ADDRESSES_MAX} addresses"
        )));
    }
    let is_anywhere = serving.listen.iter().any(|at| at.ip().is_unspecified());
    if serving.address.is_empty() && is_anywhere {
        return Err(
            Failure::new("--listen does not name an address for clients")
                .hint("use --address with the address and port that clients reach"),
        );
    }
    Ok(())
}

fn cannot_serve(at: &[SocketAddr], error: Error) -> Failure {
    let at: Vec<String> = at.iter().map(ToString::to_string).collect();
    let at = at.join(" and ");
    match error {
        Error::Io(error) if error.kind() == ErrorKind::AddrInUse => {
            Failure::new(format!("cannot serve at {at}: the address is in use"))
                .hint("check whether this server is already running")
        }
        Error::Io(error) if error.kind() == ErrorKind::AddrNotAvailable => Failure::new(format!(
            "cannot serve at {at}: not an address of this machine"
        ))
        .hint("behind a NAT, use --listen 0.0.0.0:PORT and --address"),
        Error::Refused(Reason::BadAddress) => Failure::new("--address: clients cannot reach it")
            .hint("use --address with an address and port of the server"),
        error => Failure::new(format!("cannot serve at {at}: {error}")),
    }
}

fn publish(path: &Path, record: &Record) -> std::io::Result<()> {
    records::write(path, record)
}

fn not_published(path: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::io(path, error);
    match error.kind() {
        ErrorKind::AlreadyExists => failure.hint("use another --record"),
        _ => failure,
    }
}

/// Writes each record as it comes.
async fn keep_published(mut records: tokio::sync::watch::Receiver<Option<Record>>, path: PathBuf) {
    while records.changed().await.is_ok() {
        let record = records.borrow_and_update().clone();
        let Some(record) = record else { continue };
        let to = path.clone();
        let written = tokio::task::spawn_blocking(move || publish(&to, &record)).await;
        if let Ok(Err(error)) = written {
            warn!(file = %path.display(), %error, "cannot write the record");
        }
    }
}

/// Gives each record to a name server, as it comes.
pub async fn keep_registered(
    mut records: tokio::sync::watch::Receiver<Option<Record>>,
    service: PathBuf,
) {
    let mut is_down = false;
    loop {
        let record = records.borrow_and_update().clone();
        let given = match record {
            Some(record) => register(record, &service).await,
            None => Ok(()),
        };
        if let Err(failure) = &given
            && !is_down
        {
            warn!("not published: {}", failure.message);
        }
        is_down = given.is_err();
        let changed = match given {
            Ok(()) => records.changed().await,
            Err(_) => match tokio::time::timeout(AGAIN, records.changed()).await {
                Ok(changed) => changed,
                Err(_) => continue,
            },
        };
        if changed.is_err() {
            return;
        }
    }
}

async fn register(record: Record, service: &Path) -> Result<(), Failure> {
    let client = Client::new(client::Config::default());
    let client = client.map_err(|e| Failure::new(format!("cannot open sockets: {e}")))?;
    let name = link::renewed(&client, service, link::ANSWER).await?;
    let tunnel = client.prepare(Target::Host(Box::new(name)));
    let what = service.display().to_string();
    let given = tokio::time::timeout(link::ANSWER, tunnel.register(record)).await;
    match given.unwrap_or(Err(Reason::NoAnswer.into())) {
        Err(Error::Refused(Reason::NotAllowed)) => Err(Failure::new(format!(
            "{what} does not accept this host's record"
        ))),
        Err(error) => Err(link::why(&tunnel, error, &what)),
        Ok(()) => Ok(()),
    }
}
