//! `clew group`, `enrol`, `join`, `revoke`, `update`: the life of a group.

mod describe;
mod enrol;
mod epochs;
mod follow;
mod join;
mod remote;
mod update;

pub use enrol::enrol;
use enrol::witness;
pub use epochs::{revoke, tell_brought_forward, when};
pub use follow::jittered;
pub use join::join;
pub use remote::unanswered;
pub use update::update;

use super::{opening_key, register};
use crate::cli::{Group, GroupCreate, GroupPath};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::random;
use clew_evidence::Name;
use clew_group::Scheme;
use clew_group::quorum::Quorum;
use clew_manager::{Created, NewGroup, Opening, Store};

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
        Group::Register(arguments) => register::export(arguments),
        Group::Witness(arguments) => witness(arguments),
    }
}

fn create(arguments: &GroupCreate, name: &Name) -> Result<Status, Failure> {
    let secret = arguments.seal.secret()?;
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
        log: arguments.log.as_deref().cloned(),
        now: clock::now_ns(),
    };
    let made = Store::create(&arguments.dir, group, secret.as_ref(), &mut random::os())?;
    tell_created(&made);
    tell_who_opens(quorum);
    if made.store.group().scheme() == Scheme::Bbs04 {
        say!("{BBS04_WARNING}");
    }
    Ok(Status::Yes)
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
