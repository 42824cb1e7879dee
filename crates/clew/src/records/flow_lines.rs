//! JSON Lines: one object per flow, from time to time, then a summary.

use super::flows::{FLOWS_MAX, Flows, Packets};
use super::{Ending, Finding, Records, json};
use crate::clock;
use crate::community_id::CommunityId;
use clew_packet::{Flow, Verdict};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// The packets of flows since the last lines.
pub struct FlowLines(Flows<Seen>);

/// What was seen of a flow.
#[derive(Default)]
struct Seen {
    packets: Packets,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
}

impl Default for FlowLines {
    fn default() -> Self {
        Self(Flows::new(FLOWS_MAX))
    }
}

impl Records for FlowLines {
    fn packet(&mut self, finding: &Finding<'_>, _out: &mut dyn Write) -> io::Result<()> {
        let seen = self.0.of(finding.flow.as_ref());
        seen.packets.count(finding.conclusion.reason);
        seen.first_ns = seen.first_ns.or(finding.info.time_ns);
        seen.last_ns = finding.info.time_ns.or(seen.last_ns);
        Ok(())
    }

    /// The flows with the most packets first; those for which there was no room are one.
    fn tick(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let flows = std::mem::replace(&mut self.0, Flows::new(FLOWS_MAX));
        for (flow, seen) in flows.sorted(|seen| seen.packets.all()) {
            writeln!(out, "{}", line(Some(flow), seen))?;
        }
        for seen in [flows.others(), flows.without()] {
            if seen.packets.all() > 0 {
                writeln!(out, "{}", line(None, seen))?;
            }
        }
        Ok(())
    }

    fn end(&mut self, ending: &Ending<'_>, out: &mut dyn Write) -> io::Result<()> {
        self.tick(out)?;
        writeln!(out, "{}", json::summary(ending))
    }
}

fn line(flow: Option<&Flow>, seen: &Seen) -> Value {
    let mut out = Map::new();
    for (name, time) in [("first", seen.first_ns), ("last", seen.last_ns)] {
        if let Some(ns) = time {
            out.insert(name.into(), json!(clock::rfc3339(ns)));
        }
    }
    if let Some(flow) = flow {
        json::addresses(&mut out, flow);
        let id = CommunityId::new(flow, 0).to_string();
        out.insert("community_id".into(), json!(id));
    }
    out.insert("packets".into(), json!(seen.packets.all()));
    use Verdict::{Invalid, Undecided, Unsigned, Valid};
    for verdict in [Valid, Unsigned, Invalid, Undecided] {
        out.insert(verdict.as_str().into(), json!(seen.packets.with(verdict)));
    }
    let reasons = seen.packets.by_reason();
    let reasons = reasons.map(|(reason, count)| (reason.as_str().to_owned(), json!(count)));
    out.insert("reasons".into(), Value::Object(reasons.collect()));
    json!({ "flow": out })
}
