//! What only live receivers do.

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

    /// Takes note that the clock went back to `now`. If that is before the start, one of both times is
    /// wrong: timestamps count from `now` on, as if it were the start. Else every packet would be
    /// stale until the clock says again what it said. What was accepted stays refused.
    pub fn clock_went_back(&mut self, now: Timestamp) {
        self.acceptance.not_before = self.acceptance.not_before.min(now);
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
