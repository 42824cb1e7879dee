//! `clew manager retention` and `clew manager prune`: how long a group keeps what is about persons.

use crate::cli::{ManagerPrune, ManagerRetention};
use crate::clock;
use crate::failure::{Failure, Status};
use clew_manager::{Pruned, Store};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often the service deletes.
const DAY: Duration = Duration::from_secs(86_400);

pub fn rule(arguments: &ManagerRetention) -> Result<Status, Failure> {
    let mut store = Store::open(&arguments.dir)?;
    let before = store.retention()?;
    let mut rule = before;
    for (days, place) in [
        (arguments.machines, &mut rule.machines),
        (arguments.joins, &mut rule.joins),
        (arguments.posts, &mut rule.posts),
    ] {
        if let Some(days) = days {
            *place = days.0;
        }
    }
    if rule != before {
        store.set_retention(&rule)?;
    }
    for (what, days) in [
        ("revoked machines", rule.machines),
        ("joins", rule.joins),
        ("posts", rule.posts),
    ] {
        match days {
            Some(days) => say!("{what:<16}  deleted after {}", several(days.into(), "day")),
            None => say!("{what:<16}  kept"),
        }
    }
    match store.deleted_machines()? {
        0 => {}
        1 => say!("1 machine was deleted: nobody can name it from a packet"),
        deleted => say!("{deleted} machines were deleted: nobody can name them from a packet"),
    }
    Ok(Status::Yes)
}

pub fn prune(arguments: &ManagerPrune) -> Result<Status, Failure> {
    let mut store = Store::open(&arguments.dir)?;
    let now = clock::now_ns();
    let (pruned, verb) = match arguments.delete {
        true => (store.prune(now)?, "deleted"),
        false => (store.past(now)?, "to delete"),
    };
    for (row, name) in &pruned.machines {
        say!("{verb}: machine {name}, row {row}");
    }
    say!("{verb}: {}", counted(&pruned));
    if !arguments.delete && !pruned.is_empty() {
        say!("clew manager prune --delete deletes them.");
    }
    for copy in old_copies(&arguments.dir) {
        mention!(
            "warning: {} still has what was deleted: remove it",
            copy.display()
        );
    }
    Ok(Status::Yes)
}

/// Deletes now, and once a day, until it is aborted. It names nobody: what it says may be kept for long.
pub async fn daily(dir: PathBuf) {
    loop {
        let dir = dir.clone();
        let done = tokio::task::spawn_blocking(move || {
            let mut store = Store::open(&dir)?;
            store.prune(clock::now_ns())
        });
        match done.await {
            Ok(Ok(pruned)) if pruned.is_empty() => {}
            Ok(Ok(pruned)) => mention!("deleted by the rule of retention: {}", counted(&pruned)),
            Ok(Err(error)) => untold(&error),
            Err(error) => untold(&error),
        }
        tokio::time::sleep(DAY).await;
    }
}

fn untold(error: &dyn std::fmt::Display) {
    mention!(
        "clew: not all was deleted that the rule of retention says; it is tried again in a day: {error}"
    );
}

/// A count with its noun.
fn several(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

fn counted(pruned: &Pruned) -> String {
    let machines = several(pruned.machines.len() as u64, "machine");
    let joins = several(pruned.joins, "join");
    let (topics, posts) = (
        several(pruned.topics, "topic"),
        several(pruned.posts, "post"),
    );
    format!("{machines}, {joins}, {topics} with {posts}")
}

/// Copies of the store that an upgrade left beside it.
fn old_copies(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir.join("issuer"));
    let paths = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let is_copy = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("store.db.layout-"))
    };
    paths.filter(is_copy).collect()
}
