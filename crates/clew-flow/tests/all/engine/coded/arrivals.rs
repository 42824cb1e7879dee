//! Loss, copies, another order, other carriages, bogus packets.

use super::{SHORT, UNTAGGED, flow, places, receive, shuffle, trusting};
use crate::engine::setup::{NOW, packet};
use clew_flow::{
    Acceptance, CODED_COUNT_MIN, Chaining, Distribution, FIXED_BYTES, NEEDED_MIN, Reason,
    SignaturePart, Verdict,
};
use clew_tree::carriage::{Code, Rate, ShareTree, TagSize, Tags};
use proptest::prelude::*;
use rand_chacha::rand_core::Rng;
use std::collections::{HashMap, HashSet};

#[test]
fn any_k_packets_are_enough_and_fewer_wait() {
    for distribution in [Distribution::CODED, SHORT, UNTAGGED] {
        for (count, needed) in [(9, 4), (16, 4), (17, 5), (64, 16)] {
            let mut flow = flow(u64::from(count));
            let mut block = flow.block(count, distribution);
            shuffle(&mut flow, &mut block);
            let mut other = trusting(Acceptance::default());
            let found = receive(&mut other, &block[..needed - 1]);
            assert_eq!(found, vec![Reason::Pending; needed - 1]);
            assert_eq!(other.verifications(), 0);
            let found = receive(&mut flow.receiver, &block[..needed]);
            assert_eq!(found, vec![Reason::Ok; needed], "{distribution:?} {count}");
            let found = receive(&mut flow.receiver, &block[needed..]);
            assert!(found.iter().all(|reason| *reason == Reason::Ok));
            assert_eq!(flow.receiver.verifications(), 1);
            assert_eq!(flow.receiver.end(), Default::default());
        }
    }
}

#[test]
fn a_copy_counts_once() {
    let mut flow = flow(1);
    let block = flow.block(16, Distribution::CODED);
    let sent = [0, 0, 1, 1, 0, 2, 2, 3, 3].map(|i: usize| &block[i]);
    let found = receive(&mut flow.receiver, sent);
    let (ok, again) = (Reason::Ok, Reason::Duplicate);
    assert_eq!(found, [ok, again, ok, again, again, ok, again, ok, again]);
}

/// What attackers of distillation codes make of a packet that they see.
fn altered(seen: &[u8], round: usize) -> Vec<u8> {
    let (mut bogus, at) = (seen.to_vec(), places(seen, 32));
    let flip = 1 << (round / 6 % 8);
    match round % 6 {
        0 => bogus[at.share + round % 18] ^= flip,
        1 => bogus[at.tag + round % 32] ^= flip,
        2 => bogus[at.path + round % 64] ^= flip,
        // Another k whose shares would be as long.
        3 => bogus[at.needed + 1] ^= 1,
        4 => bogus[at.fixed + round % 16] ^= flip,
        _ => bogus.insert(0, round as u8),
    }
    bogus
}

#[test]
fn bogus_copies_spoil_nothing_where_there_are_tags() {
    for ahead in [1, 6, 30] {
        let mut flow = flow(ahead as u64);
        let (mut bogus, mut needed) = (0, 0);
        let mut valid = HashSet::new();
        for _ in 0..6 {
            let mut sent: Vec<Vec<u8>> = Vec::new();
            let mut arrived = Vec::new();
            for (index, signed) in (0..).zip(flow.block(16, Distribution::CODED)) {
                sent.extend((0..ahead).map(|i| altered(&signed, bogus + i)));
                bogus += ahead;
                if !flow.rng.next_u32().is_multiple_of(5) {
                    arrived.push(index);
                    sent.push(signed);
                }
            }
            needed += 1;
            let found = receive(&mut flow.receiver, &sent);
            valid.clear();
            for (signed, reason) in sent.iter().zip(&found) {
                if *reason == Reason::Ok {
                    let parts = parse(signed);
                    assert_eq!(parts.0, packet(parts.1), "never another content");
                    assert!(valid.insert(parts.1));
                }
            }
            assert!(arrived.iter().all(|index| valid.contains(index)));
        }
        let forced = flow.receiver.verifications() - needed;
        let least = usize::from(NEEDED_MIN);
        assert!(forced as usize <= bogus / least, "{forced} of {bogus}");
    }
}

/// What the application sent, and its index.
fn parse(signed: &[u8]) -> (&[u8], u16) {
    let fixed = clew_flow::Fixed::of(signed).unwrap();
    let descriptor = crate::engine::setup::descriptor(Chaining::default());
    let parts = clew_flow::SignedPacket::of(signed, fixed, &descriptor).unwrap();
    (parts.packet, parts.fixed.index)
}

/// The packet with another carriage, from its full form.
fn sparse(full: &[u8]) -> Vec<u8> {
    let (body, fixed) = full.split_at(full.len() - FIXED_BYTES);
    let mut out = [&body[..body.len() - 72], fixed].concat();
    let end = out.len();
    out[end - 8] = 2;
    let length = u16::from_be_bytes([out[end - 6], out[end - 5]]) - 72;
    out[end - 6..end - 4].copy_from_slice(&length.to_be_bytes());
    out
}

#[test]
fn carriages_mix_in_one_block() {
    let mut flow = flow(10);
    for round in 0..60 {
        let coded = flow.block(16, Distribution::CODED);
        let mut other = trusting(Acceptance::default());
        assert_eq!(other.full_form(&coded[0]), None, "not verified yet");
        receive(&mut other, &coded);
        let mut mixed: Vec<Vec<u8>> = Vec::new();
        for signed in &coded {
            let full = other.full_form(signed).unwrap();
            assert_eq!(other.full_form(&full).as_ref(), Some(&full));
            assert_eq!(
                trusting(Acceptance::default())
                    .receive(&full, NOW, 0)
                    .reason,
                Reason::Ok,
                "verifiable alone"
            );
            mixed.push(match (mixed.len() + round) % 5 {
                0 if round % 2 == 0 => full,
                1 | 2 => sparse(&full),
                _ => signed.clone(),
            });
        }
        shuffle(&mut flow, &mut mixed);
        let found = receive(&mut flow.receiver, &mixed);
        assert_eq!(found, [Reason::Ok; 16]);
        let mut changed = coded[3].clone();
        changed[0] ^= 1;
        assert_eq!(flow.receiver.full_form(&changed), None);
    }
    assert_eq!(flow.receiver.verifications(), 60);
}

/// The packets of a block once more, of a code that needs another number of shares.
fn coded_again(full: &[Vec<u8>], needed: u16) -> Vec<Vec<u8>> {
    let count = full.len() as u16;
    let code = Code::new(count, needed, 72).unwrap();
    let fixed = clew_flow::Fixed::of(&full[0]).unwrap();
    let end = full[0].len() - FIXED_BYTES;
    let shares = code.encode(&full[0][end - 72..end]).unwrap();
    let tree = ShareTree::new(Tags::new(fixed.id, code, TagSize::T8), &shares).unwrap();
    let packet = |(index, full): (u16, &Vec<u8>)| {
        let (body, fixed) = full.split_at(full.len() - FIXED_BYTES);
        let size = code.share_bytes();
        let share = &shares[usize::from(index) * size..][..size];
        let carried = [&needed.to_be_bytes(), share, &tree.tag(index).unwrap()].concat();
        let mut out = [&body[..body.len() - 72], &carried, fixed].concat();
        let end = out.len();
        let length = u16::from_be_bytes([out[end - 6], out[end - 5]]);
        let length = length - 72 + carried.len() as u16;
        out[end - 6..end - 4].copy_from_slice(&length.to_be_bytes());
        out[end - 8] = 3;
        out
    };
    (0..).zip(full).map(packet).collect()
}

#[test]
fn shares_of_two_codes_do_not_mix() {
    let mut flow = flow(12);
    let coded = flow.block(16, Distribution::CODED);
    let mut other = trusting(Acceptance::default());
    receive(&mut other, &coded);
    let full: Vec<_> = coded.iter().filter_map(|s| other.full_form(s)).collect();
    assert_eq!(coded_again(&full, 4), coded);
    let again = coded_again(&full, 5);
    let mixed: Vec<_> = [0, 1, 2]
        .map(|i| &coded[i])
        .into_iter()
        .chain(&again[3..7])
        .collect();
    assert_eq!(receive(&mut flow.receiver, mixed), [Reason::Pending; 7]);
    assert_eq!(flow.receive(&again[8]), Reason::Ok, "the fifth of its code");
    assert_eq!(flow.receiver.counters().of(Reason::Ok), 8);
    assert_eq!(flow.receiver.verifications(), 1);
}

/// As a packet of section 3 is written.
#[test]
fn what_is_carried_is_k_share_and_tag() {
    let mut flow = flow(11);
    let descriptor = crate::engine::setup::descriptor(Chaining::default());
    for (distribution, number, tag) in [
        (Distribution::CODED, 3, 32),
        (SHORT, 4, 16),
        (UNTAGGED, 5, 0),
    ] {
        let block = flow.block(16, distribution);
        receive(&mut flow.receiver, &block);
        let full = flow.receiver.full_form(&block[0]).unwrap();
        let blob = &full[full.len() - FIXED_BYTES - 72..full.len() - FIXED_BYTES];
        for (i, signed) in block.iter().enumerate() {
            let at = places(signed, tag);
            assert_eq!(signed[at.fixed + 32], number);
            assert_eq!(signed[at.needed..at.share], [0, 4]);
            assert_eq!(at.path, packet(i as u16).len());
            if i < 4 {
                assert_eq!(signed[at.share..at.tag], blob[18 * i..18 * i + 18]);
            }
            let fixed = clew_flow::Fixed::of(signed).unwrap();
            let parts = clew_flow::SignedPacket::of(signed, fixed, &descriptor).unwrap();
            let SignaturePart::Coded(coded) = parts.part else {
                panic!("{distribution:?}");
            };
            assert_eq!(coded.share, &signed[at.share..at.tag]);
            assert_eq!(coded.tag, &signed[at.tag..at.fixed]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is lost, repeated, altered and exchanged: k packets verify a block, fewer never do.
    #[test]
    fn lines(
        count in CODED_COUNT_MIN..=64, percent in 1u8..=100, tags in 0usize..3,
        loss in 0u32..100, attack in 0u32..4, seed in any::<u64>(),
    ) {
        let tags = [Some(TagSize::T8), Some(TagSize::T4), None][tags];
        let rate = Rate::new(percent).unwrap();
        let mut flow = flow(seed);
        let block = flow.block(count, Distribution::Coded { rate, tags });
        let coded = block[0][block[0].len() - 8] != 1;
        let needed = if coded { usize::from(rate.needed(count).max(NEEDED_MIN)) } else { 1 };
        let mut arrived = block.clone();
        arrived.retain(|_| flow.rng.next_u32() % 100 >= loss);
        let (mut sent, mut honest) = (arrived.clone(), HashMap::new());
        for signed in &arrived {
            for _ in 0..attack {
                let mut bogus = signed.clone();
                // Without tags shares are taken as they are.
                let from = if tags.is_some() { 0 } else { bogus.len() - FIXED_BYTES };
                let at = from + flow.rng.next_u32() as usize % (bogus.len() - from);
                bogus[at] ^= 1 << (flow.rng.next_u32() % 8);
                sent.push(bogus);
            }
            sent.push(signed.clone());
        }
        shuffle(&mut flow, &mut sent);
        let found = receive(&mut flow.receiver, &sent);
        for (signed, reason) in sent.iter().zip(found) {
            if reason == Reason::Ok {
                let (content, index) = parse(signed);
                prop_assert_eq!(content, packet(index));
                prop_assert!(honest.insert(index, ()).is_none(), "once");
            } else if block.contains(signed) {
                prop_assert!(matches!(reason.verdict(), Verdict::Undecided | Verdict::Replayed), "{}", reason);
            }
        }
        if arrived.len() >= needed {
            prop_assert_eq!(honest.len(), arrived.len());
        } else {
            prop_assert_eq!(honest.len(), 0);
        }
    }
}
