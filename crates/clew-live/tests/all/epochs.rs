//! Epochs, clocks and restarts: what is in force, and what is too old.

use crate::common::group::{GROUP, Keys, OURS, START};
use crate::common::packets::udp;
use crate::common::sim::{MS, S, Sim, moment, peer_rules, sender_address};
use clew_live::identity::{Limit, Unready};
use clew_live::receiver::{Inbound, InboundOptions};
use clew_live::sender::Unsent;
use clew_packet::{Reason, SECOND_NS, Timestamp};

/// A key file is replaced while packets wait, and the epoch changes under traffic: none is lost.
#[test]
fn epochs_change_without_losing_packets() {
    let mut sim = Sim::new(5);
    let second = START + 4 * S;
    let keys = Keys::of(&[0, second]);
    sim.receiver.set_keys(keys);
    let reads = 40;
    for n in 0..reads {
        sim.read(n * 100 * MS, vec![udp(1, n as u32, 400)]);
    }
    sim.run(S);
    assert_eq!(sim.sender.state(Timestamp(START + sim.now)), Ok(0));
    let both = OURS.identity(&[(0, 0), (1, second)], None);
    both.prepare(Timestamp(START + sim.now)).unwrap();
    sim.sender.set_identity(Some(both));
    sim.run(4 * S);
    assert_eq!(sim.sender.state(Timestamp(START + sim.now)), Ok(1));
    assert_eq!(sim.delivered.len() as u64, reads);
}

/// A machine that was revoked, or whose key lacks the epoch in force, says so and is silent; others
/// refuse what it signs once the grace is over.
#[test]
fn a_revoked_machine_says_so_and_others_refuse_it() {
    let over = START + 3 * S;
    for is_revoked in [true, false] {
        let mut sim = Sim::new(6);
        sim.receiver.set_keys(Keys::of(&[0, over]));
        let limit = Limit {
            epoch: 1,
            from: Timestamp(over),
            is_revoked,
        };
        sim.sender
            .set_identity(Some(OURS.identity(&[(0, 0)], Some(limit))));
        sim.read(0, vec![udp(1, 1, 400)]);
        sim.read(2 * S, vec![udp(1, 2, 400)]);
        sim.run(3 * S);
        assert_eq!(sim.names(), [(1, 1)]);
        assert_eq!(sim.sender.metrics().unsent.of(Unsent::NoKey), 1);
        let state = sim.sender.state(Timestamp(START + sim.now)).unwrap_err();
        let text = state.to_string();
        match is_revoked {
            true => assert_eq!(text, "machine sensor-1 was revoked in epoch 1"),
            false => assert!(text.contains("update the key file"), "{text}"),
        }
        // It ignores that: the group accepts its old epoch for the grace, and then no more.
        sim.sender
            .set_identity(Some(OURS.identity(&[(0, 0)], None)));
        sim.read(0, vec![udp(1, 3, 400)]);
        sim.run(58 * S);
        assert_eq!(sim.names(), [(1, 1), (1, 3)]);
        sim.read(0, vec![udp(1, 4, 400)]);
        sim.run(S);
        assert_eq!(sim.receiver.metrics().verdicts.of(Reason::EpochOver), 1);
    }
}

/// A newer group file is needed to verify an epoch, and comes while packets arrive.
#[test]
fn receivers_learn_of_epochs_while_they_run() {
    let mut sim = Sim::new(7);
    let second = START + S;
    sim.sender
        .set_identity(Some(OURS.identity(&[(0, 0), (1, second)], None)));
    sim.read(0, vec![udp(1, 1, 400)]);
    sim.run(S);
    assert_eq!(sim.receiver.metrics().verdicts.of(Reason::UnknownEpoch), 1);
    sim.receiver.set_keys(Keys::of(&[0, second]));
    sim.read(0, vec![udp(1, 2, 400)]);
    sim.run(S);
    assert_eq!(sim.names(), [(1, 2)]);
}

/// The clock of either side steps, and the receiver was started by a wrong one.
#[test]
fn clock_steps_are_noticed_and_survived() {
    let mut sim = Sim::new(8);
    sim.read(0, vec![udp(1, 1, 400)]);
    sim.run(S);
    // An hour ahead: what comes is stale, until the clock is right again.
    sim.wall[1] = 3_600 * SECOND_NS as i64;
    sim.read(0, vec![udp(1, 2, 400)]);
    sim.run(S);
    assert_eq!(sim.receiver.metrics().verdicts.of(Reason::Stale), 1);
    sim.wall[1] = 0;
    sim.read(0, vec![udp(1, 3, 400)]);
    sim.run(S);
    assert_eq!(sim.names(), [(1, 1), (1, 3)]);
    let state = sim.receiver.state(sim.now_at(1)).clock;
    assert!(state.steps == 2 && state.last.is_some_and(|step| step.is_back));
    // What was accepted before the steps is still known.
    let copies = sim.sent.clone();
    sim.inject(0, copies[0].clone(), sender_address());
    sim.run(S);
    assert_eq!(sim.delivered.len(), 2);
}

#[test]
fn a_receiver_that_a_wrong_clock_started_recovers() {
    let mut sim = Sim::new(9);
    let day = 86_400 * SECOND_NS as i64;
    let options = InboundOptions::default();
    sim.receiver = Inbound::new(
        Keys::of(&[0]),
        options,
        peer_rules(),
        moment(0, day),
        [7; 32],
    );
    sim.wall[1] = day;
    sim.read(0, vec![udp(1, 1, 400)]);
    sim.run(S);
    sim.wall[1] = 0;
    sim.run(1);
    sim.read(2 * S, vec![udp(1, 2, 400)]);
    sim.run(3 * S);
    assert_eq!(sim.names(), [(1, 2)]);
    assert_eq!(sim.receiver.metrics().verdicts.of(Reason::Stale), 1);
}

/// After a restart nothing older than the start is accepted: the memory of replays is gone.
#[test]
fn a_restarted_receiver_refuses_what_is_older() {
    let mut sim = Sim::new(10);
    sim.read(0, vec![udp(1, 1, 400)]);
    sim.run(S);
    assert_eq!(sim.delivered.len(), 1);
    let copy = sim.sent[0].clone();
    let options = InboundOptions::default();
    sim.receiver = Inbound::new(
        Keys::of(&[0]),
        options,
        peer_rules(),
        sim.now_at(1),
        [7; 32],
    );
    sim.inject(0, copy, sender_address());
    sim.run(S);
    assert_eq!(sim.delivered.len(), 1);
    assert_eq!(sim.receiver.metrics().verdicts.of(Reason::Stale), 1);
}

/// A crash forgets what was accepted. Timestamps after the restart would be fresh again: those of a sender
/// whose clock is ahead. So a daemon keeps how far it accepted.
#[test]
fn a_crash_forgets_nothing_that_a_fast_clock_signed() {
    for (ahead, is_kept, delivered) in [(15, true, 1), (15, false, 2), (0, false, 1)] {
        let mut sim = Sim::new(11);
        sim.wall[0] = ahead * SECOND_NS as i64;
        sim.read(0, vec![udp(1, 1, 400)]);
        sim.run(S);
        assert_eq!(sim.delivered.len(), 1);
        let copy = sim.sent[0].clone();
        let accepted = sim.receiver.latest_accepted().filter(|_| is_kept);
        restarted(&mut sim, accepted, 0);
        sim.inject(0, copy, sender_address());
        sim.run(S);
        assert_eq!(sim.delivered.len(), delivered, "{ahead} s ahead, {is_kept}");
    }
}

/// A receiver after a crash, whose memory is lost, in a host whose clock says something else.
fn restarted(sim: &mut Sim, accepted: Option<Timestamp>, wall: i64) {
    let options = InboundOptions::default();
    sim.wall[1] = wall;
    let start = sim.now_at(1);
    sim.receiver = Inbound::new(Keys::of(&[0]), options, peer_rules(), start, [7; 32]);
    if let Some(accepted) = accepted {
        sim.receiver.forgot_until(accepted);
    }
}

/// The clock goes back before the crash, right at the start or later: no packet counts that was accepted
/// before, and honest ones count as soon as they are newer.
#[test]
fn after_a_crash_and_a_clock_step_back_no_replay_counts() {
    let back = -10 * SECOND_NS as i64;
    for [at_start, later] in [[back, back], [0, back], [0, 2 * back], [0, 0]] {
        let mut sim = Sim::new(12);
        sim.read(20 * S, vec![udp(1, 1, 400)]);
        sim.run(21 * S);
        let copy = sim.sent[0].clone();
        let accepted = sim.receiver.latest_accepted();
        assert!(accepted.is_some() && sim.delivered.len() == 1);
        restarted(&mut sim, accepted, at_start);
        sim.inject(0, copy.clone(), sender_address());
        sim.run(S);
        sim.wall[1] = later;
        sim.run(S);
        for at in 0..12 {
            sim.inject(at * S, copy.clone(), sender_address());
        }
        sim.run(17 * S);
        assert_eq!(sim.delivered.len(), 1, "{at_start} {later}");
        sim.read(0, vec![udp(1, 2, 400)]);
        sim.run(2 * S);
        assert_eq!(sim.names(), [(1, 1), (1, 2)], "{at_start} {later}");
    }
}

/// What earlier receivers accepted outlasts a hand-over, and does not make packets stale that are under way.
#[test]
fn what_was_forgotten_is_known_behind_a_hand_over() {
    let mut sim = Sim::new(13);
    sim.read(20 * S, vec![udp(1, 1, 400)]);
    sim.run(21 * S);
    let (copy, memory) = (sim.sent[0].clone(), sim.receiver.replay_memory());
    let accepted = sim.receiver.latest_accepted();
    restarted(&mut sim, accepted, 0);
    sim.receiver.restore_replay_memory(&memory).unwrap();
    sim.inject(0, copy, sender_address());
    sim.run(S);
    assert_eq!(sim.receiver.metrics().verdicts.of(Reason::Duplicate), 1);
}

#[test]
fn a_key_that_is_not_in_force_yet_says_so() {
    let identity = OURS.identity(&[(2, START + S)], None);
    let state = identity.at(Timestamp(START)).unwrap_err();
    assert!(matches!(state, Unready::NotYet { epoch: 2, .. }), "{state}");
    assert!(identity.at(Timestamp(START + S)).is_ok());
    assert_eq!(
        identity.at(Timestamp(START + S)).unwrap().name().group,
        GROUP
    );
}
