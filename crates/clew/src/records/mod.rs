//! What verification found, in formats for people and for other programs: `spec/records.md`.
//!
//! A [`Finding`] is all that is known about one packet; each format is one [`Records`].

mod eve;
mod fields;
mod finding;
mod flow_table;
pub mod flows;
pub mod json;
mod protocol;
mod table;
mod tsv;

pub use finding::Finding;

use crate::cli::Verify;
use clew_engine::Keyring;
use clew_engine::captures::VerifyReport;
use std::io::{self, Write};

/// Format of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Text for people: invalid packets, totals, flows, the answer
    Table,
    /// JSON Lines: one object per packet, then a summary
    Json,
    /// A Zeek log, one row per packet
    Tsv,
    /// Suricata's JSON Lines (EVE), one event per packet, then a summary
    Eve,
}

/// Writes what was found in one format. Nothing is kept that grows with the capture.
pub trait Records {
    /// For every packet, in order.
    fn packet(&mut self, finding: &Finding<'_>, out: &mut dyn Write) -> io::Result<()>;

    /// After the last packet.
    fn end(&mut self, verified: &VerifyReport, out: &mut dyn Write) -> io::Result<()>;
}

/// What writes the format that was asked for.
pub fn records<'a>(arguments: &'a Verify, keyring: &'a Keyring) -> Box<dyn Records + 'a> {
    match arguments.format() {
        Format::Table => Box::new(table::Table::new(
            &arguments.input,
            keyring,
            arguments.strict,
        )),
        Format::Json => Box::new(json::Json),
        Format::Tsv => Box::new(tsv::Tsv::default()),
        Format::Eve => Box::new(eve::Eve::default()),
    }
}
