//! The manager's pages for people (`spec/pages.md` section 4): only behind a login by key.

mod entrance;
mod machines;
mod state;

use super::Manager;
use crate::http::Pin;
use crate::pages::{Entered, FOLDER, Link, Logins, Page, Refused, Site, fault, page_again, style};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::header::COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use clew_log::entry::Role;
use clew_manager::{Store, StoreError};
use maud::{Markup, html};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

const LINKS: [Link; 2] = [
    Link {
        path: "state",
        name: "State",
    },
    Link {
        path: "machines",
        name: "Machines",
    },
];

const FOOT: &str =
    "All times are UTC. Log out when you are done: whoever has this browser sees what you see.";

/// The cookie of a session. Its prefix has browsers insist on `Secure`, on the path `/`, and on this host.
const SESSION: &str = "__Host-clew";

/// Most bytes of a login's answer or of a form.
const BODY_MAX: usize = 4 << 10;

/// Somebody who may log in.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Visitor {
    Manager,
    Author(String, Role),
}

impl Visitor {
    fn is_manager(&self) -> bool {
        *self == Self::Manager
    }

    fn words(&self) -> String {
        match self {
            Self::Manager => "the group's manager".to_owned(),
            Self::Author(name, role) => {
                let role = match role {
                    Role::Trustee(index) => format!("trustee {index}"),
                    Role::Requester => "requester".to_owned(),
                    Role::Observer | Role::None => "observer".to_owned(),
                };
                format!("{name}, {role}")
            }
        }
    }
}

/// The pages of a manager. Clones share the logins.
#[derive(Clone)]
pub struct ManagerPages {
    manager: Manager,
    store: Arc<tokio::sync::Mutex<Store>>,
    logins: Arc<Mutex<Logins>>,
    name: Arc<str>,
}

/// A visitor with its session.
struct Guest {
    visitor: Visitor,
    session: Entered,
}

impl ManagerPages {
    /// Pages about a store, which only reads from here on: the manager has one of its own. `pin` is that
    /// of the service's TLS key, if it has one.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the system has no randomness.
    pub fn new(store: Store, manager: Manager, pin: Option<Pin>) -> Result<Self, StoreError> {
        let logins = Logins::new(pin, Instant::now());
        let logins = logins.map_err(|error| StoreError::Damaged(error.to_string()))?;
        let name = format!("Manager of {}", store.group().genesis().name);
        Ok(Self {
            manager,
            store: Arc::new(tokio::sync::Mutex::new(store)),
            logins: Arc::new(Mutex::new(logins)),
            name: name.into(),
        })
    }

    /// The pages' paths.
    pub fn router(self) -> Router {
        let at = |page: &str| format!("/{FOLDER}/{page}");
        Router::new()
            .route("/", get(first))
            .route(&at("challenge"), post(entrance::challenge))
            .route(&at("answer"), post(entrance::answer))
            .route(&at("login"), get(entrance::login))
            .route(&at("enter"), post(entrance::enter))
            .route(&at("leave"), post(entrance::leave))
            .route(&at("state"), get(state::page))
            .route(&at("machines"), get(machines::page))
            .route(&at("{other}"), get(other))
            .layer(DefaultBodyLimit::max(BODY_MAX))
            .with_state(self)
    }

    fn logins(&self) -> MutexGuard<'_, Logins> {
        self.logins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads from the store, on a thread that may wait for the disk, one reader after the other.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Option<T> {
        let mut store = Arc::clone(&self.store).lock_owned().await;
        let done = tokio::task::spawn_blocking(move || {
            store.follow()?;
            read(&store)
        });
        done.await.ok()?.ok()
    }

    /// Who has a key, if its holder may log in now.
    async fn visitor(&self, key: [u8; 32]) -> Option<Visitor> {
        let read = move |store: &Store| {
            if store.group().genesis().manager == key {
                return Ok(Some(Visitor::Manager));
            }
            let authors = store.authors()?;
            let own = authors
                .into_iter()
                .find(|own| own.author.signs.as_bytes() == &key);
            let own = own.filter(|own| own.role != Role::None);
            Ok(own.map(|own| Visitor::Author(own.author.name.to_string(), own.role)))
        };
        self.read(read).await.flatten()
    }

    /// Who sends these headers, if somebody is logged in. Whoever was dismissed is not any more.
    async fn guest(&self, headers: &HeaderMap) -> Option<Guest> {
        let cookie = cookie(headers)?;
        let session = self.logins().session(cookie, Instant::now())?;
        let visitor = self.visitor(session.key).await?;
        Some(Guest { visitor, session })
    }

    fn site(&self, links: &'static [Link]) -> Site<'_> {
        Site {
            name: &self.name,
            links,
            foot: FOOT,
        }
    }

    fn page(&self, guest: &Guest, title: &str, here: &'static str, body: Markup) -> Response {
        let page = Page {
            site: &self.site(&LINKS),
            title,
            here,
            aside: Some(aside(guest)),
            body,
        };
        page.private(StatusCode::OK)
    }

    fn refused(&self, status: StatusCode, why: &str) -> Response {
        fault(&self.site(&[]), status, "Not possible", why)
    }

    fn not_in(&self, refused: Refused) -> Response {
        self.refused(status(refused), &format!("Cannot log in: {refused}."))
    }

    fn unread(&self) -> Response {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        self.refused(
            status,
            "The store cannot be read now. Its operator is told why.",
        )
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

fn aside(guest: &Guest) -> Markup {
    html! {
        p { "Logged in: " (clew_wire::visible(&guest.visitor.words())) }
        form method="post" action="leave" {
            input type="hidden" name="token" value=(guest.session.token);
            button type="submit" { "Log out" }
        }
    }
}

/// The session's cookie.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(COOKIE).iter();
    let mut pairs = all
        .filter_map(|own| own.to_str().ok())
        .flat_map(|own| own.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(SESSION)?.strip_prefix('='))
}

/// The manager's address leads to its pages.
async fn first() -> Response {
    page_again("pages/state")
}

async fn other(State(pages): State<ManagerPages>, Path(name): Path<String>) -> Response {
    let none = || pages.refused(StatusCode::NOT_FOUND, "There is no such page.");
    style(&name).unwrap_or_else(none)
}

#[cfg(test)]
mod tests;
