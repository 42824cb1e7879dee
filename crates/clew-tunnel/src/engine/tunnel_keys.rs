//! The keys of an open tunnel: `spec/tunnel.md` section 8.

use alloc::boxed::Box;

use clew_wire::Instant;

use super::packet_keys::PacketKeys;
use super::tids::TidUse;
use crate::limits::DRAIN;
use crate::wire::packet::Tid;

/// The key in use, and for a while the one before.
#[derive(Debug)]
pub struct TunnelKeys {
    /// What is sent with.
    pub(super) current: PacketKeys,
    /// The key before, which only receives, until then.
    pub(super) draining: Option<Box<(PacketKeys, Instant)>>,
}

impl TunnelKeys {
    /// A first key, or one without the key before.
    pub(super) const fn new(current: PacketKeys) -> Self {
        Self {
            current,
            draining: None,
        }
    }

    /// The next key is in use, and this one drains. What drained is erased.
    pub(super) fn rekey(&mut self, next: PacketKeys, now: Instant) {
        let before = core::mem::replace(&mut self.current, next);
        self.draining = Some(Box::new((before, now + DRAIN)));
    }

    /// Erases the key before, if it is time.
    pub(super) fn drain(&mut self, now: Instant) {
        self.draining.take_if(|draining| draining.1 <= now);
    }

    /// When the key before is erased.
    pub(super) fn drained_at(&self) -> Option<Instant> {
        self.draining.as_ref().map(|draining| draining.1)
    }

    /// Their TIDs.
    pub(super) fn tids(&self) -> [Option<(Tid, TidUse)>; 2] {
        let draining = self.draining.as_ref();
        [
            Some((self.current.tid, TidUse::Current)),
            draining.map(|draining| (draining.0.tid, TidUse::Draining)),
        ]
    }

    /// The key for packets of such a TID, to be read.
    pub(super) fn of(&self, which: TidUse) -> Option<&PacketKeys> {
        match which {
            TidUse::Current => Some(&self.current),
            TidUse::Draining => self.draining.as_ref().map(|draining| &draining.0),
            TidUse::Initiation => None,
        }
    }

    /// The key for packets of such a TID.
    pub(super) fn of_mut(&mut self, which: TidUse) -> Option<&mut PacketKeys> {
        match which {
            TidUse::Current => Some(&mut self.current),
            TidUse::Draining => self.draining.as_mut().map(|draining| &mut draining.0),
            TidUse::Initiation => None,
        }
    }
}
