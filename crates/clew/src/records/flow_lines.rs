//! One line per flow, from time to time, in the formats for programs.

use super::flows::{FLOWS_MAX, Flows, Packets};
use super::tsv::{Log, address_columns, cell, row};
use super::{Ending, Finding, Format, Records, eve, json};
use crate::clock;
use crate::community_id::CommunityId;
use clew_packet::{Flow, Verdict};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Verdicts, in the order in which lines have them.
const VERDICTS: [Verdict; 4] = [
    Verdict::Valid,
    Verdict::Unsigned,
    Verdict::Invalid,
    Verdict::Undecided,
];

/// The event's type, and the object in it; the path of the log.
const NAME: &str = "clew_flow";

/// Columns of a log behind the addresses.
const COLUMNS: [(&str, &str); 7] = [
    ("duration", "interval"),
    ("packets", "count"),
    ("valid", "count"),
    ("unsigned", "count"),
    ("invalid", "count"),
    ("undecided", "count"),
    ("reasons", "vector[string]"),
];

/// The packets of flows since the last lines.
pub struct FlowLines {
    flows: Flows<Seen>,
    format: Format,
    log: Log,
    last_ns: Option<u64>,
}

/// What was seen of a flow.
#[derive(Default)]
struct Seen {
    packets: Packets,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    /// That of the first packet: it has what a Community ID needs.
    flow: Option<Flow>,
    /// Its packets have several Community IDs, as those of ICMP may have.
    is_mixed: bool,
}

impl Seen {
    fn count(&mut self, finding: &Finding<'_>) {
        self.packets.count(finding.conclusion.reason);
        self.first_ns = self.first_ns.or(finding.info.time_ns);
        self.last_ns = finding.info.time_ns.or(self.last_ns);
        let (Some(first), Some(flow)) = (&self.flow, &finding.flow) else {
            self.flow = finding.flow;
            return;
        };
        let is_other = || CommunityId::new(first, 0) != CommunityId::new(flow, 0);
        self.is_mixed |= first.upper_start != flow.upper_start && is_other();
    }

    fn community_id(&self) -> Option<CommunityId> {
        let flow = self.flow.as_ref().filter(|_| !self.is_mixed)?;
        Some(CommunityId::new(flow, 0))
    }
}

impl FlowLines {
    /// Lines of one of the formats for programs.
    pub fn new(format: Format) -> Self {
        Self {
            flows: Flows::new(FLOWS_MAX),
            format,
            log: Log::new(NAME),
            last_ns: None,
        }
    }

    fn line(&mut self, flow: Option<&Flow>, seen: &Seen, out: &mut dyn Write) -> io::Result<()> {
        match self.format {
            Format::Tsv => {
                self.head(out)?;
                writeln!(out, "{}", log_row(flow, seen))
            }
            Format::Eve => writeln!(out, "{}", event(flow, seen)),
            Format::Json | Format::Table => writeln!(out, "{}", object(flow, seen)),
        }
    }

    fn head(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let addresses = address_columns();
        let columns: Vec<_> = [("ts", "time")].into_iter().chain(addresses).collect();
        let columns = [columns, COLUMNS.to_vec()].concat();
        self.log.head(&columns, out)
    }
}

impl Records for FlowLines {
    fn packet(&mut self, finding: &Finding<'_>, _out: &mut dyn Write) -> io::Result<()> {
        self.last_ns = finding.info.time_ns.or(self.last_ns);
        self.log.saw(finding.info.time_ns);
        self.flows.of(finding.flow.as_ref()).count(finding);
        Ok(())
    }

    /// The flows with the most packets first; those for which there was no room are one.
    fn tick(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let flows = std::mem::replace(&mut self.flows, Flows::new(FLOWS_MAX));
        for (flow, seen) in flows.sorted(|seen| seen.packets.all()) {
            self.line(Some(flow), seen, out)?;
        }
        for seen in [flows.others(), flows.without()] {
            if seen.packets.all() > 0 {
                self.line(None, seen, out)?;
            }
        }
        Ok(())
    }

    fn leave(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.log.leave(out)
    }

    fn end(&mut self, ending: &Ending<'_>, out: &mut dyn Write) -> io::Result<()> {
        self.tick(out)?;
        match self.format {
            Format::Tsv => {
                self.head(out)?;
                self.log.end(ending, out)
            }
            Format::Eve => writeln!(out, "{}", eve::last(ending, self.last_ns)),
            Format::Json | Format::Table => writeln!(out, "{}", json::summary(ending)),
        }
    }
}

fn object(flow: Option<&Flow>, seen: &Seen) -> Value {
    let mut out = times(seen);
    if let Some(flow) = flow {
        json::addresses(&mut out, flow);
    }
    if let Some(id) = flow.and_then(|_| seen.community_id()) {
        out.insert("community_id".into(), json!(id.to_string()));
    }
    out.extend(counts(seen));
    json!({ "flow": out })
}

/// As Suricata writes an event: what is ours stands in an object of the event's name.
fn event(flow: Option<&Flow>, seen: &Seen) -> Value {
    let mut event = Map::new();
    let id = flow.and_then(|_| seen.community_id());
    eve::begin(&mut event, seen.last_ns, id.as_ref());
    event.insert("event_type".into(), json!(NAME));
    if let Some(flow) = flow {
        eve::addresses(&mut event, flow);
    }
    if let Some(id) = id {
        event.insert("community_id".into(), json!(id.to_string()));
    }
    let mut ours = times(seen);
    ours.extend(counts(seen));
    event.insert(NAME.into(), Value::Object(ours));
    Value::Object(event)
}

fn log_row(flow: Option<&Flow>, seen: &Seen) -> String {
    let id = flow.and_then(|_| seen.community_id());
    let between = |(first, last): (u64, u64)| clock::epoch_seconds(last.saturating_sub(first));
    let mut cells = vec![seen.first_ns.map(clock::epoch_seconds)];
    cells.extend(super::tsv::addresses(flow, id.as_ref()));
    cells.push(seen.first_ns.zip(seen.last_ns).map(between));
    cells.push(Some(seen.packets.all().to_string()));
    cells.extend(VERDICTS.map(|verdict| Some(seen.packets.with(verdict).to_string())));
    let reasons = seen.packets.by_reason();
    let reasons: Vec<String> = reasons.map(|(why, n)| format!("{why}:{n}")).collect();
    cells.push(Some(reasons.join(",")));
    row(cells.into_iter().map(cell))
}

fn times(seen: &Seen) -> json::Members {
    let times = [("first", seen.first_ns), ("last", seen.last_ns)].into_iter();
    let told = times.filter_map(|(name, ns)| Some((name.to_owned(), json!(clock::rfc3339(ns?)))));
    told.collect()
}

fn counts(seen: &Seen) -> json::Members {
    let mut out = Map::new();
    out.insert("packets".into(), json!(seen.packets.all()));
    for verdict in VERDICTS {
        out.insert(verdict.as_str().into(), json!(seen.packets.with(verdict)));
    }
    let reasons = seen.packets.by_reason();
    let reasons = reasons.map(|(reason, count)| (reason.as_str().to_owned(), json!(count)));
    out.insert("reasons".into(), Value::Object(reasons.collect()));
    out
}
