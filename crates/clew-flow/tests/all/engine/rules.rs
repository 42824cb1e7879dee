//! One packet for each rule of section 5.

use crate::engine::setup::{Flow, NOW, descriptor, receiver};
use clew_flow::{
    Acceptance, BLOCKS_MAX, Chaining, Descriptor, Distribution, FIXED_BYTES, Reason, WAITING_MAX,
};
use core::time::Duration;
use proptest::prelude::*;

fn flow() -> Flow {
    Flow::new(Chaining::default(), 5)
}

/// A packet of a block of 5 with these bytes at a distance from its end.
fn with(from_end: usize, bytes: &[u8]) -> Vec<u8> {
    let mut signed = flow().block(5, Distribution::Every).remove(2);
    let at = signed.len() - from_end;
    signed[at..at + bytes.len()].copy_from_slice(bytes);
    signed
}

#[test]
fn each_rule_has_its_reason() {
    let cases: [(&str, Vec<u8>, Reason); 15] = [
        ("nothing", Vec::new(), Reason::Unsigned),
        ("short", vec![0xff; FIXED_BYTES - 1], Reason::Unsigned),
        ("another magic", with(1, b"m"), Reason::Unsigned),
        ("version", with(7, &[2]), Reason::UnknownVersion),
        ("length too small", with(6, &[0, 39]), Reason::BadLength),
        ("length too large", with(6, &[255, 255]), Reason::BadLength),
        ("parts", with(6, &[0, 41]), Reason::BadLength),
        ("another key", with(16, b"nope"), Reason::UnknownFlow),
        ("count 0", with(10, &[0, 0]), Reason::BadBlock),
        ("too many", with(10, &[0, 65]), Reason::BadBlock),
        ("index", with(12, &[0, 5]), Reason::BadBlock),
        ("carriage 0", with(8, &[0]), Reason::UnknownCarriage),
        ("carriage 3", with(8, &[3]), Reason::CodedCount),
        ("signature", with(41, &[0xaa]), Reason::BadSignature),
        ("another place", with(12, &[0, 1]), Reason::BadSignature),
    ];
    for (name, signed, reason) in cases {
        assert_eq!(flow().receive(&signed), reason, "{name}");
    }
    assert_eq!(flow().receive(&with(4, &[0xc1])), Reason::Ok, "unchanged");
}

#[test]
fn a_verified_block_refuses_by_hashing() {
    let mut flow = flow();
    let block = flow.block(5, Distribution::Every);
    assert_eq!(flow.receive(&block[0]), Reason::Ok);
    let mut changed = block[1].clone();
    changed[0] ^= 1;
    assert_eq!(flow.receive(&changed), Reason::BadDigest);
    let mut other = block[1].clone();
    let at = other.len() - FIXED_BYTES;
    other[at] ^= 1;
    assert_eq!(flow.receive(&other), Reason::Conflict, "another id");
    assert_eq!(flow.receive(&block[0]), Reason::Duplicate);
    assert_eq!(flow.receive(&block[1]), Reason::Ok);
    assert_eq!(flow.receiver.verifications(), 1);
}

#[test]
fn blocks_far_behind_are_old() {
    let mut flow = flow();
    let first = flow.block(2, Distribution::Every);
    let second = flow.block(1, Distribution::Every);
    assert_eq!(flow.receive(&first[0]), Reason::Ok);
    for _ in 2..=BLOCKS_MAX {
        let block = flow.block(1, Distribution::Every);
        assert_eq!(flow.receive(&block[0]), Reason::Ok);
    }
    assert_eq!(flow.receive(&first[1]), Reason::Old);
    assert_eq!(flow.receive(&second[0]), Reason::Ok, "64 are remembered");
}

#[test]
fn timestamps_are_of_now() {
    let tolerance = Acceptance::default().tolerance;
    let nanosecond = Duration::from_nanos(1);
    for (now, reason) in [
        (NOW + tolerance, Reason::Ok),
        (NOW + tolerance + nanosecond, Reason::Stale),
        (NOW - tolerance, Reason::Ok),
        (NOW - tolerance - nanosecond, Reason::Future),
    ] {
        let mut flow = flow();
        let block = flow.block(1, Distribution::Every);
        assert_eq!(flow.receiver.receive(&block[0], now, 0).reason, reason);
        let looked = u64::from(reason == Reason::Ok);
        assert_eq!(flow.receiver.verifications(), looked, "time comes first");
    }
}

#[test]
fn packets_wait_for_their_signature_within_bounds() {
    let mut flow = flow();
    let block = flow.block(8, Distribution::OneIn(4));
    for ticket in [7, 6, 5] {
        let finding = flow.receiver.receive(&block[ticket], NOW, ticket as u64);
        assert_eq!(
            (finding.reason, finding.resolved),
            (Reason::Pending, vec![])
        );
    }
    let mut changed = block[3].clone();
    changed[0] ^= 1;
    let finding = flow.receiver.receive(&changed, NOW, 33);
    assert_eq!(finding.reason, Reason::Pending);
    let finding = flow.receiver.receive(&block[4], NOW, 4);
    assert_eq!(finding.reason, Reason::Ok);
    let resolved = [
        (7, Reason::Ok),
        (6, Reason::Ok),
        (5, Reason::Ok),
        (33, Reason::BadDigest),
    ];
    assert_eq!(finding.resolved, resolved);

    let mut given_up = Vec::new();
    for ticket in 0..WAITING_MAX as u64 + 10 {
        let block = flow.block(2, Distribution::OneIn(4));
        let finding = flow.receiver.receive(&block[1], NOW, ticket);
        assert_eq!(finding.reason, Reason::Pending);
        given_up.extend(finding.resolved);
    }
    let expected: Vec<(u64, Reason)> = (0..10).map(|t| (t, Reason::NoSignature)).collect();
    assert!(
        given_up.ends_with(&expected[2..]) && given_up.len() <= 10,
        "{given_up:?}"
    );
}

#[test]
fn descriptors_that_break_a_rule_are_refused() {
    let good = descriptor(Chaining::default()).to_bytes();
    assert!(Descriptor::from_bytes(&good).is_ok());
    let patched = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    let long = [&good[..], &[0]].concat();
    for (name, bytes) in [
        ("version", patched(0, 2)),
        ("suite", patched(1, 3)),
        ("digest size", patched(2, 20)),
        ("degree 1", patched(4, 1)),
        ("degree too large", patched(3, 5)),
        ("no packets", patched(6, 0)),
        ("too many packets", patched(5, 5)),
        ("flags", patched(7, 4)),
        ("algorithm", patched(8, 0)),
        ("key length", patched(10, 31)),
        ("name length", patched(43, 7)),
        ("name", patched(44, 0xff)),
        ("control character", patched(44, 7)),
        ("more", long),
    ] {
        assert!(Descriptor::from_bytes(&bytes).is_err(), "{name}");
        assert!(Descriptor::from_bytes(&good[..bytes.len() - 2]).is_err());
    }
    let small_order = [0; 32];
    let weak = Descriptor::new(
        Chaining::default(),
        clew_flow::Algorithm::Ed25519,
        &small_order,
        "weak",
    );
    assert!(weak.unwrap().verifier().is_err());
}

proptest! {
    #[test]
    fn whatever_comes_is_judged(bytes in prop::collection::vec(any::<u8>(), 0..200), fixed in any::<[u8; FIXED_BYTES]>()) {
        let mut receiver = receiver(Chaining::default(), Acceptance::default());
        receiver.receive(&bytes, NOW, 0);
        // What gets further: our key, magic and version, a length that may fit.
        let mut signed = [&bytes[..], &fixed].concat();
        let end = signed.len();
        signed[end - 4..].copy_from_slice(&[0xc1, 0x4c, 0x46, 0x4c]);
        signed[end - 7] = 1;
        signed[end - 8] %= 7;
        signed[end - 6] = 0;
        signed[end - 10] = 0;
        signed[end - 12] = 0;
        signed[end - 16..end - 12].copy_from_slice(&descriptor(Chaining::default()).key_id().0);
        receiver.receive(&signed, NOW, 1);
        let _ = Descriptor::from_bytes(&bytes);
    }
}
