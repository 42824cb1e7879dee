//! How the trustee's program does.

use super::{TrusteePages, guest, silence};
use crate::pages::{age, facts};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use clew_wire::visible;
use maud::{Markup, html};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

pub(super) async fn page(State(pages): State<TrusteePages>, headers: HeaderMap) -> Response {
    let guest = match guest(&pages, &headers).await {
        Ok(guest) => guest,
        Err(elsewhere) => return elsewhere,
    };
    let standing = pages.docket.standing();
    let read = match standing.answered {
        Some(_) => age(silence(&pages)),
        None => "never".to_owned(),
    };
    let health = standing
        .trouble
        .as_deref()
        .unwrap_or("requests are worked on");
    let body = html! {
        (facts(&[
            ("Work", html! { span.warn[standing.trouble.is_some()] { (visible(health)) } }),
            ("Board read", html! { (read) }),
        ]))
        h2 { "Since the program started" }
        (counters(&pages))
    };
    pages.page(&guest, ("State", "state"), body)
}

fn counters(pages: &TrusteePages) -> Markup {
    let metrics = &pages.metrics;
    let count = |counter: &AtomicU64| html! { (counter.load(Relaxed)) };
    facts(&[
        ("Looks at the board", count(&metrics.turns)),
        ("Looks that failed", count(&metrics.failures)),
        ("Decisions on the page", count(&metrics.orders)),
        ("Decisions not taken", count(&metrics.orders_refused)),
        ("Notices sent", count(&metrics.notices)),
        (
            "Attempts to send one that failed",
            count(&metrics.notice_failures),
        ),
        ("Notices given up", count(&metrics.notices_lost)),
        ("Logins", count(&metrics.logins)),
        ("Logins refused", count(&metrics.logins_refused)),
    ])
}
