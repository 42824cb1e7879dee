//! What the log is, what was counted, and how to check it.

use super::Shown;
use super::index::{counts, reading};
use crate::log::cosigning::Status;
use crate::log::service::lock;
use crate::pages::{age, code, facts, table, utc};
use axum::extract::State;
use axum::response::Response;
use clew_log::{Cosignature, Counts};
use clew_wire::{Hex, WallTime};
use maud::{Markup, html};

/// Overdue requests that are listed.
const OVERDUE_MAX: usize = 100;

pub(super) async fn page(State(shown): State<Shown>) -> Response {
    let now = (shown.shared.clock)();
    let counts = counts(&shown.index, shown.about.quorum.get().unwrap_or(1), now);
    let body = html! {
        (about(&shown))
        h2 { "Openings and matches" }
        @match counts {
            Some(counts) => (counted(&counts, shown.about.quorum.get().is_some())),
            None => p { "The log has no entries yet." },
        }
        h2 { "Newest checkpoint" }
        (checkpoint(&shown, now))
        h2 { "Check it yourself" }
        (check(&shown))
    };
    shown.page("Overview", "log", body)
}

fn about(shown: &Shown) -> Markup {
    let shared = &shown.shared;
    let (size, read) = (shared.newest.borrow().size, reading(&shown.index).size());
    let group = reading(&shown.index)
        .state()
        .map(|state| Hex(&state.founder().group()).to_string());
    let (machines, epochs) = reading(&shown.index)
        .state()
        .map_or((0, 0), |state| (state.rows(), state.epochs().len()));
    let status = match shared.status() {
        Status::Starting => {
            "it waits for its witnesses, and adds nothing until they answer".to_owned()
        }
        Status::Open => "it adds entries".to_owned(),
        Status::Halted(why) => format!("halted: {why}"),
    };
    html! {
        p {
            "A group of machines keeps this log. Its manager writes which machines were enrolled and which "
            "epochs there are; courts and trustees write who asked to open packets, and what was decided. "
            "Nobody can take an entry back."
        }
        @if read < size {
            p.warn { "These pages are being prepared: " (read) " of " (size) " entries were read." }
        }
        (facts(&[
            ("Name of the log", code(shared.key.name())),
            ("Key of the log", code(&shared.key.to_string())),
            ("Group", code(group.as_deref().unwrap_or("not known yet"))),
            ("State", html! { (clew_wire::visible(&status)) }),
            ("Entries", html! { (size) }),
            ("Machines enrolled", html! { (machines) }),
            ("Epochs begun after the first", html! { (epochs) }),
        ]))
    }
}

fn counted(counts: &Counts<String>, knows_quorum: bool) -> Markup {
    let rows = counts.months.iter().rev().map(|(month, own)| {
        let cells = [own.openings, own.matches, own.signatures].map(|n| html! { (n) });
        [vec![html! { (month) }], cells.to_vec()].concat()
    });
    let rows: Vec<_> = rows.collect();
    let columns = ["Month", "Openings", "Matches", "Signatures covered"];
    html! {
        p {
            "A request counts in the month in which enough trustees had said yes. Sealed requests count from "
            "the start. An opening tells which machine signed; a match tells whether one named machine did."
        }
        @if !knows_quorum {
            p.warn { "This log does not know how many trustees are enough: each request with one yes counts." }
        }
        (table("months", "Approved requests by month", &columns, &rows))
        (facts(&[
            ("Trustees needed", html! { (counts.threshold) }),
            ("Requests in all", html! { (counts.requests) }),
            ("Sealed now", html! { (counts.sealed) }),
            ("Overdue to be unsealed", html! { (counts.overdue.len()) }),
        ]))
        @if !counts.overdue.is_empty() {
            h3 { "Overdue requests" }
            p.warn { "The seals of these requests have ended, and nobody has made their warrants public." }
            ul { @for place in counts.overdue.iter().take(OVERDUE_MAX) {
                li { a href={ "entry?place=" (place) } { "Request " (place) } }
            } }
            @if counts.overdue.len() > OVERDUE_MAX { p { "And " (counts.overdue.len() - OVERDUE_MAX) " more." } }
        }
    }
}

fn checkpoint(shown: &Shown, now: WallTime) -> Markup {
    let published = shown.shared.published.borrow().clone();
    let Some(signed) = published else {
        return html! { p.warn { "No checkpoint is published yet: not enough witnesses cosigned one." } };
    };
    let own = &shown.shared.key;
    let cosigned = signed
        .note
        .signatures()
        .iter()
        .filter(|line| !line.is_of(own));
    let rows: Vec<_> = cosigned
        .filter_map(|line| {
            let time = Cosignature::decode(&line.bytes)?.time;
            let time = WallTime::from_millis(time.saturating_mul(1_000));
            let cells = [
                code(&line.name),
                html! { (utc(time)) },
                html! { (age(now - time)) },
            ];
            Some(cells.to_vec())
        })
        .collect();
    let witnesses = lock(&shown.shared.witnesses).len();
    html! {
        p {
            "A checkpoint states how many entries the log has, and the hash over all of them. Witnesses "
            "cosign it after they checked that it continues what they saw before."
        }
        @if witnesses == 0 {
            p.warn { "This log has no witness: if it shows two histories, nobody notices." }
        }
        (facts(&[
            ("Entries in it", html! { (signed.size) }),
            ("Hash over them", code(&Hex(&signed.root).to_string())),
        ]))
        (table("cosigned", "Cosignatures", &["Witness", "Time by its clock", "Age"], &rows))
        p { "As the log publishes it:" }
        pre tabindex="0" aria-label="Checkpoint" { (visible_lines(&signed.note.to_string())) }
    }
}

/// Lines of a text for `pre`, without hidden characters.
pub(super) fn visible_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(clew_wire::visible).collect();
    lines.join("\n")
}

fn check(shown: &Shown) -> Markup {
    let (url, key) = (&shown.about.url, &shown.shared.key);
    let names: Vec<_> = {
        let witnesses = lock(&shown.shared.witnesses);
        witnesses.iter().map(|seen| seen.name.clone()).collect()
    };
    html! {
        p {
            "This page is the log's word. The command below reads all entries, checks each by its rules, and "
            "notices at its next run if the log has changed what it showed."
        }
        pre tabindex="0" aria-label="Command that audits the log" {
            "clew log verify '" (clew_wire::visible(url)) "' \\\n"
            "    --log '" (clew_wire::visible(&key.to_string())) "' \\\n"
            "    --group group.clew --state log.copy"
        }
        p { "To count openings with a program of one's own:" }
        pre tabindex="0" aria-label="Command that counts" {
            "clew log count '" (clew_wire::visible(url)) "' \\\n"
            "    --log '" (clew_wire::visible(&key.to_string())) "' --group group.clew"
        }
        @if !names.is_empty() {
            p {
                "Add " code { "--witness KEY" } " for each witness whose word you believe. Get the key from the "
                "witness itself. This log asks:"
            }
            ul { @for name in &names { li { (code(name)) } } }
        }
        p {
            "Compare the log's key with the one in the group file: " code { "clew group show group.clew" } ". "
            "The format is C2SP's, so other programs read this log, too."
        }
    }
}
