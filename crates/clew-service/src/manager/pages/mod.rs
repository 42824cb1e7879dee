//! The manager's pages for people (`spec/pages.md` section 4): only behind a login by key.

mod machines;
mod requests;
mod state;

use super::Manager;
use super::metrics::count;
use crate::http::Pin;
use crate::pages::{FOLDER, Guarded, Guest, Link, Logins, entrance, page_again, style};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use clew_log::entry::Role;
use clew_manager::{Board, Store, StoreError};
use maud::{Markup, html};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

const LINKS: [Link; 3] = [
    Link {
        path: "state",
        name: "State",
    },
    Link {
        path: "requests",
        name: "Requests",
    },
    Link {
        path: "machines",
        name: "Machines",
    },
];

const FOOT: &str =
    "All times are UTC. Log out when you are done: whoever has this browser sees what you see.";

/// Most bytes of a login's answer or of a form.
const BODY_MAX: usize = 4 << 10;

/// Somebody who may log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Visitor {
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
                    Role::Trustee(held) => held.to_string(),
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
    store: Arc<tokio::sync::Mutex<(Store, Board)>>,
    clock: fn() -> u64,
    logins: Arc<Mutex<Logins>>,
    name: Arc<str>,
}

impl ManagerPages {
    /// Pages about a store and its board, which only read from here on: the manager has its own. `clock` is
    /// in nanoseconds since 1970. `pin` is that of the service's TLS key, if it has one.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the system has no randomness.
    pub fn new(
        (store, board): (Store, Board),
        manager: Manager,
        clock: fn() -> u64,
        pin: Option<Pin>,
    ) -> Result<Self, StoreError> {
        let logins = Logins::new(pin, Instant::now());
        let logins = logins.map_err(|error| StoreError::Damaged(error.to_string()))?;
        let name = format!("Manager of {}", store.group().genesis().name);
        Ok(Self {
            manager,
            store: Arc::new(tokio::sync::Mutex::new((store, board))),
            clock,
            logins: Arc::new(Mutex::new(logins)),
            name: name.into(),
        })
    }

    /// The pages' paths.
    pub fn router(self) -> Router {
        let at = |page: &str| format!("/{FOLDER}/{page}");
        Router::new()
            .route("/", get(first))
            .merge(entrance::paths())
            .route(&at("state"), get(state::page))
            .route(&at("requests"), get(requests::page))
            .route(&at("machines"), get(machines::page))
            .route(&at("{other}"), get(other))
            .layer(DefaultBodyLimit::max(BODY_MAX))
            .with_state(self)
    }

    /// Reads from the store, on a thread that may wait for the disk, one reader after the other.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Option<T> {
        let read = self.read_board(|_, store| read(store)).await?;
        read.ok()
    }

    /// The same with the board.
    async fn read_board<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Board, &Store) -> T + Send + 'static,
    ) -> Option<T> {
        let mut both = Arc::clone(&self.store).lock_owned().await;
        let done = tokio::task::spawn_blocking(move || {
            let (store, board) = &mut *both;
            store.follow()?;
            Ok::<_, StoreError>(read(board, store))
        });
        done.await.ok()?.ok()
    }

    /// Whether the log's pages are below the same address.
    fn has_log_pages(&self) -> bool {
        let log = self.manager.log.as_ref();
        log.is_some_and(|proofs| proofs.log.has_pages)
    }

    fn page(
        &self,
        guest: &Guest<Visitor>,
        title: &str,
        here: &'static str,
        body: Markup,
    ) -> Response {
        entrance::page(self, guest, (title, here), body)
    }

    fn refused(&self, status: StatusCode, why: &str) -> Response {
        entrance::refused(self, status, why)
    }

    fn unread(&self) -> Response {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        self.refused(
            status,
            "The store cannot be read now. Its operator is told why.",
        )
    }
}

impl Guarded for ManagerPages {
    type Visitor = Visitor;
    const COOKIE: &'static str = "__Host-clew";
    const FIRST: &'static str = "state";
    const LINKS: &'static [Link] = &LINKS;
    const FOOT: &'static str = FOOT;

    fn logins(&self) -> MutexGuard<'_, Logins> {
        self.logins.lock().unwrap_or_else(PoisonError::into_inner)
    }

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

    fn words(visitor: &Visitor) -> String {
        visitor.words()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn commands(&self) -> Markup {
        html! {
            p { "The holder of a key gets a link from this command, on the manager's host:" }
            pre tabindex="0" aria-label="Command on the manager's host" { "clew manager login DIR" }
            p { "Trustees, requesters and observers log in with their own keys:" }
            pre tabindex="0" aria-label="Command for authors" { "clew manager login --manager URL --key FILE" }
        }
    }

    fn count_login(&self, is_in: bool) {
        let metrics = &self.manager.metrics;
        count(if is_in {
            &metrics.logins
        } else {
            &metrics.logins_refused
        });
    }
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
