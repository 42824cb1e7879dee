//! `clew request file`: the request gets into the log, then its case onto the board.

use super::earlier::take_over;
use super::exchange::{Exchange, check_log, log_url, unlogged};
use super::folder::{Folder, New, Settings};
use crate::cli::RequestFile;
use crate::clock;
use crate::commands::bundle::packets;
use crate::commands::coverage::{Matter, Original};
use crate::commands::register::Register;
use crate::commands::warrant::{check_allowed, filing, unread};
use crate::failure::{Failure, Status};
use crate::groups::{check, read_group_file};
use crate::random;
use crate::secrets;
use clew_evidence::{Question, Request, WallTime, Warrant};
use clew_keys::{AuthorKeyFile, TextFile};
use clew_log::entry::{Body, Warrant as LoggedWarrant};
use clew_service::http::ServiceUrl;
use clew_service::log::LogClientError;
use clew_trustee::request::{CaseMachine, Message};
use rand_core::Rng;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

pub async fn run(arguments: &RequestFile) -> Result<Status, Failure> {
    let dir = &arguments.output;
    let key = arguments
        .unlock
        .load(&arguments.key, AuthorKeyFile::decode)?;
    let asked = prepare(arguments, &key)?;
    let mut folder = Folder::open(dir)?;
    if folder.asked.request != asked {
        return Err(Failure::file(dir, "has another request").hint("use a new directory"));
    }
    if folder.change(retold(arguments, &folder.settings)?)? {
        tell_change(dir, &folder.settings);
    }
    let exchange = Exchange::new(&folder.manager()?, &folder.log()?, &folder.group, &key)?;
    let proof = filed(&mut folder, &exchange).await?;
    let (request, _) = folder.placed()?;
    let case = folder.case(request.log.ok_or_else(|| Failure::new("place 0"))?)?;
    let case = Message::Case(Box::new(case));
    exchange.say(folder.topic(), &case).await?;
    say!("request: {}", dir.display());
    say!("  id         {}", clew_wire::Hex(&folder.topic()));
    say!("  log        entry {proof}");
    say!(
        "  Next: clew request status {} --key KEY --wait",
        dir.display()
    );
    Ok(Status::Yes)
}

/// What a directory that is there is told by this run. Options that are not given stay as they were, and so
/// do the salt, the seal and the packet.
fn retold(arguments: &RequestFile, known: &Settings) -> Result<Settings, Failure> {
    let below = |manager: &ServiceUrl| log_url(manager).map(|url| url.to_string());
    let manager = known.manager.parse().ok();
    let was_below = manager.is_some_and(|url| below(&url).is_ok_and(|log| log == known.log));
    let log = match &arguments.log_url {
        Some(log) => log.to_string(),
        None if was_below => below(&arguments.manager)?,
        None => known.log.clone(),
    };
    let mut told = Settings {
        manager: arguments.manager.to_string(),
        log,
        ..known.clone()
    };
    if !arguments.witness.is_empty() {
        told.witnesses = arguments.witness.iter().map(ToString::to_string).collect();
        told.threshold = threshold(arguments)?;
    }
    Ok(told)
}

fn tell_change(dir: &Path, settings: &Settings) {
    let Settings {
        manager,
        log,
        witnesses,
        threshold,
        ..
    } = settings;
    let (dir, count) = (dir.display(), witnesses.len());
    mention!(
        "clew: {dir}: now with manager {manager}, log {log}, {threshold} of {count} witnesses needed"
    );
}

/// The log's place of the request, which it gets now unless it has one.
async fn filed(folder: &mut Folder, exchange: &Exchange<'_>) -> Result<u64, Failure> {
    if let Some(proof) = folder.proof()? {
        return Ok(proof.index);
    }
    let logged = match exchange.log(&body(folder), &folder.policy).await {
        Err(error) if error.rule() == Some("fork") => {
            take_over(folder, exchange).await?;
            exchange.log(&body(folder), &folder.policy).await
        }
        logged => logged,
    };
    let proof = logged.map_err(|error| match &error {
        LogClientError::Proof(error) => {
            Failure::new(format!("the log has the request now, but {error}")).hint(
                "ask the log's operator which witnesses cosign; run the command again with them as \
                 --witness, and with the same -o",
            )
        }
        _ => unlogged(&error),
    })?;
    folder.put_proof(&proof)?;
    Ok(proof.index)
}

/// What the log is to say of the request.
fn body(folder: &Folder) -> Body {
    let shown = LoggedWarrant {
        salt: folder.settings.salt,
        file: folder.text.as_bytes().to_vec(),
    };
    let seal = match folder.settings.sealed_until {
        0 => None,
        until => Some(WallTime::from_nanos(until)),
    };
    filing(&folder.asked.request, &folder.warrant, shown, seal)
}

/// Checks everything, and makes the directory unless it is there. Returns the request.
fn prepare(arguments: &RequestFile, key: &AuthorKeyFile) -> Result<Request, Failure> {
    let (of, path) = (&arguments.of, &arguments.warrant);
    let (group, matter) = Matter::read(of)?;
    let text = secrets::read_text(path)?;
    let warrant = Warrant::decode(&text).map_err(|error| unread(path, &error))?;
    let question = warrant.draft().scope.question;
    let hash = Sha256::digest(&*text).into();
    let packet = matter.evidence.packet();
    let asked = Request::new(&group, question, &packet, Some(hash));
    let asked = asked.ok_or_else(|| Failure::new("bbs04 groups do not support matches"))?;
    if arguments.output.exists() {
        return Ok(asked);
    }
    let now = clock::wall_time();
    check_allowed(path, &warrant, &asked, key, now)?;
    let machine = machine(arguments, question, matter.evidence.summary.epoch)?;
    let frames = packets::covered(&of.input, &matter.coverage)?;
    let frame = frames.iter().position(|frame| *frame == of.packet);
    let copied = packets::copy(&of.input, &frames)?;
    let mut salt = [0; 32];
    random::os().fill_bytes(&mut salt);
    let manager = &arguments.manager;
    let log = arguments.log_url.clone();
    let settings = Settings {
        manager: manager.to_string(),
        log: log.map_or_else(|| log_url(manager), Ok)?.to_string(),
        witnesses: arguments.witness.iter().map(ToString::to_string).collect(),
        threshold: threshold(arguments)?,
        frame: frame.map_or(1, |at| at as u32 + 1),
        original: Some(Original {
            capture: of.input.display().to_string(),
            frames: frames.iter().copied().collect(),
        }),
        sealed_until: arguments
            .seal
            .map_or(0, |days| (now + u32::from(days) * DAY).as_nanos()),
        salt,
    };
    check_log(&check(&of.group, group)?)?;
    let new = New {
        settings: &settings,
        group: &fs::read(&of.group).map_err(|error| Failure::io(&of.group, &error))?,
        warrant: &text,
        packets: &copied,
        machine: machine.as_ref(),
    };
    check_length(&new, &of.input)?;
    new.create(&arguments.output)?;
    Ok(asked)
}

/// The machine of a match, which the warrant names.
fn machine(
    arguments: &RequestFile,
    question: Question,
    epoch: u32,
) -> Result<Option<CaseMachine>, Failure> {
    let path = &arguments.warrant;
    let (leaf, given) = match (question, &arguments.matched) {
        (Question::Opening, None) => return Ok(None),
        (Question::Opening, Some(_)) => {
            return Err(Failure::file(path, "allows openings, and no match"));
        }
        (Question::Match { .. }, None) => {
            return Err(Failure::file(path, "allows a match only")
                .hint("use --match MACHINE --register REGISTER"));
        }
        (Question::Match { machine }, Some(name)) => (machine, name),
    };
    let register = arguments.register.as_deref().unwrap_or(Path::new(""));
    let group = read_group_file(&arguments.of.group)?;
    let register = Register::open(register, group, &arguments.unlock)?;
    let with = register.candidate(given.as_str(), epoch)?;
    if with.found.row.entry.leaf_hash() != leaf {
        return Err(Failure::file(path, "names another machine").no());
    }
    let machine = CaseMachine::new(&with.found, &with.base);
    machine
        .map(Some)
        .ok_or_else(|| Failure::new("bbs04 groups do not support matches"))
}

fn check_length(new: &New<'_>, capture: &Path) -> Result<(), Failure> {
    let length = new.packets.len() + new.warrant.len() + (1 << 13);
    match length <= clew_trustee::request::CASE_BYTES_MAX {
        true => Ok(()),
        false => Err(Failure::file(
            capture,
            "the packets under this signature are longer than 512 KiB, the most of a case",
        )
        .hint("use clew extract first, and its output here")),
    }
}

/// How many witnesses are needed.
fn threshold(arguments: &RequestFile) -> Result<usize, Failure> {
    let have = arguments.witness.len();
    let most = if have == 0 { 0 } else { have / 2 + 1 };
    match arguments.threshold.unwrap_or(most) {
        need if need <= have => Ok(need),
        need => Err(Failure::new(format!("need {need} witnesses, have {have}"))
            .hint("name more with --witness, or lower --threshold")),
    }
}
