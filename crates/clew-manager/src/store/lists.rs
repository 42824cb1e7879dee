//! Parts of the list of machines.

use super::{Machine, Store};
use crate::error::StoreError;

/// Most machines of one part of a list.
pub const LISTED_MAX: u32 = 100;

impl Store {
    /// The machines before a place of the register, the newest first: at most `most`, and never more
    /// than [`LISTED_MAX`].
    ///
    /// # Errors
    /// [`StoreError`] if a row does not decode.
    pub fn machines_before(&self, before: u32, most: u32) -> Result<Vec<Machine>, StoreError> {
        self.db.machines_before(before, most.min(LISTED_MAX))
    }

    /// The machines whose names begin with a prefix, by name: those behind the machine at place `after`
    /// of the register, if that is given. At most `most`, and never more than [`LISTED_MAX`].
    ///
    /// # Errors
    /// [`StoreError`] if a row does not decode.
    pub fn machines_named(
        &self,
        prefix: &str,
        after: Option<u32>,
        most: u32,
    ) -> Result<Vec<Machine>, StoreError> {
        let after = after.map(|index| self.machine_at(index)).transpose()?;
        let after = after.flatten();
        let after = after.as_ref().map_or(("", -1), |machine| {
            (machine.entry.name.as_str(), i64::from(machine.entry.index))
        });
        let most = most.min(LISTED_MAX);
        self.db.machines_named(prefix, after, most)
    }
}
