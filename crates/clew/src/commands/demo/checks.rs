//! What the demo found, told at the end.

use crate::failure::Status;

/// Checks in the order in which they were made.
#[derive(Default)]
pub struct Checks(Vec<(String, bool)>);

impl Checks {
    /// Notes whether something is as it must be.
    pub fn check(&mut self, holds: bool, what: impl Into<String>) {
        self.0.push((what.into(), holds));
    }

    /// Prints all checks; yes only if all hold.
    pub fn finish(self) -> Status {
        say!("\nChecks");
        for (what, holds) in &self.0 {
            say!("   {}  {what}", if *holds { "ok    " } else { "FAILED" });
        }
        let passed = self.0.iter().filter(|(_, holds)| *holds).count();
        let failed = self.0.len() - passed;
        say!("{passed} passed, {failed} failed");
        if failed == 0 && passed > 0 {
            Status::Yes
        } else {
            Status::No
        }
    }
}
