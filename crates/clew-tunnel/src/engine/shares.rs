//! Places that are divided among those who ask for them: `spec/tunnel.md` section 6.2.

use alloc::collections::BTreeMap;

/// So many places. A holder of n gets another only while at least n are free.
///
/// So one holder alone gets half of them, two get a third each, and whoever comes next finds some.
#[derive(Debug)]
pub struct Shares<K> {
    most: usize,
    taken: usize,
    held: BTreeMap<K, usize>,
}

impl<K: Ord> Shares<K> {
    /// Nobody has any of these `most` places.
    pub const fn new(most: usize) -> Self {
        Self {
            most,
            taken: 0,
            held: BTreeMap::new(),
        }
    }

    /// How many places are free.
    pub const fn free(&self) -> usize {
        self.most.saturating_sub(self.taken)
    }

    /// How many are taken.
    pub const fn taken(&self) -> usize {
        self.taken
    }

    /// Whether this holder may take one more.
    pub fn has_room(&self, holder: &K) -> bool {
        let held = self.held.get(holder).copied().unwrap_or(0);
        self.free() > 0 && held <= self.free()
    }

    /// Takes a place, if the holder may have it.
    pub fn take(&mut self, holder: K) -> bool {
        let has_room = self.has_room(&holder);
        if has_room {
            self.taken += 1;
            *self.held.entry(holder).or_default() += 1;
        }
        has_room
    }

    /// Gives back a place that this holder took.
    pub fn give(&mut self, holder: &K) {
        let Some(held) = self.held.get_mut(holder) else {
            return;
        };
        self.taken -= 1;
        *held -= 1;
        if *held == 0 {
            self.held.remove(holder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(shares: &mut Shares<u8>, holder: u8) -> usize {
        (0..1_000).filter(|_| shares.take(holder)).count()
    }

    #[test]
    fn one_holder_leaves_half_and_the_next_finds_some() {
        let mut shares = Shares::new(64);
        assert_eq!(taken(&mut shares, 1), 33);
        assert_eq!(taken(&mut shares, 2), 16);
        assert!(taken(&mut shares, 3) > 0);
        for _ in 0..33 {
            shares.give(&1);
        }
        assert!(shares.has_room(&1) && shares.free() > 33);
    }

    #[test]
    fn what_nobody_took_is_not_given_back() {
        let mut shares = Shares::new(2);
        shares.give(&1);
        assert_eq!((shares.free(), shares.taken()), (2, 0));
        assert!(shares.take(1) && shares.take(2) && !shares.take(3));
        shares.give(&3);
        assert_eq!(shares.free(), 0);
        assert!(!Shares::new(0).take(1));
    }
}
