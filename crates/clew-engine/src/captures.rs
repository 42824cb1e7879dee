//! Capture files, from their first record to the last: signed, verified, stripped.

use crate::{AsFrame, Fate, Randomness, SignError, Signers, Totals, Verifier};
use clew_capture::{Damage, PacketLengths, ReadAhead, ReadError, Record, Sink, Writer};
use clew_packet::{Conclusion, KeySource, Reason, SignOutcome, Stripped, Timestamp};
use std::collections::BTreeMap;
use std::io;

/// Where the records of a capture come from.
pub trait Batches {
    /// Why the work on them ends early.
    type Error: From<Error>;

    /// Returns the next records, at least one, in order; `None` at the end.
    ///
    /// # Errors
    /// They cannot be had.
    fn next_batch(&mut self) -> Result<Option<Vec<Record>>, Self::Error>;

    /// Returns what is wrong with the capture, once all of it is read.
    fn damage(&self) -> Option<&Damage>;
}

impl Batches for ReadAhead {
    type Error = Error;

    fn next_batch(&mut self) -> Result<Option<Vec<Record>>, Error> {
        self.next_batch().map_err(Error::Read)
    }

    fn damage(&self) -> Option<&Damage> {
        self.damage()
    }
}

/// Why a capture is not done to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The next records cannot be had.
    #[error(transparent)]
    Read(ReadError),
    /// The output cannot be written.
    #[error("cannot write: {0}")]
    Write(io::Error),
    /// Packets cannot be signed.
    #[error(transparent)]
    Sign(SignError),
    /// This packet, counted from 1, does not fit, and [`Oversize::Refuse`] was asked for.
    #[error("packet {0} does not fit: {1}")]
    Oversize(u64, SignOutcome),
}

/// What to do with a packet that does not fit the MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oversize {
    /// Let it pass unsigned.
    Pass,
    /// Stop.
    Refuse,
}

/// What was done to the packets of a capture.
#[derive(Debug)]
pub struct SignReport {
    /// All packets.
    pub packets: u64,
    /// How many packets had each outcome. Every packet has one.
    pub outcomes: BTreeMap<SignOutcome, u64>,
    /// What is wrong with the file. What follows it was copied as it was.
    pub damage: Option<Damage>,
}

/// Copies a capture into `sink`, each batch as `change` leaves it. Returns the sink, for the caller to
/// commit, and what is wrong with the capture.
///
/// # Errors
/// [`Error`], and those of the input and of `change`. The output is unfinished then.
pub fn copy<B: Batches, S: Sink>(
    records: &mut B,
    sink: S,
    lengths: PacketLengths,
    mut change: impl FnMut(&mut [Record]) -> Result<(), B::Error>,
) -> Result<(S, Option<Damage>), B::Error> {
    let mut writer = Writer::new(sink, lengths);
    while let Some(mut batch) = records.next_batch()? {
        change(&mut batch)?;
        for record in &batch {
            writer.write(record).map_err(Error::Write)?;
        }
    }
    let sink = writer.finish().map_err(Error::Write)?;
    Ok((sink, records.damage().cloned()))
}

/// Signs a capture into `sink`, and returns that for the caller to commit. `clock` tells the wall
/// time of each batch.
///
/// # Errors
/// [`Error`], and those of the input. The output is unfinished then.
pub fn sign<B: Batches, S: Sink>(
    records: &mut B,
    sink: S,
    signers: &Signers,
    oversize: Oversize,
    clock: impl Fn() -> Timestamp,
    randomness: &impl Randomness,
) -> Result<(SignReport, S), B::Error> {
    let mut report = SignReport {
        packets: 0,
        outcomes: BTreeMap::new(),
        damage: None,
    };
    let (sink, damage) = copy(records, sink, PacketLengths::MayGrow, |batch| {
        let fates = signers.sign(batch, clock(), randomness);
        for (record, fate) in batch.iter_mut().zip(fates.map_err(Error::Sign)?) {
            if let Some(outcome) = apply(record, fate) {
                report.count(outcome, oversize)?;
            }
        }
        Ok(())
    })?;
    Ok((SignReport { damage, ..report }, sink))
}

/// Gives a packet its new bytes, if the file format lets it. Returns `None` for what is not a packet.
fn apply(record: &mut Record, fate: Fate) -> Option<SignOutcome> {
    let (outcome, bytes) = match fate {
        Fate::NoFrame => return None,
        Fate::Passes(outcome) => return Some(outcome),
        Fate::Marked(bytes) => (SignOutcome::AlreadySigned, bytes),
        Fate::Signed(bytes) => (SignOutcome::Signed, bytes),
    };
    let replaced = record.replace(&bytes);
    Some(replaced.map_or(SignOutcome::Container, |()| outcome))
}

impl SignReport {
    /// Returns how many packets had this outcome.
    pub fn of(&self, outcome: SignOutcome) -> u64 {
        self.outcomes.get(&outcome).copied().unwrap_or_default()
    }

    fn count(&mut self, outcome: SignOutcome, oversize: Oversize) -> Result<(), Error> {
        self.packets += 1;
        *self.outcomes.entry(outcome).or_default() += 1;
        let too_large = matches!(
            outcome,
            SignOutcome::Unsignable(Reason::TooBig) | SignOutcome::Offload
        );
        match oversize {
            Oversize::Refuse if too_large => Err(Error::Oversize(self.packets, outcome)),
            Oversize::Refuse | Oversize::Pass => Ok(()),
        }
    }
}

/// What verification found.
#[derive(Debug)]
pub struct VerifyReport {
    /// What was concluded of the packets.
    pub totals: Totals,
    /// What is wrong with the file. What follows it could not be verified.
    pub damage: Option<Damage>,
}

/// Verifies a capture. `each` gets every record in order, and what was concluded if it is a packet.
/// `clock` tells the wall time of each batch.
///
/// # Errors
/// Those of the input and of `each`.
pub fn verify<B: Batches, K: KeySource + Sync>(
    records: &mut B,
    mut verifier: Verifier<K, Record>,
    clock: impl Fn() -> Timestamp,
    randomness: &impl Randomness,
    mut each: impl FnMut(Record, Option<Conclusion>) -> Result<(), B::Error>,
) -> Result<VerifyReport, B::Error> {
    let mut tell = |judged: Vec<_>| judged.into_iter().try_for_each(|(r, c)| each(r, c));
    while let Some(batch) = records.next_batch()? {
        tell(verifier.push(batch, clock(), randomness))?;
    }
    tell(verifier.finish())?;
    Ok(VerifyReport {
        totals: verifier.totals(),
        damage: records.damage().cloned(),
    })
}

/// What was taken out of a capture.
#[derive(Debug, Default)]
pub struct StripReport {
    /// All packets.
    pub packets: u64,
    /// Packets whose trailer was removed.
    pub stripped: u64,
    /// Packets whose mark was lowered: signed by another run.
    pub unmarked: u64,
    /// Packets that were copied as they were: their record cannot be exchanged exactly.
    pub kept: u64,
    /// What is wrong with the file. What follows it was copied as it was.
    pub damage: Option<Damage>,
}

/// Undoes one run of signing, into `sink`, and returns that for the caller to commit.
///
/// # Errors
/// [`Error`], and those of the input. The output is unfinished then.
pub fn strip<B: Batches, S: Sink>(records: &mut B, sink: S) -> Result<(StripReport, S), B::Error> {
    let (mut report, mut out) = (StripReport::default(), Vec::new());
    let (sink, damage) = copy(records, sink, PacketLengths::NeverGrow, |batch| {
        for record in batch {
            report.strip(record, &mut out);
        }
        Ok(())
    })?;
    Ok((StripReport { damage, ..report }, sink))
}

impl StripReport {
    fn strip(&mut self, record: &mut Record, out: &mut Vec<u8>) {
        let Some((frame, _)) = record.as_frame() else {
            return;
        };
        self.packets += 1;
        let stripped = clew_packet::strip(&frame, out);
        let count = match stripped {
            Stripped::Trailer => &mut self.stripped,
            Stripped::Mark => &mut self.unmarked,
            Stripped::Nothing(_) => return,
        };
        // What signing wrote, stripping can exchange. A capture of live traffic may be otherwise.
        match record.replace(out) {
            Ok(()) => *count += 1,
            Err(_) => self.kept += 1,
        }
    }
}
