//! Verifying a capture: one verdict and one reason for every packet.

mod queue;

use crate::capture::{Capture, frame};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::keyring::Keyring;
use crate::random;
use clew_capture::{PacketInfo, Record};
use clew_packet::{
    Acceptance, Checked, Conclusion, Counters, GroupTag, Looked, Pending, Reason, Received,
    Receiver, Timestamp, Verdict, Windows,
};
use queue::{Queue, Stage};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What the timestamps of packets are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// The record's own time, within 30 s.
    AtCaptureTime,
    /// The clock: no older than this many nanoseconds.
    MaxAge(u64),
}

/// How a capture is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// What the timestamps are compared with.
    pub freshness: Freshness,
    /// How long an epoch is accepted after its successor started, in nanoseconds.
    pub grace_ns: u64,
    /// Whether windows are taken whole.
    pub windows: Windows,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            freshness: Freshness::AtCaptureTime,
            grace_ns: Acceptance::capture().grace_ns,
            windows: Windows::Alone,
        }
    }
}

/// What verification found.
#[derive(Debug)]
pub struct Verified {
    /// All packets.
    pub packets: u64,
    /// Packets by verdict, in the order valid, unsigned, invalid, undecided.
    pub verdicts: [(Verdict, u64); 4],
    /// Packets by reason.
    pub reasons: Counters,
    /// Unsigned packets that are IP.
    pub unsigned_ip: u64,
    /// Groups and epochs of the valid packets.
    pub signed_by: BTreeSet<(String, u32)>,
    /// Accepted signatures that were forgotten for want of room: duplicates of them go unnoticed.
    pub forgotten: u64,
    /// What is wrong with the file, in a sentence.
    pub damage: Option<String>,
}

impl Verified {
    /// Packets with that verdict.
    pub fn of(&self, verdict: Verdict) -> u64 {
        self.verdicts
            .iter()
            .filter(|(v, _)| *v == verdict)
            .map(|(_, n)| n)
            .sum()
    }

    /// The answer: no if any packet is invalid (strict: or an IP packet unsigned); could not tell if
    /// any is undecided, the file is damaged, or nothing was signed; else yes.
    pub fn status(&self, strict: bool) -> Status {
        let (valid, invalid) = (self.of(Verdict::Valid), self.of(Verdict::Invalid));
        if invalid > 0 || strict && self.unsigned_ip > 0 {
            Status::No
        } else if self.of(Verdict::Undecided) > 0 || self.damage.is_some() || valid == 0 {
            Status::CouldNotTell
        } else {
            Status::Yes
        }
    }

    fn count(&mut self, conclusion: &Conclusion) {
        self.packets += 1;
        for (verdict, count) in &mut self.verdicts {
            *count += u64::from(*verdict == conclusion.verdict);
        }
        let not_ip = matches!(conclusion.reason, Reason::NotIp | Reason::LinkType);
        self.unsigned_ip += u64::from(conclusion.verdict == Verdict::Unsigned && !not_ip);
    }
}

/// Verifies a capture. `each` gets every record in order, and what was concluded if it is a packet.
pub fn verify_capture(
    mut capture: Capture,
    keyring: &Keyring,
    rules: Rules,
    mut each: impl FnMut(Record, Option<(PacketInfo, Conclusion)>) -> Result<(), Failure>,
) -> Result<Verified, Failure> {
    let mut receiver = Receiver::new(keyring, acceptance(rules));
    let (mut verified, mut queue) = (Verified::nothing(), Queue::default());
    let mut signers = BTreeSet::new();
    let mut is_end = false;
    while !is_end {
        match capture.next_batch()? {
            Some(batch) => take(&mut receiver, batch, rules, &mut queue),
            None => is_end = true,
        }
        while let Some((record, conclusion)) = queue.pop(&mut receiver, is_end) {
            let packet = record.packet().zip(conclusion);
            if let Some((_, conclusion)) = &packet {
                verified.count(conclusion);
                let valid = conclusion.verdict == Verdict::Valid;
                let summary = conclusion.summary.filter(|_| valid);
                signers.extend(summary.map(|summary| (summary.group, summary.epoch)));
            }
            each(record, packet)?;
        }
    }
    verified.damage = capture.damage().map(ToString::to_string);
    verified.signed_by = named(keyring, &signers);
    verified.reasons = receiver.counters().clone();
    verified.forgotten = receiver.evictions();
    Ok(verified)
}

impl Verified {
    fn nothing() -> Self {
        use Verdict::{Invalid, Undecided, Unsigned, Valid};
        Self {
            packets: 0,
            verdicts: [Valid, Unsigned, Invalid, Undecided].map(|verdict| (verdict, 0)),
            reasons: Counters::new(),
            unsigned_ip: 0,
            signed_by: BTreeSet::new(),
            forgotten: 0,
            damage: None,
        }
    }
}

fn acceptance(rules: Rules) -> Acceptance {
    let capture = Acceptance {
        grace_ns: rules.grace_ns,
        ..Acceptance::capture()
    };
    match rules.freshness {
        Freshness::AtCaptureTime => capture,
        Freshness::MaxAge(window_ns) => Acceptance {
            window_ns,
            ..capture
        },
    }
}

/// Takes a batch in, with what can be concluded of it.
fn take(receiver: &mut Receiver<&Keyring>, batch: Vec<Record>, rules: Rules, queue: &mut Queue) {
    let time_of = |record| {
        let (frame, time) = frame(record)?;
        Some(match rules.freshness {
            Freshness::AtCaptureTime => (frame, time),
            Freshness::MaxAge(_) => (frame, Some(Timestamp(clock::now_ns()))),
        })
    };
    let look = |record| time_of(record).map(|(frame, time)| receiver.look(&frame, time));
    let looked: Vec<Option<Looked>> = batch.par_iter().map(look).collect();
    let last = batch.iter().rev().find_map(|record| time_of(record)?.1);
    let stages = conclude(receiver, looked, rules.windows, queue);
    queue.push(batch.into_iter().zip(stages));
    if let Some(time) = last {
        receiver.expire(time);
    }
    queue.settle(receiver);
}

fn conclude(
    receiver: &mut Receiver<&Keyring>,
    looked: Vec<Option<Looked>>,
    windows: Windows,
    queue: &mut Queue,
) -> Vec<Stage> {
    let mut pending = Vec::new();
    let mut stages: Vec<Stage> = Vec::new();
    for (place, looked) in looked.into_iter().enumerate() {
        stages.push(match looked.map(|looked| receiver.take(looked)) {
            Some(Received::Done(conclusion)) => Stage::Done(conclusion),
            Some(Received::Waiting(ticket)) => Stage::Waiting(ticket),
            Some(Received::Pending(packet)) => {
                pending.push((place, packet));
                Stage::NoPacket // until it is checked
            }
            None => Stage::NoPacket,
        });
    }
    queue.settle(receiver);
    let mut checked = check(pending, windows);
    checked.sort_unstable_by_key(|(place, _)| *place);
    for (place, checked) in checked {
        stages[place] = Stage::Done(receiver.conclude(checked));
    }
    stages
}

/// Checks packets on all cores. The more signatures are verified together, the less each one costs:
/// there is one part for each core.
fn check(pending: Vec<(usize, Pending)>, windows: Windows) -> Vec<(usize, Checked)> {
    let mut parts: Vec<Vec<(usize, Pending)>> = Vec::new();
    parts.resize_with(rayon::current_num_threads(), Vec::new);
    let count = parts.len();
    for (place, packet) in pending {
        let part = packet.affinity().map_or(place, |shared| hash(&shared));
        parts[part % count].push((place, packet));
    }
    let check_part = |part: Vec<(usize, Pending)>| {
        let (places, packets): (Vec<usize>, Vec<Pending>) = part.into_iter().unzip();
        let checked = Pending::check_all(packets, windows, &mut random::os());
        places.into_iter().zip(checked)
    };
    parts.into_par_iter().flat_map_iter(check_part).collect()
}

fn hash(value: &impl Hash) -> usize {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish() as usize
}

/// Names of groups, with their epochs.
fn named(keyring: &Keyring, signers: &BTreeSet<(GroupTag, u32)>) -> BTreeSet<(String, u32)> {
    let group = |(tag, epoch): &(GroupTag, u32)| {
        let group = keyring.group(*tag)?;
        Some((format!("{} ({})", group.genesis().name, group.id()), *epoch))
    };
    signers.iter().filter_map(group).collect()
}
