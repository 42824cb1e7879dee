//! Requests on the board: those that arrived, and a turn of each that needs one.

use super::home::{Home, Identity, get};
use super::pending::{Pending, Undecided};
use super::serve::Context;
use crate::cli::{TrusteeAnswer, TrusteeRefuse};
use crate::clock;
use crate::commands::request::answer::{
    Answering, Place, RULE_QUEUE, Record, Reviewed, order, said_answer, topics,
};
use crate::commands::request::exchange::{Exchange, log_url};
use crate::failure::{Failure, Status};
use crate::groups::check;
use clew_keys::TrusteeKeyFile;
use clew_log::entry::Answer;
use clew_service::http::ServiceUrl;
use clew_service::trustee::Word;
use clew_trustee::approval::{may_pass, rule_number};
use clew_trustee::policy::{POLICY_BYTES_MAX, Policy};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The state of a request about which nobody decided.
pub const WAITING: &str = "waiting";
/// The state of one of which a rule may hold later.
pub const POSTPONED: &str = "checked again later";

/// The rule `operator` (`spec/opening.md` 3.1).
const RULE_OPERATOR: u8 = 27;

/// Remembers, synced, that a topic with a case has something new. One about which nothing is left to do stays
/// filed away.
///
/// # Errors
/// The disk.
pub fn arrived(
    context: &mut Context,
    topic: &[u8; 32],
    from: &BTreeSet<[u8; 32]>,
) -> Result<(), Failure> {
    let record = Record::at(context.home.dir(), topic);
    if record.over()?.is_some() {
        return Ok(());
    }
    if !from.is_empty() {
        record.create_from(from)?;
    } else if !record.exists() {
        return Ok(());
    }
    let from = record.from()?;
    context.requests.add(*topic, from);
    Ok(())
}

/// A turn of each request that needs one.
///
/// # Errors
/// The disk. What fails of one request is said, and tried again later.
pub async fn turn(context: &mut Context) -> Result<(), Failure> {
    let mut pending = std::mem::take(&mut context.requests);
    pending.look(context.home.dir(), clock::now_ns())?;
    let answered = match pending.is_empty() {
        true => Ok(()),
        false => answer(context, &mut pending).await,
    };
    context.requests = pending;
    answered
}

async fn answer(context: &Context, pending: &mut Pending) -> Result<(), Failure> {
    let (home, dir) = (&context.home, context.home.dir());
    let (policy, keys) = match (policy(context), keys(context)) {
        (Ok(policy), Ok(keys)) if !keys.is_empty() => (policy, keys),
        (Err(failure), _) | (_, Err(failure)) => return wait(pending, failure.message),
        _ => return wait(pending, "this trustee has no share yet".to_owned()),
    };
    let group = check(&home.path("group.clew"), context.group.clone())?;
    let log = log_address(home)?;
    let key = &context.identity.key;
    let exchange = Exchange::new(&home.url()?, &log, &group, key)?;
    let answering = Answering {
        dir,
        group: &group,
        policy: &policy,
        keys: &keys,
        exchange: &exchange,
    };
    let mut undecided = Undecided::read(dir, clock::now_ns())?;
    for topic in pending.next() {
        let mut read = pending.take_read(&topic);
        let has_room = |requester: &[u8; 32]| undecided.has_room(requester, &topic);
        let done = answering.turn(&topic, &mut read, has_room).await;
        undecided.note(dir, &topic, clock::now_ns())?;
        // What an order could not do is tried again like what failed: a clock may be right by then.
        let is_done = done.is_ok() && Record::at(dir, &topic).trouble()?.is_none();
        pending.took(topic, is_done, read);
        match done {
            Ok(lines) => lines.iter().for_each(|line| say!("{line}")),
            Err(failure) => mention!(
                "clew: request {}: {}",
                clew_wire::Hex(&topic[..4]),
                failure.message
            ),
        }
    }
    pending.said = None;
    Ok(())
}

/// Requests wait until the operator mends something.
fn wait(pending: &mut Pending, why: String) -> Result<(), Failure> {
    if pending.said.as_ref() != Some(&why) {
        mention!("clew: requests wait: {why}");
        pending.said = Some(why);
    }
    Ok(())
}

/// The trustee's policy, with its own author key.
fn policy(context: &Context) -> Result<Policy, Failure> {
    let path = context.home.path("policy.toml");
    let bytes = get(&path)?.unwrap_or_default();
    let text = String::from_utf8(bytes).unwrap_or_default();
    if text.len() > POLICY_BYTES_MAX {
        return Err(Failure::file(&path, "longer than 256 KiB"));
    }
    let policy = Policy::parse(&text).map_err(|error| Failure::file(&path, error))?;
    Ok(Policy {
        author: Some(context.identity.key.public()),
        ..policy
    })
}

/// The trustee's shares, the newest last.
fn keys(context: &Context) -> Result<Vec<(PathBuf, TrusteeKeyFile)>, Failure> {
    let folder = context.home.path("keys");
    let entries = std::fs::read_dir(&folder).map_err(|error| Failure::io(&folder, &error))?;
    let mut keys = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| Failure::io(&folder, &error))?.path();
        if path.extension().is_some_and(|ending| ending == "key") {
            keys.push((
                path.clone(),
                context.identity.load::<TrusteeKeyFile>(&path)?,
            ));
        }
    }
    keys.sort_by_key(|(_, key)| key.since);
    Ok(keys)
}

/// The log's address: below the manager's, unless `log.url` names another.
fn log_address(home: &Home) -> Result<ServiceUrl, Failure> {
    let path = home.path("log.url");
    let Some(bytes) = get(&path)? else {
        return log_url(&home.url()?);
    };
    let text = String::from_utf8(bytes).unwrap_or_default();
    let url = text.trim().parse::<ServiceUrl>();
    url.map_err(|error| Failure::file(&path, error))
}

/// `clew trustee approve` of a request. Returns `None` if no request has this id.
pub fn approve(home: &Home, arguments: &TrusteeAnswer) -> Result<Option<Status>, Failure> {
    let Some(topic) = order::find(home.dir(), &arguments.id)? else {
        return Ok(None);
    };
    let identity = home.identity(&arguments.unlock)?;
    if let Some(reviewed) = Record::at(home.dir(), &topic).review()? {
        tell(&reviewed);
    }
    decide(home, &identity, &topic, &Word::Approve)?;
    say!("approved: clew trustee serve checks it again, logs it, and gives the share");
    Ok(Some(Status::Yes))
}

/// `clew trustee refuse` of a request. Returns `None` if no request has this id.
pub fn refuse(home: &Home, arguments: &TrusteeRefuse) -> Result<Option<Status>, Failure> {
    let answer = &arguments.of;
    let Some(topic) = order::find(home.dir(), &answer.id)? else {
        return Ok(None);
    };
    let identity = home.identity(&answer.unlock)?;
    let word = Word::Refuse(arguments.because.clone());
    if let Answer::No(rule) = decide(home, &identity, &topic, &word)? {
        say!(
            "refused: clew trustee serve logs it, rule {}",
            said_answer(rule)
        );
    }
    Ok(Some(Status::Yes))
}

/// Signs an operator's decision about a request, and keeps it: for commands and for pages.
///
/// # Errors
/// There is no rule of that name; as [`order::put`].
pub fn decide(
    home: &Home,
    identity: &Identity,
    topic: &[u8; 32],
    word: &Word,
) -> Result<Answer, Failure> {
    let answer = match word {
        Word::Approve => Answer::Yes,
        Word::Refuse(because) => Answer::No(refusal(home, topic, because.as_deref())?),
    };
    let group = home.group()?.id();
    order::put(home.dir(), topic, group, answer, &identity.key)?;
    Ok(answer)
}

/// The rule of a refusal: the one that is named, else the one that failed, else the operator's own.
fn refusal(home: &Home, topic: &[u8; 32], because: Option<&str>) -> Result<u8, Failure> {
    match because.map(rule_number) {
        Some(Some(rule)) => return Ok(rule),
        Some(None) => {
            return Err(Failure::new("--because: not the name of a rule")
                .hint("use a name of spec/opening.md 3.1, as warrant-expired"));
        }
        None => {}
    }
    let reviewed = Record::at(home.dir(), topic).review()?;
    let failed = reviewed.map(|reviewed| reviewed.answer);
    Ok(failed.filter(|rule| *rule > 1).unwrap_or(RULE_OPERATOR))
}

/// Lists requests: the open ones, or also those that were filed away.
pub fn list(home: &Home, as_json: bool, with_filed: bool) -> Result<(), Failure> {
    let mut all = topics(home.dir(), Place::Open)?;
    if with_filed {
        all.extend(topics(home.dir(), Place::Filed)?);
    }
    let mut queued: BTreeMap<String, usize> = BTreeMap::new();
    for topic in all {
        let record = Record::at(home.dir(), &topic);
        let Some(reviewed) = record.review()? else {
            continue;
        };
        if reviewed.answer == RULE_QUEUE {
            *queued.entry(reviewed.requester).or_default() += 1;
            continue;
        }
        let (state, trouble) = (state(&record)?, record.trouble()?);
        if as_json {
            let line = json!({
                "kind": "request",
                "id": reviewed.id,
                "answer": state,
                "trouble": trouble,
                "request": reviewed,
            });
            say!("{line}");
            continue;
        }
        tell(&reviewed);
        match state {
            WAITING => say!(
                "  waiting for you: clew trustee approve {} {}",
                home.dir().display(),
                &reviewed.id[..16]
            ),
            state => say!("  {state}"),
        }
        if let Some(trouble) = trouble {
            say!("  trouble    {trouble}");
        }
    }
    for (requester, count) in queued {
        mention!(
            "clew: {count} more of {requester} are checked once fewer of its requests wait for you"
        );
    }
    Ok(())
}

/// How far a request is, for its trustee.
pub fn state(record: &Record) -> Result<&'static str, Failure> {
    let decision = record.decision()?.map(|(_, answer)| answer);
    Ok(match decision {
        // Nothing is given before the yes is in the log.
        Some(Answer::Yes) if record.has_given()? => "share given",
        Some(Answer::Yes) => "approved, in the log",
        Some(Answer::No(_)) => "refused, in the log",
        None if record.order()?.is_some() => "decided, not in the log yet",
        None => match (record.over()?.as_deref(), record.review()?) {
            (Some("delivered"), _) => "delivered without this trustee",
            (Some(_), _) => "expired",
            (None, Some(review)) if may_pass(review.answer) => POSTPONED,
            (None, _) => WAITING,
        },
    })
}

/// What an operator has to see before it decides.
fn tell(reviewed: &Reviewed) {
    say!("request {}", &reviewed.id[..16]);
    for (name, value) in facts(reviewed) {
        say!("  {name:<10} {value}");
    }
}

/// The same by name, for commands and for pages.
pub fn facts(reviewed: &Reviewed) -> Vec<(&'static str, String)> {
    let at = clock::to_the_second;
    let mut facts = Vec::new();
    if let Some(warrant) = &reviewed.warrant {
        facts.push(("asks", warrant.asks.clone()));
        facts.extend(warrant.machine.clone().map(|name| ("machine", name)));
        facts.extend([
            ("reference", warrant.reference.clone()),
            ("asked by", warrant.requester.clone()),
            ("with key", reviewed.requester.clone()),
            ("issued by", warrant.issuer.clone()),
            ("with key", warrant.issuer_key.clone()),
        ]);
        facts.extend(warrant.issued.map(|issued| ("from", at(issued))));
        facts.push(("expires", at(warrant.expires)));
        let (count, covers) = (warrant.signatures, &warrant.covers);
        let of = format!("{count} in the warrant; this one {covers}");
        facts.push(("signatures", of));
        facts.extend(
            warrant
                .signed
                .map(|time| ("signed at", format!("{}, as the packet states", at(time)))),
        );
        if warrant.original > 0 {
            let said = format!(
                "{} of the requester's capture, as it says",
                warrant.original
            );
            facts.push(("packet", said));
        }
    }
    let log = format!("entry {}, added {}", reviewed.place, at(reviewed.logged));
    facts.push(("log", log));
    let (found, at) = (reviewed.why.as_deref(), at(reviewed.checked));
    let found = found.unwrap_or("every rule holds,");
    let end = if reviewed.why.is_some() { "," } else { "" };
    facts.push(("checked", format!("{found}{end} at {at}")));
    facts
}
