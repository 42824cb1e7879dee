//! Tags: a share that is not the signer's leads to another root, or nowhere.

use clew_tree::Digest;
use clew_tree::carriage::{Error, ShareTree, TagSize, Tags};
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

use super::{ID, Sent, code, quarter};

/// The definition of RFC 6962 section 2.1, by recursion over the shares from `start` on.
fn by_definition(sent: &Sent, size: u8, start: u16, count: u16) -> Digest {
    let code = sent.tags.code();
    let u16 = |number: u16| number.to_be_bytes();
    if count == 1 {
        let blob = u16(code.blob_bytes() as u16);
        let place = [
            &u16(start)[..],
            &u16(code.count()),
            &[size],
            &u16(code.needed()),
            &blob,
        ]
        .concat();
        let share = &sent.shares[usize::from(start)];
        return Sha256::digest([&[2][..], &ID, &place, share].concat()).into();
    }
    let level = 16 - (count - 1).leading_zeros();
    let half = 1 << (level - 1);
    let left = by_definition(sent, size, start, half);
    let right = by_definition(sent, size, start + half, count - half);
    let head = [&[3][..], &ID, &[level as u8], &u16(start >> level)].concat();
    let size = usize::from(size);
    Sha256::digest([&head, &left[..size], &right[..size]].concat()).into()
}

#[test]
fn roots_are_those_of_the_definition_and_every_tag_leads_there() {
    for count in (2..=34).chain([63, 64, 65, 255, 256]) {
        for size in [TagSize::T4, TagSize::T8] {
            let sent = Sent::new(count as u8, quarter(count), size);
            assert_eq!(
                sent.tree.root(),
                by_definition(&sent, size.bytes() as u8, 0, count)
            );
            for index in 0..count {
                let tag = sent.tag(index);
                assert_eq!(sent.tags.tag_bytes(index), Ok(tag.len()));
                let root = sent
                    .tags
                    .root(index, &sent.shares[usize::from(index)], &tag);
                assert_eq!(root, Ok(sent.tree.root()), "{index} of {count}");
            }
        }
    }
    assert_eq!(Sent::new(0, quarter(64), TagSize::T8).tag(0).len(), 48);
}

#[test]
fn wrong_lengths_and_indices_are_named() {
    let sent = Sent::new(0, quarter(9), TagSize::T8);
    let (share, tag) = (&sent.shares[3], sent.tag(3));
    let root = |index, share: &[u8], tag: &[u8]| sent.tags.root(index, share, tag);
    assert_eq!(root(9, share, &tag), Err(Error::Index));
    assert_eq!(root(3, &share[1..], &tag), Err(Error::ShareLength));
    assert_eq!(root(3, share, &tag[1..]), Err(Error::TagLength));
    assert_eq!(
        root(3, share, &[&tag[..], &[0; 8]].concat()),
        Err(Error::TagLength)
    );
    // The last share of nine has one sibling only, at the top.
    assert_eq!(root(8, share, &tag), Err(Error::TagLength));
    assert_eq!(sent.tags.tag_bytes(8), Ok(8));
    assert_eq!(sent.tags.tag_bytes(9), Err(Error::Index));
    assert_eq!(sent.tree.tag(9), Err(Error::Index));
    let short = ShareTree::new(sent.tags, &sent.shares.concat()[1..]);
    assert_eq!(short.err(), Some(Error::ShareLength));
    assert_eq!(TagSize::from_bytes(8), Some(TagSize::T8));
    assert_eq!(TagSize::from_bytes(4), Some(TagSize::T4));
    assert_eq!(TagSize::from_bytes(16), None);
}

/// Another block, code, size or place: all lead elsewhere, so that bins never mix.
#[test]
fn a_share_has_one_place() {
    let here = Sent::new(0, code(16, 4), TagSize::T8);
    let (share, tag) = (&here.shares[2], here.tag(2));
    let (id, four) = ([0; 16], code(16, 4));
    // Shares of 72 bytes: of 288 over 4, of 287 over 4, of 144 over 2.
    let shorter = clew_tree::carriage::Code::new(16, 4, 287).unwrap();
    let fewer = clew_tree::carriage::Code::new(16, 2, 144).unwrap();
    for other in [
        Tags::new(id, four, TagSize::T8),
        Tags::new(ID, code(15, 4), TagSize::T8),
        Tags::new(ID, shorter, TagSize::T8),
        Tags::new(ID, fewer, TagSize::T8),
    ] {
        let root = other.root(2, share, &tag).unwrap();
        assert_ne!(root, here.tree.root(), "{other:?}");
    }
    for index in (0..16).filter(|index| *index != 2) {
        assert_ne!(here.tags.root(index, share, &tag), Ok(here.tree.root()));
    }
    let short = Tags::new(ID, four, TagSize::T4);
    assert_eq!(short.root(2, share, &tag), Err(Error::TagLength));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_bit_counts(count in 2u16..=256, pick in any::<u16>(), bit in any::<usize>(), short in any::<bool>()) {
        let size = if short { TagSize::T4 } else { TagSize::T8 };
        let sent = Sent::new(0, quarter(count), size);
        let index = pick % count;
        let (mut share, mut tag) = (sent.shares[usize::from(index)].clone(), sent.tag(index));
        let bits = 8 * (share.len() + tag.len());
        let bit = bit % bits;
        match bit.checked_sub(8 * share.len()) {
            None => share[bit / 8] ^= 1 << (bit % 8),
            Some(bit) => tag[bit / 8] ^= 1 << (bit % 8),
        }
        prop_assert_ne!(sent.tags.root(index, &share, &tag), Ok(sent.tree.root()));
    }
}
