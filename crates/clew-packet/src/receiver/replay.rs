//! Which signatures were accepted before: step 8 of specification section 6.

use alloc::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::{reason::Reason, time::Timestamp};

/// What a receiver does with a signature that it accepted before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// Says so; the packet stays valid. For captures, where a packet is often seen at two places.
    Flag,
    /// Refuses the packet. For live traffic.
    Refuse,
}

/// The most signatures that are remembered: about 50 MB, or a window of a minute at 17,000 packets
/// a second.
pub(crate) const REMEMBERED_MAX: usize = 1 << 20;

/// Leading bytes of a body that name its signature: three compressed points of 48 bytes.
///
/// Both forms of a body start with them, and anybody can turn one form into the other: a digest over
/// more than this would take the other form for another signature.
const NAMING_BYTES: usize = 3 * 48;

/// The name of a signature: 16 bytes of SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SignatureId([u8; 16]);

impl SignatureId {
    /// Names a signature by the hashes of its message and of its body ([`naming_hash`]), and the
    /// packet of its block.
    pub fn of(message: &[u8; 32], body: &[u8; 32], index: Option<u16>) -> Self {
        let index = index.map(u16::to_be_bytes);
        let digest = Sha256::new_with_prefix(message)
            .chain_update(body)
            .chain_update(index.as_ref().map_or(&[][..], |index| index))
            .finalize();
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        Self(id)
    }
}

/// The hash of what a signature covers.
pub(crate) fn message_hash(message: &[u8]) -> [u8; 32] {
    Sha256::digest(message).into()
}

/// The hash of what names the signature that a body encodes, in whichever form.
pub(crate) fn naming_hash(body: &[u8]) -> [u8; 32] {
    Sha256::digest(&body[..NAMING_BYTES.min(body.len())]).into()
}

/// The accepted signatures, ordered by timestamp.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    accepted: BTreeSet<(Timestamp, SignatureId)>,
    capacity: usize,
    /// Everything with an earlier timestamp may have been forgotten.
    floor: Timestamp,
    evictions: u64,
}

impl Memory {
    /// Returns a memory of at most `capacity` signatures that knows of none before `floor`.
    pub fn new(capacity: usize, floor: Timestamp) -> Self {
        Self {
            accepted: BTreeSet::new(),
            capacity,
            floor,
            evictions: 0,
        }
    }

    /// Says whether a signature was accepted before, as far as it is remembered.
    ///
    /// # Errors
    /// `duplicate`; `stale`, live, if it may have been forgotten.
    pub fn check(&self, replay: Replay, at: Timestamp, id: SignatureId) -> Result<(), Reason> {
        self.check_time(replay, at)?;
        if self.accepted.contains(&(at, id)) {
            Err(Reason::Duplicate)
        } else {
            Ok(())
        }
    }

    /// Says whether all signatures of that time are remembered.
    ///
    /// # Errors
    /// `stale`, live, if one may have been forgotten.
    pub fn check_time(&self, replay: Replay, at: Timestamp) -> Result<(), Reason> {
        let forgotten = replay == Replay::Refuse && at < self.floor;
        (!forgotten).then_some(()).ok_or(Reason::Stale)
    }

    /// Remembers a signature; the oldest one is forgotten if there are too many.
    pub fn insert(&mut self, at: Timestamp, id: SignatureId) {
        self.accepted.insert((at, id));
        if self.accepted.len() > self.capacity {
            self.forget_first();
            self.evictions = self.evictions.saturating_add(1);
        }
    }

    /// Forgets what is older than `at`, because its timestamp alone refuses it.
    pub fn forget_before(&mut self, at: Timestamp) {
        while self.accepted.first().is_some_and(|(first, _)| *first < at) {
            self.forget_first();
        }
    }

    /// Returns how many signatures were forgotten for want of room.
    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    /// Forgets the oldest, and everything of its time with it: what is not remembered must not be
    /// accepted again, even if the clock steps back.
    fn forget_first(&mut self) {
        if let Some((at, _)) = self.accepted.pop_first() {
            self.floor = self.floor.max(at.after(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(byte: u8) -> SignatureId {
        SignatureId::of(&[0; 32], &naming_hash(&[byte]), None)
    }

    #[test]
    fn duplicate() {
        let mut memory = Memory::new(2, Timestamp::NONE);
        assert_eq!(memory.check(Replay::Refuse, Timestamp(5), id(1)), Ok(()));
        memory.insert(Timestamp(5), id(1));
        assert_eq!(
            memory.check(Replay::Refuse, Timestamp(5), id(1)),
            Err(Reason::Duplicate)
        );
        assert_eq!(memory.check(Replay::Refuse, Timestamp(5), id(2)), Ok(()));
    }

    #[test]
    fn the_oldest_is_evicted_and_refused_from_then_on() {
        let mut memory = Memory::new(2, Timestamp::NONE);
        for at in [7, 5, 6] {
            memory.insert(Timestamp(at), id(at as u8));
        }
        assert_eq!(memory.evictions(), 1);
        assert_eq!(
            memory.check(Replay::Refuse, Timestamp(5), id(5)),
            Err(Reason::Stale)
        );
        assert_eq!(memory.check(Replay::Flag, Timestamp(5), id(5)), Ok(()));
        assert_eq!(
            memory.check(Replay::Refuse, Timestamp(6), id(6)),
            Err(Reason::Duplicate)
        );
    }

    #[test]
    fn what_freshness_refuses_is_forgotten_without_an_eviction() {
        let mut memory = Memory::new(2, Timestamp::NONE);
        memory.insert(Timestamp(5), id(5));
        memory.forget_before(Timestamp(5));
        assert_eq!(
            memory.check(Replay::Refuse, Timestamp(5), id(5)),
            Err(Reason::Duplicate)
        );
        memory.forget_before(Timestamp(6));
        assert_eq!(
            memory.check(Replay::Refuse, Timestamp(5), id(5)),
            Err(Reason::Stale)
        );
        assert_eq!(memory.evictions(), 0);
    }

    #[test]
    fn both_forms_of_a_body_have_one_name() {
        let mut long = [3; 1104];
        long[NAMING_BYTES..].fill(4);
        assert_eq!(naming_hash(&long), naming_hash(&[3; 336]));
        // The last byte that counts, and the first that does not.
        let changed = |at: usize| {
            let mut body = [3; 336];
            body[at] ^= 1;
            naming_hash(&body)
        };
        assert_ne!(changed(143), naming_hash(&[3; 336]));
        assert_eq!(changed(144), naming_hash(&[3; 336]));
    }
}
