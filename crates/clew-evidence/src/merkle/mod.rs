//! The Merkle tree hash of RFC 6962 section 2.1 over a growing list, with inclusion and consistency
//! proofs (RFC 9162 sections 2.1.3 and 2.1.4). All are made from the roots of complete subtrees:
//! node (level, index) is the root of the 2^level entries from index * 2^level on.

mod consistency;

pub(crate) use consistency::MAX_CONSISTENCY_HASHES;
pub use consistency::consistency;
pub(crate) use consistency::{Size, leads};

use alloc::vec;
use alloc::vec::Vec;
use sha2::{Digest, Sha256};

/// Most hashes of an inclusion proof.
pub(crate) const MAX_PROOF_HASHES: usize = 32;

/// Returns the nodes that appending a leaf hash to a list of `entries` completes, the leaf first,
/// each with level and index. Whoever keeps them all serves roots and proofs from them.
///
/// Returns `None` if the list is full or a node is missing.
pub fn appended_nodes(
    entries: u32,
    leaf: &[u8; 32],
    mut node: impl FnMut(u32, u32) -> Option<[u8; 32]>,
) -> Option<Vec<(u32, u32, [u8; 32])>> {
    entries.checked_add(1)?;
    let mut added = vec![(0, entries, *leaf)];
    let mut hash = *leaf;
    for level in 0..entries.trailing_ones() {
        let own = entries >> level;
        hash = parent(&node(level, own - 1)?, &hash);
        added.push((level + 1, own >> 1, hash));
    }
    Some(added)
}

/// Returns the Merkle tree hash of the first `entries`.
///
/// 32 zero bytes for the empty list: RFC 6962 would hash no bytes, and no list has a root of zeros.
/// Returns `None` if a node is missing.
pub fn root(entries: u32, node: impl FnMut(u32, u32) -> Option<[u8; 32]>) -> Option<[u8; 32]> {
    let peaks = peaks(0, u64::from(entries), node)?;
    Some(fold(&peaks).unwrap_or_default())
}

/// Makes the inclusion proof of entry `index` in the list of the first `entries`, with about 32
/// calls of `node`, which gives roots of complete subtrees by level and index.
///
/// Returns `None` if there is no such entry or a node is missing.
pub fn inclusion(
    index: u32,
    entries: u32,
    mut node: impl FnMut(u32, u32) -> Option<[u8; 32]>,
) -> Option<Vec<[u8; 32]>> {
    if index >= entries {
        return None;
    }
    let mut hashes = Vec::new();
    for level in 0..MAX_PROOF_HASHES as u32 {
        let (own, last) = (index >> level, (entries - 1) >> level);
        let sibling = own ^ 1;
        if last == 0 {
            break;
        }
        let start = u64::from(sibling) << level;
        let whole = ((u64::from(sibling) + 1) << level) <= u64::from(entries);
        if whole {
            hashes.push(node(level, sibling)?);
        } else if sibling <= last {
            hashes.push(fold(&peaks(start, u64::from(entries), &mut node)?)?);
        }
    }
    Some(hashes)
}

/// The root that a proof leads to (RFC 9162, 2.1.3.2). Returns `None` if it has another number of
/// hashes than a proof for this entry of this list.
pub(crate) fn root_of_proof(
    index: u32,
    entries: u32,
    leaf: [u8; 32],
    hashes: &[[u8; 32]],
) -> Option<[u8; 32]> {
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

/// The hash of an entry.
pub(crate) fn leaf(entry: &[u8]) -> [u8; 32] {
    Sha256::new_with_prefix([0])
        .chain_update(entry)
        .finalize()
        .into()
}

fn parent(left: &[u8; 32], right: &[u8; 32]) -> [u8; 32] {
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
    mut node: impl FnMut(u32, u32) -> Option<[u8; 32]>,
) -> Option<Vec<[u8; 32]>> {
    let mut peaks = Vec::new();
    let length = end - start;
    for level in (0..u32::BITS).rev().filter(|l| length >> l & 1 == 1) {
        peaks.push(node(level, (start >> level) as u32)?);
        start += 1 << level;
    }
    Some(peaks)
}

fn fold(peaks: &[[u8; 32]]) -> Option<[u8; 32]> {
    let smallest_first = peaks.iter().rev().copied();
    smallest_first.reduce(|right, left| parent(&left, &right))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// RFC 6962 section 2.1, by its recursive definition.
    fn tree_hash(entries: &[Vec<u8>]) -> [u8; 32] {
        if let [entry] = entries {
            return leaf(entry);
        }
        let split = (entries.len().next_power_of_two() / 2).max(1);
        parent(&tree_hash(&entries[..split]), &tree_hash(&entries[split..]))
    }

    /// RFC 9162 section 2.1.3.1, likewise.
    fn path(index: usize, entries: &[Vec<u8>]) -> Vec<[u8; 32]> {
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
        assert_eq!(root(0, |_, _| None), Some([0; 32]));
        for n in 1..=entries.len() {
            let source = |level, index| nodes.get(&(level, index)).copied();
            let added = appended_nodes(n as u32 - 1, &leaf(&entries[n - 1]), source).unwrap();
            for (level, index, hash) in added {
                assert_eq!(nodes.insert((level, index), hash), None);
            }
            let source = |level, index| nodes.get(&(level, index)).copied();
            let top = tree_hash(&entries[..n]);
            assert_eq!(root(n as u32, source), Some(top), "{n} entries");
            for index in 0..n {
                let proof = inclusion(index as u32, n as u32, source).unwrap();
                assert_eq!(proof, path(index, &entries[..n]), "{index} of {n}");
                let leaf = leaf(&entries[index]);
                let found = root_of_proof(index as u32, n as u32, leaf, &proof);
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
            |index, size, proof: &[[u8; 32]]| root_of_proof(index, size, leaf, proof) == Some(root);
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
        let node = |level: u32, index: u32| {
            let bytes = [level.to_be_bytes(), index.to_be_bytes()];
            Some(leaf(bytes.as_flattened()))
        };
        for index in [0, 1, u32::MAX / 2, u32::MAX - 1] {
            let proof = inclusion(index, u32::MAX, node).unwrap();
            assert!(proof.len() <= MAX_PROOF_HASHES);
            assert!(root_of_proof(index, u32::MAX, [0; 32], &proof).is_some());
        }
        assert_eq!(inclusion(u32::MAX, u32::MAX, node), None);
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
        assert!(appended_nodes(u32::MAX - 1, &[1; 32], node).is_some());
        assert_eq!(appended_nodes(u32::MAX, &[1; 32], node), None);
        assert!(root(u32::MAX, node).is_some());
    }
}
