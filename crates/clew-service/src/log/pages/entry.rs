//! One entry, field by field in words.

use super::index::{Index, reading};
use super::lists::entry_link;
use super::overview::visible_lines;
use super::{Asked, Shown, words};
use crate::pages::{code, facts, newer_and_older, utc};
use axum::extract::State;
use axum::response::Response;
use clew_log::entry::{Body, Filed, Logged, Seal, Warrant};
use clew_log::{LogState, tree};
use clew_wire::{Hex, visible};
use maud::{Markup, html};
use serde::Deserialize;

/// Rows of which the hashes are shown.
const LEAVES_SHOWN: usize = 100;

#[derive(Deserialize)]
pub(super) struct Place {
    place: u64,
}

type Fields = Vec<(&'static str, Markup)>;

pub(super) async fn page(State(shown): State<Shown>, asked: Asked<Place>) -> Response {
    let Ok(asked) = asked else {
        return shown.bad("Write the place of an entry as a number: entry?place=0.");
    };
    let place = asked.place;
    let size = shown.shared.newest.borrow().size;
    if place >= size {
        return shown.missing("The log has no entry at this place yet.");
    }
    let read = shown
        .shared
        .read(move |storage| storage.entries(place, place + 1));
    let bytes = read.await.ok().and_then(|read| read.into_iter().next());
    let decoded = bytes.as_ref().and_then(|bytes| Logged::decode(bytes));
    let (Some(bytes), Some(logged)) = (bytes, decoded) else {
        return shown.unread();
    };
    let index = reading(&shown.index);
    let newer = (place + 1 < size).then(|| format!("entry?place={}", place + 1));
    let older = place
        .checked_sub(1)
        .map(|place| format!("entry?place={place}"));
    let body = html! {
        (facts(&[
            ("Kind", html! { (words::kind(&logged.entry.body)) }),
            ("Added by the log", html! { (utc(logged.logged)) }),
            ("Signed by its author", html! { (utc(logged.entry.time)) }),
            ("Author", author(&index, &logged.entry.author)),
        ]))
        h2 { "What it says" }
        (says(&shown, &index, place, &logged))
        h2 { "Check it yourself" }
        (facts(&[
            ("Hash in the log's tree", code(&Hex(&tree::leaf(&bytes)).to_string())),
            ("Hash of the statement", code(&Hex(&logged.entry.statement()).to_string())),
        ]))
        p { "This command writes the proof that the entry is in the log, with the entry itself:" }
        pre tabindex="0" aria-label="Command that proves the entry" {
            "clew log prove '" (visible(&shown.about.url)) "' " (place) " \\\n"
            "    --log '" (visible(&shown.shared.key.to_string())) "' -o " (place) ".proof"
        }
        (newer_and_older(newer.as_deref(), older.as_deref()))
    };
    shown.page(&format!("Entry {place}"), "", body)
}

fn author(index: &Index, key: &[u8; 32]) -> Markup {
    let name = index.state().map(|state| words::author(state, key));
    html! {
        @if let Some(name) = name { (name) ", key " }
        (code(&Hex(key).to_string()))
    }
}

fn hash(hash: &[u8; 32]) -> Markup {
    code(&Hex(hash).to_string())
}

fn says(shown: &Shown, index: &Index, place: u64, logged: &Logged) -> Markup {
    let fields = match &logged.entry.body {
        Body::Group { record } => vec![("Hash of the group file's record 0", hash(record))],
        Body::Author {
            role, key, name, ..
        } => vec![
            (
                "Name, in the manager's words",
                html! { (visible(name.as_str())) },
            ),
            ("May write as", html! { (words::role(*role)) }),
            ("Key", hash(key)),
        ],
        Body::Enrolled { first, leaves } => return enrolled(*first, leaves),
        Body::Epoch { epoch, id, start } => vec![
            ("Number", html! { (epoch) }),
            ("Epoch id", hash(id)),
            ("Begins", html! { (utc(*start)) }),
        ],
        Body::Request(filed) => return request(shown, index.state(), place, filed),
        Body::Decision { place, by, answer } => vec![
            ("Request", entry_link(*place)),
            ("Trustee", html! { (by) }),
            ("Answer", html! { (words::answer(*answer)) }),
        ],
        Body::Result { place, evidence } => vec![
            ("Request", entry_link(*place)),
            ("Hash of the evidence", hash(evidence)),
        ],
        Body::Unsealed { place, warrant } => {
            return html! {
                (facts(&[("Request", entry_link(*place))]))
                (self::warrant(warrant))
            };
        }
        Body::Anchor {
            segment,
            first,
            last,
            packets,
        } => vec![
            ("Hash of the capture", hash(segment)),
            ("First packet", html! { (utc(*first)) }),
            ("Last packet", html! { (utc(*last)) }),
            ("Packets", html! { (packets) }),
        ],
    };
    facts(&fields)
}

fn enrolled(first: u32, leaves: &[[u8; 32]]) -> Markup {
    let last = u64::from(first) + leaves.len() as u64 - 1;
    html! {
        (facts(&[
            ("First row", html! { (first) }),
            ("Last row", html! { (last) }),
        ]))
        p { "The hashes of the rows, which hide what stands in them:" }
        ol start=(first) { @for leaf in leaves.iter().take(LEAVES_SHOWN) { li { (hash(leaf)) } } }
        @if leaves.len() > LEAVES_SHOWN { p { "And " (leaves.len() - LEAVES_SHOWN) " more." } }
    }
}

fn request(shown: &Shown, state: Option<&LogState>, place: u64, filed: &Filed) -> Markup {
    let now = (shown.shared.clock)();
    let known = state.and_then(|state| state.request(place));
    let mut fields: Fields = vec![
        ("Asks", html! { (words::asks(filed.asks)) }),
        (
            "Signatures that the warrant covers",
            html! { (filed.signatures) },
        ),
        ("Request id", hash(&filed.request)),
        ("Salted hash of the warrant", hash(&filed.warrant)),
    ];
    if let Some(known) = known {
        let words = words::state_of(known, shown.about.quorum.get(), now);
        fields.push(("State today", html! { (words) }));
        for (by, time) in &known.yes {
            fields.push(("Yes", html! { (by) ", " (utc(*time)) }));
        }
        for (by, rule) in &known.no {
            fields.push(("No", html! { (by) ", by rule " (rule) }));
        }
    }
    html! {
        (facts(&fields))
        @match &filed.seal {
            Seal::Open(own) => (warrant(own)),
            Seal::Until(end) => {
                p {
                    "The request is sealed until " (utc(*end)) ". Its warrant has to be made public then. "
                    @if known.is_some_and(|known| known.sealed.is_none()) { "It was: see the entries behind this one." }
                }
            }
        }
    }
}

/// A warrant, read if it can be. The names in it are the words of those who wrote them.
fn warrant(own: &Warrant) -> Markup {
    let text = std::str::from_utf8(&own.file).ok();
    let read = text.and_then(|text| clew_evidence::Warrant::decode(text).ok());
    html! {
        h3 { "Warrant" }
        @match &read {
            Some(read) => (facts(&[
                ("Reference", html! { (visible(read.draft().reference.as_str())) }),
                ("Issuer, in its own words", html! { (visible(read.issuer_name().as_str())) }),
                ("Issuer's key", hash(read.issuer())),
                ("Requester, in the issuer's words", html! { (visible(read.draft().requester.name.as_str())) }),
                ("In force from", html! { (utc(read.draft().issued)) }),
                ("In force until", html! { (utc(read.draft().expires)) }),
                ("Signatures in its scope", html! { (read.draft().scope.digests.len()) }),
            ])),
            None => p { "The file of " (own.file.len()) " bytes is not a warrant that this program reads." },
        }
        @if let Some(text) = text {
            p { "The file:" }
            pre tabindex="0" aria-label="File of the warrant" { (visible_lines(text)) }
        }
    }
}
