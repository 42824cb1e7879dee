//! Vectors of the group file: good ones of both schemes.

use std::sync::LazyLock;
use std::time::Duration;

use clew_evidence::{Change, EpochRecord, GroupLog, Origin, SharingRecord, WallTime, short_epoch_id};
use clew_group::quorum::{Quorum, Sharing};
use clew_log::{KeyKind, VerifierKey};
use ed25519_dalek::SigningKey;

use crate::case::Case;
use crate::make::groups::bbs04_group::{self, BBS04};
use crate::make::groups::records::Records;
use crate::make::groups::strange;
use crate::make::groups::xr_group::{self, XR, u};
use crate::make::{Key, hash, rng, scalar};

/// A group of one record, with a dealt opening key and no machine.
static SMALL: LazyLock<Records> = LazyLock::new(|| {
    let quorum = Quorum::new(1, 2).unwrap();
    let dealt = Sharing::deal(&u(), &scalar("small xi"), quorum, &mut rng("small"));
    let (sharing, _) = dealt.unwrap();
    let mut records = XR.records.clone();
    let nonce = records.genesis.nonce;
    let found = XR.issuer.found(&nonce, sharing.public(), &mut rng("small proof"));
    records.genesis.name = "klein ☘".parse().unwrap();
    records.genesis.founding = Box::new(found.0.founding_bytes());
    records.genesis.issuer_proof = Some(found.1.to_bytes());
    records.genesis.sharing = SharingRecord::xr(Origin::TrustedDealer, &sharing);
    records.epochs.clear();
    records.checkpoints.clear();
    records.entries.clear();
    records
});

pub fn all() -> Vec<Case> {
    vec![of_bbs04(), of_xr(), urgent(), small(), logs(), strange_xr(), strange_bbs04()]
}

/// The small group with a log in epoch 0, another from epoch 1, and none from epoch 2.
pub fn with_logs() -> Records {
    let mut records = SMALL.clone();
    records.genesis.log = Some(log("example.com/first"));
    let made = records.genesis.created;
    for change in [Some(log("example.com/second")), None] {
        records.epochs.push(EpochRecord {
            epoch: records.epochs.len() as u32 + 1,
            previous: records.last_id(),
            made: WallTime::from_nanos(made.as_nanos() + 1),
            start: WallTime::from_nanos(made.as_nanos() + 1),
            machines: 0,
            root: [0; 32],
            change: Change::Log(change.map(Box::new)),
        });
    }
    records
}

/// The log of that origin.
fn log(origin: &str) -> GroupLog {
    let key = SigningKey::from_bytes(&hash(origin.as_bytes())).verifying_key();
    GroupLog::new(VerifierKey::new(origin, KeyKind::Log, key).unwrap()).unwrap()
}

fn logs() -> Case {
    let records = with_logs();
    let comment = "A log from epoch 0, another from epoch 1, none from epoch 2.";
    let founding = *records.genesis.founding;
    let keys = vec![(founding, XR.public[0].v().to_bytes()); 3];
    let h = &founding[..48];
    let case = good("xr-log", comment, &records, keys).each("sharing", vec![[&[1, 1, 2], h].concat(); 3]);
    let logs = [Some("example.com/first"), Some("example.com/second"), None];
    let logs = logs.map(|origin| origin.map_or("none".to_owned(), |origin| log(origin).key().to_string()));
    with_register(case.texts("log", logs), &records)
}

/// The manager can sign any register: whoever reads a row says what is wrong.
fn strange_xr() -> Case {
    let comment = "The group of xr with a register whose entries nobody takes.";
    let name = strange::STRANGE;
    of_xr_with(name, comment, &strange::xr())
}

fn strange_bbs04() -> Case {
    let comment = "The group of bbs04 with a register whose entry nobody takes.";
    let name = strange::BBS04_FILE;
    of_bbs04_with(name, comment, &strange::bbs04())
}

/// `keys` are the founding key and the V of each epoch.
fn good(name: &str, comment: &str, records: &Records, keys: Vec<([u8; 192], [u8; 48])>) -> Case {
    let ids = || (0..keys.len()).map(|epoch| records.epoch_id(epoch));
    let bound = |record: &EpochRecord| [&record.machines.to_be_bytes()[..], &record.root].concat();
    Case::new("group-file", name, "valid", comment)
        .hex("file", records.file())
        .hex("id", records.id().0)
        .hex("scheme", [records.genesis.scheme.code()])
        .text("name", records.genesis.name.as_str())
        .hex("manager", records.genesis.manager)
        .each("epoch-id", ids())
        .texts("short-id", ids().map(|id| short_epoch_id(&id)))
        .each("founding-key", keys.iter().map(|(founding, _)| founding))
        .each("v", keys.iter().map(|(_, v)| v))
        .each("made", records.epochs.iter().map(|e| e.made.as_nanos().to_be_bytes()))
        .each("checkpoint", records.checkpoints.iter().map(|c| c.to_be_bytes()))
        .each("bound", records.epochs.iter().map(bound))
        .each("start", records.epochs.iter().map(|e| e.start.as_nanos().to_be_bytes()))
}

/// Origin, t, n and all commitments, from the first, of each secret.
fn sharing_bytes(origin: u8, parts: &[&Sharing]) -> Vec<u8> {
    let quorum = parts[0].quorum();
    let mut out = vec![origin, quorum.threshold(), quorum.trustees()];
    for part in parts {
        out.extend(part.public().to_bytes());
        out.extend(part.to_bytes());
    }
    out
}

fn with_register(case: Case, records: &Records) -> Case {
    let entries = records.entries.iter().map(|entry| entry.encode());
    let machines = records.head().machines.to_be_bytes();
    case.hex("machines", machines).each("entry", entries).hex("root", records.head().root)
}

fn of_bbs04() -> Case {
    let comment = "Scheme bbs04: two rebases that revoke, and a register of three machines.";
    of_bbs04_with(bbs04_group::FILE, comment, &BBS04.records)
}

fn of_bbs04_with(name: &str, comment: &str, records: &Records) -> Case {
    let epochs = records.epochs.len() + 1;
    let keys = BBS04.public[..epochs].iter().map(Key::parts);
    let case = good(name, comment, records, keys.collect());
    let [in_u, in_v] = &BBS04.sharings;
    let sharing = sharing_bytes(1, &[in_u, in_v]);
    with_register(case.each("sharing", vec![sharing; epochs]), records)
}

fn of_xr() -> Case {
    let comment = "Scheme xr: a step, a new opening key, two steps, a rebase; five machines.";
    of_xr_with(xr_group::FILE, comment, &XR.records)
}

fn of_xr_with(name: &str, comment: &str, records: &Records) -> Case {
    let epochs = records.epochs.len() + 1;
    let keys = XR.public[..epochs].iter().map(Key::parts);
    let case = good(name, comment, records, keys.collect());
    let sharings = (0..epochs).map(|epoch| {
        let origin = if epoch < 2 { 2 } else { 1 };
        sharing_bytes(origin, &[&XR.sharing(epoch).0])
    });
    with_register(case.each("sharing", sharings), records)
}

/// An urgent epoch that brings the start of a planned one forward: the effective starts are alike. Its
/// register has more machines than the last checkpoint.
fn urgent() -> Case {
    let mut records = XR.records.clone();
    records.epochs.truncate(2);
    records.checkpoints = vec![2, 3];
    let planned = records.epochs[0].start;
    records.epochs[0].start = planned + Duration::from_secs(1_000_000_000);
    records.epochs[1].previous = records.epoch_id(1);
    let comment = "Epoch 2 starts before the planned start of epoch 1, which begins with it.";
    let second = records.epochs[1].start.as_nanos().to_be_bytes();
    of_xr_with("xr-urgent", comment, &records).without("start").each("start", [second; 2])
}

fn small() -> Case {
    let records = &*SMALL;
    let comment = "One record, a dealt key, no machine, and a name that is not ASCII.";
    let founding = *records.genesis.founding;
    let keys = vec![(founding, XR.public[0].v().to_bytes())];
    let h = &founding[..48];
    let case = good("xr-small", comment, records, keys);
    with_register(case.hex("sharing", [&[1, 1, 2], h].concat()), records)
}
