//! `clew request status`: how far a request is.

use super::exchange::{Exchange, Thread};
use super::folder::Folder;
use super::patience::Patience;
use crate::cli::RequestStatus;
use crate::clock;
use crate::failure::{Failure, Status};
use clew_keys::{AuthorKeyFile, TextFile};
use clew_log::Proof;
use clew_log::entry::Logged;
use clew_trustee::approval::rule_name;
use clew_trustee::request::{Event, Filing, Happened, Posted, Progress, RequestState};
use clew_wire::Hex;
use serde_json::{Value, json};
use std::time::Duration;

/// How long one question for news waits.
const WAIT: Duration = Duration::from_secs(30);

pub async fn run(arguments: &RequestStatus) -> Result<Status, Failure> {
    let folder = Folder::open(&arguments.case)?;
    let key = arguments
        .unlock
        .load(&arguments.key, AuthorKeyFile::decode)?;
    let exchange = Exchange::new(&folder.manager()?, &folder.log()?, &folder.group, &key)?;
    let filing = filing(&folder)?;
    let (mut thread, mut wait) = (Thread::default(), Duration::ZERO);
    let mut patience = Patience::new(arguments.wait);
    loop {
        let read = exchange.read(&folder.topic(), &mut thread, wait).await;
        patience.of(read).await?;
        let progress = progress(&folder, &filing, &thread.posts);
        let is_over = !matches!(
            progress.state,
            RequestState::Filed | RequestState::Reviewed | RequestState::Approved { .. }
        );
        if is_over || !arguments.wait {
            tell(&folder, &progress, arguments.json);
            return Ok(match progress.state {
                RequestState::Computed | RequestState::Delivered => Status::Yes,
                RequestState::Refused | RequestState::Expired => Status::No,
                _ => Status::CouldNotTell,
            });
        }
        wait = WAIT;
    }
}

/// What the log's proof says of the request, and what the group demands.
pub fn filing(folder: &Folder) -> Result<Filing, Failure> {
    let (request, proof) = folder.placed()?;
    let logged = logged(&proof)?;
    let sharing = folder.group.sharing(request.epoch);
    let sharing = sharing.and_then(Result::ok);
    let quorum = sharing.ok_or_else(|| Failure::new("the group file lacks the packet's epoch"))?;
    Ok(Filing {
        group: folder.group.id().0,
        place: proof.index,
        logged: logged.logged,
        requester: logged.entry.author,
        is_match: folder.asked.machine.is_some(),
        expires: folder.warrant.draft().expires,
        since: quorum.since,
        threshold: quorum.quorum.threshold(),
        trustees: quorum.quorum.trustees(),
    })
}

fn logged(proof: &Proof) -> Result<Logged, Failure> {
    let extra = proof.extra.as_deref();
    let logged = extra.and_then(Logged::decode);
    logged.ok_or_else(|| Failure::new("request.txt: the proof has no entry"))
}

/// How far the request is by these posts, now.
pub fn progress(folder: &Folder, filing: &Filing, posts: &[Posted]) -> Progress {
    let now = clock::now_ns() / 1_000_000_000;
    Progress::of(filing, posts, &folder.policy, now)
}

fn tell(folder: &Folder, progress: &Progress, as_json: bool) {
    if as_json {
        let (have, need) = counts(progress.state);
        let line = json!({
            "request": Hex(&folder.topic()).to_string(),
            "state": progress.state.as_str(),
            "approved": have,
            "needed": need,
            "events": progress.events.iter().map(event_json).collect::<Vec<_>>(),
        });
        say!("{line}");
        return;
    }
    match progress.state {
        RequestState::Approved { have, need } => say!("approved by {have} of {need}"),
        state => say!("{}", state.as_str()),
    }
    say!("  reference  {}", folder.warrant.draft().reference);
    for event in &progress.events {
        let when = event.time.map(|time| clock::to_the_second(time.as_nanos()));
        let place = event
            .place
            .map(|place| format!(", entry {place} of the log"));
        say!(
            "  {:<20}  {}{}",
            when.unwrap_or_default(),
            sentence(event),
            place.unwrap_or_default()
        );
    }
}

const fn counts(state: RequestState) -> (Option<u8>, Option<u8>) {
    match state {
        RequestState::Approved { have, need } => (Some(have), Some(need)),
        _ => (None, None),
    }
}

fn event_json(event: &Event) -> Value {
    let (what, rule) = match event.what {
        Happened::Filed => ("filed", None),
        Happened::Reviewed => ("reviewed", None),
        Happened::Faulted(rule) => ("faulted", Some(rule)),
        Happened::Postponed(rule) => ("postponed", Some(rule)),
        Happened::Approved => ("approved", None),
        Happened::Refused(rule) => ("refused", Some(rule)),
        Happened::Set(_) => ("set", None),
        Happened::Computed => ("computed", None),
        Happened::Delivered(_) => ("delivered", None),
    };
    json!({
        "what": what,
        "rule": rule.map(said),
        "time": event.time.map(|time| clock::to_the_second(time.as_nanos())),
        "trustee": event.trustee,
        "place": event.place,
    })
}

fn sentence(event: &Event) -> String {
    let who = event.trustee.map_or_else(
        || "requester".to_owned(),
        |trustee| format!("trustee {trustee}"),
    );
    match event.what {
        Happened::Filed => format!("{who}: filed"),
        Happened::Reviewed => format!("{who}: checked, its operator has to decide"),
        Happened::Faulted(rule) => format!("{who}: checked, rule {} failed", said(rule)),
        Happened::Postponed(rule) => {
            format!(
                "{who}: checked, rule {} does not hold yet: it looks again",
                said(rule)
            )
        }
        Happened::Approved => format!("{who}: approved"),
        Happened::Refused(rule) => format!("{who}: refused, rule {}", said(rule)),
        Happened::Set(attempt) => format!("{who}: named who answers, attempt {attempt}"),
        Happened::Computed => format!("{who}: share given"),
        Happened::Delivered(hash) => format!("{who}: result logged, SHA-256 {}", Hex(&hash)),
    }
}

/// A rule's name, or its number.
pub fn said(rule: u8) -> String {
    rule_name(rule).map_or_else(|| rule.to_string(), str::to_owned)
}
