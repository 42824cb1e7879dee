//! Tab-separated values with the head and foot of Zeek's logs.

use super::fields::FIELDS;
use super::{Ending, Finding, Records, protocol};
use crate::clock;
use crate::community_id::CommunityId;
use crate::report;
use clew_packet::Flow;
use std::io::{self, Write};

/// Stands for a value that there is none of.
const UNSET: &str = "-";

/// Stands for a text of no length.
const EMPTY: &str = "(empty)";

/// A column with Zeek's own name for it, its type, and how it is found.
type Column = (
    &'static str,
    &'static str,
    fn(&Flow, Option<&CommunityId>) -> Option<String>,
);

/// The columns of a flow.
const ADDRESSES: [Column; 6] = [
    ("id.orig_h", "addr", |flow, _| text(flow.source)),
    ("id.orig_p", "port", |flow, _| text(flow.source_port?)),
    ("id.resp_h", "addr", |flow, _| text(flow.destination)),
    ("id.resp_p", "port", |flow, _| text(flow.destination_port?)),
    ("proto", "enum", |flow, _| {
        Some(protocol::zeek(flow.protocol))
    }),
    ("community_id", "string", |_, id| text(id?)),
];

/// Names and types of the columns of a flow.
pub fn address_columns() -> impl Iterator<Item = (&'static str, &'static str)> {
    ADDRESSES.iter().map(|(name, kind, _)| (*name, *kind))
}

/// The values of these columns.
pub fn addresses<'a>(
    flow: Option<&'a Flow>,
    id: Option<&'a CommunityId>,
) -> impl Iterator<Item = Option<String>> + 'a {
    ADDRESSES.iter().map(move |(.., of)| of(flow?, id))
}

/// A log: its head, and its foot. They have the times of the first and the last packet, as Zeek gives them
/// to logs of a capture: so the same capture always gives the same log.
pub struct Log {
    path: &'static str,
    has_head: bool,
    last_ns: Option<u64>,
}

impl Log {
    /// A log of that path, with no head yet.
    pub const fn new(path: &'static str) -> Self {
        Self {
            path,
            has_head: false,
            last_ns: None,
        }
    }

    /// A packet came, at that time.
    pub fn saw(&mut self, ns: Option<u64>) {
        self.last_ns = ns.or(self.last_ns);
    }

    /// Writes names and types of the columns, once.
    pub fn head(&mut self, columns: &[(&str, &str)], out: &mut dyn Write) -> io::Result<()> {
        if self.has_head {
            return Ok(());
        }
        self.has_head = true;
        let (names, kinds): (Vec<_>, Vec<_>) = columns.iter().copied().unzip();
        let (path, time) = (self.path, self.time());
        writeln!(out, "#separator \\x09\n#set_separator\t,")?;
        writeln!(out, "#empty_field\t{EMPTY}\n#unset_field\t{UNSET}")?;
        writeln!(out, "#path\t{path}\n#open\t{time}")?;
        writeln!(
            out,
            "#fields\t{}\n#types\t{}",
            names.join("\t"),
            kinds.join("\t")
        )
    }

    /// Ends the log before it goes on in another file: each file is a log of its own.
    pub fn leave(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match std::mem::take(&mut self.has_head) {
            true => writeln!(out, "#close\t{}", self.time()),
            false => Ok(()),
        }
    }

    /// Ends the log. The format has no place for what went wrong.
    pub fn end(&self, ending: &Ending<'_>, out: &mut dyn Write) -> io::Result<()> {
        let verified = ending.verified;
        report::damage(verified.damage.as_ref(), report::NOT_VERIFIED);
        if let Some(forgotten) = report::forgotten(verified.totals.forgotten) {
            mention!("clew: warning: {forgotten}");
        }
        if let Some(line) = ending.missed.as_ref().and_then(report::missed) {
            mention!("clew: warning: {line}");
        }
        writeln!(out, "#close\t{}", self.time())
    }

    /// The last time seen; of packets without a time, the clock's.
    fn time(&self) -> String {
        clock::zeek(self.last_ns.unwrap_or_else(clock::now_ns))
    }
}

/// A row per packet.
pub struct Tsv(Log);

impl Default for Tsv {
    fn default() -> Self {
        Self(Log::new("clew"))
    }
}

impl Tsv {
    fn head(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let first = [("ts", "time"), ("packet", "count")].into_iter();
        let fields = FIELDS.iter().map(|field| (field.name, field.kind));
        let columns: Vec<_> = first.chain(address_columns()).chain(fields).collect();
        self.0.head(&columns, out)
    }
}

impl Records for Tsv {
    fn packet(&mut self, finding: &Finding<'_>, out: &mut dyn Write) -> io::Result<()> {
        self.0.saw(finding.info.time_ns);
        self.head(out)?;
        let first = [
            finding.info.time_ns.map(clock::epoch_seconds),
            text(finding.info.frame),
        ];
        let id = finding.community_id();
        let addresses = addresses(finding.flow.as_ref(), id.as_ref());
        let fields = FIELDS.iter().map(|f| Some((f.of)(finding)?.zeek()));
        let values = first.into_iter().chain(addresses).chain(fields);
        writeln!(out, "{}", row(values.map(cell)))
    }

    fn leave(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.0.leave(out)
    }

    fn end(&mut self, ending: &Ending<'_>, out: &mut dyn Write) -> io::Result<()> {
        self.head(out)?;
        self.0.end(ending, out)
    }
}

/// A line of values with tabs between.
pub fn row(cells: impl Iterator<Item = impl Into<String>>) -> String {
    let cells: Vec<String> = cells.map(Into::into).collect();
    cells.join("\t")
}

fn text(value: impl ToString) -> Option<String> {
    Some(value.to_string())
}

/// A value as a log has it.
pub fn cell(value: Option<String>) -> String {
    value.map_or_else(|| UNSET.to_owned(), escape)
}

/// A value that neither ends its field nor reads as one of the words with a meaning, as Zeek
/// escapes.
fn escape(value: String) -> String {
    let special = |c: char| c.is_ascii_control() || c == '\\';
    let hex = |c: char| format!("\\x{:02x}", u32::from(c));
    match value.as_str() {
        "" => EMPTY.to_owned(),
        word @ (UNSET | EMPTY) => word.chars().take(1).map(hex).collect::<String>() + &word[1..],
        text if text.contains(special) => {
            let escaped = text.chars().map(|c| match special(c) {
                true => hex(c),
                false => c.to_string(),
            });
            escaped.collect()
        }
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_breaks_a_line() {
        for (value, escaped) in [
            ("1:abc=", "1:abc="),
            ("a\tb\nc\\d", "a\\x09b\\x0ac\\x5cd"),
            ("", "(empty)"),
            ("(empty)", "\\x28empty)"),
            ("-", "\\x2d"),
            ("--", "--"),
        ] {
            assert_eq!(escape(value.to_owned()), escaped);
        }
    }
}
