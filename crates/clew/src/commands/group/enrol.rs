//! `clew enrol`: the issuer's side.

use super::remote;
use crate::cli::{Enrol, GroupWitness};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::random;
use crate::secrets::{self, cannot_write};
use clew_evidence::{DeviceFingerprint, Name};
use clew_group::Scheme;
use clew_keys::encryption::Secret;
use clew_keys::files::{IfExists, MODE_SECRET, Pending};
use clew_keys::join::{AcceptanceFile, RequestFile, Round, round};
use clew_keys::{IssuerKeyFile, MemberKeyFile, TextFile};
use clew_manager::Store;
use std::path::Path;

pub fn enrol(arguments: &Enrol) -> Result<Status, Failure> {
    if let Some(url) = &arguments.manager {
        return remote::enrol(arguments, url);
    }
    let dir = arguments.dir.as_ref();
    let dir = dir.ok_or_else(|| Failure::new("no group is named"))?;
    let mut store = Store::open(dir)?;
    if let Some(prefix) = &arguments.invite_batch {
        return invite_batch(&mut store, arguments, prefix);
    }
    let output = match (&arguments.output, &arguments.machine) {
        (Some(output), _) => output,
        (None, Some(machine)) => return withdraw(&mut store, machine),
        (None, None) => return Err(Failure::new("no machine is named")),
    };
    secrets::check_named(output)?;
    let issuer = arguments.unlock.issuer(&store)?;
    match (&arguments.answer, &arguments.machine) {
        (Some(file), _) => answer(&mut store, &issuer, file, output)?,
        (None, Some(machine)) if arguments.invite => {
            let secret = arguments.seal.secret()?;
            invite(&mut store, &issuer, machine, output, secret.as_ref())?;
        }
        (None, Some(machine)) => {
            let secret = arguments.seal.secret()?;
            let key = issue(
                &mut store,
                &issuer,
                machine.clone(),
                output,
                secret.as_ref(),
            )?;
            tell(&key, output);
        }
        (None, None) => return Err(Failure::new("no machine is named")),
    }
    Ok(Status::Yes)
}

/// Enrols a machine on this host and writes its key. Room for the key is taken before the register
/// has the machine, and the key is written afterwards: a key that is on any disk is in the register.
fn issue(
    store: &mut Store,
    issuer: &IssuerKeyFile,
    machine: Name,
    output: &Path,
    secret: Option<&Secret>,
) -> Result<MemberKeyFile, Failure> {
    let pending = store.enrol(issuer, machine, clock::now_ns(), &mut random::os())?;
    let key = pending.key().clone();
    let enter = || Ok(pending.commit()?);
    secrets::write_once_entered(output, &key.encode(), &key.comment(), secret, enter)?;
    store.refresh()?;
    Ok(key)
}

/// Says what an enrolment on the issuer's host is.
fn tell(key: &MemberKeyFile, output: &Path) {
    let (machine, row) = (&key.machine, key.index);
    let epoch = key.epochs.first().map_or(0, |held| held.epoch);
    say!(
        "{machine} enrolled in epoch {epoch}, row {row}: {}",
        output.display()
    );
    if let Some(device) = &key.device {
        let fingerprint = DeviceFingerprint::of(&device.verifying_key().to_bytes());
        say!("  device key   {fingerprint}");
    }
    if key.scheme() == Scheme::Xr {
        say!("  joined       on the issuer's host: whoever controls it now could keep this key");
        say!("               and sign as {machine}. With --invite the machine joins from its own.");
    }
}

fn invite(
    store: &mut Store,
    issuer: &IssuerKeyFile,
    machine: &Name,
    output: &Path,
    secret: Option<&Secret>,
) -> Result<(), Failure> {
    if output.symlink_metadata().is_ok() {
        return Err(exists(output));
    }
    warn_of_others(store, machine)?;
    // Before the store has it: nobody could withdraw what was not given out.
    drop(
        Pending::create(output, MODE_SECRET, IfExists::Refuse)
            .map_err(|e| cannot_write(output, &e))?,
    );
    let invitation = store.invite(issuer, machine.clone(), clock::now_ns(), &mut random::os())?;
    write_new(output, &invitation, secret)?;
    say!("{machine} invited: {}", output.display());
    say!(
        "Give the file to that machine only: the first device that answers it joins as {machine}."
    );
    Ok(())
}

/// Gives a factory the right to invite, or withdraws it.
fn invite_batch(store: &mut Store, arguments: &Enrol, prefix: &Name) -> Result<Status, Failure> {
    let issuer = arguments.unlock.issuer(store)?;
    if arguments.withdraw {
        let removed = store.remove_factories(&issuer, prefix)?;
        let batches = if removed == 1 { "batch" } else { "batches" };
        say!("{removed} factory {batches} of {prefix} withdrawn: machines that joined stay");
        return Ok(Status::Yes);
    }
    let (Some(count), Some(until), Some(output)) =
        (arguments.count, &arguments.until, &arguments.output)
    else {
        let failure = Failure::new("need --count, --until and -o for a factory batch");
        return Err(failure.hint("clew help enrol"));
    };
    secrets::check_named(output)?;
    if output.symlink_metadata().is_ok() {
        return Err(exists(output));
    }
    let secret = arguments.seal.secret()?;
    let until = clock::parse_time(until)?;
    let times = [clock::now_ns(), until];
    let made = store.add_factory(&issuer, prefix.clone(), count, times, &mut random::os())?;
    write_new(output, &made, secret.as_ref())?;
    let until = clock::to_the_second(until);
    say!(
        "{count} machines {prefix}... may join until {until}: {}",
        output.display()
    );
    say!("Whoever has the file can join under these names. If it is stolen, withdraw it.");
    Ok(Status::Yes)
}

/// Warns if invitations of the same name are open: only one of them makes a machine.
fn warn_of_others(store: &Store, machine: &Name) -> Result<(), Failure> {
    if store.is_invited(machine)? {
        mention!(
            "clew: warning: {machine} already has an open invitation, and the first device that \
             answers any of them joins as {machine}; to withdraw all, run clew enrol DIR {machine} \
             --withdraw"
        );
    }
    Ok(())
}

fn withdraw(store: &mut Store, machine: &Name) -> Result<Status, Failure> {
    let withdrawn = match store.withdraw(machine)? {
        1 => "the invitation".to_owned(),
        several => format!("{several} invitations"),
    };
    say!("{withdrawn} of {machine} withdrawn: a device that answers is refused");
    Ok(Status::Yes)
}

/// `clew group witness`
pub fn witness(arguments: &GroupWitness) -> Result<Status, Failure> {
    let store = Store::open(&arguments.dir)?;
    let issuer = arguments.unlock.issuer(&store)?;
    let (machine, output) = (&arguments.machine, &arguments.out.output);
    let credential = store.witnesses(&issuer, machine, clock::now_ns())?;
    write(output, &credential)?;
    let epochs = credential
        .witnesses
        .iter()
        .map(|(epoch, _)| epoch.to_string());
    let epochs: Vec<String> = epochs.collect();
    let of = if epochs.len() == 1 { "epoch" } else { "epochs" };
    say!(
        "witnesses of {machine}, row {}, of {of} {}: {}",
        credential.index,
        epochs.join(", "),
        output.display()
    );
    say!("On the machine, run clew update --witness with this file. The file alone cannot sign.");
    Ok(Status::Yes)
}

/// Answers a file of a device.
fn answer(
    store: &mut Store,
    issuer: &IssuerKeyFile,
    file: &Path,
    output: &Path,
) -> Result<(), Failure> {
    let text = secrets::read_text(file)?;
    let failed = |error| Failure::file(file, error);
    match round(&text).map_err(failed)? {
        Some(Round::Request) => {
            let request = RequestFile::decode(&text).map_err(failed)?;
            offer(store, issuer, &request, output)
        }
        Some(Round::Acceptance) => {
            let acceptance = AcceptanceFile::decode(&text).map_err(failed)?;
            admit(store, issuer, &acceptance, output)
        }
        _ => {
            Err(Failure::file(file, "not a device's request or acceptance").hint("clew help join"))
        }
    }
}

fn offer(
    store: &mut Store,
    issuer: &IssuerKeyFile,
    request: &RequestFile,
    output: &Path,
) -> Result<(), Failure> {
    let offer = store.offer(issuer, request, clock::now_ns(), &mut random::os())?;
    write(output, &offer)?;
    let fingerprint = DeviceFingerprint::of(&request.device);
    say!("offered to device key {fingerprint}: {}", output.display());
    say!("Compare that fingerprint with the one that the device shows.");
    Ok(())
}

fn admit(
    store: &mut Store,
    issuer: &IssuerKeyFile,
    acceptance: &AcceptanceFile,
    output: &Path,
) -> Result<(), Failure> {
    let credential = store.admit(issuer, acceptance, clock::now_ns())?;
    write(output, &credential)?;
    let row = credential.index;
    let name = store.machine_at(row)?.map(|machine| machine.entry.name);
    let name = name.map_or(String::new(), |name| name.to_string());
    say!("{name} enrolled, row {row}: {}", output.display());
    let group_file = store.group_file_path();
    say!("Send it with the new {}.", group_file.display());
    Ok(())
}

/// Writes what lets somebody join, encrypted on request: with a secret that one TPM can open, only the
/// device that has this TPM joins.
fn write_new(output: &Path, file: &impl TextFile, secret: Option<&Secret>) -> Result<(), Failure> {
    let (text, comment) = (file.encode(), file.comment());
    secrets::write(output, &text, &comment, secret, IfExists::Refuse)
}

/// Writes a file of a join. A round that is repeated finds its own file there.
pub(super) fn write(output: &Path, file: &impl TextFile) -> Result<(), Failure> {
    secrets::write_same(output, &file.encode(), MODE_SECRET)
}

fn exists(output: &Path) -> Failure {
    Failure::file(output, "already exists").hint("use another name with -o")
}
