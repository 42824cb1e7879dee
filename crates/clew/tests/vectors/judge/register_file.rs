//! Vectors of register files: read in one go and byte by byte, and every row checked.

use clew_evidence::{
    CheckedGroup, EntryKey, LineValue, RegisterFileError, RegisterFileHeader, RegisterLine, RegisterReader, base_hash,
};
use clew_group::PublicKey;
use clew_group::curve::{G1, G2, Scalar};

use super::opening::group_file;
use super::{Stop, check_all, holds};
use crate::case::Case;

pub fn judge(case: &Case) -> Result<(), Stop> {
    let (bytes, group) = (case.bytes("file")?, group_file(case)?);
    let whole = read(&group, bytes, bytes.len().max(1));
    holds(read(&group, bytes, 7) == whole, "the same in pieces")?;
    let (header, lines) = whole?;
    let known = header.epochs.last() <= Some(&group.newest_epoch());
    if header.group != group.id() || !known {
        return Err(Stop::Rule("group"));
    }
    for line in &lines {
        check(&group, &header, line)?;
    }
    case.check("values", [if header.points { 2 } else { 1 }])?;
    let epochs = header.epochs.iter().map(|epoch| epoch.to_be_bytes());
    check_all(case, "epoch", epochs)?;
    check_all(case, "entry", lines.iter().map(|l| l.row.entry.encode()))?;
    let leaves = lines.iter().map(|line| line.row.entry.leaf_hash());
    check_all(case, "leaf-hash", leaves)?;
    let all_x = lines.iter().filter_map(|line| line.x.as_ref());
    check_all(case, "x", all_x.map(Scalar::to_bytes))?;
    let values = lines.iter().flat_map(|line| &line.values);
    check_all(case, "value", values.map(|v| encoded(v, header.points)))
}

fn encoded(value: &LineValue, points: bool) -> Vec<u8> {
    match value {
        LineValue::Revoked => vec![0; if points { 48 } else { 32 }],
        LineValue::Hash(hash) => hash.to_vec(),
        LineValue::Point(point) => point.to_vec(),
    }
}

type Whole = (RegisterFileHeader, Vec<RegisterLine>);

fn read(group: &CheckedGroup, bytes: &[u8], at_once: usize) -> Result<Whole, RegisterFileError> {
    let mut reader = RegisterReader::new(group.scheme());
    let mut lines = Vec::new();
    for piece in bytes.chunks(at_once) {
        reader.push(piece);
        while let Some(line) = reader.line()? {
            lines.push(line);
        }
    }
    reader.finish()?;
    let header = reader.header()?.ok_or(RegisterFileError::Header)?;
    Ok((header.clone(), lines))
}

/// The row, its credential, and each base.
fn check(group: &CheckedGroup, header: &RegisterFileHeader, line: &RegisterLine) -> Result<(), Stop> {
    if !line.row.is_in_register_of(group) {
        return Err(Stop::Rule("register"));
    }
    if line.row.entry.check_device(group).is_err() {
        return Err(Stop::Rule("device"));
    }
    let machine = Machine::of(line)?;
    if !machine.is_certified(group.first_public_key()) {
        return Err(Stop::Rule("credential"));
    }
    for (epoch, value) in header.epochs.iter().zip(&line.values) {
        let key = group.public_key(*epoch).expect("the file has the epoch")?;
        let LineValue::Point(point) = value else {
            continue;
        };
        let base = G1::from_bytes(point);
        if !base.is_ok_and(|base| machine.has_base(&key, &base)) {
            return Err(Stop::Rule("signer"));
        }
        holds(value.hash() == Some(base_hash(point)), "the point's hash")?;
    }
    Ok(())
}

/// What a line says about x.
enum Machine {
    Bbs04 { a: G1, x: Box<G2> },
    Xr { a: G1, c: G1, x: Scalar },
}

impl Machine {
    fn of(line: &RegisterLine) -> Result<Self, Stop> {
        let entry = &line.row.entry;
        let a = G1::from_bytes(&entry.credential)?;
        Ok(match (&entry.key, line.x) {
            (EntryKey::Bbs04(x), None) => Self::Bbs04 { a, x: Box::new(G2::from_bytes(&x[..])?) },
            (EntryKey::Xr(device), Some(x)) => Self::Xr { a, c: G1::from_bytes(&device.commitment)?, x },
            _ => return Err(Stop::Wrong("x is of the other scheme".to_owned())),
        })
    }

    fn is_certified(&self, key: &PublicKey) -> bool {
        match (self, key) {
            (Self::Bbs04 { a, x }, PublicKey::Bbs04(key)) => key.certifies(a, x),
            (Self::Xr { a, c, x }, PublicKey::Xr(key)) => key.certifies(a, c, x),
            _ => false,
        }
    }

    fn has_base(&self, key: &PublicKey, base: &G1) -> bool {
        match (self, key) {
            (Self::Bbs04 { x, .. }, PublicKey::Bbs04(key)) => key.names(base, x),
            (Self::Xr { c, x, .. }, PublicKey::Xr(key)) => key.names(base, c, x),
            _ => false,
        }
    }
}
