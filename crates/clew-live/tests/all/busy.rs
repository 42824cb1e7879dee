//! Senders while signatures are scarce: their blocks grow, and with time to spare nothing waits.

use crate::attacks::datagrams;
use crate::common::group::OURS;
use crate::common::packets::{name, udp};
use crate::common::sim::{MS, Online, PEER, S, Sim, US, Verifier, moment, path};
use crate::common::sim::{receiver_address, sender_address};
use crate::fragments::has_one_reason_each;
use clew_live::packet::{Burst, Clear, Outer};
use clew_live::receiver::{HELD_MAX, InboundOptions, Refused};
use clew_live::sender::{
    Cover, FLOW_WAIT_MAX, ONLINE_MAX, Outbound, OutboundOptions, SignatureCost,
};
use clew_packet::{OuterAddresses, Reason, SignedPacket};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use std::collections::BTreeSet;
use std::time::Duration;

/// What the verifier here needs for a signature, and a machine for a precursor.
const EACH: u64 = MS;

fn cost(precursor: u64) -> SignatureCost {
    SignatureCost {
        precursor: Duration::from_nanos(precursor),
        ..SignatureCost::default()
    }
}

/// For 400 ms each of 8 flows sends 2 packets every 2 ms: as blocks of their own they are four times
/// what the verifier can do. Returns what was sent.
fn saturate(seed: u64, precursor: u64) -> (Sim, usize) {
    let options = OutboundOptions::default();
    let mut sim = Sim::with(seed, options, InboundOptions::default());
    sim.verifier = Verifier {
        batch: EACH / 4,
        signature: EACH,
        is_stalled: false,
    };
    sim.sender.set_cost(cost(precursor));
    let mut sent = 0;
    for step in 0..200 {
        for flow in 0..8 {
            let at = step * 2 * MS + sim.below(MS);
            let packets = (0..2).map(|n| udp(flow, 2 * step as u32 + n, 1_000));
            sim.read(at, packets.collect());
            sent += 2;
        }
    }
    sim.run(2 * S);
    (sim, sent)
}

#[test]
fn a_saturated_verifier_gets_fewer_and_larger_blocks() {
    for seed in 0..3 {
        let (sim, sent) = saturate(seed, EACH);
        assert_eq!(sim.delivered.len(), sent, "seed {seed}: nothing is dropped");
        let signatures = sim.sender.metrics().signatures;
        assert!(
            (100..400).contains(&signatures),
            "seed {seed}: {signatures}"
        );
        // They wait as long as it takes, and no longer.
        let names: BTreeSet<_> = sim.names().into_iter().collect();
        assert_eq!(names.len(), sent);
        let last = sim.delivered.iter().map(|(at, _)| *at).max().unwrap();
        assert!(last < 2 * S + 500 * MS, "seed {seed}: {last}");
    }
    // The same without: the queue of signatures fills, and packets are lost.
    let (sim, sent) = saturate(9, 0);
    let metrics = sim.receiver.metrics();
    assert_eq!(sim.sender.metrics().signatures, 1_600);
    assert!(metrics.refused.of(Refused::Busy) > 0);
    assert!(
        sim.delivered.len() < sent * 9 / 10,
        "{}",
        sim.delivered.len()
    );
}

#[test]
fn with_time_to_spare_no_packet_waits() {
    let mut sim = Sim::with(4, OutboundOptions::default(), InboundOptions::default());
    sim.sender.set_cost(cost(500 * US));
    let mut at = 0;
    for number in 0..100 {
        // 200 a second in 4 flows, large and small, never 1 ms after each other.
        at += 4 * MS + sim.below(2 * MS);
        let length = [100, 1_000][number as usize % 2];
        sim.read(at, vec![udp((number % 4) as u16, number, length)]);
        sim.run(0);
    }
    sim.run(S);
    let metrics = sim.sender.metrics();
    assert_eq!((metrics.packets, metrics.signatures), (100, 100));
    assert_eq!(metrics.waits.sum(), 0, "in microseconds");
    assert_eq!(sim.sender.block_wait(), Duration::ZERO);
    assert_eq!(sim.delivered.len(), 100);
}

fn sender() -> Outbound {
    let mut sender = Outbound::new(
        Some(OURS.identity(&[(0, 0)], None)),
        OutboundOptions::default(),
    );
    sender.set_path(PEER, path());
    sender
}

fn push(sender: &mut Outbound, now: u64, bytes: Vec<u8>) {
    sender
        .push(Clear { peer: PEER, bytes }, moment(now, 0))
        .unwrap();
}

/// Flushes. Returns the bursts, and when to flush again.
fn flush(sender: &mut Outbound, now: u64) -> (Vec<Burst>, Option<u64>) {
    let (mut out, mut rng) = (Vec::new(), ChaCha20Rng::seed_from_u64(3));
    let next = sender.flush(moment(now, 0), &mut Online, &mut rng, &mut out);
    (out, next.map(|next| next.as_nanos()))
}

fn payloads(bursts: &[Burst]) -> Vec<Vec<u8>> {
    let chunks = bursts
        .iter()
        .flat_map(|burst| burst.bytes.chunks(burst.segment));
    chunks.map(<[u8]>::to_vec).collect()
}

/// A sender whose machine verifies all the time.
fn busy_sender() -> Outbound {
    let mut sender = sender();
    for step in 0..=100 {
        sender.set_cost(SignatureCost {
            verifying: Duration::from_millis(10 * step),
            ..SignatureCost::default()
        });
        push(&mut sender, S + step * 10 * MS, udp(1, 0, 1_000));
        flush(&mut sender, S + step * 10 * MS);
    }
    assert_eq!(sender.block_wait(), FLOW_WAIT_MAX, "for one flow");
    sender
}

#[test]
fn under_load_a_flow_waits_behind_its_own_block_only() {
    let (mut sender, now) = (busy_sender(), 2 * S);
    let wait = FLOW_WAIT_MAX.as_nanos() as u64;
    push(&mut sender, now + MS, udp(1, 2, 1_000));
    push(&mut sender, now + MS, udp(2, 1, 60));
    let (out, next) = flush(&mut sender, now + MS);
    assert_eq!((payloads(&out).len(), next), (1, Some(now + wait)));
    // A block that is full does not wait, and what is left of it does.
    let most = match OutboundOptions::default().cover {
        Cover::Tree(most) => u32::from(most),
        other => panic!("{other:?}"),
    };
    (3..=most + 11).for_each(|n| push(&mut sender, now + 2 * MS, udp(1, n, 300)));
    let (out, next) = flush(&mut sender, now + 2 * MS);
    // Two flows send now.
    let next_block = now + 2 * MS + 2 * wait;
    assert_eq!(payloads(&out).len(), most as usize);
    assert_eq!((sender.queued().0, next), (10, Some(next_block)));
    let (out, next) = flush(&mut sender, next_block);
    assert_eq!((payloads(&out).len(), next), (10, None));
    // Nothing to verify for a second: nobody waits any more.
    push(&mut sender, 4 * S, udp(1, 99, 1_000));
    flush(&mut sender, 4 * S);
    push(&mut sender, 4 * S + 2 * MS, udp(1, 100, 1_000));
    assert_eq!(payloads(&flush(&mut sender, 4 * S + 2 * MS).0).len(), 1);
}

/// Without precursors a program that opens flows without end costs others no more than a few
/// signatures' time: known flows come first, and packets are read between two flushes.
#[test]
fn new_flows_do_not_keep_known_ones_waiting() {
    let (mut sender, mut now) = (sender(), S);
    push(&mut sender, now, udp(1_000, 0, 300));
    flush(&mut sender, now);
    for flow in 0..200 {
        push(&mut sender, S + MS, udp(flow, 0, 300));
    }
    for number in 1..10 {
        now += 2 * MS;
        push(&mut sender, now, udp(1_000, number, 300));
        let (out, next) = flush(&mut sender, now);
        assert!(next.is_some_and(|next| next <= now), "there is more to do");
        let payloads = payloads(&out);
        assert_eq!(payloads.len() as u64, ONLINE_MAX);
        let outer = OuterAddresses {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
        };
        let mut flows = payloads.iter().map(|payload| {
            let mut inner = Vec::new();
            let packet = SignedPacket::of_datagram(payload, &outer).unwrap();
            packet.write_packet(&mut inner);
            name(&inner)
        });
        let own = flows.position(|name| name == (1_000, number));
        assert!(own.is_some_and(|place| place <= 1), "{number}: {own:?}");
    }
}

/// A verifier that comes back after its packets were given up changes nothing: each packet has one reason.
#[test]
fn what_is_verified_too_late_was_counted_already() {
    for seed in 0..3 {
        let mut sim = Sim::new(seed);
        sim.verifier = Verifier {
            batch: S + 300 * MS,
            signature: EACH,
            is_stalled: false,
        };
        let mut sent = 0;
        for step in 0..60 {
            // Blocks in full carriage, whose packets wait for each other's signature, and others.
            let count = 2 + 9 * (step as u32 % 2);
            let packets = (0..count).map(|n| udp(step as u16 % 4, 100 * step as u32 + n, 600));
            sim.read(step * 20 * MS, packets.collect());
            sent += u64::from(count);
        }
        sim.run(8 * S);
        let metrics = sim.receiver.metrics();
        assert_eq!((metrics.held, metrics.followers), (0, 0));
        let verdicts: u64 = metrics.verdicts.iter().map(|(_, count)| count).sum();
        let refused: u64 = metrics.refused.iter().map(|(_, count)| count).sum();
        assert_eq!(metrics.datagrams, sent, "seed {seed}");
        assert_eq!(verdicts + refused, sent, "seed {seed}: {metrics:?}");
        assert!(metrics.refused.of(Refused::NoVerdict) > 0);
    }
}

/// Packets of blocks that are known come while nobody takes what is verified, until there is no room. The
/// last ones are refused before anything takes note of them: they have one reason, and may come again.
#[test]
fn a_packet_that_finds_no_room_is_counted_once_and_may_come_again() {
    let mut sim = Sim::new(21);
    let outer = Outer {
        source: sender_address(),
        destination: receiver_address(),
        ecn: 0,
    };
    let mut late = Vec::new();
    for block in 0..HELD_MAX as u32 / 64 + 4 {
        sim.now += MS;
        let now = [0, 1].map(|host| sim.now_at(host));
        for number in 0..64 {
            let bytes = udp(1, 64 * block + number, 100);
            sim.sender
                .push(Clear { peer: PEER, bytes }, now[0])
                .unwrap();
        }
        let mut bursts: Vec<Burst> = Vec::new();
        sim.sender
            .flush(now[0], &mut Online, &mut sim.rng, &mut bursts);
        for payload in bursts
            .iter()
            .flat_map(|burst| burst.bytes.chunks(burst.segment))
        {
            let refused = |sim: &Sim| sim.receiver.metrics().refused.of(Refused::HoldFull);
            let before = refused(&sim);
            assert_eq!(sim.receiver.receive(payload, &outer, now[1]), None);
            if refused(&sim) > before {
                late.push(payload.to_vec());
            }
        }
        while let Some(work) = sim.receiver.take_work(now[1]) {
            let done = work.run(&mut sim.rng);
            sim.receiver.finish(done, Duration::ZERO, now[1]);
        }
    }
    has_one_reason_each(&sim);
    let mut out = Vec::new();
    sim.receiver.deliver(sim.now_at(1), &mut out);
    let valid = sim.receiver.metrics().verdicts.of(Reason::Ok);
    assert_eq!((out.len() as u64, late.len() > 64), (valid, true));
    assert!(out.len() <= HELD_MAX);
    for payload in &late {
        let now = sim.now_at(1);
        sim.receiver.receive(payload, &outer, now);
        while let Some(work) = sim.receiver.take_work(now) {
            let done = work.run(&mut sim.rng);
            sim.receiver.finish(done, Duration::ZERO, now);
        }
    }
    let first = out.len();
    sim.receiver.deliver(sim.now_at(1), &mut out);
    assert_eq!(out.len(), first + late.len());
    has_one_reason_each(&sim);
}

/// A verifier is so slow that its packet is given up. The signature held: other packets of the block need
/// no other one, and those that wait for it are delivered.
#[test]
fn a_signature_of_a_packet_that_was_given_up_serves_its_block() {
    let mut sim = Sim::new(22);
    let block = datagrams(
        &OURS,
        Cover::Tree(8),
        (0..3).map(|n| udp(1, n, 200)).collect(),
        &mut sim,
    );
    let outer = Outer {
        source: sender_address(),
        destination: receiver_address(),
        ecn: 0,
    };
    let start = sim.now_at(1);
    sim.receiver.receive(&block[0], &outer, start);
    let work = sim.receiver.take_work(start).unwrap();
    sim.now += S;
    let mut out = Vec::new();
    let now = sim.now_at(1);
    sim.receiver.receive(&block[1], &outer, now);
    sim.receiver.deliver(now, &mut out);
    assert_eq!(sim.receiver.metrics().refused.of(Refused::NoVerdict), 1);
    let done = work.run(&mut sim.rng);
    sim.receiver.finish(done, Duration::from_millis(1), now);
    sim.receiver.receive(&block[2], &outer, now);
    assert!(sim.receiver.take_work(now).is_none(), "nothing to verify");
    sim.receiver.deliver(now, &mut out);
    let numbers: Vec<u32> = out.iter().map(|delivery| name(&delivery.bytes).1).collect();
    assert_eq!(numbers, [1, 2]);
    let metrics = sim.receiver.metrics();
    assert_eq!((metrics.signatures, metrics.good_signatures), (1, 1));
    has_one_reason_each(&sim);
}
