//! Which packets are signed together: units that need nothing of each other, for all cores.

use super::{Options, Signer, TimeSource};
use crate::batch::frame;
use crate::capture::Record;
use crate::clock;
use crate::random;
use clew_packet::{Candidate, Flow, Frame, Mode, Reason, SECOND_NS, Timestamp, Window, flow, mark};
use rand_core::Rng;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// What one signature may cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// One packet.
    Each,
    /// A packet and up to so many less one before it in its flow.
    Window(u16),
    /// A block of up to so many packets of a flow.
    Tree(u16),
}

/// What became of a packet: its reason, and its new bytes if it was changed.
pub struct Fate {
    pub reason: Reason,
    pub bytes: Option<Vec<u8>>,
}

impl Fate {
    fn new(reason: Reason, out: Vec<u8>) -> Self {
        let changed = matches!(reason, Reason::Signed | Reason::AlreadySigned);
        Self {
            reason,
            bytes: changed.then_some(out),
        }
    }
}

/// Signs the packets of a batch. The fates are in the order of the records; none for what is no
/// packet.
pub fn sign_batch(batch: &[Record], signers: &[Signer], options: Options) -> Vec<Option<Fate>> {
    let tasks: Vec<Option<Task<'_>>> = batch
        .par_iter()
        .map(|record| Task::of(record, signers, options.time))
        .collect();
    let mut fates: Vec<Option<Fate>> = Vec::new();
    let mut selected = Vec::new();
    for (place, task) in tasks.into_iter().enumerate() {
        fates.push(match task {
            Some(Task::Selected(packet)) => {
                selected.push(Packet { place, ..packet });
                None
            }
            Some(Task::Done(fate)) => Some(fate),
            None => None,
        });
    }
    let signed: Vec<Vec<(usize, Fate)>> = units(selected, options.cover)
        .into_par_iter()
        .map(|unit| sign_unit(&unit, signers, options.cover))
        .collect();
    for (place, fate) in signed.into_iter().flatten() {
        fates[place] = Some(fate);
    }
    fates
}

/// A packet before it is signed.
enum Task<'a> {
    /// Some machine's.
    Selected(Packet<'a>),
    /// Nobody's, or one that cannot be signed.
    Done(Fate),
}

/// A packet that a machine sent.
struct Packet<'a> {
    place: usize,
    frame: Frame<'a>,
    time: Option<Timestamp>,
    signer: usize,
    flow: Flow,
}

impl<'a> Task<'a> {
    fn of(record: &'a Record, signers: &[Signer], time: TimeSource) -> Option<Self> {
        let (frame, recorded) = frame(record)?;
        let time = match time {
            TimeSource::Record => recorded,
            TimeSource::Now => Some(Timestamp(clock::now_ns())),
        };
        let flow = match flow(&frame) {
            Ok(flow) => flow,
            Err(reason) => return Some(Self::Done(Fate::new(reason, Vec::new()))),
        };
        let signer = signers.iter().position(|signer| signer.owns(flow.source));
        let Some(signer) = signer else {
            let mut out = Vec::new();
            let reason = mark(&frame, &mut out).unwrap_or(Reason::NotSelected);
            return Some(Self::Done(Fate::new(reason, out)));
        };
        Some(Self::Selected(Packet {
            place: 0,
            frame,
            time,
            signer,
            flow: flow.key(),
        }))
    }
}

/// Packets alone, or those of one machine and flow in their order: whole for windows, cut into
/// blocks for trees.
fn units(packets: Vec<Packet<'_>>, cover: Cover) -> Vec<Vec<Packet<'_>>> {
    if cover == Cover::Each {
        return packets.into_iter().map(|packet| vec![packet]).collect();
    }
    let mut flows: BTreeMap<(usize, Flow), Vec<Packet<'_>>> = BTreeMap::new();
    for packet in packets {
        let of = flows.entry((packet.signer, packet.flow)).or_default();
        of.push(packet);
    }
    let flows = flows.into_values();
    match cover {
        Cover::Tree(most) => flows.flat_map(|flow| blocks(flow, most.into())).collect(),
        Cover::Each | Cover::Window(_) => flows.collect(),
    }
}

/// Cuts a flow where a block is full, or where its one timestamp would be wrong by a second.
fn blocks(flow: Vec<Packet<'_>>, most: usize) -> Vec<Vec<Packet<'_>>> {
    let mut blocks: Vec<Vec<Packet<'_>>> = Vec::new();
    for packet in flow {
        match blocks.last_mut() {
            Some(block) if block.len() < most && of_one_time(block[0].time, packet.time) => {
                block.push(packet);
            }
            _ => blocks.push(vec![packet]),
        }
    }
    blocks
}

fn of_one_time(first: Option<Timestamp>, time: Option<Timestamp>) -> bool {
    match (first, time) {
        (Some(first), Some(time)) => first.0.abs_diff(time.0) < SECOND_NS,
        (None, None) => true,
        _ => false,
    }
}

fn sign_unit(unit: &[Packet<'_>], signers: &[Signer], cover: Cover) -> Vec<(usize, Fate)> {
    let Some(signer) = unit.first().map(|packet| &signers[packet.signer]) else {
        return Vec::new();
    };
    match cover {
        Cover::Each => unit
            .iter()
            .map(|packet| signer.sign_alone(packet))
            .collect(),
        Cover::Window(k) => {
            let mut window = Window::new(k);
            let sign = |packet| signer.sign_in_window(packet, k, &mut window);
            unit.iter().map(sign).collect()
        }
        Cover::Tree(_) => signer.sign_block(unit),
    }
}

impl Signer {
    fn sign_alone(&self, packet: &Packet<'_>) -> (usize, Fate) {
        let mut out = Vec::new();
        let precursor = || self.key.precursor(&mut random::os());
        let reason = self
            .sender
            .sign(&packet.frame, packet.time, precursor, &mut out);
        (packet.place, Fate::new(reason, out))
    }

    fn sign_in_window(&self, packet: &Packet<'_>, k: u16, window: &mut Window) -> (usize, Fate) {
        let mut out = Vec::new();
        let fate = match self.sender.admit(&packet.frame, Mode::Window, k, &mut out) {
            Err(reason) => Fate::new(reason, out),
            Ok(candidate) => {
                let precursor = || self.key.precursor(&mut random::os());
                let time = packet.time;
                self.sender
                    .sign_in_window(&candidate, time, window, precursor, &mut out);
                Fate::new(Reason::Signed, out)
            }
        };
        (packet.place, fate)
    }

    fn sign_block(&self, unit: &[Packet<'_>]) -> Vec<(usize, Fate)> {
        let most = unit.len() as u16; // a unit is cut to the most of a block
        let mut fates = Vec::new();
        let mut block: Vec<(&Packet<'_>, Candidate<'_>)> = Vec::new();
        for packet in unit {
            let mut out = Vec::new();
            match self.sender.admit(&packet.frame, Mode::Tree, most, &mut out) {
                Ok(candidate) => block.push((packet, candidate)),
                Err(reason) => fates.push((packet.place, Fate::new(reason, out))),
            }
        }
        let candidates: Vec<Candidate<'_>> = block.iter().map(|(_, c)| *c).collect();
        let mut outs = vec![Vec::new(); block.len()];
        let mut id = [0; 16];
        random::os().fill_bytes(&mut id);
        let time = block.first().and_then(|(packet, _)| packet.time);
        let precursor = || self.key.precursor(&mut random::os());
        if self
            .sender
            .sign_block(&candidates, time, id, precursor, &mut outs)
        {
            let signed = block.iter().zip(outs);
            fates.extend(signed.map(|((p, _), out)| (p.place, Fate::new(Reason::Signed, out))));
        }
        fates
    }
}
