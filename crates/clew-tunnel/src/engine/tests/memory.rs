//! Nonces, replays, rates, queues, tables, datagrams.

use core::net::SocketAddr;
use std::vec::Vec;

use proptest::prelude::*;

use crate::boxes::Key;
use crate::engine::agenda::Agenda;
use crate::engine::hash::Hasher;
use crate::engine::nonces::NonceMemory;
use crate::engine::outgoing::Outgoing;
use crate::engine::queue::Queue;
use crate::engine::rate::{Bucket, Prefixes, Rate};
use crate::engine::replay::ReplaySet;
use crate::engine::table::Table;
use crate::keys::{self, Nonce};
use crate::limits::{ACCEPTANCE_WINDOW, NONCES};
use crate::reason::Reason;
use crate::wire::packet::{Header, Side, Tid};
use clew_wire::{Instant, WallTime};
use core::time::Duration;

fn nonce(t: u64) -> Nonce {
    Nonce::new(t, Side::Client)
}

proptest! {
#[test]
    fn a_nonce_memory_says_what_a_list_of_all_would(
        steps in prop::collection::vec((0..3_000_u64, any::<bool>()), 1..400),
    ) {
        let mut memory = NonceMemory::default();
        let mut all: Vec<u64> = Vec::new();
        let mut base = 1 << 40;
        for (step, far) in steps {
            let t = base + step - 1_500 + if far { 700 } else { 0 };
            let highest = all.iter().max().copied();
            let expected = match highest {
                Some(highest) if t + NONCES as u64 <= highest => Err(Reason::OldNonce),
                _ if all.contains(&t) => Err(Reason::DuplicateNonce),
                _ => Ok(()),
            };
            prop_assert_eq!(memory.check(nonce(t)), expected);
            if expected.is_ok() {
                prop_assert_eq!(memory.note(nonce(t)), highest.is_none_or(|highest| t > highest));
                all.push(t);
                base = base.max(t);
            }
        }
    }
}

#[test]
fn a_jump_of_nonces_forgets_all_that_was_before() {
    let mut memory = NonceMemory::default();
    assert!(memory.note(nonce(5)) && memory.note(nonce(5 + NONCES as u64)));
    assert_eq!(memory.check(nonce(5)), Err(Reason::OldNonce));
    assert_eq!(memory.check(nonce(6)), Ok(()));
    assert!(memory.note(nonce(u64::MAX >> 1)));
    assert_eq!(
        memory.check(nonce(u64::MAX >> 1)),
        Err(Reason::DuplicateNonce)
    );
    assert_eq!(memory.check(nonce((u64::MAX >> 1) - 1)), Ok(()));
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn client(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

#[test]
fn a_replay_set_forgets_what_is_out_of_time_and_raises_its_floor_when_full() {
    let mut set = ReplaySet::new(Hasher::new([1; 16]), 16, ACCEPTANCE_WINDOW);
    let start = 1_000_000_000_000;
    let wall = WallTime::from_nanos(start);
    for n in 0..16 {
        set.insert(&client(n), start + u64::from(n), wall);
    }
    assert_eq!(set.check(&client(3), start + 99), Err(Reason::Replayed));
    assert_eq!(set.check(&client(99), 1), Ok(()), "no floor yet");
    set.insert(&client(16), start + 16, wall);
    assert_eq!(set.len(), 16);
    assert_eq!(
        set.check(&client(99), start),
        Err(Reason::Replayed),
        "the floor"
    );
    assert_eq!(set.check(&client(99), start + 1), Ok(()));
    // What cannot be accepted any more needs no place, and no floor.
    let wall = wall + ACCEPTANCE_WINDOW + Duration::from_nanos(17);
    let later = wall.as_nanos();
    set.insert(&client(17), later, wall);
    assert_eq!(set.len(), 1);
    assert_eq!(set.check(&client(99), start + 1), Ok(()));
    assert_eq!(set.check(&client(17), later + 1), Err(Reason::Replayed));
}

#[test]
fn a_packet_of_the_future_is_remembered_until_its_window_ends() {
    let mut set = ReplaySet::new(Hasher::new([1; 16]), 16, ACCEPTANCE_WINDOW);
    let now = WallTime::from_millis(1_000_000);
    let ahead = (now + ACCEPTANCE_WINDOW).as_nanos();
    set.insert(&client(1), ahead, now);
    set.insert(&client(2), now.as_nanos(), now + 2 * ACCEPTANCE_WINDOW);
    assert_eq!(set.check(&client(1), ahead), Err(Reason::Replayed));
}

#[test]
fn a_bucket_gives_so_many_at_once_and_so_many_a_second() {
    let rate = Rate {
        per_second: 10,
        at_once: 4,
    };
    let mut bucket = Bucket::default();
    let mut take = |millis: u64| {
        let now = at(millis * 1_000_000);
        (0..100).filter(|_| bucket.take(rate, now)).count()
    };
    assert_eq!([take(0), take(100), take(200), take(9_000)], [4, 1, 1, 4]);
}

#[test]
fn addresses_of_one_prefix_share_their_rate_and_others_do_not() {
    let mut prefixes = Prefixes::new(Hasher::new([3; 16]), Rate::per_second(2));
    let mut take =
        |text: &str| prefixes.take(text.parse::<SocketAddr>().expect("an address"), at(0));
    assert!(take("192.0.2.1:1") && take("192.0.2.200:9"));
    assert!(!take("192.0.2.3:1") && take("192.0.3.1:1"));
    assert!(take("[2001:db8:0:1::1]:1") && take("[2001:db8:0:ff::2]:1"));
    assert!(!take("[2001:db8:0:7::3]:1") && take("[2001:db8:0:100::1]:1"));
}

#[test]
fn a_queue_gives_back_what_it_was_given_and_keeps_no_memory() {
    let mut queue = Queue::new();
    let bytes = |n: u32| std::vec![n as u8; n as usize % 700];
    let (mut first, mut last) = (0, 0);
    for round in 0..3_000_u32 {
        for _ in 0..=round % 3 {
            queue.push(&bytes(last));
            last += 1;
        }
        if round % 5 != 0 && first < last {
            assert_eq!(queue.front(), Some(&bytes(first)[..]));
            queue.pop();
            first += 1;
        }
    }
    assert_eq!(
        queue.bytes(),
        (first..last).map(|n| n as usize % 700).sum::<usize>()
    );
    while queue.front().is_some() {
        queue.pop();
    }
    assert!(queue.is_empty() && queue.bytes() == 0);
    let refused = queue.push_with(|out| {
        out.push(1);
        Err(())
    });
    assert_eq!((refused, queue.bytes()), (Err(()), 0));
}

#[test]
fn a_number_of_a_table_is_never_another_tunnels() {
    let mut table = Table::default();
    let first = table.insert(|_| 'a');
    assert_eq!(table.remove(first.index), Some('a'));
    let second = table.insert(|_| 'b');
    assert_eq!((first.index, table.len()), (second.index, 1));
    assert_eq!(table.get(first), None);
    assert_eq!(table.get(second), Some(&mut 'b'));
    assert_eq!(table.remove(first.index + 1), None);
}

#[test]
fn an_agenda_has_one_instant_for_each() {
    let mut agenda = Agenda::default();
    let (mut one, mut two) = (None, None);
    agenda.move_to(1, &mut one, Some(at(20)));
    agenda.move_to(2, &mut two, Some(at(10)));
    agenda.move_to(1, &mut one, Some(at(5)));
    assert_eq!(
        (agenda.next(), agenda.due(at(4)), agenda.due(at(5))),
        (Some(at(5)), None, Some((at(5), 1)))
    );
    agenda.move_to(1, &mut one, None);
    assert_eq!(agenda.due(at(99)), Some((at(10), 2)));
    agenda.move_to(2, &mut two, None);
    assert_eq!(agenda.next(), None);
}

#[test]
fn runs_have_one_address_and_one_length_but_for_the_last() {
    let stream = keys::stream(&Key::from_bytes([1; 32]), Tid::from_random([1; 8]));
    let to: SocketAddr = "192.0.2.1:1".parse().expect("an address");
    let other: SocketAddr = "192.0.2.1:2".parse().expect("an address");
    let mut out = Outgoing::new(1_000);
    let plan = [
        (to, 100),
        (to, 100),
        (to, 60),
        (to, 100),
        (to, 120),
        (other, 120),
        (to, 50),
        (to, 50),
    ];
    for (n, (to, length)) in plan.into_iter().enumerate() {
        let header = Header {
            tid: Tid::from_random([1; 8]),
            nonce: nonce(n as u64),
            initiation: None,
        };
        assert_eq!(
            out.push((0, to), &header, (0, 0), b"", length, &stream),
            Some(length)
        );
    }
    out.push_plain((3, to), &[9; 50]);
    out.seal();
    let runs: Vec<_> = out
        .runs()
        .map(|run| (run.from, run.to.port(), run.bytes.len(), run.segment))
        .collect();
    let expected = [
        (0, 1, 260, 100),
        (0, 1, 100, 100),
        (0, 1, 120, 120),
        (0, 2, 120, 120),
        (0, 1, 100, 50),
        (3, 1, 50, 50),
    ];
    assert_eq!(runs, expected);
    out.clear();
    for n in 0..200 {
        out.push_plain((0, to), &[n; 1_200]);
    }
    let counts: Vec<_> = out.runs().map(|run| run.bytes.len() / 1_200).collect();
    assert_eq!(counts, [54, 54, 54, 38], "what systems take in one call");
}
