//! Consistency proofs: that a list is a prefix of a longer one (RFC 9162 section 2.1.4).

use super::{fold, parent, peaks};
use crate::{Hash, SIZE_MAX};
use alloc::vec::Vec;

/// Most hashes of a consistency proof.
pub const CONSISTENCY_HASHES_MAX: usize = 63;

/// Makes the proof that the first `before` entries are a prefix of the first `entries`.
///
/// `node` gives roots of complete subtrees by level and index; about 128 calls. Returns no hashes if
/// both sizes are equal. Returns `None` if `before` is zero or above `entries`, or a node is missing.
pub fn consistency(
    before: u64,
    entries: u64,
    mut node: impl FnMut(u32, u64) -> Option<Hash>,
) -> Option<Vec<Hash>> {
    if before == 0 || before > entries || entries > SIZE_MAX {
        return None;
    }
    let (mut start, mut end, known) = (0, entries, before);
    let mut hashes = Vec::new();
    let mut whole = true; // the part of the old list from `start` on is the old list itself
    while known != end {
        // Halves as in SUBPROOF: the left one is the largest power of two below the size.
        let split = start + ((end - start).next_power_of_two() >> 1);
        let other = if known <= split {
            (split, end)
        } else {
            (start, split)
        };
        hashes.push(range(other, &mut node)?);
        if known <= split {
            end = split;
        } else {
            (start, whole) = (split, false);
        }
    }
    if !whole {
        hashes.push(range((start, end), &mut node)?);
    }
    hashes.reverse();
    Some(hashes)
}

/// The Merkle tree hash of the entries from `start` to `end`.
fn range((start, end): (u64, u64), node: impl FnMut(u32, u64) -> Option<Hash>) -> Option<Hash> {
    fold(&peaks(start, end, node)?)
}

/// A list: how many entries, and its Merkle tree hash.
pub type Size = (u64, Hash);

/// Returns whether the proof shows that the shorter list is a prefix of the longer one (RFC 9162, 2.1.4.2).
///
/// Lists of one size need equal roots and no hashes. False if the shorter list is empty or longer.
pub fn leads((before, old): Size, (entries, new): Size, hashes: &[Hash]) -> bool {
    if before == 0 || before >= entries {
        return before == entries && before != 0 && old == new && hashes.is_empty();
    }
    // The old root is not in the proof if the old tree is a complete subtree of the new one.
    let (first, rest) = match before.is_power_of_two() {
        true => (old, hashes),
        false => match hashes.split_first() {
            Some((first, rest)) => (*first, rest),
            None => return false,
        },
    };
    let shared = (before - 1).trailing_ones();
    let (own, last) = ((before - 1) >> shared, (entries - 1) >> shared);
    walk(first, rest, own, last) == Some((old, new))
}

/// Returns the roots of the first `before` and of all `entries`, made of the same nodes: if the second is
/// right, so is the first. `node` gives roots of complete subtrees by level and index.
///
/// Returns `None` if `before` is zero or not below `entries`, or a node is missing.
pub fn both_roots(
    before: u64,
    entries: u64,
    mut node: impl FnMut(u32, u64) -> Option<Hash>,
) -> Option<(Hash, Hash)> {
    if before >= entries {
        return None;
    }
    let hashes = consistency(before, entries, &mut node)?;
    let (first, rest) = match before.is_power_of_two() {
        true => (node(before.trailing_zeros(), 0)?, &hashes[..]),
        false => hashes.split_first().map(|(first, rest)| (*first, rest))?,
    };
    let shared = (before - 1).trailing_ones();
    walk(first, rest, (before - 1) >> shared, (entries - 1) >> shared)
}

/// Both roots that a proof leads to, from the node that both trees have.
fn walk(first: Hash, hashes: &[Hash], mut own: u64, mut last: u64) -> Option<(Hash, Hash)> {
    let (mut old, mut new) = (first, first);
    for hash in hashes {
        if last == 0 {
            return None;
        }
        if own & 1 == 1 || own == last {
            (old, new) = (parent(hash, &old), parent(hash, &new));
            let alone = if own & 1 == 1 {
                0
            } else {
                own.trailing_zeros()
            };
            (own, last) = (own.unbounded_shr(alone), last.unbounded_shr(alone));
        } else {
            new = parent(&new, hash);
        }
        (own, last) = (own >> 1, last >> 1);
    }
    (last == 0).then_some((old, new))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Nodes, at, nodes_of as tree};
    use super::super::{leaf, root};
    use super::*;

    fn size(nodes: &Nodes, entries: u64) -> Size {
        (entries, root(entries, at(nodes)).unwrap())
    }

    fn proof(nodes: &Nodes, before: u64, entries: u64) -> Vec<Hash> {
        consistency(before, entries, at(nodes)).unwrap()
    }

    /// PROOF and SUBPROOF of RFC 9162 section 2.1.4.1, as they are written.
    fn by_definition(nodes: &Nodes, m: u64, start: u64, n: u64, whole: bool) -> Vec<Hash> {
        let hash = |from, to| range((from, to), at(nodes)).unwrap();
        if m == n {
            return if whole {
                vec![]
            } else {
                vec![hash(start, start + n)]
            };
        }
        let k = n.next_power_of_two() / 2;
        let (mut left, right) = if m <= k {
            (
                by_definition(nodes, m, start, k, whole),
                hash(start + k, start + n),
            )
        } else {
            let rest = by_definition(nodes, m - k, start + k, n - k, false);
            (rest, hash(start, start + k))
        };
        left.push(right);
        left
    }

    #[test]
    fn proofs_are_those_of_the_definition_and_lead() {
        let nodes = tree(40);
        for entries in 1..=40 {
            for before in 1..=entries {
                let hashes = proof(&nodes, before, entries);
                let expected = by_definition(&nodes, before, 0, entries, true);
                assert_eq!(hashes, expected, "{before} of {entries}");
                let (old, new) = (size(&nodes, before), size(&nodes, entries));
                assert!(leads(old, new, &hashes), "{before} of {entries}");
                if before < entries {
                    let both = both_roots(before, entries, at(&nodes));
                    assert_eq!(both, Some((old.1, new.1)), "{before} of {entries}");
                }
            }
        }
    }

    #[test]
    fn proofs_of_other_sizes_roots_or_lengths_do_not_lead() {
        let nodes = tree(40);
        for (before, entries) in [(6, 21), (8, 21), (16, 32), (31, 32), (1, 40), (39, 40)] {
            let (old, new) = (size(&nodes, before), size(&nodes, entries));
            let good = proof(&nodes, before, entries);
            for other in (1..entries).filter(|other| *other != before) {
                let named = (other, old.1);
                assert!(
                    !leads(named, new, &good),
                    "{other} for {before} of {entries}"
                );
                assert!(!leads(size(&nodes, other), new, &good));
            }
            for at in 0..good.len() {
                let mut changed = good.clone();
                changed[at][0] ^= 1;
                assert!(!leads(old, new, &changed));
            }
            let longer = [&good[..], &[[0; 32]]].concat();
            assert!(!leads(old, new, &longer) && !leads(old, new, &good[1..]));
            assert!(!leads(old, (entries, [1; 32]), &good));
            assert!(!leads((before, [1; 32]), new, &good));
            assert!(!leads(new, old, &good), "a longer list is no prefix");
        }
    }

    #[test]
    fn lists_of_one_size_are_equal() {
        let nodes = tree(5);
        let five = size(&nodes, 5);
        assert!(leads(five, five, &[]));
        assert!(!leads(five, (5, [1; 32]), &[]) && !leads(five, five, &[[0; 32]]));
        assert!(!leads((0, [0; 32]), (0, [0; 32]), &[]) && !leads((0, [0; 32]), five, &[]));
    }

    #[test]
    fn there_is_no_proof_of_nothing_or_with_missing_nodes() {
        let node = |_, _| Some([1; 32]);
        assert_eq!(consistency(0, 5, node), None);
        assert_eq!(consistency(6, 5, node), None);
        assert_eq!(consistency(5, 5, node), Some(vec![]));
        assert_eq!(consistency(3, 5, |_, _| None), None);
    }

    #[test]
    fn the_largest_lists_fit() {
        let node = |level: u32, index: u64| {
            Some(leaf(
                &[u64::from(level).to_be_bytes(), index.to_be_bytes()].concat(),
            ))
        };
        for before in [1, 2, 3, SIZE_MAX / 2 - 1, SIZE_MAX / 2, SIZE_MAX - 1] {
            for entries in [SIZE_MAX - 1, SIZE_MAX] {
                let hashes = consistency(before, entries, node).unwrap();
                assert!(hashes.len() <= CONSISTENCY_HASHES_MAX);
                let (old, new) = (root(before, node).unwrap(), root(entries, node).unwrap());
                let _ = leads((before, old), (entries, new), &hashes);
            }
        }
        assert_eq!(consistency(1, SIZE_MAX + 1, node), None);
    }
}
