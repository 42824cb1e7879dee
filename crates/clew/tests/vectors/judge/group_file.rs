//! Vectors of the group file.

use clew_evidence::{Frontier, GroupFile, GroupFileError};

use super::{Stop, holds};
use crate::case::Case;

pub fn judge(case: &Case) -> Result<(), Stop> {
    let file = read(case.bytes("file")?);
    if let Err(error) = &file {
        case.check("part", (error.part as u32).to_be_bytes())?;
    }
    let (file, keys) = file?;
    case.check("id", file.id().0)?;
    case.check("name", file.genesis().name.as_str())?;
    case.check("manager", file.genesis().manager)?;
    let starts = file.epochs().iter().map(|epoch| epoch.start.to_be_bytes());
    holds(case.all("start").into_iter().eq(starts), "starts of epochs")?;
    holds(case.all("public-key").into_iter().eq(&keys), "public keys")?;
    let register = file.register();
    let mut frontier = Frontier::default();
    let entries = case.all("entry");
    let appended = entries.iter().all(|entry| frontier.append(entry));
    holds(
        appended && frontier.entries() == register.machines,
        "entries",
    )?;
    holds(frontier.root() == register.root, "root of the entries")?;
    case.check("root", register.root)
}

/// The file with the keys of all its epochs, which are checked when they are first used.
fn read(bytes: &[u8]) -> Result<(GroupFile, Vec<[u8; 480]>), GroupFileError> {
    let file = GroupFile::from_bytes(bytes)?;
    let key = |epoch| file.public_key(epoch).expect("the file has the epoch");
    let keys = (0..=file.newest_epoch()).map(|epoch| key(epoch).map(|key| key.to_bytes()));
    let keys = keys.collect::<Result<_, _>>()?;
    Ok((file, keys))
}
