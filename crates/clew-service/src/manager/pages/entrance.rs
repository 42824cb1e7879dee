//! Logging in and out.

use super::{ManagerPages, SESSION, cookie, status};
use crate::http::{From as Sender, Problem};
use crate::manager::metrics::count;
use crate::pages::{Page, Refused, SESSION_TIME, page_again};
use axum::Form;
use axum::body::Bytes;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Extension, Query, State};
use axum::http::header::{HOST, ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use clew_keys::login::LoginAnswer;
use maud::html;
use serde::Deserialize;
use std::net::IpAddr;
use std::time::Instant;

/// Whoever comes without an address: tests, which have no connection.
type Peer = Option<Extension<Sender>>;

fn address(peer: Peer) -> IpAddr {
    let unknown = IpAddr::from([0; 4]);
    peer.map_or(unknown, |Extension(Sender(address))| address)
}

/// Gives a program a challenge.
pub(super) async fn challenge(State(pages): State<ManagerPages>) -> Response {
    let challenge = pages.logins().challenge(Instant::now());
    match challenge {
        Ok(challenge) => challenge.to_vec().into_response(),
        Err(refused) => problem(refused).into_response(),
    }
}

/// What a program is told.
fn problem(refused: Refused) -> Problem {
    Problem::new(status(refused), "login", refused)
}

/// Takes a program's answer, and gives it a link.
pub(super) async fn answer(State(pages): State<ManagerPages>, peer: Peer, body: Bytes) -> Response {
    let made = link(&pages, address(peer), &body).await;
    match made {
        Ok(link) => link.into_response(),
        Err(refused) => {
            count(&pages.manager.metrics.logins_refused);
            problem(refused).into_response()
        }
    }
}

async fn link(pages: &ManagerPages, from: IpAddr, body: &[u8]) -> Result<String, Refused> {
    let answer = LoginAnswer::decode(body).ok_or(Refused::Signature)?;
    {
        let mut logins = pages.logins();
        logins.attempt(from, Instant::now())?;
        logins.check(&answer, Instant::now())?;
    }
    let visitor = pages.visitor(answer.key).await;
    visitor.ok_or(Refused::Stranger)?;
    pages.logins().link(&answer, Instant::now())
}

#[derive(Deserialize)]
pub(super) struct Linked {
    link: Option<String>,
}

/// The page behind a link: whose it is, and a button. Looking at it does not use the link up.
pub(super) async fn login(
    State(pages): State<ManagerPages>,
    asked: Result<Query<Linked>, QueryRejection>,
) -> Response {
    let link = asked.ok().and_then(|Query(asked)| asked.link);
    let key = link.as_deref();
    let key = key.and_then(|link| pages.logins().key_of_link(link, Instant::now()));
    let visitor = match key {
        Some(key) => pages.visitor(key).await,
        None => None,
    };
    let body = html! {
        @match (visitor, &link) {
            (Some(visitor), Some(link)) => {
                p { "This link logs in as " strong { (clew_wire::visible(&visitor.words())) } "." }
                form method="post" action="enter" {
                    input type="hidden" name="link" value=(link);
                    button type="submit" { "Log in" }
                }
                p { "Only go on if you made the link yourself, with the command below." }
            }
            (_, Some(_)) => p.warn { "This link was used, or is older than two minutes." },
            _ => {}
        }
        p { "The holder of a key gets a link from this command, on the manager's host:" }
        pre tabindex="0" aria-label="Command on the manager's host" { "clew manager login DIR" }
        p { "Trustees, requesters and observers log in with their own keys:" }
        pre tabindex="0" aria-label="Command for authors" { "clew manager login --manager URL --key FILE" }
    };
    let page = Page {
        site: &pages.site(&[]),
        title: "Log in",
        here: "",
        aside: None,
        body,
    };
    page.private(StatusCode::OK)
}

/// Whether a form comes from a page of this service. Browsers say where forms come from.
fn is_own(headers: &HeaderMap) -> bool {
    let text = |name| {
        headers
            .get(name)
            .and_then(|own| HeaderValue::to_str(own).ok())
    };
    let origin = headers.get(ORIGIN).map(|_| {
        let origin = text(&ORIGIN).and_then(|origin| origin.split_once("://"));
        origin.is_some_and(|(_, host)| Some(host) == text(&HOST))
    });
    let site = headers.get("sec-fetch-site");
    origin.unwrap_or(true) && site.is_none_or(|site| site == "same-origin")
}

const ELSEWHERE: &str = "The form comes from another site.";

#[derive(Deserialize)]
pub(super) struct Entering {
    link: String,
}

/// Follows a link.
pub(super) async fn enter(
    State(pages): State<ManagerPages>,
    peer: Peer,
    headers: HeaderMap,
    form: Result<Form<Entering>, FormRejection>,
) -> Response {
    if !is_own(&headers) {
        return pages.refused(StatusCode::FORBIDDEN, ELSEWHERE);
    }
    let now = Instant::now();
    let entered = {
        let mut logins = pages.logins();
        let attempt = logins.attempt(address(peer), now);
        attempt.and_then(|()| logins.enter(form.as_ref().map_or("", |form| &form.link), now))
    };
    match entered {
        Ok(cookie) => {
            count(&pages.manager.metrics.logins);
            with_cookie(page_again("state"), &cookie, SESSION_TIME.as_secs())
        }
        Err(refused) => {
            count(&pages.manager.metrics.logins_refused);
            pages.not_in(refused)
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Leaving {
    token: String,
}

/// Ends a session.
pub(super) async fn leave(
    State(pages): State<ManagerPages>,
    headers: HeaderMap,
    form: Result<Form<Leaving>, FormRejection>,
) -> Response {
    let (Some(cookie), Ok(Form(form))) = (cookie(&headers), form) else {
        return pages.refused(StatusCode::FORBIDDEN, "Nobody is logged in.");
    };
    if !is_own(&headers) || !pages.logins().is_token(cookie, &form.token) {
        return pages.refused(StatusCode::FORBIDDEN, ELSEWHERE);
    }
    pages.logins().leave(cookie);
    with_cookie(page_again("login"), "", 0)
}

fn with_cookie(mut response: Response, value: &str, seconds: u64) -> Response {
    let cookie =
        format!("{SESSION}={value}; Path=/; Max-Age={seconds}; Secure; HttpOnly; SameSite=Strict");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}
