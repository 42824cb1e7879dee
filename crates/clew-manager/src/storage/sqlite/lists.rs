//! Parts of the list of machines, as people page through it.

use super::{MACHINE, Sqlite, machine, refused};
use crate::storage::{ListTables, Result};
use crate::store::Machine;
use rusqlite::{Connection, Params, params};
use std::ops::Deref;

impl<C: Deref<Target = Connection>> Sqlite<C> {
    fn machines_of(&self, query: &str, params: impl Params) -> Result<Vec<Machine>> {
        let found = || {
            let mut statement = self.db.prepare_cached(query)?;
            let rows = statement.query_map(params, machine)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        found().map_err(refused(&self.path))
    }
}

impl<C: Deref<Target = Connection>> ListTables for Sqlite<C> {
    fn machines_before(&self, before: u32, most: u32) -> Result<Vec<Machine>> {
        let query = format!("{MACHINE} WHERE idx < ?1 ORDER BY idx DESC LIMIT ?2");
        self.machines_of(&query, [before, most])
    }

    fn machines_named(&self, prefix: &str, after: (&str, i64), most: u32) -> Result<Vec<Machine>> {
        // All names with the prefix stand before this one.
        let end = format!("{prefix}{}", char::MAX);
        let query = format!(
            "{MACHINE} WHERE name >= ?1 AND name < ?2 AND (name, idx) > (?3, ?4)
             ORDER BY name, idx LIMIT ?5"
        );
        self.machines_of(&query, params![prefix, end, after.0, after.1, most])
    }
}
