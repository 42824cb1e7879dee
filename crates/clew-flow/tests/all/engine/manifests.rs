//! Manifests: signatures beside packets, which stay as they are.

use crate::engine::setup::{Flow, NOW, descriptor, packet};
use clew_flow::manifest::{Manifest, ManifestReceiver};
use clew_flow::{Acceptance, BLOCKS_MAX, Chaining, Fixed, Reason, WAITING_MAX};
use clew_tree::Suite;
use core::time::Duration;

impl Flow {
    fn manifest(&mut self, packets: &[Vec<u8>]) -> Vec<u8> {
        let packets: Vec<&[u8]> = packets.iter().map(|packet| &packet[..]).collect();
        let signed = self.sender.sign_manifest(&packets, NOW, &mut self.rng);
        signed.unwrap()
    }
}

fn receiver(chaining: Chaining) -> ManifestReceiver {
    ManifestReceiver::new([descriptor(chaining)], Acceptance::default()).unwrap()
}

fn packets(numbers: std::ops::Range<u16>) -> Vec<Vec<u8>> {
    numbers.map(packet).collect()
}

fn suites() -> [Chaining; 2] {
    [Suite::Blake3, Suite::Sha256].map(|suite| Chaining {
        suite,
        ..Chaining::default()
    })
}

#[test]
fn packets_before_and_after_their_manifest_are_valid_once() {
    for chaining in suites() {
        let mut receiver = receiver(chaining);
        let all = packets(0..20);
        let manifest = Flow::new(chaining, 1).manifest(&all);
        assert_eq!(manifest.len(), 20 * 32 + 72 + 40);
        for (ticket, packet) in (0..).zip(&all[..10]) {
            assert_eq!(receiver.receive(packet, ticket).reason, Reason::Pending);
        }
        let finding = receiver.receive_manifest(&manifest, NOW);
        let resolved: Vec<(u64, Reason)> = (0..10).map(|ticket| (ticket, Reason::Ok)).collect();
        assert_eq!((finding.reason, finding.resolved), (Reason::Ok, resolved));
        for packet in &all[10..] {
            assert_eq!(receiver.receive(packet, 99).reason, Reason::Ok);
        }
        assert_eq!(
            receiver.receive_manifest(&manifest, NOW).reason,
            Reason::Duplicate
        );
        assert_eq!(receiver.receive(&all[3], 100).reason, Reason::Pending);
        assert_eq!(receiver.end().resolved, [(100, Reason::Duplicate)]);
        assert_eq!((receiver.lost().packets, receiver.verifications()), (0, 1));
    }
}

#[test]
fn equal_packets_are_as_many_as_were_signed() {
    let chaining = Chaining::default();
    let mut receiver = receiver(chaining);
    let mut stream = Flow::new(chaining, 2);
    let twice = [packet(1), packet(1)];
    let first = stream.manifest(&twice);
    let second = stream.manifest(&twice[..1]);
    receiver.receive_manifest(&first, NOW);
    let mut reason = |ticket| receiver.receive(&twice[0], ticket).reason;
    assert_eq!(
        [0, 1, 2].map(&mut reason),
        [Reason::Ok, Reason::Ok, Reason::Pending]
    );
    let finding = receiver.receive_manifest(&second, NOW);
    assert_eq!(finding.resolved, [(2, Reason::Ok)]);
}

#[test]
fn what_was_changed_is_never_valid() {
    let chaining = Chaining::default();
    let all = packets(0..3);
    let manifest = Flow::new(chaining, 3).manifest(&all);
    for at in 0..manifest.len() {
        let mut receiver = receiver(chaining);
        let mut changed = manifest.clone();
        changed[at] ^= 1;
        let reason = receiver.receive_manifest(&changed, NOW).reason;
        assert_ne!(reason, Reason::Ok, "byte {at}");
        assert_eq!(
            receiver.receive(&all[0], 0).reason,
            Reason::Pending,
            "byte {at}"
        );
    }
    let mut receiver = receiver(chaining);
    receiver.receive_manifest(&manifest, NOW);
    let other = [&all[0][..], b"x"].concat();
    assert_eq!(receiver.receive(&other, 1).reason, Reason::Pending);
    assert_eq!(receiver.end().resolved, [(1, Reason::NoSignature)]);
}

#[test]
fn each_rule_has_its_reason() {
    let chaining = Chaining::default();
    let all = packets(0..3);
    let mut stream = Flow::new(chaining, 4);
    let manifest = stream.manifest(&all);
    let end = manifest.len();
    let reason = |bytes: &[u8], now| receiver(chaining).receive_manifest(bytes, now).reason;
    let patched = |at: usize, byte: u8| {
        let mut bytes = manifest.clone();
        bytes[end - at] = byte;
        bytes
    };
    for (name, bytes, expected) in [
        ("magic", patched(1, 0), Reason::Unsigned),
        ("version", patched(7, 2), Reason::UnknownVersion),
        ("carriage", patched(8, 7), Reason::UnknownCarriage),
        ("count 0", patched(9, 0), Reason::BadBlock),
        ("count above most", patched(10, 1), Reason::BadBlock),
        ("count", patched(9, 4), Reason::BadLength),
        ("index", patched(11, 3), Reason::BadBlock),
        ("key", patched(13, !manifest[end - 13]), Reason::UnknownFlow),
        (
            "something in front",
            [&[0], &manifest[..]].concat(),
            Reason::BadLength,
        ),
    ] {
        assert_eq!(reason(&bytes, NOW), expected, "{name}");
    }
    let minute = Duration::from_secs(60);
    assert_eq!(reason(&manifest, NOW + minute), Reason::Stale);
    assert_eq!(reason(&manifest, NOW - minute), Reason::Future);

    let mut receiver = receiver(chaining);
    receiver.receive_manifest(&manifest, NOW);
    let mut other = Flow::new(chaining, 4);
    let conflict = other.manifest(&packets(5..8));
    assert_eq!(
        receiver.receive_manifest(&conflict, NOW).reason,
        Reason::Conflict
    );
    for _ in 0..BLOCKS_MAX {
        let next = stream.manifest(&all);
        assert_eq!(receiver.receive_manifest(&next, NOW).reason, Reason::Ok);
    }
    assert_eq!(
        receiver.receive_manifest(&manifest, NOW).reason,
        Reason::Old
    );
    assert_eq!(
        receiver.lost().packets,
        3,
        "nothing of the forgotten one came"
    );

    let salted = Chaining {
        salted: true,
        ..chaining
    };
    let Flow {
        mut sender,
        mut rng,
        ..
    } = Flow::new(salted, 5);
    assert!(sender.sign_manifest(&[b"packet"], NOW, &mut rng).is_err());
}

#[test]
fn packets_wait_in_bounded_memory() {
    let chaining = Chaining::default();
    let mut receiver = receiver(chaining);
    let number = |n: usize| n.to_be_bytes().to_vec();
    for n in 0..WAITING_MAX {
        assert!(receiver.receive(&number(n), n as u64).resolved.is_empty());
    }
    let last = number(WAITING_MAX);
    let finding = receiver.receive(&last, WAITING_MAX as u64);
    assert_eq!(finding.resolved, [(0, Reason::NoSignature)]);
    let manifest = Flow::new(chaining, 6).manifest(&[number(0), number(1)]);
    let finding = receiver.receive_manifest(&manifest, NOW);
    assert_eq!(finding.resolved, [(1, Reason::Ok)]);
}

#[test]
fn a_packet_in_full_form_holds_alone() {
    for chaining in suites() {
        let all = packets(0..5);
        let bytes = Flow::new(chaining, 7).manifest(&all);
        let descriptor = descriptor(chaining);
        let read = |bytes: &[u8]| {
            let fixed = Fixed::of(bytes).unwrap();
            assert!(Manifest::is(&fixed));
            Manifest::of(bytes, fixed, &descriptor)
                .map(|m| (m.packet.map(<[u8]>::to_vec), m.verify(&descriptor)))
        };
        assert_eq!(
            read(&bytes),
            Ok((None, Reason::BadDigest)),
            "it is of no packet"
        );
        let manifest = Manifest::of(&bytes, Fixed::of(&bytes).unwrap(), &descriptor).unwrap();
        assert_eq!(manifest.timestamp(), Some(NOW));
        assert_eq!(manifest.in_full(b"none of it", &descriptor), None);
        let full = manifest.in_full(&all[3], &descriptor).unwrap();
        assert_eq!(read(&full), Ok((Some(all[3].clone()), Reason::Ok)));
        for at in (0..full.len() - 40).step_by(7) {
            let mut changed = full.clone();
            changed[at] ^= 0x40;
            let (_, reason) = read(&changed).unwrap();
            assert_ne!(reason, Reason::Ok, "byte {at}");
        }
    }
}
