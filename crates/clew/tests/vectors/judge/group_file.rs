//! Vectors of the group file.

use clew_evidence::{
    CheckedGroup, EpochRecord, EpochSharing, GroupFile, GroupFileError, GroupLog, RegisterEntry, short_epoch_id,
};
use clew_group::PublicKey;
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

use super::{Stop, check_all, holds};
use crate::case::Case;

pub fn judge(case: &Case) -> Result<(), Stop> {
    let read = read(case.bytes("file")?);
    if let Err(error) = &read {
        case.check("part", (error.part as u32).to_be_bytes())?;
    }
    let (file, epochs) = read?;
    case.check("id", file.id().0)?;
    case.check("scheme", [file.scheme().code()])?;
    case.check("name", file.genesis().name.as_str())?;
    case.check("manager", file.genesis().manager)?;
    let logs = (0..=file.newest_epoch()).map(|epoch| file.log_at(epoch));
    match case.has("log") {
        true => check_all(case, "log", logs.map(log))?,
        false => holds(logs.flatten().next().is_none(), "no log")?,
    }
    let starts = (1..=file.newest_epoch()).filter_map(|epoch| file.start(epoch));
    check_all(case, "start", starts.map(|start| start.as_nanos().to_be_bytes()))?;
    check_all(case, "founding-key", epochs.iter().map(|epoch| epoch.key.founding_bytes()))?;
    check_all(case, "v", epochs.iter().map(|epoch| epoch.key.v().to_bytes()))?;
    check_all(case, "sharing", epochs.iter().map(|epoch| sharing(&epoch.sharing)))?;
    let ids = (0..=file.newest_epoch()).filter_map(|epoch| file.epoch_id(epoch));
    let ids: Vec<_> = ids.collect();
    check_all(case, "epoch-id", &ids)?;
    check_all(case, "short-id", ids.iter().map(short_epoch_id))?;
    let made = file.epochs().iter().map(|record| record.made.as_nanos().to_be_bytes());
    check_all(case, "made", made)?;
    let sizes = file.checkpoints().iter().map(|c| c.machines.to_be_bytes());
    check_all(case, "checkpoint", sizes)?;
    let bound = file.epochs().iter().map(bound);
    check_all(case, "bound", bound)?;
    let register = file.register();
    case.check("machines", register.machines.to_be_bytes())?;
    case.check("root", register.root)?;
    entries(case, register.root)
}

/// The verifier key of a log.
fn log(log: Option<&GroupLog>) -> String {
    log.map_or("none".to_owned(), |log| log.key().to_string())
}

/// The size of the register that a record binds.
fn bound(record: &EpochRecord) -> Vec<u8> {
    [&record.machines.to_be_bytes()[..], &record.root].concat()
}

struct Epoch {
    key: PublicKey,
    sharing: EpochSharing,
}

/// The file with its checked chain, and the keys and sharings of all its epochs, which are checked when
/// they are first used.
fn read(bytes: &[u8]) -> Result<(CheckedGroup, Vec<Epoch>), GroupFileError> {
    let file = GroupFile::from_bytes(bytes)?.check_epochs(&mut ChaCha20Rng::seed_from_u64(1))?;
    let epoch = |epoch| {
        let sharing = file.sharing(epoch).expect("the file has the epoch")?;
        let key = file.public_key(epoch).expect("the file has the epoch")?;
        Ok(Epoch { key, sharing })
    };
    let epochs = (0..=file.newest_epoch()).map(epoch);
    let epochs = epochs.collect::<Result<_, GroupFileError>>()?;
    Ok((file, epochs))
}

/// Origin, t, n and all commitments, from the first, of each secret.
fn sharing(epoch: &EpochSharing) -> Vec<u8> {
    let quorum = epoch.quorum;
    let mut out = vec![epoch.origin as u8, quorum.threshold(), quorum.trustees()];
    for part in &epoch.parts {
        out.extend(part.public().to_bytes());
        out.extend(part.to_bytes());
    }
    out
}

/// The entries lead to the root.
fn entries(case: &Case, root: [u8; 32]) -> Result<(), Stop> {
    let mut nodes = std::collections::HashMap::new();
    let entries = case.all("entry");
    for (number, bytes) in entries.iter().enumerate() {
        let entry = RegisterEntry::decode(bytes);
        let entry = entry.ok_or(Stop::Wrong("an entry does not decode".to_owned()))?;
        holds(entry.encode() == *bytes, "the same entry again")?;
        holds(entry.index as usize == number, "its index")?;
        let node = |level, index| nodes.get(&(level, index)).copied();
        let added = clew_evidence::appended_nodes(number as u32, &entry.leaf_hash(), node);
        let added = added.ok_or(Stop::Wrong("a node is missing".to_owned()))?;
        nodes.extend(added.into_iter().map(|(l, i, hash)| ((l, i), hash)));
    }
    let node = |level, index| nodes.get(&(level, index)).copied();
    let computed = clew_evidence::root(entries.len() as u32, node);
    holds(computed == Some(root), "root of the entries")
}
