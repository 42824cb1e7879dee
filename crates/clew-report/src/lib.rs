//! Reports for people and courts: one [`Report`], written as HTML and as PDF; and bundles of files.
//!
//! The same report gives the same bytes each time: no clock, no randomness, no file is read. Both
//! forms need nothing from outside, and can be read by programs for people who do not see.
//!
//! Texts may come from strangers. Characters that change how the rest of a line is shown, or are shown
//! as nothing, are written as their number: `[U+202E]`.

mod bundle;
mod html;
mod layout;
mod measure;
mod pdf;

pub use bundle::{BUNDLE_MAX, BundleError, FILES_MAX, Files, SUMS, read_bundle, write_bundle};
pub use html::html;
pub use pdf::{PdfError, pdf};

/// Most bytes of text in a report that becomes a PDF: 4 MiB, some 1,500 pages.
pub const TEXT_MAX: usize = 4 << 20;

/// What a report says, in the order in which it says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Its title.
    pub title: String,
    /// When what it reports was done: the PDF's date.
    pub time: Time,
    /// What stands below the title.
    pub blocks: Vec<Block>,
}

/// A part of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// The heading of what follows.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// Numbered steps.
    Steps(Vec<String>),
    /// Names with their values.
    Facts(Vec<Fact>),
    /// A table.
    Table(Table),
    /// Lines of a program, with their line breaks.
    Code(String),
}

/// A name with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// What is known of it.
    pub value: String,
    /// Whether the value is for programs, as a hash is.
    pub is_code: bool,
}

/// A table. Each row has as many cells as there are columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// The cells, row by row.
    pub rows: Vec<Vec<String>>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Whether its cells are for programs, as hashes are.
    pub is_code: bool,
}

/// A time in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    /// The year.
    pub year: u16,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
}

impl Report {
    /// The bytes of all its texts.
    fn bytes(&self) -> usize {
        let of = |texts: &[String]| texts.iter().map(String::len).sum::<usize>();
        let block = |block: &Block| match block {
            Block::Heading(text) | Block::Text(text) | Block::Code(text) => text.len(),
            Block::Steps(steps) => of(steps),
            Block::Facts(facts) => facts
                .iter()
                .map(|fact| fact.name.len() + fact.value.len())
                .sum(),
            Block::Table(table) => {
                let rows = table.rows.iter().map(|row| of(row)).sum::<usize>();
                let names = table
                    .columns
                    .iter()
                    .map(|column| column.name.len())
                    .sum::<usize>();
                table.caption.len() + names + rows
            }
        };
        self.title.len() + self.blocks.iter().map(block).sum::<usize>()
    }
}
