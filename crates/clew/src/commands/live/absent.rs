//! Why no data plane answers, and what helps.

use super::failing::Failing;
use crate::failure::Failure;
use clew_live::setup::{Place, SetupError};

/// A data plane that runs, and hangs.
pub(super) fn unanswered(place: &Place) -> Failure {
    let name = place.name();
    let failure = Failure::new(format!("{name}: no answer from its data plane"));
    match place.processes()[1] {
        Some(process) => failure.hint(format!(
            "ps -o stat,wchan -p {process} shows what it waits for, with T if somebody stopped it"
        )),
        None => failure,
    }
}

/// Why nobody answers, and what helps.
pub(super) fn without_daemon(place: &Place) -> Failure {
    let name = place.name();
    let is_supervised = place.processes()[0].is_some();
    match (is_supervised, place.is_set_up()) {
        (true, _) => Failing::told(place).unwrap_or_else(|| {
            Failure::new(format!("{name}: its data plane is starting"))
                .no()
                .hint(format!("run clew status {name} again"))
        }),
        (false, true) if place.is_set_up_in_part() => {
            Failure::from(SetupError::Left(name.to_owned())).no()
        }
        (false, true) => {
            let is_closed = place.kept().is_some_and(|kept| kept.fails_closed);
            let undone = match is_closed {
                true => ", which lets unsigned packets pass again",
                false => "",
            };
            Failure::new(format!("{name} is set up, but its daemon does not run"))
                .no()
                .hint(format!(
                    "clew up CONFIG starts it again; clew down {name} undoes the set-up{undone}"
                ))
        }
        (false, false) => Failure::new(format!("{name} is not up"))
            .no()
            .hint("clew up CONFIG"),
    }
}
