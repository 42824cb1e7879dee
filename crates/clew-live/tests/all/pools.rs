//! The pool of precursors: what the sender does when it is short or empty, and which are never used.

use super::sending::{names, push, rng, sender};
use crate::common::group::{OURS, START};
use crate::common::packets::udp;
use crate::common::sim::{MS, S, Sim, moment};
use clew_group::Precursor;
use clew_live::config::EmptyPool;
use clew_live::identity::EpochKey;
use clew_live::pool::{Generation, Marks, Pool, PoolHandle, PrecursorSource};
use clew_live::receiver::InboundOptions;
use clew_live::sender::{Cover, ONLINE_MAX, OutboundOptions, Unsent, WindowSize};
use clew_packet::Timestamp;

#[test]
fn while_precursors_are_scarce_small_packets_wait_in_any_case() {
    let generation = Generation {
        process: 1,
        boot: [0; 16],
    };
    let pool = Pool::new(Marks { low: 1, high: 1 }, generation);
    let mut sender = sender(OutboundOptions::default());
    let mut handle = PoolHandle {
        pool: &pool,
        generation,
    };
    let mut out = Vec::new();
    sender.flush(moment(S, 0), &mut handle, &mut rng(), &mut out);
    push(&mut sender, S, udp(1, 1, 60)).unwrap();
    let next = sender.flush(moment(S, 0), &mut handle, &mut rng(), &mut out);
    assert_eq!((out.len(), next.map(|n| n.as_nanos())), (0, Some(S + MS)));
}

#[test]
fn an_empty_pool_does_what_the_policy_says() {
    for (when_empty, signed) in [(EmptyPool::SignOnline, 8), (EmptyPool::Drop, 0)] {
        let mut sim = Sim::with(
            3,
            OutboundOptions {
                when_empty,
                ..OutboundOptions::default()
            },
            InboundOptions::default(),
        );
        (0..8).for_each(|n| sim.read(u64::from(n) * 5 * MS, vec![udp(1, n, 300)]));
        sim.run(S);
        assert_eq!(sim.delivered.len(), signed, "{when_empty:?}");
        let metrics = sim.sender.metrics();
        assert_eq!(metrics.unsent.of(Unsent::PoolEmpty), 8 - signed as u64);
        assert_eq!(metrics.online, signed as u64);
        assert_eq!(metrics.signatures, signed as u64);
    }
}

/// A precursor is for one key and process, and for one signature.
#[test]
fn precursors_are_taken_once_and_wiped_with_their_process() {
    let identity = OURS.identity(&[(0, 0), (1, START + S)], None);
    let (before, after) = (Timestamp(START), Timestamp(START + S));
    let (first, second) = (identity.at(before).unwrap(), identity.at(after).unwrap());
    let (next, start) = identity.next(before).unwrap().unwrap();
    assert_eq!((next.name(), start), (second.name(), after));
    let parent = Generation {
        process: 1,
        boot: [1; 16],
    };
    let pool = Pool::new(Marks { low: 2, high: 5 }, parent);
    assert!(pool.level().is_low);
    assert_eq!(
        pool.fill_some([Some(first), None], parent, 9, &mut rng()),
        5
    );
    assert_eq!(
        pool.fill_some([Some(first), None], parent, 9, &mut rng()),
        0,
        "it is full"
    );
    assert!(
        pool.take(second.name(), parent).is_none(),
        "none of that epoch"
    );
    (0..3).for_each(|_| assert!(pool.take(first.name(), parent).is_some()));
    assert_eq!(
        pool.fill_some([Some(first), None], parent, 9, &mut rng()),
        0,
        "above the mark"
    );
    assert!(pool.take(first.name(), parent).is_some());
    assert_eq!(
        pool.fill_some([Some(first), Some(second)], parent, 6, &mut rng()),
        6
    );
    let level = pool.level();
    assert_eq!(
        (level.ready, level.taken, level.starved, level.prepared),
        (5, 4, 1, 11)
    );
    // The next epoch comes into force: what the old one had is wiped.
    pool.fill_some([Some(second), None], parent, 0, &mut rng());
    assert_eq!((pool.level().ready, pool.level().discarded), (2, 5));
    let none = Pool::new(Marks { low: 0, high: 0 }, parent);
    for _ in 0..3 {
        assert_eq!(
            none.fill_some([Some(first), None], parent, 9, &mut rng()),
            0
        );
    }
    assert!(
        !none.level().is_low,
        "small packets do not wait for a pool that is never filled"
    );
    // A fork, or a machine that was copied: nothing that was prepared before is used.
    for other in [
        Generation {
            process: 2,
            ..parent
        },
        Generation {
            boot: [2; 16],
            ..parent
        },
    ] {
        pool.fill_some([Some(second), None], parent, 9, &mut rng());
        assert!(pool.take(second.name(), other).is_none());
        assert_eq!(pool.level().ready, 0);
        pool.fill_some([Some(second), None], other, 9, &mut rng());
        assert!(pool.take(second.name(), other).is_some());
    }
}

/// As before a machine is cloned, by a reload.
#[test]
fn a_lower_mark_wipes_what_is_above_it() {
    let identity = OURS.identity(&[(0, 0)], None);
    let key = identity.at(Timestamp(START)).unwrap();
    let here = Generation {
        process: 1,
        boot: [1; 16],
    };
    let pool = Pool::new(Marks { low: 2, high: 5 }, here);
    let fill = || pool.fill_some([Some(key), None], here, 9, &mut rng());
    assert_eq!(fill(), 5);
    for (high, ready) in [(3, 3), (0, 0)] {
        pool.set_marks(Marks { low: 0, high });
        assert_eq!((pool.level().ready, fill()), (ready, 0));
    }
    assert_eq!(pool.level().discarded, 5);
    assert!(pool.take(key.name(), here).is_none());
    pool.set_marks(Marks { low: 2, high: 5 });
    assert_eq!(fill(), 5);
}

/// So many precursors are ready.
struct Ready(u32);

impl PrecursorSource for Ready {
    fn take(&mut self, key: &EpochKey) -> Option<Precursor> {
        self.0 = self.0.checked_sub(1)?;
        Some(key.precursor(&mut rng()))
    }

    fn is_low(&self) -> bool {
        false
    }
}

/// Where each packet has a signature, one flow can need very many. After 8 whose precursors are computed at
/// once packets are read again and other flows have their turn; no packet is lost.
#[test]
fn an_empty_pool_holds_up_nobody_for_more_than_a_few_signatures() {
    for cover in [Cover::Each, Cover::Window(WindowSize::Fixed(4))] {
        let mut sender = sender(OutboundOptions {
            cover,
            ..OutboundOptions::default()
        });
        (0..20).for_each(|n| push(&mut sender, S, udp(1, n, 300)).unwrap());
        (0..3).for_each(|n| push(&mut sender, S, udp(2, n, 300)).unwrap());
        let (mut pool, mut flushes) = (Ready(5), Vec::new());
        for now in [S, S + MS, S + 2 * MS] {
            let (mut out, before) = (Vec::new(), sender.metrics().online);
            let next = sender.flush(moment(now, 0), &mut pool, &mut rng(), &mut out);
            assert!(sender.metrics().online - before <= ONLINE_MAX, "{cover:?}");
            let is_more = next.is_some_and(|next| next.as_nanos() <= now);
            assert_eq!(is_more, now < S + 2 * MS, "{cover:?}");
            flushes.push(names(&out));
        }
        let counts: Vec<usize> = flushes.iter().map(Vec::len).collect();
        assert_eq!(counts, [13, 8, 2], "{cover:?}");
        let all = flushes.concat();
        let place = all.iter().position(|name| *name == (2, 2));
        assert!(place < Some(16), "the other flow has its turn: {all:?}");
        for (flow, count) in [(1, 20), (2, 3)] {
            let own = all.iter().filter(|name| name.0 == flow).map(|name| name.1);
            assert!(own.eq(0..count), "none is lost, in order: {all:?}");
        }
        assert_eq!(sender.queued(), (0, 0));
        // With a full pool all leave at once.
        let now = S + 3 * MS;
        (0..100).for_each(|n| push(&mut sender, now, udp(3, n, 300)).unwrap());
        let mut out = Vec::new();
        let next = sender.flush(moment(now, 0), &mut Ready(100), &mut rng(), &mut out);
        assert_eq!((names(&out).len(), next), (100, None), "{cover:?}");
    }
}
