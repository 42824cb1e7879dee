//! Windows and blocks: packets of one flow under one signature, each verifiable alone.

use crate::common::{NOW, Owned, precursor, receiver, sender};
use clew_packet::{
    Acceptance, Candidate, Checked, Conclusion, Frame, LinkType, Mode, Pending, Policy, Reason,
    Received, Stripped, UnsignableBlock, Verdict, Window, Windows,
};
use proptest::prelude::*;
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

/// Both forms of the signature.
fn policies() -> [Policy; 2] {
    [false, true].map(|incremental| Policy {
        incremental,
        ..Policy::default()
    })
}

/// UDP packets of one flow, each with its own content.
fn flow(count: usize) -> Vec<Owned> {
    let packet = |i: usize| {
        let payload = vec![i as u8; 20 + i % 7];
        let length = (8 + payload.len()) as u16;
        let udp = [
            &[0x13, 0x88, 0x13, 0x89][..],
            &length.to_be_bytes(),
            &[0, 0],
            &payload,
        ]
        .concat();
        let total = (20 + udp.len()) as u16;
        let mut ip = vec![0x45, 0];
        ip.extend(total.to_be_bytes());
        ip.extend([i as u8, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        ip.extend(udp);
        Owned::new(LinkType::RAW, ip)
    };
    (0..count).map(packet).collect()
}

fn admitted<'a>(packets: &'a [Owned], mode: Mode) -> Vec<Candidate<'a>> {
    let sender = sender(Policy::default());
    let mut out = Vec::new();
    let admit = |p: &'a Owned| sender.admit(&p.frame(), mode, 64, &mut out).unwrap();
    packets.iter().map(admit).collect()
}

fn signed_block(packets: &[Owned], policy: Policy) -> Vec<Owned> {
    let candidates = admitted(packets, Mode::Tree);
    let mut outs = vec![Vec::new(); packets.len()];
    let sender = sender(policy);
    sender
        .sign_block(&candidates, Some(NOW), [9; 16], precursor, &mut outs)
        .unwrap();
    outs.into_iter()
        .map(|bytes| Owned::new(LinkType::RAW, bytes))
        .collect()
}

fn signed_windows(packets: &[Owned], k: u16, policy: Policy) -> Vec<Owned> {
    let sender = sender(policy);
    let mut window = Window::new(k);
    let sign = |packet: Candidate<'_>| {
        let mut out = Vec::new();
        sender.sign_in_window(&packet, Some(NOW), &mut window, precursor, &mut out);
        Owned::new(LinkType::RAW, out)
    };
    admitted(packets, Mode::Window)
        .into_iter()
        .map(sign)
        .collect()
}

/// All packets through one receiver, checked together.
fn together(packets: &[Owned], windows: Windows) -> Vec<Conclusion> {
    let mut receiver = receiver(Acceptance::capture());
    let mut pending: Vec<Pending> = Vec::new();
    let received: Vec<Option<Conclusion>> = packets
        .iter()
        .map(|p| match receiver.receive(&p.frame(), Some(NOW)) {
            Received::Done(conclusion) => Some(conclusion),
            Received::Pending(packet) => {
                pending.push(packet);
                None
            }
            Received::Waiting(ticket) => unreachable!("{ticket:?}: nothing is coded"),
        })
        .collect();
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let mut checked = Pending::check_all(pending, windows, &mut rng).into_iter();
    let mut conclude = |done: Option<Conclusion>| {
        done.unwrap_or_else(|| {
            let next: Checked = checked.next().unwrap();
            receiver.conclude(next)
        })
    };
    received.into_iter().map(&mut conclude).collect()
}

fn reasons(packets: &[Owned], windows: Windows) -> Vec<Reason> {
    let conclusions = together(packets, windows);
    conclusions.iter().map(|c| c.reason).collect()
}

fn verdicts(packets: &[Owned], windows: Windows) -> Vec<Verdict> {
    let conclusions = together(packets, windows);
    conclusions.iter().map(|c| c.verdict).collect()
}

/// Each packet with a receiver of its own.
fn alone(packets: &[Owned]) -> Vec<Reason> {
    packets
        .iter()
        .map(|p| crate::common::verify(&p.frame()))
        .collect()
}

#[test]
fn packets_of_a_block_are_valid_together_and_alone() {
    for count in [1, 2, 3, 7, 8, 64] {
        let original = flow(count);
        let signed = signed_block(&original, Policy::default());
        assert_eq!(reasons(&signed, Windows::Alone), vec![Reason::Ok; count]);
        if count < 9 {
            assert_eq!(alone(&signed), vec![Reason::Ok; count]);
        }
        for (signed, original) in signed.iter().zip(&original) {
            assert_eq!(signed.strip(), (Some(original.clone()), Stripped::Trailer));
        }
    }
}

#[test]
fn packets_of_windows_are_valid_together_and_alone() {
    for (count, k) in [(1, 8), (7, 3), (8, 8), (9, 1)] {
        let original = flow(count);
        let signed = signed_windows(&original, k, Policy::default());
        assert_eq!(
            reasons(&signed, Windows::Alone),
            vec![Reason::Ok; count],
            "{count} by {k}"
        );
        assert_eq!(alone(&signed), vec![Reason::Ok; count]);
        for (signed, original) in signed.iter().zip(&original) {
            assert_eq!(signed.strip(), (Some(original.clone()), Stripped::Trailer));
        }
    }
}

/// What becomes of a block or window when packets are lost, swapped, seen twice, or changed: every
/// changed packet is invalid, and no other.
fn what_happens_on_the_way(signed: &[Owned], windows: Windows) {
    let valid = |packets: &[Owned]| {
        assert_eq!(
            verdicts(packets, windows),
            vec![Verdict::Valid; packets.len()]
        );
    };
    let mut lossy = signed.to_vec();
    lossy.remove(3);
    lossy.remove(0);
    valid(&lossy);

    let mut swapped = signed.to_vec();
    swapped.swap(1, 4);
    valid(&swapped);

    for at in [2, 8] {
        let mut twice = signed.to_vec();
        twice.insert(at, signed[1].clone());
        valid(&twice);
        assert_eq!(reasons(&twice, windows)[at], Reason::Duplicate);
    }

    // A byte of the payload, of the signature, of the block section.
    for at in [30, 60, signed[2].bytes.len() - 31 - 10] {
        let mut changed = signed.to_vec();
        changed[2].bytes[at] ^= 1;
        for (i, verdict) in verdicts(&changed, windows).into_iter().enumerate() {
            let is_changed = verdict == Verdict::Invalid;
            assert_eq!(is_changed, i == 2, "packet {i}, byte {at}: {verdict}");
        }
    }
}

#[test]
fn blocks_on_the_way() {
    for policy in policies() {
        what_happens_on_the_way(&signed_block(&flow(8), policy), Windows::Alone);
    }
}

#[test]
fn windows_on_the_way() {
    for policy in policies() {
        let signed = signed_windows(&flow(8), 4, policy);
        what_happens_on_the_way(&signed, Windows::Alone);
        what_happens_on_the_way(&signed, Windows::Whole);
    }
}

/// The last packet of each whole window is verified; the others are said to be vouched for.
#[test]
fn whole_windows_are_verified_once() {
    use Reason::{Ok, Vouched};
    let signed = signed_windows(&flow(8), 4, Policy::default());
    let expected = [Vouched, Vouched, Vouched, Ok].repeat(2);
    assert_eq!(reasons(&signed, Windows::Whole), expected);
    // Behind a loss, a window that overlaps the next one.
    let expected = [Vouched, Vouched, Ok, Vouched, Vouched, Vouched, Ok];
    let behind = [&signed[..3], &signed[4..]].concat();
    assert_eq!(reasons(&behind, Windows::Whole), expected);
    let expected = [Vouched, Vouched, Vouched, Ok, Vouched, Vouched, Ok];
    assert_eq!(reasons(&signed[1..], Windows::Whole), expected);
}

/// A receiver that has verified a block takes the rest of it without another verification: nothing
/// is left pending.
#[test]
fn a_block_is_verified_once() {
    let signed = signed_block(&flow(8), Policy::default());
    let mut receiver = receiver(Acceptance::capture());
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let Received::Pending(first) = receiver.receive(&signed[0].frame(), Some(NOW)) else {
        panic_free("the first packet of a block is checked");
        return;
    };
    let first = first.check(&mut rng);
    assert_eq!(receiver.conclude(first).reason, Reason::Ok);
    for packet in &signed[1..] {
        let received = receiver.receive(&packet.frame(), Some(NOW));
        let Received::Done(conclusion) = received else {
            panic_free("the block is known");
            return;
        };
        assert_eq!(conclusion.reason, Reason::Ok);
    }
    let mut changed = signed[5].clone();
    changed.bytes[30] ^= 1;
    let changed = receiver.receive(&changed.frame(), Some(NOW));
    assert!(matches!(changed, Received::Done(c) if c.reason == Reason::BadSignature));
    let again = receiver.receive(&signed[3].frame(), Some(NOW));
    assert!(matches!(again, Received::Done(c) if c.reason == Reason::Duplicate));
}

fn panic_free(what: &str) {
    assert!(what.is_empty(), "{what}");
}

#[test]
fn a_block_takes_what_fits() {
    let sender = sender(Policy::default());
    let mut outs = vec![Vec::new(); 2];
    let mut sign = |packets: &[Candidate<'_>]| {
        let signed = sender.sign_block(packets, Some(NOW), [1; 16], precursor, &mut outs);
        assert!(signed.is_ok() || outs.iter().all(Vec::is_empty));
        signed
    };
    let packets = flow(1);
    let one = admitted(&packets, Mode::Tree)[0];
    assert_eq!(sign(&[]), Err(UnsignableBlock::Empty));
    assert_eq!(sign(&[one; 1025]), Err(UnsignableBlock::TooMany));
    assert_eq!(sign(&vec![one; 65_537]), Err(UnsignableBlock::TooMany));
    assert_eq!(sign(&[one]), Err(UnsignableBlock::Buffers));
    assert_eq!(sign(&[one; 2]), Ok(()));
}

/// A packet of another flow in the window of one: it is verified by its own signature.
#[test]
fn windows_do_not_reach_over_flows() {
    let (one, mut other) = (flow(4), flow(4));
    for packet in &mut other {
        packet.bytes[19] = 77; // another destination
    }
    let [one, other] = [one, other].map(|flow| signed_windows(&flow, 4, Policy::default()));
    let mixed: Vec<Owned> = one
        .into_iter()
        .zip(other)
        .flat_map(|(a, b)| [a, b])
        .collect();
    assert_eq!(reasons(&mixed, Windows::Alone), vec![Reason::Ok; 8]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any packets lost and any bits flipped: the answers together are those alone.
    #[test]
    fn together_is_alone(
        lost in any::<u8>(),
        flips in prop::collection::vec((0usize..6, any::<usize>()), 0..3),
        tree in any::<bool>(),
        incremental in any::<bool>(),
    ) {
        let policy = Policy { incremental, ..Policy::default() };
        let mut signed = match tree {
            true => signed_block(&flow(6), policy),
            false => signed_windows(&flow(6), 3, policy),
        };
        for (packet, bit) in flips {
            let bytes = &mut signed[packet].bytes;
            let bit = bit % (8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        let kept = signed.into_iter().enumerate().filter(|(i, _)| lost >> i & 1 == 0);
        let kept: Vec<Owned> = kept.map(|(_, packet)| packet).collect();
        prop_assert_eq!(reasons(&kept, Windows::Alone), alone(&kept));
        prop_assert_eq!(verdicts(&kept, Windows::Whole), verdicts(&kept, Windows::Alone));
    }
}

/// Frames borrow their packets.
#[test]
fn frames_are_whole() {
    let packet = &flow(1)[0];
    assert_eq!(
        packet.frame().bytes,
        Frame::whole(LinkType::RAW, &packet.bytes).bytes
    );
}
