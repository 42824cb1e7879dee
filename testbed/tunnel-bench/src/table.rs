//! Tables of results, for people or as JSON Lines.

use crate::machine::Run;
use crate::options::Options;
use crate::systems::PEERS;
use serde_json::{Map, Value, json};
use std::fs;
use std::io::{self, Write};

/// A table with a row for each system.
pub struct Table {
    /// Which program it is of, and where that has several, which table.
    pub program: String,
    /// What its figures are.
    pub title: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// What stands below: the paper's figures, what a reader must know.
    pub notes: Vec<String>,
}

/// A column: its head, and its name in JSON.
pub struct Column {
    pub head: String,
    pub key: String,
}

/// A row: a figure in each column, if it has one.
pub struct Row {
    pub name: String,
    pub about: String,
    pub cells: Vec<Option<f64>>,
}

impl Table {
    /// Columns from heads and keys.
    pub fn columns(columns: &[(&str, &str)]) -> Vec<Column> {
        let column = |(head, key): &(&str, &str)| Column {
            head: (*head).to_owned(),
            key: (*key).to_owned(),
        };
        columns.iter().map(column).collect()
    }

    /// Adds a column for each peer: the figure of the row to the peer's.
    pub fn with_ratios(mut self, column: usize) -> Self {
        for peer in PEERS {
            let of_peer = self.rows.iter().find(|row| row.name == peer);
            let of_peer = of_peer.and_then(|row| row.cells[column]);
            for row in &mut self.rows {
                let ratio = row.cells[column].zip(of_peer).map(|(own, peer)| own / peer);
                row.cells.push(ratio);
            }
            let short = peer.split('-').next().unwrap_or(peer);
            self.columns.push(Column {
                head: format!("/{short}"),
                key: format!("to_{short}"),
            });
        }
        self
    }

    /// Prints it.
    pub fn print(&self, options: &Options) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if options.json {
            for row in &self.rows {
                writeln!(out, "{}", self.json(row))?;
            }
            return Ok(());
        }
        writeln!(out, "\n{}", self.title)?;
        let width = self
            .rows
            .iter()
            .map(|row| row.name.len())
            .max()
            .unwrap_or(0)
            .max(14);
        write!(out, "{:<width$}", "row")?;
        for column in &self.columns {
            write!(out, " {:>9}", column.head)?;
        }
        writeln!(out, "  what")?;
        for row in &self.rows {
            write!(out, "{:<width$}", row.name)?;
            for cell in &row.cells {
                write!(out, " {:>9}", cell.map_or("-".into(), number))?;
            }
            writeln!(out, "  {}", row.about)?;
        }
        for note in &self.notes {
            writeln!(out, "{note}")?;
        }
        Ok(())
    }

    fn json(&self, row: &Row) -> Value {
        let mut object = Map::new();
        object.insert("program".into(), json!(self.program));
        object.insert("row".into(), json!(row.name));
        object.insert("about".into(), json!(row.about));
        for (column, cell) in self.columns.iter().zip(&row.cells) {
            object.insert(column.key.clone(), json!(cell));
        }
        Value::Object(object)
    }
}

/// The machine and the build, with the line of the command.
pub fn head(options: &Options) -> io::Result<()> {
    let run = Run::read();
    let congestion = line_of("/proc/sys/net/ipv4/tcp_congestion_control");
    let kernel = line_of("/proc/sys/kernel/osrelease");
    let kernel = format!("{kernel}, TCP by default with {congestion}");
    let more = [
        ("kernel", kernel),
        ("peers", env!("BENCH_PEERS").to_owned()),
    ];
    let mut out = io::stdout().lock();
    if options.json {
        let mut facts = json!(run);
        for (label, fact) in more {
            facts[label] = json!(fact);
        }
        return writeln!(out, "{}", json!({ "run": facts }));
    }
    for (label, fact) in run.facts().into_iter().chain(more) {
        writeln!(out, "{label:<9} {fact}")?;
    }
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    writeln!(out, "{:<9} tunnel-bench {}", "command", arguments.join(" "))
}

/// The load at the end: what else ran meanwhile is to be seen.
pub fn foot(options: &Options) -> io::Result<()> {
    let load = line_of("/proc/loadavg");
    let mut out = io::stdout().lock();
    if options.json {
        return writeln!(out, "{}", json!({ "load_at_end": load }));
    }
    writeln!(out, "\nload at the end: {load}")
}

fn line_of(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.trim().to_owned()
}

/// Three digits that matter, or all of an integer.
pub fn number(figure: f64) -> String {
    let decimals = match figure.abs() {
        f if f < 1.0 => 3,
        f if f < 10.0 => 2,
        f if f < 100.0 => 1,
        _ => 0,
    };
    format!("{figure:.decimals$}")
}
