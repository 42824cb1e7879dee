//! Coded carriage: what arrives, and what somebody makes of it who sends too.

use crate::setup::{Flow, NOW, packet, receiver};
use clew_flow::carriage::{Code, Rate, ShareTree, TagSize, Tags};
use clew_flow::{
    Acceptance, BadBlock, CODED_COUNT_MIN, Carried, Carry, Chaining, Effort, FIXED_BYTES,
    FlowReceiver, NEEDED_MIN, Reason, Verdict, WAITING_MAX,
};
use proptest::prelude::*;
use rand_chacha::rand_core::Rng;
use std::collections::{HashMap, HashSet};

const UNTAGGED: Carry = Carry::Coded {
    rate: Rate::QUARTER,
    tags: None,
};
const SHORT: Carry = Carry::Coded {
    rate: Rate::QUARTER,
    tags: Some(TagSize::T4),
};

/// With a flow whose receiver takes all carriages.
fn flow(seed: u64) -> Flow {
    let mut flow = Flow::new(Chaining::default(), seed);
    flow.receiver = trusting(Acceptance::default());
    flow
}

fn trusting(acceptance: Acceptance) -> FlowReceiver {
    let untagged = true;
    receiver(
        Chaining::default(),
        Acceptance {
            untagged,
            ..acceptance
        },
    )
}

/// Receives packets with their places as tickets: the last that was said of each.
fn receive<'a>(
    receiver: &mut FlowReceiver,
    sent: impl IntoIterator<Item = &'a Vec<u8>>,
) -> Vec<Reason> {
    let mut found = Vec::new();
    for (ticket, signed) in sent.into_iter().enumerate() {
        let finding = receiver.receive(signed, NOW, ticket as u64);
        found.push(finding.reason);
        for (ticket, reason) in finding.resolved {
            let waited = std::mem::replace(&mut found[ticket as usize], reason);
            assert_eq!(waited, Reason::Pending);
        }
    }
    found
}

fn shuffle(flow: &mut Flow, packets: &mut [Vec<u8>]) {
    for i in (1..packets.len()).rev() {
        packets.swap(i, flow.rng.next_u32() as usize % (i + 1));
    }
}

#[test]
fn any_k_packets_are_enough_and_fewer_wait() {
    for carry in [Carry::CODED, SHORT, UNTAGGED] {
        for (count, needed) in [(9, 4), (16, 4), (17, 5), (64, 16)] {
            let mut flow = flow(u64::from(count));
            let mut block = flow.block(count, carry);
            shuffle(&mut flow, &mut block);
            let mut other = trusting(Acceptance::default());
            let found = receive(&mut other, &block[..needed - 1]);
            assert_eq!(found, vec![Reason::Pending; needed - 1]);
            assert_eq!(other.verifications(), 0);
            let found = receive(&mut flow.receiver, &block[..needed]);
            assert_eq!(found, vec![Reason::Ok; needed], "{carry:?} {count}");
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
    let block = flow.block(16, Carry::CODED);
    let sent = [0, 0, 1, 1, 0, 2, 2, 3, 3].map(|i: usize| &block[i]);
    let found = receive(&mut flow.receiver, sent);
    let (ok, again) = (Reason::Ok, Reason::Duplicate);
    assert_eq!(found, [ok, again, ok, again, again, ok, again, ok, again]);
}

/// The rule of section 6.
#[test]
fn small_blocks_are_sent_in_full() {
    let mut flow = flow(2);
    for count in 1..CODED_COUNT_MIN {
        let full = flow.block(count, Carry::Every);
        let coded = flow.block(count, Carry::CODED);
        assert_eq!(full[0].len(), coded[0].len());
        assert!(
            coded
                .iter()
                .all(|signed| flow.receive(signed) == Reason::Ok)
        );
    }
    let chaining = Chaining {
        most: 1024,
        ..Chaining::default()
    };
    let mut flow = Flow::new(chaining, 2);
    for percent in [1, 25, 50, 100] {
        let rate = Rate::new(percent).unwrap();
        for tags in [Some(TagSize::T8), Some(TagSize::T4), None] {
            for count in [9, 16, 17, 33, 64, 128, 256] {
                let full = flow.block(count, Carry::Every);
                let coded = flow.block(count, Carry::Coded { rate, tags });
                let pairs = full.iter().zip(&coded);
                let shorter = pairs.clone().all(|(full, coded)| coded.len() < full.len());
                let same = pairs.clone().all(|(full, coded)| coded.len() == full.len());
                assert!(shorter || same, "{percent} {tags:?} {count}");
            }
        }
    }
    let packets = vec![&b"a packet"[..]; 257];
    let mut outs = vec![Vec::new(); 257];
    let mut sign = |carry| {
        let sender = &mut flow.sender;
        sender.sign_block(&packets, carry, NOW, &mut flow.rng, &mut outs)
    };
    assert_eq!(sign(Carry::CODED), Err(BadBlock));
    assert_eq!(sign(Carry::Every), Ok(()));
}

/// Where a packet of a block of 16 that has T = 8 carries what.
struct Places {
    path: usize,
    needed: usize,
    share: usize,
    tag: usize,
    fixed: usize,
}

fn places(signed: &[u8], tag: usize) -> Places {
    let fixed = signed.len() - FIXED_BYTES;
    let tag = fixed - tag;
    let share = tag - 18;
    let path = share - 2 - 64;
    Places {
        path,
        needed: share - 2,
        share,
        tag,
        fixed,
    }
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
            for (index, signed) in (0..).zip(flow.block(16, Carry::CODED)) {
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
    let descriptor = crate::setup::descriptor(Chaining::default());
    let parts = clew_flow::SignedPacket::of(signed, fixed, &descriptor).unwrap();
    (parts.packet, parts.fixed.index)
}

/// Why carriage 5 is only for where nobody else can send.
#[test]
fn one_bogus_share_spoils_a_bin_without_tags() {
    let mut flow = flow(3);
    let mut block = flow.block(16, UNTAGGED);
    // The first share has the timestamp.
    let share = block[1].len() - FIXED_BYTES - 18;
    block[1][share] ^= 1;
    let found = receive(&mut flow.receiver, &block);
    assert_eq!(found, [Reason::BadSignature; 16]);
    assert_eq!(flow.receiver.verifications(), 1);
}

#[test]
fn shares_without_tags_are_refused_unless_they_are_accepted() {
    let mut flow = Flow::new(Chaining::default(), 4);
    let block = flow.block(16, UNTAGGED);
    assert_eq!(flow.receive(&block[0]), Reason::Untagged);
    let block = flow.block(4, UNTAGGED);
    assert_eq!(flow.receive(&block[0]), Reason::Ok, "it is sent in full");
}

/// A coded packet of a block of 16 with other bytes `from_end`.
fn with(from_end: usize, bytes: &[u8]) -> Vec<u8> {
    let mut signed = flow(5).block(16, Carry::CODED).remove(2);
    let at = signed.len() - from_end;
    signed[at..at + bytes.len()].copy_from_slice(bytes);
    signed
}

/// With its packet signature one byte longer or shorter before the fixed part.
fn resized(longer: bool) -> Vec<u8> {
    let mut signed = with(4, &[0xc1]);
    let (at, length) = (signed.len() - FIXED_BYTES, signed.len() - 5);
    if longer {
        signed.insert(at, 0);
        signed[length + 1] += 1;
    } else {
        signed.remove(at - 1);
        signed[length - 1] -= 1;
    }
    signed
}

#[test]
fn each_rule_has_its_reason() {
    let needed = FIXED_BYTES + 32 + 18 + 2;
    let mut small = Flow::new(Chaining::default(), 5).block(8, Carry::Every);
    let carriage = small[0].len() - 8;
    small[0][carriage] = 3;
    for (name, signed, reason) in [
        ("unchanged", with(4, &[0xc1]), Reason::Pending),
        ("few packets", small.remove(0), Reason::CodedCount),
        ("k = 0", with(needed, &[0, 0]), Reason::Needed),
        ("least k", with(needed, &[0, 3]), Reason::Needed),
        ("k > m", with(needed, &[0, 17]), Reason::Needed),
        ("another k", with(needed, &[0, 5]), Reason::BadLength),
        ("T = 4", with(8, &[4]), Reason::BadLength),
        ("no tags", with(8, &[5]), Reason::BadLength),
        ("sparse", with(8, &[2]), Reason::BadLength),
        ("full", with(8, &[1]), Reason::BadLength),
        ("longer", resized(true), Reason::BadLength),
        ("shorter", resized(false), Reason::BadLength),
        ("carriage 6", with(8, &[6]), Reason::UnknownCarriage),
    ] {
        assert_eq!(flow(5).receive(&signed), reason, "{name}");
    }
    let chaining = Chaining {
        most: 1024,
        ..Chaining::default()
    };
    let mut many = Flow::new(chaining, 5);
    let mut signed = many.block(257, Carry::Every).remove(0);
    let carriage = signed.len() - 8;
    signed[carriage] = 3;
    assert_eq!(many.receive(&signed), Reason::CodedCount);
}

/// A block whose shares are of other bytes than its blob, with tags that fit.
fn forged(flow: &mut Flow, bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut block = flow.block(17, Carry::CODED);
    let fixed = clew_flow::Fixed::of(&block[0]).unwrap();
    let code = Code::new(17, 5, 72).unwrap();
    let own = Code::new(17, 5, bytes.len() as u16).unwrap();
    let shares = own.encode(bytes).unwrap();
    let size = code.share_bytes();
    let tree = ShareTree::new(Tags::new(fixed.id, code, TagSize::T8), &shares).unwrap();
    for (index, signed) in (0..).zip(&mut block) {
        let tag = tree.tag(index).unwrap();
        let end = signed.len() - FIXED_BYTES;
        signed[end - tag.len()..end].copy_from_slice(&tag);
        let share = &shares[usize::from(index) * size..][..size];
        signed[end - tag.len() - size..end - tag.len()].copy_from_slice(share);
    }
    block
}

#[test]
fn a_refused_bin_refuses_all_its_packets() {
    let timely = |seconds: u64| (NOW + seconds * 1_000_000_000).to_be_bytes();
    for (blob, reason, looked) in [
        ([&timely(0)[..], &[7; 64]].concat(), Reason::BadSignature, 1),
        ([&timely(31)[..], &[7; 64]].concat(), Reason::Future, 0),
        ([&[0; 8][..], &[7; 64]].concat(), Reason::Stale, 0),
        ([&timely(0)[..], &[7; 67]].concat(), Reason::Padding, 0),
    ] {
        let mut flow = flow(6);
        let block = forged(&mut flow, &blob);
        let found = receive(&mut flow.receiver, &block[..5]);
        assert_eq!(found, [reason; 5]);
        let later = match reason {
            Reason::Padding => Reason::BadSignature,
            reason => reason,
        };
        assert_eq!(flow.receive(&block[5]), later);
        assert_eq!(flow.receiver.verifications(), looked);
    }
}

/// A blob that was restored too early, or at a busy time, is kept.
#[test]
fn a_restored_blob_is_looked_at_again() {
    let mut flow = flow(7);
    let block = flow.block(16, Carry::CODED);
    let early = NOW - 31_000_000_000;
    for signed in &block[..3] {
        let reason = flow.receiver.receive(signed, early, 0).reason;
        assert_eq!(reason, Reason::Pending);
    }
    let finding = flow.receiver.receive(&block[3], early, 3);
    assert_eq!(
        (finding.reason, finding.resolved.len()),
        (Reason::Future, 3)
    );
    assert_eq!(flow.receive(&block[4]), Reason::Ok);

    let effort = Effort {
        reserve: 0,
        per_second: 1,
    };
    flow.receiver = trusting(Acceptance {
        effort,
        ..Acceptance::default()
    });
    assert_eq!(receive(&mut flow.receiver, &block[..4]), [Reason::Busy; 4]);
    assert_eq!(flow.receiver.verifications(), 0);
}

/// Forged full packets use up their own effort alone.
#[test]
fn full_packets_do_not_make_coded_ones_wait() {
    let mut flow = flow(8);
    let mut full = flow.block(4, Carry::Every).remove(0);
    let at = full.len() - FIXED_BYTES - 2;
    for n in 0..1000u16 {
        full[at..at + 2].copy_from_slice(&n.to_be_bytes());
        flow.receive(&full);
    }
    assert_eq!(flow.receive(&full), Reason::Busy);
    let block = flow.block(16, Carry::CODED);
    assert_eq!(receive(&mut flow.receiver, &block), [Reason::Ok; 16]);
}

#[test]
fn what_is_dropped_for_room_has_no_signature() {
    let mut flow = flow(9);
    let block = flow.block(16, Carry::CODED);
    let finding = flow.receiver.receive(&block[0], NOW, 1000);
    assert_eq!(finding.reason, Reason::Pending);
    let mut dropped = Vec::new();
    for bin in 0..64 {
        let mut other = block[1].clone();
        let share = places(&other, 32).share;
        other[share] ^= 1 + bin;
        let finding = flow.receiver.receive(&other, NOW, bin.into());
        assert_eq!(finding.reason, Reason::Pending);
        dropped.extend(finding.resolved);
    }
    assert_eq!(dropped, [(1000, Reason::NoSignature)]);

    let (mut pending, mut dropped) = (0u64, 0u64);
    for _ in 0..400 {
        for signed in &flow.block(64, Carry::CODED)[..15] {
            let finding = flow.receiver.receive(signed, NOW, 0);
            assert_eq!(finding.reason, Reason::Pending);
            pending += 1;
            dropped += finding.resolved.len() as u64;
        }
    }
    // Bins are dropped whole.
    let held = pending + 64 - dropped;
    let most = WAITING_MAX as u64;
    assert!((most - 15..=most).contains(&held), "{held}");
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
        let coded = flow.block(16, Carry::CODED);
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

/// As a packet of section 3 is written.
#[test]
fn what_is_carried_is_k_share_and_tag() {
    let mut flow = flow(11);
    let descriptor = crate::setup::descriptor(Chaining::default());
    for (carry, number, tag) in [(Carry::CODED, 3, 32), (SHORT, 4, 16), (UNTAGGED, 5, 0)] {
        let block = flow.block(16, carry);
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
            let Carried::Coded(coded) = parts.carried else {
                panic!("{carry:?}");
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
        let block = flow.block(count, Carry::Coded { rate, tags });
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
