//! Bins: shares of blobs that are not restored yet, and what became of blobs that were
//! (`spec/flow-carriage.md` section 4).

use alloc::vec::Vec;

use super::{COUNT_MAX, Code, Error};
use crate::Digest;
use crate::lru_map::LruMap;

/// What tells bins apart. Shares of an honest block have one key; nobody else's share gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// A hash of whatever names the block: its flow, its id.
    pub block: Digest,
    /// The root of the packets' tree that the packet leads to.
    pub packets: Digest,
    /// The root of the shares' tree that the share leads to ([`super::Tags::root`]), which binds the
    /// code too.
    pub shares: Digest,
}

/// The most that [`Bins`] keep, and the least that they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Blocks with shares; at least one.
    pub blocks: usize,
    /// Bins of one block; at least one.
    pub bins: usize,
    /// Shares in all bins together; at least [`COUNT_MAX`]. A bin by itself has fewer than k. Each
    /// takes its bytes, its token and, where it has a bin and a block to itself, some 300 bytes more.
    pub shares: usize,
    /// Restored blobs that are remembered, each of at most [`super::BLOB_MAX`] bytes; at least one.
    pub answers: usize,
    /// The least k: senders choose their codes, and a bogus packet forces 1/k of a verification.
    pub needed: u16,
}

/// What became of a share, and of others that had to make room for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inserted<T> {
    /// Of this one.
    pub answer: Answer<T>,
    /// Tokens of shares that were forgotten, with the limit that was reached.
    pub dropped: Vec<(T, NoRoom)>,
}

/// What became of a share. A token that is not in a bin is given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// It is in its bin, which needs more.
    Pending,
    /// It was the last that its bin needed. The caller verifies the blob's signature, and says
    /// [`Bins::verified`] or [`Bins::refused`].
    Restored {
        /// The blob.
        blob: Vec<u8>,
        /// Tokens of the bin, in the order of arrival.
        tokens: Vec<T>,
    },
    /// Its blob was restored, and the caller has not said yet what the signature is worth.
    Awaited(T),
    /// Its blob's signature was verified.
    Verified(T),
    /// Its blob's signature was refused, or its bin had no blob.
    Refused(T),
    /// The bin has a share of this index already.
    Again {
        /// Of this share, which is not kept.
        token: T,
        /// Whether it is the same share.
        same: bool,
    },
    /// A rule is broken: by this share, or for [`Error::Padding`] by the bin, which is refused.
    Wrong {
        /// Of this share, or of the bin.
        tokens: Vec<T>,
        /// The rule.
        error: Error,
    },
}

/// The limit that made a share be forgotten before its blob was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// [`Limits::blocks`]
    Blocks,
    /// [`Limits::bins`]
    Bins,
    /// [`Limits::shares`]
    Shares,
}

/// Bins in bounded memory. `T` is what a caller wants back for a packet: its number, or itself.
///
/// What is forgotten is what got no new share for the longest time. A block survives if between two
/// of its packets fewer bins of its own, fewer other blocks and fewer shares arrive than the limits allow.
///
/// Whatever arrives, and whatever is forgotten: a bin is emptied when its blob is restored, so that
/// k packets are spent on each [`Answer::Restored`].
#[derive(Clone, Debug)]
pub struct Bins<T> {
    limits: Limits,
    /// The bins of each block, the most recent one last; never none.
    blocks: LruMap<Digest, Vec<Bin<T>>>,
    /// Shares in all bins.
    held: usize,
    answers: LruMap<Key, BlobState>,
}

#[derive(Clone, Debug)]
struct Bin<T> {
    key: Key,
    code: Code,
    shares: Vec<Held<T>>,
}

#[derive(Clone, Debug)]
struct Held<T> {
    index: u16,
    share: Vec<u8>,
    token: T,
}

/// What is known of a restored blob.
#[derive(Clone, Debug)]
enum BlobState {
    Awaited(Vec<u8>),
    Verified(Vec<u8>),
    Refused,
}

impl<T> Bins<T> {
    /// Creates empty bins. Returns `None` if a limit is too low.
    pub const fn new(limits: Limits) -> Option<Self> {
        let enough = limits.blocks > 0 && limits.bins > 0 && limits.answers > 0;
        if !enough || limits.shares < COUNT_MAX as usize {
            return None;
        }
        Some(Self {
            limits,
            blocks: LruMap::new(),
            held: 0,
            answers: LruMap::new(),
        })
    }

    /// Takes the share at `index` of a block with that code, which leads to that key.
    pub fn insert(
        &mut self,
        key: Key,
        code: &Code,
        index: u16,
        share: &[u8],
        token: T,
    ) -> Inserted<T> {
        let mut dropped = Vec::new();
        let answer = match self.check(code, index, share) {
            Err(error) => Answer::Wrong {
                tokens: Vec::from([token]),
                error,
            },
            Ok(()) => match self.answers.get(&key) {
                Some(BlobState::Awaited(_)) => Answer::Awaited(token),
                Some(BlobState::Verified(_)) => Answer::Verified(token),
                Some(BlobState::Refused) => Answer::Refused(token),
                None => self.keep(key, code, index, share, token, &mut dropped),
            },
        };
        Inserted { answer, dropped }
    }

    /// Records that the signature of this key's blob, and so the root of its packets, was verified.
    /// Returns the tokens of packets that lead to that root with other shares, which somebody
    /// altered on the way. The caller remembers verified roots, and so knows later ones.
    pub fn verified(&mut self, key: &Key) -> Vec<T> {
        if let Some(known) = self.answers.get_mut(key)
            && let BlobState::Awaited(blob) = known
        {
            *known = BlobState::Verified(core::mem::take(blob));
        }
        let mut tokens = Vec::new();
        while let Some(bin) = self.take(&key.block, |bin| bin.key.packets == key.packets) {
            tokens.extend(bin.into_tokens());
        }
        tokens
    }

    /// Records that the signature of this key's blob was refused. While that is remembered, no
    /// packet that leads to this key is a reason to verify again.
    pub fn refused(&mut self, key: &Key) {
        self.answer(*key, BlobState::Refused);
    }

    /// Returns the blob that was restored from this key's bin, unless it was refused or is
    /// forgotten.
    pub fn blob(&self, key: &Key) -> Option<&[u8]> {
        match self.answers.get(key)? {
            BlobState::Awaited(blob) | BlobState::Verified(blob) => Some(blob),
            BlobState::Refused => None,
        }
    }

    /// Returns the number of shares in all bins.
    pub const fn held(&self) -> usize {
        self.held
    }

    /// Forgets all bins of a block, because of its age for example: the tokens.
    pub fn forget(&mut self, block: &Digest) -> Vec<T> {
        let bins = self.blocks.remove(block).unwrap_or_default();
        let tokens: Vec<T> = bins.into_iter().flat_map(Bin::into_tokens).collect();
        self.held -= tokens.len();
        tokens
    }

    /// Forgets all bins, at the end: the tokens, least recent blocks first.
    pub fn drain(&mut self) -> Vec<T> {
        let mut tokens = Vec::new();
        while let Some(block) = self.blocks.oldest() {
            tokens.append(&mut self.forget(&block));
        }
        tokens
    }

    fn check(&self, code: &Code, index: u16, share: &[u8]) -> Result<(), Error> {
        if code.needed() < self.limits.needed {
            return Err(Error::Needed);
        }
        code.check(index, share)
    }

    /// Puts a share into its bin.
    fn keep(
        &mut self,
        key: Key,
        code: &Code,
        index: u16,
        share: &[u8],
        token: T,
        dropped: &mut Vec<(T, NoRoom)>,
    ) -> Answer<T> {
        if let Some(other) = self.find(&key, index) {
            let same = other.share == share;
            return Answer::Again { token, same };
        }
        self.make_room(&key, dropped);
        let held = Held {
            index,
            share: share.to_vec(),
            token,
        };
        let bin = newest(self.blocks.entry(key.block, Vec::new), key, code);
        bin.shares.push(held);
        self.held += 1;
        if bin.shares.len() < usize::from(bin.code.needed()) {
            return Answer::Pending;
        }
        self.restore(key)
    }

    fn find(&self, key: &Key, index: u16) -> Option<&Held<T>> {
        let bin = self
            .blocks
            .get(&key.block)?
            .iter()
            .find(|bin| bin.key == *key)?;
        bin.shares.iter().find(|held| held.index == index)
    }

    /// Forgets what is in the way of one more share with this key.
    fn make_room(&mut self, key: &Key, dropped: &mut Vec<(T, NoRoom)>) {
        match self.blocks.get(&key.block) {
            Some(bins) => {
                let new = bins.iter().all(|bin| bin.key != *key);
                if new && bins.len() >= self.limits.bins {
                    let oldest = self.take(&key.block, |_| true);
                    dropped.extend(because(NoRoom::Bins, oldest));
                }
            }
            None if self.blocks.count() >= self.limits.blocks => {
                let oldest = self.blocks.oldest();
                let tokens = oldest.map(|block| self.forget(&block));
                let tokens = tokens.into_iter().flatten();
                dropped.extend(tokens.map(|token| (token, NoRoom::Blocks)));
            }
            None => {}
        }
        if self.held >= self.limits.shares {
            dropped.extend(because(NoRoom::Shares, self.take_oldest(key)));
        }
    }

    /// Takes the oldest bin of the oldest block, but not this key's own: a bin alone never has as many
    /// shares as all may have, so that there is another.
    fn take_oldest(&mut self, key: &Key) -> Option<Bin<T>> {
        if self.blocks.get(&key.block).is_some() {
            self.blocks.entry(key.block, Vec::new);
        }
        let oldest = self.blocks.oldest()?;
        self.take(&oldest, |bin| bin.key != *key)
    }

    /// Empties the bin of this key, which has all that it needs.
    fn restore(&mut self, key: Key) -> Answer<T> {
        let Some(bin) = self.take(&key.block, |bin| bin.key == key) else {
            return Answer::Pending;
        };
        let shares: Vec<_> = bin
            .shares
            .iter()
            .map(|held| (held.index, &held.share))
            .collect();
        let decoded = bin.code.decode(&shares);
        let tokens = bin.into_tokens().collect();
        match decoded {
            Ok(blob) => {
                self.answer(key, BlobState::Awaited(blob.clone()));
                Answer::Restored { blob, tokens }
            }
            Err(error) => {
                self.answer(key, BlobState::Refused);
                Answer::Wrong { tokens, error }
            }
        }
    }

    /// Takes the first such bin out of a block.
    fn take(&mut self, block: &Digest, is_it: impl Fn(&Bin<T>) -> bool) -> Option<Bin<T>> {
        let bins = self.blocks.get_mut(block)?;
        let place = bins.iter().position(is_it)?;
        let bin = bins.remove(place);
        if bins.is_empty() {
            self.blocks.remove(block);
        }
        self.held -= bin.shares.len();
        Some(bin)
    }

    fn answer(&mut self, key: Key, known: BlobState) {
        *self.answers.entry(key, || BlobState::Refused) = known;
        if self.answers.count() > self.limits.answers {
            self.answers.pop_oldest();
        }
    }
}

impl<T> Bin<T> {
    fn into_tokens(self) -> impl Iterator<Item = T> {
        self.shares.into_iter().map(|held| held.token)
    }
}

/// The tokens of a bin that was forgotten.
fn because<T>(why: NoRoom, bin: Option<Bin<T>>) -> impl Iterator<Item = (T, NoRoom)> {
    let tokens = bin.into_iter().flat_map(Bin::into_tokens);
    tokens.map(move |token| (token, why))
}

/// The bin of this key, old or new, as the most recent one of its block.
fn newest<'a, T>(bins: &'a mut Vec<Bin<T>>, key: Key, code: &Code) -> &'a mut Bin<T> {
    let old = bins.iter().position(|bin| bin.key == key);
    let bin = old.map(|place| bins.remove(place)).unwrap_or_else(|| Bin {
        key,
        code: *code,
        shares: Vec::new(),
    });
    bins.push(bin);
    let last = bins.len() - 1;
    &mut bins[last]
}
