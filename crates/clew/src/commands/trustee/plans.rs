//! Key generations on the board: plans that arrived, and the steps of those that were approved.

use super::home::{Home, get, make_folder, put, remove};
use super::serve::Context;
use crate::commands::opening_key::failed;
use crate::failure::Failure;
use crate::random;
use crate::secrets;
use clew_evidence::short_form;
use clew_keys::post::Post;
use clew_manager::POST_PLAN;
use clew_trustee::dkg::round::{POST_DEAL, POST_HELLO, Round, Standing, Stop};
use clew_trustee::dkg::{Own, Proposal, State, Step};
use clew_wire::Hex;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Digits of a topic that name its plan for people: 64 bits, and a plan is never found by them alone.
const ID_DIGITS: usize = 16;

/// Most plans that wait for the operator: a manager may post plans without end.
const WAITING_MAX: usize = 64;

/// A plan on this trustee's disk.
pub struct KeptPlan {
    pub id: String,
    pub proposal: Proposal,
    folder: PathBuf,
}

/// What the operator answered, or what came of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Waiting,
    Approved,
    Refused,
    Stopped,
    Done,
}

impl Answer {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Approved => "approved",
            Self::Refused => "refused",
            Self::Stopped => "stopped",
            Self::Done => "done",
        }
    }
}

/// The name of a topic's folder.
pub fn id_of(topic: &[u8; 32]) -> String {
    let mut id = Hex(topic).to_string();
    id.truncate(ID_DIGITS);
    id
}

/// Keeps a plan of the manager in which this trustee has a seat, and tells the operator.
pub fn arrived(context: &Context, posts: &[Post]) -> Result<(), Failure> {
    let manager = context.group.genesis().manager;
    let proposal = posts.iter().find_map(|post| {
        let is_plan = post.kind == POST_PLAN && post.author == manager;
        let proposal = is_plan.then(|| Proposal::decode(&post.body)).flatten()?;
        (proposal.topic() == post.topic).then_some(proposal)
    });
    let own = context.board.author();
    let Some(proposal) = proposal.filter(|proposal| proposal.seat_of(&own).is_some()) else {
        return Ok(());
    };
    let id = id_of(&proposal.topic());
    let folder = context.home.path("plans").join(&id);
    if folder.join("plan").exists() {
        return Ok(());
    }
    if waiting(&context.home)? >= WAITING_MAX {
        mention!("clew: plan {id} is left out: {WAITING_MAX} plans wait for your answer already");
        return Ok(());
    }
    make_folder(&folder)?;
    put(&folder.join("plan"), &proposal.encode())?;
    let dir = context.home.dir().display();
    mention!("clew: plan {id} waits for your answer: clew trustee list {dir}");
    Ok(())
}

/// How many plans wait for the operator.
fn waiting(home: &Home) -> Result<usize, Failure> {
    let mut waiting = 0;
    for plan in all(home)? {
        waiting += usize::from(plan.answer()? == Answer::Waiting);
    }
    Ok(waiting)
}

/// All plans of a trustee. One that is damaged does not keep others from it.
pub fn all(home: &Home) -> Result<Vec<KeptPlan>, Failure> {
    Ok(read(home)?.0)
}

/// All plans, and the folders of those that are damaged.
pub fn read(home: &Home) -> Result<(Vec<KeptPlan>, Vec<PathBuf>), Failure> {
    let path = home.path("plans");
    let failed = |error| Failure::io(&path, &error);
    let (mut plans, mut damaged) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(&path).map_err(failed)? {
        let folder = entry.map_err(failed)?.path();
        // A folder without a plan is one that a killed process began.
        let Some(bytes) = get(&folder.join("plan"))? else {
            continue;
        };
        let Some(proposal) = Proposal::decode(&bytes) else {
            damaged.push(folder);
            continue;
        };
        let id = id_of(&proposal.topic());
        plans.push(KeptPlan {
            id,
            proposal,
            folder,
        });
    }
    plans.sort_by(|one, other| one.id.cmp(&other.id));
    Ok((plans, damaged))
}

/// The one plan with an id that begins so.
pub fn find(home: &Home, id: &str) -> Result<KeptPlan, Failure> {
    let mut found = all(home)?;
    found.retain(|plan| plan.id.starts_with(id));
    match (found.pop(), found.is_empty()) {
        (Some(plan), true) => Ok(plan),
        (Some(_), false) => Err(Failure::new(format!("{id}: several plans begin so"))),
        (None, _) => Err(Failure::new(format!("{id}: no such plan"))
            .hint(format!("clew trustee list {}", home.dir().display()))),
    }
}

/// Works on every approved plan, as far as it goes now.
///
/// # Errors
/// The disk. Why a plan cannot go on is said once, and stays in its status: it keeps neither another plan nor a
/// request from its turn.
pub async fn turn(context: &mut Context) -> Result<(), Failure> {
    for plan in all(&context.home)? {
        if plan.has_work(context)? {
            let trouble = plan.go(context).await.err().map(|failure| failure.message);
            plan.put_trouble(trouble.as_deref())?;
        }
    }
    Ok(())
}

impl KeptPlan {
    pub fn answer(&self) -> Result<Answer, Failure> {
        if self.folder.join("done").exists() {
            return Ok(Answer::Done);
        }
        if self.folder.join("stopped").exists() {
            return Ok(Answer::Stopped);
        }
        Ok(match get(&self.folder.join("answer"))?.as_deref() {
            Some(b"approved\n") => Answer::Approved,
            Some(_) => Answer::Refused,
            None => Answer::Waiting,
        })
    }

    /// Whether the plan is to go on: it was approved, and did not stop before the newest epoch.
    fn has_work(&self, context: &Context) -> Result<bool, Failure> {
        match self.answer()? {
            Answer::Approved => Ok(true),
            Answer::Stopped => {
                let seen = get(&self.folder.join("stopped"))?.unwrap_or_default();
                let seen = String::from_utf8(seen)
                    .ok()
                    .and_then(|text| text.parse().ok());
                let is_new = seen.is_some_and(|seen: u32| seen < context.group.newest_epoch());
                Ok(is_new && self.folder.join("state").exists())
            }
            _ => Ok(false),
        }
    }

    /// Keeps why the last turn could not go on, or that it could, and says what is new.
    fn put_trouble(&self, why: Option<&str>) -> Result<(), Failure> {
        let status = self.status()?;
        if status["trouble"].as_str() == why {
            return Ok(());
        }
        if let Some(why) = why {
            mention!("clew: plan {}: cannot go on: {why}", self.id);
        }
        self.put_status(status, why)
    }

    fn put_status(&self, mut status: Value, trouble: Option<&str>) -> Result<(), Failure> {
        if status.is_null() {
            status = json!({});
        }
        status["trouble"] = trouble.into();
        let text = format!("{status}\n");
        put(&self.folder.join("status.json"), text.as_bytes())
    }

    /// Writes the operator's answer.
    pub fn set_answer(&self, answer: Answer) -> Result<(), Failure> {
        let text = format!("{}\n", answer.as_str());
        put(&self.folder.join("answer"), text.as_bytes())
    }

    /// Whether a notice told of it.
    pub fn is_told(&self) -> bool {
        self.folder.join("told").exists()
    }

    /// Keeps that a notice told of it.
    pub fn set_told(&self) -> Result<(), Failure> {
        put(&self.folder.join("told"), b"")
    }

    /// What `serve` wrote last about it.
    pub fn status(&self) -> Result<Value, Failure> {
        let bytes = get(&self.folder.join("status.json"))?.unwrap_or_default();
        Ok(serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    async fn go(&self, context: &Context) -> Result<(), Failure> {
        let topic = self.proposal.topic();
        let mut posts = context.posts(&topic).await?;
        let mut state = self.state(context, &posts)?;
        let old = self.old_key(context)?;
        let mut kept = None;
        loop {
            let round = Round::read(&self.proposal, &posts);
            let own = Own {
                author: context.board.author(),
                old: old.as_ref(),
                kept,
                group: &context.group,
            };
            let step = state.step(&self.proposal, &round, &own, &mut random::os());
            self.tell(&round)?;
            match step.map_err(failed)? {
                Step::Say(kind, body) => {
                    if [POST_HELLO, POST_DEAL].contains(&kind) {
                        // Before it leaves: a killed process says the same again.
                        context.identity.store(&self.folder.join("state"), &state)?;
                    }
                    context.say(topic, kind, body).await?;
                    posts = context.posts(&topic).await?;
                    let round = Round::read(&self.proposal, &posts);
                    if !round.has_posted(&own.author, kind) {
                        return Err(Failure::new("the board does not show a post that it took"));
                    }
                }
                Step::Keep(key) => {
                    let path = context.home.key_path(key.since);
                    secrets::write_key(&path, &*key, context.identity.secret.as_ref())?;
                    mention!("clew: plan {}: {}", self.id, path.display());
                    kept = Some(key.since);
                }
                Step::Wait => return Ok(()),
                Step::Over => {
                    remove(&self.folder.join("stopped"))?;
                    put(&self.folder.join("done"), b"")?;
                    return remove(&self.folder.join("state"));
                }
                Step::Stopped => {
                    // A later epoch may have the key all the same: each is looked at once.
                    let epoch = context.group.newest_epoch().to_string();
                    return put(&self.folder.join("stopped"), epoch.as_bytes());
                }
            }
        }
    }

    /// The state on the disk, or a new one, unless this trustee said hello with one that is lost.
    fn state(&self, context: &Context, posts: &[Post]) -> Result<State, Failure> {
        let path = self.folder.join("state");
        if path.exists() {
            return context.identity.load(&path);
        }
        let own = context.board.author();
        if Round::read(&self.proposal, posts).has_posted(&own, POST_HELLO) {
            let why = "this state is lost: the key generation has to begin again";
            return Err(Failure::file(&path, why).hint("ask the manager for a new plan"));
        }
        let seat = self.proposal.seat_of(&own);
        let role = seat
            .ok_or_else(|| Failure::new("this trustee has no seat"))?
            .role;
        let old = self.old_key(context)?.filter(|_| role.dealer().is_some());
        let plan = self.proposal.plan();
        let state = State::begin(plan, role.trustee(), old.as_ref(), &mut random::os());
        let state = state.map_err(failed)?;
        if state.hello().participant().role != role {
            let why = format!(
                "plan {}: this trustee's key is not that of its seat",
                self.id
            );
            return Err(Failure::new(why));
        }
        context.identity.store(&path, &state)?;
        Ok(state)
    }

    /// The share that is handed on, if this trustee hands one on.
    pub fn old_key_since(&self, own: &[u8; 32]) -> Option<u32> {
        let seat = self.proposal.seat_of(own)?;
        let old = self.proposal.plan().old_key()?;
        seat.role.dealer().map(|_| old.since)
    }

    fn old_key(&self, context: &Context) -> Result<Option<clew_keys::TrusteeKeyFile>, Failure> {
        match self.old_key_since(&context.board.author()) {
            None => Ok(None),
            Some(since) => match context.home.key(since, &context.identity)? {
                Some(key) => Ok(Some(key)),
                None => {
                    let path = context.home.key_path(since);
                    Err(Failure::file(&path, "the share to hand on is missing"))
                }
            },
        }
    }

    /// Writes where the plan stands, and tells it if that is new.
    fn tell(&self, round: &Round<'_>) -> Result<(), Failure> {
        let (mut known, status) = (self.status()?, describe(round));
        let trouble = known["trouble"].take();
        if let Some(known) = known.as_object_mut() {
            known.remove("trouble");
        }
        if known == status {
            return Ok(());
        }
        self.put_status(status.clone(), trouble.as_str())?;
        mention!("clew: plan {}: {}", self.id, sentence(&status));
        Ok(())
    }
}

/// Where a round stands.
pub fn describe(round: &Round<'_>) -> Value {
    let standing = round.standing();
    let (stage, silent, stops) = match &standing {
        Standing::Hellos(silent) => ("hellos", silent.as_slice(), &[][..]),
        Standing::Deals(silent) => ("deals", silent.as_slice(), &[][..]),
        Standing::Checks(silent) => ("checks", silent.as_slice(), &[][..]),
        Standing::Ready(silent) => ("ready", silent.as_slice(), &[][..]),
        Standing::Stopped(stops) => ("stopped", &[][..], stops.as_slice()),
    };
    json!({
        "stage": stage,
        "waits_for": silent,
        "stops": stops.iter().map(stop).collect::<Vec<_>>(),
        "check_code": round.context().map(|context| short_form(&context).to_string()),
    })
}

fn stop(stop: &Stop) -> Value {
    json!({ "who": stop.name, "rule": stop.rule, "accuser": stop.accuser })
}

/// The same for people.
pub fn sentence(status: &Value) -> String {
    if let Some(trouble) = status["trouble"].as_str() {
        return format!("cannot go on: {trouble}");
    }
    let list = |value: &Value| -> String {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
        items.join(", ")
    };
    let waits = list(&status["waits_for"]);
    match status["stage"].as_str() {
        Some("hellos") => format!("waits for hello of {waits}"),
        Some("deals") => format!("waits for deal of {waits}"),
        Some("checks") => format!("waits for check of {waits}"),
        Some("ready") if waits.is_empty() => "all trustees have their keys".to_owned(),
        Some("ready") => format!("all deals are good; without a key still: {waits}"),
        Some("stopped") => {
            let stops = status["stops"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default();
            let one = |stop: &Value| {
                let (who, rule) = (stop["who"].as_str(), stop["rule"].as_str());
                let (who, rule) = (who.unwrap_or_default(), rule.unwrap_or_default());
                match stop["accuser"].as_str() {
                    Some(accuser) => format!("{accuser} accuses {who} ({rule}): one of them lies"),
                    None => format!("{who} broke rule {rule}"),
                }
            };
            let stops: Vec<String> = stops.iter().map(one).collect();
            format!("stopped: {}", stops.join("; "))
        }
        _ => "not begun".to_owned(),
    }
}
