//! What a supervisor tells `clew status` while its data plane fails.

use super::starter::NOT_STARTED;
use crate::clock::since_boot;
use crate::failure::Failure;
use clew_live::files;
use clew_live::setup::Place;
use serde::{Deserialize, Serialize};
use std::fs;
use std::time::Duration;

/// Why a data plane fails.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Failing {
    why: String,
    /// What helps, if it is known.
    hint: Option<String>,
    /// When it is tried again, in seconds since this machine started: nobody sets that clock.
    again_since_boot: u64,
}

impl Failing {
    /// Says that a data plane failed, and is tried again after a while.
    pub fn say(place: &Place, failure: &Failure, wait: Duration) {
        let failing = Self {
            why: failure.message.trim_start_matches(NOT_STARTED).to_owned(),
            hint: failure.hint.clone(),
            again_since_boot: since_boot().as_secs() + wait.as_secs(),
        };
        let path = place.failing();
        let text = serde_json::to_string(&failing).map_err(Failure::new);
        let said = text.and_then(|text| {
            let written = files::replace_with(&path, text.as_bytes(), 0o644, false);
            written.map_err(|error| Failure::io(&path, &error))
        });
        if let Err(failure) = said {
            tracing::warn!("{}", failure.message);
        }
    }

    /// Says that it does not fail any more.
    pub fn over(place: &Place) {
        // There may be no such file.
        let _ = fs::remove_file(place.failing());
    }

    /// What a command tells of it. `None` if no supervisor said so.
    pub fn told(place: &Place) -> Option<Failure> {
        let text = fs::read_to_string(place.failing()).ok()?;
        let failing: Self = serde_json::from_str(&text).ok()?;
        Some(failing.failure(place.name(), since_boot().as_secs()))
    }

    fn failure(self, name: &str, now: u64) -> Failure {
        let again = match self.again_since_boot.saturating_sub(now) {
            0 => "now".to_owned(),
            left => format!("in {left} s"),
        };
        let why = self.why;
        let hint = self.hint.unwrap_or_else(|| {
            format!(
                "look at the log, and at clew up --check CONFIG; clew status {name} then says more"
            )
        });
        Failure::new(format!(
            "{name}: its data plane fails: {why}; it is tried again {again}"
        ))
        .no()
        .hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_why_and_when_and_what_helps() {
        let failing = |hint: Option<&str>| Failing {
            why: "a.key: file does not exist".into(),
            hint: hint.map(str::to_owned),
            again_since_boot: 100,
        };
        let failure = failing(Some("ls /etc/clew")).failure("lan", 92);
        let wanted =
            "lan: its data plane fails: a.key: file does not exist; it is tried again in 8 s";
        assert_eq!(failure.message, wanted);
        assert_eq!(failure.hint.as_deref(), Some("ls /etc/clew"));
        assert_eq!(failure.status, crate::failure::Status::No);
        let failure = failing(None).failure("lan", 101);
        assert!(
            failure.message.ends_with("tried again now"),
            "{}",
            failure.message
        );
        assert!(
            failure
                .hint
                .is_some_and(|hint| hint.contains("clew up --check"))
        );
    }
}
