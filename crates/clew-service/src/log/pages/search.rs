//! Search by place or by a hash.

use super::index::{HASHES_MAX, reading};
use super::lists::entry_link;
use super::{Asked, Shown};
use axum::extract::State;
use axum::response::Response;
use clew_wire::{unhex, visible};
use maud::{Markup, html};
use serde::Deserialize;

/// Characters of a search that are read.
const TEXT_MAX: usize = 100;

#[derive(Deserialize)]
pub(super) struct Sought {
    q: Option<String>,
}

/// What was found.
enum Answer {
    Place(u64),
    Nothing,
    NotAHash,
    Unread,
}

pub(super) async fn page(State(shown): State<Shown>, asked: Asked<Sought>) -> Response {
    let Ok(asked) = asked else {
        return shown.bad("Write one search: search?q=100.");
    };
    let text = asked.q.as_deref().map(str::trim).unwrap_or_default();
    let answer = match text {
        "" => None,
        text if text.len() > TEXT_MAX => Some(Answer::NotAHash),
        text => Some(find(&shown, text).await),
    };
    if matches!(answer, Some(Answer::Unread)) {
        return shown.unread();
    }
    let shown_text = if text.len() > TEXT_MAX { "" } else { text };
    let body = html! {
        form method="get" action="search" role="search" {
            label for="q" { "Place of an entry, or a hash of 64 hexadecimal digits" }
            input id="q" name="q" type="search" maxlength=(TEXT_MAX) value=(visible(shown_text)) aria-describedby="what";
            button type="submit" { "Search" }
        }
        @if let Some(answer) = answer { (told(&answer)) }
        p id="what" {
            "Hashes that are found: of entries in the log's tree, of statements, request ids, warrants, evidence, "
            "captures, epoch ids and authors' keys."
        }
        h2 { "What a search cannot promise" }
        ul {
            li { "Nothing found is not a proof that nothing is there: only an audit of all entries is." }
            li { "Rows of machines are not searched: their hashes hide who is enrolled." }
            li { "A sealed request is found by its own hashes, not by what stands in its warrant." }
            li { "Hashes within entries are found for the newest " (HASHES_MAX) " of them." }
            li { "If several entries have the hash, the first one is shown." }
        }
    };
    shown.page("Search", "search", body)
}

fn told(answer: &Answer) -> Markup {
    html! { p role="status" {
        @match answer {
            Answer::Place(place) => { "Found: entry " (entry_link(*place)) "." },
            Answer::NotAHash => "This is neither a place nor a hash of 64 hexadecimal digits.",
            Answer::Nothing | Answer::Unread => "Nothing found.",
        }
    } }
}

async fn find(shown: &Shown, text: &str) -> Answer {
    let size = shown.shared.newest.borrow().size;
    if text.len() < 20 && text.bytes().all(|digit| digit.is_ascii_digit()) {
        return match text.parse::<u64>() {
            Ok(place) if place < size => Answer::Place(place),
            _ => Answer::Nothing,
        };
    }
    let Some(hash) = unhex(text) else {
        return Answer::NotAHash;
    };
    if let Some(place) = reading(&shown.index).find(&hash) {
        return Answer::Place(place);
    }
    let read = shown.shared.read(move |storage| storage.place_of(&hash));
    match read.await {
        Ok(Some(place)) => Answer::Place(place),
        Ok(None) => Answer::Nothing,
        Err(_) => Answer::Unread,
    }
}
