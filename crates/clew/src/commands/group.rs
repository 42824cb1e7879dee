//! `clew group`, `enrol`, `revoke`, `update`: the life of a group.

use super::{opening_key, register};
use crate::cli::{Enrol, Group, GroupCreate, GroupPath, Revoke, Update};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::keyring::read_group_file;
use crate::random;
use crate::report;
use crate::secrets;
use clew_evidence::{GroupFile, Name, Origin};
use clew_group::Scheme;
use clew_group::quorum::Quorum;
use clew_manager::Store;
use clew_manager::keys::{IssuerKeyFile, MemberKeyFile};
use clew_manager::sealed::Secret;
use clew_manager::update::{UpdateError, update as follow};
use std::path::Path;

const BBS04_WARNING: &str =
    "With bbs04 the issuer knows every machine's key and could sign as any of them.";

pub fn run(arguments: &Group) -> Result<Status, Failure> {
    match arguments {
        Group::Plan(arguments) => opening_key::plan(arguments),
        Group::Reopen(arguments) => opening_key::reopen(arguments),
        Group::Create(arguments) => match &arguments.plan {
            Some(plan) => opening_key::create(arguments, plan),
            None => create(arguments),
        },
        Group::Show(GroupPath { path }) => show(path),
        Group::List(GroupPath { path }) => list(path),
        Group::Register(arguments) => register::export(arguments),
    }
}

fn create(arguments: &GroupCreate) -> Result<Status, Failure> {
    let secret = arguments.seal.secret()?;
    let (name, now) = (arguments.name.clone(), clock::now_ns());
    let (threshold, trustees) = (arguments.threshold, arguments.trustees);
    let quorum = Quorum::new(threshold, trustees).map_err(|_| {
        Failure::new(format!(
            "{threshold} of {trustees} trustees cannot open together"
        ))
    })?;
    let made = Store::create(
        &arguments.dir,
        name,
        arguments.scheme.into(),
        quorum,
        now,
        secret.as_ref(),
        &mut random::os(),
    )?;
    let group = made.store.group();
    say!("group {} created: {}", group.genesis().name, group.id());
    say!(
        "  group file   {}  (public: give it to everybody)",
        made.store.group_file_path().display()
    );
    say!(
        "  issuer key   {}  (keep it here)",
        made.store.issuer_key_path().display()
    );
    for (i, key) in (1..).zip(&made.trustee_keys) {
        say!(
            "  trustee {i}    {}  (give it to its trustee, and delete it here)",
            key.display()
        );
    }
    let who = match threshold {
        1 if trustees == 1 => "The one trustee opens alone.".to_owned(),
        1 => format!("Each of {trustees} trustees opens alone."),
        _ => format!("Any {threshold} of {trustees} trustees open together."),
    };
    say!("{who} Their key was dealt here: until the shares");
    say!(
        "are gone from this host, and if somebody kept them, packets can be opened without asking anybody."
    );
    if group.scheme() == Scheme::Bbs04 {
        say!("{BBS04_WARNING}");
    }
    Ok(Status::Yes)
}

pub fn enrol(arguments: Enrol) -> Result<Status, Failure> {
    let Enrol {
        dir,
        machine,
        output,
        unlock,
        seal,
    } = arguments;
    let mut store = Store::open(&dir)?;
    let issuer = unlock.load(&store.issuer_key_path(), IssuerKeyFile::decode)?;
    let secret = seal.secret()?;
    let key = issue(&mut store, &issuer, machine, &output, secret.as_ref())?;
    let (machine, epoch) = (&key.machine, key.epoch);
    say!("{machine} enrolled in epoch {epoch}: {}", output.display());
    Ok(Status::Yes)
}

/// Enrols a machine and writes its key. The key is written and synced before the register commits to
/// it, and named afterwards: a key that exists is always in the register.
pub fn issue(
    store: &mut Store,
    issuer: &IssuerKeyFile,
    machine: Name,
    output: &Path,
    secret: Option<&Secret>,
) -> Result<MemberKeyFile, Failure> {
    let pending = store.enrol(issuer, machine, clock::now_ns(), &mut random::os())?;
    let key = pending.key().clone();
    let written = secrets::prepare(output, &key.encode(), &key.comment(), secret, false)?;
    pending.commit()?;
    written
        .commit()
        .map_err(|e| secrets::cannot_write(output, &e))?;
    store.refresh()?;
    Ok(key)
}

/// Replaces a machine's key.
pub fn replace(path: &Path, key: &MemberKeyFile, secret: Option<&Secret>) -> Result<(), Failure> {
    secrets::prepare(path, &key.encode(), &key.comment(), secret, true)?
        .commit()
        .map_err(|e| secrets::cannot_write(path, &e))
}

pub fn revoke(arguments: &Revoke) -> Result<Status, Failure> {
    let now = clock::now_ns();
    let start = clock::parse_time(&arguments.at)?;
    let mut store = Store::open(&arguments.dir)?;
    let issuer = arguments
        .unlock
        .load(&store.issuer_key_path(), IssuerKeyFile::decode)?;
    let machine = arguments.machine.as_str();
    let epoch = store
        .revoke(&issuer, machine, start, now)
        .map_err(|error| match error {
            clew_manager::StoreError::StartTooEarly { newest } => Failure::new(&error).hint(
                format!("the newest epoch starts at {}", clock::rfc3339(newest)),
            ),
            other => Failure::from(other),
        })?;
    say!(
        "{machine} revoked: epoch {epoch} starts at {}",
        clock::to_the_second(start)
    );
    say!(
        "Give everybody the new {}; machines run clew update.",
        store.group_file_path().display()
    );
    Ok(Status::Yes)
}

pub fn update(arguments: &Update) -> Result<Status, Failure> {
    let group = read_group_file(&arguments.group)?;
    let (text, secret) = arguments.unlock.read(&arguments.key)?;
    let key = MemberKeyFile::decode(&text).map_err(|e| Failure::file(&arguments.key, e))?;
    let updated = follow(&key, &group).map_err(|e| refused(&arguments.key, &e))?;
    if updated.epoch == key.epoch {
        say!("{} is at epoch {} already", key.machine, key.epoch);
        return Ok(Status::Yes);
    }
    replace(&arguments.key, &updated, secret.as_ref())?;
    say!("{}: epoch {} to {}", key.machine, key.epoch, updated.epoch);
    if let Some(start) = group
        .start(updated.epoch)
        .filter(|start| *start > clock::now_ns())
    {
        say!(
            "That epoch starts at {}: until then it marks who signs in it.",
            clock::to_the_second(start)
        );
    }
    Ok(Status::Yes)
}

fn refused(path: &Path, error: &UpdateError) -> Failure {
    let failure = Failure::file(path, error);
    match error {
        UpdateError::Revoked { .. } => failure.no(),
        UpdateError::KeyIsNewer { .. } => failure.hint("get the newest group file"),
        _ => failure,
    }
}

fn show(path: &Path) -> Result<Status, Failure> {
    let group = load(path)?;
    let (genesis, register) = (group.genesis(), group.register());
    say!("group     {}", genesis.name);
    say!("id        {}", group.id());
    say!("scheme    {}", group.scheme());
    if group.scheme() == Scheme::Bbs04 {
        say!("          {BBS04_WARNING}");
    }
    say!("opening   {}", opening(&group));
    say!("created   {}", clock::to_the_second(genesis.created));
    match group.start(group.newest_epoch()) {
        Some(start) => say!(
            "epoch     {} from {}",
            group.newest_epoch(),
            clock::to_the_second(start)
        ),
        None => say!("epoch     0"),
    }
    say!(
        "machines  {} enrolled, {} revoked",
        register.machines,
        group.revoked_until(group.newest_epoch()).len()
    );
    say!("manager   {}", report::hex(&genesis.manager));
    say!(
        "register  {} at {}",
        report::hex(&register.root),
        clock::to_the_second(register.time)
    );
    Ok(Status::Yes)
}

/// Who opens packets of the newest epoch.
fn opening(group: &GroupFile) -> String {
    let Some((_, sharing)) = group.sharing_record(group.newest_epoch()) else {
        return "unknown".to_owned();
    };
    let (t, n) = (sharing.quorum.threshold(), sharing.quorum.trustees());
    let origin = match sharing.origin {
        Origin::Dealt => "dealt: whoever dealt the key could open alone",
        Origin::Distributed => "made by the trustees together: nobody ever had the whole key",
    };
    format!("by {t} of {n} trustees; {origin}")
}

fn list(path: &Path) -> Result<Status, Failure> {
    if path.is_dir() {
        list_machines(&Store::open(path)?)?;
    } else {
        list_epochs(&read_group_file(path)?);
    }
    Ok(Status::Yes)
}

fn list_machines(store: &Store) -> Result<(), Failure> {
    say!(
        "{:<24} {:<24} {:<7} revoked",
        "machine",
        "enrolled",
        "epoch"
    );
    store.machines(|machine| {
        let revoked = machine
            .revoked_in
            .map_or("-".to_owned(), |e| format!("in epoch {e}"));
        let enrolled = clock::to_the_second(machine.enrolled_at);
        say!(
            "{:<24} {enrolled:<24} {:<7} {revoked}",
            machine.entry.name,
            machine.entry.joined
        );
        Ok::<(), Failure>(())
    })
}

fn list_epochs(group: &GroupFile) {
    say!("{:<7} start", "epoch");
    say!("{:<7} -", 0);
    for record in group.epochs() {
        say!("{:<7} {}", record.epoch, clock::rfc3339(record.start));
    }
}

/// A group by its directory or its file.
fn load(path: &Path) -> Result<GroupFile, Failure> {
    match path.is_dir() {
        true => Ok(Store::open(path)?.group().clone()),
        false => read_group_file(path),
    }
}
