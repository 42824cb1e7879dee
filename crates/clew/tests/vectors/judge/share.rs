//! Vectors of shares: read, and checked as those do who put them together.

use clew_evidence::{Asked, Share, Step};
use clew_group::curve::G1;
use clew_group::quorum::{Blind, BlindCommitment, Blinding, Match, QuorumError, Set, Trustee};

use super::opening::{Found, NO_PACKET, group_file};
use super::{Stop, holds};
use crate::case::Case;

pub fn judge(case: &Case) -> Result<(), Stop> {
    let (text, group) = (case.joined("line")?, group_file(case)?);
    let share = Share::decode(&text)?;
    let found = Found::of(case, &group)?;
    let packet = found.as_ref().map_or(NO_PACKET, Found::packet);
    let asked = Asked::new(&group, &share.request, &packet)?;
    let step = check(case, &asked, &share)?;
    holds(share.encode() == text, "the same text again")?;
    case.check("request", share.request.to_bytes())?;
    case.check("request-id", share.request.id())?;
    case.check("step", [step])?;
    case.check("index", [share.trustee.index()])
}

/// What a set or an index that the group does not have breaks, and what a part that does not hold.
fn rule(rule: &'static str) -> impl Fn(QuorumError) -> Stop {
    move |error| match error.culprit() {
        Some(trustee) => Stop::Blames(rule, trustee.index()),
        None => match error {
            QuorumError::Index { .. } | QuorumError::TooFew { .. } => Stop::Rule("layout"),
            _ => Stop::Rule(rule),
        },
    }
}

fn check(case: &Case, asked: &Asked, share: &Share) -> Result<u8, Stop> {
    let who = share.trustee;
    match &share.step {
        Step::Opening(decryptions) => {
            for (part, given) in asked.parts().iter().zip(decryptions) {
                part.verify(who, given).map_err(rule("share"))?;
            }
            Ok(1)
        }
        Step::Commitment { set, commitment } => {
            let question = question(case, asked, *set)?;
            binds(&question, case, who, *set, commitment)?;
            Ok(2)
        }
        Step::Blind { set, blind } => {
            let question = question(case, asked, *set)?;
            let all = case.all("blind").into_iter().map(Blind::from_bytes);
            let mut all: Vec<Blind> = all.collect::<Result<_, _>>()?;
            let place = set.iter().position(|i| i == who).unwrap_or_default();
            all[place] = *blind;
            question.product(&all).map_err(rule("blind"))?;
            Ok(3)
        }
        Step::Match { set, blinds, decryption } => {
            let question = question(case, asked, *set)?;
            let product = question.product(blinds).map_err(rule("blind"))?;
            product.part().verify(who, decryption).map_err(rule("share"))?;
            Ok(4)
        }
    }
}

/// About the machine that signs with the base of the case.
fn question<'a>(case: &Case, asked: &'a Asked, set: Set) -> Result<Match<'a>, Stop> {
    let base = G1::from_bytes(case.bytes("b")?)?;
    asked.question(set, &base).map_err(rule("blind"))
}

/// The commitment binds the blind of the case.
fn binds(question: &Match<'_>, case: &Case, who: Trustee, set: Set, commitment: &BlindCommitment) -> Result<(), Stop> {
    let blinding = Blinding::from_bytes(who, case.bytes("blind")?)?;
    let all = vec![*commitment; usize::from(set.count())];
    match blinding.reveal(question, &all) {
        Ok(_) => Ok(()),
        Err(_) => Err(Stop::Blames("blind", who.index())),
    }
}
