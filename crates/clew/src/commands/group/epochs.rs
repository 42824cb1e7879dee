//! `clew revoke` and `clew group rebase`: new epochs.

use crate::cli::{GroupRebase, GroupSetLog, LogName, Revoke, Start};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::progress::while_counting;
use crate::secrets::Unlock;
use clew_evidence::{Change, GroupFile, GroupLog, Name};
use clew_manager::{EpochStart, Store, StoreError};
use std::path::Path;

pub fn revoke(arguments: &Revoke) -> Result<Status, Failure> {
    let names: Vec<String> = arguments.machine.iter().map(Name::to_string).collect();
    if arguments.batch {
        return queue(arguments, &names);
    }
    let revoked = Epoch {
        dir: &arguments.dir,
        machines: &arguments.machine,
        rebase: arguments.rebase,
        start: &arguments.start,
        unlock: &arguments.unlock,
    };
    revoked.make(&format!("{} revoked", names.join(", ")))
}

/// Leaves the machines to the service.
fn queue(arguments: &Revoke, names: &[String]) -> Result<Status, Failure> {
    let mut store = Store::open(&arguments.dir)?;
    check_names(&store, &arguments.machine)?;
    store.queue(&arguments.machine, clock::now_ns())?;
    say!("{} queued for the next epoch", names.join(", "));
    say!("clew manager serve --epoch-every makes it.");
    Ok(Status::Yes)
}

pub fn rebase(arguments: &GroupRebase) -> Result<Status, Failure> {
    let rebased = Epoch {
        dir: &arguments.dir,
        machines: &[],
        rebase: true,
        start: &arguments.start,
        unlock: &arguments.unlock,
    };
    rebased.make("rebase")
}

pub fn set_log(arguments: &GroupSetLog) -> Result<Status, Failure> {
    let when = when(&arguments.start)?;
    let mut store = Store::open(&arguments.dir)?;
    // A service writes into the log that the group had at its start.
    let _alone = Store::lock_service(&arguments.dir)?;
    let issuer = arguments.unlock.issuer(&store)?;
    let before = store.group().clone();
    let (log, what) = match &arguments.log {
        LogName::Log(log) => (
            Some(GroupLog::clone(log)),
            format!("log {}", log.key().name()),
        ),
        LogName::None => (None, "no log".to_owned()),
    };
    let epoch = store.set_log(&issuer, log, when)?;
    let start = clock::to_the_second(when.start);
    say!("{what}: epoch {epoch} starts at {start}");
    tell_brought_forward(&before, store.group());
    tell_what_to_publish(&store, epoch);
    Ok(Status::Yes)
}

/// The epoch to make.
struct Epoch<'a> {
    dir: &'a Path,
    machines: &'a [Name],
    rebase: bool,
    start: &'a Start,
    unlock: &'a Unlock,
}

impl Epoch<'_> {
    fn make(&self, what: &str) -> Result<Status, Failure> {
        let when = when(self.start)?;
        let mut store = Store::open(self.dir)?;
        check_names(&store, self.machines)?;
        let issuer = self.unlock.issuer(&store)?;
        let before = store.group().clone();
        let epoch = while_counting("computing the witnesses of this epoch", |progress| {
            store.revoke(&issuer, self.machines, self.rebase, when, progress)
        })?;
        let start = clock::to_the_second(when.start);
        say!("{what}: epoch {epoch} starts at {start}");
        tell_brought_forward(&before, store.group());
        tell_what_to_publish(&store, epoch);
        Ok(Status::Yes)
    }
}

/// Refuses a name that no machine has, before another one of them is looked at.
fn check_names(store: &Store, names: &[Name]) -> Result<(), Failure> {
    for name in names {
        if store.machine(name.as_str())?.is_none() {
            return Err(StoreError::NoSuchMachine(name.to_string()).into());
        }
    }
    Ok(())
}

/// When a new epoch is made and starts, as it was asked for.
pub fn when(start: &Start) -> Result<EpochStart, Failure> {
    let now = clock::now_ns();
    let at = match start.at.as_str() {
        "now" => now,
        time => clock::parse_time(time)?,
    };
    Ok(EpochStart {
        now,
        start: at,
        far: start.far,
    })
}

/// Planned epochs that now start earlier.
pub fn tell_brought_forward(before: &GroupFile, after: &GroupFile) {
    for epoch in 1..=before.newest_epoch() {
        if before.start(epoch) > after.start(epoch) {
            say!("Epoch {epoch}, planned for later, starts at the same time.");
        }
    }
}

fn tell_what_to_publish(store: &Store, epoch: u32) {
    let group_file = store.group_file_path();
    let change = store.group().record(epoch).map(|record| &record.change);
    if matches!(change, Some(Change::Rebase { .. })) {
        let witnesses = store.witnesses_path();
        say!(
            "Give everybody the new {} and {};",
            group_file.display(),
            witnesses.display()
        );
        say!("machines run clew update --witness with that folder.");
    } else {
        say!(
            "Give everybody the new {}; machines run clew update.",
            group_file.display()
        );
    }
}
