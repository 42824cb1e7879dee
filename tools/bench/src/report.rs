//! Reports of runs: printed for people, or as JSON Lines. The lines are the format of `recorded/`.

use crate::findings::Finding;
use crate::machine::Run;
use crate::measure::{self, Case, Figures, Measured};
use crate::options::{Options, Peer};
use crate::table::{BLANK, Table, fixed, number, optional};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Where quoted figures come from.
pub struct Source {
    /// Heading of its column.
    pub name: &'static str,
    /// Everything that a reader must know before comparing.
    pub caveat: &'static str,
}

/// A row of a run: a case and its figures. A recorded row lacks what nobody wrote down.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Row {
    pub name: String,
    pub work: String,
    pub median_us: f64,
    pub mean_us: Option<f64>,
    pub p10_us: Option<f64>,
    pub p90_us: Option<f64>,
    pub samples: Option<usize>,
    pub repetitions: Option<u32>,
    /// Published figures for the same work, by their source.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub quoted_us: BTreeMap<String, f64>,
    /// Another program's figure from the same machine, and our median to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_us: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_to_peer: Option<f64>,
    /// The row of the same run that this one is compared with, and the ratio of their medians.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_in_run: Option<f64>,
}

impl Row {
    fn new(case: &Case<'_>, figures: &Figures, peers: &[Peer], measured: &Measured) -> Self {
        let peer = peers.iter().find(|peer| peer.row == case.name);
        let peer_us = peer.map(|peer| peer.microseconds);
        let other = case.against.as_ref().map(|row| measured.us(row));
        let quotes = case.quotes.iter();
        Self {
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

    fn work(&self) -> String {
        let against = self.against.as_ref().map(|row| format!("; to {row}"));
        self.work.clone() + &against.unwrap_or_default()
    }

    fn counts(&self) -> String {
        match (self.samples, self.repetitions) {
            (Some(samples), Some(times)) => format!("{samples} x {times}"),
            _ => BLANK.into(),
        }
    }
}

/// A line of a record.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Run(Run),
    Note(String),
    Row(Row),
    Table(Table),
    /// A row of the table before.
    Cells(Vec<String>),
}

/// A run: machine and build, rows with raw figures, and the tables that a program makes of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub run: Run,
    pub notes: Vec<String>,
    pub rows: Vec<Row>,
    pub tables: Vec<Table>,
}

/// The name under which pages ask for the rows.
pub const ROWS: &str = "rows";

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
        let rows = rows.map(|(case, own)| Row::new(case, own, &options.peer, &measured));
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
        let mut table = Table::new("findings", "What the paper found, and this run", columns);
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

    /// The table of that name.
    pub fn table(&self, name: &str) -> Option<Table> {
        let table = self.tables.iter().find(|table| table.name == name);
        let rows = (name == ROWS).then(|| self.table_of_rows());
        table.cloned().or(rows)
    }

    /// All rows, with the columns that at least one of them fills.
    fn table_of_rows(&self) -> Table {
        let of_row = |row: &Row| row.quoted_us.keys().cloned().collect::<Vec<_>>();
        let mut quoted: Vec<String> = self.rows.iter().flat_map(of_row).collect();
        quoted.sort();
        quoted.dedup();
        let columns = ["row", "median", "mean", "p10", "p90", "samples"].map(String::from);
        let rest = ["peer", "ratio", "in run", "work"].map(String::from);
        let columns = columns.into_iter().chain(quoted.clone()).chain(rest);
        let mut table = Table::new(ROWS, "Microseconds", columns);
        for row in &self.rows {
            let figures = [Some(row.median_us), row.mean_us, row.p10_us, row.p90_us];
            let mut cells: Vec<String> = figures.map(|us| optional(us, number)).into();
            cells.push(row.counts());
            cells.extend(quoted.iter().map(|name| {
                let figure = row.quoted_us.get(name).copied();
                optional(figure, number)
            }));
            cells.push(optional(row.peer_us, number));
            let ratios = [row.ratio_to_peer, row.ratio_in_run];
            cells.extend(ratios.map(|ratio| optional(ratio, fixed(3))));
            cells.push(row.work());
            table.row(row.name.clone(), cells);
        }
        table.without_blanks()
    }

    /// Prints the report: for people, or with `--json` as it is recorded.
    pub fn print(&self, options: &Options) -> io::Result<()> {
        let out = &mut io::stdout().lock();
        match options.json {
            true => self.write(out),
            false => self.print_text(out),
        }
    }

    /// A program's own tables say what the rows do: people get rows only where there is no table.
    fn print_text(&self, out: &mut impl Write) -> io::Result<()> {
        for (label, fact) in self.run.facts() {
            writeln!(out, "{label:<9} {fact}")?;
        }
        for note in &self.notes {
            writeln!(out, "{note}")?;
        }
        let rows = self.tables.is_empty().then(|| self.table_of_rows());
        for table in rows.iter().chain(&self.tables) {
            writeln!(out, "\n{}\n\n{}", table.title, table.markdown())?;
        }
        Ok(())
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut line = |line| writeln!(out, "{}", serde_json::to_string(&line)?);
        line(Line::Run(self.run.clone()))?;
        let notes = self.notes.iter().cloned().map(Line::Note);
        let rows = self.rows.iter().cloned().map(Line::Row);
        notes.chain(rows).try_for_each(&mut line)?;
        for table in &self.tables {
            line(Line::Table(table.clone()))?;
            table
                .rows
                .iter()
                .cloned()
                .map(Line::Cells)
                .try_for_each(&mut line)?;
        }
        Ok(())
    }

    /// Reads a record.
    ///
    /// # Errors
    /// The number of the first line that is none of a record's, and why.
    pub fn read(text: &str) -> Result<Self, String> {
        let (mut run, mut notes, mut rows) = (None, Vec::new(), Vec::new());
        let mut tables: Vec<Table> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let fault = |why: &str| format!("line {number}: {why}");
            let line = serde_json::from_str(line).map_err(|why| fault(&why.to_string()))?;
            match line {
                Line::Run(own) => run = Some(own),
                Line::Note(note) => notes.push(note),
                Line::Row(row) => rows.push(row),
                Line::Table(table) => tables.push(table),
                Line::Cells(cells) => match tables.last_mut() {
                    Some(table) if table.columns.len() == cells.len() => table.rows.push(cells),
                    _ => return Err(fault("cells that fit no table")),
                },
            }
        }
        let run = run.ok_or("no line says what ran")?;
        Ok(Self {
            run,
            notes,
            rows,
            tables,
        })
    }
}

/// Runs a program that has no tables beside its rows.
pub fn run(options: &Options, sources: &[Source], cases: Vec<Case<'_>>) -> io::Result<()> {
    let (record, _) = Record::measure(options, sources, cases)?;
    record.print(options)
}
