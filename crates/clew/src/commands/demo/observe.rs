//! The observer's step: one pass over the signed capture shows all that an observer gets to see.

use super::Stage;
use super::fleet::{Fleet, Machine};
use super::steps::{GROUP_FILE, verify_file};
use crate::failure::Failure;
use crate::groups::read_group_file;
use crate::records::{Finding, json};
use clew_capture::{PacketInfo, Record};
use clew_engine::AsFrame;
use clew_engine::Keyring;
use clew_packet::{Block, Conclusion, Flow, Frame, Verdict, flow, read};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// What later steps need of the signed capture.
pub struct Observed<'c> {
    /// The longest packet, too long to be padded by its link: its payload ends where its trailer
    /// begins.
    pub largest: u64,
    /// The first packet of each machine.
    pub firsts: Vec<(u64, Record, &'c Machine)>,
}

pub fn observe<'c>(stage: &mut Stage, fleet: &'c Fleet) -> Result<Observed<'c>, Failure> {
    stage.step("4. An observer verifies, using only the public group file");
    stage.command(&format!("verify --group @{GROUP_FILE} @signed.pcap"));
    let keyring = Keyring::from(read_group_file(&stage.path(GROUP_FILE))?);
    let mut seen = Observer::new(fleet);
    let verified = verify_file(stage, "signed.pcap", |record, info, conclusion| {
        seen.look(record, info, conclusion, &keyring);
    })?;
    let (valid, invalid) = (
        verified.totals.of(Verdict::Valid),
        verified.totals.of(Verdict::Invalid),
    );
    say!(
        "   {valid} valid, {invalid} invalid, {} unsigned",
        verified.totals.of(Verdict::Unsigned)
    );
    stage.checks.check(
        valid == fleet.packets() && invalid == 0,
        format!("the observer finds all {valid} signed packets valid and none invalid"),
    );
    seen.lines += &format!("{}\n", json::summary(&verified));
    seen.learn_nothing(stage)
}

/// What an observer could try to link packets by, and the report for programs.
struct Observer<'c> {
    fleet: &'c Fleet,
    lengths: BTreeSet<usize>,
    seen: BTreeSet<Vec<u8>>,
    values: usize,
    repeated: usize,
    /// Each block's flow, and packets that are not of their block's.
    blocks: BTreeMap<[u8; 16], Option<Flow>>,
    mixed: usize,
    lines: String,
    /// Length and number of the longest packet.
    largest: (usize, u64),
    firsts: Vec<(u64, Record, &'c Machine)>,
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
            lines: String::new(),
            largest: (0, 0),
            firsts: Vec::new(),
        }
    }

    fn look(
        &mut self,
        record: &Record,
        info: &PacketInfo,
        conclusion: &Conclusion,
        keyring: &Keyring,
    ) {
        let Some((frame, _)) = record.as_frame() else {
            return;
        };
        let json = json::packet(&Finding::new(info, &frame, conclusion, keyring));
        self.lines += &format!("{json}\n");
        if conclusion.verdict == Verdict::Valid {
            self.compare(&frame);
            self.remember(record, &frame, info.frame);
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

    fn remember(&mut self, record: &Record, frame: &Frame<'_>, number: u64) {
        if frame.bytes.len() > self.largest.0 {
            self.largest = (frame.bytes.len(), number);
        }
        let source = flow(frame).ok().map(|flow| flow.source);
        let sender = self
            .fleet
            .machines
            .iter()
            .find(|m| Some(m.address) == source);
        let is_new = |s: &&Machine| self.firsts.iter().all(|(_, _, m)| m.address != s.address);
        if let Some(sender) = sender.filter(is_new) {
            self.firsts.push((number, record.clone(), sender));
        }
    }

    /// Checks that nothing tells machines apart: values, lengths, and the report, which stays in the
    /// folder.
    fn learn_nothing(self, stage: &mut Stage) -> Result<Observed<'c>, Failure> {
        let (values, repeated) = (self.values, self.repeated);
        say!("   Which machine sent a packet? The signatures do not say:");
        let (blocks, mixed) = (self.blocks.len(), self.mixed);
        say!(
            "   {values} values in the signatures of {blocks} blocks, {repeated} of them seen \
             twice;"
        );
        say!("   packets of one block are of one flow, which their headers say anyway");
        stage.checks.check(
            mixed == 0 && blocks > 0,
            format!("each of {blocks} blocks has packets of one flow and direction only"),
        );
        stage.checks.check(
            repeated == 0,
            format!("no value of a signature occurs twice in {values} values"),
        );
        stage.checks.check(
            self.lengths.len() == 1,
            "trailer length does not identify a machine (Merkle paths and saved checksums \
             excepted)",
        );
        let path = stage.path("report.jsonl");
        fs::write(&path, &self.lines).map_err(|e| Failure::io(&path, &e))?;
        let mut machines = self.fleet.machines.iter();
        let named = machines.any(|m| self.lines.contains(m.name()));
        stage
            .checks
            .check(!named, "the observer's report does not name a machine");
        Ok(Observed {
            largest: self.largest.1,
            firsts: self.firsts,
        })
    }
}
