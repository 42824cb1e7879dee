//! Waiting for a manager or a log that does not answer for a while: with `--wait`, one goes on.

use crate::failure::Failure;
use std::time::Duration;

/// First and longest pause.
const PAUSE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// How a command that waits takes failures of services.
pub struct Patience {
    waits: bool,
    pause: Duration,
}

impl Patience {
    /// A command that `waits` goes on; another one ends with the first failure.
    pub const fn new(waits: bool) -> Self {
        Self {
            waits,
            pause: PAUSE[0],
        }
    }

    /// Returns whether a question was answered. If not, says why, and pauses before it is asked again.
    ///
    /// # Errors
    /// The failure, if the command does not wait, or if no waiting mends it.
    pub async fn of<T>(&mut self, asked: Result<T, Failure>) -> Result<bool, Failure> {
        match asked {
            Ok(_) => {
                self.pause = PAUSE[0];
                Ok(true)
            }
            Err(failure) if self.waits && failure.may_pass => {
                mention!("clew: {}; trying again", failure.message);
                tokio::time::sleep(crate::commands::group::jittered(self.pause)).await;
                self.pause = (self.pause * 2).min(PAUSE[1]);
                Ok(false)
            }
            Err(failure) => Err(failure),
        }
    }
}
