//! Parts of the list of machines, as people page through it.

use super::tables::{MACHINE, all, machine};
use super::{Result, Sql};
use crate::store::Machine;

/// What can be read.
pub(crate) trait ListTables {
    /// The machines before a place, the newest first.
    fn machines_before(&self, before: u32, most: u32) -> Result<Vec<Machine>>;

    /// The machines whose names begin with a prefix, by name and place: those behind that name and
    /// place.
    fn machines_named(&self, prefix: &str, after: (&str, i64), most: u32) -> Result<Vec<Machine>>;
}

impl<S: Sql + ?Sized> ListTables for S {
    fn machines_before(&self, before: u32, most: u32) -> Result<Vec<Machine>> {
        let query = format!("{MACHINE} WHERE machine.idx < ?1 ORDER BY machine.idx DESC LIMIT ?2");
        all(self, &query, &[before.into(), most.into()], machine)
    }

    fn machines_named(&self, prefix: &str, after: (&str, i64), most: u32) -> Result<Vec<Machine>> {
        // All names with the prefix stand before this one.
        let end = format!("{prefix}{}", char::MAX);
        let query = format!(
            "{MACHINE} WHERE name >= ?1 AND name < ?2 AND (name, machine.idx) > (?3, ?4)
             ORDER BY name, machine.idx LIMIT ?5"
        );
        let values = [
            prefix.into(),
            end.as_str().into(),
            after.0.into(),
            after.1.into(),
            most.into(),
        ];
        all(self, &query, &values, machine)
    }
}
