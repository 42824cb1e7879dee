//! Whether a store is whole.

use super::register::{self, from_nodes};
use super::revoke::check_salts;
use super::search::{ROWS_PER_THREAD_MIN, by_threads};
use super::{Machine, Store, check_published, read_group};
use crate::error::StoreError;
use crate::storage::Tables;
use clew_evidence::{GroupFile, appended_nodes, root};
use clew_keys::IssuerKeyFile;
use std::collections::HashMap;

/// Rows whose salts are checked at once.
const ROWS_AT_ONCE: usize = 4_096;

impl Store {
    /// Checks the whole store: the database's own pages and indexes, that every row can be read, every
    /// signature and rule of the group file, every row of the register with its tree, and that the
    /// published group file is not newer. Returns the group.
    ///
    /// # Errors
    /// [`StoreError::DamagedDatabase`], [`StoreError::Damaged`], [`StoreError::PublishedIsNewer`],
    /// [`StoreError::PublishedIsDamaged`], and what the database or the disk say.
    pub fn check(&self) -> Result<GroupFile, StoreError> {
        self.db.check()?;
        let path = self.group_file_path();
        let moment = self.db.moment()?;
        moment.dump(&mut |_, _| Ok(()))?;
        let group = check_tables(&*moment)?;
        let newer = check_published(&path, None, &group, &*moment);
        drop(moment);
        if newer.is_err() {
            // Unless the file was published since that moment.
            let db = self.db.begin()?;
            check_published(&path, None, &read_group(&*db)?, &*db)?;
        }
        Ok(group)
    }

    /// Checks that the salt of every row is the one that its credential was made with: x, by which a
    /// machine is revoked, derives from it. About 1 ms of one core for each row.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`], [`StoreError::OtherGroupsKey`], and what the database says.
    pub fn check_salts(&self, issuer: &IssuerKeyFile) -> Result<(), StoreError> {
        self.check_key(issuer)?;
        let mut waiting = Vec::with_capacity(ROWS_AT_ONCE);
        let group = &self.group;
        let check = |rows: &[Machine]| {
            let checked = by_threads(rows, ROWS_PER_THREAD_MIN, |rows| {
                check_salts(group, issuer, rows).map(|()| Vec::<()>::new())
            });
            checked.map(drop)
        };
        register::for_each(&*self.db, |machine| {
            waiting.push(machine);
            match waiting.len() < ROWS_AT_ONCE {
                true => Ok(()),
                false => check(&std::mem::take(&mut waiting)),
            }
        })?;
        check(&waiting)
    }
}

/// Checks that what the tables say of the group fits together.
pub(super) fn check_tables(db: &dyn Tables) -> Result<GroupFile, StoreError> {
    let group = read_group(db)?;
    let damaged = |what: &str| StoreError::Damaged(what.to_owned());
    let mut next = 0;
    // By level: the last node that is complete. New nodes stand on these.
    let mut last: HashMap<u32, (u32, [u8; 32])> = HashMap::new();
    let mut grow = |index: u32, leaf: [u8; 32]| {
        let mut known = |level, at| last.get(&level).filter(|(i, _)| *i == at).map(|(_, h)| *h);
        let added = appended_nodes(index, &leaf, &mut known);
        for (level, at, hash) in added.ok_or_else(|| damaged("the register's tree has holes"))? {
            if db.node(level, at)? != Some(hash) {
                return Err(damaged("a node of the register's tree is another one"));
            }
            last.insert(level, (at, hash));
        }
        Ok(())
    };
    // Of a row that was deleted the tree has the hash.
    let deleted = |index: u32| match (db.is_stub(index)?, db.node(0, index)?) {
        (true, Some(leaf)) => Ok(leaf),
        _ => Err(damaged("a row of the register is missing")),
    };
    super::register::for_each(db, |machine| {
        let (index, leaf) = (machine.entry.index, machine.entry.leaf_hash());
        while next < index {
            grow(next, deleted(next)?)?;
            next += 1;
        }
        next += 1;
        if machine
            .revoked_in
            .is_some_and(|epoch| epoch > group.newest_epoch())
        {
            return Err(damaged("a row is revoked in an epoch that there is not"));
        }
        grow(index, leaf)
    })?;
    while next < group.register().machines {
        grow(next, deleted(next)?)?;
        next += 1;
    }
    let register = group.register();
    let has = from_nodes(db, |nodes| root(register.machines, nodes))?;
    if next != register.machines || (next > 0 && has != Some(register.root)) {
        return Err(damaged("the register has other rows than its head says"));
    }
    Ok(group)
}
