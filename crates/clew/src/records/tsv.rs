//! Tab-separated values with the head and foot of Zeek's logs.

use super::{Finding, Records, protocol};
use crate::clock;
use crate::report;
use crate::verify::Verified;
use clew_packet::Summary;
use std::io::{self, Write};

/// Stands for a value that there is none of.
const UNSET: &str = "-";

/// Stands for a text of no length.
const EMPTY: &str = "(empty)";

/// Name, Zeek's type, and how it is found.
type Field = (
    &'static str,
    &'static str,
    fn(&Finding<'_>) -> Option<String>,
);

const FIELDS: [Field; 21] = [
    ("ts", "time", |f| f.info.time_ns.map(clock::epoch_seconds)),
    ("packet", "count", |f| text(f.info.frame)),
    ("id.orig_h", "addr", |f| text(f.flow?.source)),
    ("id.orig_p", "port", |f| text(f.flow?.source_port?)),
    ("id.resp_h", "addr", |f| text(f.flow?.destination)),
    ("id.resp_p", "port", |f| text(f.flow?.destination_port?)),
    ("proto", "enum", |f| Some(protocol::zeek(f.flow?.protocol))),
    ("community_id", "string", Finding::community_id),
    ("verdict", "string", |f| text(f.conclusion.verdict.as_str())),
    ("reason", "string", |f| text(f.conclusion.reason.as_str())),
    ("group", "string", Finding::group),
    ("epoch", "count", |f| text(trailer(f)?.epoch)),
    ("mode", "string", |f| text(report::mode(trailer(f)?.mode))),
    ("scheme", "string", |f| Some(report::scheme(trailer(f)?))),
    ("signed_at", "time", |f| {
        f.signed_at_ns().map(clock::epoch_seconds)
    }),
    ("nat", "bool", |f| truth(trailer(f)?.nat)),
    ("tolerant", "bool", |f| truth(trailer(f)?.tolerant)),
    ("block", "string", |f| Some(f.in_block()?.id)),
    ("block_index", "count", |f| text(f.in_block()?.index)),
    ("block_count", "count", |f| text(f.in_block()?.count)),
    ("window", "count", |f| text(f.window()?)),
];

/// The format without a state.
pub struct Tsv;

impl Records for Tsv {
    fn start(&mut self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "#separator \\x09\n#set_separator\t,")?;
        writeln!(out, "#empty_field\t{EMPTY}\n#unset_field\t{UNSET}")?;
        writeln!(out, "#path\tclew\n#open\t{}", clock::zeek_now())?;
        writeln!(out, "#fields\t{}", FIELDS.map(|(name, ..)| name).join("\t"))?;
        writeln!(
            out,
            "#types\t{}",
            FIELDS.map(|(_, kind, _)| kind).join("\t")
        )
    }

    fn packet(&mut self, finding: &Finding<'_>, out: &mut dyn Write) -> io::Result<()> {
        let values = FIELDS.map(|(_, _, find)| match find(finding) {
            Some(value) => escape(&value),
            None => UNSET.to_owned(),
        });
        writeln!(out, "{}", values.join("\t"))
    }

    /// The format has no place for what went wrong.
    fn end(&mut self, verified: &Verified, out: &mut dyn Write) -> io::Result<()> {
        report::damage(verified.damage.as_deref(), report::NOT_VERIFIED);
        if let Some(forgotten) = report::forgotten(verified.forgotten) {
            eprintln!("clew: warning: {forgotten}");
        }
        writeln!(out, "#close\t{}", clock::zeek_now())
    }
}

fn trailer<'f>(finding: &'f Finding<'_>) -> Option<&'f Summary> {
    finding.conclusion.summary.as_ref()
}

fn text(value: impl ToString) -> Option<String> {
    Some(value.to_string())
}

fn truth(value: bool) -> Option<String> {
    text(if value { "T" } else { "F" })
}

/// A value that neither ends its field nor reads as one of the words with a meaning, as Zeek
/// escapes.
fn escape(value: &str) -> String {
    if value.is_empty() {
        return EMPTY.to_owned();
    }
    let is_word = [UNSET, EMPTY].contains(&value);
    let escaped = value.chars().enumerate().map(|(at, c)| {
        let special = c.is_ascii_control() || c == '\\' || (is_word && at == 0);
        match special {
            true => format!("\\x{:02x}", u32::from(c)),
            false => c.to_string(),
        }
    });
    escaped.collect()
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
            assert_eq!(escape(value), escaped);
        }
    }
}
