//! The table of flows as lines of text.

use super::flows::{Flows, Packets};
use super::protocol;
use crate::report;
use clew_packet::{Flow, Reason, Verdict};
use std::ops::Range;

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
const NUMBERS: Range<usize> = 3..8;

type Row = [String; HEAD.len()];

/// The flows with the most packets, those with invalid ones first, and the rest in a line each.
/// Without a packet there are no lines.
pub fn lines(flows: &Flows<Packets>) -> Vec<String> {
    let sorted = flows.sorted(|packets| (packets.with(Verdict::Invalid) > 0, packets.all()));
    let (listed, unlisted) = sorted.split_at(sorted.len().min(LISTED_MAX));
    let mut rows: Vec<Row> = listed
        .iter()
        .map(|(flow, of)| row(ends(flow), of))
        .collect();
    let mut rest = flows.others().clone();
    unlisted.iter().for_each(|(_, of)| rest.add(of));
    let other = match flows.others().all() {
        0 => format!("{} other flows", unlisted.len()),
        _ => format!("more than {} other flows", unlisted.len()),
    };
    for (name, of) in [(other.as_str(), &rest), ("without a flow", flows.without())] {
        if of.all() > 0 {
            rows.push(row([name, "", ""].map(str::to_owned), of));
        }
    }
    if !rows.is_empty() {
        rows.insert(0, HEAD.map(str::to_owned));
    }
    align(&rows)
}

fn ends(flow: &Flow) -> [String; 3] {
    [
        report::endpoint(flow.source, flow.source_port),
        report::endpoint(flow.destination, flow.destination_port),
        protocol::name(flow.protocol),
    ]
}

fn row([source, destination, protocol]: [String; 3], packets: &Packets) -> Row {
    let with = |verdict| packets.with(verdict).to_string();
    let reasons = packets.by_reason();
    let reasons = reasons.filter(|(reason, _)| *reason != Reason::Ok);
    let reasons: Vec<String> = reasons
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect();
    [
        source,
        destination,
        protocol,
        packets.all().to_string(),
        with(Verdict::Valid),
        with(Verdict::Unsigned),
        with(Verdict::Invalid),
        with(Verdict::Undecided),
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
    use crate::records::flows::tests::flow;

    #[test]
    fn invalid_flows_come_first() {
        let mut flows = Flows::<Packets>::new(3);
        for (number, reason) in [
            (1, Reason::Ok),
            (1, Reason::Ok),
            (2, Reason::BadSignature),
            (3, Reason::Stale),
            (3, Reason::Ok),
        ] {
            flows.of(Some(&flow(number))).count(reason);
        }
        flows.of(None).count(Reason::Truncated);
        assert_eq!(
            lines(&flows),
            [
                "source          destination  protocol  packets  valid  unsigned  invalid  undecided  reasons other than ok",
                "0.0.0.3:1       127.0.0.1:2  UDP             2      1         0        1          0  1 stale",
                "0.0.0.2:1       127.0.0.1:2  UDP             1      0         0        1          0  1 bad-signature",
                "0.0.0.1:1       127.0.0.1:2  UDP             2      2         0        0          0",
                "without a flow                               1      0         0        0          1  1 truncated",
            ]
        );
    }

    #[test]
    fn the_rest_is_counted() {
        let mut flows = Flows::<Packets>::new(22);
        assert!(lines(&flows).is_empty());
        (0..22).for_each(|n| flows.of(Some(&flow(n))).count(Reason::Ok));
        let last = |flows: &Flows<Packets>| lines(flows).pop().unwrap_or_default();
        assert!(last(&flows).starts_with("2 other flows  "));
        assert_eq!(lines(&flows).len(), 1 + LISTED_MAX + 1);
        flows.of(Some(&flow(23))).count(Reason::NoTrailer);
        let told = "more than 2 other flows                               3      2         1        0          0  1 no-trailer";
        assert_eq!(last(&flows), told);
    }
}
