//! The register: machines, their entries, and the tree over them.

use super::Store;
use crate::error::StoreError;
use crate::keys::{IssuerKey, IssuerKeyFile};
use clew_evidence::{
    GroupFile, Proof, RegisterEntry, RegisterHead, RegisterRow, Row as EvidenceRow, appended_nodes,
    inclusion, seal,
};
use clew_group::PublicKey;
use clew_group::curve::G1;
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
}

const SELECT: &str = "SELECT entry, enrolled_at, revoked_in, tag FROM machine";

impl Store {
    /// Calls `each` for every machine in the order of enrolment.
    pub fn machines<E: From<StoreError>>(
        &self,
        mut each: impl FnMut(Machine) -> Result<(), E>,
    ) -> Result<(), E> {
        let query = || -> rusqlite::Result<_> { self.db.prepare(&format!("{SELECT} ORDER BY idx")) };
        let mut statement = query().map_err(StoreError::from)?;
        let mut rows = statement.query([]).map_err(StoreError::from)?;
        while let Some(row) = rows.next().map_err(StoreError::from)? {
            each(machine(row).map_err(StoreError::from)??)?;
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

    fn one(
        &self,
        which: &str,
        value: impl rusqlite::ToSql,
    ) -> Result<Option<Machine>, StoreError> {
        let query = format!("{SELECT} WHERE {which}");
        let found = self.db.query_row(&query, [value], machine).optional()?;
        found.transpose()
    }

    /// The machine's entry with the proof that it is in the register of today.
    pub fn row(&self, machine: &Machine) -> Result<EvidenceRow, StoreError> {
        let damaged = || StoreError::Damaged("the register's tree has holes".to_owned());
        let machines = self.group.register().machines;
        let node = |level, index| node(&self.db, level, index).ok().flatten();
        let hashes = inclusion(machine.entry.index, machines, node).ok_or_else(damaged)?;
        let register = self
            .db
            .query_row("SELECT bytes FROM register", [], |row| row.get(0))?;
        Ok(EvidenceRow {
            entry: machine.entry.clone(),
            proof: Proof { hashes, register },
        })
    }

    /// The machine as a register file for others has it, with its credential in `epoch`. Computed
    /// from the register's own value only, and only for a machine that is not revoked in that
    /// epoch: made from a point that somebody sends, it would help a revoked key along.
    pub fn register_row(
        &self,
        issuer: &IssuerKeyFile,
        machine: &Machine,
        epoch: u32,
    ) -> Result<RegisterRow, StoreError> {
        self.check_key(issuer)?;
        Ok(RegisterRow {
            row: self.row(machine)?,
            tag: machine.tag,
            credential: self.credential(issuer, machine, epoch)?,
        })
    }

    /// A of the machine in `epoch`, if it was a member then.
    fn credential(
        &self,
        issuer: &IssuerKeyFile,
        machine: &Machine,
        epoch: u32,
    ) -> Result<Option<G1>, StoreError> {
        let revoked = machine.revoked_in.is_some_and(|from| from <= epoch);
        if revoked || machine.entry.joined > epoch {
            return Ok(None);
        }
        let first = G1::from_bytes(&machine.entry.credential)
            .map_err(|_| StoreError::Damaged("a credential does not decode".to_owned()))?;
        let IssuerKey::Xr(gamma) = &issuer.issuer else {
            return Ok(None);
        };
        let k = gamma.scale(self.group.revoked_until(epoch));
        Ok(k.map(|k| first.mul(&k)))
    }
}

fn machine(row: &Row<'_>) -> rusqlite::Result<Result<Machine, StoreError>> {
    let entry: Vec<u8> = row.get(0)?;
    let (enrolled_at, revoked_in, tag) = (row.get::<_, i64>(1)?, row.get(2)?, row.get(3)?);
    let entry = RegisterEntry::decode(&entry)
        .ok_or_else(|| StoreError::Damaged("a register entry does not decode".to_owned()));
    Ok(entry.map(|entry| Machine {
        entry,
        enrolled_at: enrolled_at.cast_unsigned(),
        revoked_in,
        tag,
    }))
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
    let damaged = || StoreError::Damaged("the register's tree has holes".to_owned());
    let at = |level, index| node(db, level, index).ok().flatten();
    let machines = group.register().machines;
    let full = || StoreError::Full("machines");
    let after = machines.checked_add(1).ok_or_else(full)?;
    let added = appended_nodes(machines, &entry.leaf_hash(), at).ok_or_else(damaged)?;
    for (level, index, hash) in &added {
        db.execute("INSERT INTO node VALUES (?1, ?2, ?3)", params![level, index, hash])?;
    }
    let root = clew_evidence::root(after, at).ok_or_else(damaged)?;
    let head = RegisterHead {
        last: group.last_id().0,
        time: now,
        machines: after,
        root,
    };
    write_head(db, &head, issuer)
}

/// Replaces the register's head.
pub(super) fn write_head(
    db: &Connection,
    head: &RegisterHead,
    key: &IssuerKeyFile,
) -> Result<(), StoreError> {
    let sealed = seal(&head.encode(), &key.manager);
    db.execute("UPDATE register SET bytes = ?1", [sealed])?;
    Ok(())
}
