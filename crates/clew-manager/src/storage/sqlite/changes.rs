//! What is written to the database in SQLite.

use super::{Begun, refused};
use crate::storage::{Offered, Result, Transaction};
use crate::store::{Factory, Machine};
use clew_evidence::Name;
use rusqlite::params;

impl Transaction for Begun<'_> {
    fn commit(self: Box<Self>) -> Result<()> {
        let Self { db, path } = *self;
        db.commit().map_err(refused(&path))
    }

    fn add_record(&self, epoch: u32, part: &[u8]) -> Result<()> {
        self.execute("INSERT INTO part VALUES (?1, ?2)", params![epoch, part])
    }

    fn add_checkpoint(&self, machines: u32, root: &[u8; 32], part: &[u8]) -> Result<()> {
        let command = "INSERT INTO checkpoint VALUES (?1, ?2, ?3)";
        self.execute(command, params![machines, root, part])
    }

    fn set_head(&self, part: &[u8]) -> Result<()> {
        let command = "UPDATE register SET bytes = ?1, version = version + 1";
        self.execute(command, [part])
    }

    fn add_machine(&self, machine: &Machine) -> Result<()> {
        let entry = &machine.entry;
        self.execute(
            "INSERT INTO machine VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                entry.index,
                entry.name.as_str(),
                machine.enrolled_at.cast_signed(),
                machine.salt,
                entry.encode(),
                machine.revoked_in,
            ],
        )
    }

    fn add_node(&self, level: u32, index: u32, hash: &[u8; 32]) -> Result<()> {
        let command = "INSERT INTO node VALUES (?1, ?2, ?3)";
        self.execute(command, params![level, index, hash])
    }

    fn revoke(&self, index: u32, epoch: u32) -> Result<()> {
        let command = "UPDATE machine SET revoked_in = ?2 WHERE idx = ?1 AND revoked_in IS NULL";
        self.execute(command, params![index, epoch])
    }

    fn invite(&self, nonce: &[u8; 32], name: &Name, now: u64) -> Result<()> {
        let command = "INSERT INTO joining (nonce, name, created_at) VALUES (?1, ?2, ?3)";
        self.execute(command, params![nonce, name.as_str(), now.cast_signed()])
    }

    fn withdraw(&self, name: &Name) -> Result<usize> {
        let command = "DELETE FROM joining WHERE name = ?1 AND machine IS NULL";
        self.change(command, [name.as_str()])
    }

    fn withdraw_nonce(&self, nonce: &[u8; 32]) -> Result<()> {
        let command = "DELETE FROM joining WHERE nonce = ?1 AND machine IS NULL";
        self.execute(command, [nonce])
    }

    fn keep_offer(&self, nonce: &[u8; 32], offered: &Offered) -> Result<()> {
        self.execute(
            "UPDATE joining SET request = ?2, salt = ?3, joined = ?4, replaces = ?5
             WHERE nonce = ?1 AND request IS NULL",
            params![
                nonce,
                offered.request,
                offered.salt,
                offered.joined,
                offered.replaces.map_or(-1, i64::from),
            ],
        )
    }

    fn keep_joined(&self, nonce: &[u8; 32], index: u32) -> Result<()> {
        let command = "UPDATE joining SET machine = ?2 WHERE nonce = ?1";
        self.execute(command, params![nonce, index])
    }

    fn send(&self, kind: u8, body: &[u8]) -> Result<()> {
        let command = "INSERT INTO outbox (kind, body) VALUES (?1, ?2)";
        self.execute(command, params![kind, body])
    }

    fn set_sent(&self, seq: u64, place: u64) -> Result<()> {
        let command = "UPDATE outbox SET place = ?2 WHERE seq = ?1 AND place IS NULL";
        let (seq, place) = (seq.cast_signed(), place.cast_signed());
        self.execute(command, params![seq, place])
    }

    fn set_unsent(&self) -> Result<()> {
        let command = "UPDATE outbox SET place = NULL WHERE place IS NOT NULL";
        self.execute(command, [])
    }

    fn queue(&self, index: u32, now: u64) -> Result<bool> {
        let command = "INSERT OR IGNORE INTO queued VALUES (?1, ?2)";
        Ok(self.change(command, params![index, now.cast_signed()])? == 1)
    }

    fn unqueue(&self, index: u32) -> Result<()> {
        self.execute("DELETE FROM queued WHERE machine = ?1", [index])
    }

    fn add_factory(&self, factory: &Factory, now: u64) -> Result<()> {
        self.execute(
            "INSERT INTO factory VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                factory.id,
                factory.prefix.as_str(),
                factory.machines,
                factory.used,
                factory.until.cast_signed(),
                now.cast_signed(),
            ],
        )
    }

    fn use_factory(&self, id: &[u8; 16]) -> Result<()> {
        let command = "UPDATE factory SET used = used + 1 WHERE id = ?1";
        self.execute(command, [id])
    }

    fn remove_factories(&self, prefix: &str) -> Result<usize> {
        self.change("DELETE FROM factory WHERE prefix = ?1", [prefix])
    }
}
