//! Whether a log has the request that evidence answers (`spec/opening.md` section 10).

use super::anchor::{cosigned, policy};
use super::{Caveat, Judgement};
use crate::group_file::GroupFile;
use crate::request::{Question, Request};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use clew_log::entry::{Answer, Asks, Body, Logged, Trusteeship};
use clew_log::{Proof, ProofError, VerifierKey, tree};
use clew_wire::WallTime;
use core::fmt;

/// Where and when a request was logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requested {
    /// Its place in the log.
    pub place: u64,
    /// The log's time of it.
    pub logged: WallTime,
    /// When enough of the judge's witnesses had cosigned. Without witnesses there is none.
    pub cosigned: Option<WallTime>,
    /// How many of the judge's witnesses were needed.
    pub witnesses: usize,
    /// The key that filed it.
    pub requester: [u8; 32],
    /// The trustees whose yes the log has, of the proofs that were given, with its time.
    pub approved: Vec<(u8, WallTime)>,
}

/// Why a proof shows nothing of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFault {
    /// The group has no log of that name.
    Log,
    /// The proof does not hold.
    Proof(ProofError),
    /// The entry is not this request's, or its signature does not hold.
    Entry,
    /// An entry is not a yes to this request, by a trustee of the opening key of the packet's epoch.
    Decision,
}

impl RequestFault {
    /// Returns the name that the specification gives the rule.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Log => "request-log",
            Self::Proof(_) => "request-proof",
            Self::Entry => "request-entry",
            Self::Decision => "request-decision",
        }
    }
}

impl fmt::Display for RequestFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log => f.write_str("the proof is of a log that the group file does not name"),
            Self::Proof(error) => write!(f, "the log's proof: {error}"),
            Self::Entry => f.write_str("the log's entry is not the entry of this request"),
            Self::Decision => f.write_str(
                "the log's entry is not a yes to this request, by a trustee of the packet's opening key",
            ),
        }?;
        write!(f, " (rule {})", self.as_str())
    }
}

impl core::error::Error for RequestFault {}

impl Judgement {
    /// Adds that the log has the request, and the yes of trustees. The first proof is the request's.
    /// Takes the caveats about a missing request away; with the yes of fewer trustees than an opening
    /// needs, adds [`Caveat::NotDecided`].
    ///
    /// `threshold` of `witnesses` must have cosigned; with a threshold of 0 the log's own word counts.
    ///
    /// # Errors
    /// The first rule that is broken: `request-entry`, `request-log`, `request-proof`,
    /// `request-decision`.
    pub fn requested(
        &mut self,
        group: &GroupFile,
        request: &Request,
        (filed, decisions): (&Proof, &[Proof]),
        witnesses: &[VerifierKey],
        threshold: usize,
    ) -> Result<&Requested, RequestFault> {
        let check = |proof| entry(group, proof, witnesses, threshold);
        let logged = check(filed)?;
        if !is_of(request, filed.index, &logged) {
            return Err(RequestFault::Entry);
        }
        let sharing = group.sharing_record(request.epoch);
        let mut approved = Vec::new();
        for proof in decisions {
            let decision = check(proof).map_err(|fault| match fault {
                RequestFault::Entry => RequestFault::Decision,
                other => other,
            })?;
            let by = yes(filed.index, &decision);
            // A trustee of another opening key has no share of this one.
            let by = by.filter(|by| sharing.is_some_and(|(since, _)| since == by.since));
            let by = by.ok_or(RequestFault::Decision)?;
            approved.push((by.index, decision.logged));
        }
        let trustees: BTreeSet<u8> = approved.iter().map(|(trustee, _)| *trustee).collect();
        let needed = sharing.map_or(u8::MAX, |(_, sharing)| sharing.quorum.threshold());
        Caveat::after_request(&mut self.caveats, trustees.len() as u8, needed);
        Ok(self.requested.insert(Requested {
            place: filed.index,
            logged: logged.logged,
            cosigned: (threshold > 0).then(|| cosigned(filed, witnesses, threshold)),
            witnesses: threshold,
            requester: logged.entry.author,
            approved,
        }))
    }
}

/// The signed entry of this group that a proof leads to.
fn entry(
    group: &GroupFile,
    proof: &Proof,
    witnesses: &[VerifierKey],
    threshold: usize,
) -> Result<Logged, RequestFault> {
    let extra = proof.extra.as_deref().ok_or(RequestFault::Entry)?;
    let logged = Logged::decode(extra).ok_or(RequestFault::Entry)?;
    let policy = policy(group, proof, witnesses, threshold).ok_or(RequestFault::Log)?;
    let leaf = tree::leaf(extra);
    policy
        .check(proof, leaf, u64::MAX)
        .map_err(RequestFault::Proof)?;
    let is_good = logged.entry.group == group.id().0 && logged.entry.is_signed();
    is_good.then_some(logged).ok_or(RequestFault::Entry)
}

fn is_of(request: &Request, place: u64, logged: &Logged) -> bool {
    let Body::Request(filed) = &logged.entry.body else {
        return false;
    };
    let asks = match request.question {
        Question::Opening => Asks::Opening,
        Question::Match { .. } => Asks::Match,
    };
    let is_place = request.log.map(|place| place.get()) == Some(place);
    is_place && filed.request == request.logged_id() && filed.asks == asks
}

fn yes(request: u64, logged: &Logged) -> Option<Trusteeship> {
    match logged.entry.body {
        Body::Decision {
            place,
            by,
            answer: Answer::Yes,
        } if place == request => Some(by),
        _ => None,
    }
}
