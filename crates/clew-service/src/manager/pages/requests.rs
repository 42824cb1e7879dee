//! Requests on the board, for those who may read it: the manager, trustees and requesters.

use super::ManagerPages;
use crate::pages::{code, entrance, newer_and_older, page_again, table, utc};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use clew_evidence::{GroupFile, Warrant};
use clew_keys::post::Post;
use clew_log::entry::{Body, Logged};
use clew_log::{Policy, Proof};
use clew_manager::{Board, BoardError, Store};
use clew_trustee::request::{CASE_KIND, Filing, Message, Posted, Progress, RequestState};
use clew_wire::{Hex, WallTime, visible};
use maud::{Markup, html};
use serde::Deserialize;
use std::collections::HashSet;

/// Requests on one page: each may have half a mebibyte of packets to read.
const SHOWN: usize = 20;

#[derive(Deserialize)]
pub(super) struct Before {
    before: Option<u64>,
}

/// One request, as the board shows it.
struct RequestShown {
    topic: [u8; 32],
    reference: String,
    asks: &'static str,
    expires: WallTime,
    state: RequestState,
    place: u64,
}

struct List {
    seen: Vec<RequestShown>,
    /// The number behind which older ones stand.
    older: Option<u64>,
}

pub(super) async fn page(
    State(pages): State<ManagerPages>,
    headers: HeaderMap,
    asked: Result<Query<Before>, QueryRejection>,
) -> Response {
    let Some(guest) = entrance::guest(&pages, &headers).await else {
        return page_again("login");
    };
    let Ok(Query(asked)) = asked else {
        return pages.refused(StatusCode::BAD_REQUEST, "Write numbers as digits.");
    };
    let (reader, now) = (guest.session.key, WallTime::from_nanos((pages.clock)()));
    let before = asked.before.unwrap_or(u64::MAX);
    let read = pages.read_board(move |board, store| list(board, store, (reader, before), now));
    let list = match read.await {
        Some(Ok(list)) => list,
        Some(Err(BoardError::Author)) => {
            let why = "Observers do not read requests: a warrant may be sealed.";
            return pages.refused(StatusCode::FORBIDDEN, why);
        }
        _ => return pages.unread(),
    };
    let body = shown(&list, pages.has_log_pages());
    pages.page(&guest, "Requests", "requests", body)
}

fn list(
    board: &Board,
    store: &Store,
    (reader, before): ([u8; 32], u64),
    now: WallTime,
) -> Result<List, BoardError> {
    let mut cases = board.posts_of(&reader, CASE_KIND, before, SHOWN as u32 + 1)?;
    let has_more = cases.len() > SHOWN;
    cases.truncate(SHOWN);
    let older = cases.last().filter(|_| has_more).map(|(number, _)| *number);
    let mut topics = HashSet::new();
    let mut seen = Vec::new();
    for (_, topic) in cases {
        if topics.insert(topic) {
            let posts = board.read(&reader, &topic, 0)?;
            seen.extend(request(store.group(), topic, &posts, now));
        }
    }
    Ok(List { seen, older })
}

/// What the posts of a topic say. Proofs are checked with the log's key alone: readers with witnesses of
/// their own ask `clew request status`.
fn request(
    group: &GroupFile,
    topic: [u8; 32],
    posts: &[(u64, Vec<u8>)],
    now: WallTime,
) -> Option<RequestShown> {
    let posts = posts.iter().filter_map(|(_, bytes)| {
        let post = Post::decode(bytes)?;
        let message = Message::decode(post.kind, &post.body)?;
        let author = post.author;
        Some(Posted { author, message })
    });
    let posts: Vec<Posted> = posts.collect();
    let (requester, case) = posts.iter().find_map(|post| match &post.message {
        Message::Case(case) => Some((post.author, case)),
        _ => None,
    })?;
    let warrant = Warrant::decode(&case.warrant).ok()?;
    let draft = warrant.draft();
    // The packet is not looked at here: trustees name the opening key in what they decide.
    let named = posts.iter().find_map(|post| match &post.message {
        Message::Decision(proof) => opening_key_of(proof),
        _ => None,
    });
    let sharing = group.sharing(named.unwrap_or_else(|| group.epoch_at(now)))?;
    let (since, quorum) = sharing.map(|own| (own.since, own.quorum)).ok()?;
    let filing = Filing {
        group: group.id().0,
        place: case.place.get(),
        logged: now,
        requester,
        is_match: case.machine.is_some(),
        expires: draft.expires,
        since,
        threshold: quorum.threshold(),
        trustees: quorum.trustees(),
    };
    let policy = Policy {
        log: group.newest_log()?.key().clone(),
        witnesses: Vec::new(),
        threshold: 0,
        max_age: None,
    };
    let seconds = now.as_nanos() / 1_000_000_000;
    Some(RequestShown {
        topic,
        reference: draft.reference.to_string(),
        asks: if filing.is_match { "match" } else { "opening" },
        expires: draft.expires,
        state: Progress::of(&filing, &posts, &policy, seconds).state,
        place: filing.place,
    })
}

fn words(state: RequestState) -> String {
    match state {
        RequestState::Approved { have, need } => format!("approved by {have} of {need}"),
        other => other.as_str().to_owned(),
    }
}

fn shown(list: &List, has_log: bool) -> Markup {
    let row = |seen: &RequestShown| {
        let id = Hex(&seen.topic).to_string();
        let digits = code(&id[..16]);
        let entry = format!("../log/pages/entry?place={}", seen.place);
        vec![
            digits,
            html! { (visible(&seen.reference)) },
            html! { (seen.asks) },
            html! { (words(seen.state)) },
            html! { (utc(seen.expires)) },
            html! { @if has_log { a href=(entry) { "entry " (seen.place) } } @else { "entry " (seen.place) } },
        ]
    };
    let rows: Vec<_> = list.seen.iter().map(row).collect();
    let columns = [
        "Id",
        "Reference",
        "Asks",
        "State",
        "Warrant expires",
        "In the log",
    ];
    let older = list.older.map(|number| format!("requests?before={number}"));
    html! {
        (table("requests", "Requests on the board, the newest first", &columns, &rows))
        (newer_and_older(None, older.as_deref()))
        p { "This is the manager's word. A trustee decides on its own page or by " code { "clew trustee approve" }
            ", and a requester asks " code { "clew request status" } ", which checks the log's proofs." }
        @if has_log { p { a href="../log/pages/log" { "The group's log" } } }
    }
}

/// The first epoch of the opening key as whose trustee somebody decided.
fn opening_key_of(proof: &Proof) -> Option<u32> {
    match Logged::decode(proof.extra.as_deref()?)?.entry.body {
        Body::Decision { by, .. } => Some(by.since),
        _ => None,
    }
}
