//! What sources have shown: whether their signatures held, and what those cost.

use crate::receiver::budget::Budget;
use crate::receiver::queue::Source;
use clew_tree::LruMap;
use clew_wire::Instant;
use std::collections::BTreeSet;
use std::time::Duration;

/// Most sources that are remembered, of each class. The one that was seen last stays longest.
pub const SOURCES_MAX: usize = 4_096;

/// Most flows that are remembered, besides.
pub const FLOWS_MAX: usize = 1 << 14;

/// How long a signature that held makes its source a known one.
const KNOWN_FOR: Duration = Duration::from_secs(60);

/// Counts are halved when there are so many, so that the past weighs less.
const JUDGED_MAX: u32 = 64;

/// A known source has at least so many signatures that held for each that did not.
const GOOD_FOR_BAD: u32 = 4;

/// Whether a source is known as good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Known = 0,
    Unknown = 1,
}

/// All sources.
#[derive(Debug)]
pub(crate) struct Standings {
    /// Addresses, each with a signature that held: a neighbour's do not count against it, and a flood of
    /// new sources pushes nobody out.
    known: LruMap<Source, Standing>,
    /// Flows, each with a signature that held, of addresses that anybody may have written.
    flows: LruMap<Source, Standing>,
    /// Prefixes.
    unknown: LruMap<Source, Standing>,
    /// Addresses that peers are configured to have.
    expected: BTreeSet<Source>,
    budget: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Standing {
    good: u32,
    bad: u32,
    last_good: Option<Instant>,
    /// What it has cost in all, in nanoseconds, when it last had something in the queue.
    cost: u64,
    budget: Budget,
}

impl Standings {
    /// Returns an empty list. `budget` is the time a second for a source that is not known.
    pub fn new(budget: Duration) -> Self {
        Self {
            known: LruMap::new(),
            flows: LruMap::new(),
            unknown: LruMap::new(),
            expected: BTreeSet::new(),
            budget,
        }
    }

    /// Returns the class of a source.
    pub fn class(&self, source: Source, now: Instant) -> Class {
        match self.known_of(source).get(&source) {
            Some(standing) if standing.is_known(now) => Class::Known,
            _ => Class::Unknown,
        }
    }

    /// Returns whether signatures from an address or flow held so far, however long ago.
    pub fn is_good(&self, source: Source) -> bool {
        let standing = self.known_of(source).get(&source);
        standing.is_some_and(Standing::is_good)
    }

    fn known_of(&self, source: Source) -> &LruMap<Source, Standing> {
        match source.is_flow() {
            true => &self.flows,
            false => &self.known,
        }
    }

    fn known_of_mut(&mut self, source: Source) -> &mut LruMap<Source, Standing> {
        match source.is_flow() {
            true => &mut self.flows,
            false => &mut self.known,
        }
    }

    /// Replaces the addresses that peers are configured to have.
    pub fn expect(&mut self, addresses: impl Iterator<Item = Source>) {
        self.expected = addresses.collect();
    }

    /// Returns who pays for an address: itself if a peer is configured there or its signatures held so
    /// far, however long ago, or else its prefix. So no neighbour spends what a silent peer needs.
    pub fn payer(&self, address: Source) -> Source {
        match self.is_good(address) || self.expected.contains(&address) {
            true => address,
            false => address.prefix(),
        }
    }

    /// Takes note of a signature that came from an address, or in a flow.
    pub fn judged(&mut self, source: Source, is_good: bool, now: Instant) {
        let budget = self.budget;
        let most = if source.is_flow() {
            FLOWS_MAX
        } else {
            SOURCES_MAX
        };
        let known = self.known_of_mut(source);
        if !is_good && known.get(&source).is_none() {
            return;
        }
        let standing = known.entry(source, || Standing::new(budget, now));
        standing.judged(is_good, now);
        if known.count() > most {
            known.pop_oldest();
        }
    }

    /// A flow is expected, as if a signature of it had held, unless others did not.
    pub fn expect_flow(&mut self, flow: Source, now: Instant) {
        let budget = self.budget;
        let standing = self.flows.entry(flow, || Standing {
            good: 1,
            last_good: Some(now),
            ..Standing::new(budget, now)
        });
        if standing.is_good() {
            standing.last_good = Some(now);
        }
        if self.flows.count() > FLOWS_MAX {
            self.flows.pop_oldest();
        }
    }

    /// Forgets what a flow has shown.
    pub fn forget_flow(&mut self, flow: Source) {
        self.flows.remove(&flow);
    }

    /// Returns whether an unknown source has time left.
    pub fn has_budget(&mut self, source: Source, now: Instant) -> bool {
        self.standing(source, now).budget.has(now)
    }

    /// Takes time from a source's budget.
    pub fn charge(&mut self, source: Source, spent: Duration, now: Instant) {
        self.standing(source, now).budget.charge(spent, now);
    }

    /// Replaces what was charged in advance with what was spent.
    pub fn correct(&mut self, source: Source, charged: Duration, spent: Duration, now: Instant) {
        self.standing(source, now)
            .budget
            .correct(charged, spent, now);
    }

    /// Returns what a source had cost when it last had something in the queue.
    pub fn cost(&mut self, source: Source, now: Instant) -> u64 {
        self.standing(source, now).cost
    }

    /// Remembers what a source has cost.
    pub fn keep_cost(&mut self, source: Source, cost: u64) {
        let is_known = self.known_of(source).get(&source).is_some();
        let all = match is_known {
            true => self.known_of_mut(source),
            false => &mut self.unknown,
        };
        if let Some(standing) = all.get_mut(&source) {
            standing.cost = cost;
        }
    }

    fn standing(&mut self, source: Source, now: Instant) -> &mut Standing {
        let budget = self.budget;
        if self.known_of(source).get(&source).is_some() {
            let known = self.known_of_mut(source);
            return known.entry(source, || Standing::new(budget, now));
        }
        if self.unknown.get(&source).is_none() && self.unknown.count() >= SOURCES_MAX {
            self.unknown.pop_oldest();
        }
        self.unknown.entry(source, || Standing::new(budget, now))
    }
}

impl Standing {
    fn new(budget: Duration, now: Instant) -> Self {
        Self {
            good: 0,
            bad: 0,
            last_good: None,
            cost: 0,
            budget: Budget::new(budget, now),
        }
    }

    fn is_known(&self, now: Instant) -> bool {
        let is_recent = |at| now - at <= KNOWN_FOR;
        self.last_good.is_some_and(is_recent) && self.is_good()
    }

    const fn is_good(&self) -> bool {
        self.last_good.is_some() && self.good >= self.bad * GOOD_FOR_BAD
    }

    fn judged(&mut self, is_good: bool, now: Instant) {
        if self.good + self.bad >= JUDGED_MAX {
            (self.good, self.bad) = (self.good / 2, self.bad / 2);
        }
        if is_good {
            self.good += 1;
            self.last_good = Some(now);
        } else {
            self.bad += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn source(number: u32) -> Source {
        IpAddr::V4(Ipv4Addr::from_bits(number << 8)).into()
    }

    #[test]
    fn a_source_is_known_while_its_signatures_hold() {
        let mut standings = Standings::new(Duration::from_secs(1));
        let class = |standings: &Standings, ms| standings.class(source(1), at(ms));
        assert_eq!(class(&standings, 0), Class::Unknown);
        standings.judged(source(1), true, at(0));
        assert_eq!(class(&standings, 60_000), Class::Known);
        assert_eq!(class(&standings, 60_001), Class::Unknown, "a minute ago");
        standings.judged(source(1), false, at(1));
        assert_eq!(class(&standings, 1), Class::Unknown, "one of two is bad");
        (0..4).for_each(|_| standings.judged(source(1), true, at(2)));
        assert_eq!(class(&standings, 2), Class::Known);
    }

    #[test]
    fn a_neighbour_costs_an_address_nothing() {
        let mut standings = Standings::new(Duration::from_secs(1));
        let [good, bad] = [7, 8].map(|last| Source::from(IpAddr::from([192, 0, 2, last])));
        standings.judged(good, true, at(0));
        (0..99).for_each(|_| standings.judged(bad, false, at(1)));
        assert_eq!(standings.payer(good), good);
        assert_eq!(standings.payer(bad), bad.prefix());
        (0..2).for_each(|_| standings.judged(good, false, at(3)));
        assert_eq!(standings.payer(good), good.prefix(), "its own count");
    }

    #[test]
    fn a_peer_s_address_pays_for_itself_before_and_after() {
        let mut standings = Standings::new(Duration::from_secs(1));
        let [silent, configured, other] =
            [7, 8, 9].map(|last| Source::from(IpAddr::from([192, 0, 2, last])));
        standings.judged(silent, true, at(0));
        standings.expect([configured].into_iter());
        assert_eq!(standings.class(silent, at(90_000)), Class::Unknown);
        assert_eq!(standings.payer(silent), silent, "however long ago");
        assert_eq!(standings.class(configured, at(0)), Class::Unknown);
        assert_eq!(standings.payer(configured), configured);
        assert_eq!(standings.payer(other), other.prefix());
    }

    #[test]
    fn an_expected_flow_is_known_until_signatures_under_its_name_do_not_hold() {
        let mut standings = Standings::new(Duration::from_secs(1));
        let flow = |number: u32| {
            let upper = [number.to_be_bytes(), [0; 4]].concat();
            let header = [0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0];
            let packet = [&header[..], &[10, 1, 0, 1, 10, 2, 0, 1], &upper].concat();
            crate::receiver::trailed_flow::TrailedFlow::of(&packet)
                .unwrap()
                .own()
        };
        standings.expect_flow(flow(1), at(0));
        assert_eq!(standings.class(flow(1), at(60_000)), Class::Known);
        assert_eq!(standings.class(flow(1), at(60_001)), Class::Unknown);
        standings.expect_flow(flow(1), at(60_001));
        assert_eq!(standings.class(flow(1), at(60_001)), Class::Known);
        standings.judged(flow(1), false, at(60_002));
        standings.expect_flow(flow(1), at(60_003));
        assert_eq!(standings.class(flow(1), at(60_003)), Class::Unknown);
        standings.forget_flow(flow(1));
        assert!(!standings.is_good(flow(1)));
        (0..2 * FLOWS_MAX as u32).for_each(|number| standings.expect_flow(flow(number), at(1)));
        assert_eq!(standings.flows.count(), FLOWS_MAX);
    }

    #[test]
    fn a_flood_of_sources_pushes_no_known_one_out() {
        let mut standings = Standings::new(Duration::from_secs(1));
        standings.judged(source(0), true, at(0));
        for number in 1..=3 * SOURCES_MAX as u32 {
            standings.judged(source(number), false, at(1));
            standings.charge(source(number).prefix(), Duration::ZERO, at(1));
        }
        assert_eq!(standings.class(source(0), at(2)), Class::Known);
        assert_eq!(standings.unknown.count(), SOURCES_MAX);
    }
}
