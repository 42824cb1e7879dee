//! Packets whose block another one is verified for: they wait outside of the receiver.

use super::{KeySource, Received, Receiver};
use crate::receiver::pending::Pending;

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
}
