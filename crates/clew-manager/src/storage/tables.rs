//! What is read of a database, whichever it is.

use super::value::{Row, Value};
use super::{Join, Offered, Result, Revoked, Sql, Tables};
use crate::error::StoreError;
use crate::store::{Factory, Invitation, Machine, OutboxEntry};
use clew_evidence::{Name, RegisterEntry};

/// Rows with the hashes by which the register has them: no database notices each damaged byte. Rows that
/// were deleted ([`super::retention`]) are not among them.
pub(super) const MACHINE: &str = "SELECT entry, name, hash, enrolled_at, revoked_in, salt
    FROM (SELECT * FROM machine WHERE length(entry) > 0) AS machine
    LEFT JOIN node ON node.level = 0 AND node.idx = machine.idx";

const FACTORY: &str = "SELECT id, prefix, machines, used, until FROM factory";

/// Counts invitations. A factory may have left 10^6 of them, and a page asks.
pub(super) const OPEN: &str = "SELECT count(*), count(joined) FROM joining WHERE machine IS NULL";

/// Names of invitations in a range.
pub(super) const INVITED: &str = "SELECT name FROM joining
    WHERE machine IS NULL AND name >= ?1 AND name < ?2 ORDER BY name";

/// Rows that are read at once where there may be many.
const ROWS_AT_ONCE: u32 = 4_096;

impl<S: Sql + ?Sized> Tables for S {
    fn parts(&self) -> Result<Vec<u8>> {
        // One statement, hence one moment.
        let query = "SELECT bytes FROM (SELECT 0 AS kind, epoch AS place, bytes FROM part
                                UNION ALL SELECT 1, machines, bytes FROM checkpoint
                                UNION ALL SELECT 2, 0, bytes FROM register) AS parts
                     ORDER BY kind, place";
        let parts: Vec<Vec<u8>> = all(self, query, &[], |row| row.take())?;
        Ok(parts.concat())
    }

    fn each_machine(&self, each: &mut dyn FnMut(Machine) -> bool) -> Result<()> {
        let query = format!("{MACHINE} WHERE machine.idx >= ?1 ORDER BY machine.idx LIMIT ?2");
        let mut first = 0_u32;
        loop {
            let limits = [first.into(), ROWS_AT_ONCE.into()];
            let machines = all(self, &query, &limits, machine)?;
            let is_last = machines.len() < ROWS_AT_ONCE as usize;
            for machine in machines {
                first = machine.entry.index.saturating_add(1);
                if !each(machine) {
                    return Ok(());
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }

    fn machine(&self, index: u32) -> Result<Option<Machine>> {
        let query = format!("{MACHINE} WHERE machine.idx = ?1");
        one(self, &query, &[index.into()], machine)
    }

    fn last_machine(&self, name: &str) -> Result<Option<Machine>> {
        let query = format!("{MACHINE} WHERE name = ?1 ORDER BY machine.idx DESC LIMIT 1");
        one(self, &query, &[name.into()], machine)
    }

    fn revoked(&self) -> Result<Vec<Revoked>> {
        let query = "SELECT idx, revoked_in, salt, name FROM machine
                     WHERE revoked_in IS NOT NULL AND length(entry) > 0";
        all(self, query, &[], |row| {
            Ok(Revoked {
                index: row.take()?,
                epoch: row.take()?,
                salt: row.take()?,
                name: row.take()?,
            })
        })
    }

    fn node(&self, level: u32, index: u32) -> Result<Option<[u8; 32]>> {
        let query = "SELECT hash FROM node WHERE level = ?1 AND idx = ?2";
        one(self, query, &[level.into(), index.into()], |row| row.take())
    }

    fn nodes(&self, places: &[(u32, u32)]) -> Result<Vec<Option<[u8; 32]>>> {
        let query = "SELECT hash FROM node WHERE level = ?1 AND idx = ?2";
        let places = places.iter();
        let places: Vec<_> = places
            .map(|(level, index)| vec![(*level).into(), (*index).into()])
            .collect();
        let found = self.query_each(query, &places)?.into_iter();
        let first = |rows: Vec<Row>| rows.into_iter().next();
        found
            .map(|rows| first(rows).map(|mut row| row.take()).transpose())
            .collect()
    }

    fn last_checkpoint(&self) -> Result<Option<u32>> {
        let query = "SELECT max(machines) FROM checkpoint";
        Ok(one(self, query, &[], |row| row.take())?.flatten())
    }

    fn invitations(&self) -> Result<Vec<Invitation>> {
        let query = "SELECT name, created_at, joined FROM joining
                     WHERE machine IS NULL ORDER BY created_at, name";
        all(self, query, &[], |row| {
            Ok(Invitation {
                name: name(row)?,
                invited_at: row.take()?,
                offered: row.take()?,
            })
        })
    }

    fn count_invitations(&self) -> Result<(u64, u64)> {
        let counts = one(self, OPEN, &[], |row| Ok((row.take()?, row.take()?)))?;
        Ok(counts.unwrap_or_default())
    }

    fn invited(&self, prefix: &str) -> Result<Vec<Name>> {
        let end = format!("{prefix}{}", char::MAX);
        all(self, INVITED, &[prefix.into(), end.as_str().into()], name)
    }

    fn is_invited(&self, name: &str) -> Result<bool> {
        let query = "SELECT count(*) FROM joining WHERE machine IS NULL AND name = ?1";
        Ok(one(self, query, &[name.into()], |row| row.take::<u64>())?.is_some_and(|n| n > 0))
    }

    fn version(&self) -> Result<u64> {
        let version = one(self, "SELECT version FROM register", &[], |row| row.take())?;
        version.ok_or_else(|| damaged("the register has no head"))
    }

    fn outbox(&self, most: u32) -> Result<Vec<OutboxEntry>> {
        let query = "SELECT seq, kind, body FROM outbox WHERE place IS NULL ORDER BY seq LIMIT ?1";
        all(self, query, &[most.into()], |row| {
            Ok(OutboxEntry {
                seq: row.take()?,
                kind: row.take()?,
                body: row.take()?,
            })
        })
    }

    fn last_place(&self) -> Result<Option<u64>> {
        let query = "SELECT max(place) FROM outbox";
        Ok(one(self, query, &[], |row| row.take())?.flatten())
    }

    fn sent(&self, kind: u8) -> Result<Vec<(Vec<u8>, u64)>> {
        let query = "SELECT body, place FROM outbox WHERE kind = ?1 AND place IS NOT NULL";
        all(self, query, &[kind.into()], |row| {
            Ok((row.take()?, row.take()?))
        })
    }

    fn queued(&self) -> Result<Vec<u32>> {
        let query = "SELECT machine FROM queued ORDER BY machine";
        all(self, query, &[], |row| row.take())
    }

    fn factories(&self) -> Result<Vec<Factory>> {
        let query = format!("{FACTORY} ORDER BY created_at, id");
        all(self, &query, &[], factory)
    }

    fn factory(&self, id: &[u8; 16]) -> Result<Option<Factory>> {
        one(
            self,
            &format!("{FACTORY} WHERE id = ?1"),
            &[id.into()],
            factory,
        )
    }

    fn join(&self, nonce: &[u8; 32]) -> Result<Option<Join>> {
        let query = "SELECT name, request, salt, joined, replaces, machine
                     FROM joining WHERE nonce = ?1";
        one(self, query, &[nonce.into()], |row| {
            let name = name(row)?;
            let request: Option<Vec<u8>> = row.take()?;
            let offered = request.map(|request| offered(request, row));
            Ok(Join {
                name,
                offered: offered.transpose()?,
            })
        })
    }
}

/// The first row of a query, if there is one.
pub(super) fn one<S: Sql + ?Sized, T>(
    db: &S,
    query: &str,
    values: &[Value<'_>],
    read: impl FnOnce(&mut Row) -> Result<T>,
) -> Result<Option<T>> {
    let first = db.query(query, values)?.into_iter().next();
    first.map(|mut row| read(&mut row)).transpose()
}

/// All rows of a query.
pub(super) fn all<S: Sql + ?Sized, T>(
    db: &S,
    query: &str,
    values: &[Value<'_>],
    mut read: impl FnMut(&mut Row) -> Result<T>,
) -> Result<Vec<T>> {
    let rows = db.query(query, values)?.into_iter();
    rows.map(|mut row| read(&mut row)).collect()
}

/// The rest of a join, behind its request.
fn offered(request: Vec<u8>, row: &mut Row) -> Result<Offered> {
    Ok(Offered {
        request,
        salt: row.take()?,
        joined: row.take()?,
        replaces: match row.take::<i64>()? {
            -1 => None,
            row => Some(u32::try_from(row).map_err(|_| damaged("a join replaces no row"))?),
        },
        machine: row.take()?,
    })
}

/// A row of [`MACHINE`].
pub(super) fn machine(row: &mut Row) -> Result<Machine> {
    let entry: Vec<u8> = row.take()?;
    let entry = RegisterEntry::decode(&entry);
    let entry = entry.ok_or_else(|| damaged("a register entry does not decode"))?;
    let (name, leaf): (String, [u8; 32]) = (row.take()?, row.take()?);
    if name != entry.name.as_str() || leaf != entry.leaf_hash() {
        return Err(damaged("a row is not the one that the register has"));
    }
    Ok(Machine {
        entry,
        enrolled_at: row.take()?,
        revoked_in: row.take()?,
        salt: row.take()?,
    })
}

/// A row of [`FACTORY`].
fn factory(row: &mut Row) -> Result<Factory> {
    let id = row.take()?;
    let prefix: String = row.take()?;
    let prefix = prefix.parse();
    Ok(Factory {
        id,
        prefix: prefix.map_err(|_| damaged("the prefix of a factory is not a name"))?,
        machines: row.take()?,
        used: row.take()?,
        until: row.take()?,
    })
}

/// The name of a join, which stands first in its row.
fn name(row: &mut Row) -> Result<Name> {
    let name: String = row.take()?;
    name.parse()
        .map_err(|_| damaged("the name of a join is not one"))
}

pub(super) fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(what.to_owned())
}
