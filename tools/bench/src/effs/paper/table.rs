//! A table with the paper's numbers and ours, each with its ratio to RSA.

use clew_record::table::{self, BLANK, number, optional};

/// A row: what the paper has for each column, and we.
pub struct Row {
    pub name: String,
    pub paper: Vec<Option<f64>>,
    pub ours: Vec<Option<f64>>,
}

/// A table.
pub struct Table {
    pub name: String,
    pub title: String,
    pub columns: Vec<String>,
    /// Of the paper's numbers and of ours.
    pub units: [&'static str; 2],
    pub rows: Vec<Row>,
    /// RSA of the column's modulus.
    pub rsa: Row,
}

impl Table {
    /// A row for the paper and one for us, where there are figures.
    pub fn render(&self) -> table::Table {
        let columns = ["scheme", "figure (to RSA)"].map(String::from).into_iter();
        let columns = columns.chain(self.columns.iter().cloned());
        let mut table = table::Table::new(self.name.clone(), self.title.clone(), columns);
        for row in &self.rows {
            let sides = [
                ("paper", self.units[0], &row.paper, &self.rsa.paper),
                ("here", self.units[1], &row.ours, &self.rsa.ours),
            ];
            for (who, unit, values, rsa) in sides {
                if values.iter().any(Option::is_some) {
                    let cells = values
                        .iter()
                        .zip(rsa)
                        .map(|(value, rsa)| cell(*value, *rsa));
                    table.row(
                        row.name.clone(),
                        [format!("{who}, {unit}")].into_iter().chain(cells),
                    );
                }
            }
        }
        table
    }
}

fn cell(value: Option<f64>, rsa: Option<f64>) -> String {
    let ratio = value.zip(rsa).map(|(value, rsa)| value / rsa);
    match value {
        Some(value) => format!("{} ({})", number(value), optional(ratio, number)),
        None => BLANK.into(),
    }
}
