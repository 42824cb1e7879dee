//! Signs the packets of a flow, and writes their datagrams.

use super::bursts::Packer;
use super::flows::{FlowId, Queued};
use super::options::{Cover, Path, WindowSize};
use super::{Outbound, Unsent};
use crate::config::EmptyPool;
use crate::identity::EpochKey;
use crate::packet::{Burst, Moment};
use crate::pool::PrecursorSource;
use clew_group::Precursor;
use clew_packet::{
    Candidate, Carrier, Frame, LinkType, Mode, Reason, Sender, SignOutcome, UnsignableBlock,
};
use clew_tree::ID_BYTES;
use rand_core::CryptoRng;
use std::net::IpAddr;

/// What became of a packet: signed, or why not.
type Fate = Result<(), Unsent>;

impl Outbound {
    /// Signs packets of a flow and appends their datagrams.
    pub(super) fn sign_flow<P: PrecursorSource, R: CryptoRng>(
        &mut self,
        key: &EpochKey,
        id: FlowId,
        packets: Vec<Queued>,
        now: Moment,
        (precursors, rng): (&mut P, &mut R),
        out: &mut Vec<Burst>,
    ) {
        let Some(path) = self.peers.get(&id.peer).map(|peer| peer.path) else {
            return self.refuse_all(packets, Unsent::NoPath);
        };
        let carrier = carrier(key.sender(), &path, &id, &packets);
        let sender = key.sender().with_carrier(carrier);
        let (packets, refused) = admissible(&sender, self.options.cover, packets);
        self.refuse_each(refused);
        if packets.is_empty() {
            return;
        }
        let mut datagrams: Vec<Vec<u8>> = Vec::with_capacity(packets.len());
        datagrams.resize_with(packets.len(), || self.buffers.take());
        let frames = (&packets[..], &mut datagrams[..]);
        let fates = match self.options.cover {
            Cover::Tree(_) => {
                let fate = self.sign_block(key, &sender, now, frames, (precursors, rng));
                vec![fate; packets.len()]
            }
            Cover::Each | Cover::Window(_) => {
                self.sign_each(key, &sender, id, now, frames, (precursors, rng))
            }
        };
        self.pack(id, packets.into_iter().zip(fates), datagrams, (now, out));
    }

    /// Packs what was signed; the rest has its reason.
    fn pack(
        &mut self,
        id: FlowId,
        packets: impl Iterator<Item = (Queued, Fate)>,
        datagrams: Vec<Vec<u8>>,
        (now, out): (Moment, &mut Vec<Burst>),
    ) {
        let Some(peer) = self.peers.get_mut(&id.peer) else {
            let refused = packets.map(|(packet, _)| (packet, Unsent::NoPath));
            return self.refuse_each(refused.collect());
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
        let mut refused = Vec::new();
        for ((packet, fate), datagram) in packets.zip(datagrams) {
            match fate {
                Ok(()) => packer.take(packet, &datagram),
                Err(reason) => refused.push((packet, reason)),
            }
            packer.buffers.recycle(datagram);
        }
        packer.finish();
        self.refuse_each(refused);
    }

    fn refuse_each(&mut self, packets: Vec<(Queued, Unsent)>) {
        for (packet, reason) in packets {
            self.refuse(packet.bytes, reason);
        }
    }

    /// Signs packets as one block.
    ///
    /// # Errors
    /// Why none of them is signed.
    fn sign_block<P: PrecursorSource, R: CryptoRng>(
        &mut self,
        key: &EpochKey,
        sender: &Sender,
        now: Moment,
        (packets, datagrams): (&[Queued], &mut [Vec<u8>]),
        (precursors, rng): (&mut P, &mut R),
    ) -> Fate {
        let precursor = self.precursor(key, precursors, rng)?;
        sign_block(sender, packets, now, precursor, rng, datagrams)?;
        self.metrics.signatures += 1;
        self.metrics.k.count(packets.len() as u64);
        Ok(())
    }

    /// Signs each packet for itself, or in its flow's window. Returns what became of each: with the
    /// first one that finds no precursor it stops.
    fn sign_each<P: PrecursorSource, R: CryptoRng>(
        &mut self,
        key: &EpochKey,
        sender: &Sender,
        id: FlowId,
        now: Moment,
        (packets, datagrams): (&[Queued], &mut [Vec<u8>]),
        (precursors, rng): (&mut P, &mut R),
    ) -> Vec<Fate> {
        let k = self.window_size(id);
        let time = Some(now.wall);
        let mut fates = Vec::with_capacity(packets.len());
        for (packet, datagram) in packets.iter().zip(datagrams) {
            let Ok(precursor) = self.precursor(key, precursors, rng) else {
                break;
            };
            let fate = match k {
                None => match sender.sign(&frame(packet), time, || precursor, datagram) {
                    SignOutcome::Signed => Ok(()),
                    other => Err(why(other)),
                },
                Some(k) => {
                    let admitted = candidate(sender, packet, Mode::Window, k, datagram);
                    admitted.map_err(why).map(|admitted| {
                        let window = self.flows.window(id, key.name(), k);
                        sender.sign_in_window(&admitted, time, window, || precursor, datagram);
                    })
                }
            };
            if fate.is_ok() {
                self.metrics.signatures += 1;
                self.metrics.k.count(1);
            }
            fates.push(fate);
        }
        fates.resize(packets.len(), Err(Unsent::PoolEmpty));
        fates
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
    ///
    /// # Errors
    /// The pool is empty, and the policy computes none at once.
    fn precursor(
        &mut self,
        key: &EpochKey,
        precursors: &mut impl PrecursorSource,
        rng: &mut impl CryptoRng,
    ) -> Result<Precursor, Unsent> {
        match (precursors.take(key), self.options.when_empty) {
            (Some(precursor), _) => Ok(precursor),
            (None, EmptyPool::Drop) => Err(Unsent::PoolEmpty),
            (None, EmptyPool::SignOnline) => {
                self.metrics.online += 1;
                Ok(key.precursor(rng))
            }
        }
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

/// Splits off the packets that cannot be signed together with the others, and says why.
fn admissible(
    sender: &Sender,
    cover: Cover,
    packets: Vec<Queued>,
) -> (Vec<Queued>, Vec<(Queued, Unsent)>) {
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
            match candidate(sender, &packet, mode, most, &mut scratch).map_err(why) {
                Ok(_) => kept.push(packet),
                Err(reason) => refused.push((packet, reason)),
            }
        }
        // A smaller block has other lengths: who had room may have none now.
        if kept.len() == before {
            return (kept, refused);
        }
        left = kept;
    }
}

/// Why a packet does not leave that is not signed.
fn why(outcome: SignOutcome) -> Unsent {
    match outcome {
        SignOutcome::Unsignable(Reason::TooBig) | SignOutcome::Offload => Unsent::NoRoom,
        _ => Unsent::NotSignable,
    }
}

fn frame(packet: &Queued) -> Frame<'_> {
    Frame::whole(LinkType::RAW, &packet.bytes)
}

fn candidate<'a>(
    sender: &Sender,
    packet: &'a Queued,
    mode: Mode,
    most: u16,
    scratch: &mut Vec<u8>,
) -> Result<Candidate<'a>, SignOutcome> {
    sender.admit(&frame(packet), mode, most, scratch)
}

/// Signs a block.
///
/// # Errors
/// Why the packets are not a block after all.
fn sign_block(
    sender: &Sender,
    packets: &[Queued],
    now: Moment,
    precursor: Precursor,
    rng: &mut impl CryptoRng,
    datagrams: &mut [Vec<u8>],
) -> Fate {
    let most = u16::try_from(packets.len()).unwrap_or(u16::MAX);
    let mut scratch = Vec::new();
    let candidates = packets
        .iter()
        .map(|packet| candidate(sender, packet, Mode::Tree, most, &mut scratch).map_err(why));
    let candidates = candidates.collect::<Result<Vec<Candidate<'_>>, Unsent>>()?;
    // Drawn after the packets were fixed, so that nobody can prepare packets for it.
    let mut id = [0; ID_BYTES];
    rng.fill_bytes(&mut id);
    let signed = sender.sign_block(&candidates, Some(now.wall), id, || precursor, datagrams);
    signed.map_err(why_not_a_block)
}

const fn why_not_a_block(refused: UnsignableBlock) -> Unsent {
    match refused {
        UnsignableBlock::NoRoom => Unsent::NoRoom,
        UnsignableBlock::Empty | UnsignableBlock::TooMany | UnsignableBlock::Buffers => {
            Unsent::NotSignable
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pool has nothing to do with it.
    #[test]
    fn what_is_not_signed_has_the_reason_of_the_rule() {
        use UnsignableBlock::{Buffers, Empty, NoRoom, TooMany};
        let reasons = [NoRoom, Empty, TooMany, Buffers].map(why_not_a_block);
        let other = Unsent::NotSignable;
        assert_eq!(reasons, [Unsent::NoRoom, other, other, other]);
        assert_eq!(why(Reason::TooBig.into()), Unsent::NoRoom);
        assert_eq!(why(Reason::Jumbo.into()), Unsent::NotSignable);
    }
}
