//! The register: machines, their entries, and the tree over them.

use super::Store;
use crate::error::StoreError;
use crate::keys::{IssuerKey, IssuerKeyFile};
use clew_evidence::{
    GroupFile, Proof, RegisterEntry, RegisterHead, RegisterLine, Row as EvidenceRow, SealedHead,
    appended_nodes, inclusion, root,
};
use clew_group::curve::G1;
use clew_group::xr;
use rusqlite::{Connection, OptionalExtension, Row, params};

/// A machine's row in the register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its entry.
    pub entry: RegisterEntry,
    /// When it was enrolled, nanoseconds since 1970.
    pub enrolled_at: u64,
    /// The epoch that locked it out, if it was revoked.
    pub revoked_in: Option<u32>,
    tag: [u8; 32],
    salt: Vec<u8>,
}

const SELECT: &str = "SELECT entry, enrolled_at, revoked_in, tag, salt FROM machine";

impl Store {
    /// Calls `each` for every machine in the order of enrolment.
    pub fn machines<E: From<StoreError>>(
        &self,
        mut each: impl FnMut(Machine) -> Result<(), E>,
    ) -> Result<(), E> {
        let query =
            || -> rusqlite::Result<_> { self.db.prepare(&format!("{SELECT} ORDER BY idx")) };
        let mut statement = query().map_err(StoreError::from)?;
        let mut rows = statement.query([]).map_err(StoreError::from)?;
        while let Some(row) = rows.next().map_err(StoreError::from)? {
            each(self.machine_of(row)?)?;
        }
        Ok(())
    }

    /// The machine of that name.
    pub fn machine(&self, name: &str) -> Result<Option<Machine>, StoreError> {
        self.one("name = ?1", name)
    }

    /// The machine whose credential has that tag: what opening a packet asks.
    pub fn find(&self, tag: &[u8; 32]) -> Result<Option<Machine>, StoreError> {
        self.one("tag = ?1", tag.as_slice())
    }

    fn one(&self, which: &str, value: impl rusqlite::ToSql) -> Result<Option<Machine>, StoreError> {
        let query = format!("{SELECT} WHERE {which}");
        let mut statement = self.db.prepare_cached(&query)?;
        let mut rows = statement.query([value])?;
        rows.next()?.map(|row| self.machine_of(row)).transpose()
    }

    fn machine_of(&self, row: &Row<'_>) -> Result<Machine, StoreError> {
        let entry: Vec<u8> = row.get(0)?;
        let entry = RegisterEntry::decode(&entry)
            .ok_or_else(|| StoreError::Damaged("a register entry does not decode".to_owned()))?;
        Ok(Machine {
            entry,
            enrolled_at: row.get::<_, i64>(1)?.cast_unsigned(),
            revoked_in: row.get(2)?,
            tag: row.get(3)?,
            salt: row.get(4)?,
        })
    }

    /// The machine's entry with the proof that it is in the register of today.
    pub fn row(&self, machine: &Machine) -> Result<EvidenceRow, StoreError> {
        let damaged = || StoreError::Damaged("the register's tree has holes".to_owned());
        let machines = self.group.register().machines;
        let node = |level, index| node(&self.db, level, index).ok().flatten();
        let hashes = inclusion(machine.entry.index, machines, node).ok_or_else(damaged)?;
        Ok(EvidenceRow {
            entry: machine.entry.clone(),
            proof: Proof {
                hashes,
                head: self.group.sealed_register().clone(),
            },
        })
    }

    /// Makes lines of a register file for others, with credentials of `epoch`.
    pub fn lines<'a>(
        &'a self,
        issuer: &'a IssuerKeyFile,
        epoch: u32,
    ) -> Result<RegisterLines<'a>, StoreError> {
        self.check_key(issuer)?;
        let scale = match &issuer.issuer {
            IssuerKey::Bbs04(_) => None,
            IssuerKey::Xr(gamma) => Some(scale(gamma, &self.group, epoch)?),
        };
        Ok(RegisterLines {
            store: self,
            issuer,
            epoch,
            scale,
        })
    }
}

/// Makes lines of a register file.
pub struct RegisterLines<'a> {
    store: &'a Store,
    issuer: &'a IssuerKeyFile,
    epoch: u32,
    scale: Option<xr::Scale>,
}

impl RegisterLines<'_> {
    /// The line of a machine. Its credential is computed from the register's own value only, and
    /// only if the machine is not revoked in that epoch: made from a point that somebody sends, it
    /// would help a revoked key along.
    pub fn line(&self, machine: &Machine) -> Result<RegisterLine, StoreError> {
        Ok(RegisterLine {
            row: self.store.row(machine)?,
            tag: machine.tag,
            credential: self.credential(machine)?.map(|a| a.to_bytes()),
        })
    }

    fn credential(&self, machine: &Machine) -> Result<Option<G1>, StoreError> {
        let entry = &machine.entry;
        let revoked = machine.revoked_in.is_some_and(|from| from <= self.epoch);
        let Some(scale) = self.scale.as_ref().filter(|_| !revoked) else {
            return Ok(None);
        };
        if entry.joined > self.epoch {
            return Ok(None);
        }
        let first = G1::from_bytes(&entry.credential)
            .map_err(|_| StoreError::Damaged("a credential does not decode".to_owned()))?;
        let x = self.issuer.derive_x(&machine.salt, entry.name.as_str());
        Ok(Some(scale.credential(&first, &x).credential()))
    }
}

/// k of `epoch`.
pub(super) fn scale(
    gamma: &xr::IssuerKey,
    group: &GroupFile,
    epoch: u32,
) -> Result<xr::Scale, StoreError> {
    let revoked = group.revoked_until(epoch);
    gamma.scale(&revoked).ok_or(StoreError::OtherGroupsKey)
}

fn node(db: &Connection, level: u32, index: u32) -> rusqlite::Result<Option<[u8; 32]>> {
    db.prepare_cached("SELECT hash FROM node WHERE level = ?1 AND idx = ?2")?
        .query_row(params![level, index], |row| row.get(0))
        .optional()
}

/// Extends the register by one entry.
pub(super) fn append(
    db: &Connection,
    group: &GroupFile,
    entry: &RegisterEntry,
    now: u64,
    issuer: &IssuerKeyFile,
) -> Result<(), StoreError> {
    let at = |level, index| node(db, level, index).ok().flatten();
    let holes = || StoreError::Damaged("the register's tree has holes".to_owned());
    let machines = group.register().machines;
    let after = machines
        .checked_add(1)
        .ok_or(StoreError::Full("machines"))?;
    let added = appended_nodes(machines, &entry.leaf_hash(), at).ok_or_else(holes)?;
    for (level, index, hash) in added {
        db.execute(
            "INSERT INTO node VALUES (?1, ?2, ?3)",
            params![level, index, hash],
        )?;
    }
    let head = RegisterHead {
        last: group.last_id(),
        time: now,
        machines: after,
        root: root(after, at).ok_or_else(holes)?,
    };
    write_head(db, &head.seal(&issuer.manager))
}

/// Replaces the register's head.
pub(super) fn write_head(db: &Connection, head: &SealedHead) -> Result<(), StoreError> {
    db.execute("UPDATE register SET bytes = ?1", [head.encode()])?;
    Ok(())
}
