//! Rows and register files.

use crate::common::evidence::device_of;
use crate::common::issuer::{device_key, proof_of_y, vouch};
use crate::common::{BBS04, Fixture, XR, fixtures};
use clew_evidence::{
    EntryKey, GroupId, KeyOrigin, LineValue, MAX_ENTRY_BYTES, MAX_ROW_BYTES, RegisterEntry,
    RegisterFileError, RegisterFileHeader, RegisterLine, RegisterReader, Row, base_hash,
};
use clew_group::Scheme;
use ed25519_dalek::Signer;
use proptest::prelude::*;

#[test]
fn rows_round_trip_and_are_in_the_register() {
    for fixture in fixtures() {
        let scheme = fixture.group.scheme();
        for machine in 0..crate::common::MACHINES {
            let row = fixture.row(machine);
            let bytes = row.encode();
            assert!(bytes.len() <= MAX_ROW_BYTES);
            assert_eq!(Row::decode(scheme, &bytes), Some(row.clone()));
            assert!(row.is_in_register_of(&fixture.group));
        }
    }
}

#[test]
fn rows_have_the_fields_of_the_specification() {
    let row = XR.row(0);
    let entry = row.entry.encode();
    let length = (entry.len() as u16).to_be_bytes();
    let hashes = row.hashes.as_flattened();
    let expected = [&length[..], &entry, &[0, 0, 0, 5, 3], hashes].concat();
    assert_eq!(row.encode(), expected);
}

#[test]
fn the_longest_row_fits() {
    let mut row = XR.row(0);
    row.entry.name = "x".repeat(64).parse().unwrap();
    row.hashes = vec![[0; 32]; 32];
    assert_eq!(row.entry.encode().len(), MAX_ENTRY_BYTES);
    assert_eq!(row.encode().len(), MAX_ROW_BYTES);
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
    many.hashes = vec![[0; 32]; 33];
    assert_eq!(Row::decode(Scheme::Xr, &many.encode()), None);
}

/// Rule `device`: S and the proof of y are for every field but the place.
#[test]
fn the_device_vouches_for_every_field_but_the_place() {
    let entry = XR.row(1).entry;
    let vouched = |change: &dyn Fn(&mut RegisterEntry)| {
        let mut changed = entry.clone();
        change(&mut changed);
        changed.check_device(&XR.group).is_ok()
    };
    assert!(vouched(&|_| ()));
    assert!(vouched(&|e| e.index += 1));
    let changes: [fn(&mut RegisterEntry); 6] = [
        |e| e.joined += 1,
        |e| e.how = KeyOrigin::Attested,
        |e| e.replaces = Some(0),
        |e| e.name = "web-9".parse().unwrap(),
        |e| e.credential = XR.issuer.credential(2).to_bytes(),
        |e| device_of(e).commitment = XR.issuer.commitment(2).to_bytes(),
    ];
    for change in changes {
        assert!(!vouched(&change), "neither is for this statement");
        let statement = |e: &RegisterEntry| e.statement(XR.group.id());
        let signature = |e: &RegisterEntry| device_key(1).sign(&statement(e)).to_bytes();
        assert!(!vouched(&|e| {
            change(e);
            device_of(e).signature = signature(e);
        }));
        assert!(!vouched(&|e| {
            change(e);
            device_of(e).proof = proof_of_y(1, &statement(e));
        }));
    }
    assert!(!vouched(&|e| vouch(e, GroupId([9; 16]), 1)));
    assert!(!vouched(&|e| vouch(e, XR.group.id(), 2)));
    assert!(!vouched(&|e| device_of(e).signature[63] ^= 0x10));
    assert!(!vouched(&|e| device_of(e).proof[31] ^= 1));
    assert!(!vouched(&|e| device_of(e).proof[63] ^= 1));
    assert!(!vouched(&|e| device_of(e).proof[0] = 0xff));
    assert!(!vouched(&|e| device_of(e).commitment = [0xff; 48]));
    assert!(entry.check_device(&BBS04.group).is_err());
    assert!(BBS04.row(1).entry.check_device(&BBS04.group).is_ok());
}

#[test]
fn what_a_proof_needs() {
    let holds = |change: fn(&mut Row)| {
        let mut row = XR.row(0);
        change(&mut row);
        row.is_in_register_of(&XR.group)
    };
    assert!(holds(|_| ()));
    assert!(!holds(|r| r.hashes[0][0] ^= 1), "the hashes lead elsewhere");
    assert!(!holds(|r| r.entry.name = "web-7".parse().unwrap()));
    assert!(!holds(|r| r.entry.index = 1), "another place");
    assert!(!holds(|r| r.entry.index = 5), "an index of no machine");
    assert!(
        !holds(|r| r.machines = 4),
        "a size that the file does not have"
    );
    assert!(!holds(|r| r.machines = 2), "the hashes of another size");
    assert!(!holds(|r| r.entry.key = EntryKey::Bbs04(Box::new([0; 96]))));
}

/// The register of today has the row, but its epoch is not in the file.
#[test]
fn machines_join_in_an_epoch_of_the_file() {
    for (joined, holds) in [(4, true), (5, false)] {
        let mut entry = XR.entries[0].clone();
        entry.joined = joined;
        let (group, row) = XR.with_entry(entry);
        assert_eq!(row.is_in_register_of(&group), holds);
    }
}

#[test]
fn a_row_replaces_an_earlier_one() {
    for (replaces, holds) in [
        (None, true),
        (Some(2), true),
        (Some(3), false),
        (Some(4), false),
    ] {
        let mut entry = XR.entries[3].clone();
        entry.replaces = replaces;
        let (group, row) = XR.with_entry(entry);
        assert_eq!(row.is_in_register_of(&group), holds, "{replaces:?}");
    }
}

fn header(fixture: &Fixture, points: bool) -> RegisterFileHeader {
    RegisterFileHeader {
        group: fixture.group.id(),
        points,
        epochs: vec![2, 4],
    }
}

fn lines(fixture: &Fixture, points: bool) -> Vec<RegisterLine> {
    let value = |machine: usize| match (points, fixture.bases[machine].to_bytes()) {
        (true, point) => LineValue::Point(point),
        (false, point) => LineValue::Hash(base_hash(&point)),
    };
    let line = |machine: usize| RegisterLine {
        row: fixture.row(machine),
        x: fixture.x(machine),
        values: vec![value(machine), LineValue::Revoked],
    };
    (0..crate::common::MACHINES).map(line).collect()
}

fn register_file(fixture: &Fixture, points: bool) -> Vec<u8> {
    let header = header(fixture, points);
    let lines = lines(fixture, points).into_iter();
    let lines = lines.flat_map(|line| line.encode(&header));
    header.encode().into_iter().chain(lines).collect()
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
    for (fixture, points) in [(&BBS04, false), (&BBS04, true), (&XR, false), (&XR, true)] {
        let bytes = register_file(fixture, points);
        for piece in [1, 7, 500, bytes.len()] {
            let read = read(fixture.group.scheme(), &bytes, piece);
            assert_eq!(read, Ok(lines(fixture, points)));
        }
        let mut reader = RegisterReader::new(fixture.group.scheme());
        assert_eq!(reader.header(), Ok(None));
        reader.push(&bytes);
        assert_eq!(reader.header(), Ok(Some(&header(fixture, points))));
    }
}

#[test]
fn headers_and_lines_have_the_fields_of_the_specification() {
    let header = RegisterFileHeader {
        group: GroupId([3; 16]),
        points: false,
        epochs: vec![0, 258],
    };
    let epochs = [1, 2, 0, 0, 0, 0, 0, 0, 1, 2];
    let expected = [&b"clew-register-1\n"[..], &[3; 16], &epochs].concat();
    assert_eq!(header.encode(), expected);
    assert_eq!([header.place(258), header.place(1)], [Some(1), None]);
    let line = &lines(&XR, false)[0];
    let row = line.row.encode();
    let length = (row.len() as u32).to_be_bytes();
    let x = line.x.unwrap().to_bytes();
    let hash = line.values[0].hash().unwrap();
    let expected = [&length[..], &row, &x, &hash, &[0; 32]].concat();
    assert_eq!(line.encode(&header), expected);
    let points = RegisterFileHeader {
        points: true,
        ..header
    };
    let line = &lines(&XR, true)[0];
    let point = XR.bases[0].to_bytes();
    let expected = [&length[..], &row, &x, &point, &[0; 48]].concat();
    assert_eq!(line.encode(&points), expected);
    assert_eq!(line.values[0].hash(), Some(hash));
    assert_eq!(line.values[1].hash(), None);
}

#[test]
fn register_file_headers() {
    let with = |points: u8, count: u8, epochs: &[u32]| {
        let mut bytes = [&b"clew-register-1\n"[..], &[3; 16], &[points, count]].concat();
        bytes.extend(epochs.iter().flat_map(|epoch| epoch.to_be_bytes()));
        read(Scheme::Xr, &bytes, 10)
    };
    assert_eq!(with(1, 1, &[7]), Ok(vec![]));
    let most: Vec<u32> = (0..17).collect();
    assert_eq!(with(2, 16, &most[..16]), Ok(vec![]));
    let bad = Err(RegisterFileError::Header);
    assert_eq!(with(0, 1, &[7]), bad);
    assert_eq!(with(3, 1, &[7]), bad);
    assert_eq!(with(1, 0, &[]), bad);
    assert_eq!(with(1, 17, &most), bad);
    assert_eq!(with(1, 2, &[7, 7]), bad);
    assert_eq!(with(1, 2, &[8, 7]), bad);
    assert_eq!(with(1, 2, &[8]), bad, "it ends within the header");
}

#[test]
fn register_file_rules() {
    const FIRST_LINE: usize = 16 + 16 + 2 + 8;
    let good = register_file(&XR, false);
    let read = |bytes: &[u8]| read(Scheme::Xr, bytes, 100).unwrap_err();
    assert_eq!(read(b""), RegisterFileError::Header);
    assert_eq!(read(&good[..FIRST_LINE - 1]), RegisterFileError::Header);
    let other = [b"x", &good[1..]].concat();
    assert_eq!(read(&other), RegisterFileError::Header);
    let error = read(&good[..good.len() - 1]);
    assert_eq!(error, RegisterFileError::Truncated { line: 4 });
    let mut long = good.clone();
    let length = (MAX_ROW_BYTES as u32 + 1).to_be_bytes();
    long[FIRST_LINE..FIRST_LINE + 4].copy_from_slice(&length);
    assert_eq!(read(&long), RegisterFileError::TooLong { line: 0 });
    let mut layout = good.clone();
    layout[FIRST_LINE + 4] ^= 1;
    let error = read(&layout);
    assert_eq!(error, RegisterFileError::Layout { line: 0 });
    assert_eq!(error.as_str(), "layout");
    let x = FIRST_LINE + 4 + XR.row(0).encode().len();
    for value in [0, 0xff] {
        let mut bad_x = good.clone();
        bad_x[x..x + 32].fill(value);
        assert_eq!(read(&bad_x), RegisterFileError::Layout { line: 0 });
    }
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
        let head = if header { super::register::header(&XR, true).encode() } else { vec![] };
        let _ = read(Scheme::Xr, &[head, bytes].concat(), piece);
    }
}
