//! Where a tunnel stands at its client: `spec/tunnel.md` section 13. All its steps are here; an impossible one
//! is `wrong-state`, leaves CLOSED behind, and closes the tunnel.

use alloc::boxed::Box;
use core::mem::take;

use super::attempt::Attempt;
use super::rekey::Rekeying;
use crate::engine::packet_keys::PacketKeys;
use crate::engine::tids::{TidList, TidUse};
use crate::engine::tunnel_keys::TunnelKeys;
use crate::keys::Binder;
use crate::reason::Reason;
use clew_wire::Instant;

/// Where a tunnel stands.
#[derive(Debug)]
pub(super) enum State {
    /// Its keys are being computed, or its first packet is not answered.
    First(Box<Attempt>),
    /// The server has answered.
    Open(Keyed),
    /// The initiation packet of a rekey is not answered.
    Rekey(Keyed, Box<Rekeying>),
    /// The tunnel is at its end, and leaves the table with these TIDs.
    Closed(TidList),
}

/// What a tunnel has from the first answer on.
#[derive(Debug)]
pub(super) struct Keyed {
    /// K and TID, and those before.
    pub keys: TunnelKeys,
    /// B.
    pub binder: Binder,
}

impl Default for State {
    fn default() -> Self {
        Self::Closed([None; 3])
    }
}

impl State {
    /// What it has from the first answer on.
    pub(super) const fn keyed(&self) -> Option<&Keyed> {
        match self {
            Self::Open(keyed) | Self::Rekey(keyed, _) => Some(keyed),
            Self::First(_) | Self::Closed(_) => None,
        }
    }

    /// The same, to be changed.
    pub(super) const fn keyed_mut(&mut self) -> Option<&mut Keyed> {
        match self {
            Self::Open(keyed) | Self::Rekey(keyed, _) => Some(keyed),
            Self::First(_) | Self::Closed(_) => None,
        }
    }

    /// The attempt.
    ///
    /// # Errors
    /// `wrong-state`: not FIRST.
    pub(super) fn attempt(&mut self) -> Result<&mut Attempt, Reason> {
        match self {
            Self::First(attempt) => Ok(attempt),
            _ => Err(Reason::WrongState),
        }
    }

    /// When the server was first called, if it has not answered.
    pub(super) fn called(&self) -> Option<Instant> {
        match self {
            Self::First(attempt) => Some(attempt.began()),
            _ => None,
        }
    }

    /// The keys and the rekey's initiation packet.
    ///
    /// # Errors
    /// `wrong-state`: not REKEY.
    pub(super) fn rekeying(&mut self) -> Result<(&mut Keyed, &mut Rekeying), Reason> {
        match self {
            Self::Rekey(keyed, rekeying) => Ok((keyed, rekeying)),
            _ => Err(Reason::WrongState),
        }
    }

    /// The TIDs of its packets.
    pub(super) fn tids(&self) -> TidList {
        match self {
            Self::First(attempt) => [Some((attempt.tid(), TidUse::Initiation)), None, None],
            Self::Open(keyed) | Self::Rekey(keyed, _) => {
                let [current, draining] = keyed.keys.tids();
                [current, draining, None]
            }
            Self::Closed(tids) => *tids,
        }
    }

    /// FIRST to OPEN: one of the attempt's keys decrypted a packet; the others and c' are erased. How often the
    /// initiation packet was sent.
    ///
    /// # Errors
    /// `wrong-state`: not FIRST.
    pub(super) fn open(&mut self, key: usize) -> Result<u32, Reason> {
        let Self::First(attempt) = take(self) else {
            return Err(Reason::WrongState);
        };
        let (keys, binder, sends) = attempt.into_keys(key);
        let keys = TunnelKeys::new(keys);
        *self = Self::Open(Keyed { keys, binder });
        Ok(sends)
    }

    /// OPEN to REKEY. If the client has moved, nothing of the old key comes to the new address.
    ///
    /// # Errors
    /// `wrong-state`: not OPEN.
    pub(super) fn rekey(
        &mut self,
        next: PacketKeys,
        rekeying: Rekeying,
        now: Instant,
        has_moved: bool,
    ) -> Result<(), Reason> {
        let Self::Open(mut keyed) = take(self) else {
            return Err(Reason::WrongState);
        };
        keyed.keys.rekey(next, now);
        if has_moved {
            keyed.keys.draining = None;
        }
        *self = Self::Rekey(keyed, Box::new(rekeying));
        Ok(())
    }

    /// REKEY to OPEN: a packet under the new key was decrypted.
    ///
    /// # Errors
    /// `wrong-state`: not REKEY.
    pub(super) fn rekeyed(&mut self) -> Result<(), Reason> {
        let Self::Rekey(keyed, _) = take(self) else {
            return Err(Reason::WrongState);
        };
        *self = Self::Open(keyed);
        Ok(())
    }

    /// CLOSED: close(0) came. All keys and B are erased.
    pub(super) fn close(&mut self) {
        *self = Self::Closed(self.tids());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boxes::Key;
    use crate::keys::Nonce;
    use crate::wire::packet::{Side, Tid};
    use crate::x25519::Public;

    fn open() -> State {
        let (key, tid) = (Key::from_bytes([1; 32]), Tid::from_random([1; 8]));
        let binder = Binder::new(&key, tid, &Public([2; 32]), &Public([3; 32]));
        let keys = TunnelKeys::new(PacketKeys::new(tid, key, Nonce::new(0, Side::Client)));
        State::Open(Keyed { keys, binder })
    }

    #[test]
    fn impossible_steps_fail_closed() {
        let wrong = Err(Reason::WrongState);
        let mut state = open();
        assert_eq!(state.attempt().map(|_| ()), wrong);
        assert_eq!(state.rekeying().map(|_| ()), wrong);
        assert_eq!(state.rekeyed(), wrong, "OPEN");
        assert!(matches!(state, State::Closed([None, None, None])));
        let mut state = open();
        assert_eq!(state.open(0).map(|_| ()), wrong, "OPEN");
        assert!(state.keyed().is_none(), "its keys are erased");
    }

    #[test]
    fn a_closed_tunnel_has_its_tids_and_no_keys() {
        let mut state = open();
        let tids = state.tids();
        state.close();
        assert_eq!((state.tids(), state.keyed().is_none()), (tids, true));
    }
}
