//! JSON Lines: one object per packet, then a summary.

use super::fields::FIELDS;
use super::{Ending, Finding, Missed, Records};
use crate::clock;
use clew_packet::Flow;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Members of an object, in their order.
pub type Members = Map<String, Value>;

/// The format, which needs no memory.
pub struct Json;

impl Records for Json {
    fn packet(&mut self, finding: &Finding<'_>, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", packet(finding))
    }

    fn end(&mut self, ending: &Ending<'_>, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", summary(ending))
    }
}

/// What was found about one packet, members in the order of the contract.
pub fn packet(finding: &Finding<'_>) -> Value {
    let mut out = Map::new();
    out.insert("packet".into(), json!(finding.info.frame));
    if let Some(ns) = finding.info.time_ns {
        out.insert("time".into(), json!(clock::rfc3339(ns)));
    }
    out.extend(judged(finding));
    if let Some(flow) = &finding.flow {
        addresses(&mut out, flow);
    }
    if let Some(id) = finding.community_id() {
        out.insert("community_id".into(), json!(id.to_string()));
    }
    Value::Object(out)
}

/// The last line.
pub fn summary(ending: &Ending<'_>) -> Value {
    json!({ "summary": totals(ending) })
}

/// The verdict, why, and what the trailer says.
pub fn judged(finding: &Finding<'_>) -> Members {
    let members = FIELDS.iter().filter_map(|field| {
        let value = (field.of)(finding)?.json()?;
        Some((field.name.to_owned(), value))
    });
    members.collect()
}

/// Packets by verdict and reason, and what went wrong.
pub fn totals(ending: &Ending<'_>) -> Members {
    let verified = ending.verified;
    let (totals, mut out) = (&verified.totals, Map::new());
    out.insert("packets".into(), json!(totals.packets));
    for (verdict, count) in totals.verdicts {
        out.insert(verdict.as_str().into(), json!(count));
    }
    let reasons = totals.reasons.iter();
    let reasons = reasons.map(|(reason, count)| (reason.as_str().to_owned(), json!(count)));
    out.insert("reasons".into(), Value::Object(reasons.collect()));
    if let Some(damage) = &verified.damage {
        out.insert("damage".into(), json!(damage.to_string()));
    }
    if totals.forgotten > 0 {
        out.insert("forgotten".into(), json!(totals.forgotten));
    }
    let missed = ending.missed.iter().flat_map(Missed::counts);
    out.extend(missed.map(|(name, _, count)| (name.to_owned(), json!(count))));
    out
}

/// Addresses, protocol and ports.
pub fn addresses(out: &mut Members, flow: &Flow) {
    out.insert("src".into(), json!(flow.source.to_string()));
    out.insert("dst".into(), json!(flow.destination.to_string()));
    out.insert("proto".into(), json!(flow.protocol));
    let ports = [
        ("src_port", flow.source_port),
        ("dst_port", flow.destination_port),
    ];
    for (name, port) in ports {
        if let Some(port) = port {
            out.insert(name.into(), json!(port));
        }
    }
}
