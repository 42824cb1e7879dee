//! A trustee's pages: what waits for its operator, and forms to decide. Behind a login by the trustee's own
//! key, and nothing happens but by a form of a page that the operator saw.

mod matter;
mod state;

use super::{Docket, DocketError, Kind, Metrics};
use crate::http::{Pin, Problem};
use crate::metrics::{count, gauge, page};
use crate::pages::{FOLDER, Guarded, Guest, Link, Logins, Refused, entrance, page_again, style};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use maud::{Markup, html};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const LINKS: [Link; 3] = [
    Link {
        path: "requests",
        name: "Requests",
    },
    Link {
        path: "plans",
        name: "Opening keys",
    },
    Link {
        path: "state",
        name: "State",
    },
];

const FOOT: &str =
    "All times are UTC. Log out when you are done: whoever has this browser decides for you.";

/// Most bytes of a form.
const BODY_MAX: usize = 4 << 10;

/// After so long without the board the service is not well.
const SILENCE_MAX: Duration = Duration::from_secs(300);

/// The pages of a trustee. Clones share the logins.
#[derive(Clone)]
pub struct TrusteePages {
    docket: Arc<dyn Docket>,
    metrics: Arc<Metrics>,
    logins: Arc<Mutex<Logins>>,
    name: Arc<str>,
    began: Instant,
}

impl TrusteePages {
    /// Pages about a trustee. `pin` is that of the service's TLS key.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn new(
        docket: Arc<dyn Docket>,
        metrics: Arc<Metrics>,
        pin: Pin,
    ) -> Result<Self, std::io::Error> {
        let logins = Logins::new(Some(pin), Instant::now()).map_err(std::io::Error::other)?;
        let name = format!("Trustee {} of {}", docket.name(), docket.group());
        Ok(Self {
            docket,
            metrics,
            logins: Arc::new(Mutex::new(logins)),
            name: name.into(),
            began: Instant::now(),
        })
    }

    /// The pages' paths, with `health` and `metrics`.
    pub fn router(self) -> Router {
        let at = |page: &str| format!("/{FOLDER}/{page}");
        Router::new()
            .route("/", get(first))
            .route("/health", get(health))
            .route("/metrics", get(metrics))
            .merge(entrance::paths())
            .route(&at("requests"), get(matter::requests))
            .route(&at("plans"), get(matter::plans))
            .route(&at("request"), get(matter::request))
            .route(&at("plan"), get(matter::plan))
            .route(&at("packets"), get(matter::packets))
            .route(&at("decide"), post(matter::decide))
            .route(&at("state"), get(state::page))
            .route(&at("{other}"), get(other))
            .layer(DefaultBodyLimit::max(BODY_MAX))
            .with_state(self)
    }

    /// Asks the docket, on a thread that may wait for the disk.
    async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Docket) -> Result<T, DocketError> + Send + 'static,
    ) -> Result<T, DocketError> {
        let docket = Arc::clone(&self.docket);
        let done = tokio::task::spawn_blocking(move || ask(&*docket)).await;
        done.unwrap_or_else(|_| Err(DocketError::Disk("the work ended".to_owned())))
    }

    fn page(&self, guest: &Guest<()>, about: (&str, &'static str), body: Markup) -> Response {
        entrance::page(self, guest, about, body)
    }

    fn refused(&self, status: StatusCode, why: &str) -> Response {
        entrance::refused(self, status, why)
    }

    fn failed(&self, error: &DocketError) -> Response {
        let status = match error {
            DocketError::None => StatusCode::NOT_FOUND,
            DocketError::Changed | DocketError::Refused(_) => StatusCode::CONFLICT,
            DocketError::Disk(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        // Whoever sees this is logged in: paths are no secret to the operator.
        let why = match error {
            DocketError::Disk(why) => format!("{error}: {why}"),
            other => other.to_string(),
        };
        self.refused(status, &why)
    }
}

impl Guarded for TrusteePages {
    type Visitor = ();
    const COOKIE: &'static str = "__Host-clew-trustee";
    const FIRST: &'static str = "requests";
    const LINKS: &'static [Link] = &LINKS;
    const FOOT: &'static str = FOOT;

    fn logins(&self) -> MutexGuard<'_, Logins> {
        self.logins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn visitor(&self, key: [u8; 32]) -> Option<()> {
        (self.docket.key() == key).then_some(())
    }

    fn words((): &()) -> String {
        "this trustee".to_owned()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn commands(&self) -> Markup {
        html! {
            p { "The holder of the trustee's key gets a link from this command, on the trustee's host:" }
            pre tabindex="0" aria-label="Command on the trustee's host" { "clew trustee login DIR" }
        }
    }

    fn count_login(&self, is_in: bool) {
        let metrics = &self.metrics;
        count(if is_in {
            &metrics.logins
        } else {
            &metrics.logins_refused
        });
    }
}

/// The address of the service leads to its pages.
async fn first() -> Response {
    page_again("pages/requests")
}

async fn other(State(pages): State<TrusteePages>, Path(name): Path<String>) -> Response {
    let none = || pages.refused(StatusCode::NOT_FOUND, "There is no such page.");
    style(&name).unwrap_or_else(none)
}

/// Seconds since the board was last read, or since the start.
fn silence(pages: &TrusteePages) -> Duration {
    let answered = pages.docket.standing().answered;
    answered.unwrap_or(pages.began).elapsed()
}

/// Reasons name paths: they are on the page of the state.
async fn health(State(pages): State<TrusteePages>) -> Result<&'static str, Problem> {
    if silence(&pages) > SILENCE_MAX {
        return Err(Problem::busy(
            5,
            "the manager's board was not read for five minutes",
        ));
    }
    match pages.docket.standing().trouble {
        Some(_) => Err(Problem::busy(
            5,
            "requests wait: the page of the state says why",
        )),
        None => Ok("ok\n"),
    }
}

async fn metrics(State(pages): State<TrusteePages>) -> Response {
    let silence = silence(&pages).as_secs();
    let help = "Seconds since the manager's board was read.";
    page(&(pages.metrics.text() + &gauge("trustee", "silence_seconds", help, silence)))
}

/// Sends whoever is not logged in to the login.
async fn guest(pages: &TrusteePages, headers: &HeaderMap) -> Result<Guest<()>, Response> {
    let guest = entrance::guest(pages, headers).await;
    guest.ok_or_else(|| page_again("login"))
}

/// The page that lists matters of a kind, and that of one.
const fn paths(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Request => ("requests", "request"),
        Kind::Plan => ("plans", "plan"),
    }
}

impl From<Refused> for DocketError {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused.to_string())
    }
}

#[cfg(test)]
mod tests;
