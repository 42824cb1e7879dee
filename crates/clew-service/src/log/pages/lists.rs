//! Lists of requests and of all entries, the newest first.

use super::index::reading;
use super::{Asked, Before, Shown, words};
use crate::pages::{newer_and_older, table, utc};
use axum::extract::State;
use axum::response::Response;
use clew_log::entry::Logged;
use maud::{Markup, html};

/// Entries on one page.
pub(super) const SHOWN_MAX: u64 = 50;

const NOT_A_PLACE: &str = "Write the place of an entry as a number: entries?before=100.";

pub(super) async fn entries(State(shown): State<Shown>, asked: Asked<Before>) -> Response {
    let Ok(asked) = asked else {
        return shown.bad(NOT_A_PLACE);
    };
    let size = shown.shared.newest.borrow().size;
    let end = asked.before.unwrap_or(size).min(size);
    let first = end.saturating_sub(SHOWN_MAX);
    let read = shown
        .shared
        .read(move |storage| storage.entries(first, end));
    let Ok(read) = read.await else {
        return shown.unread();
    };
    let index = reading(&shown.index);
    let row = |(place, bytes): (u64, &Vec<u8>)| {
        let logged = Logged::decode(bytes)?;
        let body = &logged.entry.body;
        let author = index
            .state()
            .map(|state| words::author(state, &logged.entry.author));
        Some(vec![
            entry_link(place),
            html! { (utc(logged.logged)) },
            html! { (words::kind(body)) },
            html! { (words::summary(body)) },
            html! { (author.unwrap_or_default()) },
        ])
    };
    let newest_first = read.iter().rev();
    let rows: Vec<_> = (first..end)
        .rev()
        .zip(newest_first)
        .filter_map(row)
        .collect();
    let columns = ["Place", "Added", "Kind", "What it says", "Author"];
    let newer = (end < size).then(|| format!("entries?before={}", (end + SHOWN_MAX).min(size)));
    let older = (first > 0).then(|| format!("entries?before={first}"));
    let caption = match end {
        0 => "Entries".to_owned(),
        _ => format!("Entries {first} to {} of {size}, the newest first", end - 1),
    };
    let body = html! {
        (table("entries", &caption, &columns, &rows))
        (newer_and_older(newer.as_deref(), older.as_deref()))
    };
    shown.page("Entries", "entries", body)
}

pub(super) async fn requests(State(shown): State<Shown>, asked: Asked<Before>) -> Response {
    let Ok(asked) = asked else {
        return shown.bad(NOT_A_PLACE);
    };
    let before = asked.before.unwrap_or(u64::MAX);
    let now = (shown.shared.clock)();
    let index = reading(&shown.index);
    let Some(state) = index.state() else {
        return shown.page(
            "Requests",
            "requests",
            html! { p { "The log has no entries yet." } },
        );
    };
    let mut found: Vec<_> = state
        .requests_before(before)
        .take(SHOWN_MAX as usize + 1)
        .collect();
    let has_more = found.len() as u64 > SHOWN_MAX;
    found.truncate(SHOWN_MAX as usize);
    let last = found.last().map(|(place, _)| *place);
    let rows: Vec<Vec<Markup>> = found
        .into_iter()
        .map(|(place, request)| {
            vec![
                entry_link(place),
                html! { (utc(request.logged)) },
                html! { (words::asks(request.asks)) },
                html! { (request.signatures) },
                html! { (words::author(state, &request.author)) },
                html! { (request.sealed.map_or_else(|| "no".to_owned(), |end| format!("until {}", utc(end)))) },
                html! { (words::state_of(request, shown.about.quorum.get(), now)) },
            ]
        })
        .collect();
    let columns = [
        "Place",
        "Filed",
        "Asks",
        "Signatures",
        "Requester",
        "Sealed",
        "State",
    ];
    let older = last.filter(|_| has_more);
    let older = older.map(|place| format!("requests?before={place}"));
    let newest = (before != u64::MAX).then_some("requests");
    let body = html! {
        p {
            "Each request stands under a court's warrant. Trustees check warrant and packets on their own, "
            "and give their shares only for a request that stands here."
        }
        (table("requests", "Requests, the newest first", &columns, &rows))
        (newer_and_older(newest, older.as_deref()))
    };
    shown.page("Requests", "requests", body)
}

pub(super) fn entry_link(place: u64) -> Markup {
    html! { a href={ "entry?place=" (place) } { (place) } }
}
