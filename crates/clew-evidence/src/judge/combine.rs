//! From the shares of several trustees to an opening or a match. Whoever gave something else than
//! was asked for is named.

use super::{Asked, Fault, JudgeRule, Judgement, judge_match, judge_opening};
use crate::evidence::{Match, Opening};
use crate::group_file::GroupFile;
use crate::proof::Row;
use crate::request::{Packet, Request};
use crate::share::{Share, Step};
use clew_group::curve::G1;
use clew_group::quorum::{Blind, BlindCommitment, Decryption, QuorumError, Set, Trustee};
use std::fmt;

/// Evidence that holds, and the trustees whose shares were left out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combined<T> {
    /// The evidence.
    pub evidence: T,
    /// What it proves.
    pub judgement: Judgement,
    /// The shares that were refused.
    pub refused: Vec<Refused>,
}

/// A trustee's share that was not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Whose share it says it is.
    pub trustee: Trustee,
    /// What is wrong with it.
    pub why: Why,
}

/// What is wrong with a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
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

impl Why {
    /// A sentence about the trustee's share.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OtherRequest => "its share answers another request",
            Self::OtherStep => "its share is of another step",
            Self::OtherSet => "its share names another set of trustees",
            Self::NoTrustee => "the group has no such trustee",
            Self::Repeated => "its share is there twice",
            Self::Missing => "its share is missing",
            Self::OtherBlinds => "its share holds other blinds than most",
            Self::Blind => "its blind does not hold",
            Self::Decryption => "its decryption does not hold",
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.trustee, self.why.as_str())
    }
}

/// Why there is no opening or match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CombineError {
    /// A rule is broken that is not about one share.
    Fault(Fault),
    /// Too few good shares.
    TooFew {
        /// How many there are.
        good: u8,
        /// How many it takes.
        needed: u8,
        /// The others.
        refused: Vec<Refused>,
    },
    /// The trustees that are in the way of a match, for which all of a set are needed: it starts
    /// again without them.
    Refused(Vec<Refused>),
    /// The shares open the signature, and the register has no row for it.
    NoRow {
        /// The tag under which a row was looked for.
        tag: [u8; 32],
        /// The shares that were refused.
        refused: Vec<Refused>,
    },
}

impl fmt::Display for CombineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fault.fmt(f),
            Self::TooFew {
                good,
                needed,
                refused,
            } => {
                let is = if *good == 1 { "is" } else { "are" };
                write!(
                    f,
                    "it takes good shares of {needed} trustees, and there {is} {good}"
                )?;
                list(refused, f)
            }
            Self::Refused(refused) => {
                f.write_str("a match needs good shares of all of its set")?;
                list(refused, f)
            }
            Self::NoRow { .. } => f.write_str("the register has no machine with this credential"),
        }
    }
}

fn list(refused: &[Refused], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    refused.iter().try_for_each(|one| write!(f, "; {one}"))
}

impl std::error::Error for CombineError {}

impl From<Fault> for CombineError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Makes an opening of the first t good shares. `find` looks up the row of the credential that they
/// lead to, by its tag; A of the packet's epoch is given too.
pub fn combine_opening(
    group: &GroupFile,
    request: &Request,
    shares: &[Share],
    packet: &Packet<'_>,
    find: impl FnOnce(&[u8; 32], &G1) -> Option<Row>,
) -> Result<Combined<Opening>, CombineError> {
    let asked = Asked::new(group, request, packet)?;
    let (mut good, refused) = good_shares(&asked, request, shares);
    let needed = asked.sharing().quorum.threshold();
    if good.len() < usize::from(needed) {
        return Err(CombineError::TooFew {
            good: good.len() as u8,
            needed,
            refused,
        });
    }
    good.truncate(needed.into());
    good.sort_by_key(|(trustee, _)| *trustee);
    let a = super::open(&asked, &good)?;
    let tag = asked.tag(&a);
    let Some(row) = find(&tag, &a) else {
        return Err(CombineError::NoRow { tag, refused });
    };
    let evidence = Opening {
        request: request.clone(),
        shares: good,
        row,
    };
    let judgement = judge_opening(group, &evidence, packet)?;
    Ok(Combined {
        evidence,
        judgement,
        refused,
    })
}

/// One trustee's decryptions.
type Given = (Trustee, Vec<Decryption>);

/// The first good share of each trustee, and all others.
fn good_shares(asked: &Asked, request: &Request, shares: &[Share]) -> (Vec<Given>, Vec<Refused>) {
    let (mut good, mut refused): (Vec<Given>, _) = (Vec::new(), Vec::new());
    for share in shares {
        let trustee = share.trustee;
        let repeated = good.iter().any(|(other, _)| *other == trustee);
        match decryptions(asked, request, share) {
            _ if repeated => refused.push(Refused {
                trustee,
                why: Why::Repeated,
            }),
            Ok(decryptions) => good.push((trustee, decryptions.clone())),
            Err(why) => refused.push(Refused { trustee, why }),
        }
    }
    (good, refused)
}

fn decryptions<'s>(
    asked: &Asked,
    request: &Request,
    share: &'s Share,
) -> Result<&'s Vec<Decryption>, Why> {
    if share.request != *request {
        return Err(Why::OtherRequest);
    }
    let Step::Opening(decryptions) = &share.step else {
        return Err(Why::OtherStep);
    };
    if asked.sharing().quorum.check(share.trustee).is_err() {
        return Err(Why::NoTrustee);
    }
    let parts = asked.parts();
    let mut pairs = parts.iter().zip(decryptions);
    let hold = pairs.all(|(part, given)| part.verify(share.trustee, given).is_ok());
    if hold && parts.len() == decryptions.len() {
        Ok(decryptions)
    } else {
        Err(Why::Decryption)
    }
}

/// Step 1 of a match: the set, and the commitments of all of it in the order of indices, or who is in
/// the way.
pub fn gather_commitments(
    request: &Request,
    shares: &[Share],
) -> Result<(Set, Vec<BlindCommitment>), CombineError> {
    gather(request, shares, |step| match step {
        Step::Commitment { commitment, .. } => Some(*commitment),
        _ => None,
    })
}

/// Step 2, likewise: the blinds. That they are those committed to, each trustee checks before its
/// third step.
pub fn gather_blinds(
    request: &Request,
    shares: &[Share],
) -> Result<(Set, Vec<Blind>), CombineError> {
    gather(request, shares, |step| match step {
        Step::Blind { blind, .. } => Some(*blind),
        _ => None,
    })
}

/// Makes a match of the shares of the third step of all of a set. `credential` is the machine's A in
/// the packet's epoch.
pub fn combine_match(
    group: &GroupFile,
    request: &Request,
    shares: &[Share],
    packet: &Packet<'_>,
    credential: &G1,
    row: Row,
) -> Result<Combined<Match>, CombineError> {
    let asked = Asked::new(group, request, packet)?;
    let (set, given) = gather(request, shares, |step| match step {
        Step::Match {
            blinds, decryption, ..
        } => Some((blinds.clone(), *decryption)),
        _ => None,
    })?;
    let (lists, decryptions): (Vec<_>, Vec<_>) = given.into_iter().unzip();
    let blinds = same_blinds(set, &lists)?;
    asked.check_candidate(group, request, &row, credential)?;
    check_transcript(&asked, set, credential, &blinds, &decryptions)?;
    let evidence = Match {
        request: request.clone(),
        set,
        credential: credential.to_bytes(),
        blinds,
        decryptions,
        row,
    };
    let judgement = judge_match(group, &evidence, packet)?;
    Ok(Combined {
        evidence,
        judgement,
        refused: Vec::new(),
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
                true => Why::OtherStep,
                false => Why::OtherRequest,
            },
        });
        CombineError::Refused(refused.collect())
    })
}

/// What each of the set gave in one step, in the order of indices, or who is in the way. A share too
/// many does no harm, unless its trustee gave two that differ.
fn gather<T: PartialEq>(
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
            _ if share.request != *request => Why::OtherRequest,
            (None, _) => Why::OtherStep,
            _ if share.set() != Some(set) || !set.contains(trustee) => Why::OtherSet,
            (Some(value), Some((_, same))) if value == *same => continue,
            (Some(_), Some(_)) => {
                in_the_way = true;
                Why::Repeated
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
        why: Why::Missing,
    }));
    Err(CombineError::Refused(refused))
}

/// The list of blinds that all of the set have; else those who have another than most.
fn same_blinds(set: Set, lists: &[Vec<Blind>]) -> Result<Vec<Blind>, CombineError> {
    let votes = |list: &Vec<Blind>| lists.iter().filter(|other| *other == list).count();
    let most = lists.iter().max_by_key(|list| votes(list));
    let others = set
        .iter()
        .zip(lists)
        .filter(|(_, list)| Some(*list) != most);
    let refused: Vec<Refused> = others
        .map(|(trustee, _)| Refused {
            trustee,
            why: Why::OtherBlinds,
        })
        .collect();
    match most {
        Some(list) if refused.is_empty() => Ok(list.clone()),
        _ => Err(CombineError::Refused(refused)),
    }
}

/// Rules `blind` and `share`, naming everybody whose decryption does not hold.
fn check_transcript(
    asked: &Asked,
    set: Set,
    credential: &G1,
    blinds: &[Blind],
    decryptions: &[Decryption],
) -> Result<(), CombineError> {
    let bad_blind = |error: QuorumError| match error.culprit() {
        Some(trustee) => CombineError::Refused(vec![Refused {
            trustee,
            why: Why::Blind,
        }]),
        None => Fault::from(JudgeRule::Blind).into(),
    };
    let question = asked.question(set, credential).map_err(bad_blind)?;
    let product = question.product(blinds).map_err(bad_blind)?;
    let part = product.part();
    let pairs = set.iter().zip(decryptions);
    let bad = pairs.filter(|(trustee, given)| part.verify(*trustee, given).is_err());
    let refused: Vec<Refused> = bad
        .map(|(trustee, _)| Refused {
            trustee,
            why: Why::Decryption,
        })
        .collect();
    if refused.is_empty() {
        Ok(())
    } else {
        Err(CombineError::Refused(refused))
    }
}
