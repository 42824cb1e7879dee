//! Signing a capture: every packet of the machines given, in one pass.

mod units;

pub use units::{Cover, WindowSize};

use crate::batch::Capture;
use crate::capture::{PacketLengths, Record, Sink, Writer};
use crate::failure::Failure;
use clew_group::SigningKey;
use clew_manager::keys::MemberKeyFile;
use clew_packet::{Counters, Policy, Reason, Sender};
use ipnet::IpNet;
use std::net::IpAddr;
use units::{Fate, sign_batch};

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

    fn owns(&self, source: IpAddr) -> bool {
        self.from.is_empty() || self.from.iter().any(|net| net.contains(&source))
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
    /// What one signature covers.
    pub cover: Cover,
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
        let fates = sign_batch(&batch, signers, options);
        for (record, fate) in batch.iter_mut().zip(fates) {
            if let Some(fate) = fate {
                signed.count(apply(record, fate), options.oversize)?;
            }
            writer.write(record).map_err(Failure::write)?;
        }
    }
    signed.damage = capture.damage().map(ToString::to_string);
    let sink = writer.finish().map_err(Failure::write)?;
    Ok((signed, sink))
}

/// Gives a packet its new bytes, if the file format lets it.
fn apply(record: &mut Record, fate: Fate) -> Reason {
    match fate.bytes {
        Some(bytes) if record.replace(&bytes).is_err() => Reason::Container,
        _ => fate.reason,
    }
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
