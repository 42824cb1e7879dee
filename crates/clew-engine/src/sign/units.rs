//! Which packets are signed together: units that need nothing of each other, for all cores.

use super::{Cover, Fate, SignError, Signers, WindowSize};
use crate::{AsFrame, Randomness, TimeSource};
use clew_group::SigningKey;
use clew_packet::{
    Candidate, Flow, Frame, Mode, SECOND_NS, Sender, SignOutcome, Timestamp, Window, flow, mark,
};
use rand_core::Rng;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// A fate, and the place of its frame in the batch.
type Placed = (usize, Fate);

/// Signs a batch: see [`Signers::sign`].
pub(super) fn sign(
    signers: &Signers,
    batch: &[impl AsFrame],
    now: Timestamp,
    randomness: &impl Randomness,
) -> Result<Vec<Fate>, SignError> {
    let task = |(place, item)| Task::of(place, item, signers, now);
    let tasks: Result<Vec<Task<'_>>, SignError> = batch.par_iter().enumerate().map(task).collect();
    let (mut fates, mut selected) = (Vec::with_capacity(batch.len()), Vec::new());
    for task in tasks? {
        match task {
            Task::Selected(packet) => selected.push(packet),
            Task::Done(fate) => fates.push(fate),
        }
    }
    let cover = signers.options.cover;
    let units = units(selected, cover).into_par_iter();
    let signed: Result<Vec<Vec<Placed>>, SignError> = units
        .map(|unit| sign_unit(&unit, cover, randomness))
        .collect();
    fates.extend(signed?.into_iter().flatten());
    fates.sort_by_key(|(place, _)| *place);
    Ok(fates.into_iter().map(|(_, fate)| fate).collect())
}

/// A frame before it is signed.
enum Task<'a> {
    /// Some machine's.
    Selected(Packet<'a>),
    /// None, nobody's, or one that cannot be signed.
    Done(Placed),
}

/// A packet that a machine sent.
struct Packet<'a> {
    place: usize,
    frame: Frame<'a>,
    time: Option<Timestamp>,
    /// The machine's place among the signers, and its epoch's in its key.
    signer: (usize, usize),
    ready: Ready<'a>,
    flow: Flow,
}

impl<'a> Task<'a> {
    fn of(
        place: usize,
        item: &'a impl AsFrame,
        signers: &'a Signers,
        now: Timestamp,
    ) -> Result<Self, SignError> {
        let done = |fate| Ok(Self::Done((place, fate)));
        let Some((frame, time)) = item.as_frame() else {
            return done(Fate::NoFrame);
        };
        let time = match signers.options.time {
            TimeSource::Frame => time,
            TimeSource::Now => Some(now),
        };
        let flow = match flow(&frame) {
            Ok(flow) => flow,
            Err(reason) => return done(Fate::Passes(reason.into())),
        };
        let mut machines = signers.machines.iter().enumerate();
        let Some((number, signer)) = machines.find(|(_, signer)| signer.owns(flow.source)) else {
            let mut out = Vec::new();
            let outcome = mark(&frame, &mut out).unwrap_or(SignOutcome::NotSelected);
            return done(Fate::of(outcome, out));
        };
        let epoch = signer.machine.place_at(time.unwrap_or(now).0);
        Ok(Self::Selected(Packet {
            place,
            frame,
            time,
            signer: (number, epoch),
            ready: signer.ready(epoch)?,
            flow: flow.key(),
        }))
    }
}

/// Packets alone, or those of one machine, epoch and flow in their order, cut into blocks or flights.
fn units(packets: Vec<Packet<'_>>, cover: Cover) -> Vec<Vec<Packet<'_>>> {
    if cover == Cover::Each {
        return packets.into_iter().map(|packet| vec![packet]).collect();
    }
    let mut flows: BTreeMap<((usize, usize), Flow), Vec<Packet<'_>>> = BTreeMap::new();
    for packet in packets {
        let flow = flows.entry((packet.signer, packet.flow)).or_default();
        flow.push(packet);
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
    block.len() >= usize::from(most) || !within(block[0].time, next.time, SECOND_NS)
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

fn sign_unit(
    unit: &[Packet<'_>],
    cover: Cover,
    randomness: &impl Randomness,
) -> Result<Vec<Placed>, SignError> {
    match cover {
        Cover::Each => Ok(unit.iter().map(|p| p.sign_alone(randomness)).collect()),
        Cover::Window(size) => {
            let k = size.most();
            let mut window = Window::new(k);
            let sign = |packet: &Packet<'_>| packet.sign_in_window(k, &mut window, randomness);
            Ok(unit.iter().map(sign).collect())
        }
        Cover::Tree(_) => sign_block(unit, randomness),
    }
}

/// A machine in one epoch, prepared.
#[derive(Clone, Copy)]
pub(super) struct Ready<'a> {
    pub sender: &'a Sender,
    pub key: &'a SigningKey,
}

impl Packet<'_> {
    fn sign_alone(&self, randomness: &impl Randomness) -> Placed {
        let mut out = Vec::new();
        let Ready { sender, key } = self.ready;
        let precursor = || key.precursor(&mut randomness.generator());
        let outcome = sender.sign(&self.frame, self.time, precursor, &mut out);
        (self.place, Fate::of(outcome, out))
    }

    fn sign_in_window(&self, k: u16, window: &mut Window, randomness: &impl Randomness) -> Placed {
        let mut out = Vec::new();
        let Ready { sender, key } = self.ready;
        let fate = match sender.admit(&self.frame, Mode::Window, k, &mut out) {
            Err(outcome) => Fate::of(outcome, out),
            Ok(candidate) => {
                let precursor = || key.precursor(&mut randomness.generator());
                sender.sign_in_window(&candidate, self.time, window, precursor, &mut out);
                Fate::Signed(out)
            }
        };
        (self.place, fate)
    }
}

/// Signs packets of one machine, epoch and flow as a block.
fn sign_block(unit: &[Packet<'_>], randomness: &impl Randomness) -> Result<Vec<Placed>, SignError> {
    let mut fates = Vec::new();
    let mut left: Vec<&Packet<'_>> = unit.iter().collect();
    let block: Vec<(&Packet<'_>, Candidate<'_>)> = loop {
        let most = left.len();
        let room = u16::try_from(most).map_err(|_| SignError::NotABlock(most))?;
        let mut block = Vec::new();
        for packet in left {
            let (mut out, sender) = (Vec::new(), packet.ready.sender);
            match sender.admit(&packet.frame, Mode::Tree, room, &mut out) {
                Ok(candidate) => block.push((packet, candidate)),
                Err(outcome) => fates.push((packet.place, Fate::of(outcome, out))),
            }
        }
        if block.len() == most {
            break block;
        }
        // A smaller block: the others need another room, which may be more if shares are carried.
        left = block.into_iter().map(|(packet, _)| packet).collect();
    };
    let Some((first, _)) = block.first() else {
        return Ok(fates);
    };
    let candidates: Vec<Candidate<'_>> = block.iter().map(|(_, c)| *c).collect();
    let mut outs = vec![Vec::new(); block.len()];
    let mut generator = randomness.generator();
    let mut id = [0; 16];
    generator.fill_bytes(&mut id);
    let Ready { sender, key } = first.ready;
    let precursor = || key.precursor(&mut generator);
    let signed = sender.sign_block(&candidates, first.time, id, precursor, &mut outs);
    signed.map_err(|_| SignError::NotABlock(block.len()))?;
    let signed = block.iter().zip(outs);
    fates.extend(signed.map(|((packet, _), out)| (packet.place, Fate::Signed(out))));
    Ok(fates)
}
