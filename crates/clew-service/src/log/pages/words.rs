//! What entries are called on pages.

use clew_log::entry::{Answer, Asks, Body, Role, Seal};
use clew_log::{LogState, Request};
use clew_wire::{Hex, WallTime, visible};

/// The kind of an entry.
pub(super) fn kind(body: &Body) -> &'static str {
    match body {
        Body::Group { .. } => "Beginning of the log",
        Body::Author { role, .. } => match role {
            Role::None => "Author dismissed",
            _ => "Author admitted",
        },
        Body::Enrolled { .. } => "Machines enrolled",
        Body::Epoch { .. } => "Epoch",
        Body::Request(filed) => match filed.seal {
            Seal::Open(_) => "Request",
            Seal::Until(_) => "Sealed request",
        },
        Body::Decision { .. } => "Decision of a trustee",
        Body::Result { .. } => "Result",
        Body::Unsealed { .. } => "Request unsealed",
        Body::Anchor { .. } => "Capture anchored",
    }
}

/// What somebody may write.
pub(super) fn role(role: Role) -> String {
    match role {
        Role::None => "nothing any more".to_owned(),
        Role::Trustee(held) => held.to_string(),
        Role::Observer => "observer".to_owned(),
        Role::Requester => "requester".to_owned(),
    }
}

/// What a request asks for.
pub(super) fn asks(asks: Asks) -> &'static str {
    match asks {
        Asks::Opening => "which machine signed (opening)",
        Asks::Match => "whether one named machine signed (match)",
    }
}

/// What a trustee answered.
pub(super) fn answer(answer: Answer) -> String {
    match answer {
        Answer::Yes => "yes: it gives its share".to_owned(),
        Answer::No(rule) => format!("no, by rule {rule} of spec/opening.md section 3"),
    }
}

/// Whose key it is, in the manager's words.
pub(super) fn author(state: &LogState, key: &[u8; 32]) -> String {
    if *key == state.founder().manager {
        return "the group's manager".to_owned();
    }
    match state.author(key) {
        Some(own) => format!("{} ({})", visible(own.name.as_str()), role(own.role)),
        None => format!("key {}", Hex(key)),
    }
}

/// One line on what an entry says.
pub(super) fn summary(body: &Body) -> String {
    match body {
        Body::Group { .. } => "the group whose log this is".to_owned(),
        Body::Author {
            role: own, name, ..
        } => {
            format!("{}: {}", visible(name.as_str()), role(*own))
        }
        Body::Enrolled { first, leaves } => match leaves.len() {
            1 => format!("row {first}"),
            count => format!("{count} rows from row {first} on"),
        },
        Body::Epoch { epoch, .. } => format!("epoch {epoch}"),
        Body::Request(filed) => {
            let count = match filed.signatures {
                1 => "1 signature".to_owned(),
                count => format!("{count} signatures"),
            };
            format!("{count}: {}", asks(filed.asks))
        }
        Body::Decision {
            place,
            by,
            answer: own,
        } => format!(
            "{by} on request {place}: {}",
            match own {
                Answer::Yes => "yes".to_owned(),
                Answer::No(rule) => format!("no (rule {rule})"),
            }
        ),
        Body::Result { place, .. } => format!("of request {place}"),
        Body::Unsealed { place, .. } => format!("request {place}"),
        Body::Anchor { packets, .. } => format!("{packets} packets"),
    }
}

/// The state of a request as the log shows it.
pub(super) fn state_of(request: &Request, quorum: Option<u8>, now: WallTime) -> String {
    let yes = request.yes.len();
    let needed = quorum.map_or_else(|| "an unknown number".to_owned(), |t| t.to_string());
    let is_approved = quorum.is_some_and(|t| request.approved(t).is_some());
    let mut words = match (is_approved, request.results) {
        (true, 0) => format!("approved: {yes} yes, {needed} needed"),
        (true, _) => "approved, and the requester logged a result".to_owned(),
        (false, _) if yes + request.no.len() == 0 => "filed: no trustee has decided".to_owned(),
        (false, _) => format!("{yes} yes, {needed} needed"),
    };
    if !request.no.is_empty() {
        words += &format!(", {} no", request.no.len());
    }
    if request.is_overdue(now) {
        words += "; overdue to be unsealed";
    }
    words
}
