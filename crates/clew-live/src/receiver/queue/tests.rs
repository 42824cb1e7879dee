//! Fairness, bounds and order of the queue.

use super::*;
use rand_chacha::{ChaCha20Rng, rand_core::Rng, rand_core::SeedableRng};
use std::net::Ipv4Addr;

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn source(number: u32) -> Source {
    IpAddr::V4(Ipv4Addr::from_bits(number << 8)).into()
}

fn queue() -> FairQueue<u32> {
    let budget = VerificationBudget {
        overall: Duration::from_secs(10),
        unknown_source: Duration::from_secs(10),
    };
    FairQueue::new(budget, at(0))
}

const MS: Duration = Duration::from_millis(1);

/// Keeps these sources' queues full for a second of one verifier. Returns the time that each got;
/// a signature of source n costs `costs[n]`.
fn share(queue: &mut FairQueue<u32>, costs: &[Duration]) -> Vec<Duration> {
    let mut spent = vec![Duration::ZERO; costs.len()];
    let (mut now, end) = (at(0), at(1_000));
    while now < end {
        for number in 0..costs.len() as u32 {
            while queue
                .queues
                .get(&source(number))
                .is_none_or(|q| q.items.len() < 20)
            {
                assert_eq!(queue.push(source(number), number, now), None);
            }
        }
        let (batch, _) = queue.take(now);
        let charged = batch.charged();
        let sources: Vec<Source> = batch.items.iter().map(|(s, _)| *s).collect();
        let costs_of_batch = batch.items.iter().map(|(_, n)| costs[*n as usize]);
        let cost: Duration = costs_of_batch.sum();
        for (_, number) in batch.items {
            spent[number as usize] += costs[number as usize];
        }
        now = now + cost;
        queue.charge(&sources, charged, cost, now);
    }
    spent
}

#[test]
fn unknown_sources_share_time_and_not_signatures() {
    let mut queue = queue();
    let spent = share(&mut queue, &[MS, 4 * MS, MS / 2]);
    for time in &spent {
        assert!((250..=420).contains(&time.as_millis()), "{spent:?}");
    }
}

#[test]
fn known_sources_get_three_quarters() {
    let mut queue = queue();
    queue.standings.judged(source(0), true, at(0));
    let spent = share(&mut queue, &[MS; 6]);
    assert!((650..=850).contains(&spent[0].as_millis()), "{spent:?}");
    let least = spent[1..].iter().min().unwrap();
    assert!(least.as_millis() >= 20, "{spent:?}");
}

#[test]
fn an_unknown_source_has_a_budget_and_so_have_all() {
    let budget = VerificationBudget {
        overall: 500 * MS,
        unknown_source: 100 * MS,
    };
    let mut queue = FairQueue::new(budget, at(0));
    let (mut spent, mut others) = (Duration::ZERO, Duration::ZERO);
    for ms in 0..1_000 {
        for number in 0..9 {
            queue.push(source(number), number, at(ms));
        }
        let (batch, _) = queue.take(at(ms));
        let sources: Vec<Source> = batch.items.iter().map(|(s, _)| *s).collect();
        let cost = MS * sources.len() as u32;
        queue.charge(&sources, batch.charged(), cost, at(ms));
        let own = sources.iter().filter(|s| **s == source(0)).count() as u32;
        spent += MS * own;
        others += cost - MS * own;
    }
    // A second's budget, and what was saved up.
    assert!(spent <= 140 * MS, "{spent:?}");
    assert!(
        (400 * MS..=640 * MS).contains(&(spent + others)),
        "{:?}",
        spent + others
    );
}

#[test]
fn a_full_queue_takes_from_who_has_most_and_from_known_ones_last() {
    let mut queue = queue();
    queue.standings.judged(source(0), true, at(0));
    for item in 0..SIGNATURES_OF_SOURCE_MAX as u32 {
        assert_eq!(queue.push(source(0), item, at(0)), None);
    }
    assert_eq!(queue.push(source(0), 9_999, at(0)), Some(9_999));
    let room = SIGNATURES_MAX - SIGNATURES_OF_SOURCE_MAX;
    for number in 0..room as u32 {
        let refused = queue.push(source(1 + number % 4), number, at(0));
        assert_eq!(refused, None, "{number}");
    }
    assert_eq!(queue.count(), SIGNATURES_MAX);
    assert!(
        queue
            .push(source(77), 5, at(0))
            .is_some_and(|item| item != 5)
    );
    assert_eq!(queue.count(), SIGNATURES_MAX);
    let known = queue.queues[&source(0)].items.len();
    assert_eq!(known, SIGNATURES_OF_SOURCE_MAX);
    // Nobody takes them: after a while all are too old.
    let (batch, stale) = queue.take(at(501));
    assert_eq!((batch.items.len(), stale.len()), (0, SIGNATURES_MAX));
    assert!(queue.queues.is_empty() && queue.heads.is_empty() && queue.lengths.is_empty());
    assert!(queue.lines.iter().all(|line| line.sources.is_empty()));
}

#[test]
fn of_many_new_sources_the_first_is_first() {
    let mut queue = queue();
    queue.push(source(9_000_000), 1, at(0));
    for number in 0..100 {
        queue.push(source(number), 2, at(1));
    }
    assert_eq!(queue.take(at(2)).0.items, [(source(9_000_000), 1)]);
}

#[test]
fn sources_are_networks() {
    let source = |text: &str| Source::from(text.parse::<IpAddr>().unwrap());
    assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
    assert_eq!(source("192.0.2.1"), source("::ffff:192.0.2.1"));
    let prefix = |text| source(text).prefix();
    assert_eq!(prefix("192.0.2.1"), prefix("192.0.2.200"));
    assert_eq!(prefix("192.0.2.1"), prefix("::ffff:192.0.2.9"));
    assert_ne!(prefix("192.0.2.1"), prefix("192.0.3.1"));
    assert_eq!(prefix("2001:db8:0:12::1"), prefix("2001:db8:0:34::9"));
    assert_ne!(prefix("2001:db8:0:100::1"), prefix("2001:db8:0:200::1"));
}

/// Whatever happens in whatever order, all lists say the same.
#[test]
fn all_lists_agree() {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let mut below = |end: u32| rng.next_u32() % end;
    let mut queue = queue();
    let (mut pushed, mut left) = (0, 0);
    for ms in 0..4_000 {
        let source = source(below(12));
        match below(8) {
            0..4 => {
                pushed += 1;
                left += usize::from(queue.push(source, ms, at(ms.into())).is_some());
            }
            4..6 => {
                let (batch, stale) = queue.take(at(ms.into()));
                left += batch.items.len() + stale.len();
                let sources: Vec<Source> = batch.items.iter().map(|(s, _)| *s).collect();
                let spent = Duration::from_micros(below(9_000).into());
                queue.charge(&sources, batch.charged(), spent, at(ms.into()));
            }
            6 => queue.standings.judged(source, below(5) > 0, at(ms.into())),
            _ => left += queue.retain_of_unknown(|item| item % 16 > 0).len(),
        }
        let lengths = queue.queues.values().map(|q| q.items.len());
        assert_eq!(
            (queue.count(), pushed),
            (lengths.sum(), left + queue.count())
        );
        let count = queue.queues.len();
        assert_eq!((queue.heads.len(), queue.lengths.len()), (count, count));
        let listed = queue.lines.iter().map(|line| line.sources.len());
        assert_eq!(listed.sum::<usize>(), count);
    }
    assert!(left > 500);
}
