//! The Merkle tree hash of RFC 6962 section 2.1 over a growing list, with inclusion and consistency
//! proofs (RFC 9162 sections 2.1.3 and 2.1.4). All are made from the roots of complete subtrees:
//! node (level, index) is the root of the 2^level entries from index * 2^level on.
//!
//! Lists have at most [`SIZE_MAX`] entries.

mod consistency;
mod frontier;

pub use consistency::{CONSISTENCY_HASHES_MAX, Size, both_roots, consistency, leads};
pub use frontier::Frontier;

use crate::{Hash, SIZE_MAX};
use alloc::vec;
use alloc::vec::Vec;
use sha2::{Digest, Sha256};

/// Most hashes of an inclusion proof.
pub const INCLUSION_HASHES_MAX: usize = 62;

/// The hash of an empty list: that of no bytes.
pub const EMPTY: Hash = [
    0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24,
    0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
];

/// Returns the nodes that appending a leaf hash to a list of `entries` completes, the leaf first,
/// each with level and index. Whoever keeps them all serves roots and proofs from them.
///
/// Returns `None` if the list is full or a node is missing.
pub fn appended_nodes(
    entries: u64,
    leaf: &Hash,
    mut node: impl FnMut(u32, u64) -> Option<Hash>,
) -> Option<Vec<(u32, u64, Hash)>> {
    if entries >= SIZE_MAX {
        return None;
    }
    let mut added = vec![(0, entries, *leaf)];
    let mut hash = *leaf;
    for level in 0..entries.trailing_ones() {
        let own = entries >> level;
        hash = parent(&node(level, own - 1)?, &hash);
        added.push((level + 1, own >> 1, hash));
    }
    Some(added)
}

/// Returns the Merkle tree hash of the first `entries`. Returns `None` if a node is missing.
pub fn root(entries: u64, node: impl FnMut(u32, u64) -> Option<Hash>) -> Option<Hash> {
    let peaks = peaks(0, entries, node)?;
    Some(fold(&peaks).unwrap_or(EMPTY))
}

/// Makes the inclusion proof of entry `index` in the list of the first `entries`, with about 64
/// calls of `node`, which gives roots of complete subtrees by level and index.
///
/// Returns `None` if there is no such entry or a node is missing.
pub fn inclusion(
    index: u64,
    entries: u64,
    mut node: impl FnMut(u32, u64) -> Option<Hash>,
) -> Option<Vec<Hash>> {
    if index >= entries || entries > SIZE_MAX {
        return None;
    }
    let mut hashes = Vec::new();
    for level in 0..INCLUSION_HASHES_MAX as u32 {
        let (own, last) = (index >> level, (entries - 1) >> level);
        let sibling = own ^ 1;
        if last == 0 {
            break;
        }
        let start = sibling << level;
        let whole = ((sibling + 1) << level) <= entries;
        if whole {
            hashes.push(node(level, sibling)?);
        } else if sibling <= last {
            hashes.push(fold(&peaks(start, entries, &mut node)?)?);
        }
    }
    Some(hashes)
}

/// Returns the root that a proof leads to (RFC 9162, 2.1.3.2). Returns `None` if it has another number of
/// hashes than a proof for this entry of this list.
pub fn root_of_proof(index: u64, entries: u64, leaf: Hash, hashes: &[Hash]) -> Option<Hash> {
    let mut own = index;
    let mut last = entries.checked_sub(1).filter(|last| index <= *last)?;
    let mut root = leaf;
    for hash in hashes {
        if last == 0 {
            return None;
        }
        if own & 1 == 1 || own == last {
            root = parent(hash, &root);
            let alone = if own & 1 == 1 {
                0
            } else {
                own.trailing_zeros()
            };
            (own, last) = (own.unbounded_shr(alone), last.unbounded_shr(alone));
        } else {
            root = parent(&root, hash);
        }
        (own, last) = (own >> 1, last >> 1);
    }
    (last == 0).then_some(root)
}

/// Returns the hash of an entry.
pub fn leaf(entry: &[u8]) -> Hash {
    Sha256::new_with_prefix([0])
        .chain_update(entry)
        .finalize()
        .into()
}

/// Returns the hash of a node with these two below it.
pub fn parent(left: &Hash, right: &Hash) -> Hash {
    Sha256::new_with_prefix([1])
        .chain_update(left)
        .chain_update(right)
        .finalize()
        .into()
}

/// The roots of the complete subtrees from `start` to `end`, largest first; `start` is a multiple of
/// the largest.
fn peaks(
    mut start: u64,
    end: u64,
    mut node: impl FnMut(u32, u64) -> Option<Hash>,
) -> Option<Vec<Hash>> {
    let mut peaks = Vec::new();
    let length = end - start;
    for level in (0..u64::BITS).rev().filter(|l| length >> l & 1 == 1) {
        peaks.push(node(level, start >> level)?);
        start += 1 << level;
    }
    Some(peaks)
}

fn fold(peaks: &[Hash]) -> Option<Hash> {
    let smallest_first = peaks.iter().rev().copied();
    smallest_first.reduce(|right, left| parent(&left, &right))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::HashMap;

    pub(crate) type Nodes = HashMap<(u32, u64), Hash>;

    pub(crate) fn at(nodes: &Nodes) -> impl Fn(u32, u64) -> Option<Hash> {
        |level, index| nodes.get(&(level, index)).copied()
    }

    /// The nodes of a list whose entries are their own places.
    pub(crate) fn nodes_of(entries: u64) -> Nodes {
        let mut nodes = Nodes::new();
        for i in 0..entries {
            let added = appended_nodes(i, &leaf(&i.to_be_bytes()), at(&nodes)).unwrap();
            let added = added
                .into_iter()
                .map(|(level, place, hash)| ((level, place), hash));
            nodes.extend(added);
        }
        nodes
    }

    /// RFC 6962 section 2.1, by its recursive definition.
    fn tree_hash(entries: &[Vec<u8>]) -> Hash {
        if let [entry] = entries {
            return leaf(entry);
        }
        let split = (entries.len().next_power_of_two() / 2).max(1);
        parent(&tree_hash(&entries[..split]), &tree_hash(&entries[split..]))
    }

    /// RFC 9162 section 2.1.3.1, likewise.
    fn path(index: usize, entries: &[Vec<u8>]) -> Vec<Hash> {
        if entries.len() == 1 {
            return vec![];
        }
        let (left, right) = entries.split_at(entries.len().next_power_of_two() / 2);
        let (mut path, other) = if index < left.len() {
            (path(index, left), right)
        } else {
            (path(index - left.len(), right), left)
        };
        path.push(tree_hash(other));
        path
    }

    fn some_entries() -> Vec<Vec<u8>> {
        (0u8..40).map(|i| vec![i; usize::from(i)]).collect()
    }

    #[test]
    fn roots_and_proofs_are_those_of_the_definitions() {
        let entries = some_entries();
        let mut nodes = HashMap::new();
        assert_eq!(root(0, |_, _| None), Some(EMPTY));
        assert_eq!(EMPTY[..], Sha256::digest([])[..]);
        for n in 1..=entries.len() {
            let source = |level, index| nodes.get(&(level, index)).copied();
            let added = appended_nodes(n as u64 - 1, &leaf(&entries[n - 1]), source).unwrap();
            for (level, index, hash) in added {
                assert_eq!(nodes.insert((level, index), hash), None);
            }
            let source = |level, index| nodes.get(&(level, index)).copied();
            let top = tree_hash(&entries[..n]);
            assert_eq!(root(n as u64, source), Some(top), "{n} entries");
            for index in 0..n {
                let proof = inclusion(index as u64, n as u64, source).unwrap();
                assert_eq!(proof, path(index, &entries[..n]), "{index} of {n}");
                let leaf = leaf(&entries[index]);
                let found = root_of_proof(index as u64, n as u64, leaf, &proof);
                assert_eq!(found, Some(top), "{index} of {n}");
            }
        }
        assert_eq!(root(1, |_, _| None), None);
        assert_eq!(appended_nodes(1, &[0; 32], |_, _| None), None);
    }

    #[test]
    fn proofs_of_another_place_size_or_length_do_not_hold() {
        let entries = some_entries();
        let (root, proof) = (tree_hash(&entries[..11]), path(9, &entries[..11]));
        let leaf = leaf(&entries[9]);
        let holds =
            |index, size, proof: &[Hash]| root_of_proof(index, size, leaf, proof) == Some(root);
        assert!(holds(9, 11, &proof));
        assert!((0..11).filter(|i| *i != 9).all(|i| !holds(i, 11, &proof)));
        assert!(!holds(11, 11, &proof) && !holds(0, 0, &[]));
        assert!(!holds(9, 11, &proof[..2]));
        let longer = [proof.clone(), vec![[0; 32]]].concat();
        assert_eq!(root_of_proof(9, 11, leaf, &longer), None);
        assert!(!holds(
            9,
            11,
            &proof.iter().rev().copied().collect::<Vec<_>>()
        ));
    }

    #[test]
    fn the_largest_list_has_proofs_too() {
        let node = |level: u32, index: u64| {
            Some(leaf(
                &[u64::from(level).to_be_bytes(), index.to_be_bytes()].concat(),
            ))
        };
        for index in [0, 1, SIZE_MAX / 2, SIZE_MAX - 1] {
            let proof = inclusion(index, SIZE_MAX, node).unwrap();
            assert!(proof.len() <= INCLUSION_HASHES_MAX);
            assert!(root_of_proof(index, SIZE_MAX, [0; 32], &proof).is_some());
        }
        assert_eq!(inclusion(SIZE_MAX, SIZE_MAX, node), None);
        assert_eq!(inclusion(0, 2, |_, _| None), None);
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
        let mut nodes = HashMap::new();
        for (i, entry) in (0..).zip(entries.into_iter().chain([last])) {
            let leaf = leaf(&hex::decode(entry).unwrap());
            let source = |level, index| nodes.get(&(level, index)).copied();
            let added = appended_nodes(i, &leaf, source).unwrap();
            nodes.extend(
                added
                    .into_iter()
                    .map(|(level, index, hash)| ((level, index), hash)),
            );
        }
        let found = root(8, |level, index| nodes.get(&(level, index)).copied()).unwrap();
        let published = "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328";
        assert_eq!(hex::encode(found), published);
    }

    #[test]
    fn a_full_list_takes_no_more() {
        let node = |_, _| Some([1; 32]);
        assert!(appended_nodes(SIZE_MAX - 1, &[1; 32], node).is_some());
        assert_eq!(appended_nodes(SIZE_MAX, &[1; 32], node), None);
        assert!(root(SIZE_MAX, node).is_some());
    }
}
