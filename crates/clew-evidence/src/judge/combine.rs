//! From the shares of several trustees to an opening or a match. Whoever gave something else than
//! was asked for is named.

use super::gather::gather;
use super::{Asked, Fault, JudgeRule, Judgement, Refused, ShareFault, judge_match, judge_opening};
use crate::evidence::{Match, Opening};
use crate::group_file::CheckedGroup;
use crate::request::{Packet, Request};
use crate::search::{FoundRow, OpenedBase};
use crate::share::{Share, Step};
use alloc::vec;
use alloc::vec::Vec;
use clew_group::curve::G1;
use clew_group::quorum::{Blind, Decryption, QuorumError, Set, Trustee};
use core::fmt;

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
    /// The shares open the signature, and no row was found for it.
    NoRow {
        /// Hash of the base that a row was looked for ([`crate::base_hash`]).
        hash: [u8; 32],
        /// The shares that were refused.
        refused: Vec<Refused>,
    },
}

/// What a missing row can only mean, and how to find out which.
const NO_ROW: &str = "the shares open this signature, but no row of the register fits. Either the \
    manager hides a row, or the group file or the register is too old or of another history of the \
    group. Check in this order: fetch the newest group file and register; compare the short id of \
    the epoch with what machines and trustees show; count that the register has as many rows as \
    the group file says, each with its proof; search them all without hashes. If then no row fits, \
    the manager hides one";

impl fmt::Display for CombineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fault.fmt(f),
            Self::TooFew {
                good,
                needed,
                refused,
            } => {
                let s = if *needed == 1 { "" } else { "s" };
                write!(f, "need {needed} valid share{s}, have {good}")?;
                list(refused, f)
            }
            Self::Refused(refused) => {
                f.write_str("a match requires valid shares of all its trustees")?;
                list(refused, f)
            }
            Self::NoRow { .. } => f.write_str(NO_ROW),
        }
    }
}

fn list(refused: &[Refused], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (i, one) in refused.iter().enumerate() {
        let before = if i == 0 { " (" } else { "; " };
        write!(f, "{before}{one}")?;
    }
    f.write_str(if refused.is_empty() { "" } else { ")" })
}

impl core::error::Error for CombineError {}

impl From<Fault> for CombineError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Makes an opening of the first t good shares.
///
/// `find` looks for the row of the base that they lead to, and gives it with the x of its machine.
///
/// # Errors
/// [`CombineError::TooFew`] without t good shares, [`CombineError::NoRow`] if `find` has nothing, and
/// the rule that is broken otherwise.
pub fn combine_opening(
    group: &CheckedGroup,
    request: &Request,
    shares: &[Share],
    packet: &Packet<'_>,
    find: impl FnOnce(OpenedBase) -> Option<FoundRow>,
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
    let search = asked.search(&super::open(&asked, &good)?);
    let hash = *search.hash();
    let opened = OpenedBase::new(request.clone(), search);
    let Some(FoundRow { row, x }) = find(opened) else {
        return Err(CombineError::NoRow { hash, refused });
    };
    let evidence = Opening {
        request: request.clone(),
        shares: good,
        x,
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
                why: ShareFault::Repeated,
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
) -> Result<&'s Vec<Decryption>, ShareFault> {
    if share.request != *request {
        return Err(ShareFault::OtherRequest);
    }
    let Step::Opening(decryptions) = &share.step else {
        return Err(ShareFault::OtherStep);
    };
    if asked.sharing().quorum.check(share.trustee).is_err() {
        return Err(ShareFault::NoTrustee);
    }
    let parts = asked.parts();
    let mut pairs = parts.iter().zip(decryptions);
    let hold = pairs.all(|(part, given)| part.verify(share.trustee, given).is_ok());
    if hold && parts.len() == decryptions.len() {
        Ok(decryptions)
    } else {
        Err(ShareFault::Decryption)
    }
}

/// Makes a match of the shares of the third step of all of a set. `base` is the B_X that the machine
/// signs with in the packet's epoch.
///
/// # Errors
/// [`CombineError::Refused`] if some of the set are in the way, and the rule that is broken otherwise.
pub fn combine_match(
    group: &CheckedGroup,
    request: &Request,
    shares: &[Share],
    packet: &Packet<'_>,
    base: &G1,
    found: FoundRow,
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
    asked.check_candidate(group, request, &found, base)?;
    let FoundRow { row, x: Some(x) } = found else {
        return Err(Fault::from(JudgeRule::Layout).into());
    };
    check_transcript(&asked, set, base, &blinds, &decryptions)?;
    let evidence = Match {
        request: request.clone(),
        set,
        base: base.to_bytes(),
        x,
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
            why: ShareFault::OtherBlinds,
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
    base: &G1,
    blinds: &[Blind],
    decryptions: &[Decryption],
) -> Result<(), CombineError> {
    let bad_blind = |error: QuorumError| match error.culprit() {
        Some(trustee) => CombineError::Refused(vec![Refused {
            trustee,
            why: ShareFault::Blind,
        }]),
        None => Fault::from(JudgeRule::Blind).into(),
    };
    let question = asked.question(set, base).map_err(bad_blind)?;
    let product = question.product(blinds).map_err(bad_blind)?;
    let part = product.part();
    let pairs = set.iter().zip(decryptions);
    let bad = pairs.filter(|(trustee, given)| part.verify(*trustee, given).is_err());
    let refused: Vec<Refused> = bad
        .map(|(trustee, _)| Refused {
            trustee,
            why: ShareFault::Decryption,
        })
        .collect();
    if refused.is_empty() {
        Ok(())
    } else {
        Err(CombineError::Refused(refused))
    }
}
