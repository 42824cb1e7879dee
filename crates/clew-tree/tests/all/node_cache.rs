//! Verified nodes: whatever was verified before, a packet is judged as it would be alone.
use clew_tree::{Block, Degree, Digest, DigestSize, Mismatch, NodeCache, Suite, Tree};
use proptest::prelude::*;

const SUITES: [Suite; 2] = [Suite::Blake3, Suite::Sha256];

fn tree(count: u16, degree: u16, suite: Suite, size: DigestSize) -> Tree {
    let degree = Degree::new(degree).unwrap();
    let block = Block::shaped([9; 16], count, size, degree, suite).unwrap();
    let leaves: Vec<Digest> = (0..count)
        .map(|i| block.leaf(i, &[&i.to_be_bytes()]))
        .collect();
    Tree::new(block, &leaves).unwrap()
}

/// What travels with a packet.
#[derive(Clone, Debug)]
struct Sent {
    index: u16,
    leaf: Digest,
    path: Vec<u8>,
}

fn sent(tree: &Tree, index: u16) -> Sent {
    Sent {
        index,
        leaf: tree.block().leaf(index, &[&index.to_be_bytes()]),
        path: tree.path(index).unwrap(),
    }
}

/// A change of a packet on its way; most are none.
fn change(sent: &mut Sent, (what, at): (u8, usize)) {
    match what {
        0 => sent.leaf[at % 32] ^= 1,
        1 if !sent.path.is_empty() => {
            let at = at % sent.path.len();
            sent.path[at] ^= 0x80;
        }
        2 => sent.index = at as u16,
        3 => sent.path.truncate(at % (sent.path.len() + 1)),
        _ => {}
    }
}

proptest! {
    #[test]
    fn a_packet_is_judged_as_alone(
        count in 1u16..80,
        degree in prop_oneof![2u16..6, Just(1024)],
        suite in 0usize..2,
        size in prop_oneof![Just(DigestSize::D16), Just(DigestSize::D24), Just(DigestSize::D32)],
        arrivals in prop::collection::vec((any::<u16>(), (0u8..10, any::<usize>())), 1..60),
    ) {
        let tree = tree(count, degree, SUITES[suite], size);
        let mut known = NodeCache::new(*tree.block(), tree.root());
        for (index, changed) in arrivals {
            let mut packet = sent(&tree, index % count);
            change(&mut packet, changed);
            let alone = tree.block().root(packet.index, &packet.leaf, &packet.path);
            let expected = match alone {
                None => Err(Mismatch::Shape),
                Some(root) if root == tree.root() => Ok(()),
                Some(_) => Err(Mismatch::Digest),
            };
            let said = known.verify(packet.index, &packet.leaf, &packet.path);
            prop_assert_eq!(said, expected);
        }
    }
}

#[test]
fn another_root_is_refused_and_teaches_nothing() {
    for suite in SUITES {
        let tree = tree(8, 2, suite, DigestSize::D16);
        let mut known = NodeCache::new(*tree.block(), [1; 32]);
        for index in 0..8 {
            let packet = sent(&tree, index);
            let said = known.verify(index, &packet.leaf, &packet.path);
            assert_eq!(said, Err(Mismatch::Digest));
        }
    }
}
