//! The table in the paper's form, and what the paper says of it.

use super::cover::{COVERS, Cover};
use super::operations::{OPERATIONS, Operation, quoted, row};
use crate::group::Group;
use crate::measure::Figures;
use crate::options::Options;
use crate::report::number;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};

type Rows = BTreeMap<String, Figures>;

/// Prints both tables, after the rows.
pub fn print(options: &Options, groups: &[Group], rows: &Rows) -> io::Result<()> {
    let out = &mut io::stdout().lock();
    if options.json {
        return print_json(out, groups, rows);
    }
    for group in groups {
        table(out, group, rows)?;
    }
    findings(out, groups, rows)
}

fn median(rows: &Rows, scheme: &str, operation: Operation, cover: Cover) -> Option<f64> {
    let row = row(scheme, operation, cover);
    rows.get(&row).map(|figures| figures.median)
}

/// Clue's table, ours beside it, and how many times as fast ours is.
fn table(out: &mut impl Write, group: &Group, rows: &Rows) -> io::Result<()> {
    let heads = COVERS.map(|cover| format!("{:>10}{:>9}{:>8}", cover.name(), "Clue", "times"));
    writeln!(
        out,
        "\n{}, milliseconds, of 1 packet of 1277 bytes, a window of 8, a tree of 8; -: not in the \
         paper, or cannot be read\n{:<16}{}",
        group.name(),
        "",
        heads.concat()
    )?;
    for operation in OPERATIONS {
        let cells = COVERS.map(|cover| {
            let ours = median(rows, group.name(), operation, cover);
            let clue = quoted(operation, cover);
            let times = clue.zip(ours).map(|(clue, ours)| clue / ours);
            let text = |figure: Option<String>| figure.unwrap_or("-".into());
            format!(
                "{:>10}{:>9}{:>8}",
                text(ours.map(milliseconds)),
                text(clue.map(milliseconds)),
                text(times.map(number))
            )
        });
        writeln!(out, "{:<16}{}", operation.name(), cells.concat())?;
    }
    Ok(())
}

fn milliseconds(us: f64) -> String {
    format!("{:.4}", us / 1000.0)
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

fn found(rows: &Rows, group: &Group, [one, other]: Ratio) -> Option<f64> {
    let median = |(operation, cover)| median(rows, group.name(), operation, cover);
    Some(median(one)? / median(other)?)
}

fn findings(out: &mut impl Write, groups: &[Group], rows: &Rows) -> io::Result<()> {
    let heads: String = groups.iter().map(|g| format!("{:>9}", g.name())).collect();
    writeln!(
        out,
        "\n{:<34}{:<38}{heads}",
        "ratio of medians", "the paper's"
    )?;
    for (what, paper, ratio) in FINDINGS {
        let cells = groups.iter().map(|group| {
            let found = found(rows, group, ratio).map(|ratio| format!("{ratio:.4}"));
            format!("{:>9}", found.unwrap_or("-".into()))
        });
        writeln!(out, "{what:<34}{paper:<38}{}", cells.collect::<String>())?;
    }
    Ok(())
}

fn print_json(out: &mut impl Write, groups: &[Group], rows: &Rows) -> io::Result<()> {
    for (group, (what, paper, ratio)) in groups.iter().flat_map(|g| FINDINGS.map(|f| (g, f))) {
        let line = json!({
            "finding": what,
            "of": group.name(),
            "paper": paper,
            "ratio": found(rows, group, ratio),
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}
