//! Tab-separated values with the head and foot of Zeek's logs.

use super::fields::FIELDS;
use super::{Ending, Finding, Records, protocol};
use crate::clock;
use crate::report;
use std::io::{self, Write};

/// Stands for a value that there is none of.
const UNSET: &str = "-";

/// Stands for a text of no length.
const EMPTY: &str = "(empty)";

/// A column with Zeek's own name for it: name, type, and how it is found.
type Column = (
    &'static str,
    &'static str,
    fn(&Finding<'_>) -> Option<String>,
);

/// What stands before the columns that all formats have.
const COLUMNS: [Column; 8] = [
    ("ts", "time", |f| f.info.time_ns.map(clock::epoch_seconds)),
    ("packet", "count", |f| text(f.info.frame)),
    ("id.orig_h", "addr", |f| text(f.flow?.source)),
    ("id.orig_p", "port", |f| text(f.flow?.source_port?)),
    ("id.resp_h", "addr", |f| text(f.flow?.destination)),
    ("id.resp_p", "port", |f| text(f.flow?.destination_port?)),
    ("proto", "enum", |f| Some(protocol::zeek(f.flow?.protocol))),
    ("community_id", "string", |f| text(f.community_id()?)),
];

/// Remembers what the head and the foot need. They have the times of the first and the last packet,
/// as Zeek gives them to logs of a capture: so the same capture always gives the same log.
#[derive(Default)]
pub struct Tsv {
    has_head: bool,
    last_ns: Option<u64>,
}

impl Records for Tsv {
    fn packet(&mut self, finding: &Finding<'_>, out: &mut dyn Write) -> io::Result<()> {
        self.last_ns = finding.info.time_ns.or(self.last_ns);
        self.head(out)?;
        let first = COLUMNS.iter().map(|(_, _, of)| of(finding));
        let values = first.chain(FIELDS.iter().map(|f| Some((f.of)(finding)?.zeek())));
        writeln!(out, "{}", row(values.map(cell)))
    }

    /// Each file is a log of its own.
    fn leave(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match std::mem::take(&mut self.has_head) {
            true => writeln!(out, "#close\t{}", self.time()),
            false => Ok(()),
        }
    }

    /// The format has no place for what went wrong.
    fn end(&mut self, ending: &Ending<'_>, out: &mut dyn Write) -> io::Result<()> {
        let verified = ending.verified;
        self.head(out)?;
        report::damage(verified.damage.as_ref(), report::NOT_VERIFIED);
        if let Some(forgotten) = report::forgotten(verified.totals.forgotten) {
            mention!("clew: warning: {forgotten}");
        }
        if let Some(line) = ending.missed.as_ref().and_then(report::missed) {
            mention!("clew: warning: {line}");
        }
        writeln!(out, "#close\t{}", self.time())
    }
}

impl Tsv {
    fn head(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.has_head {
            return Ok(());
        }
        self.has_head = true;
        let names = COLUMNS.iter().map(|(name, ..)| *name);
        let names = names.chain(FIELDS.iter().map(|field| field.name));
        let kinds = COLUMNS.iter().map(|(_, kind, _)| *kind);
        let kinds = kinds.chain(FIELDS.iter().map(|field| field.kind));
        writeln!(out, "#separator \\x09\n#set_separator\t,")?;
        writeln!(out, "#empty_field\t{EMPTY}\n#unset_field\t{UNSET}")?;
        writeln!(out, "#path\tclew\n#open\t{}", self.time())?;
        writeln!(out, "#fields\t{}\n#types\t{}", row(names), row(kinds))
    }

    /// The last time seen; of packets without a time, the clock's.
    fn time(&self) -> String {
        clock::zeek(self.last_ns.unwrap_or_else(clock::now_ns))
    }
}

fn row(cells: impl Iterator<Item = impl Into<String>>) -> String {
    let cells: Vec<String> = cells.map(Into::into).collect();
    cells.join("\t")
}

fn text(value: impl ToString) -> Option<String> {
    Some(value.to_string())
}

fn cell(value: Option<String>) -> String {
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
