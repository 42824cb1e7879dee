//! What a daemon tells of itself.

use super::clocks;
use super::shared::{Shared, lock};
use crate::carrier::Offloads;
use crate::config::{InboundMode, OutboundMode};
use crate::packet::Moment;
use crate::receiver::{Gate, InboundMetrics};
use crate::sender::OutboundMetrics;
use crate::status::{
    Filtered, InboundStatus, Notice, OutboundStatus, PeerStatus, PoolStatus, Signer, Status,
};
use clew_packet::KeySource;
use std::collections::BTreeMap;

/// Counters by the names of their reasons.
fn named<R: ToString>(counters: impl Iterator<Item = (R, u64)>) -> BTreeMap<String, u64> {
    counters
        .map(|(reason, count)| (reason.to_string(), count))
        .collect()
}

impl<K: KeySource> Shared<K> {
    /// Collects it. `notices` are what was said.
    pub fn status(&self, version: &str, notices: Vec<Notice>) -> Status {
        let (config, now) = (self.config(), self.clock.now());
        let mut offloads = Offloads::default();
        self.tun.offloads(&mut offloads);
        self.network.offloads(&mut offloads);
        let level = self.pool.level();
        let word = |word: &str| word.to_owned();
        Status {
            name: config.name.clone(),
            version: version.to_owned(),
            process: std::process::id(),
            seconds: now.instant.as_nanos() / 1_000_000_000,
            carrier: word(config.carrier.as_str()),
            interface: config.interface.clone(),
            inbound_mode: word(match config.inbound {
                InboundMode::Monitor => "monitor",
                InboundMode::Enforce => "enforce",
                InboundMode::Off => "off",
            }),
            outbound_mode: word(match config.outbound {
                OutboundMode::Prefer => "prefer",
                OutboundMode::Require => "require",
            }),
            offloads,
            signer: self.signer(now),
            pool: PoolStatus {
                ready: level.ready,
                prepared: level.prepared,
                taken: level.taken,
                starved: level.starved,
                discarded: level.discarded,
            },
            peers: self.peer_status(now),
            outbound: self.outbound_status(),
            inbound: self.inbound_status(now),
            filtered: Filtered::default(),
            clock: clocks::status(),
            notices,
        }
    }

    /// Reads the clocks.
    pub fn clocks(&self) -> clocks::Reading {
        let now = self.clock.now();
        clocks::Reading::now(lock(&self.inbound).state(now).clock)
    }

    fn signer(&self, now: Moment) -> Signer {
        let state = lock(&self.outbound).state(now.wall);
        Signer {
            machine: self.identity().machine().to_string(),
            epoch: state.as_ref().ok().copied(),
            trouble: state.err().map(|trouble| trouble.to_string()),
        }
    }

    fn peer_status(&self, now: Moment) -> Vec<PeerStatus> {
        let config = self.config();
        let table = lock(&self.peers);
        let reaches = table.peers.reaches().iter().zip(&table.traffic);
        let each = config.peers.iter().zip(reaches);
        let status = |(peer, (reach, (packets, last))): (
            &crate::config::Peer,
            (&super::peers::Reach, &(u64, Option<clew_wire::Instant>)),
        )| {
            let ago = last.map(|last| (now.instant - last).as_secs());
            PeerStatus {
                prefixes: peer.prefixes.iter().map(ToString::to_string).collect(),
                endpoint: reach.remote,
                is_learned: reach.is_learned,
                path_mtu: reach.mtu(now.instant),
                packets: *packets,
                seconds_ago: ago,
            }
        };
        each.map(status).collect()
    }

    /// Names all that the sender counts, so that nothing is counted and shown nowhere.
    fn outbound_status(&self) -> OutboundStatus {
        let OutboundMetrics {
            unsent,
            // Nothing passes unsigned here.
            packets,
            bytes,
            signatures,
            online,
            datagrams,
            datagram_bytes,
            fragments,
            fragments_again,
            k,
            waits,
            clamped,
            // They came: the other direction has them.
            cookies: _,
            foreign_cookies: _,
        } = lock(&self.outbound).metrics().clone();
        OutboundStatus {
            packets,
            bytes,
            signatures,
            online,
            datagrams,
            datagram_bytes,
            fragments,
            fragments_again,
            clamped,
            unsent: named(unsent.iter()),
            dropped: named(lock(&self.drops).leaving.iter()),
            k: k.into(),
            waits: waits.into(),
        }
    }

    /// Names all that the receiver counts.
    fn inbound_status(&self, now: Moment) -> InboundStatus {
        let inbound = lock(&self.inbound);
        let (metrics, state) = (inbound.metrics(), inbound.state(now));
        drop(inbound);
        let sender = lock(&self.outbound).metrics().clone();
        let InboundMetrics {
            verdicts,
            refused,
            datagrams,
            datagram_bytes,
            fragments_joined,
            // The sender has them by their kind.
            cookies: _,
            fragments_again,
            packets,
            bytes,
            late,
            signatures,
            good_signatures,
            screened,
            verification_ns,
            batches,
            k,
            waits,
            clamped,
            replies,
            forgotten,
            held,
            held_bytes,
            waiting_signatures,
            followers,
        } = metrics;
        InboundStatus {
            packets,
            bytes,
            datagrams,
            datagram_bytes,
            signatures,
            good_signatures,
            verification_ns,
            verdicts: named(verdicts.iter()),
            refused: named(refused.iter()),
            dropped: named(lock(&self.drops).arriving.iter()),
            late,
            screened,
            fragments_joined,
            fragments_again,
            clamped,
            cookies: sender.cookies,
            foreign_cookies: sender.foreign_cookies,
            cookies_given: replies,
            forgotten,
            held: held as u64,
            held_bytes: held_bytes as u64,
            followers: followers as u64,
            waiting_signatures: waiting_signatures as u64,
            gate: match state.gate {
                Gate::Open => "open",
                Gate::Warning => "warning",
                Gate::Shut => "shut",
            }
            .to_owned(),
            clock_steps: state.clock.steps,
            k: k.into(),
            batches: batches.into(),
            waits: waits.into(),
        }
    }
}
