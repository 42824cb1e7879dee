//! The one table of all programs: printed for people, recorded as data, written into pages.

use serde::{Deserialize, Serialize};

/// Stands where there is no figure.
pub const BLANK: &str = "-";

/// Rows of cells under names of columns. Cells are text as it is shown: figures with their decimals.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Table {
    /// By which pages ask for the table.
    pub name: String,
    /// The unit of the figures, and what they include.
    pub title: String,
    /// The heads of the columns.
    pub columns: Vec<String>,
    /// The cells of each row, recorded as lines of their own.
    #[serde(skip)]
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new<C: Into<String>>(
        name: impl Into<String>,
        title: impl Into<String>,
        columns: impl IntoIterator<Item = C>,
    ) -> Self {
        Self {
            name: name.into(),
            title: title.into(),
            columns: columns.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row: its name and its cells.
    pub fn row<C: Into<String>>(
        &mut self,
        name: impl Into<String>,
        cells: impl IntoIterator<Item = C>,
    ) {
        let cells = cells.into_iter().map(Into::into);
        self.rows
            .push([name.into()].into_iter().chain(cells).collect());
    }

    /// The same without columns that are blank in all rows.
    pub(crate) fn without_blanks(&self) -> Self {
        let is_blank = |at: usize| self.rows.iter().all(|row| row[at] == BLANK);
        let kept: Vec<usize> = (0..self.columns.len())
            .filter(|at| !is_blank(*at))
            .collect();
        let cut = |row: &Vec<String>| kept.iter().map(|at| row[*at].clone()).collect();
        Self {
            columns: cut(&self.columns),
            rows: self.rows.iter().map(cut).collect(),
            ..self.clone()
        }
    }

    /// The table in Markdown, its columns aligned.
    pub fn markdown(&self) -> String {
        let lines = || [&self.columns].into_iter().chain(&self.rows);
        let width = |at: usize| lines().map(|line| line[at].chars().count()).max();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|at| width(at).unwrap_or(0).max(3))
            .collect();
        let is_text = |at: usize| at == 0 || self.rows.iter().any(|row| is_words(&row[at]));
        let line = |cells: &Vec<String>| {
            let cells = cells.iter().zip(&widths).enumerate();
            let cells = cells.map(|(at, (cell, width))| match is_text(at) {
                true => format!(" {cell:<width$} |"),
                false => format!(" {cell:>width$} |"),
            });
            format!("|{}\n", cells.collect::<String>())
        };
        let rule = widths
            .iter()
            .enumerate()
            .map(|(at, width)| match is_text(at) {
                true => format!("{}|", "-".repeat(width + 2)),
                false => format!("{}:|", "-".repeat(width + 1)),
            });
        let rule = format!("|{}\n", rule.collect::<String>());
        let rows: String = self.rows.iter().map(line).collect();
        line(&self.columns) + &rule + &rows
    }
}

fn is_words(cell: &str) -> bool {
    cell.chars().filter(|letter| letter.is_alphabetic()).count() > 3
}

/// A figure as text, or a blank.
pub fn optional(figure: Option<f64>, text: impl Fn(f64) -> String) -> String {
    figure.map_or(BLANK.into(), text)
}

/// Writes a figure with so many decimals.
pub fn fixed(decimals: usize) -> impl Fn(f64) -> String {
    move |figure| format!("{figure:.decimals$}")
}

/// Three digits that matter, or all of an integer.
pub fn number(figure: f64) -> String {
    let decimals = match figure {
        small if small < 10.0 => 2,
        middle if middle < 100.0 => 1,
        _ => 0,
    };
    format!("{figure:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("t", "", ["row", "us", "peer"]);
        table.row("xr-1", ["1.5", BLANK]);
        table.row("xr-16", ["0.5", BLANK]);
        table.row("bbs04", ["9", BLANK]);
        table
    }

    #[test]
    fn aligns_figures_and_leaves_blank_columns_out() {
        let text =
            "| row   |  us |\n|-------|----:|\n| xr-1  | 1.5 |\n| xr-16 | 0.5 |\n| bbs04 |   9 |\n";
        assert_eq!(table().without_blanks().markdown(), text);
    }
}
