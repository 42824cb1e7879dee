//! Figures of all systems, as tables of the record that is printed.

use crate::systems::PEERS;
use clew_record::Record;
use clew_record::table::{BLANK, Table};
use clew_record::{Build, Run};
use std::fs;

const BUILD: Build = Build {
    program: "tunnel-bench",
    rustc: env!("BENCH_RUSTC"),
    profile: env!("BENCH_PROFILE"),
    commit: env!("BENCH_COMMIT"),
};

/// A table with a row for each system.
pub struct Figures {
    /// By which pages ask for the table.
    pub name: String,
    /// What its figures are.
    pub title: String,
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
    /// The paper's figures, what a reader must know.
    pub notes: Vec<String>,
}

/// A row: a figure in each column, if it has one.
pub struct Row {
    pub name: String,
    pub about: String,
    pub cells: Vec<Option<f64>>,
}

impl Figures {
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
            self.columns.push(format!("/{short}"));
        }
        self
    }

    /// Adds the table and its notes to the record.
    pub fn add_to(self, record: &mut Record) {
        let columns = ["row".to_owned()].into_iter().chain(self.columns);
        let columns = columns.chain(["what".to_owned()]);
        let mut table = Table::new(self.name, self.title, columns);
        for row in self.rows {
            let cells = row.cells.into_iter();
            let cells = cells.map(|cell| cell.map_or(BLANK.into(), number));
            table.row(row.name, cells.chain([row.about]));
        }
        record.tables.push(table);
        record.notes.extend(self.notes);
    }
}

/// A record without tables: the machine and the build, and what else matters for a network.
pub fn head() -> Record {
    let congestion = line_of("/proc/sys/net/ipv4/tcp_congestion_control");
    Record {
        run: Run::read(&BUILD),
        notes: vec![
            format!("TCP by default with {congestion}"),
            format!("peers: {}", env!("BENCH_PEERS")),
        ],
        rows: Vec::new(),
        tables: Vec::new(),
    }
}

/// The load at the end: what else ran meanwhile is to be seen.
pub fn foot(record: &mut Record) {
    let load = line_of("/proc/loadavg");
    record.notes.push(format!("load at the end: {load}"));
}

fn line_of(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.trim().to_owned()
}

/// Three digits that matter, or all of an integer.
fn number(figure: f64) -> String {
    let decimals = match figure.abs() {
        f if f < 1.0 => 3,
        f if f < 10.0 => 2,
        f if f < 100.0 => 1,
        _ => 0,
    };
    format!("{figure:.decimals$}")
}
