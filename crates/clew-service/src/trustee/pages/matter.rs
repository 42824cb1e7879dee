//! Lists of requests and plans, one of them, and the form by which its operator decides.

use super::{TrusteePages, guest, paths};
use crate::metrics::count;
use crate::pages::entrance::{ELSEWHERE, is_sent_by_own};
use crate::pages::{Guest, newer_and_older, page_again, table, utc};
use crate::trustee::{Kind, Matter, Ordered, Packets, Word};
use axum::Form;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use clew_wire::{Hex, unhex, visible};
use maud::{Markup, html};
use serde::Deserialize;

/// Matters on one page.
const SHOWN: usize = 50;
/// Digits of an id that lists show.
const DIGITS: usize = 16;

#[derive(Deserialize)]
pub(super) struct From {
    from: Option<usize>,
}

type Asked<T> = Result<Query<T>, QueryRejection>;

pub(super) async fn requests(
    State(pages): State<TrusteePages>,
    headers: HeaderMap,
    asked: Asked<From>,
) -> Response {
    list(&pages, &headers, Kind::Request, asked).await
}

pub(super) async fn plans(
    State(pages): State<TrusteePages>,
    headers: HeaderMap,
    asked: Asked<From>,
) -> Response {
    list(&pages, &headers, Kind::Plan, asked).await
}

async fn list(
    pages: &TrusteePages,
    headers: &HeaderMap,
    kind: Kind,
    asked: Asked<From>,
) -> Response {
    let guest = match guest(pages, headers).await {
        Ok(guest) => guest,
        Err(elsewhere) => return elsewhere,
    };
    let Ok(Query(asked)) = asked else {
        return pages.refused(StatusCode::BAD_REQUEST, "Write places as numbers.");
    };
    let matters = match pages.ask(move |docket| docket.matters(kind)).await {
        Ok(matters) => matters,
        Err(error) => return pages.failed(&error),
    };
    let (all, _) = paths(kind);
    let title = match kind {
        Kind::Request => "Requests",
        Kind::Plan => "Opening keys",
    };
    let from = asked.from.unwrap_or(0);
    let body = listed(&matters, kind, from.min(matters.len()));
    pages.page(&guest, (title, all), body)
}

fn listed(matters: &[Matter], kind: Kind, from: usize) -> Markup {
    let (all, one) = paths(kind);
    let waiting = matters.iter().filter(|matter| matter.waits).count();
    let row = |matter: &Matter| {
        let digits = matter.id.get(..DIGITS).unwrap_or(&matter.id);
        vec![
            html! { a href=(format!("{one}?id={}", matter.id)) { (digits) } },
            html! { (visible(&matter.title)) },
            html! { @if matter.waits { strong { (matter.state) } } @else { (matter.state) } },
            html! { (visible(matter.trouble.as_deref().unwrap_or("none"))) },
        ]
    };
    let rows: Vec<_> = matters.iter().skip(from).take(SHOWN).map(row).collect();
    let newer = (from > 0).then(|| format!("{all}?from={}", from.saturating_sub(SHOWN)));
    let older = from.saturating_add(SHOWN);
    let older = (older < matters.len()).then(|| format!("{all}?from={older}"));
    let columns = ["Id", "What is asked", "State", "Trouble"];
    let caption = "Those that wait for you first, then the newest first";
    html! {
        p { (waiting) " wait" @if waiting == 1 { "s" } " for your decision." }
        (table(all, caption, &columns, &rows))
        (newer_and_older(newer.as_deref(), older.as_deref()))
    }
}

#[derive(Deserialize)]
pub(super) struct Id {
    id: String,
}

pub(super) async fn request(
    State(pages): State<TrusteePages>,
    headers: HeaderMap,
    asked: Asked<Id>,
) -> Response {
    one(&pages, &headers, Kind::Request, asked).await
}

pub(super) async fn plan(
    State(pages): State<TrusteePages>,
    headers: HeaderMap,
    asked: Asked<Id>,
) -> Response {
    one(&pages, &headers, Kind::Plan, asked).await
}

/// A matter and, of a request, its packets.
type Seen = (Matter, Option<Packets>, Vec<&'static str>);

async fn one(pages: &TrusteePages, headers: &HeaderMap, kind: Kind, asked: Asked<Id>) -> Response {
    let guest = match guest(pages, headers).await {
        Ok(guest) => guest,
        Err(elsewhere) => return elsewhere,
    };
    let Ok(Query(Id { id })) = asked else {
        return pages.refused(StatusCode::BAD_REQUEST, "The address lacks an id.");
    };
    let seen = pages.ask(move |docket| {
        let matter = docket.matter(kind, &id)?;
        let packets = match kind {
            Kind::Request => docket.packets(&matter.id).ok(),
            Kind::Plan => None,
        };
        Ok((matter, packets, docket.rules()))
    });
    let seen: Seen = match seen.await {
        Ok(seen) => seen,
        Err(error) => return pages.failed(&error),
    };
    let digits = seen.0.id.get(..DIGITS).unwrap_or(&seen.0.id);
    let title = match kind {
        Kind::Request => format!("Request {digits}"),
        Kind::Plan => format!("Opening key {digits}"),
    };
    let body = sheet(&seen, &guest);
    pages.page(&guest, (&title, paths(kind).0), body)
}

fn sheet((matter, packets, rules): &Seen, guest: &Guest<()>) -> Markup {
    html! {
        p { (visible(&matter.title)) }
        p { "State: " strong { (matter.state) } }
        @if let Some(trouble) = &matter.trouble { p.warn { (visible(trouble)) } }
        dl { @for (name, value) in &matter.facts {
            div { dt { (visible(name)) } dd { (visible(value)) } }
        } }
        @if let Some(packets) = packets {
            h2 { "Packets" }
            (shown(packets))
            p { a href=(format!("packets?id={}", matter.id)) { "The capture, for Wireshark" } }
        }
        @if matter.may_approve || matter.may_refuse { h2 { "Decide" } }
        @if matter.may_approve { (approve(matter, guest)) }
        @if matter.may_refuse { (refuse(matter, rules, guest)) }
    }
}

fn shown(packets: &Packets) -> Markup {
    let row = |packet: &crate::trustee::Packet| {
        let covered = if packet.is_covered { "yes" } else { "no" };
        vec![
            html! { (packet.frame) },
            html! { (packet.time.map_or_else(|| "not recorded".to_owned(), utc)) },
            html! { (visible(&packet.flow)) },
            html! { (packet.bytes) },
            html! { (covered) },
        ]
    };
    let rows: Vec<_> = packets.first.iter().map(row).collect();
    let columns = ["Number", "Recorded", "From, to", "Bytes", "Would be opened"];
    let more = packets.count.saturating_sub(packets.first.len() as u64);
    html! {
        (table("packets", "Packets of the capture that the requester cut, with their numbers in it", &columns, &rows))
        @if more > 0 { p { "And " (more) " more." } }
    }
}

/// What both forms send along.
fn hidden(matter: &Matter, word: &str, guest: &Guest<()>) -> Markup {
    let kind = paths(matter.kind).1;
    let fields = [
        ("token", guest.session.token.clone()),
        ("kind", kind.to_owned()),
        ("id", matter.id.clone()),
        ("seen", Hex(&matter.seen).to_string()),
        ("word", word.to_owned()),
    ];
    html! { @for (name, value) in fields { input type="hidden" name=(name) value=(value); } }
}

fn approve(matter: &Matter, guest: &Guest<()>) -> Markup {
    let said = match matter.kind {
        Kind::Request => "I read the warrant and the packets, and approve.",
        Kind::Plan => "I compared the fingerprints by voice, and approve.",
    };
    html! {
        form method="post" action="decide" {
            (hidden(matter, "approve", guest))
            label for="read" { input id="read" type="checkbox" name="read" value="yes" required; " " (said) }
            button type="submit" { "Approve" }
        }
    }
}

fn refuse(matter: &Matter, rules: &[&'static str], guest: &Guest<()>) -> Markup {
    html! {
        form method="post" action="decide" {
            (hidden(matter, "refuse", guest))
            @if matter.kind == Kind::Request {
                label for="because" { "Rule that it breaks" }
                select id="because" name="because" {
                    option value="" { "the rule that failed, else the operator's reason" }
                    @for rule in rules { option value=(rule) { (rule) } }
                }
            }
            button type="submit" { "Refuse" }
        }
    }
}

/// The capture, for other programs.
pub(super) async fn packets(
    State(pages): State<TrusteePages>,
    headers: HeaderMap,
    asked: Asked<Id>,
) -> Response {
    if let Err(elsewhere) = guest(&pages, &headers).await {
        return elsewhere;
    }
    let Ok(Query(Id { id })) = asked else {
        return pages.refused(StatusCode::BAD_REQUEST, "The address lacks an id.");
    };
    let packets = match pages.ask(move |docket| docket.packets(&id)).await {
        Ok(packets) => packets,
        Err(error) => return pages.failed(&error),
    };
    let headers = [
        (CONTENT_TYPE, "application/octet-stream"),
        (CONTENT_DISPOSITION, "attachment; filename=\"packets.pcap\""),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, packets.capture).into_response()
}

#[derive(Deserialize)]
pub(super) struct Decision {
    token: String,
    kind: String,
    id: String,
    seen: String,
    word: String,
    read: Option<String>,
    because: Option<String>,
}

impl Decision {
    fn ordered(self) -> Option<Ordered> {
        let kind = match &*self.kind {
            "request" => Kind::Request,
            "plan" => Kind::Plan,
            _ => return None,
        };
        let word = match (&*self.word, self.read.as_deref()) {
            ("approve", Some("yes")) => Word::Approve,
            ("refuse", _) => Word::Refuse(self.because.filter(|rule| !rule.is_empty())),
            _ => return None,
        };
        let seen = unhex(&self.seen)?;
        Some(Ordered {
            kind,
            id: self.id,
            seen,
            word,
        })
    }
}

/// Takes a decision: from a form of this session, about what its page showed.
pub(super) async fn decide(
    State(pages): State<TrusteePages>,
    headers: HeaderMap,
    form: Result<Form<Decision>, FormRejection>,
) -> Response {
    if let Err(elsewhere) = guest(&pages, &headers).await {
        return elsewhere;
    }
    let Ok(Form(decision)) = form else {
        count(&pages.metrics.orders_refused);
        return pages.refused(StatusCode::BAD_REQUEST, "The form is not complete.");
    };
    if !is_sent_by_own(&pages, &headers, &decision.token) {
        count(&pages.metrics.orders_refused);
        return pages.refused(StatusCode::FORBIDDEN, ELSEWHERE);
    }
    let Some(ordered) = decision.ordered() else {
        count(&pages.metrics.orders_refused);
        let why = "To approve, tick that you read it.";
        return pages.refused(StatusCode::BAD_REQUEST, why);
    };
    let (id, kind) = (ordered.id.clone(), ordered.kind);
    match pages.ask(move |docket| docket.order(&ordered)).await {
        Ok(()) => {
            count(&pages.metrics.orders);
            page_again(&format!("{}?id={id}", paths(kind).1))
        }
        Err(error) => {
            count(&pages.metrics.orders_refused);
            pages.failed(&error)
        }
    }
}
