//! `clew group show` and `clew group list`.

use super::BBS04_WARNING;
use crate::clock;
use crate::failure::{Failure, Status};
use crate::groups::read_group_file;
use clew_evidence::{Change, EpochRecord, GroupFile, GroupId, Origin, short_epoch_id};
use clew_group::Scheme;
use clew_manager::{Invitation, Machine, Store};
use clew_wire::Hex;
use std::collections::BTreeSet;
use std::path::Path;

pub fn show(path: &Path) -> Result<Status, Failure> {
    let group = load(path)?;
    let (genesis, register) = (group.genesis(), group.register());
    say!("group     {}", genesis.name);
    say!("id        {}", group.id());
    say!("scheme    {}", group.scheme());
    if group.scheme() == Scheme::Bbs04 {
        say!("          {BBS04_WARNING}");
    }
    say!("opening   {}", opening(&group));
    show_logs(&group);
    say!(
        "created   {}",
        clock::to_the_second(genesis.created.as_nanos())
    );
    show_epochs(&group);
    for line in end_lines(&group) {
        say!("{line}");
    }
    say!(
        "machines  {} enrolled, {}",
        register.machines,
        revocations(&group)
    );
    say!("manager   {}", Hex(&genesis.manager));
    let (root, time) = (
        Hex(&register.root),
        clock::to_the_second(register.time.as_nanos()),
    );
    say!("register  {root} at {time}");
    Ok(Status::Yes)
}

/// The log of the epoch in force, and those that announced epochs set. A group that never had a log
/// says nothing.
fn show_logs(group: &GroupFile) {
    let in_force = group.epoch_at(clock::wall_time());
    let text = |epoch| match group.log_at(epoch) {
        Some(log) => log.key().to_string(),
        None => "none".to_owned(),
    };
    if group.logs().next().is_none() {
        return;
    }
    say!("log       {}", text(in_force));
    for epoch in in_force + 1..=group.newest_epoch() {
        if group.log_at(epoch) != group.log_at(epoch - 1) {
            say!("          from epoch {epoch}: {}", text(epoch));
        }
    }
}

/// The epoch in force and those announced, with the ids by which people compare histories.
fn show_epochs(group: &GroupFile) {
    let in_force = group.epoch_at(clock::wall_time());
    say!("epoch     {in_force}{}", since(group, in_force));
    say!("          id {}", id(group, in_force));
    for epoch in in_force + 1..=group.newest_epoch() {
        say!("announced {epoch}{}", since(group, epoch));
        say!("          id {}", id(group, epoch));
    }
}

/// That the group ended, since when its keys may be somebody else's, and what comes after it.
pub fn end_lines(group: &GroupFile) -> Vec<String> {
    let Some((epoch, end)) = group.end() else {
        return Vec::new();
    };
    let mut lines = vec![format!(
        "ended     in epoch {epoch}: no packet is signed in it"
    )];
    if let Some(since) = end.stolen_since {
        let since = clock::to_the_second(since.as_nanos());
        lines.push(format!(
            "          its keys may have been stolen since {since}"
        ));
    }
    if let Some(id) = &end.successor {
        // A group's id is the begin of the id of its epoch 0.
        let [id, _] = id.0.as_chunks().0 else {
            return lines;
        };
        lines.push(format!("successor {}", GroupId(*id)));
        lines.push(
            "          compare this id with what the operator tells you by another way".to_owned(),
        );
    }
    lines
}

fn since(group: &GroupFile, epoch: u32) -> String {
    let start = group.start(epoch);
    start.map_or(String::new(), |start| {
        format!(" from {}", clock::to_the_second(start.as_nanos()))
    })
}

fn id(group: &GroupFile, epoch: u32) -> String {
    let id = group.epoch_id(epoch);
    id.map_or("-".to_owned(), |id| short_epoch_id(&id))
}

/// How many machines are revoked in force, and how many more by announced epochs.
fn revocations(group: &GroupFile) -> String {
    let in_force = group.epoch_at(clock::wall_time()) as usize;
    let (past, announced) = group.epochs().split_at(in_force);
    let count = |records: &[EpochRecord]| records.iter().map(revoked_by).sum::<usize>();
    match (count(past), count(announced)) {
        (revoked, 0) => format!("{revoked} revoked"),
        (revoked, more) => format!("{revoked} revoked, {more} more announced"),
    }
}

/// How many machines a record revokes.
fn revoked_by(record: &EpochRecord) -> usize {
    match &record.change {
        Change::Steps(steps) => steps.len(),
        Change::Rebase { revoked } => revoked.len(),
        Change::Sharing(_) | Change::Log(_) | Change::End(_) => 0,
    }
}

/// Who opens packets of the newest epoch.
fn opening(group: &GroupFile) -> String {
    let Some((_, sharing)) = group.sharing_record(group.newest_epoch()) else {
        return "unknown".to_owned();
    };
    let (t, n) = (sharing.quorum.threshold(), sharing.quorum.trustees());
    let origin = match sharing.origin {
        Origin::TrustedDealer => "by a trusted dealer, who could open alone",
        Origin::Dkg => "by the trustees together (DKG): nobody ever had the whole key",
    };
    format!("by {t} of {n} trustees; key made {origin}")
}

pub fn list(path: &Path) -> Result<Status, Failure> {
    if path.is_dir() {
        list_machines(&Store::open(path)?)?;
    } else {
        list_epochs(&read_group_file(path)?);
    }
    Ok(Status::Yes)
}

fn list_machines(store: &Store) -> Result<(), Failure> {
    say!(
        "{:<20} {:>5} {:<24} {:<7} {:<12} {:<13} {:<9} device key",
        "machine",
        "row",
        "enrolled",
        "epoch",
        "joined",
        "revoked",
        "replaces"
    );
    let in_force = store.group().epoch_at(clock::wall_time());
    let mut announced = BTreeSet::new();
    store.machines(|machine| {
        list_machine(&machine, in_force);
        announced.extend(machine.revoked_in.filter(|epoch| *epoch > in_force));
        Ok::<(), Failure>(())
    })?;
    for epoch in announced {
        say!("epoch {epoch} is announced{}", since(store.group(), epoch));
    }
    store.invitations()?.iter().for_each(list_invitation);
    Ok(())
}

fn list_invitation(invitation: &Invitation) {
    let (name, at) = (
        &invitation.name,
        clock::to_the_second(invitation.invited_at),
    );
    match invitation.offered {
        None => say!("{name}: invited at {at}, no request yet"),
        Some(epoch) => say!("{name}: invited at {at}, a device has an offer for epoch {epoch}"),
    }
}

fn list_machine(machine: &Machine, in_force: u32) {
    let entry = &machine.entry;
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let revoked = or_none(machine.revoked_in.map(|epoch| match epoch > in_force {
        true => format!("announced {epoch}"),
        false => format!("in epoch {epoch}"),
    }));
    let replaces = or_none(entry.replaces.map(|row| format!("row {row}")));
    let key = or_none(entry.fingerprint().map(|key| key.to_string()));
    say!(
        "{:<20} {:>5} {:<24} {:<7} {:<12} {revoked:<13} {replaces:<9} {key}",
        entry.name,
        entry.index,
        clock::to_the_second(machine.enrolled_at),
        entry.joined,
        entry.how.as_str(),
    );
}

fn list_epochs(group: &GroupFile) {
    say!("{:<7} {:<40} {:<31} change", "epoch", "id", "start");
    say!("{:<7} {:<40} {:<31} -", 0, id(group, 0), "-");
    let in_force = group.epoch_at(clock::wall_time());
    for record in group.epochs() {
        let announced = if record.epoch > in_force {
            ", announced"
        } else {
            ""
        };
        let epoch = record.epoch;
        let start = group.start(epoch).unwrap_or(record.start);
        say!(
            "{epoch:<7} {:<40} {:<31} {}{announced}",
            id(group, epoch),
            clock::rfc3339(start.as_nanos()),
            change(record)
        );
    }
}

fn change(record: &EpochRecord) -> String {
    match (&record.change, revoked_by(record)) {
        (Change::Steps(_), revoked) => format!("{revoked} revoked"),
        (Change::Rebase { .. }, 0) => "rebase".to_owned(),
        (Change::Rebase { .. }, revoked) => format!("rebase, {revoked} revoked"),
        (Change::Sharing(_), _) => "new opening key or trustees".to_owned(),
        (Change::Log(Some(log)), _) => format!("log {}", log.key().name()),
        (Change::Log(None), _) => "no log".to_owned(),
        (Change::End(_), _) => "the group ends".to_owned(),
    }
}

/// A group by its directory or its file.
fn load(path: &Path) -> Result<GroupFile, Failure> {
    match path.is_dir() {
        true => Ok(Store::open(path)?.group().clone()),
        false => read_group_file(path),
    }
}
