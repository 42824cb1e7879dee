//! Attackers beside honest traffic, which goes on.

use crate::common::group::{Group, OTHERS, OURS};
use crate::common::packets::{udp, udp_from};
use crate::common::sim::{
    MS, Online, PEER, S, Sim, US, Verifier, address, moment, path, sender_address,
};
use clew_live::packet::Clear;
use clew_live::receiver::{
    FOLLOWERS_MAX, Gate, HELD_MAX, Refused, SIGNATURES_MAX, VERDICT_WAIT_MAX,
};
use clew_live::sender::{Cover, Outbound, OutboundOptions};
use clew_packet::{Reason, datagram};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Some 140 signatures a second.
pub const SLOW: Verifier = Verifier {
    batch: MS,
    signature: 6 * MS,
    is_stalled: false,
};

/// Reads of 12 packets, 10 ms apart: as many blocks in coded carriage. Returns how many packets.
pub fn honest(sim: &mut Sim, reads: u64) -> usize {
    for read in 0..reads {
        let number = 100 * read as u32;
        let packets = (0..12).map(|n| udp(1, number + n, 700)).collect();
        sim.read(read * 10 * MS, packets);
    }
    12 * reads as usize
}

/// The datagrams that a sender makes of packets.
pub fn datagrams(
    group: &Group,
    cover: Cover,
    packets: Vec<Vec<u8>>,
    sim: &mut Sim,
) -> Vec<Vec<u8>> {
    let options = OutboundOptions {
        cover,
        ..OutboundOptions::default()
    };
    let mut sender = Outbound::new(Some(group.identity(&[(0, 0)], None)), options);
    sender.set_path(PEER, path());
    let now = moment(sim.now, 0);
    for bytes in packets {
        sender.push(Clear { peer: PEER, bytes }, now).unwrap();
    }
    let mut out = Vec::new();
    sender.flush(now, &mut Online, &mut sim.rng, &mut out);
    let bursts = out
        .iter()
        .flat_map(|burst| burst.bytes.chunks(burst.segment));
    bursts.map(<[u8]>::to_vec).collect()
}

/// A packet whose signature has a hash that fits, and no credential of the group.
pub fn without_credential(sim: &mut Sim) -> Vec<u8> {
    let packets = vec![udp_from([10, 1, 6, 6], 9, 1, 100)];
    datagrams(&OTHERS, Cover::Each, packets, sim).remove(0)
}

pub fn attacker() -> SocketAddr {
    address("203.0.113.66:666")
}

pub fn all_of_honest(sim: &Sim) -> usize {
    sim.names().iter().filter(|(flow, _)| *flow == 1).count()
}

/// A hundred for each honest packet: none of them costs a verification.
#[test]
fn random_forgeries_die_at_a_hash() {
    let mut sim = Sim::new(1);
    let sent = honest(&mut sim, 20);
    let template = without_credential(&mut sim);
    let forged = 100 * sent as u64;
    for n in 0..forged {
        let mut payload = template.clone();
        // The content: the signature is that of another packet.
        let at = 60 + sim.below(60) as usize;
        payload[at] ^= 1 + sim.below(255) as u8;
        sim.inject(n * 200 * MS / forged, payload, attacker());
    }
    sim.run(3 * S);
    assert_eq!(all_of_honest(&sim), sent);
    let metrics = sim.receiver.metrics();
    assert_eq!((metrics.screened, metrics.signatures), (forged, 20));
    assert_eq!(metrics.verdicts.of(Reason::BadSignature), forged);
}

/// Ten for each honest signature, from a stranger.
#[test]
fn packets_without_a_credential_leave_honest_ones_more_than_half() {
    without_credential_from(attacker(), 90);
}

/// The same from the next address in the honest sender's network: both share a place until one of the
/// sender's signatures held.
#[test]
fn a_neighbour_without_a_credential_leaves_honest_packets_more_than_half() {
    let mut neighbour = sender_address();
    let IpAddr::V4(address) = neighbour.ip() else {
        unreachable!("the sender has IPv4")
    };
    neighbour.set_ip(Ipv4Addr::from_bits(address.to_bits() ^ 1).into());
    without_credential_from(neighbour, 75);
}

/// Ten for each honest signature, from another source, which shows a cookie once it got one. The
/// verifier has time for an eighth of them. At least so many per cent of the honest packets arrive.
fn without_credential_from(attacker: SocketAddr, least: usize) {
    let mut sim = Sim::new(2);
    sim.verifier = SLOW;
    let sent = honest(&mut sim, 40);
    let bare = without_credential(&mut sim);
    for _ in 0..400 {
        let mut payload = bare.clone();
        if let Some(reply) = sim.foreign_replies.last() {
            payload.clear();
            let cookie = reply.bytes.last_chunk();
            datagram::write(&bare, cookie, &mut payload);
        }
        sim.inject(0, payload, attacker);
        sim.run(MS);
    }
    sim.run(3 * S);
    let delivered = all_of_honest(&sim);
    assert!(delivered * 100 >= sent * least, "{delivered} of {sent}");
    let metrics = sim.receiver.metrics();
    assert!(
        metrics.verdicts.of(Reason::BadSignature) >= 10,
        "some are verified"
    );
    assert!(
        metrics.refused.of(Refused::Busy) >= 100,
        "most wait in vain"
    );
}

/// The same, each from a source of its own: the gate shuts, and only those that answer to their
/// address pass.
#[test]
fn spoofed_sources_are_asked_for_a_cookie() {
    let mut sim = Sim::new(3);
    sim.verifier = SLOW;
    let sent = honest(&mut sim, 100);
    let payload = without_credential(&mut sim);
    for n in 0..3_000 {
        let source = Ipv4Addr::from_bits(0x1800_0000 + (n as u32).wrapping_mul(0x9e37));
        sim.inject(n * MS / 3, payload.clone(), (source, 4909).into());
    }
    sim.run(500 * MS);
    assert_eq!(sim.receiver.state(sim.now_at(1)).gate, Gate::Shut);
    let verified = sim.receiver.metrics().signatures;
    sim.run(400 * MS);
    let metrics = sim.receiver.metrics();
    let forged = metrics.signatures - verified;
    assert!(
        forged <= 60,
        "only honest blocks are verified: {forged} in 400 ms"
    );
    assert!(metrics.refused.of(Refused::NoCookie) > 1_000);
    assert!(!sim.foreign_replies.is_empty() && sim.sender.metrics().cookies > 0);
    sim.run(3 * S);
    let delivered = all_of_honest(&sim);
    assert!(delivered * 2 >= sent, "{delivered} of {sent}");
    sim.run(30 * S);
    honest(&mut sim, 1);
    sim.run(S);
    assert_eq!(
        sim.receiver.state(sim.now_at(1)).gate,
        Gate::Open,
        "it is over"
    );
}

/// Whatever was delivered comes again, from the same place and from another.
#[test]
fn replays_are_refused() {
    let mut sim = Sim::new(4);
    let sent = honest(&mut sim, 5);
    sim.run(S);
    let copies = sim.sent.clone();
    let verified = sim.receiver.metrics().signatures;
    for (n, payload) in copies.iter().enumerate() {
        for from in [sender_address(), attacker()] {
            sim.inject(n as u64 * MS, payload.clone(), from);
        }
    }
    sim.run(S);
    assert_eq!(all_of_honest(&sim), sent, "nothing is delivered again");
    let metrics = sim.receiver.metrics();
    assert_eq!(
        metrics.verdicts.of(Reason::Duplicate),
        2 * copies.len() as u64
    );
    assert_eq!(metrics.signatures, verified, "and nothing verified");
    // Half a minute later freshness refuses them without any memory.
    sim.run(40 * S);
    sim.inject(0, copies[0].clone(), attacker());
    sim.run(S);
    assert_eq!(sim.receiver.metrics().verdicts.of(Reason::Stale), 1);
}

/// Copies of honest packets with altered shares, tags, paths and contents overtake the originals.
#[test]
fn altered_copies_spoil_no_block() {
    for seed in 0..8 {
        let mut sim = Sim::new(seed);
        let packets = (0..16).map(|n| udp(1, n, 500)).collect();
        let originals = datagrams(&OURS, Cover::Tree(64), packets, &mut sim);
        assert_eq!(originals.len(), 16);
        for (n, payload) in originals.iter().enumerate() {
            for _ in 0..4 {
                let mut altered = payload.clone();
                // Behind shim, head and IP header.
                let at = 52 + sim.below(altered.len() as u64 - 52) as usize;
                altered[at] ^= 1 + sim.below(255) as u8;
                sim.inject(n as u64 * 10 * US, altered, attacker());
            }
            sim.inject(5 * MS, payload.clone(), sender_address());
        }
        sim.run(3 * S);
        assert_eq!(all_of_honest(&sim), 16, "seed {seed}");
        // A copy that differs in nothing signed may be the one that is delivered.
        sim.delivered
            .retain(|(_, delivery)| delivery.from == sender_address());
        assert!(sim.names().is_sorted(), "seed {seed}: in order");
    }
}

/// Copies of fragments with altered bytes or places overtake the originals by any margin but the
/// whole.
#[test]
fn altered_fragments_spoil_no_packet() {
    let mut sim = Sim::new(5);
    let packets = (0..4).map(|n| udp(1, n, 1_400)).collect();
    let originals = datagrams(&OURS, Cover::Tree(64), packets, &mut sim);
    assert_eq!(originals.len(), 12, "two each, the short one twice");
    for (n, payload) in originals.iter().enumerate() {
        sim.inject(n as u64 * MS, payload.clone(), sender_address());
        for at in [22, 23, 24, payload.len() - 1] {
            let mut altered = payload.clone();
            altered[at] ^= 1;
            sim.inject(n as u64 * MS + 10 * US, altered, attacker());
        }
    }
    sim.run(3 * S);
    assert_eq!(all_of_honest(&sim), 4);
    assert!(sim.receiver.metrics().verdicts.of(Reason::BadFragment) > 0);
}

/// Junk in the flow and block form of honest packets, which never gets a verdict, from another
/// source: it neither fills the hold nor holds up a flow.
#[test]
fn packets_without_a_verdict_hold_nobody_up() {
    let mut sim = Sim::new(6);
    let junk = (0..9).map(|n| udp(1, 9_000 + n, 400)).collect();
    let junk = datagrams(&OTHERS, Cover::Tree(64), junk, &mut sim).remove(0);
    let sent = honest(&mut sim, 30);
    let count = 2 * HELD_MAX as u64;
    for n in 0..count {
        let mut payload = junk.clone();
        // Another content is another block: each waits for shares of its own.
        payload[60..64].copy_from_slice(&(n as u32).to_be_bytes());
        sim.inject(n * 300 * MS / count, payload, attacker());
    }
    sim.run(250 * MS);
    assert!(sim.receiver.metrics().held <= HELD_MAX);
    sim.run(3 * S);
    assert_eq!(all_of_honest(&sim), sent);
    let metrics = sim.receiver.metrics();
    assert!(metrics.verdicts.of(Reason::TooFewShares) >= HELD_MAX as u64);
    assert_eq!((metrics.held, metrics.held_bytes), (0, 0));
    // Nobody waited for the junk, which comes in the same inner flow: only for the verifier.
    let slow: u64 = metrics
        .waits
        .iter()
        .filter(|(bound, _)| *bound > 8_192)
        .map(|(_, n)| n)
        .sum();
    assert_eq!(slow, 0, "{:?}", metrics.waits);
}

#[test]
fn a_stalled_verifier_fills_no_queue() {
    let mut sim = Sim::new(7);
    sim.verifier.is_stalled = true;
    let payload = without_credential(&mut sim);
    for n in 0..3 * SIGNATURES_MAX as u64 {
        let source = Ipv4Addr::from_bits(0x1800_0000 + (n as u32 % 16) * 256);
        sim.inject(n * 50 * US, payload.clone(), (source, 4909).into());
    }
    let sent = honest(&mut sim, 10);
    sim.run(300 * MS);
    let metrics = sim.receiver.metrics();
    assert!(metrics.waiting_signatures <= SIGNATURES_MAX && metrics.held <= HELD_MAX);
    assert_eq!(metrics.packets, 0);
    sim.run(5 * S);
    let metrics = sim.receiver.metrics();
    assert_eq!(metrics.held, 0, "all are given up, and counted");
    let lost = metrics.refused.of(Refused::Busy)
        + metrics.refused.of(Refused::NoVerdict)
        + metrics.refused.of(Refused::NoCookie)
        + metrics.verdicts.of(Reason::TooFewShares);
    assert_eq!(lost, 3 * SIGNATURES_MAX as u64 + sent as u64);
}

/// One of two verifiers never comes back: the other one goes on, and what the first had taken is held
/// no longer than any packet without a verdict.
#[test]
fn one_stalled_verifier_costs_what_it_had_taken() {
    let mut sim = Sim::new(8);
    sim.verifiers = 2;
    sim.stalls = 1;
    let sent = honest(&mut sim, 40);
    sim.run(500 * MS);
    assert!(sim.receiver.metrics().held > 0, "those of the first one");
    sim.run(VERDICT_WAIT_MAX.as_nanos() as u64);
    let metrics = sim.receiver.metrics();
    let lost = metrics.refused.of(Refused::NoVerdict) + metrics.verdicts.of(Reason::TooFewShares);
    let lost = lost as usize;
    assert_eq!((metrics.held, metrics.waiting_signatures), (0, 0));
    assert_eq!(all_of_honest(&sim) + lost, sent, "each is counted");
    assert_eq!(lost, 12, "one block");
    // Packets of the same flow waited for these no longer than they may.
    let slow = metrics.waits.iter().filter(|(bound, _)| *bound > 32_768);
    assert_eq!(slow.map(|(_, n)| n).sum::<u64>(), 0, "{:?}", metrics.waits);
}

/// One packet of a block that nobody has verified yet, again and again: all of them wait for the same
/// signature.
#[test]
fn copies_that_wait_for_one_signature_are_bounded() {
    let mut sim = Sim::new(11);
    sim.verifier.is_stalled = true;
    let packets = (0..3).map(|n| udp(1, n, 200)).collect();
    let block = datagrams(&OURS, Cover::Tree(64), packets, &mut sim);
    let copies = 2 * FOLLOWERS_MAX as u64;
    for n in 0..copies {
        sim.inject(n * 400 * MS / copies, block[0].clone(), attacker());
    }
    sim.run(400 * MS);
    let metrics = sim.receiver.metrics();
    assert!(metrics.followers <= FOLLOWERS_MAX && metrics.held <= HELD_MAX);
    assert!(metrics.refused.of(Refused::Busy) + metrics.refused.of(Refused::HoldFull) > 0);
    // The originals do not wait for the copies.
    sim.verifiers = 2;
    sim.verifier.is_stalled = false;
    for payload in block {
        sim.inject(0, payload, sender_address());
    }
    sim.run(3 * S);
    assert_eq!(all_of_honest(&sim), 3);
}

/// A machine of the group in another network, or another group under the same sources.
#[test]
fn a_group_s_packets_from_unexpected_sources_are_refused() {
    let mut sim = Sim::new(8);
    let foreign = vec![udp_from([10, 9, 0, 1], 2, 1, 100)];
    let foreign = datagrams(&OURS, Cover::Each, foreign, &mut sim).remove(0);
    let sent = honest(&mut sim, 1);
    sim.inject(0, foreign, sender_address());
    sim.run(S);
    assert_eq!(sim.delivered.len(), sent);
    let metrics = sim.receiver.metrics();
    assert_eq!(metrics.refused.of(Refused::NotPeer), 1);
    assert_eq!(metrics.signatures, 1, "it costs no verification");
}

/// Bytes of all kinds, and honest datagrams cut anywhere.
#[test]
fn malformed_datagrams_are_counted_and_harm_nothing() {
    let mut sim = Sim::new(9);
    let packets = (0..10).map(|n| udp(3, n, 300)).collect();
    let whole = datagrams(&OURS, Cover::Tree(64), packets, &mut sim);
    let mut bad = 0;
    for length in 0..whole[0].len() {
        sim.inject(length as u64 * US, whole[0][..length].to_vec(), attacker());
        bad += 1;
    }
    for n in 0..500 {
        let mut bytes = whole[1][..6].to_vec();
        bytes[5] = [1, 2, 3, 4, 0x81, 0x82, 0x83, 0x84, 0][n % 9];
        let length = sim.below(1_400);
        bytes.extend((0..length).map(|_| sim.below(256) as u8));
        if bytes[5] == 4 && bytes.len() == 38 {
            continue;
        }
        sim.inject(n as u64 * US, bytes, attacker());
        bad += 1;
    }
    let sent = honest(&mut sim, 2);
    sim.run(5 * S);
    assert_eq!(sim.delivered.len(), sent);
    let metrics = sim.receiver.metrics();
    let counted: u64 = metrics.verdicts.iter().map(|(_, n)| n).sum();
    let counted = counted + metrics.refused.iter().map(|(_, n)| n).sum::<u64>();
    assert_eq!(counted, bad + sent as u64, "each has one reason");
}

/// Somebody sees all packets and sends copies from its own address, which come first, while it floods
/// the receiver: its copies bring the last share of each block.
#[test]
fn who_copies_packets_does_not_decide_when_they_are_verified() {
    let mut sim = Sim::new(10);
    let sent = honest(&mut sim, 3);
    sim.run(S);
    sim.verifier = SLOW;
    let junk = without_credential(&mut sim);
    for n in 0..300 {
        sim.inject(n * MS, junk.clone(), attacker());
    }
    let mut all = sent;
    for round in 0..20_u32 {
        let packets = (0..12)
            .map(|n| udp(1, 5_000 + 100 * round + n, 700))
            .collect();
        all += 12;
        let originals = datagrams(&OURS, Cover::Tree(64), packets, &mut sim);
        for (n, payload) in originals.into_iter().enumerate() {
            let after = u64::from(round) * 12 * MS;
            let late = if n < 3 { 0 } else { 2 * MS };
            sim.inject(after + late, payload.clone(), sender_address());
            sim.inject(after + MS, payload, attacker());
        }
    }
    sim.run(3 * S);
    let delivered = all_of_honest(&sim);
    assert!(delivered * 10 >= all * 9, "{delivered} of {all}");
}
