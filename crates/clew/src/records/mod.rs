//! What verification found, in formats for people and for other programs: `spec/records.md`.
//!
//! A [`Finding`] is all that is known about one packet; each format is one [`Records`].

mod eve;
mod fields;
mod finding;
mod flow_lines;
mod flow_table;
pub mod flows;
pub mod json;
mod protocol;
mod table;
mod tsv;

pub use finding::Finding;

use crate::cli::Verify;
use crate::failure::Status;
use crate::report;
use clew_engine::Keyring;
use clew_engine::captures::VerifyReport;
use std::io::{self, Write};

/// What captures with verdicts say of their writer.
pub const WRITER: &str = concat!("clew ", env!("CARGO_PKG_VERSION"), " verify");

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

    /// From time to time, for formats that do not tell of each packet.
    fn tick(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// Before the output goes on in another file.
    fn leave(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// After the last packet.
    fn end(&mut self, ending: &Ending<'_>, out: &mut dyn Write) -> io::Result<()>;
}

/// What is known when the last packet was judged.
pub struct Ending<'a> {
    /// What was concluded.
    pub verified: &'a VerifyReport,
    /// The groups.
    pub keyring: &'a Keyring,
    /// What a tap has no verdict for; none of a file.
    pub missed: Option<Missed>,
}

/// Packets of a tap without a verdict, and records that were not written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missed {
    /// Packets that the kernel dropped: its buffer was full.
    pub dropped: u64,
    /// Packets that were skipped: the backlog was full.
    pub skipped: u64,
    /// Packets that were never on the wire as the tap saw them.
    pub joined: u64,
    /// Packets that the kernel described wrongly.
    pub malformed: u64,
    /// Packets that are not in the sample.
    pub unsampled: u64,
    /// Packets of other addresses than were asked for.
    pub filtered: u64,
    /// Lines of this report that were not written.
    pub lost_lines: u64,
    /// Packets that are in no evidence file.
    pub unwritten: u64,
}

impl Missed {
    /// Those that occurred: their names, what they are, and how many.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        let all = [
            ("dropped", "packets dropped by the kernel", self.dropped),
            ("skipped", "packets skipped, too many waited", self.skipped),
            ("joined", "packets joined by the kernel", self.joined),
            (
                "malformed",
                "packets described wrongly by the kernel",
                self.malformed,
            ),
            ("unsampled", "packets not in the sample", self.unsampled),
            ("filtered", "packets of other addresses", self.filtered),
            ("lost_lines", "lines not written", self.lost_lines),
            ("unwritten", "packets in no evidence file", self.unwritten),
        ];
        all.into_iter().filter(|(.., count)| *count > 0)
    }

    /// Whether packets have no verdict that were asked for.
    pub const fn is_open(&self) -> bool {
        self.dropped + self.skipped + self.joined + self.malformed > 0
    }
}

impl Ending<'_> {
    /// The answer.
    pub fn status(&self, strict: bool) -> Status {
        let is_open = self.missed.is_some_and(|missed| missed.is_open());
        match report::status(self.verified, strict) {
            Status::Yes if is_open => Status::CouldNotTell,
            other => other,
        }
    }
}

/// What writes the format that was asked for.
pub fn records(arguments: &Verify) -> Box<dyn Records + '_> {
    match arguments.format() {
        format if arguments.observe.flows.is_some() => Box::new(flow_lines::FlowLines::new(format)),
        Format::Table => Box::new(table::Table::new(arguments.source(), arguments.strict)),
        Format::Json => Box::new(json::Json),
        Format::Tsv => Box::new(tsv::Tsv::default()),
        Format::Eve => Box::new(eve::Eve::default()),
    }
}
