//! Places, congestion, timer, and both ends of the sequence.

use std::vec::Vec;

use proptest::prelude::*;

use crate::engine::congestion::{Advice, Congestion};
use crate::engine::receiving::{Held, Place, Receiving};
use crate::engine::retransmission::Timeout;
use crate::engine::sending::Sending;
use crate::engine::seq::Seq;
use crate::limits::{AHEAD, AHEAD_BYTES, FIRST_PACKETS_MAX, FLIGHT_MAX, RTO_MAX};
use crate::reason::Reason;
use clew_wire::Instant;
use core::time::Duration;

fn seq(number: u32) -> Seq {
    Seq::new(number).expect("a place")
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn after_the_last_place_comes_the_first() {
    assert_eq!(Seq::new(0), None);
    assert_eq!(seq(u32::MAX).plus(1), seq(1));
    assert_eq!(seq(1).before(), seq(u32::MAX));
    assert_eq!(seq(u32::MAX).until(seq(1)), 1);
    assert!(seq(u32::MAX).is_before(seq(1)) && !seq(1).is_before(seq(u32::MAX)));
    assert!(!seq(7).is_before(seq(7)));
    assert_eq!(Seq::start(u32::MAX).get(), 0x7fff_ff00);
    assert_eq!(Seq::start(511).get(), 256);
    assert_eq!(seq(300).start_of_first().get(), 256);
}

proptest! {
    #[test]
    fn places_are_as_far_apart_as_they_were_moved(from in 1..=u32::MAX, n in 0..u32::MAX) {
        let to = seq(from).plus(n);
        prop_assert_eq!(seq(from).until(to), n);
        prop_assert_eq!(seq(from).is_before(to), n > 0 && n < 1 << 31);
        prop_assert_eq!(to.plus(1).before(), to);
    }

    #[test]
    fn a_start_is_a_multiple_of_256_that_its_first_packets_show(random: u32, n in 0..255_u32) {
        let start = Seq::start(random);
        prop_assert!(start.get() >= 256 && start.get().is_multiple_of(256));
        prop_assert_eq!(start.plus(n).start_of_first(), start);
    }
}

#[test]
fn slow_start_avoidance_and_a_loss_are_those_of_rfc_5681() {
    let mut congestion = Congestion::new(1_232);
    assert_eq!(
        (congestion.window(), Congestion::new(1_095).window()),
        (3, 4)
    );
    let _ = congestion.acknowledge(3, seq(10), true);
    assert_eq!(congestion.window(), 6);
    let _ = congestion.acknowledge(1, seq(11), false);
    assert_eq!(
        congestion.window(),
        6,
        "a window that is not used does not grow"
    );
    // Two duplicates let one new packet out each; the third is a loss.
    assert_eq!(congestion.duplicate(6, seq(17)), Advice::Go);
    assert_eq!(congestion.duplicate(6, seq(17)), Advice::Go);
    assert_eq!((congestion.window(), congestion.allowed()), (6, 8));
    assert_eq!(congestion.duplicate(8, seq(19)), Advice::Resend);
    assert_eq!((congestion.window(), congestion.allowed()), (4 + 3, 7));
    assert_eq!(congestion.duplicate(8, seq(19)), Advice::Go);
    assert_eq!(congestion.window(), 8);
    // A partial ack: the next hole of the same window, with no new halving.
    assert_eq!(congestion.acknowledge(3, seq(14), true), Advice::Resend);
    assert_eq!(congestion.window(), 8 - 3 + 1);
    assert_eq!(congestion.acknowledge(5, seq(19), true), Advice::Go);
    assert_eq!(congestion.window(), 4, "ssthresh");
    for n in 0..4 {
        let _ = congestion.acknowledge(1, seq(20 + n), true);
    }
    assert_eq!(congestion.window(), 5, "one more for each window");
}

#[test]
fn the_timer_makes_the_window_one_and_later_duplicates_of_that_window_do_nothing() {
    let mut congestion = Congestion::new(1_232);
    let _ = congestion.acknowledge(17, seq(20), true);
    congestion.run_out(20, seq(40));
    assert_eq!((congestion.window(), congestion.allowed()), (1, 1));
    for _ in 0..9 {
        assert_eq!(congestion.duplicate(20, seq(40)), Advice::Go);
    }
    let _ = congestion.acknowledge(9, seq(29), true);
    assert_eq!(
        congestion.window(),
        10,
        "slow start up to half of what was outstanding"
    );
    let _ = congestion.acknowledge(1, seq(30), true);
    assert_eq!(congestion.window(), 10);
    for _ in 0..2 {
        let _ = congestion.duplicate(9, seq(45));
    }
    let _ = congestion.acknowledge(10, seq(40), true);
    for _ in 0..2 {
        let _ = congestion.duplicate(9, seq(45));
    }
    assert_eq!(
        congestion.duplicate(9, seq(45)),
        Advice::Resend,
        "a new window, a new loss"
    );
}

#[test]
fn rest_brings_back_the_initial_window_and_nothing_exceeds_the_most() {
    let mut congestion = Congestion::new(1_232);
    let _ = congestion.acknowledge(100_000, seq(1), true);
    assert_eq!(congestion.window(), FLIGHT_MAX as u32);
    congestion.rest();
    assert_eq!(congestion.window(), 3);
    congestion.run_out(1, seq(9));
    congestion.rest();
    assert_eq!(congestion.window(), 1);
}

#[test]
fn the_timer_is_that_of_rfc_6298() {
    let mut timeout = Timeout::new();
    assert_eq!(
        (timeout.length(), timeout.round_trip()),
        (Duration::from_secs(1), None)
    );
    timeout.measure(millis(400));
    assert_eq!(timeout.length(), millis(1_200), "R + 4 R / 2");
    timeout.measure(millis(400));
    assert_eq!(timeout.length(), millis(1_000), "3/4 of the variation");
    timeout.ran_out = 1;
    assert_eq!(timeout.length(), millis(2_000));
    timeout.ran_out = 0;
    timeout.measure(millis(1_200));
    assert_eq!(timeout.round_trip(), Some(millis(500)));
    assert_eq!(timeout.length(), millis(500 + 4 * (112 + 200) + 2));
    for ran_out in [20, 63, 64, 255] {
        timeout.ran_out = ran_out;
        assert_eq!(timeout.length(), RTO_MAX);
    }
    let mut slow = Timeout::new();
    slow.measure(2 * RTO_MAX);
    slow.ran_out = 9;
    assert_eq!(
        slow.length(),
        6 * RTO_MAX,
        "longer round trips are waited for"
    );
    let mut fast = Timeout::new();
    fast.measure(Duration::from_nanos(1));
    assert_eq!(fast.length(), millis(200));
}

/// Sends as many new packets as may be sent; how many.
fn send(sending: &mut Sending, now: u64) -> usize {
    let mut sent = 0;
    while sending.may_send(at(now)) {
        sending.send([7; 20].into(), at(now));
        sent += 1;
    }
    sent
}

fn again(sending: &mut Sending, now: u64) -> Vec<u32> {
    core::iter::from_fn(|| sending.again(at(now), 1_000).map(|(seq, _)| seq.get())).collect()
}

#[test]
fn acks_of_what_was_never_sent_are_none() {
    let mut sending = Sending::new(seq(512), 1_232);
    assert_eq!(send(&mut sending, 1), 3);
    for ack in [1, 511, 515, 600, u32::MAX] {
        assert_eq!(
            sending.acknowledge(ack, true, at(2)),
            Err(Reason::BadAck),
            "{ack}"
        );
    }
    assert!(sending.acknowledge(0, true, at(2)).is_ok(), "nothing yet");
    assert_eq!(
        sending
            .acknowledge(513, true, at(2))
            .map(|done| done.packets),
        Ok(2)
    );
    assert_eq!(
        sending
            .acknowledge(512, true, at(2))
            .map(|done| done.packets),
        Ok(0),
        "an older one"
    );
    assert_eq!(sending.acknowledge(515, true, at(2)), Err(Reason::BadAck));
    assert_eq!(
        sending
            .acknowledge(514, true, at(2))
            .map(|done| done.packets),
        Ok(1)
    );
    assert_eq!((sending.expiry(), sending.waiting_since()), (None, None));
}

#[test]
fn a_sequence_wraps_around() {
    let mut sending = Sending::new(seq(u32::MAX - 1), 1_232);
    assert_eq!(send(&mut sending, 1), 3);
    assert_eq!(
        sending
            .acknowledge(u32::MAX, true, at(2))
            .map(|done| done.packets),
        Ok(2)
    );
    assert_eq!(
        sending.acknowledge(1, true, at(2)).map(|done| done.packets),
        Ok(1)
    );
    let mut receiving = Receiving::new();
    let mut held = Held::default();
    for number in [u32::MAX - 255, u32::MAX - 254] {
        assert_eq!(
            receiving.take(seq(number), b"x", &mut held),
            Ok(Place::Next)
        );
    }
    for number in (u32::MAX - 252..=u32::MAX).chain(1..9) {
        assert_eq!(
            receiving.take(seq(number), b"x", &mut held),
            Ok(Place::Later)
        );
    }
    assert_eq!(
        receiving.take(seq(u32::MAX - 253), b"x", &mut held),
        Ok(Place::Next)
    );
    while receiving.pop(&mut held).is_some() {}
    assert_eq!((receiving.ack(), held.bytes()), (8, 0));
}

#[test]
fn the_start_is_shown_before_anything_is_acknowledged() {
    let mut sending = Sending::new(seq(256), 1_232);
    let mut sent = send(&mut sending, 1);
    // Whatever the window allows: duplicates do not count before the first ack.
    for _ in 0..2_000 {
        let _ = sending.run_out(at(1));
        let _ = again(&mut sending, 1);
        sent += send(&mut sending, 1);
    }
    assert!(sent <= FIRST_PACKETS_MAX);
}

#[test]
fn after_the_timer_everything_is_sent_again_as_the_window_grows() {
    let mut sending = Sending::new(seq(256), 1_232);
    let mut next = 256;
    for round in 0..6 {
        let sent = send(&mut sending, round * 10) as u32;
        next += sent;
        let _ = sending.acknowledge(next - 1, true, at(round * 10 + 5));
    }
    let outstanding = send(&mut sending, 100) as u32;
    assert!(outstanding > 100);
    assert_eq!(sending.run_out(at(1_000)), 1);
    let mut first = next;
    let mut rounds = 0;
    while first < next + outstanding {
        let sent = again(&mut sending, 1_000 + rounds);
        assert!(!sent.is_empty(), "stalled at {first}");
        assert_eq!(sent[0], first, "in order, each once");
        first += sent.len() as u32;
        let _ = sending.acknowledge(first - 1, true, at(1_001 + rounds));
        rounds += 1;
    }
    assert!(rounds < 12, "slow start doubles: {rounds}");
    assert_eq!(sending.expiry(), None);
}

#[test]
fn what_waited_for_a_pause_counts_as_outstanding_again() {
    let mut sending = Sending::new(seq(256), 1_232);
    assert_eq!(send(&mut sending, 1), 3);
    sending.pause();
    assert_eq!((sending.expiry(), sending.waiting_since()), (None, None));
    assert_eq!(again(&mut sending, 900), [256, 257, 258]);
    assert_eq!(sending.waiting_since(), Some(at(900)));
    assert!(sending.expiry().is_some());
}

#[test]
fn one_that_does_not_fit_waits_and_nothing_goes_before_it() {
    let mut sending = Sending::new(seq(256), 1_232);
    assert_eq!(send(&mut sending, 1), 3);
    let _ = sending.run_out(at(2));
    assert!(sending.again(at(2), 19).is_none() && !sending.may_send(at(2)));
    assert_eq!(
        sending.again(at(2), 20).map(|(seq, _)| seq.get()),
        Some(256)
    );
}

#[test]
fn packets_ahead_are_held_as_far_as_there_is_room() {
    let mut receiving = Receiving::new();
    let mut held = Held::default();
    let big = [1; 1_400];
    assert_eq!(receiving.take(seq(256), b"x", &mut held), Ok(Place::Next));
    let last = 257 + AHEAD as u32;
    assert_eq!(
        receiving.take(seq(last + 1), &big, &mut held),
        Err(Reason::Ahead)
    );
    let mut taken = 0;
    for number in 258..=last {
        taken += u32::from(receiving.take(seq(number), &big, &mut held) == Ok(Place::Later));
    }
    assert!(held.bytes() <= AHEAD_BYTES && taken > 4_000, "{taken}");
    assert_eq!(
        receiving.take(seq(258), &big, &mut held),
        Err(Reason::DuplicateSeq)
    );
    assert_eq!(
        receiving.take(seq(256), b"x", &mut held),
        Err(Reason::DuplicateSeq)
    );
    assert_eq!((receiving.ack(), receiving.due()), (256, Some(at(0))));
    // One that is held and comes again in its turn is done once.
    assert_eq!(receiving.take(seq(257), b"x", &mut held), Ok(Place::Next));
    assert!(receiving.pop(&mut held).is_some());
    let before = held.bytes();
    assert_eq!(receiving.take(seq(259), &big, &mut held), Ok(Place::Next));
    assert!(held.bytes() < before);
    receiving.release(&mut held);
    assert_eq!(held.bytes(), 0);
}

#[test]
fn every_second_counted_packet_is_acknowledged_at_once() {
    let mut receiving = Receiving::new();
    receiving.owe(at(100));
    assert_eq!(receiving.due(), Some(at(100) + millis(25)));
    receiving.owe(at(200));
    assert_eq!(receiving.due(), Some(at(0)));
    receiving.acknowledged();
    assert_eq!(receiving.due(), None);
}
