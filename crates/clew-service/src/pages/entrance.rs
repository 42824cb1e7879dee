//! Logging in and out, of every site behind a login by key (`spec/pages.md` section 3).

use super::{Entered, FOLDER, Link, Logins, Page, Refused, SESSION_TIME, Site, fault, page_again};
use crate::http::{From as Sender, Problem};
use axum::body::Bytes;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Extension, Query, State};
use axum::http::header::{COOKIE, HOST, ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Form, Router};
use clew_keys::login::LoginAnswer;
use maud::{Markup, html};
use serde::Deserialize;
use std::net::IpAddr;
use std::sync::MutexGuard;
use std::time::Instant;

/// A site that shows its pages to holders of keys alone. Clones share the logins.
pub(crate) trait Guarded: Clone + Send + Sync + 'static {
    /// Somebody who may log in.
    type Visitor: Send + Sync;
    /// Begin of the session cookie's name: browsers then insist on `Secure`, on the path `/`, and on this
    /// host. Cookies do not know ports, so each kind of site has a name of its own.
    const COOKIE: &'static str;
    /// The page behind the login.
    const FIRST: &'static str;
    /// The site's pages.
    const LINKS: &'static [Link];
    /// What the reader has to know of all pages.
    const FOOT: &'static str;

    fn logins(&self) -> MutexGuard<'_, Logins>;
    /// Who has a key, if its holder may log in now.
    fn visitor(&self, key: [u8; 32]) -> impl Future<Output = Option<Self::Visitor>> + Send;
    fn words(visitor: &Self::Visitor) -> String;
    /// What the site is about.
    fn name(&self) -> &str;
    /// Which commands give a link.
    fn commands(&self) -> Markup;
    /// Counts a login, or one that was refused.
    fn count_login(&self, is_in: bool);
}

/// A visitor with its session.
pub(crate) struct Guest<V> {
    pub(crate) visitor: V,
    pub(crate) session: Entered,
}

/// The paths by which visitors come and go.
pub(crate) fn paths<S: Guarded>() -> Router<S> {
    let at = |page: &str| format!("/{FOLDER}/{page}");
    Router::new()
        .route(&at("challenge"), post(challenge::<S>))
        .route(&at("answer"), post(answer::<S>))
        .route(&at("login"), get(login::<S>))
        .route(&at("enter"), post(enter::<S>))
        .route(&at("leave"), post(leave::<S>))
}

/// Who sends these headers, if somebody is logged in. Whose key may not log in any more is not.
pub(crate) async fn guest<S: Guarded>(site: &S, headers: &HeaderMap) -> Option<Guest<S::Visitor>> {
    let cookie = cookie::<S>(headers)?;
    let session = site.logins().session(cookie, Instant::now())?;
    let visitor = site.visitor(session.key).await?;
    Some(Guest { visitor, session })
}

/// Whether a form of a page behind the login was sent by that page, in that session.
pub(crate) fn is_sent_by_own<S: Guarded>(site: &S, headers: &HeaderMap, token: &str) -> bool {
    let is_token = |cookie| site.logins().is_token(cookie, token);
    is_own(headers) && cookie::<S>(headers).is_some_and(is_token)
}

/// A page for somebody who is logged in.
pub(crate) fn page<S: Guarded>(
    site: &S,
    guest: &Guest<S::Visitor>,
    (title, here): (&str, &'static str),
    body: Markup,
) -> Response {
    let page = Page {
        site: &frame(site, S::LINKS),
        title,
        here,
        aside: Some(aside::<S>(guest)),
        body,
    };
    page.private(StatusCode::OK)
}

/// A page that says why there is no other.
pub(crate) fn refused<S: Guarded>(site: &S, status: StatusCode, why: &str) -> Response {
    fault(&frame(site, &[]), status, "Not possible", why)
}

fn frame<'s, S: Guarded>(site: &'s S, links: &'static [Link]) -> Site<'s> {
    Site {
        name: site.name(),
        links,
        foot: S::FOOT,
    }
}

fn aside<S: Guarded>(guest: &Guest<S::Visitor>) -> Markup {
    html! {
        p { "Logged in: " (clew_wire::visible(&S::words(&guest.visitor))) }
        form method="post" action="leave" {
            input type="hidden" name="token" value=(guest.session.token);
            button type="submit" { "Log out" }
        }
    }
}

fn status(refused: Refused) -> StatusCode {
    match refused {
        Refused::TooMany | Refused::Full => StatusCode::TOO_MANY_REQUESTS,
        Refused::Challenge | Refused::Signature | Refused::Stranger | Refused::Link => {
            StatusCode::FORBIDDEN
        }
        Refused::Random => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// The session's cookie.
fn cookie<S: Guarded>(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(COOKIE).iter();
    let mut pairs = all
        .filter_map(|own| own.to_str().ok())
        .flat_map(|own| own.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(S::COOKIE)?.strip_prefix('='))
}

/// Whoever comes without an address: tests, which have no connection.
type Peer = Option<Extension<Sender>>;

fn address(peer: Peer) -> IpAddr {
    let unknown = IpAddr::from([0; 4]);
    peer.map_or(unknown, |Extension(Sender(address))| address)
}

/// Gives a program a challenge.
async fn challenge<S: Guarded>(State(pages): State<S>) -> Response {
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
async fn answer<S: Guarded>(State(pages): State<S>, peer: Peer, body: Bytes) -> Response {
    let made = link(&pages, address(peer), &body).await;
    match made {
        Ok(link) => link.into_response(),
        Err(refused) => {
            pages.count_login(false);
            problem(refused).into_response()
        }
    }
}

async fn link<S: Guarded>(pages: &S, from: IpAddr, body: &[u8]) -> Result<String, Refused> {
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
struct Linked {
    link: Option<String>,
}

/// The page behind a link: whose it is, and a button. Looking at it does not use the link up.
async fn login<S: Guarded>(
    State(pages): State<S>,
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
                p { "This link logs in as " strong { (clew_wire::visible(&S::words(&visitor))) } "." }
                form method="post" action="enter" {
                    input type="hidden" name="link" value=(link);
                    button type="submit" { "Log in" }
                }
                p { "Only go on if you made the link yourself, with the command below." }
            }
            (_, Some(_)) => p.warn { "This link was used, or is older than two minutes." },
            _ => {}
        }
        (pages.commands())
    };
    let page = Page {
        site: &frame(&pages, &[]),
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

/// Why a form is not taken.
pub(crate) const ELSEWHERE: &str = "The form comes from another site.";

#[derive(Deserialize)]
struct Entering {
    link: String,
}

/// Follows a link.
async fn enter<S: Guarded>(
    State(pages): State<S>,
    peer: Peer,
    headers: HeaderMap,
    form: Result<Form<Entering>, FormRejection>,
) -> Response {
    if !is_own(&headers) {
        return refused(&pages, StatusCode::FORBIDDEN, ELSEWHERE);
    }
    let now = Instant::now();
    let entered = {
        let mut logins = pages.logins();
        let attempt = logins.attempt(address(peer), now);
        attempt.and_then(|()| logins.enter(form.as_ref().map_or("", |form| &form.link), now))
    };
    match entered {
        Ok(cookie) => {
            pages.count_login(true);
            with_cookie::<S>(page_again(S::FIRST), &cookie, SESSION_TIME.as_secs())
        }
        Err(refused) => {
            pages.count_login(false);
            self::refused(
                &pages,
                status(refused),
                &format!("Cannot log in: {refused}."),
            )
        }
    }
}

#[derive(Deserialize)]
struct Leaving {
    token: String,
}

/// Ends a session.
async fn leave<S: Guarded>(
    State(pages): State<S>,
    headers: HeaderMap,
    form: Result<Form<Leaving>, FormRejection>,
) -> Response {
    let (Some(cookie), Ok(Form(form))) = (cookie::<S>(&headers), form) else {
        return refused(&pages, StatusCode::FORBIDDEN, "Nobody is logged in.");
    };
    if !is_sent_by_own(&pages, &headers, &form.token) {
        return refused(&pages, StatusCode::FORBIDDEN, ELSEWHERE);
    }
    pages.logins().leave(cookie);
    with_cookie::<S>(page_again("login"), "", 0)
}

fn with_cookie<S: Guarded>(mut response: Response, value: &str, seconds: u64) -> Response {
    let cookie = format!(
        "{}={value}; Path=/; Max-Age={seconds}; Secure; HttpOnly; SameSite=Strict",
        S::COOKIE
    );
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}
