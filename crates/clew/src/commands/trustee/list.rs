//! `clew trustee list`: what waits for the operator, and what was done.

use super::home::Home;
use super::plans::{Answer, KeptPlan, read, sentence};
use super::requests;
use crate::cli::TrusteeList;
use crate::commands::manager::fingerprint;
use crate::failure::{Failure, Status};
use crate::secrets;
use clew_group::quorum::Trustee;
use clew_keys::Author;
use clew_trustee::dkg::{Proposal, Purpose, Seat};
use serde_json::{Value, json};

pub fn run(arguments: &TrusteeList) -> Result<Status, Failure> {
    let home = Home::open(&arguments.dir)?;
    let own: Author = secrets::read(&home.path("author.pub"))?;
    let (plans, damaged) = read(&home)?;
    for folder in damaged {
        mention!("clew: {}: not a plan: remove this folder", folder.display());
    }
    for plan in plans {
        if arguments.json {
            say!("{}", describe(&plan)?);
            continue;
        }
        show(&plan, own.signs.as_bytes());
        let status = plan.status()?;
        match plan.answer()? {
            Answer::Waiting => {
                let dir = home.dir().display();
                say!("  waiting for you: clew trustee approve {dir} {}", plan.id);
            }
            Answer::Approved => say!("  approved; {}", sentence(&status)),
            answer => say!("  {}; {}", answer.as_str(), sentence(&status)),
        }
        if let Some(code) = status["check_code"].as_str() {
            say!("  check code  {code}");
        }
    }
    requests::list(&home, arguments.json, arguments.all)?;
    Ok(Status::Yes)
}

/// What a plan is for.
pub fn purpose(proposal: &Proposal) -> &'static str {
    match proposal.plan().purpose {
        Purpose::Founding => "opening key of a new group",
        Purpose::NewKey(_) => "new opening key",
        Purpose::Resharing { .. } => "opening key handed on",
    }
}

/// Shows a plan as an operator has to see it before it is approved.
pub fn show(plan: &KeptPlan, own: &[u8; 32]) {
    say!("plan {}: {}", plan.id, title(plan));
    say!("  any {} open together:", quorum(plan));
    for (role, who) in seats(plan, own) {
        say!("  {role}  {who}");
    }
    say!("  Whoever is named here gets a share. Compare the fingerprints by voice first.");
}

/// What a plan is for, and of which group.
pub fn title(plan: &KeptPlan) -> String {
    let group = &plan.proposal.plan().name;
    format!("{} of group {group}", purpose(&plan.proposal))
}

/// How many trustees open together.
pub fn quorum(plan: &KeptPlan) -> String {
    let quorum = plan.proposal.plan().quorum;
    let (t, n) = (quorum.threshold(), quorum.trustees());
    format!("{t} of {n} trustees")
}

/// Who takes part: role, and name with fingerprint.
pub fn seats(plan: &KeptPlan, own: &[u8; 32]) -> Vec<(String, String)> {
    let seat = |seat: &Seat| {
        let you = match seat.author.signs.as_bytes() == own {
            true => "  (this trustee)",
            false => "",
        };
        let (name, print) = (&seat.author.name, fingerprint(&seat.author));
        (role(seat), format!("{name}  {print}{you}"))
    };
    plan.proposal.seats().iter().map(seat).collect()
}

fn role(seat: &Seat) -> String {
    seat.role.name()
}

fn describe(plan: &KeptPlan) -> Result<Value, Failure> {
    let quorum = plan.proposal.plan().quorum;
    let seat = |seat: &Seat| {
        json!({
            "name": seat.author.name.as_str(),
            "trustee": seat.role.trustee().map(Trustee::index),
            "dealer": seat.role.dealer().map(Trustee::index),
            "fingerprint": fingerprint(&seat.author).to_string(),
        })
    };
    let seats: Vec<Value> = plan.proposal.seats().iter().map(seat).collect();
    Ok(json!({
        "kind": "plan",
        "id": plan.id,
        "purpose": purpose(&plan.proposal),
        "answer": plan.answer()?.as_str(),
        "threshold": quorum.threshold(),
        "trustees": quorum.trustees(),
        "seats": seats,
        "status": plan.status()?,
    }))
}
