//! Signs the packets of a flow, and writes their datagrams.

use super::bursts::Packer;
use super::flows::{FlowId, Queued};
use super::options::{Cover, Path, WhenEmpty, WindowSize};
use super::{Outbound, Unsent};
use crate::ecn;
use crate::identity::EpochKey;
use crate::packet::{Burst, Moment};
use crate::pool::PrecursorSource;
use clew_group::Precursor;
use clew_packet::{Candidate, Carrier, Frame, LinkType, Mode, Sender, SignOutcome};
use clew_tree::ID_BYTES;
use rand_core::CryptoRng;
use std::net::IpAddr;

impl Outbound {
    /// Signs packets of a flow and appends their datagrams.
    pub(super) fn seal<P: PrecursorSource, R: CryptoRng>(
        &mut self,
        key: &EpochKey,
        id: FlowId,
        packets: Vec<Queued>,
        now: Moment,
        (precursors, rng): (&mut P, &mut R),
        out: &mut Vec<Burst>,
    ) {
        let Some(path) = self.peers.get(&id.peer).map(|peer| peer.path) else {
            return self.pass_or_refuse_all(id.peer, packets, Unsent::NoPath);
        };
        let carrier = carrier(key.sender(), &path, &id, &packets);
        let sender = key.sender().with_carrier(carrier);
        let (packets, refused) = admissible(&sender, self.options.cover, packets);
        self.pass_or_refuse_all(id.peer, refused, Unsent::NotSignable);
        if packets.is_empty() {
            return;
        }
        let mut datagrams: Vec<Vec<u8>> = Vec::with_capacity(packets.len());
        datagrams.resize_with(packets.len(), || self.buffers.take());
        let signed = match self.options.cover {
            Cover::Tree(_) => {
                let precursor = self.precursor(key, precursors, rng);
                precursor.map_or(0, |precursor| {
                    sign_block(&sender, &packets, now, precursor, rng, &mut datagrams)
                })
            }
            Cover::Each | Cover::Window(_) => {
                let frames = (&packets[..], &mut datagrams[..]);
                self.sign_each(key, &sender, id, now, frames, (precursors, rng))
            }
        };
        self.leave(id, packets, signed, datagrams, (now, out));
    }

    /// Packs what was signed; the rest counts as unsigned.
    fn leave(
        &mut self,
        id: FlowId,
        mut packets: Vec<Queued>,
        signed: usize,
        datagrams: Vec<Vec<u8>>,
        (now, out): (Moment, &mut Vec<Burst>),
    ) {
        let unsigned = packets.split_off(signed);
        self.count_k(signed);
        let Some(peer) = self.peers.get_mut(&id.peer) else {
            return;
        };
        let mut packer = Packer {
            peer: id.peer,
            path: peer.path,
            cookies: &mut peer.cookies,
            buffers: &mut self.buffers,
            metrics: &mut self.metrics,
            now: now.instant,
            start: out.len(),
            out,
            open: None,
            short: Vec::new(),
        };
        let mut pairs = packets.into_iter();
        for datagram in datagrams {
            if let Some(Queued { bytes, at }) = pairs.next() {
                match packer.push(&datagram, ecn::of(&bytes)) {
                    Ok(()) => packer.metrics.left(bytes.len(), now.instant - at),
                    Err(reason) => packer.metrics.unsent.count(reason),
                }
                packer.buffers.recycle(bytes);
            }
            packer.buffers.recycle(datagram);
        }
        packer.finish();
        self.pass_or_refuse_all(id.peer, unsigned, Unsent::PoolEmpty);
    }

    fn count_k(&mut self, signed: usize) {
        match self.options.cover {
            Cover::Tree(_) if signed > 0 => self.metrics.k.count(signed as u64),
            Cover::Tree(_) => {}
            Cover::Each | Cover::Window(_) => (0..signed).for_each(|_| self.metrics.k.count(1)),
        }
    }

    /// Signs each packet for itself, or in its flow's window. Returns how many it signed: with the
    /// first one that finds no precursor it stops.
    fn sign_each<P: PrecursorSource, R: CryptoRng>(
        &mut self,
        key: &EpochKey,
        sender: &Sender,
        id: FlowId,
        now: Moment,
        (packets, datagrams): (&[Queued], &mut [Vec<u8>]),
        (precursors, rng): (&mut P, &mut R),
    ) -> usize {
        let k = self.window_size(id);
        for (place, (packet, datagram)) in packets.iter().zip(datagrams).enumerate() {
            let Some(precursor) = self.precursor(key, precursors, rng) else {
                return place;
            };
            let frame = Frame::whole(LinkType::RAW, &packet.bytes);
            let time = Some(now.wall);
            let Some(k) = k else {
                sender.sign(&frame, time, || precursor, datagram);
                continue;
            };
            if let Ok(candidate) = sender.admit(&frame, Mode::Window, k, datagram) {
                let window = self.flows.window(id, key.name(), k);
                sender.sign_in_window(&candidate, time, window, || precursor, datagram);
            }
        }
        packets.len()
    }

    /// Returns how many packets a window has; none in mode `each`.
    fn window_size(&self, id: FlowId) -> Option<u16> {
        match self.options.cover {
            Cover::Each | Cover::Tree(_) => None,
            Cover::Window(WindowSize::Fixed(k)) => Some(k),
            Cover::Window(WindowSize::Adaptive(most)) => {
                Some(self.flows.in_flight(&id).clamp(1, most.max(1)))
            }
        }
    }

    /// Returns a precursor, from the pool or as the policy says.
    fn precursor(
        &mut self,
        key: &EpochKey,
        precursors: &mut impl PrecursorSource,
        rng: &mut impl CryptoRng,
    ) -> Option<Precursor> {
        let found = precursors.take(key);
        if found.is_none() {
            self.metrics.starved += 1;
            let signs = match self.options.when_empty {
                WhenEmpty::SignOnline => true,
                WhenEmpty::Drop => false,
                WhenEmpty::Sample(one_of) => self
                    .metrics
                    .starved
                    .is_multiple_of(u64::from(one_of.max(1))),
            };
            if !signs {
                return None;
            }
            self.metrics.online += 1;
        }
        self.metrics.signatures += 1;
        Some(found.unwrap_or_else(|| key.precursor(rng)))
    }
}

/// Returns how all of these packets travel: `udp-transport` is for packets between the two ends
/// only, and has no form for some.
fn carrier(sender: &Sender, path: &Path, id: &FlowId, packets: &[Queued]) -> Carrier {
    if path.carrier == Carrier::Trailer {
        return Carrier::Trailer;
    }
    let canonical = |address: IpAddr| address.to_canonical();
    let ends = (path.local.map(canonical), canonical(path.remote.ip()));
    let is_between = ends == (Some(id.flow.source), id.flow.destination);
    if path.carrier != Carrier::UdpTransport || !is_between {
        return Carrier::UdpTunnel;
    }
    let (sender, mut scratch) = (sender.with_carrier(Carrier::UdpTransport), Vec::new());
    let mut needs_tunnel = |packet: &Queued| {
        let admitted = candidate(&sender, packet, Mode::Each, 1, &mut scratch);
        matches!(admitted, Err(SignOutcome::NeedsTunnel))
    };
    match packets.iter().any(&mut needs_tunnel) {
        true => Carrier::UdpTunnel,
        false => Carrier::UdpTransport,
    }
}

/// Splits off the packets that cannot be signed together with the others.
fn admissible(sender: &Sender, cover: Cover, packets: Vec<Queued>) -> (Vec<Queued>, Vec<Queued>) {
    let mode = match cover {
        Cover::Each => Mode::Each,
        Cover::Window(_) => Mode::Window,
        Cover::Tree(_) => Mode::Tree,
    };
    let (mut left, mut refused) = (packets, Vec::new());
    let mut scratch = Vec::new();
    loop {
        let most = u16::try_from(left.len()).unwrap_or(u16::MAX);
        let before = left.len();
        let mut kept = Vec::with_capacity(before);
        for packet in left {
            match candidate(sender, &packet, mode, most, &mut scratch) {
                Ok(_) => kept.push(packet),
                Err(_) => refused.push(packet),
            }
        }
        // A smaller block has other lengths: who had room may have none now.
        if kept.len() == before {
            return (kept, refused);
        }
        left = kept;
    }
}

fn candidate<'a>(
    sender: &Sender,
    packet: &'a Queued,
    mode: Mode,
    most: u16,
    scratch: &mut Vec<u8>,
) -> Result<Candidate<'a>, SignOutcome> {
    let frame = Frame::whole(LinkType::RAW, &packet.bytes);
    sender.admit(&frame, mode, most, scratch)
}

/// Signs a block, and returns how many packets it has: none if they are not a block after all.
fn sign_block(
    sender: &Sender,
    packets: &[Queued],
    now: Moment,
    precursor: Precursor,
    rng: &mut impl CryptoRng,
    datagrams: &mut [Vec<u8>],
) -> usize {
    let most = u16::try_from(packets.len()).unwrap_or(u16::MAX);
    let mut scratch = Vec::new();
    let candidates = packets
        .iter()
        .map(|packet| candidate(sender, packet, Mode::Tree, most, &mut scratch));
    let candidates: Vec<Candidate<'_>> = candidates.flatten().collect();
    // Drawn after the packets were fixed, so that nobody can prepare packets for it.
    let mut id = [0; ID_BYTES];
    rng.fill_bytes(&mut id);
    let signed = sender.sign_block(&candidates, Some(now.wall), id, || precursor, datagrams);
    signed.map_or(0, |()| packets.len())
}
