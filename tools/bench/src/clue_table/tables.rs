//! The table in the paper's form, and what the paper says of it.

use super::cover::{COVERS, Cover};
use super::operations::{OPERATIONS, Operation, quoted, row};
use crate::group::Group;
use crate::measure::Measured;
use clew_record::table::{Table, fixed, number, optional};

fn median(measured: &Measured, scheme: &str, operation: Operation, cover: Cover) -> Option<f64> {
    let figures = measured.get(&row(scheme, operation, cover));
    figures.map(|figures| figures.median)
}

/// Clue's table, ours beside it, and how many times as fast ours is.
pub fn scheme(group: &Group, measured: &Measured) -> Table {
    let heads = COVERS.map(|cover| {
        let name = cover.name();
        [
            name.to_owned(),
            format!("{name}, Clue"),
            format!("{name}, times"),
        ]
    });
    let title = format!(
        "{}, milliseconds, decoding and hashing included: a packet of 1277 bytes, a window of 8, a tree of 8",
        group.name()
    );
    let columns = ["operation".to_owned()]
        .into_iter()
        .chain(heads.into_iter().flatten());
    let mut table = Table::new(group.name(), title, columns);
    for operation in OPERATIONS {
        let cells = COVERS.map(|cover| {
            let ours = median(measured, group.name(), operation, cover);
            let clue = quoted(operation, cover);
            let times = clue.zip(ours).map(|(clue, ours)| clue / ours);
            [
                optional(ours, milliseconds),
                optional(clue, milliseconds),
                optional(times, number),
            ]
        });
        table.row(operation.name(), cells.into_iter().flatten());
    }
    table
}

fn milliseconds(us: f64) -> String {
    fixed(4)(us / 1000.0)
}

/// One cell over another.
type Ratio = [(Operation, Cover); 2];

/// What the paper says of its table, as ratios.
const FINDINGS: [(&str, &str, Ratio); 7] = {
    use Cover::{Packet, Window};
    use Operation::{CorruptedIncremental, IncrementalVerify, PrecompSign, Sign, Verify};
    [
        (
            "verify to sign",
            "\"about 2.5x\"",
            [(Verify, Packet), (Sign, Packet)],
        ),
        (
            "precomp sign to sign",
            "\"almost all overhead\" is gone",
            [(PrecompSign, Packet), (Sign, Packet)],
        ),
        (
            "precomp sign, 8 packets to 1",
            "the one \"significant difference\"",
            [(PrecompSign, Window), (PrecompSign, Packet)],
        ),
        (
            "precomp sign of 8 to sign",
            "\"two orders of magnitude less\"",
            [(PrecompSign, Window), (Sign, Packet)],
        ),
        (
            "verify, 8 packets to 1",
            "no \"significant difference\"",
            [(Verify, Window), (Verify, Packet)],
        ),
        (
            "incremental verify to verify",
            "\"essentially identical\"",
            [(IncrementalVerify, Packet), (Verify, Packet)],
        ),
        (
            "corrupted incremental to verify",
            "0.3 by its text, 0.167 by its cells",
            [(CorruptedIncremental, Packet), (Verify, Packet)],
        ),
    ]
};

fn found(measured: &Measured, group: &Group, [one, other]: Ratio) -> Option<f64> {
    let median = |(operation, cover)| median(measured, group.name(), operation, cover);
    Some(median(one)? / median(other)?)
}

/// The paper's sentences as ratios.
pub fn findings(groups: &[Group], measured: &Measured) -> Table {
    let names = groups.iter().map(Group::name);
    let columns = ["ratio of medians", "the paper's"].into_iter().chain(names);
    let mut table = Table::new("findings", "Ratios of medians of the same run", columns);
    for (what, paper, ratio) in FINDINGS {
        let cells = groups
            .iter()
            .map(|group| optional(found(measured, group, ratio), fixed(4)));
        table.row(what, [paper.to_owned()].into_iter().chain(cells));
    }
    table
}
