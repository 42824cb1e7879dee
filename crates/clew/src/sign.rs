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
use std::sync::OnceLock;
use units::{Fate, sign_batch};

/// One machine, and the sources it owns.
pub struct Signer {
    /// Without the device's own key, which signs no packet.
    machine: MemberKeyFile,
    epochs: Vec<Epoch>,
    /// Empty: every source.
    from: Vec<IpNet>,
}

/// An epoch that a machine's key holds.
struct Epoch {
    sender: Sender,
    /// Prepared when the first packet needs it.
    key: OnceLock<SigningKey>,
}

impl Signer {
    /// A machine that signs as its key file says: each packet in the epoch of the packet's time. The
    /// epoch in force at `now` (nanoseconds since 1970) is checked at once.
    ///
    /// # Errors
    /// The key does not sign in that epoch.
    pub fn new(
        mut key: MemberKeyFile,
        from: Vec<IpNet>,
        policy: Policy,
        now: u64,
    ) -> Result<Self, Failure> {
        key.device = None;
        let epochs = key.epochs.iter().map(|held| Epoch {
            sender: Sender::new(key.scheme(), key.group, held.epoch, policy),
            key: OnceLock::new(),
        });
        let signer = Self {
            epochs: epochs.collect(),
            machine: key,
            from,
        };
        signer.prepare(signer.machine.place_at(now))?;
        Ok(signer)
    }

    fn owns(&self, source: IpAddr) -> bool {
        self.from.is_empty() || self.from.iter().any(|net| net.contains(&source))
    }

    /// Prepares the key of an epoch, if it is not.
    fn prepare(&self, place: usize) -> Result<(), Failure> {
        let (Some(epoch), Some(held)) = (self.epochs.get(place), self.machine.epochs.get(place))
        else {
            return Err(self.unfit("the key holds no epoch"));
        };
        if epoch.key.get().is_none() {
            let key = self.machine.signing_key(held);
            let why = || self.unfit(format!("the key does not sign in epoch {}", held.epoch));
            let _ = epoch.key.set(key.map_err(|_| why())?);
        }
        Ok(())
    }

    fn unfit(&self, why: impl std::fmt::Display) -> Failure {
        Failure::new(format!("machine {}: {why}", self.machine.machine))
            .hint("bring the key up to date with clew update, or enrol the machine again")
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
        let fates = sign_batch(&batch, signers, options)?;
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
