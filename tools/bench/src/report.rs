//! Measuring a program's cases, for its record.

use crate::findings::Finding;
use crate::machine::Run;
use crate::measure::{self, Case, Figures, Measured};
use crate::options::{Options, Peer};
use crate::record::{Record, Row};
use crate::table::Table;
use std::io;

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

impl Record {
    /// Runs a program's cases.
    pub fn measure(
        options: &Options,
        sources: &[Source],
        mut cases: Vec<Case<'_>>,
    ) -> io::Result<(Self, Measured)> {
        let is_row = |peer: &&Peer| cases.iter().any(|case| case.name == peer.row);
        if let Some(Peer { row, .. }) = options.peer.iter().find(|peer| !is_row(peer)) {
            return Err(io::Error::other(format!("--peer: no row {row}")));
        }
        let run = Run::read();
        let figures = measure::run(&mut cases, options.seconds, options.rounds);
        let named = cases.iter().map(|case| case.name.clone());
        let measured = Measured(named.zip(figures.iter().copied()).collect());
        let rows = cases.iter().zip(&figures);
        let rows = rows.map(|(case, own)| row(case, own, &options.peer, &measured));
        let caveats = sources.iter();
        let record = Self {
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
    pub fn conclude(&mut self, findings: &[Finding]) {
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
        self.notes.push(format!(
            "{held} of {all} findings are reproduced, {} refuted.",
            all - held
        ));
        self.tables.push(table);
    }
}

/// Runs a program that has no tables beside its rows.
pub fn run(options: &Options, sources: &[Source], cases: Vec<Case<'_>>) -> io::Result<()> {
    let (record, _) = Record::measure(options, sources, cases)?;
    record.print(options.json)
}
