//! Honest traffic over links of all kinds.

use crate::common::packets::{name, udp};
use crate::common::sim::{
    CLEAN, Link, MS, PEER, S, Sim, path, peer_rules, receiver_address, sender_address,
};
use clew_live::sender::Path;
use clew_packet::{Block, Carrier, OuterAddresses, SignedPacket};
use std::collections::{BTreeMap, BTreeSet};

/// Several flows send reads of several sizes. Returns what was sent.
fn traffic(sim: &mut Sim, reads: u64) -> BTreeMap<(u16, u32), Vec<u8>> {
    let mut sent = BTreeMap::new();
    let mut numbers = [0_u32; 3];
    let mut at = 0;
    for _ in 0..reads {
        at += sim.below(8 * MS);
        let flow = sim.below(3) as u16;
        let count = match sim.below(3) {
            0 => 1,
            1 => 2 + sim.below(7),
            _ => 9 + sim.below(40),
        };
        let length = 36 + sim.below(1_200) as usize;
        let packets = (0..count).map(|_| {
            let number = &mut numbers[usize::from(flow)];
            *number += 1;
            udp(flow, *number, length)
        });
        let packets: Vec<Vec<u8>> = packets.collect();
        sent.extend(packets.iter().map(|p| (name(p), p.clone())));
        sim.read(at, packets);
    }
    sent
}

/// How many packets of a block are needed, and which came, by index.
type Came = (usize, BTreeMap<u16, (u16, u32)>);

/// The packets that came, and whose signature can be restored from what came.
fn restorable(sim: &Sim) -> BTreeSet<(u16, u32)> {
    let outer = OuterAddresses {
        source: sender_address().ip(),
        destination: receiver_address().ip(),
    };
    let mut blocks: BTreeMap<[u8; 16], Came> = BTreeMap::new();
    for (_, payload) in &sim.arrived {
        // Fragments are told apart below: each of them is needed.
        let Ok(packet) = SignedPacket::of_datagram(payload, &outer) else {
            continue;
        };
        let Block::Tree { block, index, .. } = packet.trailer().block else {
            panic!("only trees are sent");
        };
        let needed = packet.trailer().coded();
        let needed = needed.map_or(1, |coded| usize::from(coded.needed()));
        let mut inner = Vec::new();
        packet.write_packet(&mut inner);
        let entry = blocks
            .entry(*block.id())
            .or_insert((needed, BTreeMap::new()));
        entry.1.insert(index, name(&inner));
    }
    let whole = blocks
        .into_values()
        .filter(|(needed, came)| came.len() >= *needed);
    whole.flat_map(|(_, came)| came.into_values()).collect()
}

fn check(sim: &Sim, sent: &BTreeMap<(u16, u32), Vec<u8>>, seed: u64) {
    let names = sim.names();
    let once: BTreeSet<_> = names.iter().collect();
    assert_eq!(
        once.len(),
        names.len(),
        "seed {seed}: delivered at most once"
    );
    for (_, delivery) in &sim.delivered {
        let original = &sent[&name(&delivery.bytes)];
        assert_eq!(&delivery.bytes, original, "seed {seed}: unchanged");
        assert_eq!(delivery.from, sender_address());
    }
    for expected in restorable(sim) {
        assert!(
            once.contains(&expected),
            "seed {seed}: {expected:?} came and is restorable"
        );
    }
    assert_eq!(
        sim.receiver.metrics().held,
        0,
        "seed {seed}: nothing is left"
    );
}

/// A link that keeps the order.
#[test]
fn packets_arrive_unchanged_once_and_in_order() {
    for seed in 0..60 {
        let mut sim = Sim::new(seed);
        sim.verifiers = 1 + seed as usize % 3;
        let sent = traffic(&mut sim, 6);
        sim.run(3 * S);
        check(&sim, &sent, seed);
        assert_eq!(
            sim.delivered.len(),
            sent.len(),
            "seed {seed}: nothing is lost"
        );
        let mut last = BTreeMap::new();
        for (flow, number) in sim.names() {
            assert!(
                last.insert(flow, number) < Some(number),
                "seed {seed}: flow {flow}"
            );
        }
    }
}

#[test]
fn under_loss_what_came_of_restorable_blocks_is_delivered() {
    let mut lost = 0;
    for seed in 100..160 {
        let mut sim = Sim::new(seed);
        sim.link = Link { lost: 60, ..CLEAN };
        let sent = traffic(&mut sim, 6);
        sim.run(4 * S);
        check(&sim, &sent, seed);
        lost += sent.len() - sim.delivered.len();
    }
    assert!(lost > 0, "the link loses");
}

#[test]
fn duplicates_and_reordering_harm_nothing() {
    let mut duplicates = 0;
    for seed in 200..260 {
        let mut sim = Sim::new(seed);
        sim.link = Link {
            jitter: 3 * MS,
            duplicated: 200,
            ..CLEAN
        };
        sim.verifiers = 1 + seed as usize % 3;
        let sent = traffic(&mut sim, 6);
        sim.run(4 * S);
        check(&sim, &sent, seed);
        assert_eq!(
            sim.delivered.len(),
            sent.len(),
            "seed {seed}: nothing is lost"
        );
        duplicates += sim
            .receiver
            .metrics()
            .verdicts
            .of(clew_packet::Reason::Duplicate);
    }
    assert!(duplicates > 0, "the link duplicates");
}

/// Packets of protocol 59 with nothing behind their header, as `keepalive` sends them: of both versions,
/// also where the carrier has no form for them but a tunnel's.
#[test]
fn packets_without_content_are_signed_and_verified() {
    for carrier in [Carrier::UdpTunnel, Carrier::UdpTransport] {
        let mut sim = Sim::new(7);
        let mut rules = peer_rules();
        rules[0].prefixes.push("fd00::/8".parse().unwrap());
        sim.receiver.set_peers(rules);
        sim.sender.set_path(PEER, Path { carrier, ..path() });
        let mut v4 = udp(1, 0, 36);
        v4.truncate(20);
        v4[2..4].copy_from_slice(&[0, 20]);
        // The checksum follows the length, which was 36, and the protocol, which was 17.
        let checksum = u16::from_be_bytes([v4[10], v4[11]]);
        let sum = u32::from(checksum) + 36 + 17 - 20 - 59 + 0xffff;
        v4[10..12].copy_from_slice(&((sum % 0xffff) as u16).to_be_bytes());
        v4[9] = 59;
        let mut v6 = vec![0x60, 0, 0, 0, 0, 0, 59, 64];
        v6.extend([[0xfd; 16], [0xfc; 16]].concat());
        sim.read(0, vec![v4.clone()]);
        sim.read(MS, vec![v6.clone()]);
        sim.run(S);
        let delivered: Vec<_> = sim.delivered.iter().map(|(_, d)| &d.bytes).collect();
        assert_eq!(delivered, [&v4, &v6], "{carrier:?}");
    }
}
