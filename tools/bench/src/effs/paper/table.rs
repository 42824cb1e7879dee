//! A table with the paper's numbers and ours, each with its ratio to RSA.

use crate::report::number;
use std::io::{self, Write};

/// A row: what the paper has for each column, and we.
pub struct Row {
    pub name: String,
    pub paper: Vec<Option<f64>>,
    pub ours: Vec<Option<f64>>,
}

/// A table.
pub struct Table {
    pub title: String,
    pub columns: Vec<String>,
    /// Of the paper's numbers and of ours.
    pub units: [&'static str; 2],
    pub rows: Vec<Row>,
    /// RSA of the column's modulus.
    pub rsa: Row,
}

impl Table {
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let cells = self.columns.iter().map(|column| format!("{column:>10}"));
        writeln!(
            out,
            "\n{}\n{:<42}{}",
            self.title,
            "",
            cells.collect::<String>()
        )?;
        for row in &self.rows {
            let sides = [
                ("paper", self.units[0], &row.paper, &self.rsa.paper),
                ("here", self.units[1], &row.ours, &self.rsa.ours),
            ];
            for (who, unit, values, rsa) in sides {
                if values.iter().all(Option::is_none) {
                    continue;
                }
                line(out, &row.name, &format!("{who}, {unit}"), values)?;
                let ratio = |(value, rsa): (&Option<f64>, &Option<f64>)| Some((*value)? / (*rsa)?);
                let ratios: Vec<_> = values.iter().zip(rsa).map(ratio).collect();
                line(out, "", &format!("{who} / RSA"), &ratios)?;
            }
        }
        Ok(())
    }
}

fn line(out: &mut dyn Write, name: &str, what: &str, values: &[Option<f64>]) -> io::Result<()> {
    let cells = values
        .iter()
        .map(|value| format!("{:>10}", value.map_or("-".into(), number)));
    writeln!(out, "{name:<28}{what:<14}{}", cells.collect::<String>())
}
