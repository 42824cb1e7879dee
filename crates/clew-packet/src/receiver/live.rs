//! What only live receivers do.

use super::replay::{BadMemory, Memory, REMEMBERED_BYTES_MAX, Replay};
use super::seconds::AcceptedSeconds;
use super::{Conclusion, KeySource, Received, Receiver};
use crate::receiver::pending::{Checked, Held, Pending};
use crate::receiver::waiting::Ticket;
use crate::time::Timestamp;
use crate::wire::trailer::GroupTag;
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

    /// Takes a checked signature in whose packet was given up, and counted, meanwhile: what the signature says
    /// of its block, and of packets that wait. The packet itself is neither counted nor accepted.
    pub fn learn_of_block(&mut self, checked: Checked) -> Conclusion {
        let (checked, waiters) = self.learn(checked);
        let reason = checked.signature.map_or_else(|reason| reason, Held::reason);
        if let Some((block, _)) = checked.block.filter(|_| checked.signature.is_ok()) {
            self.blocks.insert(block, 0);
        }
        self.settle_all(waiters);
        Conclusion {
            verdict: reason.verdict(self.acceptance.replay),
            reason,
            summary: Some(checked.summary),
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
        let mut out = self.forgotten.to_bytes();
        out.extend(self.memory.to_bytes());
        out
    }

    /// Takes over at `now` what another receiver accepted, which accepts nothing any more. From now on
    /// this one accepts what that one would have.
    ///
    /// # Errors
    /// The bytes are not what [`replay_memory`](Self::replay_memory) returned. Nothing changes.
    pub fn restore_replay_memory(&mut self, bytes: &[u8], now: Timestamp) -> Result<(), BadMemory> {
        let (forgotten, rest) = AcceptedSeconds::from_bytes(bytes, now)?;
        let memory = Memory::from_bytes(rest, REMEMBERED_BYTES_MAX)?;
        self.acceptance.not_before = memory.start();
        (self.memory, self.forgotten) = (memory, forgotten);
        // The clock may have gone back while nobody looked.
        if now < self.acceptance.not_before {
            self.clock_went_back(now);
        }
        Ok(())
    }

    /// Returns the seconds whose timestamps this receiver accepted, and a number that is another one
    /// whenever they became more. If they are on disk before a packet is delivered, no crash brings one again.
    pub const fn accepted_seconds(&self) -> (&AcceptedSeconds, u64) {
        (&self.accepted.0, self.accepted.1)
    }

    pub(super) fn note_second(&mut self, group: GroupTag, at: Timestamp) {
        let is_live = self.acceptance.replay == Replay::Refuse;
        if is_live && self.accepted.0.insert(group, at, self.latest) {
            self.accepted.1 = self.accepted.1.wrapping_add(1);
        }
    }

    /// Takes note of what receivers before this one accepted, whose memory is lost. In those seconds
    /// all packets of a group are refused from now on, whatever the clock says: some may be copies.
    pub fn forgot(&mut self, seconds: AcceptedSeconds) {
        self.forgotten = seconds;
    }

    /// Returns the seconds in which packets are refused because of [`forgot`](Self::forgot), also those that
    /// [`restore_replay_memory`](Self::restore_replay_memory) brought.
    pub const fn forgotten(&self) -> &AcceptedSeconds {
        &self.forgotten
    }

    /// Takes note that the clock went back to `now`. If that is before the start, one of both times is
    /// wrong: timestamps count from `now` on, as if it were the start. Else every packet would be
    /// stale until the clock says again what it said. What was accepted stays refused, also what receivers
    /// before this one accepted ([`forgot`](Self::forgot)).
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
