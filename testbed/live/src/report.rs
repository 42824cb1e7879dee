//! Samples of all rounds, as a table of the record that is printed.

use crate::bed::BUFFERS;
use clew_record::pages::FAILED;
use clew_record::table::{BLANK, Table, fixed};
use clew_record::{Build, Record, Run};
use std::fs;
use std::io;

const BUILD: Build = Build {
    program: "live-bench",
    rustc: env!("BENCH_RUSTC"),
    profile: env!("BENCH_PROFILE"),
    commit: env!("BENCH_COMMIT"),
};

/// Whether all cases of a record were measured.
pub fn is_whole(record: &Record) -> bool {
    !record.notes.iter().any(|note| note.starts_with(FAILED))
}

/// Rows in the order in which they came first, with the figures of each round.
#[derive(Default)]
pub struct Samples {
    rows: Vec<(String, Vec<Vec<f64>>)>,
    /// What a reader must know of the systems.
    pub notes: Vec<String>,
}

impl Samples {
    /// None yet, of systems with a line about each.
    pub fn about<'a>(systems: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let notes = systems.map(|(name, about)| format!("{name}: {about}"));
        Self {
            rows: Vec::new(),
            notes: notes.collect(),
        }
    }

    /// Adds the figures of one round.
    pub fn add(&mut self, name: &str, figures: Vec<f64>) {
        match self.rows.iter_mut().find(|(row, _)| row == name) {
            Some((_, rounds)) => rounds.push(figures),
            None => self.rows.push((name.to_owned(), vec![figures])),
        }
    }

    /// Adds the figures of one round; of a case that failed a note, so that the others go on.
    pub fn add_or_say(&mut self, name: &str, figures: io::Result<Vec<f64>>) {
        match figures {
            Ok(figures) => self.add(name, figures),
            Err(error) => self.failed(name, &error),
        }
    }

    /// Notes what failed, and says it at once.
    pub fn failed(&mut self, what: &str, error: &io::Error) {
        let text = format!("{FAILED}{what}: {error}");
        eprintln!("live-bench: {text}");
        self.notes.push(text.replace('\n', "; "));
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The median of a row's first column over all rounds.
    pub fn median(&self, name: &str) -> Option<f64> {
        self.median_of(name, 0)
    }

    /// The median of any of its columns.
    pub fn median_of(&self, name: &str, column: usize) -> Option<f64> {
        let (_, rounds) = self.rows.iter().find(|(row, _)| row == name)?;
        let firsts = rounds.iter().filter_map(|round| round.get(column).copied());
        Some(percentile_of(firsts.collect(), 0.5)).filter(|median| !median.is_nan())
    }

    /// Adds a table of [`Self::table`], and what a reader must know.
    pub fn add_to(self, record: &mut Record, name: &str, title: &str, columns: &[&str]) {
        record.tables.push(self.table(name, title, columns));
        record.notes.extend(self.notes);
    }

    /// Medians of all rounds; behind them the least and the most of the first column.
    fn table(&self, name: &str, title: &str, columns: &[&str]) -> Table {
        let all = ["row"].into_iter().chain(columns.iter().copied());
        let mut table = Table::new(name, title, all.chain(["least", "most", "rounds"]));
        for (row, rounds) in &self.rows {
            let column = |at: usize| -> Vec<f64> { rounds.iter().map(|round| round[at]).collect() };
            let median = |at| percentile_of(column(at), 0.5);
            let mut cells: Vec<String> = (0..columns.len()).map(|at| number(median(at))).collect();
            cells.extend([0.0, 1.0].map(|share| number(percentile_of(column(0), share))));
            cells.push(rounds.len().to_string());
            table.row(row.clone(), cells);
        }
        table
    }
}

fn percentile_of(mut figures: Vec<f64>, share: f64) -> f64 {
    figures.sort_by(f64::total_cmp);
    let last = figures.len().saturating_sub(1) as f64;
    figures
        .get((last * share) as usize)
        .copied()
        .unwrap_or(f64::NAN)
}

/// Three digits that matter, or all of an integer.
pub fn number(figure: f64) -> String {
    match figure.abs() {
        none if none.is_nan() => BLANK.into(),
        0.0 => "0".into(),
        small if small < 1.0 => fixed(3)(figure),
        few if few < 10.0 => fixed(2)(figure),
        some if some < 100.0 => fixed(1)(figure),
        _ => fixed(0)(figure),
    }
}

/// A record without tables: the machine and the build, and what else matters for a network.
pub fn head() -> Record {
    let default = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    let default = default.unwrap_or_default();
    Record {
        run: Run::read(&BUILD),
        notes: vec![
            format!(
                "TCP: congestion control of iperf3 is named, of others {}",
                default.trim()
            ),
            BUFFERS.into(),
        ],
        rows: Vec::new(),
        tables: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_medians_and_the_spread_of_the_first_column() {
        let mut samples = Samples::default();
        for (bits, loss) in [(3.0, 0.0), (1.0, 5.0), (2.0, 9.0)] {
            samples.add("none", vec![bits, loss]);
        }
        let table = samples.table("t", "", &["Mbit/s", "lost"]);
        assert_eq!(
            table.rows,
            [["none", "2.00", "5.00", "1.00", "3.00", "3"].map(String::from)]
        );
    }
}
