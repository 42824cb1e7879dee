//! `clew trustee approve` and `refuse`: what no program decides.

use super::home::Home;
use super::list::show;
use super::plans::{Answer, KeptPlan, find};
use super::requests;
use crate::cli::{TrusteeAnswer, TrusteeRefuse};
use crate::commands::opening_key::failed;
use crate::failure::{Failure, Status};
use crate::secrets;
use clew_keys::Author;
use clew_service::trustee::Word;

pub fn approve(arguments: &TrusteeAnswer) -> Result<Status, Failure> {
    let home = Home::open(&arguments.dir)?;
    if let Some(status) = requests::approve(&home, arguments)? {
        return Ok(status);
    }
    let plan = find(&home, &arguments.id)?;
    let own: Author = secrets::read(&home.path("author.pub"))?;
    show(&plan, own.signs.as_bytes());
    decide(&home, &plan, &own, &Word::Approve)?;
    say!("approved: clew trustee serve takes part from now on");
    Ok(Status::Yes)
}

/// Approves or refuses a plan: for commands and for pages.
///
/// # Errors
/// It was answered otherwise; to approve: it is not about the group as it is, or the share to hand on is
/// missing.
pub fn decide(home: &Home, plan: &KeptPlan, own: &Author, word: &Word) -> Result<(), Failure> {
    match word {
        Word::Approve => {
            check(home, plan, own)?;
            plan.set_answer(Answer::Approved)
        }
        Word::Refuse(_) => match plan.answer()? {
            // Also one that cannot go on: its operator gives it up.
            Answer::Waiting | Answer::Refused | Answer::Approved
                if plan.status()?["stage"].as_str() != Some("ready") =>
            {
                plan.set_answer(Answer::Refused)
            }
            other => Err(answered(plan, other.as_str())),
        },
    }
}

/// Checks that a plan can be approved.
fn check(home: &Home, plan: &KeptPlan, own: &Author) -> Result<(), Failure> {
    match plan.answer()? {
        Answer::Waiting | Answer::Approved => {}
        Answer::Refused => return Err(answered(plan, "refused")),
        Answer::Stopped => return Err(answered(plan, "stopped")),
        Answer::Done => return Err(answered(plan, "done")),
    }
    let current = plan.proposal.plan().check_current(&home.group()?);
    current.map_err(failed)?;
    if let Some(since) = plan.old_key_since(own.signs.as_bytes()) {
        let path = home.key_path(since);
        if !path.exists() {
            return Err(Failure::file(&path, "the share to hand on is missing")
                .hint("copy it there, with the same encryption as author.key"));
        }
    }
    Ok(())
}

pub fn refuse(arguments: &TrusteeRefuse) -> Result<Status, Failure> {
    let home = Home::open(&arguments.of.dir)?;
    if let Some(status) = requests::refuse(&home, arguments)? {
        return Ok(status);
    }
    let plan = find(&home, &arguments.of.id)?;
    let own: Author = secrets::read(&home.path("author.pub"))?;
    decide(&home, &plan, &own, &Word::Refuse(None))?;
    say!("refused: {}", plan.id);
    Ok(Status::Yes)
}

fn answered(plan: &KeptPlan, what: &str) -> Failure {
    Failure::new(format!("plan {}: already {what}", plan.id))
}
