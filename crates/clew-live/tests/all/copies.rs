//! Copies and answers of somebody who sees all packets, beside honest traffic, which goes on.

use crate::attacks::{SLOW, all_of_honest, attacker, datagrams, honest, without_credential};
use crate::common::group::OURS;
use crate::common::packets::udp;
use crate::common::sim::{MS, S, Sim, US, sender_address};
use clew_live::receiver::{Gate, Refused};
use clew_live::sender::Cover;
use clew_packet::datagram;
use std::net::{IpAddr, Ipv4Addr};

/// Shim and head: the inner packet's place in a datagram.
const INNER: usize = 32;
const CE: u8 = 3;

/// First copies of packets in a tunnel, with another lifetime, congestion bits, identification or flags
/// in the inner header: the originals arrive as they were signed.
#[test]
fn copies_with_other_inner_headers_spend_no_packet() {
    let mut sim = Sim::new(20);
    let packets: Vec<Vec<u8>> = (0..12).map(|n| udp(1, n, 500)).collect();
    let originals = datagrams(&OURS, Cover::Tree(64), packets.clone(), &mut sim);
    for (n, payload) in originals.iter().enumerate() {
        let (at, value) = [(8, 1), (1, CE), (4, 9), (6, 0)][n % 4];
        let mut altered = payload.clone();
        altered[INNER + at] = value;
        assert_ne!(altered[INNER + at], payload[INNER + at]);
        sim.inject(n as u64 * 10 * US, altered, attacker());
        sim.inject(5 * MS, payload.clone(), sender_address());
    }
    sim.run(3 * S);
    assert_eq!(all_of_honest(&sim), 12);
    let delivered = sim.delivered.iter().map(|(_, delivery)| &delivery.bytes);
    assert!(delivered.eq(&packets));
}

/// First copies of packets and of fragments whose outer header says that a router saw congestion,
/// before the block is verified and after it.
#[test]
fn marks_on_copies_spend_no_packet() {
    for length in [500, 1_400] {
        let mut sim = Sim::new(21);
        let packets = (0..12).map(|n| udp(1, n, length)).collect();
        let originals = datagrams(&OURS, Cover::Tree(64), packets, &mut sim);
        for (n, payload) in (0..).zip(originals) {
            let at = n * 20 * MS;
            sim.inject_marked(at, payload.clone(), attacker(), CE);
            sim.inject(at + 5 * MS, payload, sender_address());
        }
        sim.run(3 * S);
        assert_eq!(all_of_honest(&sim), 12, "{length}");
        let is_unmarked = sim.delivered.iter().all(|(_, d)| d.bytes[1] & CE == 0);
        assert!(is_unmarked, "its sender would not understand the mark");
        let dropped = sim.receiver.metrics().refused.of(Refused::BadEcn);
        assert_eq!(dropped, if length == 500 { 12 } else { 0 });
    }
}

/// Whoever sees datagrams answers each in the receiver's name, while spoofed sources keep its gate
/// shut: half of what the sender shows is good.
#[test]
fn false_cookies_do_not_lock_a_sender_out() {
    let mut sim = Sim::new(22);
    sim.verifier = SLOW;
    sim.has_false_cookies = true;
    let junk = without_credential(&mut sim);
    for n in 0..9_000 {
        let source = Ipv4Addr::from_bits(0x1800_0000 + (n as u32).wrapping_mul(0x9e37));
        sim.inject(n * MS / 3, junk.clone(), (source, 4909).into());
    }
    honest(&mut sim, 50);
    sim.run(S);
    assert_eq!(sim.receiver.state(sim.now_at(1)).gate, Gate::Shut);
    let before = all_of_honest(&sim);
    let sent = honest(&mut sim, 150);
    sim.run(3 * S);
    let delivered = all_of_honest(&sim) - before;
    assert!(delivered * 5 >= sent * 2, "{delivered} of {sent}");
    assert!(delivered < sent, "the false ones cost something");
}

/// A neighbour floods with signatures that no machine made and a cookie of its own, while a peer was
/// silent for so long that it is not known any more.
#[test]
fn a_neighbour_takes_nothing_from_a_peer_that_was_silent() {
    let mut sim = Sim::new(23);
    honest(&mut sim, 1);
    sim.run(90 * S);
    let before = all_of_honest(&sim);
    sim.verifier = SLOW;
    let mut neighbour = sender_address();
    neighbour.set_ip(match neighbour.ip() {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() ^ 1).into(),
        IpAddr::V6(_) => unreachable!("the sender has IPv4"),
    });
    let bare = without_credential(&mut sim);
    for n in 0..600 {
        if n == 200 {
            honest(&mut sim, 40);
        }
        let mut payload = bare.clone();
        if let Some(reply) = sim.foreign_replies.last() {
            payload.clear();
            datagram::write(&bare, reply.bytes.last_chunk(), &mut payload);
        }
        sim.inject(0, payload, neighbour);
        sim.run(MS);
    }
    sim.run(3 * S);
    let delivered = all_of_honest(&sim) - before;
    assert!(delivered * 10 >= 480 * 9, "{delivered} of 480");
}
