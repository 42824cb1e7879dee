//! Measuring a program's cases, for its record.

use crate::findings::Finding;
use crate::measure::{Case, Figures, Measured};
use crate::options::{Options, Peer};
use clew_record::table::Table;
use clew_record::{Build, Record, Row, Run};
use std::io;

const BUILD: Build = Build {
    program: "clew-bench",
    rustc: env!("BENCH_RUSTC"),
    profile: env!("BENCH_PROFILE"),
    commit: env!("BENCH_COMMIT"),
};

/// Where quoted figures come from.
pub struct Source {
    /// Heading of its column.
    pub name: &'static str,
    /// Everything that a reader must know before comparing.
    pub caveat: &'static str,
}

/// A row of the record.
fn row(case: &Case<'_>, figures: &Figures, peers: &[Peer], measured: &Measured) -> Row {
    let peer = peers.iter().find(|peer| peer.row == case.name);
    let peer_us = peer.map(|peer| peer.microseconds);
    let other = case.against.as_ref().map(|row| measured.us(row));
    let quotes = case.quotes.iter();
    Row {
        name: case.name.clone(),
        work: case.about.to_owned(),
        median_us: figures.median,
        mean_us: Some(figures.mean),
        p10_us: Some(figures.p10),
        p90_us: Some(figures.p90),
        samples: Some(figures.samples),
        repetitions: Some(figures.repetitions),
        quoted_us: quotes.map(|(name, us)| ((*name).to_owned(), *us)).collect(),
        peer_us,
        ratio_to_peer: peer_us.map(|us| figures.median / us),
        against: case.against.clone(),
        ratio_in_run: other.map(|us| figures.median / us),
    }
}

/// Runs a program's cases.
pub fn measure(
    options: &Options,
    sources: &[Source],
    mut cases: Vec<Case<'_>>,
) -> io::Result<(Record, Measured)> {
    let is_row = |peer: &&Peer| cases.iter().any(|case| case.name == peer.row);
    if let Some(Peer { row, .. }) = options.peer.iter().find(|peer| !is_row(peer)) {
        return Err(io::Error::other(format!("--peer: no row {row}")));
    }
    let run = Run::read(&BUILD);
    let figures = crate::measure::run(&mut cases, options.seconds, options.rounds);
    let named = cases.iter().map(|case| case.name.clone());
    let measured = Measured(named.zip(figures.iter().copied()).collect());
    let rows = cases.iter().zip(&figures);
    let rows = rows.map(|(case, own)| row(case, own, &options.peer, &measured));
    let caveats = sources.iter();
    let record = Record {
        run,
        notes: caveats
            .map(|s| format!("{}: {}", s.name, s.caveat))
            .collect(),
        rows: rows.collect(),
        tables: Vec::new(),
    };
    Ok((record, measured))
}

/// Adds a table with a paper's findings, and a note that counts them.
pub fn conclude(record: &mut Record, findings: &[Finding]) {
    let columns = ["where", "the paper says", "here", "measured"];
    let mut table = Table::new("findings", "The paper's findings, and this run", columns);
    for finding in findings {
        let verdict = if finding.holds {
            "reproduced"
        } else {
            "refuted"
        };
        let cells = [&finding.says[..], verdict, &finding.because];
        table.row(finding.place.clone(), cells);
    }
    let (held, all) = (findings.iter().filter(|f| f.holds).count(), findings.len());
    record.notes.push(format!(
        "{held} of {all} findings are reproduced, {} refuted.",
        all - held
    ));
    record.tables.push(table);
}

/// Runs a program that has no tables beside its rows.
pub fn run(options: &Options, sources: &[Source], cases: Vec<Case<'_>>) -> io::Result<()> {
    let (record, _) = measure(options, sources, cases)?;
    record.print(options.json)
}
