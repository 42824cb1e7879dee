//! The register's tree: that of logs ([`clew_log::tree`]) over a list whose places have 32 bits, with a
//! root of its own for the empty list.

use alloc::vec::Vec;
use clew_log::{Hash, tree};

pub(crate) use clew_log::tree::leaf;

/// Most hashes of an inclusion proof.
pub(crate) const MAX_PROOF_HASHES: usize = 32;
/// Most hashes of a consistency proof.
pub(crate) const MAX_CONSISTENCY_HASHES: usize = 64;

/// A list: how many entries, and its Merkle tree hash.
pub(crate) type Size = (u32, Hash);

/// Returns the nodes that appending a leaf hash to a list of `entries` completes, the leaf first,
/// each with level and index. Whoever keeps them all serves roots and proofs from them.
///
/// Returns `None` if the list is full or a node is missing.
pub fn appended_nodes(
    entries: u32,
    leaf: &Hash,
    node: impl FnMut(u32, u32) -> Option<Hash>,
) -> Option<Vec<(u32, u32, Hash)>> {
    entries.checked_add(1)?;
    let added = tree::appended_nodes(entries.into(), leaf, narrow(node))?;
    let narrowed = |(level, index, hash)| Some((level, u32::try_from(index).ok()?, hash));
    added.into_iter().map(narrowed).collect()
}

/// Returns the Merkle tree hash of the first `entries`.
///
/// 32 zero bytes for the empty list: RFC 6962 would hash no bytes, and no list has a root of zeros.
/// Returns `None` if a node is missing.
pub fn root(entries: u32, node: impl FnMut(u32, u32) -> Option<Hash>) -> Option<Hash> {
    match entries {
        0 => Some([0; 32]),
        _ => tree::root(entries.into(), narrow(node)),
    }
}

/// Makes the inclusion proof of entry `index` in the list of the first `entries`, with about 32
/// calls of `node`, which gives roots of complete subtrees by level and index.
///
/// Returns `None` if there is no such entry or a node is missing.
pub fn inclusion(
    index: u32,
    entries: u32,
    node: impl FnMut(u32, u32) -> Option<Hash>,
) -> Option<Vec<Hash>> {
    tree::inclusion(index.into(), entries.into(), narrow(node))
}

/// Makes the proof that the first `before` entries are a prefix of the first `entries`.
///
/// `node` gives roots of complete subtrees by level and index; about 64 calls. Returns no hashes if
/// both sizes are equal. Returns `None` if `before` is zero or above `entries`, or a node is missing.
pub fn consistency(
    before: u32,
    entries: u32,
    node: impl FnMut(u32, u32) -> Option<Hash>,
) -> Option<Vec<Hash>> {
    tree::consistency(before.into(), entries.into(), narrow(node))
}

/// The root that a proof leads to (RFC 9162, 2.1.3.2). Returns `None` if it has another number of
/// hashes than a proof for this entry of this list.
pub(crate) fn root_of_proof(index: u32, entries: u32, leaf: Hash, hashes: &[Hash]) -> Option<Hash> {
    tree::root_of_proof(index.into(), entries.into(), leaf, hashes)
}

/// Whether the proof shows that the shorter list is a prefix of the longer one (RFC 9162, 2.1.4.2).
///
/// Lists of one size need equal roots and no hashes. False if the shorter list is empty or longer.
pub(crate) fn leads((before, old): Size, (entries, new): Size, hashes: &[Hash]) -> bool {
    tree::leads((before.into(), old), (entries.into(), new), hashes)
}

/// Nodes of a list whose places have 32 bits.
fn narrow(mut node: impl FnMut(u32, u32) -> Option<Hash>) -> impl FnMut(u32, u64) -> Option<Hash> {
    move |level, index| node(level, index.try_into().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_list_has_a_root_of_zeros() {
        assert_eq!(root(0, |_, _| None), Some([0; 32]));
    }

    #[test]
    fn a_full_list_takes_no_more() {
        let node = |_, _| Some([1; 32]);
        assert!(appended_nodes(u32::MAX - 1, &[1; 32], node).is_some());
        assert_eq!(appended_nodes(u32::MAX, &[1; 32], node), None);
        assert!(root(u32::MAX, node).is_some());
        for index in [0, 1, u32::MAX / 2, u32::MAX - 1] {
            let proof = inclusion(index, u32::MAX, node).unwrap();
            assert!(proof.len() <= MAX_PROOF_HASHES);
            assert!(root_of_proof(index, u32::MAX, [0; 32], &proof).is_some());
        }
        assert_eq!(inclusion(u32::MAX, u32::MAX, node), None);
        for before in [1, 2, 3, u32::MAX / 2, 1 << 31, u32::MAX - 1] {
            let hashes = consistency(before, u32::MAX, node).unwrap();
            assert!(hashes.len() <= MAX_CONSISTENCY_HASHES);
        }
    }
}
