//! Whether a log shows that a capture existed at some time (`spec/opening.md` section 9).

use super::{Caveat, Judgement};
use crate::group_file::GroupFile;
use clew_log::entry::{Body, Logged};
use clew_log::{Cosignature, Policy, Proof, ProofError, VerifierKey, tree};
use clew_wire::WallTime;
use core::fmt;

const SECOND_NS: u64 = 1_000_000_000;

/// When a capture existed at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchored {
    /// The time.
    pub time: WallTime,
    /// Whether it is the word of witnesses; else it is the log's own.
    pub is_witnessed: bool,
    /// Whether that was before the packet's epoch ended. An epoch without a successor has not ended.
    pub is_in_time: bool,
}

/// Why an anchor shows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnchorFault {
    /// The group has no log of that name.
    Log,
    /// The proof does not hold.
    Proof(ProofError),
    /// The entry is not an anchor of this group, or its signature does not hold.
    Entry,
    /// It is about another capture.
    Capture,
}

impl AnchorFault {
    /// Returns the name that the specification gives the rule.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Log => "anchor-log",
            Self::Proof(_) => "anchor-proof",
            Self::Entry => "anchor-entry",
            Self::Capture => "anchor-capture",
        }
    }
}

impl fmt::Display for AnchorFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log => f.write_str("the anchor is of a log that the group file does not name"),
            Self::Proof(error) => write!(f, "the anchor's proof: {error}"),
            Self::Entry => f.write_str("the log's entry is not an anchor of this group"),
            Self::Capture => f.write_str("the anchor is about another capture"),
        }?;
        write!(f, " (rule {})", self.as_str())
    }
}

impl core::error::Error for AnchorFault {}

impl Judgement {
    /// Adds what an anchor shows: that the log had the SHA-256 of the capture. If that was before the
    /// packet's epoch ended, the caveat [`Caveat::NotAnchored`] goes. If it was before the
    /// manager's keys may have been stolen, [`Caveat::KeysStolen`] goes.
    ///
    /// `threshold` of `witnesses` must have cosigned; with a threshold of 0 the log's own word counts.
    ///
    /// # Errors
    /// The first rule that is broken: `anchor-log`, `anchor-proof`, `anchor-entry`, `anchor-capture`.
    pub fn anchor(
        &mut self,
        group: &GroupFile,
        proof: &Proof,
        capture: &[u8; 32],
        witnesses: &[VerifierKey],
        threshold: usize,
    ) -> Result<Anchored, AnchorFault> {
        let extra = proof.extra.as_deref().ok_or(AnchorFault::Entry)?;
        let logged = Logged::decode(extra).ok_or(AnchorFault::Entry)?;
        let policy = policy(group, proof, witnesses, threshold).ok_or(AnchorFault::Log)?;
        policy
            .check(proof, tree::leaf(extra), u64::MAX)
            .map_err(AnchorFault::Proof)?;
        let Body::Anchor { segment, .. } = &logged.entry.body else {
            return Err(AnchorFault::Entry);
        };
        if logged.entry.group != group.id().0 || !logged.entry.is_signed() {
            return Err(AnchorFault::Entry);
        }
        if segment != capture {
            return Err(AnchorFault::Capture);
        }
        let time = match threshold {
            0 => logged.logged,
            _ => cosigned(proof, witnesses, threshold),
        };
        let end = group.start(self.epoch.saturating_add(1));
        let anchored = Anchored {
            time,
            is_witnessed: threshold > 0,
            is_in_time: end.is_none_or(|end| time < end),
        };
        if anchored.is_in_time {
            self.caveats.retain(|caveat| *caveat != Caveat::NotAnchored);
        }
        let stolen = group.end().and_then(|(_, end)| end.stolen_since);
        if stolen.is_some_and(|since| time < since) {
            let is_theft = |caveat: &Caveat| matches!(caveat, Caveat::KeysStolen { .. });
            self.caveats.retain(|caveat| !is_theft(caveat));
        }
        self.anchored = Some(anchored);
        Ok(anchored)
    }
}

/// What the proof needs, under the log of the group that it names. `None` if the group has no such log.
pub(super) fn policy(
    group: &GroupFile,
    proof: &Proof,
    witnesses: &[VerifierKey],
    threshold: usize,
) -> Option<Policy> {
    let signed = |key: &VerifierKey| proof.checkpoint.signature(key).is_ok();
    let log = group.logs().find(|log| signed(log.key()));
    Some(Policy {
        log: log?.key().clone(),
        witnesses: witnesses.to_vec(),
        threshold,
        max_age: None,
    })
}

/// The time by which so many witnesses had cosigned: fewer than that may lie.
pub(super) fn cosigned(proof: &Proof, witnesses: &[VerifierKey], threshold: usize) -> WallTime {
    let line = |key| proof.checkpoint.signature(key).ok();
    let times = witnesses.iter().filter_map(line);
    let times = times.filter_map(|line| Cosignature::decode(&line.bytes));
    let mut times: alloc::vec::Vec<u64> = times.map(|own| own.time).collect();
    times.sort_unstable();
    let time = times.get(threshold - 1).copied().unwrap_or(u64::MAX);
    WallTime::from_nanos(time.saturating_mul(SECOND_NS))
}
