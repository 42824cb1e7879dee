//! `clew open` and `clew match`: from the shares of several trustees to evidence that anybody judges.

use super::evidence::Evidence;
use super::judge;
use super::register::Register;
use super::share::{read_shares, request, write};
use crate::cli::{Match as MatchArguments, Open};
use crate::failure::{Failure, Status};
use crate::keyring::read_group_file;
use clew_evidence::{
    CombineError, Combined, GroupFile, Question, Refused, Share, combine_match, combine_opening,
};

/// `clew open`
pub fn run(arguments: &Open) -> Result<Status, Failure> {
    let of = &arguments.of;
    let group = read_group_file(&of.group)?;
    let evidence = Evidence::verified(&of.input, of.packet, &group)?;
    let register = Register::open(&arguments.register, &group)?;
    let shares = read_shares(&arguments.share)?;
    let opened = open(&group, &evidence, &register, &shares)?;
    warn(&opened.refused);
    write(&arguments.output, &opened.evidence.encode())?;
    judge::tell(&group, &evidence, &opened.judgement, arguments.json);
    Ok(Status::Yes)
}

/// Combines shares to an opening.
pub fn open(
    group: &GroupFile,
    evidence: &Evidence,
    register: &Register,
    shares: &[Share],
) -> Result<Combined<clew_evidence::Opening>, Failure> {
    let warrant = shares.first().and_then(|share| share.request.warrant);
    let request = request(group, Question::Opening, evidence, warrant)?;
    let mut trouble = None;
    let find = |tag: &[u8; 32], _: &_| {
        register.by_tag(tag).unwrap_or_else(|failure| {
            trouble = Some(failure);
            None
        })
    };
    let opened = combine_opening(group, &request, shares, &evidence.packet(), find);
    match trouble {
        Some(failure) => Err(failure),
        None => opened.map_err(failed),
    }
}

/// `clew match`
pub fn run_match(arguments: &MatchArguments) -> Result<Status, Failure> {
    let of = &arguments.of;
    let group = read_group_file(&of.group)?;
    let evidence = Evidence::verified(&of.input, of.packet, &group)?;
    let register = Register::open(&arguments.register, &group)?;
    let shares = read_shares(&arguments.share)?;
    let matched = compare(
        &group,
        &evidence,
        &register,
        arguments.machine.as_str(),
        &shares,
    )?;
    write(&arguments.output, &matched.evidence.encode())?;
    judge::tell(&group, &evidence, &matched.judgement, arguments.json);
    Ok(if matched.judgement.signed {
        Status::Yes
    } else {
        Status::No
    })
}

/// Combines the shares of the third step to a match.
pub fn compare(
    group: &GroupFile,
    evidence: &Evidence,
    register: &Register,
    machine: &str,
    shares: &[Share],
) -> Result<Combined<clew_evidence::Match>, Failure> {
    let (row, credential) = register.by_name(machine, evidence.summary.epoch)?;
    let first = shares.first();
    let question = Question::Match {
        machine: row.entry.leaf_hash(),
    };
    let warrant = first.and_then(|share| share.request.warrant);
    let request = request(group, question, evidence, warrant)?;
    let packet = evidence.packet();
    combine_match(group, &request, shares, &packet, &credential, row).map_err(failed)
}

fn warn(refused: &[Refused]) {
    for one in refused {
        eprintln!("clew: warning: {one}");
    }
}

fn failed(error: CombineError) -> Failure {
    let failure = Failure::new(&error);
    match error {
        CombineError::TooFew { .. } => failure.hint("ask other trustees"),
        CombineError::NoRow { .. } => failure.hint(
            "take a register that has all machines, as it was when the packet was signed or later",
        ),
        _ => failure,
    }
}
