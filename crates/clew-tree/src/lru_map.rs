//! A map that knows which of its entries was used least recently.

use alloc::collections::BTreeMap;

/// Entries by key, and the order of their last use. Its owner bounds it, by [`LruMap::pop_oldest`].
#[derive(Clone, Debug)]
pub struct LruMap<K, V> {
    entries: BTreeMap<K, (u64, V)>,
    order: BTreeMap<u64, K>,
    uses: u64,
}

impl<K, V> LruMap<K, V> {
    /// Creates an empty map.
    pub const fn new() -> Self {
        Self {
            entries: BTreeMap::new(),
            order: BTreeMap::new(),
            uses: 0,
        }
    }
}

impl<K, V> Default for LruMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Copy + Ord, V> LruMap<K, V> {
    /// Returns the number of its entries.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// Returns the value of a key, which does not count as a use.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(_, value)| value)
    }

    /// Returns the value of a key, which does not count as a use.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key).map(|(_, value)| value)
    }

    /// Adds it or uses it: the most recent one from now on.
    pub fn entry(&mut self, key: K, new: impl FnOnce() -> V) -> &mut V {
        self.uses += 1;
        let entry = self.entries.entry(key).or_insert_with(|| (0, new()));
        self.order.remove(&entry.0);
        self.order.insert(self.uses, key);
        entry.0 = self.uses;
        &mut entry.1
    }

    /// Uses it, if it is there.
    pub fn used(&mut self, key: &K) -> Option<&mut V> {
        let (used, value) = self.entries.get_mut(key)?;
        if *used != self.uses {
            self.uses += 1;
            self.order.remove(used);
            self.order.insert(self.uses, *key);
            *used = self.uses;
        }
        Some(value)
    }

    /// Takes the value of a key out of the map.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let (used, value) = self.entries.remove(key)?;
        self.order.remove(&used);
        Some(value)
    }

    /// Returns the key that was used least recently.
    pub fn oldest(&self) -> Option<K> {
        self.order.first_key_value().map(|(_, key)| *key)
    }

    /// Returns the value that was used least recently, out of the map.
    pub fn pop_oldest(&mut self) -> Option<V> {
        self.oldest().and_then(|key| self.remove(&key))
    }
}
