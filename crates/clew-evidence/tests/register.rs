//! Rows and register files.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use clew_evidence::{
    GroupId, MAX_ROW_BYTES, RegisterFileError, RegisterLine, RegisterReader, Row,
    register_file_header,
};
use clew_group::{EpochId, Scheme};
use common::{BBS04, World, XR};
use ed25519_dalek::SigningKey;
use proptest::prelude::*;

fn worlds() -> [&'static World; 2] {
    [&BBS04, &XR]
}

#[test]
fn rows_round_trip_and_are_in_the_register() {
    for world in worlds() {
        let scheme = world.group.scheme();
        for machine in 0..common::MACHINES {
            let row = world.row(machine);
            let bytes = row.encode();
            assert!(bytes.len() <= MAX_ROW_BYTES);
            assert_eq!(Row::decode(scheme, &bytes), Some(row.clone()));
            assert!(row.is_in_register_of(&world.group));
        }
    }
}

#[test]
fn rows_have_one_length_and_one_scheme() {
    let bytes = XR.row(0).encode();
    for cut in 0..bytes.len() {
        assert_eq!(Row::decode(Scheme::Xr, &bytes[..cut]), None);
    }
    assert_eq!(Row::decode(Scheme::Xr, &[&bytes[..], &[0]].concat()), None);
    assert_eq!(Row::decode(Scheme::Bbs04, &bytes), None);
    assert!(!XR.row(0).is_in_register_of(&BBS04.group));
    let mut many = XR.row(0);
    many.proof.hashes = vec![[0; 32]; 33];
    assert_eq!(Row::decode(Scheme::Xr, &many.encode()), None);
}

#[test]
fn proofs_of_an_older_register_hold() {
    for epoch in 0..=3 {
        let last = XR.group.epoch_id(epoch).unwrap();
        let row = XR.lone_row(XR.entries[1].clone(), last);
        assert!(row.is_in_register_of(&XR.group), "epoch {epoch}");
    }
}

#[test]
fn what_a_proof_needs() {
    let holds = |row: Row| row.is_in_register_of(&XR.group);
    let first = XR.group.epoch_id(0).unwrap();

    let mut other_root = XR.row(0);
    other_root.proof.hashes[0][0] ^= 1;
    assert!(!holds(other_root), "the hashes lead elsewhere");
    let mut other_entry = XR.row(0);
    other_entry.entry.name = "web-7".parse().unwrap();
    assert!(!holds(other_entry), "another entry");
    let mut outside = XR.row(0);
    outside.entry.index = 2;
    assert!(!holds(outside), "an index of no machine");
    let mut unsigned = XR.row(0);
    unsigned.proof.head.signature[0] ^= 1;
    assert!(!holds(unsigned), "no signature of the manager");
    let mut stranger = XR.row(0);
    stranger.proof.head = stranger
        .proof
        .head
        .head
        .seal(&SigningKey::from_bytes(&[1; 32]));
    assert!(!holds(stranger), "a signature of somebody else");
    let elsewhere = XR.lone_row(XR.entries[0].clone(), EpochId([1; 32]));
    assert!(!holds(elsewhere), "an epoch of another history");
    let mut bare = XR.entries[0].clone();
    bare.device = None;
    assert!(
        !holds(XR.lone_row(bare, first)),
        "an entry of the other scheme"
    );
    let mut late = XR.entries[0].clone();
    late.joined = 1;
    assert!(!holds(XR.lone_row(late, first)), "joined after that epoch");
}

fn lines(world: &World) -> Vec<RegisterLine> {
    let credential = |machine: usize| world.credentials[machine].to_bytes();
    let line = |machine: usize| RegisterLine {
        row: world.row(machine),
        tag: [machine as u8; 32],
        credential: (machine == 0).then(|| credential(machine)),
    };
    (0..common::MACHINES).map(line).collect()
}

fn register_file(world: &World) -> Vec<u8> {
    let header = register_file_header(world.group.id(), 2);
    let lines = lines(world).into_iter().flat_map(|line| line.encode());
    header.into_iter().chain(lines).collect()
}

/// Everything in the file, read in pieces.
fn read(
    scheme: Scheme,
    bytes: &[u8],
    piece: usize,
) -> Result<Vec<RegisterLine>, RegisterFileError> {
    let (mut reader, mut lines) = (RegisterReader::new(scheme), vec![]);
    for piece in bytes.chunks(piece) {
        reader.push(piece);
        while let Some(line) = reader.line()? {
            lines.push(line);
        }
    }
    reader.finish()?;
    Ok(lines)
}

#[test]
fn register_files_come_back_in_pieces_of_any_size() {
    for world in worlds() {
        let bytes = register_file(world);
        for piece in [1, 7, 500, bytes.len()] {
            assert_eq!(read(world.group.scheme(), &bytes, piece), Ok(lines(world)));
        }
        let mut reader = RegisterReader::new(world.group.scheme());
        assert_eq!(reader.header(), Ok(None));
        reader.push(&bytes);
        assert_eq!(reader.header(), Ok(Some((world.group.id(), 2))));
    }
    let header = register_file_header(GroupId([3; 16]), 258);
    let expected = [&b"clew-register-1\n"[..], &[3; 16], &[0, 0, 1, 2]].concat();
    assert_eq!(header, expected);
}

#[test]
fn register_file_rules() {
    let good = register_file(&XR);
    let read = |bytes: &[u8]| read(Scheme::Xr, bytes, 100).unwrap_err();
    assert_eq!(read(b""), RegisterFileError::Header);
    assert_eq!(read(&good[..35]), RegisterFileError::Header);
    assert_eq!(
        read(&[b"x", &good[1..]].concat()),
        RegisterFileError::Header
    );
    let error = read(&good[..good.len() - 1]);
    assert_eq!(error, RegisterFileError::Truncated { line: 1 });
    let mut long = good.clone();
    long[36..40].copy_from_slice(&(MAX_ROW_BYTES as u32 + 1).to_be_bytes());
    assert_eq!(read(&long), RegisterFileError::TooLong { line: 0 });
    let mut layout = good.clone();
    layout[36 + 4] ^= 1;
    let error = read(&layout);
    assert_eq!(error, RegisterFileError::Layout { line: 0 });
    assert_eq!(error.as_str(), "layout");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_flipped_bit_of_a_row_is_found(at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let mut bytes = XR.row(0).encode();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let row = Row::decode(Scheme::Xr, &bytes);
        prop_assert!(!row.is_some_and(|row| row.is_in_register_of(&XR.group)));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in any::<Vec<u8>>(), piece in 1usize..50, header: bool) {
        let head = if header { register_file_header(GroupId([0; 16]), 0) } else { vec![] };
        let _ = read(Scheme::Xr, &[head, bytes].concat(), piece);
    }
}
