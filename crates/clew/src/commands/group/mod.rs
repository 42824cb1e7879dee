//! `clew group`, `enrol`, `join`, `revoke`, `update`: the life of a group.

mod describe;
mod end;
mod enrol;
mod epochs;
mod follow;
mod join;
mod logged;
mod remote;
mod update;

pub use enrol::enrol;
use enrol::witness;
pub use epochs::{revoke, tell_brought_forward, when};
pub use follow::jittered;
pub use join::join;
pub use remote::{NEEDS_PIN, lacks_pin, unanswered};
pub use update::update;

use super::{log, opening_key, register};
use crate::cli::{Group, GroupCreate, GroupPath};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::random;
use clew_evidence::{GroupLog, Name};
use clew_group::Scheme;
use clew_group::quorum::Quorum;
use clew_manager::{Created, LOG, NewGroup, Opening, Store};

const BBS04_WARNING: &str =
    "With bbs04 the issuer knows every machine's key and could sign as any of them.";

pub fn run(arguments: &Group) -> Result<Status, Failure> {
    match arguments {
        Group::Plan(arguments) => opening_key::plan(arguments),
        Group::Create(arguments) => match (&arguments.plan, &arguments.name) {
            (Some(plan), _) => opening_key::create(arguments, plan),
            (None, Some(name)) => create(arguments, name),
            (None, None) => Err(Failure::new("need --name or --plan")),
        },
        Group::Reopen(arguments) => opening_key::reopen(arguments),
        Group::Show(GroupPath { path }) => describe::show(path),
        Group::List(GroupPath { path }) => describe::list(path),
        Group::Rebase(arguments) => epochs::rebase(arguments),
        Group::SetLog(arguments) => epochs::set_log(arguments),
        Group::End(arguments) => end::end(arguments),
        Group::Register(arguments) => register::export(arguments),
        Group::Witness(arguments) => witness(arguments),
    }
}

fn create(arguments: &GroupCreate, name: &Name) -> Result<Status, Failure> {
    let (threshold, trustees) = (arguments.threshold, arguments.trustees);
    let quorum = Quorum::new(threshold, trustees).map_err(|_| {
        Failure::new(format!(
            "--threshold {threshold} is larger than --trustees {trustees}"
        ))
    })?;
    let group = NewGroup {
        name: name.clone(),
        scheme: arguments.scheme.into(),
        opening: Opening::TrustedDealer(quorum),
        log: None,
        now: clock::now_ns(),
    };
    let made = found(arguments, group)?;
    tell_created(&made);
    tell_who_opens(quorum);
    if made.store.group().scheme() == Scheme::Bbs04 {
        say!("{BBS04_WARNING}");
    }
    Ok(Status::Yes)
}

/// Founds a group with the log that the arguments name, or with a new one of its own.
pub fn found(arguments: &GroupCreate, group: NewGroup) -> Result<Created, Failure> {
    let secret = arguments.seal.secret()?;
    let (dir, secret, rng) = (&arguments.dir, secret.as_ref(), &mut random::os());
    let database = arguments.database.as_deref();
    let own = arguments.with_log.then(|| {
        let origin = arguments.log_origin.as_ref().unwrap_or(&group.name);
        log::new_key(origin)
    });
    let own = own.transpose()?;
    let log = match &own {
        Some(key) => Some(GroupLog::new(key.public().clone()).map_err(Failure::new)?),
        None => arguments.log.as_deref().cloned(),
    };
    let group = NewGroup { log, ..group };
    Store::create_with(dir, database, group, secret, rng, |dir, group| match &own {
        Some(key) => log::create_for(&dir.join(LOG), key, secret, group),
        None => Ok(()),
    })
}

/// Says where everything of a new group is.
pub fn tell_created(made: &Created) {
    let (store, group) = (&made.store, made.store.group());
    say!("group {} created: {}", group.genesis().name, group.id());
    say!(
        "  group file   {}  (public: give it to everybody)",
        store.group_file_path().display()
    );
    say!(
        "  issuer key   {}  (keep it here)",
        store.issuer_key_path().display()
    );
    if let Some(log) = group.newest_log() {
        say!("  log          {}", log.key());
    }
    for (i, key) in (1..).zip(&made.trustee_keys) {
        say!(
            "  trustee {i}    {}  (give it to its trustee, and delete it here)",
            key.display()
        );
    }
}

fn tell_who_opens(quorum: Quorum) {
    let (threshold, trustees) = (quorum.threshold(), quorum.trustees());
    match threshold {
        1 if trustees == 1 => say!("The one trustee opens alone."),
        1 => say!("Each of {trustees} trustees opens alone."),
        _ => say!("Any {threshold} of {trustees} trustees open together."),
    }
    say!("This host generated the opening key and all shares: it was the trusted dealer.");
    say!("Until you delete the shares here, whoever controls this host can open packets alone.");
}
