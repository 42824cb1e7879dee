//! Signing a capture: every packet of the machines given, in one pass.

use crate::batch::{Capture, frame};
use crate::capture::{PacketLengths, Record, Sink, Writer};
use crate::clock;
use crate::failure::Failure;
use crate::random;
use clew_group::SigningKey;
use clew_manager::keys::MemberKeyFile;
use clew_packet::{Counters, Frame, Policy, Reason, Sender, Timestamp, mark, source};
use ipnet::IpNet;
use rayon::prelude::*;

/// One machine, and the sources it owns.
pub struct Signer {
    sender: Sender,
    key: SigningKey,
    /// Empty: every source.
    from: Vec<IpNet>,
}

impl Signer {
    /// Prepares a machine's key.
    pub fn new(key: &MemberKeyFile, from: Vec<IpNet>, policy: Policy) -> Result<Self, Failure> {
        let sender = Sender::new(key.public.scheme(), key.group, key.epoch, policy);
        let key = SigningKey::new(&key.public, key.id, key.key.clone()).map_err(|_| {
            Failure::new(format!(
                "the key of {} does not sign in epoch {}",
                key.machine, key.epoch
            ))
            .hint("bring it up to date with clew update, or enrol the machine again")
        })?;
        Ok(Self { sender, key, from })
    }

    fn owns(&self, frame: &Frame<'_>) -> Result<bool, Reason> {
        let source = source(frame)?;
        Ok(self.from.is_empty() || self.from.iter().any(|net| net.contains(&source)))
    }
}

/// Where a packet's timestamp comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TimeSource {
    /// The record's own time
    Record,
    /// The clock
    Now,
}

/// What to do with a packet that does not fit the MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Oversize {
    /// Let it pass unsigned
    Pass,
    /// Stop
    Refuse,
}

/// How a capture is signed.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Where timestamps come from.
    pub time: TimeSource,
    /// What to do with packets that do not fit.
    pub oversize: Oversize,
}

/// What was done to the packets of a capture.
#[derive(Debug)]
pub struct Signed {
    /// All packets.
    pub packets: u64,
    /// Each packet's one reason.
    pub reasons: Counters,
    /// What is wrong with the file, in a sentence. What follows it was copied as it was.
    pub damage: Option<String>,
}

/// Signs a capture into `sink` and returns it unfinished business: the caller commits it.
pub fn sign_capture<S: Sink>(
    mut capture: Capture,
    sink: S,
    signers: &[Signer],
    options: Options,
) -> Result<(Signed, S), Failure> {
    let mut writer = Writer::new(sink, PacketLengths::MayGrow);
    let mut signed = Signed {
        packets: 0,
        reasons: Counters::new(),
        damage: None,
    };
    while let Some(mut batch) = capture.next_batch()? {
        let reasons: Vec<Option<Reason>> = batch
            .par_iter_mut()
            .map_init(Vec::new, |out, record| {
                sign_record(record, signers, options.time, out)
            })
            .collect();
        for (record, reason) in batch.iter().zip(reasons) {
            if let Some(reason) = reason {
                signed.count(reason, options.oversize)?;
            }
            writer.write(record).map_err(Failure::write)?;
        }
    }
    signed.damage = capture.damage().map(ToString::to_string);
    let sink = writer.finish().map_err(Failure::write)?;
    Ok((signed, sink))
}

impl Signed {
    fn count(&mut self, reason: Reason, oversize: Oversize) -> Result<(), Failure> {
        self.packets += 1;
        self.reasons.count(reason);
        let too_large = matches!(reason, Reason::TooBig | Reason::Offload);
        if too_large && oversize == Oversize::Refuse {
            return Err(
                Failure::new(format!("packet {} does not fit: {reason}", self.packets))
                    .hint("raise --mtu, or let such packets pass with --oversize pass"),
            );
        }
        Ok(())
    }
}

fn sign_record(
    record: &mut Record,
    signers: &[Signer],
    time_source: TimeSource,
    out: &mut Vec<u8>,
) -> Option<Reason> {
    let (frame, time) = frame(record)?;
    let time = match time_source {
        TimeSource::Record => time,
        TimeSource::Now => Some(Timestamp(clock::now_ns())),
    };
    let reason = sign_frame(&frame, time, signers, out);
    if matches!(reason, Reason::Signed | Reason::AlreadySigned) && record.replace(out).is_err() {
        return Some(Reason::Container);
    }
    Some(reason)
}

fn sign_frame(
    frame: &Frame<'_>,
    time: Option<Timestamp>,
    signers: &[Signer],
    out: &mut Vec<u8>,
) -> Reason {
    for signer in signers {
        match signer.owns(frame) {
            Ok(true) => {
                let precursor = || signer.key.precursor(&mut random::os());
                return signer.sender.sign(frame, time, precursor, out);
            }
            Ok(false) => {}
            Err(reason) => return reason,
        }
    }
    mark(frame, out).unwrap_or(Reason::NotSelected)
}
