//! Revocations that wait for the next epoch.

use super::Store;
use super::revoke::{EpochStart, rows_of};
use crate::error::StoreError;
use crate::index::Progress;
use clew_evidence::{MAX_STEPS_PER_RECORD, Name};
use clew_keys::IssuerKeyFile;

impl Store {
    /// Queues machines for the next epoch that the service makes, and returns how many were not queued
    /// yet. `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::NoSuchMachine`], [`StoreError::AlreadyRevoked`]; then none is queued.
    pub fn queue(&mut self, machines: &[Name], now: u64) -> Result<usize, StoreError> {
        self.check_not_halted()?;
        let transaction = self.db.begin()?;
        let mut queued = 0;
        for machine in rows_of(&*transaction, machines)? {
            queued += usize::from(transaction.queue(machine.entry.index, now)?);
        }
        transaction.commit()?;
        Ok(queued)
    }

    /// The rows that are queued, ascending.
    ///
    /// # Errors
    /// The database's.
    pub fn queued(&self) -> Result<Vec<u32>, StoreError> {
        self.db.queued()
    }

    /// Revokes all machines that are queued, and returns the new epochs: one for each 48 machines. What
    /// was revoked meanwhile has left the queue.
    ///
    /// # Errors
    /// As [`Store::revoke`].
    pub fn revoke_queued(
        &mut self,
        issuer: &IssuerKeyFile,
        when: EpochStart,
        progress: Progress<'_>,
    ) -> Result<Vec<u32>, StoreError> {
        let mut epochs = Vec::new();
        loop {
            let rows = self.db.queued()?;
            let rows = &rows[..rows.len().min(MAX_STEPS_PER_RECORD)];
            if rows.is_empty() {
                return Ok(epochs);
            }
            let machines = rows.iter().map(|row| super::register::at(&*self.db, *row));
            let machines = machines.collect::<Result<Vec<_>, _>>()?;
            let names: Vec<Name> = machines.into_iter().map(|m| m.entry.name).collect();
            epochs.push(self.revoke(issuer, &names, false, when, progress)?);
        }
    }
}
