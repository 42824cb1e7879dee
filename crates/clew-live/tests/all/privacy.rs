//! What datagrams tell an eavesdropper: `spec/carriers.md` 7.

use crate::common::group::OURS;
use crate::common::packets::udp;
use crate::common::sim::{Online, PEER, S, moment, path, receiver_address, sender_address};
use clew_live::identity::Identity;
use clew_live::packet::{Burst, Clear};
use clew_live::sender::{Outbound, OutboundOptions};
use clew_packet::{OuterAddresses, SECOND_NS, SignedPacket};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The bursts of a machine that sends reads of these sizes in some flows.
fn sends(identity: Arc<Identity>, seed: u64, flows: &[u16]) -> Vec<Burst> {
    let mut sender = Outbound::new(Some(identity), OutboundOptions::default());
    sender.set_path(PEER, path());
    let (mut rng, mut out) = (ChaCha20Rng::seed_from_u64(seed), Vec::new());
    for (read, count) in [1, 3, 12, 20].into_iter().enumerate() {
        let now = moment(S + read as u64 * S / 100, 0);
        for flow in flows {
            for number in 0..count {
                let bytes = udp(*flow, number, 200 + 50 * read);
                sender.push(Clear { peer: PEER, bytes }, now).unwrap();
            }
        }
        sender.flush(now, &mut Online, &mut rng, &mut out);
    }
    out
}

fn payloads(bursts: &[Burst]) -> Vec<&[u8]> {
    let payloads = bursts
        .iter()
        .flat_map(|burst| burst.bytes.chunks(burst.segment));
    payloads.collect()
}

/// Shim and head, content, tail.
fn parts(payload: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let length = usize::from(u16::from_be_bytes([payload[8], payload[9]]));
    let (head, rest) = payload.split_at(32);
    let (content, tail) = rest.split_at(length);
    (head, content, tail)
}

/// All runs of 8 bytes.
fn runs(tail: &[u8]) -> BTreeSet<&[u8]> {
    tail.windows(8).collect()
}

/// Two machines that send the same packets differ in random bytes only, and these have nothing of
/// the machine.
#[test]
fn machines_differ_in_random_bytes_only() {
    let one = sends(OURS.identity(&[(0, 0)], None), 1, &[1]);
    let same = sends(OURS.identity(&[(0, 0)], None), 2, &[1]);
    let other = sends(OURS.other_identity(), 3, &[1]);
    for pair in [(&one, &same), (&one, &other)] {
        let (a, b) = (payloads(pair.0), payloads(pair.1));
        assert_eq!(a.len(), 36);
        let shape = |bursts: &[Burst]| bursts.iter().map(|b| b.segment).collect::<Vec<_>>();
        assert_eq!(shape(pair.0), shape(pair.1), "they leave alike");
        for (a, b) in a.into_iter().zip(b) {
            let ((head_a, content_a, tail_a), (head_b, content_b, tail_b)) = (parts(a), parts(b));
            assert_eq!((head_a, content_a), (head_b, content_b));
            assert_eq!(tail_a.len(), tail_b.len());
            // Index, count, digest size, depth and k follow from the number of packets.
            assert_eq!(tail_a[16..22], tail_b[16..22]);
            assert!(runs(tail_a).is_disjoint(&runs(tail_b)));
        }
    }
}

/// Two flows of a machine, and two blocks of a flow, have nothing in common but what all packets of
/// the group have.
#[test]
fn flows_and_blocks_have_nothing_in_common() {
    let sent = sends(OURS.identity(&[(0, 0)], None), 4, &[1, 2]);
    let outer = OuterAddresses {
        source: sender_address().ip(),
        destination: receiver_address().ip(),
    };
    let mut blocks: Vec<([u8; 16], BTreeSet<&[u8]>)> = Vec::new();
    for payload in payloads(&sent) {
        let packet = SignedPacket::of_datagram(payload, &outer).unwrap();
        let (head, _, tail) = parts(payload);
        assert_eq!(head[10..18], packet.trailer().group.0);
        assert_eq!(packet.trailer().timestamp.0 % SECOND_NS, 0, "whole seconds");
        let id = tail[..16].try_into().unwrap();
        match blocks.iter_mut().find(|(known, _)| *known == id) {
            Some((_, known)) => known.extend(runs(tail)),
            None => blocks.push((id, runs(tail))),
        }
    }
    assert_eq!(blocks.len(), 8, "four of each flow");
    for (place, (_, one)) in blocks.iter().enumerate() {
        for (_, other) in &blocks[place + 1..] {
            assert!(one.is_disjoint(other));
        }
    }
}
