//! What a trustee checks before it gives a share (`spec/opening.md` section 3).
//!
//! Nothing here reads a file or a clock: the earlier requests and the time are arguments.

use crate::TrusteeError;
use crate::approval::Shown;
use clew_evidence::{Asked, CheckedGroup, FoundRow, JudgeRule, Packet, Question, Request};
use clew_group::curve::G1;
use clew_group::quorum::{Match, Set};
use clew_keys::TrusteeKeyFile;
use std::collections::BTreeSet;
use thiserror::Error;

/// Most requests that a trustee answers in 24 hours.
pub const REQUESTS_PER_DAY: usize = 1000;

/// Most machines that one packet is compared with: in a small group every no tells something.
pub const MATCHES_PER_PACKET: usize = 3;

/// How much a trustee answers, at most what the constants say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most requests in 24 hours.
    pub requests_per_day: usize,
    /// Most machines that one packet is compared with.
    pub matches_per_packet: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests_per_day: REQUESTS_PER_DAY,
            matches_per_packet: MATCHES_PER_PACKET,
        }
    }
}

const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;

/// What a trustee is asked: the request, and what it sees of it with its own eyes.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The group, with its whole chain of epochs checked.
    pub group: &'a CheckedGroup,
    /// The request.
    pub request: &'a Request,
    /// The packet that it asks about.
    pub packet: &'a Packet<'a>,
    /// The warrant, the log's proofs, and the trustee's policy.
    pub shown: Shown<'a>,
}

/// The machine of a match.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its row, and its x.
    pub found: &'a FoundRow,
    /// The base that it signs with in the packet's epoch.
    pub base: &'a G1,
}

impl Case<'_> {
    /// Verifies the packet, and checks that this key's share is one of the packet's epoch.
    ///
    /// # Errors
    /// [`TrusteeError::OtherGroup`] or [`TrusteeError::OtherSharing`] if the key does not open the
    /// packet; [`TrusteeError::Fault`] if the packet does not verify or is not the one of the request.
    pub fn check(&self, key: &TrusteeKeyFile) -> Result<Asked, TrusteeError> {
        if key.group != self.group.id() || key.share.scheme() != self.group.scheme() {
            return Err(TrusteeError::OtherGroup);
        }
        let asked = Asked::new(self.group, self.request, self.packet)?;
        let (key, packet) = (key.since, asked.sharing().since);
        if key == packet {
            Ok(asked)
        } else {
            Err(TrusteeError::OtherSharing { key, packet })
        }
    }

    /// Checks the machine of a match, and returns what the trustees of the set compare.
    ///
    /// # Errors
    /// [`TrusteeError::Fault`] if the row or the base is not good; [`TrusteeError::Quorum`] if the set
    /// is not.
    pub fn question<'q>(
        &self,
        asked: &'q Asked,
        with: Candidate<'_>,
        set: Set,
    ) -> Result<Match<'q>, TrusteeError> {
        asked.check_candidate(self.group, self.request, with.found, with.base)?;
        Ok(asked.question(set, with.base)?)
    }

    /// What the ledger says of this case, asked at `now` (nanoseconds since 1970).
    ///
    /// # Errors
    /// [`TrusteeError::Fault`] if the packet has no T1.
    pub fn entry(&self, now: u64) -> Result<LedgerEntry, TrusteeError> {
        let signature = || TrusteeError::Fault(JudgeRule::Signature.into());
        Ok(LedgerEntry {
            time: now,
            t1: *self.packet.body.first_chunk().ok_or_else(signature)?,
            signature_digest: self.request.signature_digest,
            asked_packet: self.request.asked_packet,
            machine: match self.request.question {
                Question::Opening => None,
                Question::Match { machine } => Some(machine),
            },
            request: self.request.id(),
        })
    }
}

/// One request as the ledger keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// When it was asked, nanoseconds since 1970.
    pub time: u64,
    /// T1 of the signature, encoded.
    pub t1: [u8; 48],
    /// Digest of the packet's signature and its message.
    pub signature_digest: [u8; 32],
    /// Which packet of its block was asked about.
    pub asked_packet: [u8; 32],
    /// Leaf hash of the machine, if the request is a match.
    pub machine: Option<[u8; 32]>,
    /// The request's id.
    pub request: [u8; 32],
}

/// What the ledger says of a request that may be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestHistory {
    /// It was never asked before: it has to be written down first.
    Never,
    /// It was asked before: asking twice tells nothing new.
    Before,
}

/// Which limit a request exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Limit {
    /// Its T1 was seen with another packet.
    #[error(
        "the signature's T1 was requested before with another packet: someone is trying to open one \
         packet as another"
    )]
    OtherPacket,
    /// More within a day than [`Limits::requests_per_day`].
    #[error("the limit of requests in 24 hours is reached")]
    TooMany,
    /// The signature was compared with as many other machines as [`Limits::matches_per_packet`].
    #[error("this signature was already compared with as many machines as the trustee allows")]
    TooManyMatches,
}

/// Checks a request against all that were asked before.
///
/// # Errors
/// [`Limit`] if it must not be answered.
pub fn check_limits(
    limits: Limits,
    before: &[LedgerEntry],
    new: &LedgerEntry,
) -> Result<RequestHistory, Limit> {
    let mut entries = before.iter();
    if entries.any(|e| e.t1 == new.t1 && e.signature_digest != new.signature_digest) {
        return Err(Limit::OtherPacket);
    }
    if before.iter().any(|e| e.request == new.request) {
        return Ok(RequestHistory::Before);
    }
    let recent = before
        .iter()
        .filter(|e| e.time.saturating_add(DAY_NS) > new.time);
    if recent.count() >= limits.requests_per_day {
        return Err(Limit::TooMany);
    }
    let same_packet = before
        .iter()
        .filter(|e| e.signature_digest == new.signature_digest);
    let mut machines: BTreeSet<_> = same_packet.filter_map(|e| e.machine).collect();
    machines.extend(new.machine);
    if new.machine.is_some() && machines.len() > limits.matches_per_packet {
        return Err(Limit::TooManyMatches);
    }
    Ok(RequestHistory::Never)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn entry(n: u8) -> LedgerEntry {
        LedgerEntry {
            time: u64::from(n) * 1_000_000_000,
            t1: [n; 48],
            signature_digest: [n; 32],
            asked_packet: [n ^ 0xff; 32],
            machine: None,
            request: [n; 32],
        }
    }

    #[test]
    fn one_t1_is_one_packet() {
        let other = LedgerEntry {
            signature_digest: [8; 32],
            request: [8; 32],
            ..entry(1)
        };
        let refused = check_limits(Limits::default(), &[entry(1)], &other);
        assert_eq!(refused, Err(Limit::OtherPacket));
    }

    #[test]
    fn a_day_has_its_limit() {
        let request = |i: usize| {
            let mut request = [0; 32];
            request[..8].copy_from_slice(&i.to_be_bytes());
            LedgerEntry {
                request,
                t1: std::array::from_fn(|at| request[at % 32]),
                signature_digest: request,
                ..entry(1)
            }
        };
        let day: Vec<LedgerEntry> = (0..REQUESTS_PER_DAY).map(request).collect();
        let next = request(REQUESTS_PER_DAY);
        assert_eq!(
            check_limits(Limits::default(), &day, &next),
            Err(Limit::TooMany)
        );
        let again = check_limits(Limits::default(), &day, &day[3]);
        assert_eq!(
            again,
            Ok(RequestHistory::Before),
            "what was answered is answered again"
        );
        let tomorrow = LedgerEntry {
            time: next.time + DAY_NS,
            ..next
        };
        assert_eq!(
            check_limits(Limits::default(), &day, &tomorrow),
            Ok(RequestHistory::Never)
        );
    }

    #[test]
    fn a_packet_is_compared_with_few_machines() {
        let with = |machine: u8| LedgerEntry {
            machine: Some([machine; 32]),
            request: [machine; 32],
            ..entry(1)
        };
        let known: Vec<LedgerEntry> = (0..MATCHES_PER_PACKET as u8).map(with).collect();
        let refused = check_limits(Limits::default(), &known, &with(99));
        assert_eq!(refused, Err(Limit::TooManyMatches));
        let again = LedgerEntry {
            request: [55; 32],
            ..with(0)
        };
        let again = check_limits(Limits::default(), &known, &again);
        assert_eq!(
            again,
            Ok(RequestHistory::Never),
            "the same machine under another warrant"
        );
        let opening = LedgerEntry {
            request: [77; 32],
            ..entry(1)
        };
        assert_eq!(
            check_limits(Limits::default(), &known, &opening),
            Ok(RequestHistory::Never)
        );
    }
}
