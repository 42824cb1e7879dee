//! Epochs, clocks and restarts: what is in force, and what is too old.

use crate::common::group::{GROUP, Keys, OTHER_GROUP, OURS, START};
use crate::common::packets::{udp, udp_from};
use crate::common::sim::{MS, S, Sim, address, moment, path, peer_rules, sender_address};
use crate::common::sim::{Online, PEER};
use clew_group::Scheme;
use clew_live::identity::{Identity, Limit, Unready, overlap};
use clew_live::packet::{Burst, Clear};
use clew_live::receiver::{Inbound, InboundOptions, PeerRule};
use clew_live::sender::{Outbound, OutboundOptions, Unsent, live_policy};
use clew_packet::{AcceptedSeconds, Reason, SECOND_NS, Timestamp};
use std::sync::Arc;
use std::time::Duration;

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

/// The sender hears of an epoch that has just started, and the receiver some seconds later: the sender goes
/// on in the old one meanwhile, and nothing is lost. A machine that the epoch revokes does not go on.
#[test]
fn who_hears_of_an_epoch_first_waits_for_others() {
    let mut sim = Sim::new(7);
    let start = START + 2 * S;
    let held = OURS.key_file(0, &[(0, 0), (1, start)]);
    let of = |limit| {
        let identity = Identity::new(held.clone(), live_policy(Scheme::Xr), limit);
        Some(Arc::new(
            identity.with_overlap(overlap(Duration::from_secs(60))),
        ))
    };
    sim.sender.set_identity(of(None));
    sim.receiver.set_keys(Keys::of(&[0]));
    for n in 0..50 {
        sim.read(n * S, vec![udp(1, n as u32, 400)]);
    }
    sim.run(20 * S);
    assert_eq!(sim.sender.state(Timestamp(START + sim.now)), Ok(0));
    sim.receiver.set_keys(Keys::of(&[0, start]));
    sim.run(14 * S);
    assert_eq!(sim.sender.state(Timestamp(START + sim.now)), Ok(1));
    sim.run(20 * S);
    assert_eq!(sim.delivered.len(), 50);
    let limit = |is_revoked| Limit {
        epoch: 1,
        from: Timestamp(start),
        is_revoked,
    };
    for (is_revoked, until) in [(true, start), (false, start + 30 * S)] {
        let identity = of(Some(limit(is_revoked))).unwrap();
        let at = |time| identity.at(Timestamp(time)).map(|key| key.number());
        assert_eq!(at(until - 1), Ok(0));
        assert!(at(until).is_err());
    }
    assert_eq!(overlap(Duration::ZERO), Duration::ZERO);
    assert_eq!(overlap(Duration::from_secs(3600)), Duration::from_secs(30));
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
        let accepted = seconds(&sim).filter(|_| is_kept);
        restarted(&mut sim, accepted, 0);
        sim.inject(0, copy, sender_address());
        sim.run(S);
        assert_eq!(sim.delivered.len(), delivered, "{ahead} s ahead, {is_kept}");
    }
}

/// What a daemon has kept on disk.
fn seconds(sim: &Sim) -> Option<AcceptedSeconds> {
    Some(sim.receiver.accepted_seconds().0.clone())
}

/// A receiver after a crash, whose memory is lost, in a host whose clock says something else.
fn restarted(sim: &mut Sim, accepted: Option<AcceptedSeconds>, wall: i64) {
    let options = InboundOptions::default();
    sim.wall[1] = wall;
    let start = sim.now_at(1);
    sim.receiver = Inbound::new(Keys::of(&[0]), options, peer_rules(), start, [7; 32]);
    if let Some(accepted) = accepted {
        sim.receiver.forgot(accepted);
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
        let accepted = seconds(&sim);
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

/// A machine of another group, whose clock is ahead.
const OTHER: [u8; 4] = [10, 3, 0, 1];

/// Peers of both groups.
fn both_rules() -> Vec<PeerRule> {
    let mut rules = peer_rules();
    rules.push(PeerRule {
        group: OTHER_GROUP.tag(),
        prefixes: vec!["10.3.0.0/16".parse().unwrap()],
        ..rules[0].clone()
    });
    rules
}

/// A datagram of the other group, signed by a clock that is ahead by so many seconds.
fn of_other_group(sim: &mut Sim, number: u32, ahead: i64) -> Vec<u8> {
    let mut sender = Outbound::new(
        Some(OURS.identity_in(OTHER_GROUP)),
        OutboundOptions::default(),
    );
    sender.set_path(PEER, path());
    let (mut out, now) = (Vec::new(), moment(sim.now, ahead * SECOND_NS as i64));
    let bytes = udp_from(OTHER, 2, number, 400);
    sender.push(Clear { peer: PEER, bytes }, now).unwrap();
    let later = moment(sim.now + 10 * MS, ahead * SECOND_NS as i64);
    sender.flush(later, &mut Online, &mut sim.rng, &mut out);
    let [Burst { bytes, .. }] = &out[..] else {
        panic!("one datagram");
    };
    bytes.clone()
}

/// One machine of another group is 29 s ahead when the receiver crashes: it locks nobody out but those of
/// its group who sign in that second, and what it sent counts no second time.
#[test]
fn a_fast_clock_locks_no_other_group_out_behind_a_crash() {
    let mut sim = Sim::new(14);
    sim.receiver.set_keys(Keys::of_both());
    sim.receiver.set_peers(both_rules());
    let fast = of_other_group(&mut sim, 1, 29);
    let other = address("203.0.113.9:4909");
    sim.inject(0, fast.clone(), other);
    sim.read(0, vec![udp(1, 1, 400)]);
    sim.run(S);
    assert_eq!(sim.names(), [(2, 1), (1, 1)]);
    let (copy, kept) = (sim.sent[0].clone(), seconds(&sim));
    restarted(&mut sim, kept, 0);
    sim.receiver.set_keys(Keys::of_both());
    sim.receiver.set_peers(both_rules());
    // At once, and each second after it.
    for second in 1..32 {
        sim.read(second * S, vec![udp(1, 1 + second as u32, 400)]);
        sim.inject(second * S, fast.clone(), other);
        sim.inject(second * S, copy.clone(), sender_address());
    }
    // The same second, of the same group.
    let same_second = of_other_group(&mut sim, 2, 28);
    sim.inject(2 * S, same_second, other);
    sim.run(33 * S);
    let names = sim.names();
    assert!(
        (1..33).all(|number| names.contains(&(1, number))),
        "{names:?}"
    );
    assert_eq!(
        (names.len(), names.contains(&(2, 2))),
        (33, false),
        "{names:?}"
    );
    let late = of_other_group(&mut sim, 4, 1);
    sim.inject(0, late, other);
    sim.run(S);
    assert!(sim.names().contains(&(2, 4)));
}

/// The clocks of both hosts are a day ahead for a while, and then right. The receiver crashes: honest
/// packets count at once, and a day later no copy does.
#[test]
fn clocks_that_were_ahead_for_a_while_lock_nobody_out_behind_a_crash() {
    let day = 86_400 * SECOND_NS as i64;
    let mut sim = Sim::new(15);
    for (wall, number) in [(0, 1), (day, 2), (0, 3)] {
        sim.wall = [wall; 2];
        sim.read(0, vec![udp(1, number, 400)]);
        sim.run(2 * S);
    }
    assert_eq!(sim.names(), [(1, 1), (1, 2), (1, 3)]);
    let (copies, kept) = (sim.sent.clone(), seconds(&sim));
    restarted(&mut sim, kept, 0);
    sim.read(S, vec![udp(1, 4, 400)]);
    sim.run(2 * S);
    assert_eq!(sim.names().len(), 4, "within a second");
    for ahead in [0, day - 2 * S as i64, day, 0] {
        sim.wall[1] = ahead;
        for copy in &copies {
            sim.inject(0, copy.clone(), sender_address());
        }
        sim.run(S);
    }
    assert_eq!(sim.names().len(), 4, "no copy counts");
}

/// Both clocks are an hour ahead when the receiver starts, and right behind a hand-over: whether they
/// stepped before or after it, packets count as they would without it.
#[test]
fn a_clock_that_goes_back_is_followed_also_around_a_hand_over() {
    let hour = 3_600 * SECOND_NS as i64;
    for is_before in [true, false] {
        let mut sim = Sim::new(16);
        sim.wall = [hour; 2];
        restarted(&mut sim, None, hour);
        sim.read(2 * S, vec![udp(1, 1, 400)]);
        sim.run(3 * S);
        let (copy, memory) = (sim.sent[0].clone(), sim.receiver.replay_memory());
        restarted(&mut sim, None, if is_before { 0 } else { hour });
        let now = sim.now_at(1).wall;
        sim.receiver.restore_replay_memory(&memory, now).unwrap();
        sim.wall = [0; 2];
        sim.run(S);
        sim.read(S, vec![udp(1, 2, 400)]);
        sim.run(2 * S);
        assert_eq!(sim.names(), [(1, 1), (1, 2)], "{is_before}");
        sim.wall[1] = hour;
        sim.inject(0, copy, sender_address());
        sim.run(S);
        assert_eq!(sim.names().len(), 2, "it is remembered");
    }
}

/// What earlier receivers accepted outlasts a hand-over, and does not make packets stale that are under way.
#[test]
fn what_was_forgotten_is_known_behind_a_hand_over() {
    let mut sim = Sim::new(13);
    sim.read(20 * S, vec![udp(1, 1, 400)]);
    sim.run(21 * S);
    let (copy, memory) = (sim.sent[0].clone(), sim.receiver.replay_memory());
    let accepted = seconds(&sim);
    restarted(&mut sim, accepted.clone(), 0);
    let now = sim.now_at(1).wall;
    sim.receiver.restore_replay_memory(&memory, now).unwrap();
    sim.inject(0, copy.clone(), sender_address());
    sim.run(S);
    assert_eq!(sim.receiver.metrics().verdicts.of(Reason::Duplicate), 1);
    // A hand-over behind a crash: what was forgotten then is handed on.
    restarted(&mut sim, accepted, 0);
    let memory = sim.receiver.replay_memory();
    restarted(&mut sim, None, 0);
    let now = sim.now_at(1).wall;
    sim.receiver.restore_replay_memory(&memory, now).unwrap();
    sim.wall[1] = -10 * SECOND_NS as i64;
    sim.run(S);
    sim.inject(0, copy, sender_address());
    sim.run(S);
    assert_eq!(sim.delivered.len(), 1);
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
