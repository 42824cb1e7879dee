//! Vectors of register files.

use clew_evidence::{RegisterLine, Row, register_file_header};
use clew_group::Scheme;
use clew_group::curve::G1;

use super::bbs04_group::{BBS04, x};
use super::damage::{another, identity};
use super::packet_trailer::group_file;
use super::records::Records;
use super::xr_group::XR;
use super::{patched, replaced, with_all};
use crate::case::Case;

pub fn all() -> Vec<Case> {
    let mut cases = vec![of_bbs04(0), of_bbs04(2), of_xr(0), of_xr(3), empty()];
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

fn file(records: &Records, epoch: usize, lines: &[RegisterLine]) -> Vec<u8> {
    let header = register_file_header(records.id(), epoch as u32);
    let lines = lines.iter().flat_map(RegisterLine::encode);
    header.into_iter().chain(lines).collect()
}

fn tag(scheme: Scheme, row: &Row) -> [u8; 32] {
    let a = G1::from_bytes(&row.entry.credential).unwrap();
    match scheme {
        Scheme::Bbs04 => BBS04.public[0].tag(&a),
        Scheme::Xr => XR.public[0].tag(&a),
    }
}

/// All machines, with what each has in an epoch.
fn lines(
    scheme: Scheme,
    records: &Records,
    credential: impl Fn(usize) -> Option<[u8; 48]>,
) -> Vec<RegisterLine> {
    let line = |at: usize| {
        let row = records.row(at);
        RegisterLine {
            tag: tag(scheme, &row),
            credential: credential(at),
            row,
        }
    };
    (0..records.entries.len()).map(line).collect()
}

fn lines_of_bbs04(epoch: usize) -> Vec<RegisterLine> {
    lines(Scheme::Bbs04, &BBS04.records, |at| {
        let name = BBS04.records.entries[at].name.as_str().to_owned();
        // web-2 leaves in epoch 1, web-3 in epoch 2.
        let member = at == 0 || epoch < at;
        let key = BBS04.issuer.issue(&BBS04.public[epoch], x(&name)).unwrap();
        member.then(|| key.credential().to_bytes())
    })
}

fn lines_of_xr(epoch: usize) -> Vec<RegisterLine> {
    lines(Scheme::Xr, &XR.records, |at| {
        let machine = &XR.machines[at];
        // web-2 leaves in epoch 1, web-3 in epoch 3; web-4 joins in epoch 2.
        let revoked = [usize::MAX, 1, 3, usize::MAX][at];
        let member = machine.joined <= epoch && epoch < revoked;
        member.then(|| machine.key(epoch).credential().to_bytes())
    })
}

fn with_lines(case: Case, epoch: usize, lines: &[RegisterLine]) -> Case {
    let case = case.hex("epoch", (epoch as u32).to_be_bytes());
    let case = with_all(
        case,
        "entry",
        lines.iter().map(|line| line.row.entry.encode()),
    );
    let case = with_all(
        case,
        "leaf-hash",
        lines.iter().map(|l| l.row.entry.leaf_hash()),
    );
    let case = with_all(case, "tag", lines.iter().map(|line| line.tag));
    let none = [0; 48];
    with_all(
        case,
        "credential",
        lines.iter().map(|line| line.credential.unwrap_or(none)),
    )
}

fn of_bbs04(epoch: usize) -> Case {
    let (name, comment) = (
        format!("bbs04-{epoch}"),
        format!("All machines of bbs04, for epoch {epoch}."),
    );
    let lines = lines_of_bbs04(epoch);
    let file = file(&BBS04.records, epoch, &lines);
    with_lines(
        case(Scheme::Bbs04, &name, "valid", &comment, &file),
        epoch,
        &lines,
    )
}

fn of_xr(epoch: usize) -> Case {
    let (name, comment) = (
        format!("xr-{epoch}"),
        format!("All machines of xr, for epoch {epoch}."),
    );
    let lines = lines_of_xr(epoch);
    let file = file(&XR.records, epoch, &lines);
    with_lines(
        case(Scheme::Xr, &name, "valid", &comment, &file),
        epoch,
        &lines,
    )
}

fn empty() -> Case {
    let file = file(&XR.records, 1, &[]);
    with_lines(case(Scheme::Xr, "empty", "valid", "No row.", &file), 1, &[])
}

fn bad_layouts() -> Vec<Case> {
    let good = file(&XR.records, 0, &lines_of_xr(0));
    let bad = |name: &str, rule: &str, comment: &str, file: &[u8]| {
        case(Scheme::Xr, name, rule, comment, file)
    };
    let length = |value: u32| replaced(&good, 36, &value.to_be_bytes());
    let row = u32::from_be_bytes(good[36..40].try_into().unwrap());
    let of_bbs04 = file(&XR.records, 0, &lines_of_bbs04(0));
    vec![
        bad("no-byte", "header", "No byte.", b""),
        bad(
            "header",
            "header",
            "Another line end in the header.",
            &patched(&good, 15, b'\r'),
        ),
        bad(
            "header-cut",
            "header",
            "The header lacks its last byte.",
            &good[..35],
        ),
        bad(
            "too-long",
            "too-long",
            "A row of 70,000 bytes.",
            &length(70_000),
        ),
        bad(
            "layout",
            "layout",
            "A byte of the row is missing.",
            &length(row - 1),
        ),
        bad(
            "layout-entry",
            "layout",
            "The entry is one byte longer.",
            &patched(&good, 41, good[41] + 1),
        ),
        bad(
            "layout-scheme",
            "layout",
            "Entries of the other scheme.",
            &of_bbs04,
        ),
        bad(
            "truncated",
            "truncated",
            "The last byte is missing.",
            &good[..good.len() - 1],
        ),
        bad(
            "truncated-length",
            "truncated",
            "The file ends within a length.",
            &good[..38],
        ),
    ]
}

/// What decodes, and is not to be believed.
fn bad_lines() -> Vec<Case> {
    let with = |name: &str, rule: &str, comment: &str, change: &dyn Fn(&mut RegisterLine)| {
        let mut lines = lines_of_xr(1);
        change(&mut lines[2]);
        case(
            Scheme::Xr,
            name,
            rule,
            comment,
            &file(&XR.records, 1, &lines),
        )
    };
    let old = XR.machine("web-3").key(0).credential().to_bytes();
    let other_group = file(&BBS04.records, 1, &lines_of_xr(1));
    let beyond = file(&XR.records, 4, &lines_of_xr(1));
    let weak: [u8; 48] = identity(48).try_into().unwrap();
    vec![
        case(
            Scheme::Xr,
            "group",
            "group",
            "A file of another group.",
            &other_group,
        ),
        case(
            Scheme::Xr,
            "epoch",
            "group",
            "An epoch that the group has not.",
            &beyond,
        ),
        with(
            "proof",
            "register",
            "A hash of the third proof is another.",
            &|line| {
                line.row.proof.hashes[0][0] ^= 1;
            },
        ),
        with(
            "device",
            "register",
            "S of the third entry, which the hashes cover.",
            &|line| {
                line.row.entry.device.as_mut().unwrap().signature[3] ^= 1;
            },
        ),
        with(
            "credential",
            "credential",
            "A of the third is of epoch 0.",
            &|line| {
                line.credential = Some(old);
            },
        ),
        with(
            "credential-other",
            "credential",
            "A of the third is another point.",
            &|line| {
                let other = another(&line.credential.unwrap());
                line.credential = Some(other.try_into().unwrap());
            },
        ),
        with(
            "credential-point",
            "credential",
            "A of the third is the identity.",
            &|line| {
                line.credential = Some(weak);
            },
        ),
    ]
}
