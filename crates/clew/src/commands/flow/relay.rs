//! `clew flow relay`

use super::verify::say_assurance;
use super::{distribution, flows};
use crate::cli::{CarriageName, FlowRelay};
use crate::failure::{Failure, Status};
use crate::flow::keys::{FlowKey, title};
use crate::flow::relay::{self, Ends, Signing, Until, Verifying, Wire};
use crate::metrics::{Endpoint, RelayMetrics};
use clew_flow::Reason;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long a block may take live.
const PERIOD: Duration = Duration::from_millis(5);

pub fn run(arguments: &FlowRelay) -> Result<Status, Failure> {
    check_ends(arguments)?;
    match &arguments.key {
        Some(key) => sign(arguments, key),
        None => verify(arguments),
    }
}

/// Refuses a relay that receives what it sends. Between two interfaces, one multicast group may be both.
fn check_ends(arguments: &FlowRelay) -> Result<(), Failure> {
    let (listen, to) = (arguments.listen, arguments.to);
    let is_same = listen == to && arguments.listen_on == arguments.send_by;
    let is_all = listen.ip().is_unspecified() && to.ip().is_loopback();
    if is_same || is_all && listen.port() == to.port() {
        return Err(Failure::new(format!(
            "--listen {listen} would receive what --to {to} sends"
        ))
        .hint("use another port for --to"));
    }
    Ok(())
}

fn sign(arguments: &FlowRelay, key: &Path) -> Result<Status, Failure> {
    let key = arguments.unlock.load(key, FlowKey::decode)?;
    let carrying = &arguments.carrying;
    let mut signing = Signing {
        distribution: distribution(carrying, &key)?,
        period: carrying.period.unwrap_or(PERIOD),
        rtp: carrying.rtp,
        manifests: manifests(arguments)?,
    };
    let bound = signing.delay_bound(&key, carrying.period.is_some())?;
    let (mut wire, metrics, until) = begin(arguments)?;
    mention!(
        "signing as {}; a packet waits {:.1} ms at most",
        title(key.descriptor()),
        bound.as_secs_f64() * 1e3
    );
    relay::sign(&mut wire, &key, signing, &metrics, until)?;
    let (sent, blocks) = (metrics.sent.get(), metrics.blocks.get());
    mention!("signed and sent {sent} datagrams, in {blocks} blocks");
    warn_refused(&metrics);
    Ok(Status::Yes)
}

/// Where manifests go, if there are any.
fn manifests(arguments: &FlowRelay) -> Result<Option<SocketAddr>, Failure> {
    let beside = arguments.carrying.carriage == CarriageName::Manifest;
    match (beside, arguments.manifest_to) {
        (true, None) => Err(Failure::new("--carriage manifest requires --manifest-to")
            .hint("use --manifest-to with a port of its own")),
        (false, Some(_)) => Err(Failure::new("--manifest-to requires --carriage manifest")),
        (_, to) => Ok(to),
    }
}

fn verify(arguments: &FlowRelay) -> Result<Status, Failure> {
    let flows = flows(&arguments.flow, arguments.assurance)?;
    let verifying = Verifying {
        policy: arguments.policy,
        hold: arguments.hold,
        max_age_ns: arguments.max_age,
        manifests: arguments.manifest_listen.is_some(),
    };
    let (mut wire, metrics, until) = begin(arguments)?;
    let names: Vec<String> = flows.iter().map(title).collect();
    mention!("verifying {}", names.join(", "));
    say_assurance(&flows);
    relay::verify(&mut wire, &flows, verifying, &metrics, until)?;
    tell(&metrics);
    Ok(Status::Yes)
}

/// Opens the sockets, and serves the counters where that was asked for.
fn begin(arguments: &FlowRelay) -> Result<(Wire, Arc<RelayMetrics>, Until), Failure> {
    let wire = Wire::open(&Ends {
        listen: arguments.listen,
        listen_on: arguments.listen_on.clone(),
        to: arguments.to,
        send_by: arguments.send_by.clone(),
        ttl: arguments.ttl,
        manifests: arguments.manifest_listen,
    })?;
    let metrics = Arc::new(RelayMetrics::new());
    let local = wire.local().unwrap_or(arguments.listen);
    mention!("from {local} to {}", arguments.to);
    let mut until = Until::after(arguments.duration);
    if let Some(at) = arguments.metrics {
        let shown = Arc::clone(&metrics);
        let endpoint = Endpoint::listen(at, move || shown.text())?;
        until = until.beating(endpoint.heartbeat);
        mention!("metrics: http://{}/metrics", endpoint.at);
    }
    Ok((wire, metrics, until))
}

fn tell(metrics: &RelayMetrics) {
    let (received, sent) = (metrics.received.get(), metrics.sent.get());
    mention!("received {received} datagrams, forwarded {sent}");
    for reason in Reason::ALL {
        let count = metrics.of(reason);
        if count > 0 {
            mention!("  {count:>9}  {:<9}  {reason}", reason.verdict());
        }
    }
    let (packets, blocks) = (metrics.lost_packets.get(), metrics.lost_blocks.get());
    if packets > 0 || blocks > 0 {
        mention!("  {packets:>9}  lost, and {blocks} whole blocks");
    }
    warn_refused(metrics);
}

fn warn_refused(metrics: &RelayMetrics) {
    let refused = metrics.refused.get();
    if refused > 0 {
        mention!("clew: warning: the network rejected {refused} datagrams");
    }
}
