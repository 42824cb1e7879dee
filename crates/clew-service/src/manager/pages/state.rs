//! The state of the group and of its service.

use super::ManagerPages;
use crate::pages::{Guarded as _, code, entrance, facts, page_again, table, utc};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use clew_evidence::{DeviceFingerprint, short_form};
use clew_log::entry::Role;
use clew_manager::{AdmittedAuthor, Factory, Store, StoreError};
use clew_wire::{Hex, WallTime, visible};
use maud::{Markup, html};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Instant, SystemTime};

/// Epochs that are listed: the newest.
const EPOCHS_SHOWN: usize = 20;
/// Other rows that are listed.
const LISTED: usize = 50;
/// Entries of the outbox that are counted.
const OUTBOX_COUNTED: u32 = 1_000;

/// What one look at the store says.
struct StateShown {
    group: [u8; 16],
    machines: u32,
    epochs: Vec<Epoch>,
    invitations: (u64, u64),
    factories: Vec<Factory>,
    queued: usize,
    outbox: usize,
    authors: Vec<AdmittedAuthor>,
    published: Option<WallTime>,
}

struct Epoch {
    number: u32,
    id: String,
    made: WallTime,
    start: WallTime,
    machines: u32,
}

impl StateShown {
    fn of(store: &Store) -> Result<Self, StoreError> {
        let group = store.group();
        let epochs = group.epochs().iter().rev().take(EPOCHS_SHOWN);
        let epoch = |record: &clew_evidence::EpochRecord| Epoch {
            number: record.epoch,
            id: short_form(&record.epoch_id().0),
            made: record.made,
            start: group.start(record.epoch).unwrap_or(record.start),
            machines: record.machines,
        };
        let written = store
            .group_file_path()
            .metadata()
            .and_then(|own| own.modified());
        let written = written
            .ok()
            .and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        Ok(Self {
            group: group.id().0,
            machines: group.register().machines,
            epochs: epochs.map(epoch).collect(),
            invitations: store.count_invitations()?,
            factories: store.factories()?,
            queued: store.queued()?.len(),
            outbox: store.outbox(OUTBOX_COUNTED)?.len(),
            authors: store.authors()?,
            published: written.map(|since| WallTime::from_nanos(clew_wire::nanos(since))),
        })
    }
}

pub(super) async fn page(State(pages): State<ManagerPages>, headers: HeaderMap) -> Response {
    let Some(guest) = entrance::guest(&pages, &headers).await else {
        return page_again("login");
    };
    let Some(seen) = pages.read(StateShown::of).await else {
        return pages.unread();
    };
    let is_manager = guest.visitor.is_manager();
    let body = html! {
        (overview(&pages, &seen, is_manager))
        h2 { "Epochs" }
        (epochs(&seen))
        @if is_manager {
            h2 { "Factories" }
            (factories(&seen.factories))
        }
        h2 { "Authors" }
        (authors(&seen.authors))
        @if is_manager {
            h2 { "Since the service started" }
            (counters(&pages))
        }
    };
    pages.page(&guest, "State", "state", body)
}

fn overview(pages: &ManagerPages, seen: &StateShown, is_manager: bool) -> Markup {
    let trouble = pages.manager.trouble.read();
    let trouble = trouble.unwrap_or_else(PoisonError::into_inner).clone();
    let health = match &trouble {
        None => "all changes are made and published".to_owned(),
        // The reason names paths.
        Some(why) if is_manager => format!("the last change failed: {why}"),
        Some(_) => "the last change was not made, or not published".to_owned(),
    };
    let published = seen.published.map_or_else(|| "never".to_owned(), utc);
    let outbox = match seen.outbox {
        count if count >= OUTBOX_COUNTED as usize => format!("{count} or more"),
        count => count.to_string(),
    };
    let (pending, offered) = seen.invitations;
    html! {
        (facts(&[
            ("Group", code(&Hex(&seen.group).to_string())),
            ("Health", html! { span.warn[trouble.is_some()] { (visible(&health)) } }),
            ("Group file written", html! { (published) }),
            ("Machines in the register", html! { (seen.machines) }),
            ("Invitations that wait", html! { (pending) ", of which " (offered) " have an offer" }),
            ("Queued to be revoked", html! { (seen.queued) }),
            ("Entries that wait for the log", html! { (outbox) }),
        ]))
    }
}

fn epochs(seen: &StateShown) -> Markup {
    let rows: Vec<_> = seen
        .epochs
        .iter()
        .map(|epoch| {
            vec![
                html! { (epoch.number) },
                html! { (utc(epoch.start)) },
                html! { (utc(epoch.made)) },
                html! { (epoch.machines) },
                code(&epoch.id),
            ]
        })
        .collect();
    let columns = ["Epoch", "Starts", "Made", "Machines then", "Epoch id"];
    html! {
        @if rows.is_empty() { p { "The group is in its first epoch, 0." } }
        @else { (table("epochs", "Epochs, the newest first", &columns, &rows)) }
    }
}

fn factories(factories: &[Factory]) -> Markup {
    let row = |own: &Factory| {
        vec![
            html! { (visible(own.prefix.as_str())) },
            html! { (own.used) },
            html! { (own.machines.saturating_sub(own.used)) },
            html! { (utc(WallTime::from_nanos(own.until))) },
        ]
    };
    let rows: Vec<_> = factories.iter().rev().take(LISTED).map(row).collect();
    let columns = ["Names begin with", "Used", "Left", "Until"];
    html! {
        (table("factories", "Batches of invitations, the newest first", &columns, &rows))
        @if factories.len() > LISTED { p { "And " (factories.len() - LISTED) " older ones." } }
    }
}

fn authors(authors: &[AdmittedAuthor]) -> Markup {
    let row = |own: &AdmittedAuthor| {
        let role = match own.role {
            Role::None => "dismissed".to_owned(),
            Role::Trustee(held) => held.to_string(),
            Role::Observer => "observer".to_owned(),
            Role::Requester => "requester".to_owned(),
        };
        vec![
            html! { (visible(own.author.name.as_str())) },
            html! { (role) },
            html! { (utc(WallTime::from_nanos(own.admitted_at))) },
            code(&DeviceFingerprint::of(own.author.signs.as_bytes()).to_string()),
        ]
    };
    let rows: Vec<_> = authors.iter().rev().take(LISTED).map(row).collect();
    let columns = ["Name", "Role", "Admitted", "Key"];
    html! {
        (table("authors", "Who may write into the log, the newest first", &columns, &rows))
        @if authors.len() > LISTED { p { "And " (authors.len() - LISTED) " older ones." } }
    }
}

fn counters(pages: &ManagerPages) -> Markup {
    let metrics = &pages.manager.metrics;
    let refusals = pages.manager.refusals.lock();
    let refusals = refusals.unwrap_or_else(PoisonError::into_inner).clone();
    let rows: Vec<_> = refusals
        .iter()
        .map(|(rule, count)| vec![code(rule), html! { (count) }])
        .collect();
    let logged_in = pages.logins().count(Instant::now());
    let count = |counter: &std::sync::atomic::AtomicU64| html! { (counter.load(Relaxed)) };
    html! {
        (facts(&[
            ("Rounds of joins answered", count(&metrics.rounds)),
            ("Rounds refused because too many wait", count(&metrics.queue_full)),
            ("Requests for the feed's head", count(&metrics.heads)),
            ("Changes that failed", count(&metrics.failures)),
            ("Logins", count(&metrics.logins)),
            ("Logins refused", count(&metrics.logins_refused)),
            ("Logged in now", html! { (logged_in) }),
        ]))
        (table("refusals", "Rounds of joins that were refused, by rule", &["Rule", "Rounds"], &rows))
    }
}
