//! Signed datagrams in, what applications sent out.

use super::{BATCH, NAP, Until, Wire};
use crate::clock;
use crate::failure::Failure;
use crate::flow::capture::signed;
use crate::flow::policy::{Gate, Policy};
use crate::flow::schemes::Flows;
use crate::metrics::RelayMetrics;
use clew_flow::manifest::ManifestReceiver;
use clew_flow::{Acceptance, Finding, FlowReceiver, Lost, Reason};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How datagrams are verified.
#[derive(Clone, Copy, Debug)]
pub struct Verifying {
    /// What passes.
    pub policy: Policy,
    /// How long a packet waits for its block's signature before it is judged without.
    pub hold: Duration,
    /// How far timestamps may be from now.
    pub max_age_ns: u64,
    /// Whether signatures come beside the packets.
    pub manifests: bool,
}

/// What judges packets.
enum Receiver {
    /// By what they carry.
    Signed(FlowReceiver),
    /// By what comes beside them.
    Listed(ManifestReceiver),
}

impl Receiver {
    fn new(flows: &Flows, acceptance: Acceptance, manifests: bool) -> Result<Self, Failure> {
        let flows = flows.verifiable()?;
        Ok(match manifests {
            true => Self::Listed(ManifestReceiver::with_verifiers(flows, acceptance)),
            false => Self::Signed(FlowReceiver::with_verifiers(flows, acceptance)),
        })
    }

    fn receive<'a>(&mut self, packets: &[&'a [u8]], first_ticket: u64) -> Vec<Finding<'a>> {
        match self {
            Self::Signed(receiver) => {
                receiver.receive_many(packets, clock::wall_time(), first_ticket)
            }
            Self::Listed(receiver) => packets
                .iter()
                .zip(first_ticket..)
                .map(|(packet, ticket)| receiver.receive(packet, ticket))
                .collect(),
        }
    }

    /// Packets that a manifest decides.
    fn receive_manifest(&mut self, manifest: &[u8]) -> Vec<(u64, Reason)> {
        match self {
            Self::Signed(_) => Vec::new(),
            Self::Listed(receiver) => {
                receiver
                    .receive_manifest(manifest, clock::wall_time())
                    .resolved
            }
        }
    }

    fn end(&mut self) {
        match self {
            Self::Signed(receiver) => {
                receiver.end();
            }
            Self::Listed(receiver) => {
                receiver.end();
            }
        }
    }

    fn lost(&self) -> Lost {
        match self {
            Self::Signed(receiver) => receiver.lost(),
            Self::Listed(receiver) => receiver.lost(),
        }
    }

    fn verifications(&self) -> u64 {
        match self {
            Self::Signed(receiver) => receiver.verifications(),
            Self::Listed(receiver) => receiver.verifications(),
        }
    }
}

/// Relays until it is to stop.
///
/// # Errors
/// A flow's key is invalid, or the network failed.
pub fn verify(
    wire: &mut Wire,
    flows: &Flows,
    verifying: Verifying,
    metrics: &RelayMetrics,
    until: Until,
) -> Result<(), Failure> {
    let acceptance = Acceptance {
        tolerance: Duration::from_nanos(verifying.max_age_ns),
        ..Acceptance::default()
    };
    let mut line = Line {
        receiver: Receiver::new(flows, acceptance, verifying.manifests)?,
        gate: Gate::new(verifying.policy, flows.iter()),
        hold: verifying.hold,
        held: BTreeMap::new(),
        tickets: 0,
        verifications: 0,
        lost: Lost::default(),
    };
    while !until.is_over() {
        let wait = line.wait();
        let datagrams = wire.receive(BATCH, wait);
        let datagrams = datagrams.map_err(|e| Failure::new(format!("cannot receive: {e}")))?;
        metrics.received.inc_by(datagrams.len() as u64);
        line.take(&datagrams, wire, metrics);
        let manifests = wire.manifests(BATCH);
        for manifest in manifests.map_err(|e| Failure::new(format!("cannot receive: {e}")))? {
            let resolved = line.receiver.receive_manifest(&manifest);
            line.resolve(resolved, wire, metrics);
        }
        line.give_up(Instant::now().checked_sub(line.hold), wire, metrics);
        line.count(metrics);
    }
    line.give_up(Some(Instant::now()), wire, metrics);
    line.receiver.end();
    line.count(metrics);
    Ok(())
}

/// Flows as they are being verified.
struct Line {
    receiver: Receiver,
    gate: Gate,
    hold: Duration,
    /// Packets that are pending, by ticket: what is to go on, and when they came.
    held: BTreeMap<u64, (Instant, Vec<u8>)>,
    tickets: u64,
    verifications: u64,
    lost: Lost,
}

impl Line {
    /// How long nothing is to be done if nothing comes.
    fn wait(&self) -> Duration {
        let first = self.held.first_key_value();
        first.map_or(NAP, |(_, (came, _))| {
            self.hold.saturating_sub(came.elapsed())
        })
    }

    fn take(&mut self, datagrams: &[Vec<u8>], wire: &Wire, metrics: &RelayMetrics) {
        let came = Instant::now();
        let payloads: Vec<_> = datagrams.iter().map(|datagram| signed(datagram)).collect();
        let payloads: Vec<&[u8]> = payloads.iter().map(|payload| &**payload).collect();
        let findings = self.receiver.receive(&payloads, self.tickets);
        for (finding, ticket) in findings.into_iter().zip(self.tickets..) {
            self.tickets += 1;
            // They came before this one.
            self.resolve(finding.resolved, wire, metrics);
            match finding.reason {
                Reason::Pending => {
                    self.held.insert(ticket, (came, finding.packet.to_vec()));
                }
                reason => self.judge(reason, finding.packet, wire, metrics),
            }
        }
    }

    /// Judges packets that were pending.
    fn resolve(&mut self, resolved: Vec<(u64, Reason)>, wire: &Wire, metrics: &RelayMetrics) {
        for (ticket, reason) in resolved {
            // One that was given up has gone its way.
            if let Some((_, packet)) = self.held.remove(&ticket) {
                self.judge(reason, &packet, wire, metrics);
            }
        }
    }

    /// Gives up the packets that came before.
    fn give_up(&mut self, before: Option<Instant>, wire: &Wire, metrics: &RelayMetrics) {
        while let Some(first) = self.held.first_entry()
            && before.is_some_and(|before| first.get().0 <= before)
        {
            let (_, packet) = first.remove();
            self.judge(Reason::NoSignature, &packet, wire, metrics);
        }
    }

    fn judge(&self, reason: Reason, packet: &[u8], wire: &Wire, metrics: &RelayMetrics) {
        metrics.judge(reason);
        if !self.gate.passes(reason) {
            metrics.withheld.inc();
        } else if wire.send(packet) {
            metrics.sent.inc();
        } else {
            metrics.refused.inc();
        }
    }

    fn count(&mut self, metrics: &RelayMetrics) {
        let (verifications, lost) = (self.receiver.verifications(), self.receiver.lost());
        metrics.pending.set(self.held.len() as i64);
        metrics
            .verifications
            .inc_by(verifications - self.verifications);
        metrics
            .lost_packets
            .inc_by(lost.packets - self.lost.packets);
        metrics.lost_blocks.inc_by(lost.blocks - self.lost.blocks);
        (self.verifications, self.lost) = (verifications, lost);
    }
}
