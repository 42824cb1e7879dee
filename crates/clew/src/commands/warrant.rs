//! `clew warrant`: drafting a warrant, signing it, and saying what it allows.

use super::coverage::{Coverage, check_rereadable};
use super::evidence::Evidence;
use super::register::{Register, row_with_leaf};
use super::share::{check_new, put, write};
use crate::cli::{Warrant as Command, WarrantCreate, WarrantRequest, WarrantShow, WarrantSign};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::groups::read_group_file;
use crate::random;
use crate::secrets;
use clew_evidence::{
    DeviceFingerprint, GroupFile, Question, Request, Requester, Scope, WallTime, Warrant,
    WarrantDraft, WarrantError,
};
use clew_keys::{Author, AuthorKeyFile, TextFile};
use clew_log::entry::{Asks, Body, Entry, Filed, Seal, Warrant as LoggedWarrant};
use clew_wire::Hex;
use rand_core::Rng;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

/// `clew warrant`
pub fn run(arguments: &Command) -> Result<Status, Failure> {
    match arguments {
        Command::Create(arguments) => create(arguments),
        Command::Sign(arguments) => sign(arguments),
        Command::Request(arguments) => request(arguments),
        Command::Show(arguments) => show(arguments),
    }
}

fn create(arguments: &WarrantCreate) -> Result<Status, Failure> {
    let output = &arguments.out.output;
    check_new(output)?;
    check_rereadable(&arguments.capture)?;
    let group = read_group_file(&arguments.group)?;
    let requester: Author = secrets::read(&arguments.requester)?;
    let verified = |packet: &u64| Evidence::verified(&arguments.capture, *packet, &group);
    let evidence = arguments.packet.iter().map(verified);
    let evidence = evidence.collect::<Result<Vec<_>, _>>()?;
    let question = question(arguments, &group, &evidence)?;
    let digests = evidence.iter().map(|one| one.packet().digest());
    let mut nonce = [0; 16];
    random::os().fill_bytes(&mut nonce);
    let issued = clock::wall_time();
    let draft = WarrantDraft {
        group: group.id(),
        issued,
        expires: issued + u32::from(arguments.days) * DAY,
        nonce,
        reference: arguments.reference.clone(),
        requester: Requester {
            key: requester.signs.to_bytes(),
            encryption: requester.receives,
            name: requester.name,
        },
        scope: Scope::new(question, digests.collect()).map_err(Failure::new)?,
    };
    write(output, &draft.encode())?;
    say!("draft of a warrant: {}", output.display());
    tell(&draft);
    tell_packets(&arguments.capture, &draft)?;
    say!("  Next, the court: clew warrant sign");
    Ok(Status::Yes)
}

/// What trustees are to answer.
fn question(
    arguments: &WarrantCreate,
    group: &GroupFile,
    evidence: &[Evidence],
) -> Result<Question, Failure> {
    let (Some(machine), Some(register)) = (&arguments.matched, &arguments.register) else {
        return Ok(Question::Opening);
    };
    let register = Register::open(register, group.clone(), &arguments.unlock)?;
    let mut leaves = Vec::new();
    for one in evidence {
        let with = register.candidate(machine.as_str(), one.summary.epoch)?;
        leaves.push(with.found.row.entry.leaf_hash());
    }
    leaves.dedup();
    match leaves[..] {
        [machine] => Ok(Question::Match { machine }),
        _ => Err(
            Failure::new(format!("{machine}: another row in another packet's epoch"))
                .hint("make one warrant for each row"),
        ),
    }
}

fn sign(arguments: &WarrantSign) -> Result<Status, Failure> {
    let output = &arguments.out.output;
    check_new(output)?;
    let path = &arguments.draft;
    let draft = WarrantDraft::decode(&secrets::read_text(path)?);
    let draft = draft.map_err(|error| unread(path, &error))?;
    let key = arguments
        .unlock
        .load(&arguments.key, AuthorKeyFile::decode)?;
    if draft.expires <= clock::wall_time() {
        return Err(Failure::file(path, "the draft has expired").hint("ask for a new draft"));
    }
    let warrant = draft.sign(key.name().clone(), &key.signing_key());
    let warrant = warrant.map_err(|error| Failure::file(path, error))?;
    write(output, &warrant.encode())?;
    say!("warrant: {}", output.display());
    tell(warrant.draft());
    tell_issuer(&warrant);
    Ok(Status::Yes)
}

fn request(arguments: &WarrantRequest) -> Result<Status, Failure> {
    let (of, output, path) = (&arguments.of, &arguments.out.output, &arguments.warrant);
    check_new(output)?;
    check_rereadable(&of.input)?;
    let group = read_group_file(&of.group)?;
    let text = secrets::read_text(path)?;
    let warrant = Warrant::decode(&text).map_err(|error| unread(path, &error))?;
    let evidence = Evidence::verified(&of.input, of.packet, &group)?;
    let scope = &warrant.draft().scope;
    let hash = Sha256::digest(&*text).into();
    let asked = Request::new(&group, scope.question, &evidence.packet(), Some(hash));
    let asked = asked.ok_or_else(|| Failure::new("bbs04 groups do not support matches"))?;
    let now = clock::wall_time();
    let key = arguments
        .unlock
        .load(&arguments.key, AuthorKeyFile::decode)?;
    check_allowed(path, &warrant, &asked, &key, now)?;
    let mut salt = [0; 32];
    random::os().fill_bytes(&mut salt);
    let seal = arguments.seal.map(|days| now + u32::from(days) * DAY);
    let file = text.as_bytes().to_vec();
    let body = filing(&asked, &warrant, LoggedWarrant { salt, file }, seal);
    let entry = Entry::sign(group.id().0, now, body, &key.signing_key());
    let entry = entry.ok_or_else(|| Failure::file(path, "too long for a log's entry"))?;
    put(output, &entry.encode())?;
    say!("entry for the group's log: {}", output.display());
    if arguments.seal.is_some() {
        say!("  salt       {}  (for trustees: --salt)", Hex(&salt));
    }
    say!("  Next: add it to the log, and give its proof to the trustees");
    Ok(Status::Yes)
}

/// What the log says of a request under a warrant, public or sealed until a time.
pub fn filing(
    asked: &Request,
    warrant: &Warrant,
    shown: LoggedWarrant,
    seal: Option<WallTime>,
) -> Body {
    let scope = &warrant.draft().scope;
    Body::Request(Filed {
        asks: match scope.question {
            Question::Opening => Asks::Opening,
            Question::Match { .. } => Asks::Match,
        },
        request: asked.logged_id(),
        signatures: scope.digests.len() as u32,
        warrant: shown.hash(),
        seal: match seal {
            None => Seal::Open(shown),
            Some(until) => Seal::Until(until),
        },
    })
}

/// Checks that a warrant allows a request now, and that this key may file it.
///
/// # Errors
/// The warrant's rule that is broken (a no); another key.
pub fn check_allowed(
    path: &Path,
    warrant: &Warrant,
    asked: &Request,
    key: &AuthorKeyFile,
    now: WallTime,
) -> Result<(), Failure> {
    let allowed = warrant.check_request(asked);
    let allowed = allowed.and_then(|()| warrant.check_time(now));
    allowed.map_err(|rule| Failure::file(path, rule))?;
    if key.public().signs.as_bytes() != &warrant.draft().requester.key {
        return Err(Failure::file(path, "the warrant names another requester")
            .hint("use --key with the key that the warrant names"));
    }
    Ok(())
}

fn show(arguments: &WarrantShow) -> Result<Status, Failure> {
    let at = WallTime::from_nanos(clock::parse_time(&arguments.at)?);
    let path = &arguments.file;
    let text = secrets::read_text(path)?;
    let warrant = match WarrantDraft::decode(&text) {
        Ok(draft) => {
            say!("draft of a warrant: nobody signed it");
            tell(&draft);
            tell_machine(arguments, &draft)?;
            tell_capture(arguments, &draft)?;
            return Ok(Status::No);
        }
        Err(_) => Warrant::decode(&text).map_err(|error| unread(path, &error))?,
    };
    say!("warrant");
    tell(warrant.draft());
    tell_issuer(&warrant);
    tell_machine(arguments, warrant.draft())?;
    tell_capture(arguments, warrant.draft())?;
    let when = clock::to_the_second(at.as_nanos());
    match warrant.check_time(at) {
        Ok(()) => say!("  in force   yes, at {when}"),
        Err(rule) => {
            say!("  in force   no, at {when}: {rule}");
            return Ok(Status::No);
        }
    }
    Ok(Status::Yes)
}

/// What it allows, in words.
fn tell(draft: &WarrantDraft) {
    let WarrantDraft {
        issued,
        expires,
        requester,
        scope,
        ..
    } = draft;
    let at = |time: &WallTime| clock::to_the_second(time.as_nanos());
    say!("  reference  {}", draft.reference);
    say!("  group      {}", draft.group);
    let count = match scope.digests.len() {
        1 => "1 signature".to_owned(),
        n => format!("{n} signatures"),
    };
    match scope.question {
        Question::Opening => say!("  allows     to name the machine behind {count}"),
        Question::Match { machine } => {
            say!("  allows     to say whether one machine made {count}");
            say!("  machine    register row with leaf hash {}", Hex(&machine));
            say!("             (clew warrant show --group --register names it)");
        }
    }
    say!("             (a signature covers all packets of its block or window)");
    for digest in &scope.digests {
        say!("  signature  {}", Hex(digest));
    }
    say!("  asked by   {}", requester.name);
    say!("  with key   {}", DeviceFingerprint::of(&requester.key));
    say!("  from       {} until {}", at(issued), at(expires));
}

/// Whose row a match asks about: the leaf hash in the warrant binds the name.
fn tell_machine(arguments: &WarrantShow, draft: &WarrantDraft) -> Result<(), Failure> {
    let (Some(group), Some(register)) = (&arguments.group, &arguments.register) else {
        return Ok(());
    };
    let group = read_group_file(group)?;
    if group.id() != draft.group {
        return Err(Failure::file(
            &arguments.file,
            "the warrant names another group",
        ));
    }
    match draft.scope.question {
        Question::Opening => say!("  machine    any: this warrant asks for openings"),
        Question::Match { machine } => {
            let row = row_with_leaf(register, &group, &machine)?;
            say!(
                "  machine    {}, row {} of the register",
                row.entry.name,
                row.entry.index
            );
        }
    }
    Ok(())
}

fn tell_issuer(warrant: &Warrant) {
    say!("  issued by  {}", warrant.issuer_name());
    say!("  with key   {}", DeviceFingerprint::of(warrant.issuer()));
}

fn tell_capture(arguments: &WarrantShow, draft: &WarrantDraft) -> Result<(), Failure> {
    match &arguments.capture {
        Some(capture) => {
            check_rereadable(capture)?;
            tell_packets(capture, draft)
        }
        None => Ok(()),
    }
}

/// Which packets of a capture it covers.
fn tell_packets(capture: &Path, draft: &WarrantDraft) -> Result<(), Failure> {
    let digests = &draft.scope.digests;
    let found = Evidence::with_digests(capture, digests)?;
    for covered in Coverage::of_all(capture, &found)? {
        say!("  covers     {}", covered.scope());
    }
    let missing = digests.len() - found.len();
    if missing > 0 {
        say!("  covers     {missing} signatures that this capture does not have");
    }
    Ok(())
}

/// A text that is no warrant is no answer; a rule that is broken is a no.
pub fn unread(path: &Path, error: &WarrantError) -> Failure {
    match error {
        WarrantError::Text(_) => Failure::file(path, error)
            .hint("use a file of clew warrant create or clew warrant sign"),
        WarrantError::Rule(_) => Failure::file(path, error).no(),
    }
}
