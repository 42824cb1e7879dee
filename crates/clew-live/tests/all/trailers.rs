//! The carrier `trailer`: IP packets out, IP packets in.

use crate::common::group::{Keys, OURS};
use crate::common::packets::udp;
use crate::common::sim::{MS, Online, PEER, S, moment, path, peer_rules};
use clew_group::Scheme;
use clew_live::packet::{Burst, Clear, Delivery, Moment};
use clew_live::receiver::{Inbound, InboundOptions, TURN_WAIT_MAX};
use clew_live::sender::{
    Cover, Outbound, OutboundOptions, Path, Unsent, WindowSize, live_policy, trailer_max,
};
use clew_packet::{Carrier, Frame, LinkType, MAGIC, Stripped, strip};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(12)
}

fn sender(cover: Cover, mtu: u16) -> Outbound {
    let options = OutboundOptions {
        cover,
        ..OutboundOptions::default()
    };
    let identity = OURS.identity_with(&[(0, 0)], None, live_policy(Scheme::Xr));
    let mut sender = Outbound::new(Some(identity), options);
    let carrier = Carrier::Trailer;
    sender.set_path(
        PEER,
        Path {
            mtu,
            carrier,
            ..path()
        },
    );
    sender
}

/// Signs packets together, and returns what leaves.
fn signed(sender: &mut Outbound, packets: &[Vec<u8>], now: Moment) -> Vec<Vec<u8>> {
    for bytes in packets {
        let (peer, bytes) = (PEER, bytes.clone());
        sender.push(Clear { peer, bytes }, now).unwrap();
    }
    let mut out: Vec<Burst> = Vec::new();
    sender.flush(now, &mut Online, &mut rng(), &mut out);
    let each = out
        .iter()
        .flat_map(|burst| burst.bytes.chunks(burst.segment));
    each.map(<[u8]>::to_vec).collect()
}

fn receiver(start: Moment) -> Inbound<Keys> {
    let (keys, options) = (Keys::of(&[0]), InboundOptions::default());
    Inbound::new(keys, options, peer_rules(), start, [5; 32])
}

/// Gives packets to a receiver, and returns what it delivers.
fn delivered(receiver: &mut Inbound<Keys>, packets: &[Vec<u8>], now: Moment) -> Vec<Vec<u8>> {
    packets
        .iter()
        .for_each(|packet| receiver.receive_trailed(packet, now));
    while let Some(work) = receiver.take_work(now) {
        let done = work.run(&mut rng());
        receiver.finish(done, std::time::Duration::ZERO, now);
    }
    let mut out: Vec<Delivery> = Vec::new();
    // Packets without a verdict hold others of their flow up for a moment.
    let instant = now.instant + 2 * TURN_WAIT_MAX;
    receiver.deliver(Moment { instant, ..now }, &mut out);
    out.into_iter().map(|delivery| delivery.bytes).collect()
}

/// Blocks of all kinds arrive as they were, and no trailer is longer than a path leaves room for.
#[test]
fn packets_arrive_without_their_trailers() {
    for (cover, count) in [
        (Cover::Each, 3),
        (Cover::Window(WindowSize::Fixed(4)), 6),
        (Cover::Tree(64), 1),
        (Cover::Tree(64), 8),
        (Cover::Tree(64), 9),
        (Cover::Tree(64), 64),
    ] {
        let packets: Vec<_> = (0..count).map(|n| udp(1, n, 900)).collect();
        let wire = signed(&mut sender(cover, 1_500), &packets, moment(2 * S + MS, 0));
        assert_eq!(wire.len(), packets.len());
        for (wire, packet) in wire.iter().zip(&packets) {
            assert!(wire.ends_with(&MAGIC));
            assert!(wire.len() <= packet.len() + trailer_max(cover), "{cover:?}");
            let mut stripped = Vec::new();
            let frame = Frame::whole(LinkType::RAW, wire);
            assert_eq!(strip(&frame, &mut stripped), Stripped::Trailer);
            assert_eq!(&stripped, packet);
        }
        let mut receiver = receiver(moment(0, 0));
        assert_eq!(
            delivered(&mut receiver, &wire, moment(2 * S + 2 * MS, 0)),
            packets
        );
        let again = delivered(&mut receiver, &wire, moment(2 * S + 3 * MS, 0));
        assert!(again.is_empty(), "copies");
    }
}

#[test]
fn what_is_not_a_peer_s_signed_packet_is_counted_and_not_delivered() {
    let packets: Vec<_> = (0..12).map(|n| udp(1, n, 300)).collect();
    let wire = signed(
        &mut sender(Cover::Tree(64), 1_500),
        &packets,
        moment(2 * S + MS, 0),
    );
    let mut receiver = receiver(moment(0, 0));
    let now = moment(2 * S + 2 * MS, 0);
    let altered = wire.iter().map(|packet| {
        let mut packet = packet.clone();
        packet[40] ^= 1;
        packet
    });
    let mut noise = packets[0].clone();
    let end = noise.len() - MAGIC.len();
    noise[end..].copy_from_slice(&MAGIC);
    let cut = wire[0][..wire[0].len() - 1].to_vec();
    let bad: Vec<_> = altered
        .chain([noise, cut, packets[1].clone(), Vec::new()])
        .collect();
    assert!(delivered(&mut receiver, &bad, now).is_empty());
    assert_eq!(delivered(&mut receiver, &wire, now), packets, "honest ones");
    let metrics = receiver.metrics();
    assert_eq!(metrics.datagrams, 28);
    assert_eq!(metrics.packets, 12);
}

#[test]
fn what_is_longer_than_the_path_is_refused_and_not_cut() {
    let mut sender = sender(Cover::Each, 1_000);
    let packets = [udp(1, 0, 900), udp(2, 0, 400)];
    let wire = signed(&mut sender, &packets, moment(2 * S + MS, 0));
    assert_eq!(wire.len(), 1);
    let refused = sender
        .metrics()
        .unsent
        .iter()
        .find(|(reason, _)| *reason == Unsent::NoRoom);
    assert_eq!(refused.map(|(_, count)| count), Some(1));
    assert_eq!(sender.mss(PEER), Some(1_000 - 373 - 40));
}
