//! What trustees gave, by step and set. Whoever gave something else than was asked for is named.

use super::CombineError;
use crate::request::Request;
use crate::share::{Share, Step};
use alloc::vec::Vec;
use clew_group::quorum::{Blind, BlindCommitment, Set, Trustee};
use core::fmt;

/// A trustee's share that was not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Whose share it says it is.
    pub trustee: Trustee,
    /// What is wrong with it.
    pub why: ShareFault,
}

/// What is wrong with a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareFault {
    /// It answers another request.
    OtherRequest,
    /// It is of another step.
    OtherStep,
    /// It names another set of trustees.
    OtherSet,
    /// The group has no trustee with this index in that epoch.
    NoTrustee,
    /// There is another of this trustee.
    Repeated,
    /// One of the set gave nothing.
    Missing,
    /// It holds other blinds than most shares do. Which are those that were committed to, the
    /// commitments say.
    OtherBlinds,
    /// Its blind does not hold.
    Blind,
    /// Its decryption does not hold.
    Decryption,
}

impl ShareFault {
    /// Returns a sentence about the trustee's share.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OtherRequest => "share is for another request",
            Self::OtherStep => "share is of another step",
            Self::OtherSet => "share names other trustees",
            Self::NoTrustee => "not a trustee of the group",
            Self::Repeated => "share given twice",
            Self::Missing => "share missing",
            Self::OtherBlinds => "share has other blinds than most",
            Self::Blind => "blind proof invalid",
            Self::Decryption => "decryption proof invalid",
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.trustee, self.why.as_str())
    }
}

/// Gathers step 1 of a match: the set, and the commitments of all of it in the order of indices, or
/// who is in the way.
pub fn gather_commitments(
    request: &Request,
    shares: &[Share],
) -> Result<(Set, Vec<BlindCommitment>), CombineError> {
    gather(request, shares, |step| match step {
        Step::Commitment { commitment, .. } => Some(*commitment),
        _ => None,
    })
}

/// Gathers step 2, likewise: the blinds. Each trustee checks before its third step that they are
/// those committed to.
pub fn gather_blinds(
    request: &Request,
    shares: &[Share],
) -> Result<(Set, Vec<Blind>), CombineError> {
    gather(request, shares, |step| match step {
        Step::Blind { blind, .. } => Some(*blind),
        _ => None,
    })
}

/// The set that most shares of this request and step name.
fn most_named<T>(
    request: &Request,
    shares: &[Share],
    of_step: impl Fn(&Step) -> Option<T>,
) -> Result<Set, CombineError> {
    let ours = |s: &&Share| s.request == *request && of_step(&s.step).is_some();
    let sets: Vec<Set> = shares.iter().filter(ours).filter_map(Share::set).collect();
    let votes = |set: &Set| sets.iter().filter(|other| *other == set).count();
    let most = sets.iter().rev().max_by_key(|set| votes(set));
    most.copied().ok_or_else(|| {
        let refused = shares.iter().map(|share| Refused {
            trustee: share.trustee,
            why: match share.request == *request {
                true => ShareFault::OtherStep,
                false => ShareFault::OtherRequest,
            },
        });
        CombineError::Refused(refused.collect())
    })
}

/// What each of the set gave in one step, in the order of indices, or who is in the way. A share too
/// many does no harm, unless its trustee gave two that differ.
pub(super) fn gather<T: PartialEq>(
    request: &Request,
    shares: &[Share],
    of_step: impl Fn(&Step) -> Option<T>,
) -> Result<(Set, Vec<T>), CombineError> {
    let set = most_named(request, shares, &of_step)?;
    let (mut given, mut refused): (Vec<(Trustee, T)>, Vec<Refused>) = (Vec::new(), Vec::new());
    let mut in_the_way = false;
    for share in shares {
        let trustee = share.trustee;
        let before = given.iter().find(|(other, _)| *other == trustee);
        let why = match (of_step(&share.step), before) {
            _ if share.request != *request => ShareFault::OtherRequest,
            (None, _) => ShareFault::OtherStep,
            _ if share.set() != Some(set) || !set.contains(trustee) => ShareFault::OtherSet,
            (Some(value), Some((_, same))) if value == *same => continue,
            (Some(_), Some(_)) => {
                in_the_way = true;
                ShareFault::Repeated
            }
            (Some(value), None) => {
                given.push((trustee, value));
                continue;
            }
        };
        refused.push(Refused { trustee, why });
    }
    if given.len() == usize::from(set.count()) && !in_the_way {
        given.sort_by_key(|(trustee, _)| *trustee);
        return Ok((set, given.into_iter().map(|(_, value)| value).collect()));
    }
    let seen = |who: Trustee| given.iter().any(|(other, _)| *other == who);
    let named: Vec<Trustee> = refused.iter().map(|one| one.trustee).collect();
    let missing = set.iter().filter(|who| !seen(*who) && !named.contains(who));
    refused.extend(missing.map(|trustee| Refused {
        trustee,
        why: ShareFault::Missing,
    }));
    Err(CombineError::Refused(refused))
}
