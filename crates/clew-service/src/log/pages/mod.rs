//! The log's pages for people (`spec/pages.md` section 2).

mod entry;
mod index;
mod lists;
mod overview;
mod search;
mod words;

use super::service::Shared;
use crate::pages::{FOLDER, Link, Page, Site, fault, style};
use axum::Router;
use axum::extract::{OriginalUri, Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use index::Index;
use maud::Markup;
use serde::Deserialize;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, RwLock};
use tokio::task::AbortHandle;

/// What the pages say beyond what the log has.
#[derive(Clone, Debug, Default)]
pub struct LogPages {
    /// Where readers reach the log, with the fingerprint of its key.
    pub url: String,
    /// How many trustees made a quorum, at the fewest. As long as it is not known, each request with one
    /// yes counts.
    pub quorum: SmallestQuorum,
}

/// A number of trustees that may change while a log serves: clones share it.
#[derive(Clone, Debug, Default)]
pub struct SmallestQuorum(Arc<AtomicU8>);

impl SmallestQuorum {
    /// The number, if it is known.
    pub fn get(&self) -> Option<u8> {
        Some(self.0.load(Relaxed)).filter(|number| *number > 0)
    }

    /// Changes it. 0: it is not known.
    pub fn set(&self, number: u8) {
        self.0.store(number, Relaxed);
    }
}

const LINKS: [Link; 4] = [
    Link {
        path: "log",
        name: "Overview",
    },
    Link {
        path: "requests",
        name: "Requests",
    },
    Link {
        path: "entries",
        name: "Entries",
    },
    Link {
        path: "search",
        name: "Search",
    },
];

const FOOT: &str = "All times are UTC. The log itself serves these pages: a reader who does not believe \
                    it runs clew log verify.";

/// What handlers share.
#[derive(Clone)]
struct Shown {
    shared: Arc<Shared>,
    index: Arc<RwLock<Index>>,
    about: Arc<LogPages>,
    name: Arc<str>,
    /// The index follows the log until the last router is dropped.
    _following: Arc<Following>,
}

struct Following(AbortHandle);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The pages' paths, and the task that reads the log for them.
pub(super) fn router(shared: Arc<Shared>, about: LogPages) -> Router {
    let index = Index::empty();
    let following = index::follow(Arc::clone(&shared), Arc::clone(&index));
    let following = tokio::spawn(following).abort_handle();
    let shown = Shown {
        name: format!("Log {}", shared.key.name()).into(),
        shared,
        index,
        about: Arc::new(about),
        _following: Arc::new(Following(following)),
    };
    let at = |page: &str| format!("/{FOLDER}/{page}");
    Router::new()
        .route("/", get(first))
        .route(&at("log"), get(overview::page))
        .route(&at("requests"), get(lists::requests))
        .route(&at("entries"), get(lists::entries))
        .route(&at("entry"), get(entry::page))
        .route(&at("search"), get(search::page))
        .route(&at("{other}"), get(other))
        .with_state(shown)
}

impl Shown {
    fn site(&self) -> Site<'_> {
        Site {
            name: &self.name,
            links: &LINKS,
            foot: FOOT,
        }
    }

    fn page(&self, title: &str, here: &'static str, body: Markup) -> Response {
        let page = Page {
            site: &self.site(),
            title,
            here,
            aside: None,
            body,
        };
        page.public()
    }

    fn missing(&self, why: &str) -> Response {
        fault(&self.site(), StatusCode::NOT_FOUND, "Not found", why)
    }

    fn bad(&self, why: &str) -> Response {
        fault(&self.site(), StatusCode::BAD_REQUEST, "Not understood", why)
    }

    fn unread(&self) -> Response {
        let why = "The log cannot read its database. Its operator is told why.";
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        fault(&self.site(), status, "Not readable", why)
    }
}

/// Where a list begins: with the entries before this place.
#[derive(Deserialize)]
struct Before {
    before: Option<u64>,
}

/// A query that was read, if it could be.
type Asked<T> = Result<Query<T>, axum::extract::rejection::QueryRejection>;

/// The log's address leads to its pages.
async fn first(OriginalUri(uri): OriginalUri) -> Response {
    let path = format!("{}/{FOLDER}/log", uri.path().trim_end_matches('/'));
    (StatusCode::SEE_OTHER, [(LOCATION, path)]).into_response()
}

async fn other(State(shown): State<Shown>, Path(name): Path<String>) -> Response {
    style(&name).unwrap_or_else(|| shown.missing("There is no such page."))
}

#[cfg(test)]
mod tests;
