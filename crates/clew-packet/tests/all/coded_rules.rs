//! Coded carriage: one trailer for each rule of its layout, and signatures that are none.

use crate::common::trailers::{carrying, emitted, raw, trailer};
use crate::common::{NOW, Owned, packets::*, precursor, receiver, sender};
use clew_packet::{
    Acceptance, Block, Candidate, Carriage, FOOT_BYTES, HEAD_BYTES, Mode, Policy, Reason, Received,
    Trailer, read,
};
use clew_tree::DigestSize;
use clew_tree::carriage::{Code, ShareTree, TagSize, Tags};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

/// Length of the signature that is spread.
const SIGNATURE: usize = 336;
const ID: [u8; 16] = [9; 16];

/// What is in front of a body: the packet's place in its block.
fn block(count: u16, index: u16, path: &[u8]) -> Block<'_> {
    let block = clew_tree::Block::new(ID, count, DigestSize::D16).unwrap();
    Block::Tree { block, index, path }
}

/// A trailer of the packet at `index` with that body.
fn with_body(count: u16, index: u16, size: TagSize, body: &[u8]) -> Vec<u8> {
    let shape = clew_tree::Block::new(ID, count, DigestSize::D16).unwrap();
    let path = vec![7; 16 * shape.depth(index).unwrap()];
    emitted(&Trailer {
        body,
        block: block(count, index, &path),
        carriage: Carriage::Coded(size),
        ..trailer()
    })
}

/// k, then a share and a tag of the lengths that follow from it.
fn body(count: u16, index: u16, needed: u16, size: TagSize) -> Vec<u8> {
    let shape = clew_tree::Block::new(ID, count, DigestSize::D16).unwrap();
    let share = SIGNATURE.div_ceil(needed.max(1).into());
    let tag = shape.depth(index).unwrap() * size.bytes();
    [needed.to_be_bytes().to_vec(), vec![5; share], vec![6; tag]].concat()
}

fn parsed(count: u16, index: u16, needed: u16) -> Result<(), Reason> {
    let body = body(count, index, needed, TagSize::T8);
    Trailer::parse(&with_body(count, index, TagSize::T8, &body)).map(|_| ())
}

#[test]
fn a_share_is_read_as_it_was_written() {
    for size in [TagSize::T8, TagSize::T4] {
        let bytes = with_body(16, 3, size, &body(16, 3, 7, size));
        let coded = Trailer::parse(&bytes).unwrap().coded().unwrap();
        assert_eq!((coded.index(), coded.needed()), (3, 7));
        assert_eq!(coded.digest_bytes(), size.bytes());
        assert_eq!(
            (coded.share, coded.tag.len()),
            (&[5; 48][..], 4 * size.bytes())
        );
        assert_eq!(coded.tag[0], 6);
    }
}

#[test]
fn a_code_has_bounds() {
    for (count, least, index) in [(9, 3, 8), (16, 4, 3), (128, 32, 0)] {
        assert_eq!(parsed(count, index, least - 1), Err(Reason::BadCode));
        assert_eq!(parsed(count, index, least), Ok(()));
        assert_eq!(parsed(count, index, count), Ok(()));
        assert_eq!(parsed(count, index, count + 1), Err(Reason::BadCode));
        assert_eq!(parsed(count, index, 0), Err(Reason::BadCode));
    }
    for count in [8, 129] {
        assert_eq!(parsed(count, 0, count / 2), Err(Reason::BadCode));
    }
}

#[test]
fn a_body_has_one_length() {
    let parse = |body: &[u8]| Trailer::parse(&with_body(16, 3, TagSize::T8, body)).map(|_| ());
    let whole = body(16, 3, 7, TagSize::T8);
    assert_eq!(parse(&whole), Ok(()));
    for length in 0..whole.len() {
        assert_eq!(parse(&whole[..length]), Err(Reason::BadTrailerLength));
    }
    assert_eq!(
        parse(&[&whole[..], &[0]].concat()),
        Err(Reason::BadTrailerLength)
    );
    assert_eq!(parse(&[0, 0]), Err(Reason::BadCode), "no length fits it");
    let other = with_body(16, 3, TagSize::T4, &whole);
    assert_eq!(
        Trailer::parse(&other).map(|_| ()),
        Err(Reason::BadTrailerLength)
    );
}

#[test]
fn carriages_are_those_of_the_mode() {
    // The head's last byte stands before the foot.
    let with = |bytes: &[u8], carriage: u8| {
        let mut bytes = bytes.to_vec();
        let at = bytes.len() - FOOT_BYTES - 1;
        bytes[at] = carriage;
        Trailer::parse(&bytes).map(|_| ())
    };
    let tree = with_body(16, 3, TagSize::T8, &body(16, 3, 7, TagSize::T8));
    for (carriage, parsed) in [
        (0, Err(Reason::UnknownCarriage)),
        (1, Err(Reason::BadTrailerLength)),
        (2, Ok(())),
        (3, Err(Reason::BadTrailerLength)),
        (4, Err(Reason::UnknownCarriage)),
    ] {
        assert_eq!(with(&tree, carriage), parsed);
    }
    let each = emitted(&trailer());
    assert_eq!(with(&each, 1), Ok(()));
    for carriage in [0, 2, 3, 4] {
        assert_eq!(with(&each, carriage), Err(Reason::UnknownCarriage));
    }
    assert_eq!(
        carrying(132, &each).verify(),
        Reason::BadEncoding,
        "not a point"
    );
}

/// A coded block of honest packets whose shares are those of `blob`.
fn spread(count: u16, blob: &[u8]) -> Vec<Owned> {
    let policy = Policy {
        coded: true,
        ..Policy::default()
    };
    let (sender, mut out) = (sender(policy), Vec::new());
    let packet = |i| raw(ipv4(&[], UDP, &udp(&[i as u8; 30])));
    let packets: Vec<Owned> = (0..count).map(packet).collect();
    let frames: Vec<_> = packets.iter().map(Owned::frame).collect();
    let admit = |frame| sender.admit(frame, Mode::Tree, count, &mut out).unwrap();
    let candidates: Vec<Candidate<'_>> = frames.iter().map(admit).collect();
    let mut outs = vec![Vec::new(); count.into()];
    sender
        .sign_block(&candidates, Some(NOW), ID, precursor, &mut outs)
        .unwrap();
    let signed: Vec<Owned> = outs.into_iter().map(raw).collect();
    signed
        .iter()
        .map(|packet| with_share(packet, blob))
        .collect()
}

fn with_share(packet: &Owned, blob: &[u8]) -> Owned {
    let frame = packet.frame();
    let trailer = *read(&frame).unwrap().trailer();
    let (Carriage::Coded(size), Block::Tree { block, .. }) = (trailer.carriage, trailer.block)
    else {
        unreachable!("it is coded")
    };
    let coded = trailer.coded().unwrap();
    let code = Code::new(block.count(), coded.needed(), SIGNATURE as u16).unwrap();
    let shares = code.encode(blob).unwrap();
    let tree = ShareTree::new(Tags::new(ID, code, size), &shares).unwrap();
    let share = shares.chunks(code.share_bytes()).nth(coded.index().into());
    let body = [share.unwrap(), &tree.tag(coded.index()).unwrap()].concat();
    // UDP checksums of the packets are right: nothing is saved.
    let end = packet.bytes.len() - HEAD_BYTES - FOOT_BYTES;
    let mut bytes = packet.bytes.clone();
    bytes[end - body.len()..end].copy_from_slice(&body);
    packet.with(bytes)
}

/// A restored signature that does not decode does not hold. No packet of the bin is encoded badly: none
/// carries that signature.
#[test]
fn what_is_restored_and_is_no_signature_is_a_bad_signature() {
    let block = spread(16, &[0; SIGNATURE]);
    let needed = read(&block[0].frame())
        .unwrap()
        .trailer()
        .coded()
        .unwrap()
        .needed();
    let mut receiver = receiver(Acceptance::capture());
    for packet in &block[..usize::from(needed) - 1] {
        let received = receiver.receive(&packet.frame(), Some(NOW));
        assert!(matches!(received, Received::Waiting(_)));
    }
    let last = &block[usize::from(needed) - 1];
    let Received::Pending(pending) = receiver.receive(&last.frame(), Some(NOW)) else {
        panic!("it restores what the others wait for");
    };
    let checked = pending.check(&mut ChaCha20Rng::seed_from_u64(1));
    assert_eq!(receiver.conclude(checked).reason, Reason::BadSignature);
    let settled = receiver.settled();
    assert_eq!(settled.len(), usize::from(needed) - 1);
    let refused = |(_, conclusion): &(_, clew_packet::Conclusion)| conclusion.reason;
    assert!(settled.iter().all(|s| refused(s) == Reason::BadSignature));
}
