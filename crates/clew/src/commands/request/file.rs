//! `clew request file`: the request gets into the log, then its case onto the board.

use super::exchange::{Exchange, check_log, log_url, unlogged};
use super::folder::{Folder, New, Settings};
use crate::cli::RequestFile;
use crate::clock;
use crate::commands::bundle::packets;
use crate::commands::coverage::Matter;
use crate::commands::register::Register;
use crate::commands::warrant::{check_allowed, filing, unread};
use crate::failure::{Failure, Status};
use crate::groups::{check, read_group_file};
use crate::random;
use crate::secrets;
use clew_evidence::{Question, Request, WallTime, Warrant};
use clew_keys::{AuthorKeyFile, TextFile};
use clew_log::entry::Warrant as LoggedWarrant;
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
    let folder = Folder::open(dir)?;
    if folder.asked.request != asked {
        return Err(Failure::file(dir, "has another request").hint("use a new directory"));
    }
    let exchange = Exchange::new(&folder.manager()?, &folder.log()?, &folder.group, &key)?;
    let proof = filed(&folder, &exchange).await?;
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

/// The log's place of the request, which it gets now unless it has one.
async fn filed(folder: &Folder, exchange: &Exchange<'_>) -> Result<u64, Failure> {
    if let Some(proof) = folder.proof()? {
        return Ok(proof.index);
    }
    let shown = LoggedWarrant {
        salt: folder.settings.salt,
        file: folder.text.as_bytes().to_vec(),
    };
    let seal = match folder.settings.sealed_until {
        0 => None,
        until => Some(WallTime::from_nanos(until)),
    };
    let body = filing(&folder.asked.request, &folder.warrant, shown, seal);
    let proof = exchange.log(&body, &folder.policy).await;
    let proof = proof.map_err(|error| unlogged(&error))?;
    folder.put_proof(&proof)?;
    Ok(proof.index)
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
