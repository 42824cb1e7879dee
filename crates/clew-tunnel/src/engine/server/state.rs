//! Where a tunnel stands at its server: `spec/tunnel.md` section 13. All its steps are here; an impossible one
//! is `wrong-state`, and closes the tunnel.

use alloc::vec::Vec;
use clew_wire::Instant;
use core::time::Duration;

use super::trial::Trial;
use crate::boxes::Key;
use crate::engine::event::Create;
use crate::engine::packet_keys::PacketKeys;
use crate::engine::tids::{TidList, TidUse};
use crate::engine::tunnel_keys::TunnelKeys;
use crate::keys;
use crate::limits::{REKEY, REKEY_ANSWER};
use crate::reason::Reason;
use crate::wire::packet::Tid;

/// Where a tunnel stands.
#[derive(Debug)]
pub(super) enum State {
    /// Packets come and go, as few as anybody may send from an address that is perhaps not its own.
    Unproven(Open, Trial),
    /// Packets come and go: the client has shown that it receives them.
    Open(Open),
    /// K is that of the next rekey already, and nothing is sent.
    Dormant(Key, Tid),
    /// The tunnel is at its end, and leaves the table with these TIDs.
    Closed(TidList),
}

/// What an open tunnel has.
#[derive(Debug)]
pub(super) struct Open {
    /// K and TID, and those before.
    pub keys: TunnelKeys,
    /// The TID of the next rekey.
    pub announced: Tid,
    /// The next packet is the first under its TID.
    pub is_first: bool,
    /// What becomes of K, if no rekey comes.
    pub rekey: Rekey,
}

/// The rekey that an open tunnel waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rekey {
    /// rekeyNow is sent then.
    Due(Instant),
    /// It was sent, and then the tunnel becomes dormant.
    Asked(Instant),
}

impl State {
    /// The initiation packet of a new tunnel was accepted, with a solution.
    pub(super) fn new(keys: PacketKeys, announced: Tid, now: Instant) -> Self {
        Self::Open(Open::new(keys, announced, now))
    }

    /// The same without a solution: the client has so much time to show that it receives.
    pub(super) fn unproven(keys: PacketKeys, announced: Tid, now: Instant, life: Duration) -> Self {
        let trial = Trial::new(now, life);
        Self::Unproven(Open::new(keys, announced, now), trial)
    }

    /// UNPROVEN to OPEN: the connections that the program did not hear of. `None` in any other state.
    pub(super) fn prove(&mut self) -> Option<Vec<Create>> {
        if !matches!(self, Self::Unproven(..)) {
            return None;
        }
        let Self::Unproven(open, trial) = core::mem::replace(self, Self::Closed([None; 3])) else {
            return None;
        };
        *self = Self::Open(open);
        Some(trial.into_held())
    }

    /// The connection, if the program may hear of it now.
    pub(super) fn admit(&mut self, create: Create) -> Option<Create> {
        match self {
            Self::Unproven(_, trial) => trial.admit(create),
            _ => Some(create),
        }
    }

    /// The trial of a tunnel whose client has shown nothing yet.
    pub(super) const fn trial(&self) -> Option<&Trial> {
        match self {
            Self::Unproven(_, trial) => Some(trial),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub(super) const fn trial_mut(&mut self) -> Option<&mut Trial> {
        match self {
            Self::Unproven(_, trial) => Some(trial),
            _ => None,
        }
    }

    /// What it has, if it is open.
    pub(super) const fn open(&self) -> Option<&Open> {
        match self {
            Self::Unproven(open, _) | Self::Open(open) => Some(open),
            Self::Dormant(..) | Self::Closed(_) => None,
        }
    }

    /// The same, to be changed.
    pub(super) const fn open_mut(&mut self) -> Option<&mut Open> {
        match self {
            Self::Unproven(open, _) | Self::Open(open) => Some(open),
            Self::Dormant(..) | Self::Closed(_) => None,
        }
    }

    /// The TIDs of its packets.
    pub(super) fn tids(&self) -> TidList {
        let announced = |tid: &Tid| Some((*tid, TidUse::Initiation));
        match self {
            Self::Unproven(open, _) | Self::Open(open) => {
                let [current, draining] = open.keys.tids();
                [current, draining, announced(&open.announced)]
            }
            Self::Dormant(_, tid) => [announced(tid), None, None],
            Self::Closed(tids) => *tids,
        }
    }

    /// The key of the next rekey's initiation packet.
    ///
    /// # Errors
    /// `wrong-state`: CLOSED.
    pub(super) fn next_key(&self) -> Result<Key, Reason> {
        match self {
            Self::Unproven(open, _) | Self::Open(open) => Ok(keys::next(&open.keys.current.key)),
            Self::Dormant(key, _) => Ok(key.clone()),
            Self::Closed(_) => Err(Reason::WrongState),
        }
    }

    /// UNPROVEN, OPEN, DORMANT: the initiation packet of the announced TID was accepted.
    ///
    /// # Errors
    /// `wrong-state`: CLOSED.
    pub(super) fn rekey(
        &mut self,
        keys: PacketKeys,
        announced: Tid,
        now: Instant,
    ) -> Result<(), Reason> {
        match self {
            Self::Unproven(open, _) | Self::Open(open) => {
                open.keys.rekey(keys, now);
                open.announced = announced;
                open.is_first = true;
                open.rekey = Rekey::Due(now + REKEY);
            }
            Self::Dormant(..) => *self = Self::new(keys, announced, now),
            Self::Closed(_) => return Err(Reason::WrongState),
        }
        Ok(())
    }

    /// OPEN: rekeyNow is sent.
    ///
    /// # Errors
    /// `wrong-state`: not OPEN.
    pub(super) fn ask_rekey(&mut self, now: Instant) -> Result<(), Reason> {
        let Self::Open(open) = self else {
            return Err(Reason::WrongState);
        };
        open.rekey = Rekey::Asked(now + REKEY_ANSWER);
        Ok(())
    }

    /// OPEN to DORMANT: the next key takes the place of all that there are.
    ///
    /// # Errors
    /// `wrong-state`: not OPEN.
    pub(super) fn rest(&mut self) -> Result<(), Reason> {
        let Self::Open(open) = self else {
            return Err(Reason::WrongState);
        };
        *self = Self::Dormant(keys::next(&open.keys.current.key), open.announced);
        Ok(())
    }

    /// CLOSED: close(0) came. All keys are erased.
    pub(super) fn close(&mut self) {
        *self = Self::Closed(self.tids());
    }
}

impl Open {
    fn new(keys: PacketKeys, announced: Tid, now: Instant) -> Self {
        Self {
            keys: TunnelKeys::new(keys),
            announced,
            is_first: true,
            rekey: Rekey::Due(now + REKEY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Nonce;
    use crate::wire::packet::Side;

    fn tid(n: u8) -> Tid {
        Tid::from_random([n; 8])
    }

    fn keys(n: u8) -> PacketKeys {
        let nonce = Nonce::new(0, Side::Server);
        PacketKeys::new(tid(n), Key::from_bytes([n; 32]), nonce)
    }

    #[test]
    fn a_tunnel_goes_from_open_to_dormant_and_back() {
        let now = Instant::default();
        let mut state = State::new(keys(1), tid(2), now);
        let next = state.next_key().expect("a key").to_bytes();
        assert_eq!(state.rest(), Ok(()));
        assert!(matches!(state, State::Dormant(..)), "{state:?}");
        assert_eq!(state.next_key().expect("a key").to_bytes(), next);
        assert_eq!(
            state.tids(),
            [Some((tid(2), TidUse::Initiation)), None, None]
        );
        assert_eq!(state.rekey(keys(2), tid(3), now), Ok(()));
        let announced = Some((tid(3), TidUse::Initiation));
        let current = Some((tid(2), TidUse::Current));
        assert_eq!(state.tids(), [current, None, announced], "nothing drains");
        assert_eq!(state.rekey(keys(3), tid(4), now), Ok(()));
        assert_eq!(state.tids()[1], Some((tid(2), TidUse::Draining)));
    }

    #[test]
    fn a_tunnel_on_trial_is_proven_once_and_never_dormant() {
        let (now, life) = (Instant::default(), Duration::from_secs(5));
        let mut state = State::unproven(keys(1), tid(2), now, life);
        assert_eq!(state.rest(), Err(Reason::WrongState));
        assert_eq!(state.ask_rekey(now), Err(Reason::WrongState));
        assert_eq!(state.rekey(keys(2), tid(3), now), Ok(()));
        assert!(state.trial().is_some(), "a rekey shows nothing");
        assert_eq!(state.prove(), Some(Vec::new()));
        assert_eq!((state.prove(), state.rest()), (None, Ok(())));
    }

    #[test]
    fn impossible_steps_fail_closed() {
        let now = Instant::default();
        let mut state = State::new(keys(1), tid(2), now);
        assert_eq!(state.rest(), Ok(()));
        assert_eq!(state.rest(), Err(Reason::WrongState));
        assert_eq!(state.ask_rekey(now), Err(Reason::WrongState));
        let tids = state.tids();
        state.close();
        assert_eq!((state.tids(), state.open().is_none()), (tids, true));
        let rekeyed = state.rekey(keys(2), tid(3), now);
        assert_eq!(rekeyed, Err(Reason::WrongState));
        assert_eq!(state.next_key().map(|_| ()), Err(Reason::WrongState));
        assert_eq!(state.rest(), Err(Reason::WrongState));
    }
}
