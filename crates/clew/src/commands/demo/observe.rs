//! The observer's step: what verification says, and all else that an observer gets to see.

use super::Stage;
use super::fleet::{Fleet, Machine};
use crate::capture::Capture;
use crate::failure::Failure;
use clew_engine::AsFrame;
use clew_packet::{Block, Flow, Frame, flow, read};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The group file of the demo.
pub const GROUP_FILE: &str = "acme/public/group.clew";

/// What verification says of one of the demo's captures, with the group file, as to anybody.
pub struct Report {
    lines: String,
    summary: Value,
}

impl Report {
    /// Verifies the capture of that name.
    pub fn of(stage: &mut Stage, capture: &str) -> Result<Self, Failure> {
        let verified = stage.ask(&format!("verify --json --group @{GROUP_FILE} @{capture}"))?;
        let last = verified.out.lines().last();
        let mut last = last.and_then(object).ok_or_else(|| verified.failure())?;
        Ok(Self {
            summary: last["summary"].take(),
            lines: verified.out,
        })
    }

    /// How many packets have that verdict.
    pub fn count(&self, verdict: &str) -> u64 {
        self.summary[verdict].as_u64().unwrap_or(0)
    }

    /// How many packets have that reason.
    pub fn because(&self, reason: &str) -> u64 {
        self.summary["reasons"][reason].as_u64().unwrap_or(0)
    }

    /// The packets with that verdict, by number, each with its reason.
    pub fn packets(&self, verdict: &str) -> BTreeMap<u64, String> {
        let packets = self.lines.lines().filter_map(object);
        let packets = packets.filter(|packet| packet["verdict"] == *verdict);
        let named = packets.filter_map(|packet| {
            let reason = packet["reason"].as_str()?;
            Some((packet["packet"].as_u64()?, reason.to_owned()))
        });
        named.collect()
    }
}

fn object(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok()
}

/// What later steps need of the signed capture.
pub struct Observed<'c> {
    /// The longest packet, too long to be padded by its link: its payload ends where its trailer
    /// begins.
    pub largest: u64,
    /// The first packet of each machine.
    pub firsts: Vec<(u64, &'c Machine)>,
}

pub fn observe<'c>(stage: &mut Stage, fleet: &'c Fleet) -> Result<Observed<'c>, Failure> {
    stage.step("4. An observer verifies, using only the public group file");
    let report = Report::of(stage, "signed.pcap")?;
    let (valid, invalid) = (report.count("valid"), report.count("invalid"));
    say!(
        "   {valid} valid, {invalid} invalid, {} unsigned",
        report.count("unsigned")
    );
    stage.check(
        valid == fleet.packets() && invalid == 0,
        format!("the observer finds all {valid} signed packets valid and none invalid"),
    );
    let (mut seen, valid) = (Observer::new(fleet), report.packets("valid"));
    let mut capture = Capture::open(&stage.path("signed.pcap"), "observing")?;
    while let Some(batch) = capture.next_batch()? {
        for record in &batch {
            let number = record.packet().map_or(0, |info| info.frame);
            if let Some((frame, _)) = record.as_frame().filter(|_| valid.contains_key(&number)) {
                seen.compare(&frame);
                seen.remember(&frame, number);
            }
        }
    }
    seen.learn_nothing(stage, &report)
}

/// What an observer could try to link packets by.
struct Observer<'c> {
    fleet: &'c Fleet,
    lengths: BTreeSet<usize>,
    seen: BTreeSet<Vec<u8>>,
    values: usize,
    repeated: usize,
    /// Each block's flow, and packets that are not of their block's.
    blocks: BTreeMap<[u8; 16], Option<Flow>>,
    mixed: usize,
    /// Length and number of the longest packet.
    largest: (usize, u64),
    firsts: Vec<(u64, &'c Machine)>,
}

impl<'c> Observer<'c> {
    fn new(fleet: &'c Fleet) -> Self {
        Self {
            fleet,
            lengths: BTreeSet::new(),
            seen: BTreeSet::new(),
            values: 0,
            repeated: 0,
            blocks: BTreeMap::new(),
            mixed: 0,
            largest: (0, 0),
            firsts: Vec::new(),
        }
    }

    fn compare(&mut self, frame: &Frame<'_>) {
        let Ok(packet) = read(frame) else { return };
        let trailer = packet.trailer();
        let mut path_bytes = 0;
        if let Block::Tree { block, path, .. } = trailer.block {
            path_bytes = path.len();
            let flow = flow(frame).ok().map(Flow::key);
            if let Some(before) = self.blocks.insert(*block.id(), flow) {
                self.mixed += usize::from(before != flow);
                return; // its block's signature was compared
            }
        }
        self.lengths
            .insert(trailer.length() - trailer.saved.length() - path_bytes);
        let (points, scalars) = trailer.body.split_at(3 * 48);
        for value in points.chunks(48).chain(scalars.chunks(16)) {
            self.values += 1;
            self.repeated += usize::from(!self.seen.insert(value.to_vec()));
        }
    }

    fn remember(&mut self, frame: &Frame<'_>, number: u64) {
        if frame.bytes.len() > self.largest.0 {
            self.largest = (frame.bytes.len(), number);
        }
        let source = flow(frame).ok().map(|flow| flow.source);
        let mut machines = self.fleet.machines.iter();
        let sender = machines.find(|m| Some(m.address) == source);
        let is_new = |s: &&Machine| self.firsts.iter().all(|(_, m)| m.address != s.address);
        self.firsts
            .extend(sender.filter(is_new).map(|sender| (number, sender)));
    }

    /// Checks that nothing tells machines apart: values, lengths, and the report, which stays in the
    /// folder.
    fn learn_nothing(self, stage: &mut Stage, report: &Report) -> Result<Observed<'c>, Failure> {
        let (values, repeated) = (self.values, self.repeated);
        say!("   Which machine sent a packet? The signatures do not say:");
        let (blocks, mixed) = (self.blocks.len(), self.mixed);
        say!(
            "   {values} values in the signatures of {blocks} blocks, {repeated} of them seen \
             twice;"
        );
        say!("   packets of one block are of one flow, which their headers say anyway");
        stage.check(
            mixed == 0 && blocks > 0,
            format!("each of {blocks} blocks has packets of one flow and direction only"),
        );
        stage.check(
            repeated == 0,
            format!("no value of a signature occurs twice in {values} values"),
        );
        stage.check(
            self.lengths.len() == 1,
            "trailer length does not identify a machine (Merkle paths and saved checksums \
             excepted)",
        );
        let path = stage.path("report.jsonl");
        fs::write(&path, &report.lines).map_err(|e| Failure::io(&path, &e))?;
        let mut machines = self.fleet.machines.iter();
        let named = machines.any(|m| report.lines.contains(&m.name));
        stage.check(!named, "the observer's report does not name a machine");
        Ok(Observed {
            largest: self.largest.1,
            firsts: self.firsts,
        })
    }
}
