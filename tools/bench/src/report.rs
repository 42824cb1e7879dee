//! Printing a table of results, for people or as JSON Lines.

use crate::machine::Machine;
use crate::measure::{self, Case, Figures};
use crate::options::{Options, Peer};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, StdoutLock, Write};

/// Where quoted figures come from.
pub struct Source {
    /// Column heading.
    pub name: &'static str,
    /// What a reader must know before comparing.
    pub caveat: &'static str,
}

/// Refuses a `--peer` that names no row.
fn check_peers(cases: &[Case<'_>], options: &Options) -> io::Result<()> {
    let is_row = |peer: &&Peer| cases.iter().any(|case| case.name == peer.row);
    match options.peer.iter().find(|peer| !is_row(peer)) {
        None => Ok(()),
        Some(Peer { row, .. }) => Err(io::Error::other(format!("--peer: no row {row}"))),
    }
}

/// A row of a report.
type Row<'a> = (Case<'a>, Figures);

/// Runs a program's cases and prints what came out.
pub fn run(options: &Options, sources: &[Source], cases: Vec<Case<'_>>) -> io::Result<()> {
    run_for(options, sources, cases).map(drop)
}

/// The same; returns the figures by the names of the rows, for tables of the program's own.
pub fn run_for(
    options: &Options,
    sources: &[Source],
    cases: Vec<Case<'_>>,
) -> io::Result<BTreeMap<String, Figures>> {
    let text = |out: &mut StdoutLock<'_>, rows: &[Row<'_>]| print_text(out, options, sources, rows);
    measure_and_print(options, cases, text)
}

/// The same for a program whose own tables say it all: people get no row for each case.
pub fn measure(options: &Options, cases: Vec<Case<'_>>) -> io::Result<BTreeMap<String, Figures>> {
    measure_and_print(options, cases, |_, _| Ok(()))
}

fn measure_and_print(
    options: &Options,
    mut cases: Vec<Case<'_>>,
    text: impl FnOnce(&mut StdoutLock<'_>, &[Row<'_>]) -> io::Result<()>,
) -> io::Result<BTreeMap<String, Figures>> {
    check_peers(&cases, options)?;
    let machine = Machine::read();
    let figures = measure::run(&mut cases, options.seconds, options.rounds);
    let rows: Vec<_> = cases.into_iter().zip(figures).collect();
    let mut out = io::stdout().lock();
    if options.json {
        print_json(&mut out, options, &machine, &rows)?;
    } else {
        for (label, fact) in machine.facts() {
            writeln!(out, "{label:<9} {fact}")?;
        }
        text(&mut out, &rows)?;
    }
    let named = rows.into_iter().map(|(case, figures)| (case.name, figures));
    Ok(named.collect())
}

fn print_json(
    out: &mut impl Write,
    options: &Options,
    machine: &Machine,
    rows: &[Row<'_>],
) -> io::Result<()> {
    writeln!(out, "{}", json!({ "machine": machine.to_json() }))?;
    for (case, figures) in rows {
        let peer = peer_of(options, case);
        let quotes = case.quotes.iter();
        let ratios = quotes
            .clone()
            .map(|(name, us)| (*name, figures.median / us));
        let quotes = quotes.copied();
        let row = json!({
            "row": case.name,
            "about": case.about,
            "median_us": figures.median,
            "mean_us": figures.mean,
            "p10_us": figures.p10,
            "p90_us": figures.p90,
            "samples": figures.samples,
            "repetitions": figures.repetitions,
            "quoted_us": quotes.collect::<BTreeMap<_, _>>(),
            "ratio_to_quoted": ratios.collect::<BTreeMap<_, _>>(),
            "against": case.against,
            "ratio_in_run": ratio_in_run(case, figures, rows),
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
    sources: &[Source],
    rows: &[Row<'_>],
) -> io::Result<()> {
    for Source { name, caveat } in sources {
        writeln!(out, "{name}: {caveat}")?;
    }
    writeln!(
        out,
        "All figures are microseconds; x N: repetitions per sample; in run: to the row that the \
         work names.\n"
    )?;
    let width = rows.iter().map(|(case, _)| case.name.len()).max();
    let width = width.unwrap_or(0).max(22);
    writeln!(out, "{}", head(width, sources))?;
    for (case, figures) in rows {
        let in_run = ratio_in_run(case, figures, rows);
        let rest = line(options, sources, case, figures, in_run);
        writeln!(out, "{:<width$} {rest}", case.name)?;
    }
    Ok(())
}

fn head(width: usize, sources: &[Source]) -> String {
    let quoted = sources.iter().map(|s| format!(" {:>9}", s.name));
    format!(
        "{:<width$} {:>8} {:>8} {:>8} {:>8} {:>11}{} {:>9} {:>6} {:>6}  work",
        "row",
        "median",
        "mean",
        "p10",
        "p90",
        "samples",
        quoted.collect::<String>(),
        "peer",
        "ratio",
        "in run"
    )
}

/// A row but for its name.
fn line(
    options: &Options,
    sources: &[Source],
    case: &Case<'_>,
    figures: &Figures,
    in_run: Option<f64>,
) -> String {
    let peer = peer_of(options, case);
    let quoted = sources.iter().map(|source| {
        let mut quotes = case.quotes.iter();
        let quote = quotes.find(|(name, _)| *name == source.name);
        format!(" {:>9}", optional(quote.map(|(_, us)| *us)))
    });
    let against = case.against.as_ref().map(|row| format!("; to {row}"));
    format!(
        "{:>8} {:>8} {:>8} {:>8} {:>11}{} {:>9} {:>6} {:>6}  {}{}",
        number(figures.median),
        number(figures.mean),
        number(figures.p10),
        number(figures.p90),
        format!("{} x {}", figures.samples, figures.repetitions),
        quoted.collect::<String>(),
        optional(peer),
        ratio(peer.map(|us| figures.median / us)),
        ratio(in_run),
        case.about,
        against.unwrap_or_default(),
    )
}

/// The row's median to that of the row it is to be compared with.
fn ratio_in_run(case: &Case<'_>, figures: &Figures, rows: &[Row<'_>]) -> Option<f64> {
    let against = case.against.as_ref()?;
    let (_, other) = rows.iter().find(|(case, _)| case.name == *against)?;
    Some(figures.median / other.median)
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or("-".into(), |ratio| format!("{ratio:.3}"))
}

fn peer_of(options: &Options, case: &Case<'_>) -> Option<f64> {
    let mut peers = options.peer.iter();
    peers.find(|p| p.row == case.name).map(|p| p.microseconds)
}

fn optional(microseconds: Option<f64>) -> String {
    microseconds.map_or("-".into(), number)
}

/// Three digits that matter, or all of an integer.
pub fn number(microseconds: f64) -> String {
    let decimals = match microseconds {
        us if us < 10.0 => 2,
        us if us < 100.0 => 1,
        _ => 0,
    };
    format!("{microseconds:.decimals$}")
}
