//! Vectors of register files.

use clew_evidence::{LineValue, RegisterFileHeader, RegisterLine, base_hash};
use clew_group::Scheme;

use crate::case::Case;
use crate::make::damage::{Damage, another, identity};
use crate::make::groups::bbs04_group::BBS04;
use crate::make::groups::records::Records;
use crate::make::groups::strange;
use crate::make::groups::xr_group::{XR, x};
use crate::make::packet::frames::{group_file, records};

pub fn all() -> Vec<Case> {
    let mut cases = good();
    cases.extend(bad_layouts());
    cases.extend(bad_lines());
    cases
}

fn case(scheme: Scheme, name: &str, expect: &str, comment: &str, file: &[u8]) -> Case {
    Case::new("opening", &format!("register-{name}"), expect, comment)
        .text("check", "register-file")
        .text("group-file", group_file(scheme))
        .hex("file", file)
}

fn header(records: &Records, points: bool, epochs: &[u32]) -> RegisterFileHeader {
    RegisterFileHeader { group: records.id(), points, epochs: epochs.to_vec() }
}

fn file(header: &RegisterFileHeader, lines: &[RegisterLine]) -> Vec<u8> {
    let lines = lines.iter().flat_map(|line| line.encode(header));
    header.encode().into_iter().chain(lines).collect()
}

/// The epoch in which a machine is revoked.
fn revoked(scheme: Scheme, at: usize) -> Option<u32> {
    match scheme {
        Scheme::Bbs04 => [None, Some(1), Some(2)][at],
        Scheme::Xr => [None, Some(1), Some(3), None, Some(3)][at],
    }
}

/// The lines of all machines.
fn lines(scheme: Scheme, header: &RegisterFileHeader) -> Vec<RegisterLine> {
    let records = records(scheme);
    let line = |at: usize| {
        let name = format!("web-{}", at + 1);
        let value = |epoch: &u32| {
            if revoked(scheme, at).is_some_and(|since| since <= *epoch) {
                return LineValue::Revoked;
            }
            let base = match scheme {
                Scheme::Bbs04 => BBS04.base(&name, *epoch as usize),
                Scheme::Xr => XR.base(&name, *epoch as usize),
            };
            match header.points {
                true => LineValue::Point(base.to_bytes()),
                false => LineValue::Hash(base_hash(&base.to_bytes())),
            }
        };
        RegisterLine {
            row: records.row(at),
            x: (scheme == Scheme::Xr).then(|| x(&name)),
            values: header.epochs.iter().map(value).collect(),
        }
    };
    (0..records.entries.len()).map(line).collect()
}

fn bytes(value: &LineValue, points: bool) -> Vec<u8> {
    match value {
        LineValue::Revoked => vec![0; if points { 48 } else { 32 }],
        LineValue::Hash(hash) => hash.to_vec(),
        LineValue::Point(point) => point.to_vec(),
    }
}

fn with_lines(case: Case, header: &RegisterFileHeader, lines: &[RegisterLine]) -> Case {
    let case = case.hex("values", [if header.points { 2 } else { 1 }]);
    let epochs = header.epochs.iter().map(|epoch| epoch.to_be_bytes());
    let case = case.each("epoch", epochs);
    let entries = lines.iter().map(|line| line.row.entry.encode());
    let case = case.each("entry", entries);
    let leaves = lines.iter().map(|line| line.row.entry.leaf_hash());
    let case = case.each("leaf-hash", leaves);
    let all_x = lines.iter().filter_map(|line| line.x);
    let case = case.each("x", all_x.map(|x| x.to_bytes()));
    let values = lines.iter().flat_map(|line| &line.values);
    case.each("value", values.map(|value| bytes(value, header.points)))
}

fn good() -> Vec<Case> {
    let of = |scheme: Scheme, name: &str, comment: &str, points, epochs: &[u32], take: usize| {
        let records = records(scheme);
        let header = header(records, points, epochs);
        let lines = &lines(scheme, &header)[..take];
        let case = case(scheme, name, "valid", comment, &file(&header, lines));
        with_lines(case, &header, lines)
    };
    let (bbs04, xr) = (Scheme::Bbs04, Scheme::Xr);
    let all = "Hashes of all epochs: machines that joined later have them too, revoked ones zeros.";
    vec![
        of(bbs04, "bbs04", "All machines of bbs04, hashes of all epochs.", false, &[0, 1, 2], 3),
        of(bbs04, "bbs04-points", "Points of one epoch.", true, &[2], 3),
        of(xr, "xr", all, false, &[0, 1, 2, 3, 4], 5),
        of(xr, "xr-points", "Points of two epochs.", true, &[0, 4], 5),
        of(xr, "empty", "No row.", false, &[1], 0),
    ]
}

fn bad_layouts() -> Vec<Case> {
    let one = header(&XR.records, false, &[0]);
    let good = file(&one, &lines(Scheme::Xr, &one));
    let bad = |name: &str, rule: &str, comment: &str, file: &[u8]| case(Scheme::Xr, name, rule, comment, file);
    // Magic, group, values, count, one epoch; then the first line's length.
    let start = 38;
    let length = |value: u32| good.set(start, value.to_be_bytes());
    let row = u32::from_be_bytes(good[start..start + 4].try_into().unwrap());
    let x = start + 4 + row as usize;
    let of_bbs04 = file(&one, &lines(Scheme::Bbs04, &header(&BBS04.records, false, &[0])));
    let epochs = |all: &[u32]| file(&header(&XR.records, false, all), &[]);
    let many: Vec<u32> = (0..17).collect();
    vec![
        bad("no-byte", "header", "No byte.", b""),
        bad("header", "header", "Another line end in the header.", &good.set(15, [b'\r'])),
        bad("header-cut", "header", "The header lacks its last byte.", &good[..start - 1]),
        bad("values-0", "header", "Values of kind 0.", &good.set(32, [0])),
        bad("values-3", "header", "Values of kind 3.", &good.set(32, [3])),
        bad("epochs-none", "header", "No epoch.", &epochs(&[])),
        bad("epochs-17", "header", "17 epochs.", &epochs(&many)),
        bad("epochs-equal", "header", "An epoch twice.", &epochs(&[1, 1])),
        bad("epochs-falling", "header", "Epochs in falling order.", &epochs(&[1, 0])),
        bad("too-long", "too-long", "A row of 70,000 bytes.", &length(70_000)),
        bad("layout", "layout", "A byte of the row is missing.", &length(row - 1)),
        bad("layout-entry", "layout", "The entry is one byte longer.", &good.set(start + 5, [good[start + 5] + 1])),
        bad("layout-scheme", "layout", "Entries of the other scheme.", &of_bbs04),
        bad("layout-x-zero", "layout", "x is zero.", &good.set(x, [0; 32])),
        bad("layout-x", "layout", "x is not reduced.", &good.set(x, [0xff; 32])),
        bad("truncated", "truncated", "The last byte is missing.", &good.cut(1)),
        bad("truncated-length", "truncated", "The file ends within a length.", &good[..start + 2]),
    ]
}

/// What decodes, and is not to be believed.
fn bad_lines() -> Vec<Case> {
    let (hashes, points) = (header(&XR.records, false, &[1]), header(&XR.records, true, &[1]));
    let with = |header: &RegisterFileHeader, name: &str, rule: &str, comment: &str, change: &dyn Fn(&mut RegisterLine)| {
        let mut lines = lines(Scheme::Xr, header);
        change(&mut lines[2]);
        case(Scheme::Xr, name, rule, comment, &file(header, &lines))
    };
    let of_epoch_0 = XR.base("web-3", 0).to_bytes();
    let other = another(&XR.base("web-3", 1).to_bytes());
    let weak: [u8; 48] = identity(48).try_into().unwrap();
    let point = |point: [u8; 48]| {
        move |line: &mut RegisterLine| {
            line.values = vec![LineValue::Point(point)];
        }
    };
    let all = lines(Scheme::Xr, &hashes);
    let in_strange = |name: &str, rule: &str, comment: &str, index: usize| {
        let of_epoch_0 = header(&XR.records, false, &[0]);
        let line = RegisterLine { row: strange::xr().row(index), ..lines(Scheme::Xr, &of_epoch_0)[0].clone() };
        case(Scheme::Xr, name, rule, comment, &file(&of_epoch_0, &[line]))
            .without("group-file")
            .text("group-file", strange::STRANGE)
    };
    let other_group = file(&header(&BBS04.records, false, &[1]), &all);
    let beyond = header(&XR.records, false, &[5]);
    let beyond = file(&beyond, &lines(Scheme::Xr, &hashes));
    vec![
        case(Scheme::Xr, "group", "group", "A file of another group.", &other_group),
        case(Scheme::Xr, "epoch", "group", "An epoch that the group has not.", &beyond),
        with(&hashes, "proof", "register", "A hash of the third proof is another.", &|line| line.row.hashes[0][0] ^= 1),
        in_strange("joined", "register", "It joined in an epoch that the file does not have.", strange::JOINED),
        in_strange("device", "device", "The device did not sign.", 0),
        in_strange("device-proof", "device", "The proof of y does not hold.", strange::PROOF),
        in_strange("credential", "credential", "The device signed for another A.", strange::CREDENTIAL),
        with(&hashes, "credential-x", "credential", "x of the third is that of another machine.", &|line| {
            line.x = Some(x("web-1"))
        }),
        with(&points, "signer-epoch", "signer", "B of the third is of epoch 0.", &point(of_epoch_0)),
        with(&points, "signer", "signer", "B of the third is another point.", &point(other.try_into().unwrap())),
        with(&points, "signer-point", "signer", "B of the third is the identity.", &point(weak)),
    ]
}
