//! Signing the UDP datagrams of a capture: each flow by itself, in blocks of packets that follow each
//! other in time.

use super::capture::{datagram, signed};
use super::file::write_record;
use super::keys::FlowKey;
use super::schemes::{Signer, sign_block, sign_manifest};
use super::sidecar;
use crate::capture::Capture;
use crate::failure::Failure;
use crate::random;
use clew_capture::{PacketLengths, Record, Sink};
use clew_engine::captures;
use clew_flow::{Distribution, Fixed, FlowSender, Instant, Schedule, WallTime, rtp};
use clew_packet::{Flow, Udp};
use ipnet::IpNet;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

/// Flows whose sequences go on from batch to batch; beyond, that which was silent for longest begins
/// anew when it comes back.
pub const FLOWS_MAX: usize = 4096;

/// A pause after which a flow begins anew: with a block of one packet, and another tag.
pub const IDLE: Duration = Duration::from_secs(1);

/// How packets are signed.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which packets of a block carry what of its signature.
    pub distribution: Distribution,
    /// How long a block may take.
    pub period: Duration,
    /// Put packet signatures into the padding of RTP packets.
    pub rtp: bool,
    /// Destinations whose packets are signed; all if there are none.
    pub to: Vec<IpNet>,
    /// Destination port whose packets are signed; all if there is none.
    pub port: Option<u16>,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It is signed.
    Signed,
    /// It is no whole UDP datagram.
    NotUdp,
    /// It goes to another destination.
    NotSelected,
    /// It has a packet signature of this flow.
    AlreadySigned,
    /// A length field has no room for the packet signature.
    TooBig,
    /// The file format could not be restored exactly.
    Container,
}

impl Fate {
    /// In a few words for people.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::Signed => "signed",
            Self::NotUdp => "not a whole UDP datagram",
            Self::NotSelected => "destination not selected",
            Self::AlreadySigned => "already signed",
            Self::TooBig => "too big for a packet signature",
            Self::Container => "the file format could not be restored exactly",
        }
    }
}

/// What was done to the packets of a capture.
#[derive(Debug, Default)]
pub struct Signed {
    /// All packets.
    pub packets: u64,
    /// Packets by what became of them.
    pub fates: BTreeMap<Fate, u64>,
    /// Blocks.
    pub blocks: u64,
    /// Bytes of packet signatures.
    pub bytes: u64,
    /// What is wrong with the file, in a sentence. What follows it was copied as it was.
    pub damage: Option<String>,
}

/// Signs a capture into `sink` and returns it unfinished: the caller commits it.
pub fn sign_capture<S: Sink>(
    mut capture: Capture,
    sink: S,
    key: &FlowKey,
    options: &Options,
) -> Result<(Signed, S), Failure> {
    let (mut done, mut lines) = (Signed::default(), Lines::default());
    let (sink, damage) = captures::copy(&mut capture, sink, PacketLengths::MayGrow, |batch| {
        let outcomes = sign_batch(batch, &mut lines, key, options, &mut done.blocks)?;
        for (record, outcome) in batch.iter_mut().zip(outcomes) {
            if let Some(outcome) = outcome {
                done.take(record, outcome);
            }
        }
        Ok(())
    })?;
    done.damage = damage.map(|damage| damage.to_string());
    Ok((done, sink))
}

/// Signs a capture and leaves it as it is: its manifests are written.
pub fn list_capture(
    mut capture: Capture,
    sink: &mut impl Write,
    key: &FlowKey,
    options: &Options,
) -> Result<Signed, Failure> {
    let mut done = Signed::default();
    let mut lines = Lines::default();
    sink.write_all(&sidecar::MAGIC).map_err(Failure::write)?;
    while let Some(batch) = capture.next_batch()? {
        let (outcomes, parts) = lines.cut(&batch, key, options)?;
        for (fate, _) in outcomes.into_iter().flatten() {
            done.count(fate, 1);
        }
        for mut part in parts {
            for block in &part.blocks {
                let manifest = part.line.list(block)?;
                done.blocks += 1;
                done.bytes += manifest.len() as u64;
                done.count(Fate::Signed, block.packets.len() as u64);
                write_record(sink, &manifest).map_err(Failure::write)?;
            }
            lines.put_back(part.flow, part.line);
        }
    }
    done.damage = capture.damage().map(ToString::to_string);
    Ok(done)
}

impl Signed {
    fn count(&mut self, fate: Fate, packets: u64) {
        self.packets += packets;
        *self.fates.entry(fate).or_default() += packets;
    }

    fn take(&mut self, record: &mut Record, (mut fate, bytes): Outcome) {
        let before = record.data().len();
        if fate == Fate::Signed && record.replace(&bytes).is_err() {
            fate = Fate::Container;
        }
        self.bytes += (record.data().len() - before) as u64;
        self.count(fate, 1);
    }
}

/// What became of a packet, and its new bytes if it is signed.
type Outcome = (Fate, Vec<u8>);

/// One flow as it is being signed.
struct Line {
    sender: FlowSender<Signer>,
    schedule: Schedule,
    last: WallTime,
}

/// Packets of one block, by their places in the batch, and the time of the last one.
#[derive(Default)]
struct Block<'a> {
    packets: Vec<(usize, Udp<'a>)>,
    time: WallTime,
    /// The flow paused before it.
    anew: bool,
}

/// A flow's part of a batch: its packets cut into blocks.
struct Part<'a> {
    flow: Flow,
    line: Line,
    blocks: Vec<Block<'a>>,
}

/// Flows that are being signed.
#[derive(Default)]
struct Lines(BTreeMap<Flow, Line>);

/// Signs the packets of a batch; none for what is no packet.
fn sign_batch(
    batch: &[Record],
    lines: &mut Lines,
    key: &FlowKey,
    options: &Options,
    blocks: &mut u64,
) -> Result<Vec<Option<Outcome>>, Failure> {
    let (mut outcomes, parts) = lines.cut(batch, key, options)?;
    let sign = |mut part: Part<'_>| {
        let sign = |block| part.line.sign(block, options);
        let signed: Result<Vec<_>, Failure> = part.blocks.iter().map(sign).collect();
        Ok((part.flow, part.line, part.blocks.len() as u64, signed?))
    };
    let done: Result<Vec<_>, Failure> = parts.into_par_iter().map(sign).collect();
    for (flow, line, count, signed) in done? {
        *blocks += count;
        lines.put_back(flow, line);
        for (place, outcome) in signed.into_iter().flatten() {
            outcomes[place] = Some(outcome);
        }
    }
    Ok(outcomes)
}

impl Lines {
    /// Cuts the packets of a batch that are to be signed into blocks of their flows; what became of
    /// the others.
    fn cut<'a>(
        &mut self,
        batch: &'a [Record],
        key: &FlowKey,
        options: &Options,
    ) -> Result<(Vec<Option<Outcome>>, Vec<Part<'a>>), Failure> {
        let mut outcomes: Vec<Option<Outcome>> = Vec::with_capacity(batch.len());
        let mut flows: BTreeMap<Flow, Vec<Arrival<'a>>> = BTreeMap::new();
        for (place, record) in batch.iter().enumerate() {
            let Some(info) = record.packet() else {
                outcomes.push(None);
                continue;
            };
            match select(record, key, options) {
                Ok(udp) => {
                    let time = WallTime::from_nanos(info.time_ns.unwrap_or(0));
                    let arrival = (place, udp, time);
                    flows.entry(udp.flow()).or_default().push(arrival);
                    outcomes.push(None);
                }
                Err(fate) => outcomes.push(Some((fate, Vec::new()))),
            }
        }
        let part = |(flow, packets)| {
            let mut line = match self.0.remove(&flow) {
                Some(line) => line,
                None => Line::new(key, options)?,
            };
            let blocks = line.cut(packets);
            Ok(Part { flow, line, blocks })
        };
        let parts: Result<_, Failure> = flows.into_iter().map(part).collect();
        Ok((outcomes, parts?))
    }

    /// Keeps a flow for the next batch; that which was silent for longest is forgotten for it.
    fn put_back(&mut self, flow: Flow, line: Line) {
        self.0.insert(flow, line);
        if self.0.len() > FLOWS_MAX {
            let oldest = self.0.iter().min_by_key(|(_, line)| line.last);
            let oldest = oldest.map(|(flow, _)| *flow);
            oldest.map(|flow| self.0.remove(&flow));
        }
    }
}

/// A packet by its place in the batch, and its time.
type Arrival<'a> = (usize, Udp<'a>, WallTime);

/// The datagram, if it is to be signed.
fn select<'a>(record: &'a Record, key: &FlowKey, options: &Options) -> Result<Udp<'a>, Fate> {
    let udp = datagram(record).ok_or(Fate::NotUdp)?;
    let flow = udp.flow();
    let to = &options.to;
    let selected = (to.is_empty() || to.iter().any(|net| net.contains(&flow.destination)))
        && options
            .port
            .is_none_or(|port| flow.destination_port == Some(port));
    if !selected {
        return Err(Fate::NotSelected);
    }
    let ours = |fixed: Fixed| fixed.key == key.descriptor().key_id();
    if Fixed::of(&signed(udp.payload())).is_ok_and(ours) {
        return Err(Fate::AlreadySigned);
    }
    Ok(udp)
}

impl Line {
    fn new(key: &FlowKey, options: &Options) -> Result<Self, Failure> {
        let most = key.descriptor().chaining().most;
        Ok(Self {
            sender: key.sender()?,
            schedule: Schedule::new(most, options.period, IDLE),
            last: WallTime::default(),
        })
    }

    /// Cuts packets into blocks; the last one ends with the batch.
    fn cut<'a>(&mut self, packets: Vec<Arrival<'a>>) -> Vec<Block<'a>> {
        let mut blocks: Vec<Block<'a>> = vec![Block::default()];
        for (place, udp, time) in packets {
            // The capture's clock is the one of its blocks.
            let now = Instant::from_nanos(time.as_nanos());
            let ended = self.schedule.tick(now);
            let anew = time - self.last >= IDLE;
            self.last = self.last.max(time);
            if ended {
                blocks.push(Block::default());
            }
            let more = self.schedule.packet(now);
            if let Some(block) = blocks.last_mut() {
                block.anew |= anew && block.packets.is_empty();
                block.packets.push((place, udp));
                block.time = time;
            }
            if more {
                blocks.push(Block::default());
            }
        }
        self.schedule.flush();
        blocks.retain(|block| !block.packets.is_empty());
        blocks
    }

    /// The payloads of a block that is about to be signed.
    fn begin<'a>(&mut self, block: &Block<'a>) -> Vec<&'a [u8]> {
        if block.anew {
            self.sender.renew(&mut random::os());
        }
        let payloads = block.packets.iter().map(|(_, udp)| udp.payload());
        payloads.collect()
    }

    fn list(&mut self, block: &Block<'_>) -> Result<Vec<u8>, Failure> {
        let payloads = self.begin(block);
        sign_manifest(&mut self.sender, &payloads, block.time)
    }

    fn sign(
        &mut self,
        block: &Block<'_>,
        options: &Options,
    ) -> Result<Vec<(usize, Outcome)>, Failure> {
        let payloads = self.begin(block);
        let (sender, distribution) = (&mut self.sender, options.distribution);
        let outs = sign_block(sender, &payloads, distribution, block.time)?;
        let packets = block.packets.iter().zip(payloads).zip(outs);
        let signed = packets
            .map(|(((place, udp), payload), mut out)| {
                if options.rtp {
                    let signature = out.len() - payload.len();
                    rtp::pad(&mut out, signature);
                }
                let mut frame = Vec::new();
                let fate = match udp.with_payload(&out, &mut frame) {
                    true => Fate::Signed,
                    false => Fate::TooBig,
                };
                (*place, (fate, frame))
            })
            .collect();
        Ok(signed)
    }
}
