//! A recorded run: printed for people, or as JSON Lines, the format of `recorded/`.

use crate::machine::Run;
use crate::table::{BLANK, Table, fixed, number, optional};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A row of a run: a case and its figures. A recorded row lacks what nobody wrote down.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Row {
    /// By which `--peer` and other rows find the row.
    pub name: String,
    /// The work that was measured.
    pub work: String,
    /// The median of all samples, in microseconds.
    pub median_us: f64,
    /// Their mean.
    pub mean_us: Option<f64>,
    /// The tenth percentile.
    pub p10_us: Option<f64>,
    /// The ninetieth percentile.
    pub p90_us: Option<f64>,
    /// How many samples there were.
    pub samples: Option<usize>,
    /// How often a sample repeats the work.
    pub repetitions: Option<u32>,
    /// Published figures for the same work, by their source.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub quoted_us: BTreeMap<String, f64>,
    /// Another program's figure from the same machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_us: Option<f64>,
    /// The row's median to the peer's figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_to_peer: Option<f64>,
    /// The row of the same run that this one is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The row's median to that row's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_in_run: Option<f64>,
}

impl Row {
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
pub(crate) enum Line {
    /// The first line.
    Run(Run),
    /// What a reader must know.
    Note(String),
    /// A row with its raw figures.
    Row(Row),
    /// A table without its rows.
    Table(Table),
    /// A row of the table before.
    Cells(Vec<String>),
}

/// A run: machine and build, rows with raw figures, and the tables that a program makes of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Machine and build.
    pub run: Run,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// Raw figures.
    pub rows: Vec<Row>,
    /// A program's own tables.
    pub tables: Vec<Table>,
}

/// The name under which pages ask for the rows.
pub(crate) const ROWS: &str = "rows";

impl Record {
    /// All rows, with the columns that at least one of them fills.
    pub(crate) fn table_of_rows(&self) -> Table {
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

    /// Prints the report: for people, or as it is recorded.
    pub fn print(&self, as_json: bool) -> io::Result<()> {
        let out = &mut io::stdout().lock();
        match as_json {
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
}
