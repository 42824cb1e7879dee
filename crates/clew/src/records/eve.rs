//! EVE, the JSON Lines of Suricata: an event per packet, then one with the totals.

use super::json::{Members, judged, totals};
use super::{Ending, Finding, Records, protocol};
use crate::clock;
use crate::community_id::CommunityId;
use clew_packet::Flow;
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
        writeln!(out, "{}", packet(finding))
    }

    fn end(&mut self, ending: &Ending<'_>, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", last(ending, self.last_ns))
    }
}

/// The last event.
pub fn last(ending: &Ending<'_>, last_ns: Option<u64>) -> Value {
    let mut event = Map::new();
    begin(&mut event, last_ns, None);
    event.insert("event_type".into(), json!("stats"));
    event.insert("stats".into(), json!({ "clew": totals(ending) }));
    Value::Object(event)
}

fn packet(finding: &Finding<'_>) -> Value {
    let mut event = Map::new();
    let id = finding.community_id();
    begin(&mut event, finding.info.time_ns, id.as_ref());
    event.insert("pcap_cnt".into(), json!(finding.info.frame));
    event.insert("event_type".into(), json!("clew"));
    if let Some(flow) = &finding.flow {
        addresses(&mut event, flow);
    }
    if let Some(id) = &id {
        event.insert("community_id".into(), json!(id.to_string()));
    }
    event.insert("clew".into(), Value::Object(judged(finding)));
    Value::Object(event)
}

/// Begins an event: its time, and what joins our events of one flow.
pub fn begin(event: &mut Members, ns: Option<u64>, id: Option<&CommunityId>) {
    if let Some(ns) = ns {
        event.insert("timestamp".into(), json!(clock::eve(ns)));
    }
    if let Some(id) = id {
        event.insert("flow_id".into(), json!(id.number()));
    }
}

/// Addresses, ports and protocol, under Suricata's names.
pub fn addresses(event: &mut Members, flow: &Flow) {
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
}
