//! `clew share`: one trustee's answer to one request.

use super::coverage::{Coverage, Matter, check_rereadable};
use super::evidence::Evidence;
use super::open::match_hint;
use super::register::{Candidate, Register};
use super::shown::Files;
use crate::cli::Share as Arguments;
use crate::clock;
use crate::failure::{Failure, Status};
use crate::groups::check;
use crate::random;
use crate::secrets;
use clew_evidence::{CheckedGroup, CombineError, GroupFile, Question, Request, Share, Step};
use clew_group::quorum::{Set, Trustee};
use clew_keys::files::{IfExists, MODE_PUBLIC, write_atomically};
use clew_keys::{AuthorKeyFile, TextFile, TrusteeKeyFile};
use clew_log::entry::Entry;
use clew_trustee::approval::Unapproved;
use clew_trustee::rules::Case;
use clew_trustee::{Responder, TrusteeError};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longest warrant.
const WARRANT_BYTES_MAX: u64 = 1 << 30;

pub fn run(arguments: &Arguments) -> Result<Status, Failure> {
    let of = &arguments.of;
    check_new(&arguments.out.output)?; // before a step of a match uses up its state
    check_rereadable(&of.input)?;
    let (unlock, path) = (&arguments.unlock, &arguments.trustee);
    let key = unlock.load(path, TrusteeKeyFile::decode)?;
    let (group, Matter { evidence, coverage }) = Matter::read(of)?;
    let responder = Responder::new(&key, path).map_err(|error| Failure::io(path, &error))?;
    let files = Files::read(arguments)?;
    let given = match &arguments.matched {
        None => opening(
            arguments,
            &check(&of.group, group)?,
            &evidence,
            &responder,
            &files,
        )?,
        Some(machine) => {
            let machine = machine.as_str();
            matching(arguments, machine, group, &evidence, &responder, &files)?
        }
    };
    match given {
        Given::Share(share) => {
            write(&arguments.out.output, &share.encode())?;
            tell(arguments, &share, &coverage, &responder);
        }
        Given::Decision(entry) => {
            put(&arguments.out.output, &entry.encode())?;
            say!("decision for the log: {}", arguments.out.output.display());
            say!("  Next, when the log has it: the same command, with --decision for its proof.");
        }
    }
    Ok(Status::Yes)
}

/// What a trustee gives: a share, or first its decision for the log.
enum Given {
    Share(Box<Share>),
    Decision(Box<Entry>),
}

/// The decision, if that is what is asked for.
fn decision(
    arguments: &Arguments,
    case: Case<'_>,
    responder: &Responder<'_>,
) -> Result<Option<Given>, Failure> {
    let Some(path) = &arguments.decide else {
        return Ok(None);
    };
    let author = arguments.unlock.load(path, AuthorKeyFile::decode)?;
    let entry = responder.decide(case, &author.signing_key(), clock::now_ns());
    let entry = entry.map_err(refused)?;
    Ok(Some(Given::Decision(Box::new(entry))))
}

fn opening(
    arguments: &Arguments,
    group: &CheckedGroup,
    evidence: &Evidence,
    responder: &Responder<'_>,
    files: &Files,
) -> Result<Given, Failure> {
    let request = request(group, Question::Opening, evidence, files.warrant_hash())?;
    let request = files.place(request);
    let packet = evidence.packet();
    let case = Case {
        group,
        request: &request,
        packet: &packet,
        shown: files.shown(),
    };
    if let Some(decision) = decision(arguments, case, responder)? {
        return Ok(decision);
    }
    let share = responder.open(case, clock::now_ns(), &mut random::os());
    share.map(Box::new).map(Given::Share).map_err(refused)
}

/// Which of the three steps it is follows from what the others gave.
fn matching(
    arguments: &Arguments,
    machine: &str,
    group: GroupFile,
    evidence: &Evidence,
    responder: &Responder<'_>,
    files: &Files,
) -> Result<Given, Failure> {
    let register = arguments.register.as_deref();
    let register = register.ok_or_else(|| Failure::new("--match requires --register"))?;
    let register = Register::open(register, group, &arguments.unlock)?;
    let with = register.candidate(machine, evidence.summary.epoch)?;
    let question = Question::Match {
        machine: with.found.row.entry.leaf_hash(),
    };
    let request = request(register.group(), question, evidence, files.warrant_hash())?;
    let request = files.place(request);
    let packet = evidence.packet();
    let case = Case {
        group: register.group(),
        request: &request,
        packet: &packet,
        shown: files.shown(),
    };
    if let Some(decision) = decision(arguments, case, responder)? {
        return Ok(decision);
    }
    let share = step(arguments, case, &with, responder)?;
    Ok(Given::Share(Box::new(share)))
}

fn step(
    arguments: &Arguments,
    case: Case<'_>,
    with: &Candidate,
    responder: &Responder<'_>,
) -> Result<Share, Failure> {
    let with = clew_trustee::rules::Candidate {
        found: &with.found,
        base: &with.base,
    };
    let (given, now) = (read_shares(&arguments.share)?, clock::now_ns());
    let share = match given.first().map(|share| &share.step) {
        None => {
            let set = set(&arguments.with)?;
            responder.commit(case, with, set, now, &mut random::os())
        }
        Some(Step::Commitment { .. }) => responder.reveal(case, with, &given, now),
        Some(Step::Blind { .. }) => responder.compare(case, with, &given, now, &mut random::os()),
        Some(step) => {
            let what = step.as_str();
            return Err(Failure::new(format!(
                "a {what} is not an output of a step of a match"
            )));
        }
    };
    share.map_err(refused)
}

fn set(with: &[u8]) -> Result<Set, Failure> {
    if with.is_empty() {
        return Err(Failure::new("--match: the first step requires --with")
            .hint("name all trustees that take part, as --with 1,3"));
    }
    let trustees: Result<Vec<_>, _> = with.iter().map(|index| Trustee::new(*index)).collect();
    trustees.and_then(Set::of).map_err(Failure::new)
}

fn tell(arguments: &Arguments, share: &Share, coverage: &Coverage, responder: &Responder<'_>) {
    let (who, what) = (share.trustee, share.step.as_str());
    say!(
        "{who}: {what} for packet {}: {}",
        arguments.of.packet,
        arguments.out.output.display()
    );
    match &share.step {
        Step::Opening(_) => {
            say!("  It opens all packets under one signature, which");
            say!("  {}.", coverage.sentence());
            say!(
                "  The request is in the ledger: {}",
                responder.ledger().display()
            );
        }
        Step::Match { .. } => {
            say!("  Next: clew match, with the shares of all trustees that take part.")
        }
        Step::Commitment { .. } => {
            say!(
                "  Next, when all trustees have done this: the same command, with --share for each \
                 output."
            );
        }
        Step::Blind { .. } => {
            say!(
                "  Last, when all trustees have done this: the same command, with --share for each \
                 output."
            );
        }
    }
}

fn refused(error: TrusteeError) -> Failure {
    let failure = Failure::new(&error);
    match error {
        TrusteeError::Combine(CombineError::Refused(refused)) => failure.hint(match_hint(&refused)),
        TrusteeError::Quorum(error) if error.culprit().is_some() => {
            failure.hint("start again with --with, without this trustee")
        }
        TrusteeError::Unapproved(rule) => match approval_hint(&rule) {
            Some(hint) => failure.hint(hint),
            None => failure,
        },
        TrusteeError::NotUnderWay => failure.hint("start again with --with"),
        TrusteeError::OtherSharing { .. } => {
            failure.hint("use --trustee with the key of that epoch")
        }
        TrusteeError::Io { path, error } => Failure::io(&path, &error),
        _ => failure,
    }
}

/// What helps against a rule about warrants and logs.
fn approval_hint(rule: &Unapproved) -> Option<&'static str> {
    Some(match rule {
        Unapproved::GroupOlder => "use the newest group file",
        Unapproved::GroupFork => "compare epoch ids: clew group list GROUPFILE",
        Unapproved::NoPolicy => "use --policy, --warrant and --proof: clew help share",
        Unapproved::LogGivenUp => {
            "to accept it: waive = [\"log-given-up\"] in the file of --policy"
        }
        Unapproved::WarrantMissing | Unapproved::WarrantText => "use --warrant",
        Unapproved::LogMissing => "use --proof with the file of clew log prove",
        Unapproved::LogOlder => "get new proofs from the log",
        Unapproved::LogConsistency => {
            "use --consistency with the file of clew log prove --since: without one, the log may show \
             two histories"
        }
        Unapproved::LogDecision => "use --decide first, log the decision, then use --decision",
        _ => return None,
    })
}

/// The request about a packet.
pub fn request(
    group: &CheckedGroup,
    question: Question,
    evidence: &Evidence,
    warrant: Option<[u8; 32]>,
) -> Result<Request, Failure> {
    Request::new(group, question, &evidence.packet(), warrant)
        .ok_or_else(|| Failure::new("bbs04 groups do not support matches"))
}

/// The hash of a warrant's file.
///
/// # Errors
/// It cannot be read, or is longer than [`WARRANT_BYTES_MAX`].
pub fn hash_of(path: &Path) -> Result<[u8; 32], Failure> {
    file_hash(path, Some(WARRANT_BYTES_MAX))
}

/// The SHA-256 of a file of at most so many bytes, or of any length.
///
/// # Errors
/// It cannot be read, or is longer.
pub fn file_hash(path: &Path, most: Option<u64>) -> Result<[u8; 32], Failure> {
    let most = most.unwrap_or(u64::MAX - 1);
    let failed = |e| Failure::io(path, &e);
    let file = File::open(path).map_err(failed)?;
    let too_long = || {
        Err(Failure::file(
            path,
            "longer than 1 GiB, the most of a warrant",
        ))
    };
    if file.metadata().map_err(failed)?.len() > most {
        return too_long();
    }
    let (mut hash, mut piece) = (Sha256::new(), [0; 1 << 14]);
    let mut file = file.take(most + 1);
    loop {
        match file.read(&mut piece).map_err(failed)? {
            0 if file.limit() == 0 => return too_long(), // a device has no length
            0 => return Ok(hash.finalize().into()),
            n => hash.update(&piece[..n]),
        }
    }
}

/// Reads shares.
pub fn read_shares(paths: &[PathBuf]) -> Result<Vec<Share>, Failure> {
    let read = |path: &PathBuf| {
        let share = Share::decode(&secrets::read_text(path)?);
        share.map_err(|e| Failure::file(path, e))
    };
    paths.iter().map(read).collect()
}

/// Writes a share, an opening or a match: public, and never over another file.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    put(path, text.as_bytes())
}

/// Writes a public file, never over another one.
pub fn put(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    secrets::check_named(path)?;
    write_atomically(path, bytes, MODE_PUBLIC, IfExists::Refuse).map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => exists(path),
        _ => Failure::io(path, &e),
    })
}

/// Fails if [`write`] would: the path is that of a stream, or a file is there.
pub fn check_new(path: &Path) -> Result<(), Failure> {
    secrets::check_named(path)?;
    match path.symlink_metadata() {
        Ok(_) => Err(exists(path)),
        Err(_) => Ok(()),
    }
}

fn exists(path: &Path) -> Failure {
    Failure::file(path, "already exists").hint("use another name: evidence is never overwritten")
}
