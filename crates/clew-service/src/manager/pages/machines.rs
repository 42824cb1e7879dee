//! The machines of the register: personal data, for the manager alone.

use super::ManagerPages;
use crate::pages::{code, entrance, newer_and_older, page_again, table, utc};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use clew_manager::{Machine, Store, StoreError};
use clew_wire::{MAX_NAME_BYTES, WallTime, visible};
use maud::{Markup, html};
use serde::Deserialize;
use std::collections::HashSet;

/// Machines on one page.
const SHOWN: u32 = 50;

#[derive(Deserialize)]
pub(super) struct Asked {
    /// What names begin with.
    name: Option<String>,
    /// By place: machines before this one.
    before: Option<u32>,
    /// By name: machines behind the one at this place.
    after: Option<u32>,
}

struct MachinesShown {
    machines: Vec<Machine>,
    has_more: bool,
    queued: HashSet<u32>,
}

impl MachinesShown {
    fn of(store: &Store, asked: &Asked) -> Result<Self, StoreError> {
        let name = asked.name.as_deref().unwrap_or_default();
        let mut machines = match name {
            "" => store.machines_before(asked.before.unwrap_or(u32::MAX), SHOWN + 1)?,
            prefix => store.machines_named(prefix, asked.after, SHOWN + 1)?,
        };
        let has_more = machines.len() > SHOWN as usize;
        machines.truncate(SHOWN as usize);
        Ok(Self {
            machines,
            has_more,
            queued: store.queued()?.into_iter().collect(),
        })
    }
}

pub(super) async fn page(
    State(pages): State<ManagerPages>,
    headers: HeaderMap,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Response {
    let Some(guest) = entrance::guest(&pages, &headers).await else {
        return page_again("login");
    };
    if !guest.visitor.is_manager() {
        let why = "The register names people's machines: only the manager reads it here.";
        return pages.refused(StatusCode::FORBIDDEN, why);
    }
    let Ok(Query(mut asked)) = asked else {
        return pages.refused(StatusCode::BAD_REQUEST, "Write places as numbers.");
    };
    asked.name = asked.name.map(|name| name.trim().to_owned());
    let name = asked.name.clone().unwrap_or_default();
    if name.len() > MAX_NAME_BYTES {
        return pages.refused(StatusCode::BAD_REQUEST, "No machine has so long a name.");
    }
    let read = pages
        .read(move |store| MachinesShown::of(store, &asked))
        .await;
    let Some(seen) = read else {
        return pages.unread();
    };
    let body = html! {
        form method="get" action="machines" role="search" {
            label for="name" { "Names that begin with" }
            input id="name" name="name" type="search" maxlength=(MAX_NAME_BYTES) value=(visible(&name)) autocomplete="off";
            button type="submit" { "Search" }
        }
        (list(&seen, &name))
    };
    pages.page(&guest, "Machines", "machines", body)
}

/// The fingerprint of a machine's device key.
fn device(machine: &Machine) -> Markup {
    match machine.entry.fingerprint() {
        Some(fingerprint) => code(&fingerprint.to_string()),
        None => html! { "none" },
    }
}

fn list(seen: &MachinesShown, name: &str) -> Markup {
    let row = |machine: &Machine| {
        let index = machine.entry.index;
        let state = match machine.revoked_in {
            Some(epoch) => format!("revoked in epoch {epoch}"),
            None if seen.queued.contains(&index) => "queued to be revoked".to_owned(),
            None => "in force".to_owned(),
        };
        vec![
            html! { (index) },
            html! { (visible(machine.entry.name.as_str())) },
            html! { (utc(WallTime::from_nanos(machine.enrolled_at))) },
            html! { (state) },
            device(machine),
        ]
    };
    let rows: Vec<_> = seen.machines.iter().map(row).collect();
    let columns = ["Row", "Name", "Enrolled", "State", "Device key"];
    let caption = match name {
        "" => "Machines, the newest first",
        _ => "Machines by name",
    };
    let last = seen.machines.last().filter(|_| seen.has_more);
    let older = last.map(|last| match name {
        "" => format!("machines?before={}", last.entry.index),
        _ => format!("machines?name={}&after={}", escaped(name), last.entry.index),
    });
    html! {
        (table("machines", caption, &columns, &rows))
        (newer_and_older(None, older.as_deref()))
    }
}

/// A text as part of a query.
fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}
