//! Pictures of records: the same record makes the same picture.

use crate::options::Options;
use crate::plot::{Line, Look, Panel, Plot};
use crate::scenarios::{figure2, latency};
use clew_record::Record;
use clew_record::table::Table;
use std::fs;
use std::io;
use std::path::Path;

/// Reads a record that `--json` printed.
pub fn read(path: &Path) -> io::Result<Record> {
    let text = fs::read_to_string(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    let fault = |why| io::Error::other(format!("{}: {why}", path.display()));
    clew_record::pages::read(&text).map_err(fault)
}

/// Writes the pictures of a record into the folder of `--svg`. Returns how many there are.
pub fn save(record: &Record, options: &Options) -> io::Result<usize> {
    let plots = [figure2(record), latency(record)];
    let plots = plots.into_iter().flatten();
    let saved = plots.map(|(name, plot)| plot.save(options, &name));
    saved.map(|saved| saved.map(|()| 1)).sum()
}

fn machine(record: &Record) -> String {
    let run = &record.run;
    format!(
        "{} cores of {}; {}; commit {}",
        run.cores, run.cpu, run.date, run.commit
    )
}

/// A panel for each loss.
fn figure2(record: &Record) -> Option<(String, Plot)> {
    let tables = record.tables.iter();
    let tables = tables.filter_map(|table| Some((table.name.strip_prefix(figure2::TABLE)?, table)));
    let tables: Vec<(&str, &Table)> = tables.collect();
    let (scheme, _) = tables.first()?.0.split_once('-')?;
    let panels = tables.iter().map(|(name, table)| Panel {
        title: format!("{} % loss", name.rsplit('-').next().unwrap_or_default()),
        lines: curves(table),
    });
    let has_loss = tables.iter().any(|(name, _)| !name.ends_with("-0"));
    let name = format!("{}{scheme}", figure2::TABLE);
    let plot = Plot {
        title: format!("TCP throughput by round trip, {scheme}, after Clue's Figure 2"),
        note: format!("Rings: figures in Clue's text, 2011. {}", machine(record)),
        x: "round trip, ms".into(),
        y: "Mbit/s".into(),
        places: tables.first()?.1.columns.iter().skip(2).cloned().collect(),
        panels: panels.collect(),
    };
    Some((if has_loss { name + "-loss" } else { name }, plot))
}

fn curves(table: &Table) -> Vec<Line> {
    let mut colour = 0;
    let mut lines = Vec::new();
    for row in &table.rows {
        let is_quoted = row[0].starts_with(figure2::CLUE);
        colour += usize::from(!is_quoted && !lines.is_empty());
        let look = match (is_quoted, row[1].as_str()) {
            (true, _) => Look::Rings,
            (false, "none" | "clew-plain") => Look::Dashed,
            (false, _) => Look::Solid,
        };
        lines.push(line(&row[0], colour, look, &row[2..]));
    }
    lines
}

/// Percentiles of what each system adds.
fn latency(record: &Record) -> Option<(String, Plot)> {
    let mut tables = record.tables.iter();
    let table = tables.find(|table| table.name == latency::DISTRIBUTION)?;
    let rows = table.rows.iter().enumerate();
    let lines = rows.map(|(colour, row)| line(&row[0], colour, Look::Solid, &row[1..]));
    let plot = Plot {
        title: table.title.clone(),
        note: machine(record),
        x: "per cent of the packets".into(),
        y: "ms".into(),
        places: table.columns.iter().skip(1).cloned().collect(),
        panels: vec![Panel {
            title: String::new(),
            lines: lines.collect(),
        }],
    };
    Some((table.name.clone(), plot))
}

/// Cells that are figures above zero: the axis is logarithmic.
fn line(name: &str, colour: usize, look: Look, cells: &[String]) -> Line {
    let figures = cells.iter().map(|cell| cell.parse().ok());
    let points = figures.enumerate().filter_map(|(x, y)| Some((x, y?)));
    Line {
        name: name.into(),
        colour,
        look,
        points: points.filter(|(_, y): &(usize, f64)| *y > 0.0).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's figures have the colour of the curve before them, and blanks are no points.
    #[test]
    fn rows_are_curves() {
        let mut table = Table::new("figure2-xr-0", "", ["row", "system", "1", "20"]);
        table.row("plain", ["none", "900", "800"]);
        table.row("window 64", ["clew-window", "-", "20.5"]);
        table.row("Clue: Win-64", ["-", "-", "17.5"]);
        let lines = curves(&table);
        let of = |line: &Line| (line.colour, line.look, line.points.clone());
        assert!(of(&lines[0]) == (0, Look::Dashed, vec![(0, 900.0), (1, 800.0)]));
        assert!(of(&lines[1]) == (1, Look::Solid, vec![(1, 20.5)]));
        assert!(of(&lines[2]) == (1, Look::Rings, vec![(1, 17.5)]));
    }
}
