//! Printing a table of results, for people or as JSON Lines.

use crate::machine::Machine;
use crate::measure::{Case, Figures};
use crate::options::{Options, Peer};
use serde_json::json;
use std::io::{self, Write};

/// Where a program's figures of the paper come from.
pub struct Paper {
    /// Column heading.
    pub name: &'static str,
    /// What a reader must know before comparing.
    pub caveat: &'static str,
}

/// Refuses a `--peer` that names no row.
pub fn check_peers(cases: &[Case<'_>], options: &Options) -> io::Result<()> {
    let is_row = |peer: &&Peer| cases.iter().any(|case| case.name == peer.row);
    match options.peer.iter().find(|peer| !is_row(peer)) {
        None => Ok(()),
        Some(Peer { row, .. }) => Err(io::Error::other(format!("--peer: no row {row}"))),
    }
}

/// Prints machine, build and one line per case.
pub fn print(
    options: &Options,
    machine: &Machine,
    paper: &Paper,
    rows: &[(Case<'_>, Figures)],
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if options.json {
        print_json(&mut out, options, machine, rows)
    } else {
        print_text(&mut out, options, machine, paper, rows)
    }
}

fn print_json(
    out: &mut impl Write,
    options: &Options,
    machine: &Machine,
    rows: &[(Case<'_>, Figures)],
) -> io::Result<()> {
    writeln!(out, "{}", json!({ "machine": machine.to_json() }))?;
    for (case, figures) in rows {
        let peer = peer_of(options, case);
        let row = json!({
            "row": case.name,
            "about": case.about,
            "median_us": figures.median,
            "mean_us": figures.mean,
            "p10_us": figures.p10,
            "p90_us": figures.p90,
            "samples": figures.samples,
            "repetitions": figures.repetitions,
            "paper_us": case.paper_ms.map(|ms| ms * 1e3),
            "peer_us": peer,
            "ratio_to_peer": peer.map(|us| figures.median / us),
        });
        writeln!(out, "{row}")?;
    }
    Ok(())
}

fn print_text(
    out: &mut impl Write,
    options: &Options,
    machine: &Machine,
    paper: &Paper,
    rows: &[(Case<'_>, Figures)],
) -> io::Result<()> {
    for (label, fact) in machine.facts() {
        writeln!(out, "{label:<9} {fact}")?;
    }
    writeln!(out, "{}: {}", paper.name, paper.caveat)?;
    writeln!(
        out,
        "All figures are microseconds; x N: repetitions per sample.\n"
    )?;
    writeln!(
        out,
        "{:<20} {:>8} {:>8} {:>8} {:>8} {:>11} {:>8} {:>9} {:>6}  work",
        "row", "median", "mean", "p10", "p90", "samples", paper.name, "peer", "ratio"
    )?;
    for (case, figures) in rows {
        writeln!(out, "{}", line(options, case, figures))?;
    }
    Ok(())
}

fn line(options: &Options, case: &Case<'_>, figures: &Figures) -> String {
    let peer = peer_of(options, case);
    format!(
        "{:<20} {:>8} {:>8} {:>8} {:>8} {:>11} {:>8} {:>9} {:>6}  {}",
        case.name,
        number(figures.median),
        number(figures.mean),
        number(figures.p10),
        number(figures.p90),
        format!("{} x {}", figures.samples, figures.repetitions),
        optional(case.paper_ms.map(|ms| ms * 1e3)),
        optional(peer),
        peer.map_or("-".into(), |us| format!("{:.3}", figures.median / us)),
        case.about,
    )
}

fn peer_of(options: &Options, case: &Case<'_>) -> Option<f64> {
    let mut peers = options.peer.iter();
    peers.find(|p| p.row == case.name).map(|p| p.microseconds)
}

fn optional(microseconds: Option<f64>) -> String {
    microseconds.map_or("-".into(), number)
}

/// Three digits that matter, or all of an integer.
fn number(microseconds: f64) -> String {
    let decimals = match microseconds {
        us if us < 10.0 => 2,
        us if us < 100.0 => 1,
        _ => 0,
    };
    format!("{microseconds:.decimals$}")
}
