//! Something for each flow, in bounded memory.

use clew_packet::{Counters, Flow, Reason, Replay, Verdict};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Most flows that are told apart: with counters, up to 45 MB. All others are one.
pub const FLOWS_MAX: usize = 65_536;

/// What is kept for each flow. A flow goes one way: what signs is the machine at its source.
#[derive(Debug)]
pub struct Flows<T> {
    known: HashMap<Flow, T>,
    room: usize,
    others: T,
    without: T,
}

impl<T: Default> Flows<T> {
    /// Nothing yet; room for so many flows.
    pub fn new(room: usize) -> Self {
        Self {
            known: HashMap::new(),
            room,
            others: T::default(),
            without: T::default(),
        }
    }

    /// What is kept for a packet's flow; or for all flows for which there is no room; or for packets
    /// whose flow cannot be read.
    pub fn of(&mut self, flow: Option<&Flow>) -> &mut T {
        let Some(key) = flow.map(|flow| flow.key()) else {
            return &mut self.without;
        };
        if self.known.len() == self.room && !self.known.contains_key(&key) {
            return &mut self.others;
        }
        self.known.entry(key).or_default()
    }

    /// The flows that there was room for, largest first by `size`; equal ones in an order that is
    /// always the same.
    pub fn sorted<S: Ord>(&self, size: impl Fn(&T) -> S) -> Vec<(&Flow, &T)> {
        let mut flows: Vec<_> = self.known.iter().collect();
        flows.sort_by_cached_key(|(flow, kept)| (Reverse(size(kept)), **flow));
        flows
    }

    /// What is kept for all flows for which there was no room.
    pub fn others(&self) -> &T {
        &self.others
    }

    /// What is kept for packets whose flow cannot be read.
    pub fn without(&self) -> &T {
        &self.without
    }
}

/// Packets by reason.
#[derive(Clone, Debug, Default)]
pub struct Packets(Counters);

impl Packets {
    /// Counts one.
    pub fn count(&mut self, reason: Reason) {
        self.0.count(reason);
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, more: &Self) {
        self.0 += &more.0;
    }

    /// All of them.
    pub fn all(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// Those with a verdict.
    pub fn with(&self, verdict: Verdict) -> u64 {
        let counts = self.0.iter();
        let counts = counts.filter(|(reason, _)| reason.verdict(Replay::Flag) == verdict);
        counts.map(|(_, count)| count).sum()
    }

    /// By reason, those that occurred.
    pub fn by_reason(&self) -> impl Iterator<Item = (Reason, u64)> {
        self.0.iter()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    /// One of many flows.
    pub fn flow(number: u32) -> Flow {
        Flow {
            source: Ipv4Addr::from(number).into(),
            destination: Ipv4Addr::LOCALHOST.into(),
            protocol: 17,
            source_port: Some(1),
            destination_port: Some(2),
            upper_start: Some(number.to_be_bytes()),
        }
    }

    #[test]
    fn a_flow_is_one_whatever_its_packets_carry() {
        let mut flows = Flows::<Packets>::new(FLOWS_MAX);
        flows.of(Some(&flow(1))).count(Reason::Ok);
        flows.of(Some(&flow(1).key())).count(Reason::NoTrailer);
        let sorted = flows.sorted(Packets::all);
        assert_eq!(sorted.len(), 1);
        assert_eq!(sorted[0].1.all(), 2);
    }

    #[test]
    fn memory_is_bounded_and_no_packet_is_lost() {
        let mut flows = Flows::<Packets>::new(10);
        for number in 0..17 {
            flows.of(Some(&flow(number))).count(Reason::NoTrailer);
            flows.of(Some(&flow(0))).count(Reason::Ok);
        }
        flows.of(None).count(Reason::Truncated);
        let sorted = flows.sorted(Packets::all);
        assert_eq!(sorted.len(), 10);
        assert_eq!(sorted[0].1.all(), 18, "the largest comes first");
        assert_eq!(*sorted[1].0, flow(1).key(), "the order is always the same");
        let known: u64 = sorted.iter().map(|(_, packets)| packets.all()).sum();
        assert_eq!((known, flows.others().all()), (27, 7));
        assert_eq!(flows.without().with(Verdict::Undecided), 1);
    }
}
