//! What only live receivers do.

use super::replay::{BadMemory, Memory, REMEMBERED_BYTES_MAX};
use super::{KeySource, Received, Receiver};
use crate::receiver::pending::{Checked, Pending};
use crate::receiver::waiting::Ticket;
use crate::time::Timestamp;
use alloc::vec::Vec;

impl<K: KeySource> Receiver<K> {
    /// Takes a packet again whose signature was to be checked, after that of another packet of its block
    /// was: mostly there is nothing left to check then.
    pub fn take_again(&mut self, mut pending: Pending) -> Received {
        match pending.block().and_then(|block| self.blocks.check(&block)) {
            Some(verified) => Received::Done(self.conclude(pending.checked(verified))),
            None => {
                pending.ticket = self.waiting.next();
                Received::Pending(pending)
            }
        }
    }

    /// Returns the packets that wait for this one's signature, oldest first: their shares restored it,
    /// too, so that they are of the same signer.
    pub fn waiting_for(&self, pending: &Pending) -> impl Iterator<Item = Ticket> + '_ {
        let bin = pending.bin.as_deref().copied();
        bin.into_iter()
            .flat_map(|bin| self.waiting.of_bin(&bin).collect::<Vec<_>>())
    }

    /// Changes how long an epoch is accepted after its successor started, in nanoseconds.
    pub const fn set_grace(&mut self, grace_ns: u64) {
        self.acceptance.grace_ns = grace_ns;
    }

    /// Returns what was accepted, for a process that takes over from this one.
    pub fn replay_memory(&self) -> Vec<u8> {
        self.memory.to_bytes()
    }

    /// Takes over what another receiver accepted, which accepts nothing any more. From now on this one
    /// accepts what that one would have.
    ///
    /// # Errors
    /// The bytes are not what [`replay_memory`](Self::replay_memory) returned. Nothing changes.
    pub fn restore_replay_memory(&mut self, bytes: &[u8]) -> Result<(), BadMemory> {
        let memory = Memory::from_bytes(bytes, REMEMBERED_BYTES_MAX)?;
        self.acceptance.not_before = memory.start();
        self.memory = memory;
        Ok(())
    }

    /// Returns the latest timestamp that was accepted and is remembered. Returns `None` if there is none.
    pub fn latest_accepted(&self) -> Option<Timestamp> {
        self.memory.latest()
    }

    /// Takes note that receivers before this one, whose memory is lost, may have accepted timestamps up to
    /// `until`. Those are refused from now on, whatever the clock says.
    pub fn forgot_until(&mut self, until: Timestamp) {
        self.forgotten = self.forgotten.max(until.after(1));
        self.acceptance.not_before = self.acceptance.not_before.max(self.forgotten);
        self.memory.starts(self.acceptance.not_before);
    }

    /// Takes note that the clock went back to `now`. If that is before the start, one of both times is
    /// wrong: timestamps count from `now` on, as if it were the start. Else every packet would be
    /// stale until the clock says again what it said. What was accepted stays refused, also what receivers
    /// before this one accepted ([`forgot_until`](Self::forgot_until)).
    pub fn clock_went_back(&mut self, now: Timestamp) {
        let start = now.max(self.forgotten);
        self.acceptance.not_before = self.acceptance.not_before.min(start);
        self.memory.starts(self.acceptance.not_before);
        self.latest = now;
    }
}

/// What a hash says of a signature.
#[derive(Debug)]
pub enum Screened {
    /// It may hold.
    MayHold(Pending),
    /// It does not: [`Receiver::conclude`] takes note of that.
    Refused(Checked),
}

impl Pending {
    /// Checks what costs no more than a hash, so that a signature which somebody invented waits for no
    /// verifier: there is something to check in incremental forms only.
    pub fn screen(self) -> Screened {
        match self.key.check_hash(self.signed()) {
            Ok(()) => Screened::MayHold(self),
            Err(fault) => Screened::Refused(self.checked(Err(fault))),
        }
    }
}
