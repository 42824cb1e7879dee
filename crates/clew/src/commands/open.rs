//! `clew open` and `clew match`: from the shares of several trustees to evidence that anybody judges.

use super::coverage::Matter;
use super::evidence::Evidence;
use super::judge::EvidenceFile;
use super::register::{Candidate, Register};
use super::share::{check_new, read_shares, request, write};
use super::verdict::tell;
use crate::cli::{Match as MatchArguments, Open};
use crate::failure::{Failure, Status};
use crate::secrets;
use clew_evidence::{
    CombineError, Combined, FoundRow, JudgeRule, Locator, Match, OpenedBase, Opening, Question,
    Refused, Request, Search, Share, ShareFault, combine_match, combine_opening,
};
use clew_group::curve::G1;
use std::path::Path;

/// `clew open`
pub fn run(arguments: &Open) -> Result<Status, Failure> {
    let output = &arguments.out.output;
    check_new(output)?;
    arguments.write_q.as_deref().map_or(Ok(()), check_new)?;
    let (group, matter) = Matter::read(&arguments.of)?;
    let mut register = Register::open(&arguments.register, group, &arguments.unlock)?;
    let shares = read_shares(&arguments.share)?;
    let q = match (&arguments.q, &arguments.write_q) {
        (Some(path), _) => Q::Given(read_locator(path)?),
        (_, Some(_)) => Q::Asked,
        _ => Q::No,
    };
    let (opened, locator) = open(&register, &matter.evidence, &shares, q)?;
    for refused in &opened.refused {
        mention!("clew: warning: {refused}");
    }
    let evidence = EvidenceFile::Opening(Box::new(opened.evidence));
    put(&mut register, output, &evidence)?;
    if let (Some(path), Some(locator)) = (&arguments.write_q, locator) {
        write(path, &locator.encode())?;
    }
    let warrant = evidence.request().warrant.as_ref();
    let (group, judgement) = (register.group(), &opened.judgement);
    tell(group, &matter, warrant, judgement, arguments.json);
    Ok(Status::Yes)
}

/// Combines shares to an opening, with the row that the register has.
///
/// # Errors
/// Too few shares are good, or no row fits.
pub fn opened(
    register: &Register,
    evidence: &Evidence,
    shares: &[Share],
) -> Result<Combined<Opening>, Failure> {
    open(register, evidence, shares, Q::No).map(|(opened, _)| opened)
}

/// Writes evidence, once its row is kept good.
fn put(register: &mut Register, output: &Path, evidence: &EvidenceFile) -> Result<(), Failure> {
    register.keep(evidence.row())?;
    write(output, &evidence.encode())
}

/// What Q = B^gamma is used for.
enum Q {
    /// Nothing.
    No,
    /// To find the row.
    Given(Locator),
    /// It is asked for.
    Asked,
}

/// Combines shares to an opening; with its locator if that is asked for.
fn open(
    register: &Register,
    evidence: &Evidence,
    shares: &[Share],
    q: Q,
) -> Result<(Combined<Opening>, Option<Locator>), Failure> {
    let group = register.group();
    let request = asked(request(group, Question::Opening, evidence, None)?, shares);
    let (mut trouble, mut locator) = (None, None);
    let find = |opened: OpenedBase| {
        let found = find(register, opened, q, &mut locator);
        found.unwrap_or_else(|failure| {
            trouble = Some(failure);
            None
        })
    };
    let opened = combine_opening(group, &request, shares, &evidence.packet(), find);
    match trouble {
        Some(failure) => Err(failure),
        None => Ok((opened.map_err(|error| failed(error, register))?, locator)),
    }
}

/// The row of the base that the shares lead to.
fn find(
    register: &Register,
    opened: OpenedBase,
    q: Q,
    locator: &mut Option<Locator>,
) -> Result<Option<FoundRow>, Failure> {
    let epoch = opened.request().epoch;
    let search = match q {
        Q::No => opened.search(),
        Q::Asked => {
            let q = register.locator(&opened)?;
            *locator = Some(Locator::new(&opened, &q));
            opened.search()
        }
        Q::Given(given) if given.is_of(&opened) => with_q(opened.search(), &given)?,
        Q::Given(_) => {
            return Err(Failure::new("--q: belongs to another opening"));
        }
    };
    register.find(epoch, search)
}

fn with_q(search: Search, given: &Locator) -> Result<Search, Failure> {
    let q = G1::from_bytes(&given.q).ok();
    let search = q.and_then(|q| search.with_q(&q).ok());
    search.ok_or_else(|| {
        Failure::new("--q: Q is not B^gamma for the base B of this signature")
            .hint("ask the manager to run clew open --register DIR --write-q FILE again")
    })
}

fn read_locator(path: &Path) -> Result<Locator, Failure> {
    Locator::decode(&secrets::read_text(path)?).map_err(|e| Failure::file(path, e))
}

/// `clew match`
pub fn run_match(arguments: &MatchArguments) -> Result<Status, Failure> {
    let output = &arguments.out.output;
    check_new(output)?;
    let (group, matter) = Matter::read(&arguments.of)?;
    let mut register = Register::open(&arguments.register, group, &arguments.unlock)?;
    let shares = read_shares(&arguments.share)?;
    let machine = arguments.machine.as_str();
    let matched = compare(&register, &matter.evidence, machine, &shares)?;
    let evidence = EvidenceFile::Match(Box::new(matched.evidence));
    put(&mut register, output, &evidence)?;
    let warrant = evidence.request().warrant.as_ref();
    let (group, judgement) = (register.group(), &matched.judgement);
    tell(group, &matter, warrant, judgement, arguments.json);
    Ok(Status::of(!judgement.signed, false))
}

/// Combines the shares of the third step to a match.
fn compare(
    register: &Register,
    evidence: &Evidence,
    machine: &str,
    shares: &[Share],
) -> Result<Combined<Match>, Failure> {
    let Candidate { found, base } = register.candidate(machine, evidence.summary.epoch)?;
    let question = Question::Match {
        machine: found.row.entry.leaf_hash(),
    };
    let group = register.group();
    let request = asked(request(group, question, evidence, None)?, shares);
    let matched = combine_match(group, &request, shares, &evidence.packet(), &base, found);
    matched.map_err(|error| failed(error, register))
}

/// The request, with the warrant and the place in the log that most shares were given for.
fn asked(request: Request, shares: &[Share]) -> Request {
    let all = || {
        shares
            .iter()
            .map(|share| (share.request.warrant, share.request.log))
    };
    let votes = |one: &_| all().filter(|other| other == one).count();
    match all().rev().max_by_key(votes) {
        Some((warrant, log)) => Request {
            warrant,
            log,
            ..request
        },
        None => request,
    }
}

fn failed(error: CombineError, register: &Register) -> Failure {
    let failure = Failure::new(&error);
    match error {
        CombineError::TooFew { refused, .. } | CombineError::Refused(refused)
            if refused
                .iter()
                .any(|one| one.why == ShareFault::OtherRequest) =>
        {
            failure
                .hint("ask for new shares: each is valid for one packet, question and warrant only")
        }
        CombineError::TooFew { .. } => failure.hint("ask other trustees for a --share"),
        CombineError::Refused(refused) => failure.hint(match_hint(&refused)),
        CombineError::NoRow { .. } => no_row(register),
        CombineError::Fault(fault) if fault.rule == JudgeRule::Register => failure
            .hint("get both again: register and group file are from different times or histories"),
        CombineError::Fault(_) => failure,
    }
}

/// The register has all rows that count under its group file: what is wrong with a file was said before.
fn no_row(register: &Register) -> Failure {
    let (group, newest) = (register.group(), register.group().newest_epoch());
    let id = group.epoch_id(newest);
    let id = id.map_or_else(String::new, |id| clew_evidence::short_epoch_id(&id));
    let machines = group.register().machines;
    Failure::new(format!(
        "none of the {machines} rows of the register signed this: the manager hides a row, or \
         machines and trustees have another group file"
    ))
    .hint(format!(
        "compare epoch {newest}, {id}, and the register's root (clew group show) with those of \
         trustees and machines. If they are equal, ask for a newer register: if it does not have \
         the row either, the manager hides it"
    ))
}

/// What helps a match along.
pub fn match_hint(refused: &[Refused]) -> &'static str {
    let all = |why| refused.iter().all(|one| one.why == why);
    if all(ShareFault::Missing) {
        "use --share for the share of each trustee that takes part"
    } else if all(ShareFault::OtherRequest) {
        "use the --match, --packet and --warrant of the previous step"
    } else if refused.iter().any(|one| one.why == ShareFault::OtherStep) {
        "use the outputs of the previous step, for clew match those of the third: clew help share"
    } else {
        "start again with --with, without the named trustees"
    }
}
