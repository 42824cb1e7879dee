//! Fragments of datagrams on a link that loses some, and packets that came in IP fragments.

use crate::common::group::OURS;
use crate::common::packets::{TO, ipv4, name, udp};
use crate::common::sim::{CLEAN, Link, MS, Online, PEER, S, Sim, US, moment, path};
use crate::common::sim::{receiver_address, sender_address};
use clew_live::ip_fragments::{Fragmenter, WAIT_MAX, WAITING_BYTES_MAX, WAITING_MAX};
use clew_live::packet::{Burst, Clear, Outer};
use clew_live::sender::{Outbound, OutboundOptions, Unsent};
use clew_packet::datagram::{self, Rest};
use clew_packet::{Carrier, Reason};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use std::collections::BTreeSet;

/// Full-size packets in blocks of up to 8, which carry whole signatures.
const FULL: usize = 1_249;

fn sender() -> Outbound {
    let options = OutboundOptions::default();
    let mut sender = Outbound::new(Some(OURS.identity(&[(0, 0)], None)), options);
    sender.set_path(PEER, path());
    sender
}

fn flush(sender: &mut Outbound) -> Vec<Burst> {
    let (mut out, mut rng) = (Vec::new(), ChaCha20Rng::seed_from_u64(3));
    sender.flush(moment(S, 0), &mut Online, &mut rng, &mut out);
    out
}

/// Each datagram that came is counted once, whatever it was.
#[track_caller]
pub fn has_one_reason_each(sim: &Sim) {
    let metrics = sim.receiver.metrics();
    let verdicts = metrics.verdicts.iter().map(|(_, count)| count).sum::<u64>();
    let refused = metrics.refused.iter().map(|(_, count)| count).sum::<u64>();
    let fragments = metrics.fragments_joined + metrics.fragments_again;
    let all = verdicts + refused + fragments + metrics.cookies;
    assert_eq!(all, metrics.datagrams, "{metrics:?}");
}

/// Sends blocks of 1 to 8 full-size packets. Returns the share of packets that were delivered.
fn delivered(seed: u64, lost: u32, blocks: u32) -> f64 {
    let mut sim = Sim::new(seed);
    sim.link = Link { lost, ..CLEAN };
    let mut sent = 0;
    for block in 0..blocks {
        let count = 1 + sim.below(8) as u32;
        let packets = (0..count).map(|n| udp(1, 10 * block + n, FULL)).collect();
        sim.read(u64::from(block) * 4 * MS, packets);
        sent += count;
    }
    sim.run(u64::from(blocks) * 4 * MS + 3 * S);
    let names = sim.names();
    assert!(names.is_sorted(), "a lost copy changes no order");
    let once: BTreeSet<_> = names.iter().collect();
    assert_eq!(once.len(), names.len(), "no packet twice");
    let metrics = sim.receiver.metrics();
    assert_eq!(
        metrics.verdicts.of(Reason::Duplicate),
        0,
        "copies are meant"
    );
    assert!(metrics.fragments_again > 0);
    has_one_reason_each(&sim);
    names.len() as f64 / f64::from(sent)
}

/// Parts that are lost, copied and sent twice, packets of which one part never comes, and a cookie: one
/// reason each.
#[test]
fn fragments_copies_and_cookies_have_one_reason_each() {
    for seed in 0..4 {
        let mut sim = Sim::new(seed);
        sim.link = Link {
            lost: 300,
            duplicated: 300,
            jitter: 4 * MS,
            ..CLEAN
        };
        for block in 0..40 {
            let length = 600 + sim.below(5_000) as usize;
            let packets = (0..3).map(|n| udp(1, 10 * block + n, length)).collect();
            sim.read(u64::from(block) * 9 * MS, packets);
        }
        sim.run(4 * S);
        let metrics = sim.receiver.metrics();
        assert!(metrics.verdicts.of(Reason::MissingFragment) > 0);
        assert!(metrics.verdicts.of(Reason::Duplicate) > 0);
        assert!(metrics.fragments_joined > 0 && metrics.verdicts.of(Reason::Ok) > 0);
        has_one_reason_each(&sim);
    }
    let mut sim = Sim::new(9);
    let mut cookie = Vec::new();
    datagram::write_cookie(&[1; 16], &[2; 16], &mut cookie);
    let outer = Outer {
        source: sender_address(),
        destination: receiver_address(),
        ecn: 0,
    };
    let now = sim.now_at(1);
    assert!(sim.receiver.receive(&cookie, &outer, now).is_some());
    assert_eq!(sim.receiver.metrics().cookies, 1);
    has_one_reason_each(&sim);
}

/// With one copy of each fragment it would be (1 - p)^2: 0.902, 0.980, 0.998.
#[test]
fn a_packet_in_two_fragments_is_lost_hardly_more_often_than_one_datagram() {
    for (lost, least) in [(50, 0.94), (10, 0.985), (1, 0.9985)] {
        let shares = [1, 2, 3].map(|seed| delivered(seed, lost, 150));
        let share = shares.iter().sum::<f64>() / 3.0;
        assert!(share >= least, "{lost} of 1000 lost: {share} delivered");
    }
}

/// Index and count of a fragment; none of a whole datagram.
fn place(payload: &[u8]) -> Option<(u8, u8)> {
    match datagram::parse(payload).unwrap().rest {
        Rest::Fragment(fragment) => Some((fragment.index, fragment.count)),
        Rest::Packet { .. } | Rest::Cookie { .. } => None,
    }
}

#[test]
fn short_fragments_lead_and_follow_apart_from_their_copies() {
    let places = |bursts: &[Burst]| -> Vec<Vec<_>> {
        let places = |burst: &Burst| burst.bytes.chunks(burst.segment).map(place).collect();
        bursts.iter().map(places).collect()
    };
    let (long, short) = (Some((0, 2)), Some((1, 2)));
    let mut sender = sender();
    let push = |sender: &mut Outbound, number, length| {
        let bytes = udp(1, number, length);
        sender
            .push(Clear { peer: PEER, bytes }, moment(S, 0))
            .unwrap();
    };
    // Alone: the long one between the two, in one call with the second.
    push(&mut sender, 1, FULL);
    let alone = flush(&mut sender);
    assert_eq!(places(&alone), [vec![short], vec![long, short]]);
    // Three, with a small one among them that is not cut.
    [FULL, FULL, 600, FULL]
        .into_iter()
        .zip(2..)
        .for_each(|(n, i)| push(&mut sender, i, n));
    let bursts = flush(&mut sender);
    let expected = [vec![short; 6], vec![long, long, None], vec![long]];
    assert_eq!(places(&bursts), expected);
    let leading: Vec<_> = bursts[0].bytes.chunks(bursts[0].segment).collect();
    assert_eq!(leading[..3], leading[3..], "apart by two others");
    let metrics = sender.metrics();
    assert_eq!((metrics.fragments, metrics.fragments_again), (12, 4));
    assert!(bursts.iter().all(|b| b.segment <= path().payload_max()));
}

/// A long second part, and packets in many, are sent once: copies would cost as much as they save.
#[test]
fn long_fragments_are_sent_once() {
    for (length, datagrams) in [(1_950, 2), (8_000, 6)] {
        let mut sender = sender();
        let bytes = udp(1, 1, length);
        sender
            .push(Clear { peer: PEER, bytes }, moment(S, 0))
            .unwrap();
        flush(&mut sender);
        let metrics = sender.metrics();
        assert_eq!((metrics.fragments, metrics.fragments_again), (datagrams, 0));
    }
}

/// A UDP packet that routers may cut.
fn divisible(number: u32, length: usize) -> Vec<u8> {
    let packet = udp(1, number, length);
    let mut packet = [&packet[..6], &[0, 0], &packet[8..]].concat();
    // The checksum: a flag less.
    let checksum = u16::from_be_bytes([packet[10], packet[11]]);
    let sum = u32::from(checksum) + 0x4000;
    let sum = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(sum as u16).to_be_bytes());
    packet
}

fn cut(packet: &[u8], mtu: usize) -> Vec<Vec<u8>> {
    let mut fragments = Vec::new();
    assert!(Fragmenter::new(7).cut(packet, mtu, &mut fragments));
    fragments
}

#[test]
fn packets_in_ip_fragments_arrive_whole() {
    let mut sim = Sim::new(20);
    let lengths = [1_501, 3_028, 8_028, 65_000];
    let packets: Vec<_> = (1..).zip(lengths).map(|(n, l)| divisible(n, l)).collect();
    for (place, packet) in packets.iter().enumerate() {
        let mut fragments = cut(packet, 1_500);
        // In the order of Linux, of old ones, and of none.
        match place {
            1 => fragments.reverse(),
            2 => fragments.rotate_left(2),
            _ => {}
        }
        sim.read(place as u64 * 20 * MS, fragments);
    }
    sim.run(3 * S);
    let delivered: Vec<_> = sim.delivered.iter().map(|(_, d)| &d.bytes).collect();
    assert_eq!(delivered, packets.iter().collect::<Vec<_>>());
    let metrics = sim.sender.metrics();
    assert_eq!(metrics.unsent.iter().map(|(_, n)| n).sum::<u64>(), 0);
}

/// Fragments of packets that are never complete, tiny ones, and such that overlap, as many as they like,
/// between the fragments of honest packets.
#[test]
fn fragments_that_fit_nothing_harm_nobody() {
    let mut sim = Sim::new(21);
    let mut sent = 0;
    let (mut never, mut overlapping) = (0, 0);
    for round in 0..40_u32 {
        let honest = divisible(round, 3_028);
        sent += 1;
        let mut read = Vec::new();
        for fragment in cut(&honest, 1_500) {
            for n in 0..20_u32 {
                let id = round * 100 + n;
                // Eight bytes at the end of the longest packet, and more to come.
                read.push(piece(id, 8_180, true, 8));
                never += 1;
                if n == 0 {
                    let other = id + 50;
                    read.extend([(0, 64), (4, 64)].map(|(at, n)| piece(other, at, true, n)));
                    overlapping += 2;
                }
            }
            read.push(fragment);
        }
        sim.read(u64::from(round) * 10 * MS, read);
    }
    sim.run(5 * S);
    let delivered: Vec<_> = sim
        .delivered
        .iter()
        .map(|(_, d)| name(&d.bytes).1)
        .collect();
    assert_eq!(delivered, (0..sent).collect::<Vec<u32>>());
    let unsent = &sim.sender.metrics().unsent;
    // The same piece again is a copy, and the third of an overlapping packet comes too late.
    let all = unsent.of(Unsent::BadIpFragment) + unsent.of(Unsent::MissingIpFragment);
    assert_eq!(all, never + overlapping, "each is counted");
    assert!(unsent.of(Unsent::BadIpFragment) >= overlapping);
}

/// A fragment of nothing: of protocol 17, with zeros.
fn piece(id: u32, offset: u16, more: bool, length: usize) -> Vec<u8> {
    let mut packet = ipv4([10, 1, 0, 9], 17, &vec![0; length]);
    packet[4..6].copy_from_slice(&(id as u16).to_be_bytes());
    let flags = offset | if more { 0x2000 } else { 0 };
    packet[6..8].copy_from_slice(&flags.to_be_bytes());
    packet
}

#[test]
fn memory_and_time_of_fragments_are_bounded() {
    let mut sender = sender();
    let now = |us: u64| moment(S + us * US, 0);
    let push = |sender: &mut Outbound, us, bytes| {
        let _ = sender.push(Clear { peer: PEER, bytes }, now(us));
    };
    let count = 3 * WAITING_MAX as u64;
    for n in 0..count {
        push(&mut sender, n, piece(n as u32, 0, true, 1_480));
    }
    let room = WAITING_MAX.min(WAITING_BYTES_MAX / 1_628) as u64;
    let (mut out, mut rng) = (Vec::new(), ChaCha20Rng::seed_from_u64(4));
    let next = sender.flush(now(count), &mut Online, &mut rng, &mut out);
    assert_eq!(
        sender.metrics().unsent.of(Unsent::MissingIpFragment),
        count - room
    );
    assert!(next.is_some_and(|next| next <= now(count).instant + WAIT_MAX));
    let later = moment(S + count * US + WAIT_MAX.as_nanos() as u64, 0);
    let next = sender.flush(later, &mut Online, &mut rng, &mut out);
    assert_eq!((next, out.len()), (None, 0));
    assert_eq!(sender.metrics().unsent.of(Unsent::MissingIpFragment), count);
}

/// Packets with trailers are not cut: one that has no room is said to have none.
#[test]
fn with_trailers_a_packet_that_came_in_fragments_has_to_fit() {
    let mut sender = sender();
    let carrier = Carrier::Trailer;
    sender.set_path(PEER, clew_live::sender::Path { carrier, ..path() });
    for (number, length) in [(1, 900), (2, 3_028)] {
        for bytes in cut(&divisible(number, length), 576) {
            let taken = sender.push(Clear { peer: PEER, bytes }, moment(S, 0));
            taken.unwrap();
        }
    }
    let bursts = flush(&mut sender);
    assert_eq!(bursts.len(), 1);
    assert_eq!(bursts[0].bytes[16..20], TO);
    assert_eq!(sender.metrics().unsent.of(Unsent::NoRoom), 1);
}
