//! Verifying the UDP datagrams of a capture: one verdict for each, in their order.

use super::capture::{datagram, signed, time};
use super::schemes::Flows;
use crate::capture::Capture;
use crate::clock;
use crate::failure::{Failure, Status};
use clew_capture::Record;
use clew_flow::{Acceptance, Effort, FlowReceiver, Lost, Reason, Verdict, WallTime};
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Records that wait for a packet before them whose block's signature has not come yet. Beyond, that
/// packet is given up.
pub const HELD_MAX: usize = 65_536;

/// Packets that are looked at together, at most, and how far their times may be apart: freshness is
/// judged by the time of the first.
const RUN_PACKETS: usize = 1024;
const RUN: Duration = Duration::from_millis(100);

/// What the timestamps of packets are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// The record's own time, within 30 s.
    AtCaptureTime,
    /// The clock: no older than this many nanoseconds.
    MaxAge(u64),
}

impl Freshness {
    /// How far a timestamp may be from what it is compared with.
    pub fn tolerance(self) -> Duration {
        match self {
            Self::AtCaptureTime => Acceptance::default().tolerance,
            Self::MaxAge(nanos) => Duration::from_nanos(nanos),
        }
    }

    /// What a receiver accepts; `first` is the beginning of the capture. Freshness is not judged in a
    /// capture that has datagrams without time.
    fn acceptance(self, first: &[Record]) -> Acceptance {
        let timeless = |record: &Record| datagram(record).is_some() && time(record).is_none();
        let usual = Acceptance::default();
        let tolerance = match self {
            Self::AtCaptureTime if first.iter().any(timeless) => Duration::MAX,
            _ => self.tolerance(),
        };
        // Nobody waits for an answer: all signatures are looked at.
        let effort = Effort {
            reserve: u32::MAX,
            ..usual.effort
        };
        Acceptance {
            tolerance,
            effort,
            ..usual
        }
    }

    /// A receiver of these flows; `first` is the beginning of the capture.
    pub fn receiver(self, flows: &Flows, first: &[Record]) -> Result<FlowReceiver, Failure> {
        flows.receiver(self.acceptance(first))
    }

    /// What the record's timestamp is compared with; 0 for a record without time.
    pub fn now(self, record: &Record) -> WallTime {
        match self {
            Self::AtCaptureTime => time(record).unwrap_or_default(),
            Self::MaxAge(_) => clock::wall_time(),
        }
    }
}

/// What verification found.
#[derive(Debug, Default)]
pub struct Verified {
    /// All packets of the capture.
    pub packets: u64,
    /// Whole UDP datagrams among them.
    pub datagrams: u64,
    /// Datagrams by reason.
    pub reasons: BTreeMap<Reason, u64>,
    /// What never came of blocks of which something came.
    pub lost: Lost,
    /// Verified signatures.
    pub verifications: u64,
    /// What is wrong with the file, in a sentence.
    pub damage: Option<String>,
}

impl Verified {
    /// Counts a record, and what was found if it is a datagram.
    pub(super) fn count(&mut self, record: &Record, reason: Option<Reason>) {
        self.packets += u64::from(record.packet().is_some());
        if let Some(reason) = reason {
            self.datagrams += 1;
            *self.reasons.entry(reason).or_default() += 1;
        }
    }

    /// Datagrams with that verdict.
    pub fn of(&self, verdict: Verdict) -> u64 {
        let of = self.reasons.iter().filter(|(r, _)| r.verdict() == verdict);
        of.map(|(_, count)| count).sum()
    }

    /// The answer: no if any datagram is invalid (strict: or unsigned); could not tell if any is
    /// undecided, the file is damaged, or nothing was signed; else yes.
    pub fn status(&self, strict: bool) -> Status {
        let no = self.of(Verdict::Invalid) > 0 || strict && self.of(Verdict::Unsigned) > 0;
        let open = self.of(Verdict::Undecided) > 0 || self.damage.is_some();
        Status::of(no, open || self.of(Verdict::Valid) == 0)
    }
}

/// A record, and what was found if it holds a datagram.
#[derive(Debug)]
pub struct Judged {
    /// The record as it is in the capture.
    pub record: Record,
    /// The rule that decided, for a datagram.
    pub reason: Option<Reason>,
}

/// Verifies a capture. `each` gets every record in order.
pub fn verify_capture(
    mut capture: Capture,
    flows: &Flows,
    freshness: Freshness,
    mut each: impl FnMut(Judged) -> Result<(), Failure>,
) -> Result<Verified, Failure> {
    let mut batch = capture.next_batch()?;
    let mut line = Line {
        receiver: freshness.receiver(flows, batch.as_deref().unwrap_or_default())?,
        freshness,
        tickets: 0,
        held: VecDeque::new(),
        resolved: BTreeMap::new(),
        verified: Verified::default(),
    };
    while let Some(records) = batch {
        line.take(records);
        while let Some(judged) = line.next(HELD_MAX) {
            each(judged)?;
        }
        batch = capture.next_batch()?;
    }
    while let Some(judged) = line.next(0) {
        each(judged)?;
    }
    let mut verified = line.verified;
    verified.lost = line.receiver.end();
    verified.verifications = line.receiver.verifications();
    verified.damage = capture.damage().map(ToString::to_string);
    Ok(verified)
}

/// Records on their way through the receiver.
struct Line {
    receiver: FlowReceiver,
    freshness: Freshness,
    tickets: u64,
    /// Records in order, from the first that is not judged for good.
    held: VecDeque<Held>,
    /// What became of packets that were pending, by ticket.
    resolved: BTreeMap<u64, Reason>,
    verified: Verified,
}

struct Held {
    record: Record,
    /// Of a datagram: its ticket, and what was found when it came.
    found: Option<(u64, Reason)>,
}

impl Line {
    fn take(&mut self, batch: Vec<Record>) {
        let datagrams: Vec<Arrival<'_>> = batch
            .iter()
            .enumerate()
            .filter_map(|(place, record)| {
                let payload = signed(datagram(record)?.payload());
                Some((place, payload, self.freshness.now(record)))
            })
            .collect();
        let mut found = vec![None; batch.len()];
        let mut rest = &datagrams[..];
        while let Some((_, _, now)) = rest.first() {
            let (run, after) = rest.split_at(run(rest));
            rest = after;
            let payloads: Vec<&[u8]> = run.iter().map(|(_, payload, _)| &**payload).collect();
            let findings = self.receiver.receive_many(&payloads, *now, self.tickets);
            for ((place, ..), finding) in run.iter().zip(findings) {
                found[*place] = Some((self.tickets, finding.reason));
                self.tickets += 1;
                self.resolved.extend(finding.resolved);
            }
        }
        let held = batch.into_iter().zip(found);
        self.held
            .extend(held.map(|(record, found)| Held { record, found }));
        // Of packets that were given up before they were resolved.
        let first = self.held.iter().find_map(|held| held.found);
        if let Some((ticket, _)) = first {
            self.resolved = self.resolved.split_off(&ticket);
        }
    }

    /// The next record that is judged for good, while more than `most` are held any.
    fn next(&mut self, most: usize) -> Option<Judged> {
        let reason = match self.held.front()?.found {
            Some((ticket, Reason::Pending)) => match self.resolved.remove(&ticket) {
                None if self.held.len() <= most => return None,
                None => Some(Reason::NoSignature),
                later => later,
            },
            found => found.map(|(_, reason)| reason),
        };
        let Held { record, .. } = self.held.pop_front()?;
        self.verified.count(&record, reason);
        Some(Judged { record, reason })
    }
}

/// A datagram that came: its place in the batch, what was signed, and what its timestamp is compared
/// with.
type Arrival<'a> = (usize, Cow<'a, [u8]>, WallTime);

/// How many datagrams from the first on are near enough in time to be looked at together.
fn run(datagrams: &[Arrival<'_>]) -> usize {
    let Some((_, _, first)) = datagrams.first() else {
        return 0;
    };
    let more = datagrams.iter().skip(1).take(RUN_PACKETS - 1);
    let near = more.take_while(|(_, _, time)| (*first - *time).max(*time - *first) < RUN);
    1 + near.count()
}
