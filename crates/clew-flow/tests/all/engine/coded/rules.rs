//! One packet, or one block, for each rule.

use super::{UNTAGGED, flow, places, receive, trusting};
use crate::engine::setup::{Flow, NOW};
use clew_flow::{
    Acceptance, CODED_COUNT_MIN, Chaining, Distribution, Effort, FIXED_BYTES, Reason, Unsignable,
    WAITING_MAX,
};
use clew_tree::carriage::{Code, Rate, ShareTree, TagSize, Tags};
use core::time::Duration;

/// The rule of section 6.
#[test]
fn small_blocks_are_sent_in_full() {
    let mut flow = flow(2);
    for count in 1..CODED_COUNT_MIN {
        let full = flow.block(count, Distribution::Every);
        let coded = flow.block(count, Distribution::CODED);
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
                let full = flow.block(count, Distribution::Every);
                let coded = flow.block(count, Distribution::Coded { rate, tags });
                let pairs = full.iter().zip(&coded);
                let shorter = pairs.clone().all(|(full, coded)| coded.len() < full.len());
                let same = pairs.clone().all(|(full, coded)| coded.len() == full.len());
                assert!(shorter || same, "{percent} {tags:?} {count}");
            }
        }
    }
    let packets = vec![&b"a packet"[..]; 257];
    let mut outs = vec![Vec::new(); 257];
    let mut sign = |distribution| {
        let sender = &mut flow.sender;
        sender.sign_block(&packets, distribution, NOW, &mut flow.rng, &mut outs)
    };
    assert_eq!(sign(Distribution::CODED), Err(Unsignable::TooManyToCode));
    assert_eq!(sign(Distribution::Every), Ok(()));
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
    let mut signed = flow(5).block(16, Distribution::CODED).remove(2);
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
    let mut small = Flow::new(Chaining::default(), 5).block(8, Distribution::Every);
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
    let mut signed = many.block(257, Distribution::Every).remove(0);
    let carriage = signed.len() - 8;
    signed[carriage] = 3;
    assert_eq!(many.receive(&signed), Reason::CodedCount);
}

/// A block whose shares are of other bytes than its blob, with tags that fit.
fn forged(flow: &mut Flow, bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut block = flow.block(17, Distribution::CODED);
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
    let timely = |seconds| {
        (NOW + Duration::from_secs(seconds))
            .as_nanos()
            .to_be_bytes()
    };
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
    let block = flow.block(16, Distribution::CODED);
    let early = NOW - Duration::from_secs(31);
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
    let mut full = flow.block(4, Distribution::Every).remove(0);
    let at = full.len() - FIXED_BYTES - 2;
    for n in 0..1000u16 {
        full[at..at + 2].copy_from_slice(&n.to_be_bytes());
        flow.receive(&full);
    }
    assert_eq!(flow.receive(&full), Reason::Busy);
    let block = flow.block(16, Distribution::CODED);
    assert_eq!(receive(&mut flow.receiver, &block), [Reason::Ok; 16]);
}

/// A receiver whose effort is one signature of each kind, and no more with time.
fn poor(seed: u64) -> Flow {
    let effort = Effort {
        reserve: 1,
        per_second: 0,
    };
    let mut flow = flow(seed);
    flow.receiver = trusting(Acceptance {
        effort,
        ..Acceptance::default()
    });
    flow
}

/// A block that takes the effort for coded packets: its signature does not hold.
fn bogus(flow: &mut Flow) -> Vec<Vec<u8>> {
    let mut blob = NOW.as_nanos().to_be_bytes().to_vec();
    blob.extend([7; 64]);
    forged(flow, &blob)
}

/// Each valid packet lets one more signature be verified, in full and coded: whatever it was carried
/// in, and no packet that is refused or waits.
#[test]
fn valid_packets_earn_both_efforts() {
    let mut flow = poor(10);
    let bogus = bogus(&mut flow);
    let found = receive(&mut flow.receiver, &bogus[..5]);
    assert_eq!(found, [Reason::BadSignature; 5]);
    let coded = flow.block(17, Distribution::CODED);
    let busy = receive(&mut flow.receiver, &coded[..5]);
    assert_eq!(busy, [Reason::Busy; 5], "what was refused earns nothing");
    let full = flow.block(2, Distribution::Every);
    assert_eq!(flow.receive(&full[0]), Reason::Ok);
    assert_eq!(flow.receive(&coded[5]), Reason::Ok);
    assert_eq!(flow.receiver.verifications(), 3);

    let mut flow = poor(11);
    let mut altered = flow.block(1, Distribution::Every).remove(0);
    let at = altered.len() - FIXED_BYTES - 2;
    altered[at] ^= 1;
    assert_eq!(flow.receive(&altered), Reason::BadSignature);
    let full = flow.block(2, Distribution::Every);
    let coded = flow.block(17, Distribution::CODED);
    for waiting in &coded[..4] {
        assert_eq!(flow.receive(waiting), Reason::Pending);
    }
    assert_eq!(flow.receive(&full[0]), Reason::Busy, "nor what waits");
    assert_eq!(flow.receive(&coded[4]), Reason::Ok);
    assert_eq!(flow.receive(&full[0]), Reason::Ok);
    assert_eq!(flow.receiver.verifications(), 3);
}

/// Packets of a block that was verified before earn, too.
#[test]
fn later_packets_of_a_block_earn() {
    let mut flow = poor(12);
    let first = flow.block(2, Distribution::Every);
    assert_eq!(flow.receive(&first[0]), Reason::Ok);
    let bogus = bogus(&mut flow);
    let found = receive(&mut flow.receiver, &bogus[..5]);
    assert_eq!(found, [Reason::BadSignature; 5]);
    assert_eq!(flow.receive(&first[1]), Reason::Ok);
    let coded = flow.block(17, Distribution::CODED);
    assert_eq!(receive(&mut flow.receiver, &coded[..5]), [Reason::Ok; 5]);
}

#[test]
fn what_is_dropped_for_room_has_no_signature() {
    let mut flow = flow(9);
    let block = flow.block(16, Distribution::CODED);
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
        for signed in &flow.block(64, Distribution::CODED)[..15] {
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
