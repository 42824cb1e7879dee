//! What supervisor and data plane say to each other (`docs/hand-over.md`).
//!
//! The data plane may be a program of another version, so both say which version they speak.

use crate::failure::Failure;
use clew_live::setup::EXCHANGE;

/// What the data plane says when it has read its files and opened its devices.
pub(super) const PREPARED: &str = "prepared";

/// What it says, with a sentence behind it, if it cannot start.
pub(super) const FAILED: &str = "failed: ";

/// What it says behind that if it knows what helps.
pub(super) const HINT: &str = "hint: ";

/// What the supervisor says for the data plane to take part in the interface's packets.
pub(super) const ATTACH: &str = "attach";

/// What the data plane answers.
pub(super) const ATTACHED: &str = "attached";

/// What the supervisor says when the data plane before has ended.
pub(super) const GO: &str = "go";

/// What the data plane says when packets go through.
pub(super) const READY: &str = "ready";

/// Names the variable with the version that the supervisor speaks.
pub(super) const VERSION: &str = "CLEW_EXCHANGE";

/// Names the variable with the numbers of the UDP sockets that the supervisor bound, with commas between.
pub(super) const SOCKETS: &str = "CLEW_SOCKETS";

/// Names the variable with the number of the TCP socket for metrics, which the supervisor listens with.
pub(super) const METRICS: &str = "CLEW_METRICS";

/// Refuses a supervisor that speaks another version.
pub(super) fn check_version(spoken: Option<&str>) -> Result<(), Failure> {
    if spoken.and_then(|text| text.parse().ok()) == Some(EXCHANGE) {
        return Ok(());
    }
    let spoken = spoken.unwrap_or("0");
    Err(Failure::new(format!(
        "the supervisor speaks version {spoken} of the exchange with its data plane, this program \
         version {EXCHANGE}"
    ))
    .hint("clew down, then clew up"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_refused_by_its_number() {
        check_version(Some(&EXCHANGE.to_string())).unwrap();
        for other in [None, Some(""), Some("0"), Some("2"), Some("x")] {
            let said = check_version(other).unwrap_err().message;
            assert!(said.contains("this program version 1"), "{said}");
        }
    }
}
