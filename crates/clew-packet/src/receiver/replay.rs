//! Which signatures were accepted before: step 8 of specification section 6.

mod stored;

pub use stored::BadMemory;

use alloc::{boxed::Box, collections::BTreeMap};

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

/// Most bytes that signatures take which are remembered: a million signatures of packets alone, or
/// those of blocks of 64 that come in half a minute at two million packets a second.
pub(crate) const REMEMBERED_BYTES_MAX: usize = 64 << 20;

/// What an entry takes: twenty bytes of it are padding and what trees leave free.
const ENTRY_BYTES: usize = 64;

/// What an entry takes besides if its block is larger than 64.
const LARGE_BYTES: usize = 144;

/// Leading bytes of a body that name its signature: three compressed points of 48 bytes.
///
/// Both forms of a body start with them, and anybody can turn one form into the other: a digest over
/// more than this would take the other form for another signature.
const NAMING_BYTES: usize = 3 * 48;

/// The name of a signature: 16 bytes of SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SignatureId([u8; 16]);

impl SignatureId {
    /// Names a signature by the hashes of its message and of its body ([`naming_hash`]).
    pub fn of(message: &[u8; 32], body: &[u8; 32]) -> Self {
        let digest = Sha256::new_with_prefix(message).chain_update(body);
        let mut id = [0; 16];
        id.copy_from_slice(&digest.finalize()[..16]);
        Self(id)
    }
}

/// What is accepted once: a signature, or a packet under that of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AcceptedId {
    pub signature: SignatureId,
    /// In a block.
    pub index: Option<u16>,
}

/// The hash of what a signature covers.
pub(crate) fn message_hash(message: &[u8]) -> [u8; 32] {
    Sha256::digest(message).into()
}

/// The hash of what names the signature that a body encodes, in whichever form.
pub(crate) fn naming_hash(body: &[u8]) -> [u8; 32] {
    Sha256::digest(&body[..NAMING_BYTES.min(body.len())]).into()
}

/// The accepted signatures, ordered by timestamp. A block has one entry, whatever came of it.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    accepted: BTreeMap<(Timestamp, SignatureId), Indices>,
    /// What the entries take.
    bytes: usize,
    bytes_max: usize,
    /// Everything with an earlier timestamp may have been forgotten.
    floor: Timestamp,
    /// Nothing with an earlier timestamp was ever known.
    start: Timestamp,
    evictions: u64,
}

/// Which packets of a block were accepted: a bit for each.
#[derive(Clone, Debug)]
enum Indices {
    /// The first 64. A signature of one packet has the bit of the first.
    Small(u64),
    Large(Box<[u64; 16]>),
}

impl Indices {
    fn has(&self, index: u16) -> bool {
        let (word, bit) = place(index);
        let word = match self {
            Self::Small(first) => (word == 0).then_some(first),
            Self::Large(words) => words.get(word),
        };
        word.is_some_and(|word| word & bit != 0)
    }

    /// Sets a bit, and returns how many bytes that took.
    fn insert(&mut self, index: u16) -> usize {
        let (word, bit) = place(index);
        let mut grown = 0;
        if let Self::Small(first) = self
            && word > 0
        {
            let mut words = Box::new([0; 16]);
            words[0] = *first;
            *self = Self::Large(words);
            grown = LARGE_BYTES;
        }
        let word = match self {
            Self::Small(first) => Some(first),
            Self::Large(words) => words.get_mut(word),
        };
        word.into_iter().for_each(|word| *word |= bit);
        grown
    }

    const fn bytes(&self) -> usize {
        match self {
            Self::Small(_) => ENTRY_BYTES,
            Self::Large(_) => ENTRY_BYTES + LARGE_BYTES,
        }
    }
}

/// The word and the bit of an index. A block has at most 1,024 packets.
fn place(index: u16) -> (usize, u64) {
    (usize::from(index / 64), 1 << (index % 64))
}

impl Memory {
    /// Returns a memory of at most `bytes_max` bytes that knows of no signature before `start`.
    pub fn new(bytes_max: usize, start: Timestamp) -> Self {
        Self {
            accepted: BTreeMap::new(),
            bytes: 0,
            bytes_max,
            floor: Timestamp::NONE,
            start,
            evictions: 0,
        }
    }

    /// Says whether something was accepted before, as far as it is remembered.
    ///
    /// # Errors
    /// `duplicate`; `stale`, live, if it may have been forgotten.
    pub fn check(&self, replay: Replay, at: Timestamp, id: AcceptedId) -> Result<(), Reason> {
        self.check_time(replay, at)?;
        let entry = self.accepted.get(&(at, id.signature));
        match entry.is_some_and(|indices| indices.has(id.index.unwrap_or(0))) {
            true => Err(Reason::Duplicate),
            false => Ok(()),
        }
    }

    /// Says whether all signatures of that time are remembered.
    ///
    /// # Errors
    /// `stale`, live, if one may have been forgotten.
    pub fn check_time(&self, replay: Replay, at: Timestamp) -> Result<(), Reason> {
        let forgotten = replay == Replay::Refuse && at < self.floor.max(self.start);
        (!forgotten).then_some(()).ok_or(Reason::Stale)
    }

    /// Takes note that everything is known from another time on.
    pub const fn starts(&mut self, at: Timestamp) {
        self.start = at;
    }

    /// Remembers a signature; the oldest ones are forgotten if there are too many.
    pub fn insert(&mut self, at: Timestamp, id: AcceptedId) {
        let index = id.index.unwrap_or(0);
        let mut grown = 0;
        let entry = self.accepted.entry((at, id.signature));
        let indices = entry.or_insert_with(|| {
            grown = ENTRY_BYTES;
            Indices::Small(0)
        });
        self.bytes += grown + indices.insert(index);
        while self.bytes > self.bytes_max {
            self.forget_first();
            self.evictions = self.evictions.saturating_add(1);
        }
    }

    /// Forgets what is older than `at`, because its timestamp alone refuses it.
    pub fn forget_before(&mut self, at: Timestamp) {
        while self
            .accepted
            .first_key_value()
            .is_some_and(|((first, _), _)| *first < at)
        {
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
        if let Some(((at, _), indices)) = self.accepted.pop_first() {
            self.bytes -= indices.bytes();
            self.floor = self.floor.max(at.after(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(byte: u8) -> AcceptedId {
        AcceptedId {
            signature: SignatureId::of(&[0; 32], &naming_hash(&[byte])),
            index: None,
        }
    }

    fn of_block(block: u64, index: u16) -> AcceptedId {
        let mut id = [0; 16];
        // Names are random: neighbours in time are not neighbours in order.
        id[..8].copy_from_slice(&block.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        id[8..].copy_from_slice(&block.to_be_bytes());
        AcceptedId {
            signature: SignatureId(id),
            index: Some(index),
        }
    }

    #[test]
    fn duplicate() {
        let mut memory = Memory::new(2 * ENTRY_BYTES, Timestamp::NONE);
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
        let mut memory = Memory::new(2 * ENTRY_BYTES, Timestamp::NONE);
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
        let mut memory = Memory::new(2 * ENTRY_BYTES, Timestamp::NONE);
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
    fn an_earlier_start_brings_nothing_back() {
        let mut memory = Memory::new(2 * ENTRY_BYTES, Timestamp(9));
        let check = |memory: &Memory, at| memory.check(Replay::Refuse, Timestamp(at), id(7));
        assert_eq!(check(&memory, 7), Err(Reason::Stale));
        memory.starts(Timestamp(5));
        assert_eq!(check(&memory, 7), Ok(()));
        memory.insert(Timestamp(7), id(7));
        memory.forget_before(Timestamp(8));
        memory.starts(Timestamp(1));
        assert_eq!(check(&memory, 7), Err(Reason::Stale), "it was forgotten");
    }

    #[test]
    fn packets_of_a_block_are_told_apart() {
        let mut memory = Memory::new(REMEMBERED_BYTES_MAX, Timestamp::NONE);
        let at = Timestamp(5);
        let check = |memory: &Memory, index| memory.check(Replay::Refuse, at, of_block(1, index));
        for index in [3, 0, 63, 64, 1023] {
            assert_eq!(check(&memory, index), Ok(()));
            memory.insert(at, of_block(1, index));
            assert_eq!(check(&memory, index), Err(Reason::Duplicate));
        }
        for index in [1, 4, 62, 65, 127, 128, 1022] {
            assert_eq!(check(&memory, index), Ok(()), "{index}");
        }
        assert_eq!(memory.bytes, ENTRY_BYTES + LARGE_BYTES);
        memory.forget_before(Timestamp(6));
        assert_eq!(memory.bytes, 0);
    }

    #[test]
    fn a_block_that_grows_makes_room() {
        let mut memory = Memory::new(ENTRY_BYTES + LARGE_BYTES, Timestamp::NONE);
        memory.insert(Timestamp(5), of_block(1, 0));
        memory.insert(Timestamp(6), of_block(2, 0));
        assert_eq!(memory.evictions(), 0);
        memory.insert(Timestamp(6), of_block(2, 64));
        assert_eq!((memory.evictions(), memory.bytes), (1, memory.bytes_max));
        let stale = memory.check(Replay::Refuse, Timestamp(5), of_block(1, 1));
        assert_eq!(stale, Err(Reason::Stale));
    }

    /// Half a minute and a second of honest packets, 100,000 a second in blocks of 64: all that is fresh
    /// is remembered. The last packet of each block comes as late as it may.
    #[test]
    fn nothing_honest_becomes_stale() {
        const SECONDS: u64 = 31;
        const BLOCKS: u64 = 100_000 / 64 + 1;
        let mut memory = Memory::new(REMEMBERED_BYTES_MAX, Timestamp::NONE);
        let accept = |memory: &mut Memory, second: u64, block: u64, index: u16| {
            let id = of_block(second * BLOCKS + block, index);
            let at = Timestamp(second);
            assert_eq!(memory.check(Replay::Refuse, at, id), Ok(()));
            memory.insert(at, id);
            assert_eq!(memory.check(Replay::Refuse, at, id), Err(Reason::Duplicate));
        };
        for now in 0..2 * SECONDS {
            memory.forget_before(Timestamp(now.saturating_sub(SECONDS)));
            for block in 0..BLOCKS {
                (0..63).for_each(|index| accept(&mut memory, now, block, index));
                if let Some(second) = now.checked_sub(SECONDS) {
                    accept(&mut memory, second, block, 63);
                }
            }
        }
        assert_eq!(memory.evictions(), 0);
        assert!(memory.bytes < REMEMBERED_BYTES_MAX / 16, "{}", memory.bytes);
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
