//! Clue's windows: how many packets one covers, and what a receiver makes of a whole one.

use crate::common::group::OURS;
use crate::common::packets::{tcp, udp};
use crate::common::sim::{Online, PEER, S, Sim, moment, path};
use clew_live::packet::Clear;
use clew_live::receiver::InboundOptions;
use clew_live::sender::{Cover, Outbound, OutboundOptions, WindowSize};
use clew_packet::{Block, OuterAddresses, Reason, SignedPacket, Windows};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

const FIRST: u32 = u32::MAX - 2_500;
const DATA: usize = 1_000;

/// The k of each packet of one read.
fn read(sender: &mut Outbound, packets: Vec<Vec<u8>>) -> Vec<u16> {
    for bytes in packets {
        sender
            .push(Clear { peer: PEER, bytes }, moment(0, 0))
            .unwrap();
    }
    let (mut out, mut rng) = (Vec::new(), ChaCha20Rng::seed_from_u64(1));
    sender.flush(moment(0, 0), &mut Online, &mut rng, &mut out);
    let outer = OuterAddresses {
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 2].into(),
    };
    let datagrams = out
        .iter()
        .flat_map(|burst| burst.bytes.chunks(burst.segment));
    let k = |datagram| match SignedPacket::of_datagram(datagram, &outer)
        .unwrap()
        .trailer()
        .block
    {
        Block::Window { k, .. } => k,
        Block::Each | Block::Tree { .. } => 0,
    };
    datagrams.map(k).collect()
}

fn segment(place: u32) -> Vec<u8> {
    let sequence = FIRST.wrapping_add(place * DATA as u32);
    tcp(false, sequence, 1, DATA)
}

/// A window has the packets in flight, and no more than it may.
#[test]
fn a_window_follows_what_is_in_flight() {
    let options = OutboundOptions {
        cover: Cover::Window(WindowSize::Adaptive(6)),
        ..OutboundOptions::default()
    };
    let mut sender = Outbound::new(Some(OURS.identity(&[(0, 0)], None)), options);
    sender.set_path(PEER, path());
    assert_eq!(
        read(&mut sender, (0..4).map(segment).collect()),
        [1, 2, 3, 4]
    );
    let ack = |place: u32| tcp(true, 1, FIRST.wrapping_add(place * DATA as u32), 0);
    // An acknowledgement of another connection, and one of what never left.
    let mut other = ack(3);
    other[20] ^= 1;
    sender.hear(PEER, &other);
    sender.hear(PEER, &ack(9));
    // Five are in flight, and the window remembers the three that it had room for.
    assert_eq!(read(&mut sender, vec![segment(4)]), [4]);
    sender.hear(PEER, &ack(4));
    assert_eq!(read(&mut sender, vec![segment(5)]), [2]);
    assert_eq!(read(&mut sender, (6..12).map(segment).collect())[5], 6);
    assert_eq!(read(&mut sender, vec![udp(1, 1, 800)]), [1], "not TCP");
}

/// Of packets that wait together, those of a whole window cost one verification.
#[test]
fn a_whole_window_costs_one_verification() {
    for (windows, signatures, vouched) in [(Windows::Alone, 12, 0), (Windows::Whole, 4, 8)] {
        let outbound = OutboundOptions {
            cover: Cover::Window(WindowSize::Fixed(4)),
            ..OutboundOptions::default()
        };
        let inbound = InboundOptions {
            windows,
            ..InboundOptions::default()
        };
        let mut sim = Sim::with(3, outbound, inbound);
        sim.verifiers = 1;
        sim.read(0, (0..12).map(|n| udp(1, n, 800)).collect());
        sim.run(S);
        assert_eq!(sim.names(), (0..12).map(|n| (1, n)).collect::<Vec<_>>());
        let metrics = sim.receiver.metrics();
        // The first one is verified before the others arrive. Packets 5, 8 and 12 end windows that
        // cover them.
        assert_eq!(metrics.signatures, signatures, "{windows:?}");
        assert_eq!(metrics.good_signatures, signatures, "{windows:?}");
        assert_eq!(metrics.verdicts.of(Reason::Vouched), vouched, "{windows:?}");
        assert_eq!(sim.sender.metrics().signatures, 12);
    }
}
