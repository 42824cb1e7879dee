//! Vectors of the coded carriage: codes, restoring, tags.

use clew_tree::carriage::{Code, Rate, ShareTree, TagSize, Tags};

use crate::case::Case;
use crate::make::damage::Damage;
use crate::make::flat;

const ID: [u8; 16] = *b"a block's own id";

pub fn all() -> Vec<Case> {
    flat([codes(), restored(), tags(), bad_codes(), bad_sets(), bad_tags()])
}

/// A block: its code, blob and shares.
#[derive(Clone)]
struct Block {
    code: Code,
    blob: Vec<u8>,
    shares: Vec<Vec<u8>>,
}

impl Block {
    fn new(count: u16, needed: u16, length: u16) -> Self {
        let code = Code::new(count, needed, length).unwrap();
        let byte = |i: u16| (u32::from(i) * 89 + u32::from(count)) as u8;
        let blob: Vec<u8> = (0..length).map(byte).collect();
        let shares = code.encode(&blob).unwrap();
        let shares = shares.chunks(code.share_bytes()).map(<[u8]>::to_vec);
        Self { code, blob, shares: shares.collect() }
    }

    fn tree(&self, size: TagSize) -> ShareTree {
        let tags = Tags::new(ID, self.code, size);
        ShareTree::new(tags, &self.shares.concat()).unwrap()
    }
}

fn case(check: &str, name: &str, expect: &str, comment: &str) -> Case {
    Case::new("flow-carriage", name, expect, comment).text("check", check)
}

fn with_code(case: Case, count: u16, needed: u16, length: u16) -> Case {
    case.hex("count", count.to_be_bytes()).hex("needed", needed.to_be_bytes()).hex("blob-length", length.to_be_bytes())
}

fn of(case: Case, block: &Block) -> Case {
    let length = block.code.blob_bytes() as u16;
    with_code(case, block.code.count(), block.code.needed(), length)
}

fn codes() -> Vec<Case> {
    let encoded = |name: &str, comment: &str, block: Block| {
        of(case("code", name, "valid", comment), &block).hex("blob", &block.blob).each("share", &block.shares)
    };
    let rate = |percent: u8, count: u16| {
        let needed = Rate::new(percent).unwrap().needed(count);
        let comment = format!("{percent} percent of {count} packets.");
        case("rate", &format!("rate-{percent}-of-{count}"), "valid", &comment)
            .hex("percent", [percent])
            .hex("count", count.to_be_bytes())
            .hex("needed", needed.to_be_bytes())
    };
    vec![
        rate(25, 64),
        rate(25, 9),
        rate(100, 2),
        encoded("code-2-1", "Each of two shares is the blob.", Block::new(2, 1, 64)),
        encoded("code-5-3", "The last byte of share 2 fills it.", Block::new(5, 3, 65)),
        encoded("code-16-16", "All shares are needed.", Block::new(16, 16, 100)),
        encoded("code-64-16", "A signature of 280 bytes and a timestamp.", Block::new(64, 16, 288)),
        encoded("code-256-64", "The largest block.", Block::new(256, 64, 320)),
        encoded("code-16-4-long", "The longest blob.", Block::new(16, 4, 1200)),
    ]
}

fn restore(name: &str, expect: &str, comment: &str, block: &Block, set: &[(u16, Vec<u8>)]) -> Case {
    of(case("restore", name, expect, comment), block)
        .each("index", set.iter().map(|(index, _)| index.to_be_bytes()))
        .each("share", set.iter().map(|(_, share)| share))
}

fn set(block: &Block, indices: &[u16]) -> Vec<(u16, Vec<u8>)> {
    let share = |index: &u16| (*index, block.shares[usize::from(*index)].clone());
    indices.iter().map(share).collect()
}

fn restored() -> Vec<Case> {
    let good = |name: &str, comment: &str, block: &Block, indices: &[u16]| {
        let set = set(block, indices);
        restore(name, "valid", comment, block, &set).hex("blob", &block.blob)
    };
    let (small, large) = (Block::new(16, 4, 288), Block::new(256, 5, 77));
    vec![
        good("restore-first", "The shares that are the blob.", &small, &[0, 1, 2, 3]),
        good("restore-last", "None of them.", &small, &[15, 14, 13, 12]),
        good("restore-mixed", "Some of them, in another order.", &small, &[9, 2, 15, 0]),
        good("restore-more", "More than are needed: the first four count.", &small, &[7, 3, 11, 1, 5, 6]),
        good("restore-255", "Index 255, and padding.", &large, &[255, 128, 4, 77, 0]),
    ]
}

fn tags() -> Vec<Case> {
    let tree = |name: &str, comment: &str, block: Block, size: TagSize| {
        let tree = block.tree(size);
        let case = of(case("tags", name, "valid", comment), &block)
            .hex("id", ID)
            .hex("tag-size", [size.bytes() as u8])
            .each("share", &block.shares);
        let tags = (0..block.code.count()).map(|index| tree.tag(index).unwrap());
        case.each("tag", tags).hex("share-root", tree.root())
    };
    let root = |name: &str, comment: &str, share: &[u8], tag: &[u8]| {
        let block = Block::new(9, 3, 64);
        let tags = Tags::new(ID, block.code, TagSize::T8);
        one_tag(name, "valid", comment, 3, share, tag).hex("share-root", tags.root(3, share, tag).unwrap())
    };
    let block = Block::new(9, 3, 64);
    let (share, tag) = (&block.shares[3][..], block.tree(TagSize::T8).tag(3).unwrap());
    vec![
        tree("tags-2", "Two shares.", Block::new(2, 1, 64), TagSize::T8),
        tree("tags-9", "The last share moves up as it is.", Block::new(9, 3, 64), TagSize::T8),
        tree("tags-9-short", "With digests of 4 bytes.", Block::new(9, 3, 64), TagSize::T4),
        tree("tags-64", "A block of 64.", Block::new(64, 16, 288), TagSize::T8),
        root("root", "One share and its tag lead to the root.", share, &tag),
        root("root-other-share", "A changed share leads to another root.", &share.set(0, [1]), &tag),
        root("root-other-tag", "A changed tag too.", share, &tag.set(-1, [0])),
    ]
}

/// One share of nine.
fn one_tag(name: &str, expect: &str, comment: &str, index: u16, share: &[u8], tag: &[u8]) -> Case {
    of(case("root", name, expect, comment), &Block::new(9, 3, 64))
        .hex("id", ID)
        .hex("tag-size", [8])
        .hex("index", index.to_be_bytes())
        .hex("share", share)
        .hex("tag", tag)
}

fn bad_codes() -> Vec<Case> {
    let bad = |name: &str, expect: &str, comment: &str, (count, needed, length): (u16, u16, u16)| {
        with_code(case("code", name, expect, comment), count, needed, length).hex("blob", vec![1; length.into()])
    };
    let of_blob = |name: &str, comment: &str, length: usize| {
        with_code(case("code", name, "blob-length", comment), 16, 4, 288).hex("blob", vec![1; length])
    };
    vec![
        bad("count-one", "count", "A block of one packet.", (1, 1, 64)),
        bad("count-257", "count", "More packets than the field has elements.", (257, 64, 288)),
        bad("count-first", "count", "Three rules are broken: the first is named.", (0, 9, 1)),
        bad("needed-none", "needed", "No share is needed.", (16, 0, 288)),
        bad("needed-17", "needed", "More shares are needed than there are.", (16, 17, 288)),
        bad("blob-63", "blob-length", "A blob too short.", (16, 4, 63)),
        bad("blob-1201", "blob-length", "A blob too long.", (16, 4, 1201)),
        of_blob("blob-less", "A byte less than the code states.", 287),
        of_blob("blob-more", "A byte more than the code states.", 289),
    ]
}

fn bad_sets() -> Vec<Case> {
    let block = Block::new(16, 4, 287);
    let bad = |name: &str, expect: &str, comment: &str, set: &[(u16, Vec<u8>)]| restore(name, expect, comment, &block, set);
    let with = |place: usize, share: (u16, Vec<u8>)| {
        let mut set = set(&block, &[9, 2, 15, 0, 5]);
        set[place] = share;
        set
    };
    let share = |index: usize| block.shares[index].clone();
    let long = [&share(2)[..], &[0]].concat();
    // The last byte of share 3 is no longer zero: share 0 to 2 and it are of a longer blob.
    let mut padded = set(&block, &[0, 1, 2, 3]);
    padded[3].1[71] = 1;
    let longer = Code::new(16, 4, 288).unwrap();
    let blob: Vec<u8> = padded.iter().flat_map(|(_, share)| share.clone()).collect();
    let parity = longer.encode(&blob).unwrap();
    let parity: Vec<_> = (12..16).map(|i: u16| (i, parity[usize::from(i) * 72..][..72].to_vec())).collect();
    vec![
        bad("too-few", "too-few", "Three of four.", &set(&block, &[9, 2, 15])),
        bad("repeated", "repeated", "An index twice.", &with(1, (9, share(9)))),
        bad("repeated-beyond", "repeated", "What is not needed is checked all the same.", &with(4, (9, share(9)))),
        bad("index-16", "index", "No share has this index.", &with(1, (16, share(2)))),
        bad("share-short", "share-length", "A byte of a share is missing.", &with(1, (2, share(2)[1..].to_vec()))),
        bad("share-long", "share-length", "A share has a byte too many.", &with(1, (2, long))),
        bad("padding", "padding", "What fills the last share is not zero.", &padded),
        bad("padding-parity", "padding", "The same, from other shares.", &parity),
        bad("padding-altered", "padding", "One share of four is altered.", &{
            let altered = share(15).set(71, [0]);
            with(2, (15, altered))
        }),
    ]
}

fn bad_tags() -> Vec<Case> {
    let block = Block::new(9, 3, 64);
    let (share, tag) = (&block.shares[3][..], block.tree(TagSize::T8).tag(3).unwrap());
    let size = of(case("root", "tag-size-16", "tag-size", "Digests of 16 bytes."), &block)
        .hex("id", ID)
        .hex("tag-size", [16])
        .hex("index", 3u16.to_be_bytes())
        .hex("share", share)
        .hex("tag", [0; 64]);
    let long = [&tag[..], &[0; 8]].concat();
    vec![
        size,
        one_tag("tag-index", "index", "No share has this index.", 9, share, &tag),
        one_tag("tag-share-short", "share-length", "A byte of the share is missing.", 3, &share[1..], &tag),
        one_tag("tag-short", "tag-length", "A byte of the tag is missing.", 3, share, &tag[1..]),
        one_tag("tag-long", "tag-length", "A digest too many.", 3, share, &long),
        one_tag("tag-of-another", "tag-length", "The last of nine has one sibling.", 8, &block.shares[8], &tag),
    ]
}
