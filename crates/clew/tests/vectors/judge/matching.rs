//! Vectors of matches.

use clew_group::quorum::{Blind, Blinding, Decryption, Match, Set, Sharing};

use super::bbs04::scalar;
use super::fixed::Fixed;
use super::quorum::{the_sharing, trustee};
use super::xr::g1;
use super::{Check, Stop, holds};
use crate::case::Case;

pub const CHECKS: [(&str, Check); 2] = [("blind", blind), ("match", transcript)];

fn question<'a>(case: &Case, sharing: &'a Sharing) -> Result<Match<'a>, Stop> {
    let set = Set::from_bytes(case.bytes("set")?)?;
    let (t1, t2) = (g1(case, "t1")?, g1(case, "t2")?);
    let base = g1(case, "b")?;
    let request = case.array("request")?;
    Ok(Match::new(&request, set, sharing, [&t1, &t2], &base)?)
}

fn blind(case: &Case) -> Result<(), Stop> {
    let sharing = the_sharing(case)?;
    let question = question(case, &sharing)?;
    case.check("session", question.session())?;
    let mut rng = Fixed::new([scalar(case, "rho")?, scalar(case, "k")?]);
    let (blinding, commitment) = question.begin(trustee(case, "index")?, &mut rng)?;
    case.check("blind", Blinding::into_bytes(blinding))?;
    case.check("blind-commitment", commitment.0)
}

fn transcript(case: &Case) -> Result<(), Stop> {
    let sharing = the_sharing(case)?;
    let blinds = case.all("blind").into_iter().map(Blind::from_bytes);
    let blinds: Vec<Blind> = blinds.collect::<Result<_, _>>()?;
    let given = case.all("decryption").into_iter().map(Decryption::from_bytes);
    let given: Vec<Decryption> = given.collect::<Result<_, _>>()?;
    let yes = question(case, &sharing)?.judge(&blinds, &given)?;
    let answer = if yes { "yes" } else { "no" };
    holds(case.word("answer")? == answer, answer)
}
