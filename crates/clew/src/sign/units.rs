//! Which packets are signed together: units that need nothing of each other, for all cores.

use super::{Options, Signer, TimeSource};
use crate::capture::frame;
use crate::clock;
use crate::failure::Failure;
use crate::random;
use clew_capture::Record;
use clew_group::SigningKey;
use clew_packet::{
    Candidate, Flow, Frame, Mode, Reason, SECOND_NS, Sender, Timestamp, WINDOW_MAX, Window, flow,
    mark,
};
use rand_core::Rng;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

/// What one signature may cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// One packet.
    Each,
    /// A packet and some before it in its flow.
    Window(WindowSize),
    /// A block of up to so many packets of a flow.
    Tree(u16),
}

/// How many packets a window has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowSize {
    /// So many, or as many as there are.
    Fixed(u16),
    /// Those of the flight that the packet is of. Clue's senders take their congestion window, which
    /// is a flight of packets too; a capture shows it by the pauses.
    Adaptive,
}

impl WindowSize {
    /// What windows grow to where nothing ends them: larger ones gain little (Clue, Figure 2).
    const ADAPTIVE_MAX: u16 = 64;

    /// A pause that ends a flight: shorter than most paths' round trips, longer than what lies
    /// between packets sent in a row.
    const PAUSE_NS: u64 = SECOND_NS / 100;

    fn most(self) -> u16 {
        match self {
            Self::Fixed(k) => k,
            Self::Adaptive => Self::ADAPTIVE_MAX,
        }
    }
}

impl FromStr for WindowSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "adaptive" {
            return Ok(Self::Adaptive);
        }
        let number = text.parse().ok().filter(|k| (1..=WINDOW_MAX).contains(k));
        let number = number.ok_or_else(|| format!("neither 1 to {WINDOW_MAX} nor adaptive"))?;
        Ok(Self::Fixed(number))
    }
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
///
/// # Errors
/// A machine's key does not sign in the epoch of one of its packets.
pub fn sign_batch(
    batch: &[Record],
    signers: &[Signer],
    options: Options,
) -> Result<Vec<Option<Fate>>, Failure> {
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
    prepare(&selected, signers)?;
    let signed: Vec<Vec<(usize, Fate)>> = units(selected, options.cover)
        .into_par_iter()
        .map(|unit| sign_unit(&unit, signers, options.cover))
        .collect();
    for (place, fate) in signed.into_iter().flatten() {
        fates[place] = Some(fate);
    }
    Ok(fates)
}

/// Prepares the keys that these packets need and no packet before them.
fn prepare(packets: &[Packet<'_>], signers: &[Signer]) -> Result<(), Failure> {
    let needed = packets.iter().map(|packet| (packet.signer, packet.epoch));
    let needed: BTreeSet<(usize, usize)> = needed.collect();
    needed
        .into_iter()
        .try_for_each(|(signer, epoch)| signers[signer].prepare(epoch))
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
    /// The place of its epoch in the signer's key.
    epoch: usize,
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
        let when = time.map_or_else(clock::now_ns, |time| time.0);
        Some(Self::Selected(Packet {
            place: 0,
            frame,
            time,
            signer,
            epoch: signers[signer].machine.place_at(when),
            flow: flow.key(),
        }))
    }
}

/// Packets alone, or those of one machine, epoch and flow in their order, cut into blocks or flights.
fn units(packets: Vec<Packet<'_>>, cover: Cover) -> Vec<Vec<Packet<'_>>> {
    if cover == Cover::Each {
        return packets.into_iter().map(|packet| vec![packet]).collect();
    }
    let mut flows: BTreeMap<(usize, usize, Flow), Vec<Packet<'_>>> = BTreeMap::new();
    for packet in packets {
        let key = (packet.signer, packet.epoch, packet.flow);
        let of = flows.entry(key).or_default();
        of.push(packet);
    }
    let flows = flows.into_values();
    match cover {
        Cover::Tree(most) => flows
            .flat_map(|flow| cut(flow, |b, p| ends_block(b, p, most)))
            .collect(),
        Cover::Window(WindowSize::Adaptive) => {
            flows.flat_map(|flow| cut(flow, ends_flight)).collect()
        }
        Cover::Each | Cover::Window(WindowSize::Fixed(_)) => flows.collect(),
    }
}

/// Cuts a flow before each packet that `ends` what is before it.
fn cut<'a>(
    flow: Vec<Packet<'a>>,
    ends: impl Fn(&[Packet<'a>], &Packet<'a>) -> bool,
) -> Vec<Vec<Packet<'a>>> {
    let mut units: Vec<Vec<Packet<'a>>> = Vec::new();
    for packet in flow {
        match units.last_mut() {
            Some(unit) if !ends(unit, &packet) => unit.push(packet),
            _ => units.push(vec![packet]),
        }
    }
    units
}

/// A block is full, or its one timestamp would be wrong by a second.
fn ends_block(block: &[Packet<'_>], next: &Packet<'_>, most: u16) -> bool {
    block.len() == usize::from(most) || !within(block[0].time, next.time, SECOND_NS)
}

/// The flow paused.
fn ends_flight(flight: &[Packet<'_>], next: &Packet<'_>) -> bool {
    let last = flight.last().and_then(|packet| packet.time);
    !within(last, next.time, WindowSize::PAUSE_NS)
}

/// Less than so many nanoseconds lie between two packets; or neither has a time.
fn within(one: Option<Timestamp>, other: Option<Timestamp>, ns: u64) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.0.abs_diff(other.0) < ns,
        (None, None) => true,
        _ => false,
    }
}

fn sign_unit(unit: &[Packet<'_>], signers: &[Signer], cover: Cover) -> Vec<(usize, Fate)> {
    let Some(signer) = unit.first().and_then(|packet| Ready::of(signers, packet)) else {
        return Vec::new();
    };
    match cover {
        Cover::Each => unit
            .iter()
            .map(|packet| signer.sign_alone(packet))
            .collect(),
        Cover::Window(size) => {
            let k = size.most();
            let mut window = Window::new(k);
            let sign = |packet| signer.sign_in_window(packet, k, &mut window);
            unit.iter().map(sign).collect()
        }
        Cover::Tree(_) => signer.sign_block(unit),
    }
}

/// A machine in one epoch, prepared.
struct Ready<'a> {
    sender: &'a Sender,
    key: &'a SigningKey,
}

impl<'a> Ready<'a> {
    /// The signer of a packet. [`prepare`] was called for it.
    fn of(signers: &'a [Signer], packet: &Packet<'_>) -> Option<Self> {
        let epoch = &signers[packet.signer].epochs[packet.epoch];
        Some(Self {
            sender: &epoch.sender,
            key: epoch.key.get()?,
        })
    }

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
        let mut fates = Vec::new();
        let mut left: Vec<&Packet<'_>> = unit.iter().collect();
        let block: Vec<(&Packet<'_>, Candidate<'_>)> = loop {
            let most = left.len(); // a unit is cut to the most of a block
            let mut block = Vec::new();
            for packet in left {
                let mut out = Vec::new();
                let admitted = self
                    .sender
                    .admit(&packet.frame, Mode::Tree, most as u16, &mut out);
                match admitted {
                    Ok(candidate) => block.push((packet, candidate)),
                    Err(reason) => fates.push((packet.place, Fate::new(reason, out))),
                }
            }
            if block.len() == most {
                break block;
            }
            // A smaller block: the others need another room, which may be more if shares are carried.
            left = block.into_iter().map(|(packet, _)| packet).collect();
        };
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
