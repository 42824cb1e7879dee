//! What is written to a database, whichever it is.

use super::value::{Row, Value};
use super::{Begun, Offered, Result, Sql, Transaction};
use crate::store::{Factory, Machine};
use clew_evidence::Name;

impl<B: Begun> Transaction for B {
    fn commit(self: Box<Self>) -> Result<()> {
        Begun::commit(*self)
    }

    fn add_record(&self, epoch: u32, part: &[u8]) -> Result<()> {
        let command = "INSERT INTO part VALUES (?1, ?2)";
        execute(self, command, &[epoch.into(), part.into()])
    }

    fn add_checkpoint(&self, machines: u32, root: &[u8; 32], part: &[u8]) -> Result<()> {
        let command = "INSERT INTO checkpoint VALUES (?1, ?2, ?3)";
        execute(self, command, &[machines.into(), root.into(), part.into()])
    }

    fn add_head(&self, part: &[u8]) -> Result<()> {
        let command = "INSERT INTO register VALUES (0, ?1, 0)";
        execute(self, command, &[part.into()])
    }

    fn set_head(&self, part: &[u8]) -> Result<()> {
        let command = "UPDATE register SET bytes = ?1, version = version + 1";
        execute(self, command, &[part.into()])
    }

    fn add_machine(&self, machine: &Machine) -> Result<()> {
        let entry = &machine.entry;
        let values = [
            entry.index.into(),
            entry.name.as_str().into(),
            machine.enrolled_at.into(),
            machine.salt.as_slice().into(),
            entry.encode().into(),
            machine.revoked_in.into(),
        ];
        let command = "INSERT INTO machine VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        execute(self, command, &values)
    }

    fn add_node(&self, level: u32, index: u32, hash: &[u8; 32]) -> Result<()> {
        let command = "INSERT INTO node VALUES (?1, ?2, ?3)";
        execute(self, command, &[level.into(), index.into(), hash.into()])
    }

    fn revoke(&self, index: u32, epoch: u32) -> Result<()> {
        let command = "UPDATE machine SET revoked_in = ?2 WHERE idx = ?1 AND revoked_in IS NULL";
        execute(self, command, &[index.into(), epoch.into()])
    }

    fn invite(&self, nonce: &[u8; 32], name: &Name, now: u64) -> Result<()> {
        let command = "INSERT INTO joining (nonce, name, created_at) VALUES (?1, ?2, ?3)";
        let values = [nonce.into(), name.as_str().into(), now.into()];
        execute(self, command, &values)
    }

    fn withdraw(&self, name: &Name) -> Result<usize> {
        let command = "DELETE FROM joining WHERE name = ?1 AND machine IS NULL";
        self.change(command, &[name.as_str().into()])
    }

    fn withdraw_nonce(&self, nonce: &[u8; 32]) -> Result<()> {
        let command = "DELETE FROM joining WHERE nonce = ?1 AND machine IS NULL";
        execute(self, command, &[nonce.into()])
    }

    fn keep_offer(&self, nonce: &[u8; 32], offered: &Offered) -> Result<()> {
        let command = "UPDATE joining SET request = ?2, salt = ?3, joined = ?4, replaces = ?5
             WHERE nonce = ?1 AND request IS NULL";
        let values = [
            nonce.into(),
            offered.request.as_slice().into(),
            (&offered.salt).into(),
            offered.joined.into(),
            offered.replaces.map_or(-1, i64::from).into(),
        ];
        execute(self, command, &values)
    }

    fn keep_joined(&self, nonce: &[u8; 32], index: u32) -> Result<()> {
        let command = "UPDATE joining SET machine = ?2 WHERE nonce = ?1";
        execute(self, command, &[nonce.into(), index.into()])
    }

    fn send(&self, kind: u8, body: &[u8]) -> Result<()> {
        let command = "INSERT INTO outbox (seq, kind, body)
             VALUES ((SELECT coalesce(max(seq), 0) + 1 FROM outbox), ?1, ?2)";
        execute(self, command, &[kind.into(), body.into()])
    }

    fn add_sent(&self, kind: u8, body: &[u8], place: u64) -> Result<()> {
        let command = "INSERT INTO outbox (seq, kind, body, place)
             VALUES ((SELECT coalesce(max(seq), 0) + 1 FROM outbox), ?1, ?2, ?3)";
        execute(self, command, &[kind.into(), body.into(), place.into()])
    }

    fn set_sent(&self, seq: u64, place: u64) -> Result<()> {
        let command = "UPDATE outbox SET place = ?2 WHERE seq = ?1 AND place IS NULL";
        execute(self, command, &[seq.into(), place.into()])
    }

    fn set_unsent(&self) -> Result<()> {
        let command = "UPDATE outbox SET place = NULL WHERE place IS NOT NULL";
        execute(self, command, &[])
    }

    fn queue(&self, index: u32, now: u64) -> Result<bool> {
        let command = "INSERT INTO queued VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        Ok(self.change(command, &[index.into(), now.into()])? == 1)
    }

    fn unqueue(&self, index: u32) -> Result<()> {
        let command = "DELETE FROM queued WHERE machine = ?1";
        execute(self, command, &[index.into()])
    }

    fn insert(&self, table: &'static str, row: Row) -> Result<()> {
        let values = row.into_values();
        let places: Vec<String> = (1..=values.len()).map(|at| format!("?{at}")).collect();
        let command = format!("INSERT INTO {table} VALUES ({})", places.join(", "));
        execute(self, &command, &values)
    }

    fn add_factory(&self, factory: &Factory, now: u64) -> Result<()> {
        let values = [
            (&factory.id).into(),
            factory.prefix.as_str().into(),
            factory.machines.into(),
            factory.used.into(),
            factory.until.into(),
            now.into(),
        ];
        let command = "INSERT INTO factory VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        execute(self, command, &values)
    }

    fn use_factory(&self, id: &[u8; 16]) -> Result<()> {
        let command = "UPDATE factory SET used = used + 1 WHERE id = ?1";
        execute(self, command, &[id.into()])
    }

    fn remove_factories(&self, prefix: &str) -> Result<usize> {
        let command = "DELETE FROM factory WHERE prefix = ?1";
        self.change(command, &[prefix.into()])
    }
}

fn execute<S: Sql + ?Sized>(db: &S, command: &str, values: &[Value<'_>]) -> Result<()> {
    db.change(command, values).map(drop)
}
