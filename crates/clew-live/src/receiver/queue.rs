//! Signatures that wait for a verifier: shared fairly between sources, by the time that they cost.
//!
//! Sources are addresses whose signatures held lately, and the prefixes of all others: a /24 of IPv4, a
//! /56 of IPv6. Within a class the source that has cost least so far is next (start-time fair
//! queueing). The addresses are a class of their own, which has [`KNOWN_WEIGHT`] times the share of
//! the prefixes.

use crate::receiver::budget::Budget;
use crate::receiver::standing::{Class, Standings};
use clew_packet::Flow;
use clew_wire::{Instant, nanos};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

/// Most signatures that wait.
pub const SIGNATURES_MAX: usize = 4_096;
/// Most signatures of one source that wait.
pub const SIGNATURES_OF_SOURCE_MAX: usize = 1_024;
/// How long a signature waits at most.
pub const SIGNATURE_WAIT_MAX: Duration = Duration::from_millis(500);
/// Most signatures that one call of a verifier checks.
pub const BATCH_MAX: usize = 64;
/// The same for a source that is not known as good: a forged signature makes a batch dear.
const UNKNOWN_BATCH_MAX: usize = 16;
/// How much more known sources get than others, if both have something.
const KNOWN_WEIGHT: u64 = 3;

/// An address, or a prefix that is served as one source, or a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// IPv4 is mapped into IPv6. Of a flow a hash.
    bits: u128,
    /// Of the prefix in bits; 128 for an address, [`FLOW`] for a flow.
    length: u8,
}

/// The length of a flow, which no prefix has.
const FLOW: u8 = 129;

/// Lengths of prefixes; IPv4 is mapped into IPv6.
const PREFIX_V4: u8 = 96 + 24;
const PREFIX_V6: u8 = 56;

impl From<IpAddr> for Source {
    fn from(address: IpAddr) -> Self {
        let bits = match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
            IpAddr::V6(v6) => v6.to_bits(),
        };
        Self { bits, length: 128 }
    }
}

impl Source {
    /// Returns a flow as a source of its own. `detail` tells it from others of the same ports.
    pub fn of_flow(flow: &Flow, detail: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for address in [flow.source, flow.destination] {
            hasher.update(&Self::from(address).bits.to_be_bytes());
        }
        hasher.update(&[flow.protocol]);
        for port in [flow.source_port, flow.destination_port] {
            hasher.update(&[u8::from(port.is_some())]);
            hasher.update(&port.unwrap_or(0).to_be_bytes());
        }
        hasher.update(detail);
        let mut bits = [0; 16];
        hasher.finalize_xof().fill(&mut bits);
        Self {
            bits: u128::from_be_bytes(bits),
            length: FLOW,
        }
    }

    /// Returns whether this is a flow.
    pub const fn is_flow(self) -> bool {
        self.length == FLOW
    }

    /// Returns the prefix of an address.
    pub fn prefix(self) -> Self {
        let is_v4 = self.bits >> 32 == 0xffff;
        let length = if is_v4 { PREFIX_V4 } else { PREFIX_V6 };
        Self {
            bits: self.bits & (u128::MAX << (128 - length)),
            length,
        }
    }
}

/// What a verifier takes at once: of one source, or of known ones.
#[derive(Debug)]
pub(crate) struct Batch<T> {
    pub items: Vec<(Source, T)>,
    /// What the items were charged in advance, each.
    charged: Duration,
}

/// How much time verification may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerificationBudget {
    /// CPU time a second, of all verifiers together.
    pub overall: Duration,
    /// CPU time a second for a source that is not known as good.
    pub unknown_source: Duration,
}

impl Default for VerificationBudget {
    /// As much as 64 verifiers have, which limits nobody; for an unknown source a quarter of one.
    fn default() -> Self {
        Self {
            overall: Duration::from_secs(64),
            unknown_source: Duration::from_millis(250),
        }
    }
}

/// The queue.
#[derive(Debug)]
pub(crate) struct FairQueue<T> {
    queues: BTreeMap<Source, SourceQueue<T>>,
    lines: [ClassOrder; 2],
    /// By class, others last, and length.
    lengths: BTreeSet<(Class, usize, Source)>,
    heads: BTreeSet<(Instant, Source)>,
    count: usize,
    next: u64,
    budget: Budget,
    pub standings: Standings,
    /// What a signature cost lately.
    estimate: Duration,
}

#[derive(Debug)]
struct SourceQueue<T> {
    class: Class,
    /// What the source had cost when it came, at least, in nanoseconds.
    cost: u64,
    /// Of two that cost the same, the one that came first is next.
    number: u64,
    items: VecDeque<(Instant, T)>,
}

/// The sources of a class, the one that cost least first.
#[derive(Debug, Default)]
struct ClassOrder {
    sources: BTreeSet<(u64, u64, Source)>,
    /// What the class has cost, divided by its weight.
    cost: u64,
    /// The cost of the source that was served last: who comes new begins there.
    now: u64,
}

impl<T> FairQueue<T> {
    /// Returns an empty queue.
    pub fn new(budget: VerificationBudget, now: Instant) -> Self {
        Self {
            queues: BTreeMap::new(),
            lines: Default::default(),
            lengths: BTreeSet::new(),
            heads: BTreeSet::new(),
            count: 0,
            next: 0,
            budget: Budget::new(budget.overall, now),
            standings: Standings::new(budget.unknown_source),
            estimate: Duration::from_millis(1),
        }
    }

    /// Returns how many wait.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Adds one. Returns the one that has no room: the last one of the source with the most, and of
    /// an unknown one before that of a known one.
    pub fn push(&mut self, source: Source, item: T, now: Instant) -> Option<T> {
        let own = self.queues.get(&source).map_or(0, |q| q.items.len());
        if own >= SIGNATURES_OF_SOURCE_MAX {
            return Some(item);
        }
        let mut refused = None;
        if self.count >= SIGNATURES_MAX {
            let (_, most, longest) = *self.lengths.last()?;
            if longest == source || most <= own {
                return Some(item);
            }
            refused = self.drop_last(longest);
        }
        self.unlist(source);
        let class = self.standings.class(source, now);
        if !self.queues.contains_key(&source) {
            let cost = self.standings.cost(source, now);
            let line = &mut self.lines[class as usize];
            let queue = SourceQueue {
                class,
                cost: cost.max(line.now),
                number: self.next,
                items: VecDeque::new(),
            };
            self.next += 1;
            self.wake(class);
            self.queues.insert(source, queue);
        }
        if let Some(queue) = self.queues.get_mut(&source) {
            queue.items.push_back((now, item));
            self.count += 1;
        }
        self.list(source, now);
        refused
    }

    /// Takes what a verifier checks next, and what waited too long. Returns an empty batch if there
    /// is nothing, or no budget.
    pub fn take(&mut self, now: Instant) -> (Batch<T>, Vec<T>) {
        let stale = self.drop_stale(now);
        let mut batch = Batch {
            items: Vec::new(),
            charged: self.estimate,
        };
        if !self.budget.has(now) {
            return (batch, stale);
        }
        let mut classes = [Class::Known, Class::Unknown];
        classes.sort_by_key(|class| self.lines[*class as usize].cost);
        for class in classes {
            self.take_of(class, now, &mut batch);
            if !batch.items.is_empty() {
                break;
            }
        }
        let charged = self.estimate * batch.items.len() as u32;
        self.budget.charge(charged, now);
        (batch, stale)
    }

    /// Takes note of what a batch really cost. Known sources share it.
    pub fn charge(&mut self, sources: &[Source], charged: Duration, spent: Duration, now: Instant) {
        let count = u32::try_from(sources.len()).unwrap_or(u32::MAX);
        let Some(each) = spent.checked_div(count) else {
            return;
        };
        self.estimate = (self.estimate * 7 + each) / 8;
        self.budget.correct(charged * count, spent, now);
        for source in sources {
            self.correct(*source, charged, each, now);
        }
    }

    /// Takes out those of unknown sources that `is_wanted` does not want.
    pub fn retain_of_unknown(&mut self, is_wanted: impl Fn(&T) -> bool) -> Vec<T> {
        let line = &self.lines[Class::Unknown as usize];
        let sources: Vec<Source> = line.sources.iter().map(|(_, _, s)| *s).collect();
        let mut out = Vec::new();
        for source in sources {
            self.unlist(source);
            if let Some(queue) = self.queues.get_mut(&source) {
                let items = std::mem::take(&mut queue.items);
                let (kept, rest): (VecDeque<_>, VecDeque<_>) =
                    items.into_iter().partition(|(_, item)| is_wanted(item));
                queue.items = kept;
                self.count -= rest.len();
                out.extend(rest.into_iter().map(|(_, item)| item));
            }
            self.relist(source);
        }
        out
    }

    /// Returns for how long the signature that came first has waited.
    pub fn wait(&self, now: Instant) -> Duration {
        self.heads
            .first()
            .map_or(Duration::ZERO, |(at, _)| now - *at)
    }

    /// Returns whether the overall budget is spent.
    pub fn is_spent(&mut self, now: Instant) -> bool {
        !self.budget.has(now)
    }

    fn take_of(&mut self, class: Class, now: Instant, batch: &mut Batch<T>) {
        let (most, only) = match class {
            Class::Known => (BATCH_MAX, None),
            Class::Unknown => match self.payable(now) {
                Some(source) => (UNKNOWN_BATCH_MAX, Some(source)),
                None => return,
            },
        };
        while batch.items.len() < most {
            let first = self.lines[class as usize].sources.first();
            let next = only.or(first.map(|(_, _, source)| *source));
            let Some(item) = next.and_then(|source| self.pop(source, now)) else {
                break;
            };
            batch.items.push(item);
        }
    }

    /// Returns the unknown source that has cost least and has a budget left.
    fn payable(&mut self, now: Instant) -> Option<Source> {
        let line = &self.lines[Class::Unknown as usize];
        let mut sources = line.sources.iter().map(|(_, _, source)| *source);
        sources.find(|source| self.standings.has_budget(*source, now))
    }

    /// Takes the first one of a source, and charges it.
    fn pop(&mut self, source: Source, now: Instant) -> Option<(Source, T)> {
        self.unlist(source);
        let charged = self.estimate;
        let queue = self.queues.get_mut(&source)?;
        let (_, item) = queue.items.pop_front()?;
        let line = &mut self.lines[queue.class as usize];
        line.now = line.now.max(queue.cost);
        queue.cost = queue.cost.saturating_add(nanos(charged));
        line.cost = line
            .cost
            .saturating_add(nanos(charged) / weight(queue.class));
        self.count -= 1;
        self.standings.charge(source, charged, now);
        self.list(source, now);
        Some((source, item))
    }

    fn correct(&mut self, source: Source, charged: Duration, spent: Duration, now: Instant) {
        self.unlist(source);
        if let Some(queue) = self.queues.get_mut(&source) {
            queue.cost = corrected(queue.cost, charged, spent);
            let line = &mut self.lines[queue.class as usize];
            let by = weight(queue.class) as u32;
            line.cost = corrected(line.cost, charged / by, spent / by);
        }
        self.standings.correct(source, charged, spent, now);
        self.list(source, now);
    }

    /// A class that had nothing begins where the other one is: it saved nothing up.
    fn wake(&mut self, class: Class) {
        let (own, other) = match class {
            Class::Known => (0, 1),
            Class::Unknown => (1, 0),
        };
        if self.lines[own].sources.is_empty() {
            self.lines[own].cost = self.lines[own].cost.max(self.lines[other].cost);
        }
    }

    fn drop_last(&mut self, source: Source) -> Option<T> {
        self.unlist(source);
        let last = self.queues.get_mut(&source)?.items.pop_back();
        self.count -= usize::from(last.is_some());
        self.relist(source);
        last.map(|(_, item)| item)
    }

    fn drop_stale(&mut self, now: Instant) -> Vec<T> {
        let mut stale = Vec::new();
        while let Some((at, source)) = self.heads.first().copied()
            && now - at > SIGNATURE_WAIT_MAX
        {
            self.unlist(source);
            let first = self
                .queues
                .get_mut(&source)
                .and_then(|q| q.items.pop_front());
            self.count -= usize::from(first.is_some());
            stale.extend(first.map(|(_, item)| item));
            self.relist(source);
        }
        stale
    }

    /// Takes a source out of all orders, before it changes.
    fn unlist(&mut self, source: Source) {
        let Some(queue) = self.queues.get(&source) else {
            return;
        };
        self.lengths
            .remove(&(queue.class, queue.items.len(), source));
        self.lines[queue.class as usize]
            .sources
            .remove(&(queue.cost, queue.number, source));
        if let Some((at, _)) = queue.items.front() {
            self.heads.remove(&(*at, source));
        }
    }

    /// Puts a source into all orders, by what it is now.
    fn list(&mut self, source: Source, now: Instant) {
        let class = self.standings.class(source, now);
        if let Some(queue) = self.queues.get_mut(&source)
            && queue.class != class
        {
            queue.class = class;
            queue.cost = queue.cost.max(self.lines[class as usize].now);
            if !queue.items.is_empty() {
                self.wake(class);
            }
        }
        self.relist(source);
    }

    fn relist(&mut self, source: Source) {
        let Some(queue) = self.queues.get(&source) else {
            return;
        };
        let Some((at, _)) = queue.items.front() else {
            self.standings.keep_cost(source, queue.cost);
            self.queues.remove(&source);
            return;
        };
        self.heads.insert((*at, source));
        self.lengths
            .insert((queue.class, queue.items.len(), source));
        let line = &mut self.lines[queue.class as usize];
        line.sources.insert((queue.cost, queue.number, source));
    }
}

impl<T> Batch<T> {
    /// Returns what the items were charged in advance, each.
    pub const fn charged(&self) -> Duration {
        self.charged
    }
}

const fn weight(class: Class) -> u64 {
    match class {
        Class::Known => KNOWN_WEIGHT,
        Class::Unknown => 1,
    }
}

fn corrected(cost: u64, charged: Duration, spent: Duration) -> u64 {
    cost.saturating_add(nanos(spent))
        .saturating_sub(nanos(charged))
}

#[cfg(test)]
mod tests;
