//! Trees: against their definition, in every place, and with everything changed.
use clew_tree::{Block, Degree, Digest, DigestSize, PACKETS_MAX, Suite, Tree};
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

const ID: [u8; 16] = *b"a block's own id";
const SIZES: [DigestSize; 3] = [DigestSize::D16, DigestSize::D24, DigestSize::D32];

fn block(count: u16, size: DigestSize) -> Block {
    Block::new(ID, count, size).unwrap()
}

fn packet(index: u16) -> Vec<u8> {
    vec![index as u8; usize::from(index % 50)]
}

fn tree(block: Block) -> Tree {
    let leaf = |i| block.leaf(i, &[&packet(i)]);
    Tree::new(block, &(0..block.count()).map(leaf).collect::<Vec<_>>()).unwrap()
}

/// The definition of RFC 6962 section 2.1, by recursion over the leaves from `start` on.
fn by_definition(block: &Block, start: u16, count: u16) -> Digest {
    if count == 1 {
        let head = [
            &[0][..],
            &ID,
            &start.to_be_bytes(),
            &block.count().to_be_bytes(),
        ]
        .concat();
        let size = [block.digest().bytes() as u8];
        return Sha256::digest([&head[..], &size, &packet(start)].concat()).into();
    }
    let level = 16 - (count - 1).leading_zeros();
    let half = 1 << (level - 1);
    let left = by_definition(block, start, half);
    let right = by_definition(block, start + half, count - half);
    let size = block.digest().bytes();
    let head = [
        &[1][..],
        &ID,
        &[level as u8],
        &(start >> level).to_be_bytes(),
    ]
    .concat();
    Sha256::digest([&head, &left[..size], &right[..size]].concat()).into()
}

#[test]
fn roots_are_those_of_the_definition_and_every_path_leads_there() {
    for count in (1..=70).chain([127, 128, 129, PACKETS_MAX]) {
        let block = block(count, SIZES[usize::from(count) % 3]);
        let tree = tree(block);
        assert_eq!(tree.root(), by_definition(&block, 0, count), "{count}");
        for index in 0..count {
            let path = tree.path(index).unwrap();
            assert_eq!(
                path.len(),
                block.digest().bytes() * block.depth(index).unwrap()
            );
            let leaf = block.leaf(index, &[&packet(index)]);
            assert_eq!(
                block.root(index, &leaf, &path),
                Some(tree.root()),
                "{index} of {count}"
            );
        }
    }
}

/// What `spec/tree.md` section 4 says of other shapes, level by level.
fn level_by_level(block: &Block) -> Digest {
    let (size, degree) = (block.digest().bytes(), usize::from(block.degree().get()));
    let mut nodes: Vec<Digest> = (0..block.count())
        .map(|i| block.leaf(i, &[&packet(i)]))
        .collect();
    for level in 1u8.. {
        if nodes.len() == 1 {
            break;
        }
        let parent = |(place, children): (usize, &[Digest])| match children {
            [alone] => *alone,
            _ => {
                let children: Vec<&[u8]> = children.iter().map(|c| &c[..size]).collect();
                by_hand(block, level, place as u16, &children.concat())
            }
        };
        nodes = nodes.chunks(degree).enumerate().map(parent).collect();
    }
    nodes[0]
}

fn by_hand(block: &Block, level: u8, place: u16, children: &[u8]) -> Digest {
    let place = place.to_be_bytes();
    match block.suite() {
        Suite::Sha256 => {
            Sha256::digest([&[1], &ID[..], &[level], &place, children].concat()).into()
        }
        Suite::Blake3 => {
            let head = [
                b"clew-tree-v1\0\0\0\0",
                &ID[..],
                &block.count().to_be_bytes(),
            ]
            .concat();
            let size = [block.digest().bytes() as u8];
            let degree = block.degree().get().to_be_bytes();
            let key = blake3::hash(&[&head[..], &size, &degree].concat());
            let content = [children, &place, &[level], &[1]].concat();
            blake3::keyed_hash(key.as_bytes(), &content).into()
        }
    }
}

#[test]
fn every_degree_leads_to_the_root() {
    for suite in [Suite::Blake3, Suite::Sha256] {
        for (count, degree) in [
            (1, 2),
            (2, 2),
            (5, 2),
            (9, 3),
            (10, 3),
            (28, 3),
            (64, 8),
            (65, 8),
        ]
        .into_iter()
        .chain([
            (2, 1024),
            (7, 1024),
            (300, 1024),
            (PACKETS_MAX, 1024),
            (PACKETS_MAX, 31),
        ]) {
            let degree = Degree::new(degree).unwrap();
            let block = Block::shaped(ID, count, DigestSize::D24, degree, suite).unwrap();
            let tree = tree(block);
            assert_eq!(tree.root(), level_by_level(&block), "{block:?}");
            for index in 0..count {
                let leaf = block.leaf(index, &[&packet(index)]);
                let path = tree.path(index).unwrap();
                assert_eq!(path.len(), 24 * block.depth(index).unwrap());
                assert_eq!(block.root(index, &leaf, &path), Some(tree.root()));
            }
        }
    }
    assert_eq!(Degree::new(1), None);
    assert_eq!(Degree::new(PACKETS_MAX + 1), None);
}

/// Wong and Lam, section 2.3: the star carries all other digests, a binary tree log2 of them.
#[test]
fn paths_are_as_long_as_the_paper_says() {
    let depth = |count, degree| {
        let degree = Degree::new(degree).unwrap();
        let block = Block::shaped(ID, count, DigestSize::D16, degree, Suite::Blake3).unwrap();
        block.depth(0).unwrap()
    };
    assert_eq!([2, 8, 64].map(|count| depth(count, 1024)), [1, 7, 63]);
    assert_eq!([2, 8, 64].map(|count| depth(count, 2)), [1, 3, 6]);
    assert_eq!([4, 16, 64].map(|count| depth(count, 4)), [3, 6, 9]);
    assert_eq!([8, 64, 512].map(|count| depth(count, 8)), [7, 14, 21]);
}

#[test]
fn parts_of_a_packet_are_one_packet() {
    let block = block(1, DigestSize::D16);
    assert_eq!(block.leaf(0, &[b"ab", b"", b"c"]), block.leaf(0, &[b"abc"]));
}

#[test]
fn blocks_have_bounds() {
    assert_eq!(Block::new(ID, 0, DigestSize::D16), None);
    assert_eq!(Block::new(ID, PACKETS_MAX + 1, DigestSize::D16), None);
    let three = block(3, DigestSize::D16);
    assert!(Tree::new(three, &[[0; 32]; 2]).is_none());
    assert!(Tree::new(three, &[[0; 32]; 4]).is_none());
    assert_eq!(three.depth(3), None);
    assert_eq!(tree(three).path(3), None);
    assert_eq!(three.root(3, &[0; 32], &[0; 16]), None);
}

/// Another index, count, id or size, another level: all lead elsewhere, or nowhere.
#[test]
fn a_packet_has_one_place() {
    let here = block(5, DigestSize::D16);
    let (tree, leaf) = (tree(here), here.leaf(2, &[&packet(2)]));
    let path = tree.path(2).unwrap();
    for index in [0, 1, 3, 4] {
        assert_ne!(here.root(index, &leaf, &path), Some(tree.root()));
    }
    for elsewhere in [
        block(6, DigestSize::D16),
        Block::new([0; 16], 5, DigestSize::D16).unwrap(),
    ] {
        let leaf = elsewhere.leaf(2, &[&packet(2)]);
        assert_ne!(elsewhere.root(2, &leaf, &path), Some(tree.root()));
    }
    assert_eq!(block(5, DigestSize::D24).root(2, &leaf, &path), None);
    assert_eq!(here.root(2, &leaf, &path[16..]), None);
}

/// Wong and Lam's tree has no mark that tells a leaf from a node: a packet made of two digests
/// would pass one level up. Here it does not (design 2.6, defect 3).
#[test]
fn two_digests_are_no_packet() {
    let wide = block(4, DigestSize::D32);
    let leaves: Vec<Digest> = (0..4).map(|i| wide.leaf(i, &[&packet(i)])).collect();
    let tree = Tree::new(wide, &leaves).unwrap();
    let pair = [leaves[0], leaves[1]].concat();
    let upper = &tree.path(0).unwrap()[32..];
    let narrow = block(2, DigestSize::D32);
    for as_leaf in [narrow.leaf(0, &[&pair]), wide.leaf(0, &[&pair])] {
        assert_ne!(narrow.root(0, &as_leaf, upper), Some(tree.root()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_bit_counts(count in 1u16..40, pick in any::<u16>(), bit in any::<usize>(), size in 0usize..3) {
        let block = block(count, SIZES[size]);
        let (tree, index) = (tree(block), pick % count);
        let (mut path, mut content) = (tree.path(index).unwrap(), packet(index));
        content.push(9);
        let leaf = block.leaf(index, &[&content]);
        prop_assert_ne!(block.root(index, &leaf, &path), Some(tree.root()));
        if !path.is_empty() {
            let bit = bit % (8 * path.len());
            path[bit / 8] ^= 1 << (bit % 8);
            let leaf = block.leaf(index, &[&packet(index)]);
            prop_assert_ne!(block.root(index, &leaf, &path), Some(tree.root()));
        }
    }
}
