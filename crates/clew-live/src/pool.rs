//! Precursors prepared in advance: what makes signing cheap when a packet comes.

use crate::identity::{EpochKey, KeyName};
use clew_group::Precursor;
use rand_core::CryptoRng;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Precursors that are computed together: as many as a vector has lanes.
const TOGETHER: usize = 8;

/// Most precursors of a pool, whatever its options say: some 200 MB.
pub const READY_MAX: usize = 1 << 17;

/// Where a process runs. A precursor is not used in another generation than its own: a copy of the
/// process may have used it, and two signatures with one precursor tell the machine's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// The process id, which a fork changes.
    pub process: u32,
    /// The kernel's boot id, or the id that a machine monitor changes when it restores a snapshot.
    pub boot: [u8; 16],
}

/// How far a pool is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Refilling begins below this.
    pub low: usize,
    /// Refilling ends here; at most [`READY_MAX`]. A pool of 0 is never filled.
    pub high: usize,
}

impl Marks {
    fn within_bounds(self) -> Self {
        let high = self.high.min(READY_MAX);
        Self {
            low: self.low.clamp(high.min(1), high),
            high,
        }
    }
}

impl Default for Marks {
    fn default() -> Self {
        Self {
            low: 4_096,
            high: 8_192,
        }
    }
}

/// What a pool has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Precursors that are ready.
    pub ready: usize,
    /// Precursors prepared since the start.
    pub prepared: u64,
    /// Precursors taken.
    pub taken: u64,
    /// How often none was there.
    pub starved: u64,
    /// Precursors wiped without use: of another epoch or generation.
    pub discarded: u64,
    /// Whether the pool is below its low mark.
    pub is_low: bool,
    /// Whether it is below a quarter of its high mark, so that it is soon empty.
    pub is_short: bool,
}

/// Precursors of one key and epoch, shared by the thread that refills and those that sign.
#[derive(Debug)]
pub struct Pool {
    shared: Mutex<Shared>,
}

#[derive(Debug)]
struct Shared {
    marks: Marks,
    generation: Generation,
    /// Of the epoch in force and of the next one.
    stocks: [Stock; 2],
    level: Level,
}

#[derive(Debug, Default)]
struct Stock {
    name: Option<KeyName>,
    /// It was below the low mark and has not reached the high one.
    is_filling: bool,
    /// Wiped when dropped.
    ready: VecDeque<Precursor>,
}

/// Where signing takes precursors.
pub trait PrecursorSource {
    /// Returns a precursor of that key that nobody has used. Returns `None` if none is ready.
    fn take(&mut self, key: &EpochKey) -> Option<Precursor>;

    /// Returns whether precursors are scarce, so that small packets wait for each other.
    fn is_low(&self) -> bool;
}

/// A pool as seen by a process that has just asked where it runs.
#[derive(Clone, Copy, Debug)]
pub struct PoolHandle<'a> {
    /// The pool.
    pub pool: &'a Pool,
    /// Where the process runs now.
    pub generation: Generation,
}

impl PrecursorSource for PoolHandle<'_> {
    fn take(&mut self, key: &EpochKey) -> Option<Precursor> {
        self.pool.take(key.name(), self.generation)
    }

    fn is_low(&self) -> bool {
        self.pool.level().is_low
    }
}

impl Pool {
    /// Returns an empty pool of this generation.
    pub fn new(marks: Marks, generation: Generation) -> Self {
        let marks = marks.within_bounds();
        Self {
            shared: Mutex::new(Shared {
                marks,
                generation,
                stocks: Default::default(),
                level: Level {
                    is_low: marks.low > 0,
                    ..Level::default()
                },
            }),
        }
    }

    /// Changes how far the pool is filled. What it has above that is wiped: all of it, if that is 0.
    pub fn set_marks(&self, marks: Marks) {
        let mut shared = self.shared();
        shared.marks = marks.within_bounds();
        shared.cut();
        shared.count();
    }

    /// Takes a precursor of the key. Returns `None` if none is ready, or if the generation changed:
    /// then all are wiped.
    pub fn take(&self, name: &KeyName, generation: Generation) -> Option<Precursor> {
        let mut shared = self.shared();
        shared.follow(generation);
        let stock = shared.stocks.iter_mut().find(|s| s.name == Some(*name));
        let taken = stock.and_then(|stock| stock.ready.pop_front());
        match taken {
            Some(_) => shared.level.taken += 1,
            None => shared.level.starved += 1,
        }
        shared.count();
        taken
    }

    /// Prepares up to `most` precursors, if the pool is to be filled. Returns how many. Each is
    /// computed without holding up whoever takes one.
    ///
    /// `keys` are those of the epoch in force and, shortly before it starts, of the next one. What
    /// the pool has of other keys is wiped.
    pub fn fill_some(
        &self,
        keys: [Option<&EpochKey>; 2],
        generation: Generation,
        most: usize,
        rng: &mut impl CryptoRng,
    ) -> usize {
        {
            let mut shared = self.shared();
            shared.follow(generation);
            shared.keep(keys.map(|key| key.map(|key| *key.name())));
            shared.count();
        }
        let mut made = 0;
        while made < most {
            match self.fill_few(keys, generation, most - made, rng) {
                0 => break,
                few => made += few,
            }
        }
        made
    }

    /// Returns what the pool has and has done.
    pub fn level(&self) -> Level {
        self.shared().level
    }

    /// Prepares [`TOGETHER`] precursors at most. Returns how many.
    fn fill_few(
        &self,
        keys: [Option<&EpochKey>; 2],
        generation: Generation,
        most: usize,
        rng: &mut impl CryptoRng,
    ) -> usize {
        let Some((key, missing)) = self.shared().wanted(keys) else {
            return 0;
        };
        let precursors = key.precursors(missing.min(most).min(TOGETHER), rng);
        let few = precursors.len();
        let mut shared = self.shared();
        let (name, high) = (Some(*key.name()), shared.marks.high);
        let is_current = shared.generation == generation;
        for precursor in precursors {
            let stock = shared.stocks.iter_mut().find(|stock| stock.name == name);
            // Marks may be lower than when it was begun.
            match stock.filter(|stock| is_current && stock.ready.len() < high) {
                Some(stock) => stock.ready.push_back(precursor),
                // The pool moved on meanwhile: what was computed is wiped.
                None => shared.level.discarded += 1,
            }
        }
        shared.level.prepared += few as u64;
        shared.count();
        few
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Wipes everything if the process is another one, or the machine was started again.
    fn follow(&mut self, generation: Generation) {
        if self.generation != generation {
            self.generation = generation;
            self.keep([None, None]);
        }
    }

    /// Wipes what is of other keys.
    fn keep(&mut self, names: [Option<KeyName>; 2]) {
        let old = std::mem::take(&mut self.stocks);
        self.stocks = names.map(|name| Stock {
            name,
            ..Stock::default()
        });
        for stock in old {
            let place = self.stocks.iter_mut().find(|new| new.name == stock.name);
            match place.filter(|_| stock.name.is_some()) {
                Some(new) => *new = stock,
                None => self.level.discarded += stock.ready.len() as u64,
            }
        }
    }

    /// Returns the key to prepare for, that of the epoch in force first, and how many precursors it lacks.
    fn wanted<'k>(&self, keys: [Option<&'k EpochKey>; 2]) -> Option<(&'k EpochKey, usize)> {
        let missing = |key: &'k EpochKey| {
            let mut stocks = self.stocks.iter();
            let stock = stocks.find(|stock| stock.name == Some(*key.name()))?;
            let missing = self.marks.high.saturating_sub(stock.ready.len());
            stock.wants_more(self.marks).then_some((key, missing))
        };
        keys.into_iter().flatten().find_map(missing)
    }

    /// Wipes what is above the high mark.
    fn cut(&mut self) {
        for stock in &mut self.stocks {
            let left = stock.ready.len().min(self.marks.high);
            self.level.discarded += (stock.ready.len() - left) as u64;
            stock.ready.truncate(left);
        }
    }

    fn count(&mut self) {
        let marks = self.marks;
        for stock in &mut self.stocks {
            stock.is_filling = stock.wants_more(marks);
        }
        let ready = self.stocks[0].ready.len();
        self.level.is_low = ready < marks.low;
        self.level.is_short = ready < marks.high / 4;
        self.level.ready = ready;
    }
}

impl Stock {
    fn wants_more(&self, marks: Marks) -> bool {
        self.ready.len()
            < if self.is_filling {
                marks.high
            } else {
                marks.low
            }
    }
}
