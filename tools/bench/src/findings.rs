//! What a paper found, and whether our numbers bear it out: for programs that reproduce one.

use crate::measure::Figures;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What was measured, by the names of rows.
pub struct Measured(pub BTreeMap<String, Figures>);

impl Measured {
    /// The median, in microseconds.
    pub fn us(&self, row: &str) -> f64 {
        self.0.get(row).map_or(f64::NAN, |figures| figures.median)
    }
}

/// What the paper says, and whether our numbers bear it out.
pub struct Finding {
    says: String,
    holds: bool,
    because: String,
}

impl Finding {
    pub fn new(says: impl Into<String>, holds: bool, because: impl Into<String>) -> Self {
        Self {
            says: says.into(),
            holds,
            because: because.into(),
        }
    }

    /// The same of one of several.
    pub fn of(mut self, whom: &str) -> Self {
        self.says = format!("{whom}: {}", self.says);
        self
    }
}

/// Prints what a table shows.
pub fn conclude(out: &mut dyn Write, findings: Vec<Finding>) -> io::Result<Vec<Finding>> {
    for Finding {
        says,
        holds,
        because,
    } in &findings
    {
        let verdict = if *holds { "Reproduced" } else { "Refuted" };
        writeln!(out, "* Paper: {says}. {verdict}: {because}.")?;
    }
    Ok(findings)
}

/// A figure of the paper, or a blank.
pub fn quote(figure: Option<f64>, decimals: usize) -> String {
    figure.map_or("-".into(), |figure| format!("{figure:.decimals$}"))
}

/// Counts the findings.
pub fn sum_up(out: &mut dyn Write, findings: &[Finding]) -> io::Result<()> {
    let (held, all) = (findings.iter().filter(|f| f.holds).count(), findings.len());
    writeln!(
        out,
        "\n{held} of {all} findings are reproduced, {} refuted.",
        all - held
    )
}
