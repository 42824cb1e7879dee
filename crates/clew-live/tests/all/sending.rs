//! The sender: when packets leave, in which form, and what happens without a key.

use crate::common::group::{Keys, OURS, START};
use crate::common::packets::{checksums_hold, name, syn, udp};
use crate::common::sim::{
    CLEAN, Link, MS, Online, PEER, S, Sim, US, address, moment, path, peer_rules, receiver_address,
    sender_address,
};
use clew_group::Scheme;
use clew_live::config::EmptyPool;
use clew_live::identity::Unready;
use clew_live::packet::{Burst, Clear, CookieMessage, Outer, PeerIndex};
use clew_live::receiver::{Inbound, InboundOptions};
use clew_live::sender::{
    BURST_BYTES_MAX, Cover, FLOWS_MAX, Outbound, OutboundOptions, Path, Unsent, WindowSize,
    live_policy,
};
use clew_packet::{Carrier, OuterAddresses, SignedPacket, Timestamp, datagram};
use clew_packet::{Mode, Policy, Reason};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use std::net::SocketAddr;

pub fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(11)
}

pub fn sender(options: OutboundOptions) -> Outbound {
    let mut sender = Outbound::new(Some(OURS.identity(&[(0, 0)], None)), options);
    sender.set_path(PEER, path());
    sender
}

pub fn push(sender: &mut Outbound, now: u64, bytes: Vec<u8>) -> Result<(), Unsent> {
    sender.push(Clear { peer: PEER, bytes }, moment(now, 0))
}

/// Flushes, and returns the bursts and when to flush again.
fn flush(sender: &mut Outbound, now: u64) -> (Vec<Burst>, Option<u64>) {
    let mut out = Vec::new();
    let next = sender.flush(moment(now, 0), &mut Online, &mut rng(), &mut out);
    (out, next.map(|next| next.as_nanos()))
}

fn payloads(bursts: &[Burst]) -> Vec<Vec<u8>> {
    let payloads = bursts
        .iter()
        .flat_map(|burst| burst.bytes.chunks(burst.segment));
    payloads.map(<[u8]>::to_vec).collect()
}

/// Flow and number of each packet.
pub fn names(bursts: &[Burst]) -> Vec<(u16, u32)> {
    let name = |payload: Vec<u8>| {
        let packet = SignedPacket::of_datagram(&payload, &outer()).unwrap();
        let mut inner = Vec::new();
        packet.write_packet(&mut inner);
        name(&inner)
    };
    payloads(bursts).into_iter().map(name).collect()
}

fn outer() -> OuterAddresses {
    OuterAddresses {
        source: sender_address().ip(),
        destination: receiver_address().ip(),
    }
}

#[test]
fn small_packets_wait_only_behind_a_block_of_their_flow() {
    let mut sender = sender(OutboundOptions::default());
    push(&mut sender, S, udp(1, 1, 60)).unwrap();
    let (out, next) = flush(&mut sender, S);
    assert_eq!(
        (payloads(&out).len(), next),
        (1, None),
        "the first one goes at once"
    );
    // Half a millisecond later another small one waits, up to a millisecond.
    let then = S + MS / 2;
    push(&mut sender, then, udp(1, 2, 60)).unwrap();
    assert_eq!(flush(&mut sender, then), (vec![], Some(then + MS)));
    push(&mut sender, then + 100 * US, udp(1, 3, 60)).unwrap();
    // Another flow does not, and a large packet takes those before it along.
    push(&mut sender, then + 100 * US, udp(2, 1, 60)).unwrap();
    let (out, next) = flush(&mut sender, then + 100 * US);
    assert_eq!((payloads(&out).len(), next), (1, Some(then + MS)));
    push(&mut sender, then + 200 * US, udp(1, 4, 900)).unwrap();
    let (out, next) = flush(&mut sender, then + 200 * US);
    assert_eq!((payloads(&out).len(), next), (3, None));
    assert_eq!(sender.metrics().signatures, 3);
    // After a pause they do not wait.
    push(&mut sender, 2 * S, udp(1, 5, 60)).unwrap();
    assert_eq!(payloads(&flush(&mut sender, 2 * S).0).len(), 1);
}

#[test]
fn a_block_has_one_flow_and_at_most_64_packets() {
    let mut sender = sender(OutboundOptions::default());
    for number in 0..100 {
        push(&mut sender, S, udp((number % 2) as u16, number, 300)).unwrap();
        push(&mut sender, S, udp(2, number, 300)).unwrap();
    }
    let (out, _) = flush(&mut sender, S);
    let metrics = sender.metrics();
    assert_eq!((payloads(&out).len(), metrics.signatures), (200, 4));
    assert_eq!(metrics.k.sum(), 200);
    let mut last = [None; 3];
    for (flow, number) in names(&out) {
        assert!(
            last[usize::from(flow)].replace(number) < Some(number),
            "in order"
        );
    }
}

#[test]
fn bursts_have_one_length_and_fit_the_path() {
    let mut sender = sender(OutboundOptions::default());
    for (number, length) in (0..120).zip([1_400, 1_400, 1_200, 1_200, 1_200, 36].iter().cycle()) {
        push(&mut sender, S, udp(1, number, *length)).unwrap();
    }
    let (out, _) = flush(&mut sender, S);
    for burst in &out {
        assert!(burst.segment <= path().payload_max() && burst.bytes.len() <= BURST_BYTES_MAX);
        assert!(burst.bytes.chunks(burst.segment).count() <= 64);
    }
    assert!(out.len() < payloads(&out).len(), "some go together");
    assert!(sender.metrics().fragments > 0, "the longest are cut");
    // The path becomes narrower: everything is cut to it from then on.
    let mtu = 700;
    sender.set_path(PEER, Path { mtu, ..path() });
    push(&mut sender, S, udp(1, 999, 1_300)).unwrap();
    let (out, _) = flush(&mut sender, S);
    assert!(
        payloads(&out)
            .iter()
            .all(|payload| payload.len() <= 700 - 28)
    );
}

#[test]
fn segments_of_the_clamped_size_need_no_fragment() {
    for remote in ["198.51.100.1:4909", "[2001:db8::1]:4909"] {
        let mut sender = sender(OutboundOptions::default());
        let remote = address(remote);
        sender.set_path(PEER, Path { remote, ..path() });
        let mss = sender.mss(PEER).unwrap();
        assert!(mss > 1_150, "{mss}");
        let length = 40 + usize::from(mss);
        for number in 0..64 {
            push(&mut sender, S, udp(1, number, length)).unwrap();
        }
        let (out, _) = flush(&mut sender, S);
        assert_eq!((sender.metrics().fragments, payloads(&out).len()), (0, 64));
    }
}

#[test]
fn syn_packets_are_clamped_at_both_ends() {
    let mut sim = Sim::new(1);
    let mss = sim.sender.mss(PEER).unwrap();
    sim.read(0, vec![syn(1_460)]);
    sim.run(S);
    let [(_, delivery)] = &sim.delivered[..] else {
        panic!("it arrives");
    };
    assert!(mss > 1_100, "{mss}");
    assert!(checksums_hold(&delivery.bytes));
    assert_eq!(
        delivery.bytes[42..44],
        1_100_u16.to_be_bytes(),
        "the receiver's own path"
    );
    assert_eq!(
        (sim.sender.metrics().clamped, sim.receiver.metrics().clamped),
        (1, 1)
    );
}

/// Congestion seen between the daemons is told to the hosts.
#[test]
fn congestion_marks_travel() {
    let mut capable = udp(1, 1, 100);
    // ECT(0), and the checksum for it.
    capable[1] = 2;
    capable[11] = capable[11].wrapping_sub(2);
    assert!(checksums_hold(&capable));
    let mut sender = sender(OutboundOptions::default());
    push(&mut sender, 2 * S, capable).unwrap();
    push(&mut sender, 2 * S, udp(1, 2, 100)).unwrap();
    let (out, _) = flush(&mut sender, 2 * S);
    assert_eq!(
        out.iter().map(|burst| burst.ecn).collect::<Vec<_>>(),
        [2, 0]
    );
    let options = InboundOptions::default();
    let (start, now) = (moment(0, 0), moment(2 * S, 0));
    let mut receiver = Inbound::new(Keys::of(&[0]), options, peer_rules(), start, [1; 32]);
    let outer = Outer {
        source: sender_address(),
        destination: receiver_address(),
        ecn: 3,
    };
    for payload in payloads(&out) {
        receiver.receive(&payload, &outer, now);
    }
    let work = receiver.take_work(now).unwrap();
    receiver.finish(work.run(&mut rng()), std::time::Duration::ZERO, now);
    let mut delivered = Vec::new();
    receiver.deliver(now, &mut delivered);
    let [marked] = &delivered[..] else {
        panic!("the other one's sender would not learn of the mark: {delivered:?}");
    };
    assert_eq!(marked.bytes[1], 3);
    assert!(checksums_hold(&marked.bytes));
}

#[test]
fn without_a_key_nothing_leaves() {
    let mut sender = Outbound::new(None, OutboundOptions::default());
    sender.set_path(PEER, path());
    assert_eq!(sender.state(Timestamp(START)), Err(Unready::NoKey));
    push(&mut sender, S, udp(1, 1, 100)).unwrap();
    let stranger = Clear {
        peer: PeerIndex(7),
        bytes: udp(1, 1, 100),
    };
    assert_eq!(sender.push(stranger, moment(S, 0)), Err(Unsent::NoPath));
    assert_eq!(
        push(&mut sender, S, vec![0x45; 10]),
        Err(Unsent::NotSignable)
    );
    assert_eq!(flush(&mut sender, S), (vec![], None));
    let unsent = &sender.metrics().unsent;
    let reasons = [Unsent::NoKey, Unsent::NoPath, Unsent::NotSignable];
    assert_eq!(reasons.map(|reason| unsent.of(reason)), [1, 1, 1]);
}

#[test]
fn queues_are_bounded_in_bytes_and_time() {
    let mut sender = sender(OutboundOptions {
        queue_bytes: 10_000,
        ..OutboundOptions::default()
    });
    let pushed = (0..100).filter(|n| push(&mut sender, S, udp(1, *n, 744)).is_ok());
    assert_eq!(pushed.count(), 10);
    assert_eq!(sender.metrics().unsent.of(Unsent::QueueFull), 90);
    assert_eq!(sender.queued(), (10, 10_000));
    assert_eq!(
        flush(&mut sender, S + 101 * MS),
        (vec![], None),
        "nobody flushed in time"
    );
    assert_eq!(sender.metrics().unsent.of(Unsent::TooLate), 10);
    assert_eq!(sender.queued(), (0, 0));
}

#[test]
fn flows_are_forgotten_but_never_packets() {
    let mut sender = sender(OutboundOptions {
        when_empty: EmptyPool::Drop,
        ..OutboundOptions::default()
    });
    for flow in 0..2 * FLOWS_MAX as u32 {
        let mut packet = udp(flow as u16, flow, 60);
        packet[12..16].copy_from_slice(&[10, 1, (flow >> 16) as u8, 1]);
        push(&mut sender, S, packet).unwrap();
        flush(&mut sender, S);
    }
    assert_eq!(
        sender.metrics().unsent.of(Unsent::PoolEmpty),
        2 * FLOWS_MAX as u64
    );
    assert_eq!(sender.queued(), (0, 0));
}

/// A packet that has no room for its signature is told from one that no rule signs, and neither from an
/// empty pool. What is not signed is no signature.
#[test]
fn packets_that_cannot_be_signed_have_their_own_reason() {
    for cover in [
        Cover::Each,
        Cover::Window(WindowSize::Fixed(4)),
        Cover::Tree(64),
    ] {
        let mut sender = sender(OutboundOptions {
            cover,
            ..OutboundOptions::default()
        });
        push(&mut sender, S, udp(1, 0, 65_535)).unwrap();
        assert!(flush(&mut sender, S).0.is_empty());
        let metrics = sender.metrics();
        let unsent: Vec<_> = metrics.unsent.iter().collect();
        assert_eq!(unsent, [(Unsent::NoRoom, 1)], "{cover:?}");
        assert_eq!((metrics.signatures, metrics.k.total()), (0, 0));
    }
}

/// The packets' buffers come back to whoever reads the next ones.
#[test]
fn buffers_of_packets_come_back() {
    let mut sender = sender(OutboundOptions::default());
    for number in 0..10 {
        push(&mut sender, S, udp(1, number, 300)).unwrap();
    }
    assert_eq!(sender.spare(), None, "they are in use");
    let (out, _) = flush(&mut sender, S);
    for burst in out {
        // These are of other lengths.
        sender.recycle(burst.bytes);
    }
    let spare = std::iter::from_fn(|| sender.spare());
    let spare: Vec<Vec<u8>> = spare.collect();
    assert_eq!(spare.len(), 10);
    let is_of_a_packet = |buffer: &Vec<u8>| buffer.is_empty() && buffer.capacity() < 1_000;
    assert!(spare.iter().all(is_of_a_packet));
}

/// All modes, by a receiver's eyes.
#[test]
fn every_mode_arrives() {
    let full = Policy::default();
    for (cover, policy, signatures) in [
        (Cover::Each, live_policy(Scheme::Xr), 6),
        (Cover::Window(WindowSize::Fixed(4)), full, 6),
        (
            Cover::Window(WindowSize::Adaptive(8)),
            live_policy(Scheme::Xr),
            6,
        ),
        (Cover::Tree(64), full, 2),
        (Cover::Tree(2), live_policy(Scheme::Xr), 4),
    ] {
        let options = OutboundOptions {
            cover,
            ..OutboundOptions::default()
        };
        let mut sim = Sim::with(4, options, InboundOptions::default());
        let identity = OURS.identity_with(&[(0, 0)], None, policy);
        sim.sender.set_identity(Some(identity));
        sim.read(0, (0..3).map(|n| udp(1, n, 800)).collect());
        sim.read(5 * MS, (3..6).map(|n| udp(1, n, 800)).collect());
        sim.run(S);
        assert_eq!(
            sim.names(),
            (0..6).map(|n| (1, n)).collect::<Vec<_>>(),
            "{cover:?}"
        );
        assert_eq!(sim.sender.metrics().signatures, signatures, "{cover:?}");
        let mode = match cover {
            Cover::Each => Mode::Each,
            Cover::Window(_) => Mode::Window,
            Cover::Tree(_) => Mode::Tree,
        };
        let whole = sim
            .sent
            .iter()
            .filter_map(|p| SignedPacket::of_datagram(p, &outer()).ok());
        assert!(whole.map(|p| p.summary().mode).all(|m| m == mode));
    }
}

/// `udp-transport` is for the two ends, and its receiver makes the header anew.
#[test]
fn transport_is_for_packets_between_the_two_ends() {
    let mut sender = sender(OutboundOptions::default());
    let [local, remote] = ["10.1.0.1:4909", "10.2.0.1:4909"].map(address);
    sender.set_path(
        PEER,
        Path {
            remote,
            local: Some(local.ip()),
            mtu: 1_500,
            carrier: Carrier::UdpTransport,
        },
    );
    let mut through = udp(1, 2, 200);
    through[12..16].copy_from_slice(&[10, 1, 0, 9]);
    push(&mut sender, 2 * S, udp(1, 1, 200)).unwrap();
    push(&mut sender, 2 * S, through).unwrap();
    let (out, _) = flush(&mut sender, 2 * S);
    let outer = OuterAddresses {
        source: local.ip(),
        destination: remote.ip(),
    };
    let carriers: Vec<Carrier> = payloads(&out)
        .iter()
        .map(|p| {
            SignedPacket::of_datagram(p, &outer)
                .unwrap()
                .summary()
                .carrier
        })
        .collect();
    assert_eq!(carriers, [Carrier::UdpTransport, Carrier::UdpTunnel]);
}

/// A cookie is taken from the address that a datagram went to, and shown from then on.
#[test]
fn cookies_are_shown_to_whom_they_are_from() {
    let mut sender = sender(OutboundOptions::default());
    push(&mut sender, S, udp(1, 1, 1_450)).unwrap();
    let (out, _) = flush(&mut sender, S);
    let echo = datagram::echo(&payloads(&out)[0]).unwrap();
    let message = CookieMessage {
        echo,
        cookie: [5; 16],
    };
    let foreign: SocketAddr = address("198.51.100.2:4909");
    assert!(!sender.cookie(foreign, &message, moment(S, 0)));
    let mapped = address("[::ffff:198.51.100.1]:4909");
    assert!(
        sender.cookie(mapped, &message, moment(S, 0)),
        "the same address"
    );
    let bad = CookieMessage {
        echo: [0; 16],
        ..message
    };
    assert!(!sender.cookie(receiver_address(), &bad, moment(S, 0)));
    assert!(sender.cookie(receiver_address(), &message, moment(2 * S, 0)));
    for length in [100, 1_450] {
        push(&mut sender, 2 * S, udp(1, 2, length)).unwrap();
        for payload in payloads(&flush(&mut sender, 2 * S).0) {
            assert!(payload.len() <= path().payload_max());
            let cookie = datagram::parse(&payload).unwrap().cookie;
            assert_eq!(cookie, Some(&[5; 16]));
        }
    }
    sender.set_path(
        PEER,
        Path {
            remote: foreign,
            ..path()
        },
    );
    push(&mut sender, 3 * S, udp(1, 3, 100)).unwrap();
    let (out, _) = flush(&mut sender, 3 * S);
    assert_eq!(
        datagram::parse(&payloads(&out)[0]).unwrap().cookie,
        None,
        "it moved"
    );
}

/// A link with everything at once, for long: queues drain and nothing is counted twice.
#[test]
fn everything_that_is_sent_has_one_fate() {
    let mut sim = Sim::new(12);
    sim.link = Link {
        jitter: 2 * MS,
        lost: 100,
        duplicated: 100,
        ..CLEAN
    };
    for n in 0..30 {
        let packets = (0..1 + n % 13).map(|i| udp(1, 100 * n + i, 900)).collect();
        sim.read(u64::from(n) * 7 * MS, packets);
    }
    sim.run(5 * S);
    let (sent, metrics) = (sim.sender.metrics(), sim.receiver.metrics());
    let unsent: u64 = sent.unsent.iter().map(|(_, n)| n).sum();
    assert_eq!(
        sent.packets + unsent,
        (0..30).map(|n| 1 + n % 13).sum::<u64>()
    );
    let good = metrics.verdicts.of(Reason::Ok) + metrics.verdicts.of(Reason::Reordered);
    assert_eq!(metrics.packets, good);
    assert_eq!((metrics.held, metrics.waiting_signatures), (0, 0));
}
