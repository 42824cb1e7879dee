//! `clew trustee begin`, `deal`, `check`, `finish`: one trustee's steps towards an opening key, with files.

use crate::cli::{InPlan, TrusteeBegin, TrusteeCheck, TrusteeDeal, TrusteeFinish};
use crate::commands::opening_key::{failed, read_deals, read_hellos, say_check_code};
use crate::failure::{Failure, Status};
use crate::groups::read_group_file;
use crate::random;
use crate::secrets::{self, Unlock};
use clew_evidence::short_epoch_id;
use clew_group::quorum::Trustee as Index;
use clew_keys::encryption::Secret;
use clew_keys::files::{IfExists, MODE_PUBLIC};
use clew_keys::{TextFile, TrusteeKeyFile};
use clew_trustee::dkg::{Deal, DkgError, Hello, Plan, State};
use std::path::Path;

pub fn begin(arguments: &TrusteeBegin) -> Result<Status, Failure> {
    let (of, output) = (&arguments.of, &arguments.out.output);
    let plan: Plan = secrets::read(&of.plan)?;
    let state = if of.state.exists() {
        begun(arguments, &plan)?
    } else {
        let old = old_key(arguments.key.as_deref(), &arguments.unlock)?;
        let index = arguments.index.map(Index::new).transpose();
        let index = index.map_err(Failure::new)?;
        let state = State::begin(&plan, index, old.as_ref(), &mut random::os()).map_err(failed)?;
        let secret = arguments.seal.secret()?;
        put(&of.state, &state, secret.as_ref(), IfExists::Refuse)?;
        state
    };
    let hello = state.hello();
    secrets::write_same(output, &hello.encode(), MODE_PUBLIC)?;
    say!(
        "{} begins: {}  (give it to everybody who deals)",
        hello.participant().name(),
        output.display()
    );
    say!("  state  {}  (SECRET: keep it here)", of.state.display());
    Ok(Status::Yes)
}

/// A state that is there already: its hello can be written again, for the same part of this plan.
fn begun(arguments: &TrusteeBegin, plan: &Plan) -> Result<State, Failure> {
    let path = &arguments.of.state;
    let (state, _) = load(path, &arguments.unlock)?;
    let other = |what: &str| {
        Failure::file(path, what).hint("use another --state: a state is never overwritten")
    };
    if state.check_plan(plan).is_err() {
        return Err(other("belongs to another plan"));
    }
    if state.trustee().map(Index::index) != arguments.index {
        return Err(other("belongs to another trustee"));
    }
    Ok(state)
}

pub fn deal(arguments: &TrusteeDeal) -> Result<Status, Failure> {
    let TrusteeDeal { of, unlock, .. } = arguments;
    let plan: Plan = secrets::read(&of.plan)?;
    let hellos = read_hellos(&arguments.hello, &plan)?;
    let _lock = secrets::lock(&of.state)?; // two runs would draw two deals
    let (mut state, secret) = load(&of.state, unlock)?;
    let other = |e| Failure::file(&of.state, e);
    state.check_plan(&plan).map_err(other)?;
    let old = old_key(arguments.key.as_deref(), unlock)?;
    let fresh = state.dealt().is_none();
    let deal = state.deal(&plan, old.as_ref(), &hellos, &mut random::os());
    let deal = deal.map_err(|error| match missing_old(&error, &plan, &hellos) {
        Some(failure) => failure,
        None => without_key(error, old.is_some()),
    })?;
    let deal = deal.clone();
    if fresh {
        put(&of.state, &state, secret.as_ref(), IfExists::Replace)?; // before the deal leaves
    }
    secrets::write_same(&arguments.out.output, &deal.encode(), MODE_PUBLIC)?;
    say!(
        "{} dealt: {}  (give it to all trustees and to the manager)",
        state.hello().participant().name(),
        arguments.out.output.display()
    );
    say_check_code(&deal.participants().context(&plan));
    say!("  Compare it with all others by voice before you hand out the deal. Whoever has");
    say!("  another check code received a swapped hello.");
    Ok(Status::Yes)
}

/// The hello of an old trustee that is missing. `None` if it is another failure.
fn missing_old(error: &DkgError, plan: &Plan, hellos: &[Hello]) -> Option<Failure> {
    let DkgError::NoHello { trustee } = *error else {
        return None;
    };
    plan.old_key()?;
    let is_here = |hello: &Hello| hello.participant().role.trustee() == Some(trustee);
    let needed = plan.quorum.all().contains(trustee) && !hellos.iter().any(is_here);
    (!needed).then(|| Failure::new(format!("old {trustee}: hello missing")))
}

/// Why there is no deal. That a key is wrong is said only if one was given.
fn without_key(error: DkgError, given: bool) -> Failure {
    match error {
        DkgError::OldKey if !given => Failure::new("the plan hands on an old key: need --key")
            .hint("use --key with the old trustee key"),
        error => failed(error),
    }
}

pub fn check(arguments: &TrusteeCheck) -> Result<Status, Failure> {
    let (plan, state, deals) = dealt(&arguments.of, &arguments.deal, &arguments.unlock)?;
    let received = state.receive(&plan, deals).map_err(left)?;
    say!("all deals to this trustee are valid");
    say_check_code(received.dealing().context());
    say!("  The manager can use these deals; then: clew trustee finish.");
    Ok(Status::Yes)
}

pub fn finish(arguments: &TrusteeFinish) -> Result<Status, Failure> {
    let (of, output) = (&arguments.of, &arguments.out.output);
    let (plan, state, deals) = dealt(of, &arguments.deal, &arguments.unlock)?;
    let group = read_group_file(&arguments.group)?;
    let received = state.receive(&plan, deals).map_err(left)?;
    let context = *received.dealing().context();
    let key = received.key(&group).map_err(failed)?;
    let secret = arguments.seal.secret()?;
    secrets::write_key(output, &key, secret.as_ref())?;
    say!(
        "{} key of group {}: {}",
        key.trustee(),
        group.genesis().name,
        output.display()
    );
    say_check_code(&context);
    if let Some(id) = group.epoch_id(key.since) {
        say!("  epoch {}     {}", key.since, short_epoch_id(&id));
    }
    say!(
        "  Compare both with all others by voice. If all agree, delete {}",
        of.state.display()
    );
    Ok(Status::Yes)
}

fn dealt(
    of: &InPlan,
    deals: &[std::path::PathBuf],
    unlock: &Unlock,
) -> Result<(Plan, State, Vec<Deal>), Failure> {
    let plan: Plan = secrets::read(&of.plan)?;
    let deals = read_deals(deals, &plan)?;
    let (state, _) = load(&of.state, unlock)?;
    let other = |e| Failure::file(&of.state, e);
    state.check_plan(&plan).map_err(other)?;
    Ok((plan, state, deals))
}

fn load(path: &Path, unlock: &Unlock) -> Result<(State, Option<Secret>), Failure> {
    if !path.exists() {
        return Err(
            Failure::file(path, "state does not exist").hint("clew trustee begin writes it")
        );
    }
    let (text, secret) = unlock.read(path)?;
    let state = State::decode(&text).map_err(|e| Failure::file(path, e))?;
    Ok((state, secret))
}

fn put(
    path: &Path,
    state: &State,
    secret: Option<&Secret>,
    if_exists: IfExists,
) -> Result<(), Failure> {
    secrets::write(path, &state.encode(), &state.comment(), secret, if_exists)
}

fn old_key(path: Option<&Path>, unlock: &Unlock) -> Result<Option<TrusteeKeyFile>, Failure> {
    let load = |path| unlock.load(path, TrusteeKeyFile::decode);
    path.map(load).transpose()
}

/// Who leaves gets nothing, and has something to forget.
fn left(error: DkgError) -> Failure {
    match error {
        DkgError::NoShare => Failure::new(error).hint(
            "the deals are valid. When all others have finished, delete the state and the old key",
        ),
        error => failed(error),
    }
}
