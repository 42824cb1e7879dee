//! What people and programs are told about packets.

use crate::capture::PacketInfo;
use crate::clock;
use crate::community_id::community_id;
use crate::keyring::Keyring;
use crate::verify::Verified;
use clew_packet::{Conclusion, Flow, Frame, Mode, Reason, Summary, flow};
use serde_json::{Map, Value, json};

/// Prints counts by reason, indented, on standard error.
pub fn reasons(counts: impl Iterator<Item = (Reason, u64)>) {
    for (reason, count) in counts {
        eprintln!("  {count:>9}  {reason:<18} {}", explain(reason));
    }
}

/// Prints what is wrong with a file, if anything is.
pub fn damage(damage: Option<&str>, consequence: &str) {
    if let Some(damage) = damage {
        eprintln!("clew: warning: {damage}; {consequence}");
    }
}

/// The verdict on one packet as a JSON object, members in the order of the contract.
pub fn packet_json(
    info: &PacketInfo,
    frame: &Frame<'_>,
    conclusion: &Conclusion,
    keyring: &Keyring,
) -> Value {
    let mut out = Map::new();
    out.insert("packet".into(), json!(info.frame));
    if let Some(ns) = info.time_ns {
        out.insert("time".into(), json!(clock::rfc3339(ns)));
    }
    out.insert("verdict".into(), json!(conclusion.verdict.as_str()));
    out.insert("reason".into(), json!(conclusion.reason.as_str()));
    if let Some(summary) = &conclusion.summary {
        trailer_json(&mut out, summary, keyring);
    }
    if let Ok(flow) = flow(frame) {
        flow_json(&mut out, &flow);
    }
    Value::Object(out)
}

fn trailer_json(out: &mut Map<String, Value>, summary: &Summary, keyring: &Keyring) {
    let group = keyring.group(summary.group).map(|g| g.id().to_string());
    out.insert(
        "group".into(),
        json!(group.unwrap_or_else(|| summary.group.to_string())),
    );
    out.insert("epoch".into(), json!(summary.epoch));
    out.insert("mode".into(), json!(mode(summary.mode)));
    out.insert("scheme".into(), json!(scheme(summary)));
    out.insert(
        "signed_at".into(),
        json!(clock::rfc3339(summary.timestamp.0)),
    );
    for (name, set) in [("nat", summary.nat), ("tolerant", summary.tolerant)] {
        if set {
            out.insert(name.into(), json!(true));
        }
    }
}

fn flow_json(out: &mut Map<String, Value>, flow: &Flow) {
    out.insert("src".into(), json!(flow.source.to_string()));
    out.insert("dst".into(), json!(flow.destination.to_string()));
    out.insert("proto".into(), json!(flow.protocol));
    for (name, port) in [
        ("src_port", flow.source_port),
        ("dst_port", flow.destination_port),
    ] {
        if let Some(port) = port {
            out.insert(name.into(), json!(port));
        }
    }
    out.insert("community_id".into(), json!(community_id(flow, 0)));
}

/// The last line of a JSON report.
pub fn summary_json(verified: &Verified) -> Value {
    let mut summary = Map::new();
    summary.insert("packets".into(), json!(verified.packets));
    for (verdict, count) in verified.verdicts {
        summary.insert(verdict.as_str().into(), json!(count));
    }
    let reasons = verified
        .reasons
        .iter()
        .map(|(r, n)| (r.as_str().to_owned(), json!(n)));
    summary.insert("reasons".into(), Value::Object(reasons.collect()));
    if let Some(damage) = &verified.damage {
        summary.insert("damage".into(), json!(damage));
    }
    if verified.forgotten > 0 {
        summary.insert("forgotten".into(), json!(verified.forgotten));
    }
    json!({ "summary": summary })
}

/// The mode's name on the command line.
pub fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Each => "each",
        Mode::Window => "window",
        Mode::Tree => "tree",
    }
}

/// The scheme's name on the command line, with its form.
pub fn scheme(summary: &Summary) -> String {
    let name = format!("{:?}", summary.scheme).to_lowercase();
    if summary.incremental {
        format!("{name} incremental")
    } else {
        name
    }
}

/// Source and destination of a packet, for a line on a terminal.
pub fn endpoints(frame: &Frame<'_>) -> String {
    match flow(frame) {
        Ok(flow) => {
            let from = endpoint(flow.source, flow.source_port);
            format!(
                "{from} > {}",
                endpoint(flow.destination, flow.destination_port)
            )
        }
        Err(_) => String::new(),
    }
}

fn endpoint(address: std::net::IpAddr, port: Option<u16>) -> String {
    match port {
        Some(port) => std::net::SocketAddr::new(address, port).to_string(),
        None => address.to_string(),
    }
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A reason in a few words for people.
pub fn explain(reason: Reason) -> &'static str {
    match reason {
        Reason::Ok => "the signature holds",
        Reason::Vouched => "the signature of its window holds; its own was not verified",
        Reason::LinkType => "a link type that clew does not descend",
        Reason::NotIp => "not an IP packet",
        Reason::BadVersion => "the IP version is not what the link layer says",
        Reason::ZeroLength => "IP length 0: captured before segmentation",
        Reason::Jumbo => "a jumbogram",
        Reason::BadLength => "header lengths contradict each other",
        Reason::Truncated => "cut short by the capture",
        Reason::Fragment => "a fragment",
        Reason::ExtensionHeaders => "IPv6 extension headers that do not fit",
        Reason::RoutingHeader => "an IPv6 routing header of another kind",
        Reason::TooBig => "too big for a trailer",
        Reason::NoTrailer => "no trailer",
        Reason::UnknownVersion => "a trailer version that is not known",
        Reason::BadTrailerLength => "a trailer of the wrong length",
        Reason::UnknownMode => "a mode that is not known",
        Reason::ReservedBits => "trailer flags that make no sense",
        Reason::BadMark => "a mark that makes no sense",
        Reason::BadBlock => "a window or block that makes no sense",
        Reason::UnknownCarriage => "a carriage that is not known",
        Reason::UnknownScheme => "a signature scheme that is not known",
        Reason::UnknownGroup => "signed in a group that was not given",
        Reason::UnknownEpoch => "signed in an epoch that the group file does not have",
        Reason::EpochOver => "signed in an epoch that was over",
        Reason::Stale => "its timestamp is too old",
        Reason::Future => "its timestamp lies in the future",
        Reason::BadEncoding => "a signature that does not decode",
        Reason::BadSignature => "the signature does not hold: something was changed",
        Reason::Duplicate => "the same signed packet again",
        Reason::Signed => "signed",
        Reason::AlreadySigned => "signed already; marked and passed",
        Reason::MarkFull => "signed already; its mark is full",
        Reason::NotSelected => "not from a source that was given",
        Reason::Offload => "larger than the MTU as it is",
        Reason::Container => "the file format could not be restored exactly",
    }
}
