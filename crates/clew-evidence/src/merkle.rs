//! The Merkle tree hash of RFC 6962 section 2.1 over a growing list, in logarithmic state.

use sha2::{Digest, Sha256};

/// A list of up to 2^32 entries has at most 32 complete subtrees.
pub const MAX_PEAKS: usize = 32;

/// The roots of the complete subtrees of a list, largest first: enough to append and to compute the
/// root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    entries: u32,
    peaks: Vec<[u8; 32]>,
}

impl Frontier {
    /// Restores a frontier from its parts; nothing if the number of peaks does not fit the entries.
    pub fn from_parts(entries: u32, peaks: &[u8]) -> Option<Self> {
        let (peaks, rest) = peaks.as_chunks();
        let fits = rest.is_empty() && peaks.len() == entries.count_ones() as usize;
        fits.then(|| Self {
            entries,
            peaks: peaks.to_vec(),
        })
    }

    /// The peaks, 32 bytes each, largest subtree first.
    pub fn peaks(&self) -> Vec<u8> {
        self.peaks.as_flattened().to_vec()
    }

    /// Number of entries.
    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// Appends an entry; false, and nothing appended, when the list is full.
    #[must_use]
    pub fn append(&mut self, entry: &[u8]) -> bool {
        let Some(entries) = self.entries.checked_add(1) else {
            return false;
        };
        let mut hash = leaf(entry);
        for _ in 0..self.entries.trailing_ones() {
            let left = self.peaks.pop().expect("a peak for every set bit");
            hash = node(&left, &hash);
        }
        self.peaks.push(hash);
        self.entries = entries;
        true
    }

    /// The Merkle tree hash; 32 zero bytes for the empty list (RFC 6962 would hash nothing: a root
    /// of zeros cannot be taken for one).
    pub fn root(&self) -> [u8; 32] {
        let smallest_first = self.peaks.iter().rev().copied();
        smallest_first
            .reduce(|right, left| node(&left, &right))
            .unwrap_or_default()
    }
}

fn leaf(entry: &[u8]) -> [u8; 32] {
    Sha256::new_with_prefix([0])
        .chain_update(entry)
        .finalize()
        .into()
}

fn node(left: &[u8; 32], right: &[u8; 32]) -> [u8; 32] {
    Sha256::new_with_prefix([1])
        .chain_update(left)
        .chain_update(right)
        .finalize()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6962 section 2.1, by its recursive definition.
    fn tree_hash(entries: &[Vec<u8>]) -> [u8; 32] {
        if let [entry] = entries {
            return leaf(entry);
        }
        let split = (entries.len().next_power_of_two() / 2).max(1);
        node(&tree_hash(&entries[..split]), &tree_hash(&entries[split..]))
    }

    #[test]
    fn roots_are_those_of_the_definition() {
        let entries: Vec<Vec<u8>> = (0u8..40).map(|i| vec![i; usize::from(i)]).collect();
        let mut frontier = Frontier::default();
        assert_eq!(frontier.root(), [0; 32]);
        for n in 1..=entries.len() {
            assert!(frontier.append(&entries[n - 1]));
            assert_eq!(frontier.root(), tree_hash(&entries[..n]), "{n} entries");
            let again = Frontier::from_parts(frontier.entries(), &frontier.peaks());
            assert_eq!(again.as_ref(), Some(&frontier));
        }
        assert_eq!(Frontier::from_parts(3, &[0; 32]), None);
        assert_eq!(Frontier::from_parts(1, &[0; 33]), None);
    }

    /// The known answer of the Certificate Transparency test data (eight entries).
    #[test]
    fn root_of_the_published_example() {
        let entries = [
            "",
            "00",
            "10",
            "2021",
            "3031",
            "40414243",
            "5051525354555657",
        ];
        let last = "606162636465666768696a6b6c6d6e6f";
        let mut frontier = Frontier::default();
        for entry in entries.into_iter().chain([last]) {
            assert!(frontier.append(&hex::decode(entry).unwrap()));
        }
        let root = "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328";
        assert_eq!(hex::encode(frontier.root()), root);
    }

    #[test]
    fn a_full_list_takes_no_more() {
        let mut full = Frontier {
            entries: u32::MAX,
            peaks: vec![[1; 32]; 32],
        };
        assert!(!full.append(b"one more"));
        assert_eq!(full.entries(), u32::MAX);
    }
}
