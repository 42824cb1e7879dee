//! Vectors of register files: read in one go and byte by byte, and every row checked.

use clew_evidence::{GroupFile, RegisterFileError, RegisterLine, RegisterReader};
use clew_group::PublicKey;
use clew_group::curve::{G1, G2, PreparedG2, pairing_product};
use clew_packet::GroupId;

use super::opening::group_file;
use super::{Stop, check_all, holds};
use crate::case::Case;

pub fn judge(case: &Case) -> Result<(), Stop> {
    let (bytes, group) = (case.bytes("file")?, group_file(case)?);
    let whole = read(&group, bytes, bytes.len().max(1));
    holds(read(&group, bytes, 7) == whole, "the same in pieces")?;
    let ((id, epoch), lines) = whole?;
    let key = group.public_key(epoch).filter(|_| id == group.id());
    let key = key.ok_or(Stop::Rule("group"))??;
    for line in &lines {
        check(&group, &key, line)?;
    }
    case.check("epoch", epoch.to_be_bytes())?;
    check_all(case, "entry", lines.iter().map(|l| l.row.entry.encode()))?;
    check_all(
        case,
        "leaf-hash",
        lines.iter().map(|l| l.row.entry.leaf_hash()),
    )?;
    check_all(case, "tag", lines.iter().map(|l| l.tag))?;
    let tags = lines.iter().map(|line| tag(&group, line));
    check_all(case, "tag", tags.collect::<Result<Vec<_>, Stop>>()?)?;
    let none = [0; 48];
    check_all(
        case,
        "credential",
        lines.iter().map(|l| l.credential.unwrap_or(none)),
    )
}

type Whole = ((GroupId, u32), Vec<RegisterLine>);

fn read(group: &GroupFile, bytes: &[u8], at_once: usize) -> Result<Whole, RegisterFileError> {
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
    Ok((header, lines))
}

/// The row, and what the file says that the machine has now.
fn check(group: &GroupFile, key: &PublicKey, line: &RegisterLine) -> Result<(), Stop> {
    if !line.row.is_in_register_of(group) {
        return Err(Stop::Rule("register"));
    }
    if line.row.entry.check_device(group.id()).is_err() {
        return Err(Stop::Rule("device"));
    }
    let Some(now) = line.credential else {
        return Ok(());
    };
    let wrong = |_| Stop::Rule("credential");
    let a = G1::from_bytes(&now).map_err(wrong)?;
    let a_0 = G1::from_bytes(&line.row.entry.credential).map_err(wrong)?;
    let bytes = key.to_bytes();
    let lift = G2::from_bytes(&bytes[bytes.len() - 96..])?;
    let [lift, standard] = [lift, G2::generator()].map(|q| PreparedG2::new(&q));
    match pairing_product([(&a, &lift), (&-a_0, &standard)]).is_identity() {
        true => Ok(()),
        false => Err(Stop::Rule("credential")),
    }
}

fn tag(group: &GroupFile, line: &RegisterLine) -> Result<[u8; 32], Stop> {
    let a_0 = G1::from_bytes(&line.row.entry.credential)?;
    Ok(match group.first_public_key() {
        PublicKey::Bbs04(key) => key.tag(&a_0),
        PublicKey::Xr(key) => key.tag(&a_0),
    })
}
