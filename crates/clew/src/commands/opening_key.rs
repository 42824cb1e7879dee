//! Opening keys that trustees make: the manager's steps, and what they share with the trustees'.

use super::group::{found, tell_brought_forward, tell_created, when};
use super::manager::ready_on_board;
use crate::cli::{GroupCreate, GroupPlan, GroupReopen};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::groups::read_group_file;
use crate::random;
use crate::secrets;
use clew_evidence::{GroupFile, short_form};
use clew_group::quorum::{Quorum, Set, Trustee};
use clew_keys::TextFile;
use clew_keys::files::MODE_PUBLIC;
use clew_manager::{NewGroup, Store, StoreError};
use clew_trustee::dkg::{Deal, Dealing, DkgError, Hello, Plan, Purpose};
use std::path::{Path, PathBuf};

pub fn plan(arguments: &GroupPlan) -> Result<Status, Failure> {
    let quorum = Quorum::new(arguments.threshold, arguments.trustees).map_err(Failure::new)?;
    let plan = match (&arguments.name, &arguments.group) {
        (Some(name), _) => Plan::founding(name.clone(), quorum, &mut random::os()),
        (None, Some(path)) => for_group(arguments, &read_group_file(path)?, quorum)?,
        (None, None) => return Err(Failure::new("need --name or --group")),
    };
    secrets::write_same(&arguments.out.output, &plan.encode(), MODE_PUBLIC)?;
    let what = match plan.purpose {
        Purpose::Founding => "opening key of the new group",
        Purpose::NewKey(_) => "new opening key of group",
        Purpose::Resharing { .. } => "opening key, handed on, of group",
    };
    let (t, n) = (quorum.threshold(), quorum.trustees());
    say!(
        "plan: {}  (give it to everybody who takes part)",
        arguments.out.output.display()
    );
    say!(
        "  {what} {}: any {t} of {n} trustees open together",
        plan.name
    );
    say!("  Next, each of them: clew trustee begin");
    Ok(Status::Yes)
}

fn for_group(arguments: &GroupPlan, group: &GroupFile, quorum: Quorum) -> Result<Plan, Failure> {
    let mut rng = random::os();
    let plan = if arguments.reshare {
        let from = arguments.with.iter().map(|index| Trustee::new(*index));
        let from: Result<Vec<_>, _> = from.collect();
        let from = from.and_then(Set::of).map_err(Failure::new)?;
        Plan::resharing(group, from, quorum, &mut rng)
    } else {
        Plan::new_key(group, quorum, &mut rng)
    };
    plan.map_err(failed)
}

/// `clew group create` with an opening key that trustees made.
pub fn create(arguments: &GroupCreate, plan: &Path) -> Result<Status, Failure> {
    let dealing = dealing(plan, &arguments.deal)?;
    let group = NewGroup::with_dkg(dealing.clone(), clock::now_ns()).map_err(failed)?;
    let named = arguments.name.as_ref();
    if named.is_some_and(|name| *name != group.name) {
        let message = format!("the plan is for a group named {}", group.name);
        return Err(Failure::file(plan, message).hint("omit --name, or make another plan"));
    }
    let made = found(arguments, group)?;
    tell_created(&made);
    let quorum = dealing.sharing().quorum();
    say_check_code(dealing.context());
    let (t, n) = (quorum.threshold(), quorum.trustees());
    say!(
        "Any {t} of {n} trustees open together. They generated the opening key (DKG): nobody holds \
         it."
    );
    say!("Next, each trustee: clew trustee finish, with this group file.");
    Ok(Status::Yes)
}

pub fn reopen(arguments: &GroupReopen) -> Result<Status, Failure> {
    let when = when(&arguments.start)?;
    let (dealing, trustees) = match (&arguments.plan, &arguments.from_board) {
        (Some(plan), _) => (dealing(plan, &arguments.deal)?, Vec::new()),
        (None, Some(id)) => ready_on_board(&arguments.dir, id)?,
        (None, None) => return Err(Failure::new("need --plan or --from-board")),
    };
    let mut store = Store::open(&arguments.dir)?;
    let issuer = arguments.unlock.issuer(&store)?;
    let before = store.group().clone();
    let epoch = store.reopen(&issuer, &dealing, when).map_err(refused)?;
    store.seat_trustees(epoch, &trustees, clock::now_ns())?; // a repeated command does what a killed one left
    let start = store.group().start(epoch);
    let start = start.map_or(when.start, |start| start.as_nanos());
    let what = match dealing.plan().purpose {
        Purpose::Resharing { .. } => "other trustees",
        _ => "a new opening key",
    };
    say!(
        "{what}: epoch {epoch} starts at {}",
        clock::to_the_second(start)
    );
    tell_brought_forward(&before, store.group());
    say_check_code(dealing.context());
    let next = match arguments.from_board {
        Some(_) => "trustees' clew trustee serve finishes by itself",
        None => "trustees run clew trustee finish",
    };
    say!(
        "Give everybody the new {}; {next}.",
        store.group_file_path().display()
    );
    Ok(Status::Yes)
}

/// The deals of a plan, checked.
fn dealing(plan: &Path, deals: &[PathBuf]) -> Result<Dealing, Failure> {
    let plan: Plan = secrets::read(plan)?;
    let deals = read_deals(deals, &plan)?;
    Dealing::gather(&plan, deals).map_err(failed)
}

fn refused(error: StoreError) -> Failure {
    match error {
        StoreError::Dkg(error) => failed(error),
        error => error.into(),
    }
}

/// Names the run of a plan, for people to compare.
pub fn say_check_code(context: &[u8; 32]) {
    say!("  check code  {}", short_form(context));
}

/// What went wrong in making a key. That a trustee cheated is a no.
pub fn failed(error: DkgError) -> Failure {
    let failure = Failure::new(error);
    if let Some(trustee) = error.culprit() {
        return failure.no().hint(format!(
            "compare check codes with {trustee}: if they agree, make a new plan without it"
        ));
    }
    match error {
        DkgError::OwnHello | DkgError::OwnDeal => failure
            .hint("use the --state that wrote it. If it is that one, compare check codes by voice"),
        DkgError::Hellos { .. } => {
            failure.hint("compare check codes by voice to find out who got another hello")
        }
        DkgError::Purpose => failure
            .hint("use clew group create for a new group, clew group reopen for an existing one"),
        DkgError::DealtBefore => {
            failure.hint("use the --hello files that it dealt to, or start a new plan")
        }
        DkgError::Record => {
            failure.hint("get the newest group file. If the error remains, do not use the key")
        }
        DkgError::HelloSignature { trustee } | DkgError::DealSignature { trustee } => {
            failure.hint(format!("get the file from {trustee} again"))
        }
        DkgError::Stale => failure.hint("make a new plan from the newest group file"),
        _ => failure,
    }
}

/// Reads deals of a plan.
pub fn read_deals(paths: &[PathBuf], plan: &Plan) -> Result<Vec<Deal>, Failure> {
    read_each(paths, |deal: &Deal| deal.check_plan(plan))
}

/// Reads hellos of a plan.
pub fn read_hellos(paths: &[PathBuf], plan: &Plan) -> Result<Vec<Hello>, Failure> {
    read_each(paths, |hello: &Hello| hello.check_plan(plan))
}

fn read_each<T: TextFile>(
    paths: &[PathBuf],
    check: impl Fn(&T) -> Result<(), DkgError>,
) -> Result<Vec<T>, Failure> {
    let one = |path: &PathBuf| {
        let file = secrets::read(path)?;
        check(&file).map_err(|e| Failure::file(path, e))?;
        Ok(file)
    };
    paths.iter().map(one).collect()
}
