//! What a paper found, and whether our numbers bear it out: for programs that reproduce one.

use clew_record::table::{fixed, optional};

/// What the paper says, and whether our numbers bear it out.
pub struct Finding {
    /// The table or figure of the paper.
    pub place: String,
    pub says: String,
    pub holds: bool,
    pub because: String,
}

impl Finding {
    pub fn new(says: impl Into<String>, holds: bool, because: impl Into<String>) -> Self {
        Self {
            place: String::new(),
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

/// The findings of a table or figure.
pub fn at(place: &str, findings: impl IntoIterator<Item = Finding>) -> Vec<Finding> {
    let placed = findings.into_iter().map(|finding| Finding {
        place: place.into(),
        ..finding
    });
    placed.collect()
}

/// A figure of the paper, or a blank.
pub fn quote(figure: Option<f64>, decimals: usize) -> String {
    optional(figure, fixed(decimals))
}
