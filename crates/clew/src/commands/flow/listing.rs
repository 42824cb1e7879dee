//! What is told about packets, line by line.

use super::verify::{explain, totals};
use crate::clock;
use crate::flow::capture::{datagram, signed};
use crate::flow::keys::title;
use crate::flow::schemes::Flows;
use crate::flow::verify::{Judged, Verified};
use crate::report;
use clew_flow::{Carriage, Descriptor, Fixed, Reason, Verdict};
use clew_packet::Flow;
use clew_wire::Hex;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// What was found about one datagram.
pub struct DatagramReport {
    frame: u64,
    time_ns: Option<u64>,
    reason: Reason,
    flow: Flow,
    signature: Option<Fixed>,
    name: Option<String>,
}

impl DatagramReport {
    /// None for what is no datagram.
    fn new(judged: &Judged, flows: &[Descriptor]) -> Option<Self> {
        let info = judged.record.packet()?;
        let udp = datagram(&judged.record)?;
        let signature = Fixed::of(&signed(udp.payload())).ok();
        let known = |fixed: Fixed| flows.iter().find(|flow| flow.key_id() == fixed.key);
        Some(Self {
            frame: info.frame,
            time_ns: info.time_ns,
            reason: judged.reason?,
            flow: udp.flow(),
            signature,
            name: signature.and_then(known).map(title),
        })
    }
}

/// Tells about packets, and about all of them in the end.
pub trait Listing {
    /// Whether a packet with that reason is told of, one by one.
    fn tells(&mut self, _: Reason) -> bool {
        true
    }

    /// One packet that is told of.
    fn packet(&mut self, found: &DatagramReport, out: &mut dyn Write) -> io::Result<()>;

    /// All.
    fn end(&mut self, verified: &Verified, out: &mut dyn Write) -> io::Result<()>;
}

/// Tells about a record, if it holds a datagram that is told of.
pub fn tell(
    listing: &mut dyn Listing,
    judged: &Judged,
    flows: &[Descriptor],
    out: &mut dyn Write,
) -> io::Result<()> {
    if !judged.reason.is_some_and(|reason| listing.tells(reason)) {
        return Ok(());
    }
    let found = DatagramReport::new(judged, flows);
    found.map_or(Ok(()), |found| listing.packet(&found, out))
}

/// A row for each packet.
pub struct Table;

impl Table {
    /// Begins with the head.
    pub fn new(out: &mut dyn Write) -> io::Result<Self> {
        writeln!(
            out,
            "{:>7}  {:<9} {:<16} {:<19} {:>10} {:>9}  {:<8} {:>5}  from > to",
            "packet", "verdict", "reason", "flow", "block", "place", "carriage", "bytes"
        )?;
        Ok(Self)
    }
}

impl Listing for Table {
    fn packet(&mut self, found: &DatagramReport, out: &mut dyn Write) -> io::Result<()> {
        let reason = found.reason;
        write!(
            out,
            "{:>7}  {:<9} {:<16} ",
            found.frame,
            reason.verdict().as_str(),
            reason.as_str()
        )?;
        match &found.signature {
            None => write!(
                out,
                "{:<19} {:>10} {:>9}  {:<8} {:>5}",
                "-", "-", "-", "-", 0
            )?,
            Some(fixed) => {
                let name = found.name.as_deref().unwrap_or("unknown");
                let place = format!("{}/{}", u32::from(fixed.index) + 1, fixed.count);
                let (seq, carriage) = (fixed.seq, carriage(fixed));
                write!(
                    out,
                    "{name:<19} {seq:>10} {place:>9}  {carriage:<8} {:>5}",
                    fixed.length
                )?;
            }
        }
        writeln!(out, "  {}", report::endpoints(&found.flow))
    }

    fn end(&mut self, verified: &Verified, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out)?;
        totals(verified, false, out)
    }
}

fn carriage(fixed: &Fixed) -> &'static str {
    fixed.carriage().map_or("unknown", Carriage::as_str)
}

/// The packets with which something is wrong, up to a number; then totals.
pub struct Quiet {
    strict: bool,
    told: u64,
    more: u64,
}

/// How many packets are told of one by one.
const TOLD_MAX: u64 = 10;

impl Quiet {
    /// Whether unsigned datagrams are a no.
    pub const fn new(strict: bool) -> Self {
        Self {
            strict,
            told: 0,
            more: 0,
        }
    }
}

impl Listing for Quiet {
    fn tells(&mut self, reason: Reason) -> bool {
        if reason.verdict() != Verdict::Invalid {
            return false;
        }
        let tells = self.told < TOLD_MAX;
        match tells {
            true => self.told += 1,
            false => self.more += 1,
        }
        tells
    }

    fn packet(&mut self, found: &DatagramReport, out: &mut dyn Write) -> io::Result<()> {
        let (frame, reason) = (found.frame, found.reason);
        writeln!(
            out,
            "packet {frame}: invalid, {reason}: {}  {}",
            explain(reason),
            report::endpoints(&found.flow)
        )
    }

    fn end(&mut self, verified: &Verified, out: &mut dyn Write) -> io::Result<()> {
        if self.more > 0 {
            writeln!(out, "... and {} more: see clew flow inspect", self.more)?;
        }
        totals(verified, self.strict, out)
    }
}

/// An object for each packet, then a summary.
pub struct Json(Map<String, Value>);

impl Json {
    /// The summary says to how many bits the flows' signatures are verified, where they have levels.
    pub fn new(flows: &Flows) -> Self {
        let bits = flows.assurances();
        let bits =
            bits.map(|(flow, _, found)| (Hex(&flow.key_id().0).to_string(), json!(found.bits())));
        Self(bits.collect())
    }
}

impl Listing for Json {
    fn packet(&mut self, found: &DatagramReport, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", Value::Object(members(found)))
    }

    fn end(&mut self, verified: &Verified, out: &mut dyn Write) -> io::Result<()> {
        let mut all = Map::new();
        all.insert("packets".into(), json!(verified.packets));
        all.insert("datagrams".into(), json!(verified.datagrams));
        for verdict in Verdict::ALL {
            all.insert(verdict.as_str().into(), json!(verified.of(verdict)));
        }
        let reasons = verified.reasons.iter();
        let reasons = reasons.map(|(reason, count)| (reason.as_str().to_owned(), json!(count)));
        all.insert("reasons".into(), Value::Object(reasons.collect()));
        all.insert("lost_packets".into(), json!(verified.lost.packets));
        all.insert("lost_blocks".into(), json!(verified.lost.blocks));
        all.insert("verifications".into(), json!(verified.verifications));
        if !self.0.is_empty() {
            all.insert("assurance_bits".into(), json!(self.0));
        }
        if let Some(damage) = &verified.damage {
            all.insert("damage".into(), json!(damage));
        }
        writeln!(out, "{}", json!({ "summary": all }))
    }
}

fn members(found: &DatagramReport) -> Map<String, Value> {
    let mut all = Map::new();
    all.insert("packet".into(), json!(found.frame));
    if let Some(ns) = found.time_ns {
        all.insert("time".into(), json!(clock::rfc3339(ns)));
    }
    all.insert("verdict".into(), json!(found.reason.verdict().as_str()));
    all.insert("reason".into(), json!(found.reason.as_str()));
    if let Some(fixed) = &found.signature {
        let key = Hex(&fixed.key.0).to_string();
        let flow = found.name.as_ref().unwrap_or(&key);
        all.insert("flow".into(), json!(flow));
        all.insert("tag".into(), json!(Hex(&fixed.tag).to_string()));
        all.insert("seq".into(), json!(fixed.seq));
        all.insert("block".into(), json!(Hex(&fixed.id).to_string()));
        all.insert("index".into(), json!(fixed.index));
        all.insert("count".into(), json!(fixed.count));
        all.insert("carriage".into(), json!(carriage(fixed)));
        all.insert("signature_bytes".into(), json!(fixed.length));
    }
    all.insert("src".into(), json!(found.flow.source.to_string()));
    all.insert("dst".into(), json!(found.flow.destination.to_string()));
    all.insert("src_port".into(), json!(found.flow.source_port));
    all.insert("dst_port".into(), json!(found.flow.destination_port));
    all
}
