//! Time, epochs and replays: steps 4 to 8 of section 6.

use std::thread;

use crate::common::{EPOCH, GROUP, NOW, Owned, SUCCESSOR_START, packets::*, receiver, verify_at};
use clew_packet::{
    Acceptance, Conclusion, LinkType, Policy, Reason, Received, SECOND_NS, Timestamp, Verdict, read,
};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

const S: u64 = SECOND_NS;

fn signed() -> Owned {
    let packet = ipv4(&[], UDP, &udp(b"payload"));
    Owned::new(LinkType::RAW, packet).signed(Policy::default())
}

/// What a receiver that starts an hour before now says `after` nanoseconds from the timestamp.
fn at(acceptance: Acceptance, after: i64) -> Reason {
    let time = Timestamp(NOW.floor(S).0.wrapping_add_signed(after));
    verify_at(&mut receiver(acceptance), &signed().frame(), Some(time)).reason
}

#[test]
fn freshness() {
    let both = [
        Acceptance::capture(),
        Acceptance::live(Timestamp(NOW.0 - 3600 * S)),
    ];
    for acceptance in both {
        let tolerance = 30 * S as i64;
        assert_eq!(at(acceptance, 0), Reason::Ok);
        assert_eq!(
            at(acceptance, tolerance + S as i64),
            Reason::Ok,
            "rounding counts for the past"
        );
        assert_eq!(at(acceptance, tolerance + S as i64 + 1), Reason::Stale);
        assert_eq!(at(acceptance, -tolerance), Reason::Ok);
        assert_eq!(at(acceptance, -tolerance - 1), Reason::Future);
    }
}

#[test]
fn a_packet_without_a_time_is_not_judged_by_time() {
    let mut receiver = receiver(Acceptance::capture());
    assert_eq!(
        verify_at(&mut receiver, &signed().frame(), None).reason,
        Reason::Ok
    );
    let (packet, mut out) = (ipv4(&[], UDP, &udp(b"x")), Vec::new());
    let packet = Owned::new(LinkType::RAW, packet);
    crate::common::sender(Policy::default()).sign(
        &packet.frame(),
        None,
        crate::common::precursor,
        &mut out,
    );
    let untimed = packet.with(out);
    assert_eq!(
        read(&untimed.frame()).unwrap().trailer().timestamp,
        Timestamp::NONE
    );
    assert_eq!(
        verify_at(&mut receiver, &untimed.frame(), None).reason,
        Reason::Ok
    );
    assert_eq!(
        verify_at(&mut receiver, &untimed.frame(), Some(NOW)).reason,
        Reason::Stale
    );
}

#[test]
fn an_epoch_lasts_until_its_successor_starts_and_the_grace_is_over() {
    let packet = Owned::new(LinkType::RAW, ipv4(&[], UDP, &udp(b"x")));
    let check = |time: u64, reason: Reason| {
        let (time, mut out) = (Some(Timestamp(time)), Vec::new());
        let sender =
            clew_packet::Sender::new(clew_group::Scheme::Bbs04, GROUP, 6, Policy::default());
        sender.sign(&packet.frame(), time, crate::common::precursor, &mut out);
        let mut receiver = receiver(Acceptance::capture());
        let conclusion = verify_at(&mut receiver, &packet.with(out).frame(), time);
        assert_eq!(conclusion.reason, reason);
    };
    check(SUCCESSOR_START.0 + 60 * S - 1, Reason::Ok);
    check(SUCCESSOR_START.0 + 60 * S, Reason::EpochOver);
}

#[test]
fn a_duplicate_in_a_capture_is_valid() {
    let (mut receiver, signed) = (receiver(Acceptance::capture()), signed());
    let marked = signed.sign(Policy::default()).0.unwrap();
    assert_eq!(
        verify_at(&mut receiver, &signed.frame(), Some(NOW)).reason,
        Reason::Ok
    );
    for again in [signed, marked] {
        let Conclusion {
            verdict,
            reason,
            summary,
        } = verify_at(&mut receiver, &again.frame(), Some(NOW));
        assert_eq!((verdict, reason), (Verdict::Valid, Reason::Duplicate));
        assert_eq!(summary.map(|summary| summary.epoch), Some(EPOCH));
    }
}

#[test]
fn a_capture_whose_time_goes_back_still_has_its_duplicates() {
    let (mut receiver, signed) = (receiver(Acceptance::capture()), signed());
    verify_at(&mut receiver, &signed.frame(), Some(NOW));
    verify_at(
        &mut receiver,
        &self::signed().frame(),
        Some(Timestamp(NOW.0 + 3600 * S)),
    );
    assert_eq!(
        verify_at(&mut receiver, &signed.frame(), Some(NOW)).reason,
        Reason::Duplicate
    );
}

#[test]
fn a_changed_duplicate_in_a_capture_is_not_valid() {
    let (mut receiver, mut signed) = (receiver(Acceptance::capture()), signed());
    verify_at(&mut receiver, &signed.frame(), Some(NOW));
    signed.bytes[30] ^= 1;
    assert_eq!(
        verify_at(&mut receiver, &signed.frame(), Some(NOW)).reason,
        Reason::BadSignature
    );
}

fn live() -> Acceptance {
    Acceptance::live(NOW.floor(S))
}

#[test]
fn a_live_duplicate_is_refused_without_checking_its_signature() {
    let (mut receiver, signed) = (receiver(live()), signed());
    assert_eq!(
        verify_at(&mut receiver, &signed.frame(), Some(NOW)).verdict,
        Verdict::Valid
    );
    let Received::Done(conclusion) = receiver.receive(&signed.frame(), Some(NOW)) else {
        panic!("the signature would be checked again");
    };
    assert_eq!(
        (conclusion.verdict, conclusion.reason),
        (Verdict::Invalid, Reason::Duplicate)
    );
}

#[test]
fn two_copies_at_the_same_time_are_one_packet_and_one_duplicate() {
    let (mut receiver, signed) = (receiver(live()), signed());
    let mut pending = Vec::new();
    for _ in 0..2 {
        match receiver.receive(&signed.frame(), Some(NOW)) {
            Received::Pending(packet) => pending.push(packet),
            received => panic!("{received:?}"),
        }
    }
    let check = |packet: clew_packet::Pending| packet.check(&mut ChaCha20Rng::seed_from_u64(2));
    let threads: Vec<_> = pending
        .into_iter()
        .map(|packet| thread::spawn(move || check(packet)))
        .collect();
    let mut conclude =
        |thread: thread::JoinHandle<_>| receiver.conclude(thread.join().unwrap()).reason;
    let reasons: Vec<Reason> = threads.into_iter().map(&mut conclude).collect();
    assert_eq!(reasons, [Reason::Ok, Reason::Duplicate]);
    assert_eq!(
        receiver.counters().iter().collect::<Vec<_>>(),
        [(Reason::Ok, 1), (Reason::Duplicate, 1)]
    );
}

#[test]
fn a_live_receiver_refuses_what_is_older_than_its_start() {
    let after = Acceptance::live(Timestamp(NOW.floor(S).0 + 1));
    assert_eq!(at(after, 0), Reason::Stale);
    assert_eq!(at(live(), 0), Reason::Ok);
}

#[test]
fn what_was_forgotten_stays_refused_when_the_clock_steps_back() {
    let (mut receiver, signed) = (receiver(live()), signed());
    verify_at(&mut receiver, &signed.frame(), Some(NOW));
    let later = Timestamp(NOW.0 + 3600 * S);
    verify_at(&mut receiver, &self::signed().frame(), Some(later));
    let fresh = |time: Timestamp| {
        let packet = Owned::new(LinkType::RAW, ipv4(&[], UDP, &udp(b"later")));
        let mut out = Vec::new();
        let sender = crate::common::sender(Policy::default());
        sender.sign(
            &packet.frame(),
            Some(time),
            crate::common::precursor,
            &mut out,
        );
        packet.with(out)
    };
    assert_eq!(
        verify_at(&mut receiver, &fresh(later).frame(), Some(later)).reason,
        Reason::Ok
    );
    assert_eq!(
        verify_at(&mut receiver, &signed.frame(), Some(NOW)).reason,
        Reason::Stale
    );
}

#[test]
fn counters_name_what_was_refused() {
    let mut receiver = receiver(Acceptance::capture());
    let unsigned = Owned::new(LinkType::RAW, ipv4(&[], UDP, &udp(b"x")));
    let conclusion = verify_at(&mut receiver, &unsigned.frame(), Some(NOW));
    assert_eq!(
        (conclusion.verdict, conclusion.summary),
        (Verdict::Unsigned, None)
    );
    let cut = Owned {
        bytes: vec![0x45; 9],
        missing: 40,
        ..unsigned
    };
    assert_eq!(
        verify_at(&mut receiver, &cut.frame(), Some(NOW)).verdict,
        Verdict::Undecided
    );
    verify_at(&mut receiver, &signed().frame(), Some(NOW));
    let counted: Vec<_> = receiver.counters().iter().collect();
    assert_eq!(
        counted,
        [
            (Reason::Ok, 1),
            (Reason::Truncated, 1),
            (Reason::NoTrailer, 1)
        ]
    );
    assert_eq!(receiver.evictions(), 0);
}
