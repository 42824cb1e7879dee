//! EVE, the JSON Lines of Suricata: an event per packet, then one with the totals.

use super::json::{Members, totals, verdict};
use super::{Finding, InBlock, Records, protocol};
use crate::clock;
use crate::verify::Verified;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Remembers the time of the last packet: the totals are of then, so that the same capture gives
/// the same events whenever it is verified.
#[derive(Default)]
pub struct Eve {
    last_ns: Option<u64>,
}

impl Records for Eve {
    fn packet(&mut self, finding: &Finding<'_>, out: &mut dyn Write) -> io::Result<()> {
        self.last_ns = finding.info.time_ns.or(self.last_ns);
        writeln!(out, "{}", event(finding))
    }

    fn end(&mut self, verified: &Verified, out: &mut dyn Write) -> io::Result<()> {
        let mut event = at(self.last_ns);
        event.insert("event_type".into(), json!("stats"));
        event.insert("stats".into(), json!({ "clew": totals(verified) }));
        writeln!(out, "{}", Value::Object(event))
    }
}

fn at(time_ns: Option<u64>) -> Members {
    let timestamp = time_ns.map(|ns| ("timestamp".to_owned(), json!(clock::eve(ns))));
    timestamp.into_iter().collect()
}

fn event(finding: &Finding<'_>) -> Value {
    let mut event = at(finding.info.time_ns);
    event.insert("pcap_cnt".into(), json!(finding.info.frame));
    event.insert("event_type".into(), json!("clew"));
    addresses(&mut event, finding);
    let mut clew = Map::new();
    verdict(&mut clew, finding);
    // JSON Lines say 1970 where a trailer has no time; nobody should search for that.
    if finding.signed_at_ns().is_none() {
        clew.remove("signed_at");
    }
    if let Some(InBlock { id, index, count }) = finding.in_block() {
        let block = json!({ "id": id, "index": index, "count": count });
        clew.insert("block".into(), block);
    }
    if let Some(window) = finding.window() {
        clew.insert("window".into(), json!(window));
    }
    event.insert("clew".into(), Value::Object(clew));
    Value::Object(event)
}

fn addresses(event: &mut Members, finding: &Finding<'_>) {
    let Some(flow) = &finding.flow else { return };
    let ends = [
        ("src", flow.source, flow.source_port),
        ("dest", flow.destination, flow.destination_port),
    ];
    for (end, address, port) in ends {
        event.insert(format!("{end}_ip"), json!(address.to_string()));
        if let Some(port) = port {
            event.insert(format!("{end}_port"), json!(port));
        }
    }
    event.insert("proto".into(), json!(protocol::name(flow.protocol)));
    event.insert("community_id".into(), json!(finding.community_id()));
}
