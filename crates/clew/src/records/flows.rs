//! Packets by flow, in bounded memory, and the table of the largest.

use super::protocol;
use crate::report;
use clew_packet::{Counters, Flow, Reason, Replay, Verdict};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Most flows that are told apart: 25 MB. Packets of more are counted together.
pub const FLOWS_MAX: usize = 65_536;

/// Most flows that are listed.
const LISTED_MAX: usize = 20;

const HEAD: [&str; 9] = [
    "source",
    "destination",
    "protocol",
    "packets",
    "valid",
    "unsigned",
    "invalid",
    "undecided",
    "reasons other than ok",
];

/// Columns of numbers, which are aligned on the right.
const NUMBERS: std::ops::Range<usize> = 3..8;

type Row = [String; HEAD.len()];

/// What became of the packets of each flow.
#[derive(Default)]
pub struct Flows {
    flows: HashMap<Flow, Counters>,
    /// Packets of flows for which there was no room.
    other: Option<Counters>,
    /// Packets whose addresses and ports cannot be read.
    without: Option<Counters>,
}

impl Flows {
    /// Counts one packet.
    pub fn count(&mut self, flow: Option<Flow>, reason: Reason) {
        let full = self.flows.len() == FLOWS_MAX;
        let counters = match flow.map(|flow| self.flows.entry(flow.key())) {
            Some(Entry::Vacant(_)) if full => self.other.get_or_insert_default(),
            Some(entry) => entry.or_default(),
            None => self.without.get_or_insert_default(),
        };
        counters.count(reason);
    }

    /// The lines of the table; none without a packet.
    pub fn lines(&self) -> Vec<String> {
        let flows = self.sorted();
        let listed = flows.iter().take(LISTED_MAX);
        let mut rows: Vec<Row> = listed.map(|(flow, seen)| row(ends(flow), seen)).collect();
        let listed = rows.len();
        let rest = [
            ("other flows", &self.other),
            ("without a flow", &self.without),
        ];
        for (name, seen) in rest {
            rows.extend(
                seen.iter()
                    .map(|seen| row([name, "", ""].map(String::from), seen)),
            );
        }
        if rows.is_empty() {
            return Vec::new();
        }
        rows.insert(0, HEAD.map(String::from));
        let mut lines = align(&rows);
        if flows.len() > listed {
            let more = flows.len() - listed;
            lines.insert(1 + listed, format!("... and {more} more flows"));
        }
        lines
    }

    /// Flows with invalid packets first, then by packets; equal ones in an order that is always the
    /// same.
    fn sorted(&self) -> Vec<(&Flow, &Counters)> {
        let mut flows: Vec<_> = self.flows.iter().collect();
        flows.sort_by_cached_key(|(flow, seen)| {
            let invalid = of(seen, Verdict::Invalid) > 0;
            (Reverse((invalid, packets(seen))), **flow)
        });
        flows
    }
}

fn packets(seen: &Counters) -> u64 {
    seen.iter().map(|(_, count)| count).sum()
}

fn of(seen: &Counters, verdict: Verdict) -> u64 {
    let is = |reason: Reason| reason.verdict(Replay::Flag) == Some(verdict);
    let counts = seen.iter().filter(|(reason, _)| is(*reason));
    counts.map(|(_, count)| count).sum()
}

fn ends(flow: &Flow) -> [String; 3] {
    [
        report::endpoint(flow.source, flow.source_port),
        report::endpoint(flow.destination, flow.destination_port),
        protocol::name(flow.protocol),
    ]
}

fn row([source, destination, protocol]: [String; 3], seen: &Counters) -> Row {
    let verdict = |verdict| of(seen, verdict).to_string();
    let reasons = seen.iter().filter(|(reason, _)| *reason != Reason::Ok);
    let reasons: Vec<String> = reasons
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect();
    [
        source,
        destination,
        protocol,
        packets(seen).to_string(),
        verdict(Verdict::Valid),
        verdict(Verdict::Unsigned),
        verdict(Verdict::Invalid),
        verdict(Verdict::Undecided),
        reasons.join(", "),
    ]
}

fn align(rows: &[Row]) -> Vec<String> {
    let widths: [usize; HEAD.len()] = std::array::from_fn(|column| {
        let lengths = rows.iter().map(|row| row[column].len());
        lengths.max().unwrap_or(0)
    });
    let line = |row: &Row| {
        let cells = row.iter().zip(widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| match NUMBERS.contains(&column) {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn flow(number: u32) -> Option<Flow> {
        Some(Flow {
            source: Ipv4Addr::from(number).into(),
            destination: Ipv4Addr::LOCALHOST.into(),
            protocol: 17,
            source_port: Some(1),
            destination_port: Some(2),
            upper_start: Some(number.to_be_bytes()),
        })
    }

    #[test]
    fn a_flow_is_one_whatever_its_packets_carry() {
        let mut flows = Flows::default();
        let other = flow(1).map(Flow::key);
        flows.count(flow(1), Reason::Ok);
        flows.count(other, Reason::NoTrailer);
        assert_eq!(flows.flows.len(), 1);
    }

    #[test]
    fn memory_is_bounded_and_no_packet_is_lost() {
        let mut flows = Flows::default();
        for number in 0..FLOWS_MAX as u32 + 7 {
            flows.count(flow(number), Reason::NoTrailer);
            flows.count(flow(0), Reason::Ok);
        }
        assert_eq!(flows.flows.len(), FLOWS_MAX);
        assert_eq!(flows.other.as_ref().map(packets), Some(7));
        let all = flows.flows.values().chain(&flows.other).map(packets);
        assert_eq!(all.sum::<u64>(), 2 * (FLOWS_MAX as u64 + 7));
    }

    #[test]
    fn invalid_flows_come_first() {
        let mut flows = Flows::default();
        for (number, reason) in [
            (1, Reason::Ok),
            (1, Reason::Ok),
            (2, Reason::BadSignature),
            (3, Reason::Stale),
            (3, Reason::Ok),
        ] {
            flows.count(flow(number), reason);
        }
        flows.count(None, Reason::Truncated);
        assert_eq!(
            flows.lines(),
            [
                "source          destination  protocol  packets  valid  unsigned  invalid  undecided  reasons other than ok",
                "0.0.0.3:1       127.0.0.1:2  UDP             2      1         0        1          0  1 stale",
                "0.0.0.2:1       127.0.0.1:2  UDP             1      0         0        1          0  1 bad-signature",
                "0.0.0.1:1       127.0.0.1:2  UDP             2      2         0        0          0",
                "without a flow                               1      0         0        0          1  1 truncated",
            ]
        );
    }
}
