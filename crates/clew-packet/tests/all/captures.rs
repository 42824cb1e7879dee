//! Real captures: every record survives signing and stripping, and what was signed is valid.
//!
//! They are looked for in `CLEW_CAPTURES`, else beside the workspace.

use std::{collections::BTreeMap, env, fs, path::PathBuf};

use crate::common::Owned;
use clew_packet::{LinkType, Policy, Reason, Stripped};

#[test]
fn strip_undoes_sign_on_real_captures() {
    let files = captures();
    if files.is_empty() {
        println!("SKIPPED: no captures; set CLEW_CAPTURES to a folder of .pcap files");
        return;
    }
    let mut reasons = BTreeMap::new();
    for (name, records) in &files {
        for (number, record) in records.iter().enumerate() {
            let really = number % REALLY_SIGNED == 0;
            let reason = check(record, really, &format!("{name}, packet {}", number + 1));
            *reasons.entry(reason).or_insert(0) += 1;
        }
    }
    println!("{} files: {reasons:?}", files.len());
    assert!(
        reasons.contains_key(&Reason::Signed),
        "no packet was signable"
    );
}

/// One packet in so many is signed for real; in all, signing and stripping are exact.
const REALLY_SIGNED: usize = 32;

fn check(record: &Owned, really: bool, place: &str) -> Reason {
    let (signed, reason) = match really {
        true => record.sign(Policy::default()),
        false => record.sign_in_form(Policy::default()),
    };
    let Some(signed) = signed else {
        assert!(
            matches!(record.strip().1, Stripped::Nothing(_)),
            "{place}: {reason}"
        );
        assert_eq!(
            record.verify(),
            if reason == Reason::TooBig {
                Reason::NoTrailer
            } else {
                reason
            }
        );
        return reason;
    };
    let expected = if really {
        Reason::Ok
    } else {
        Reason::BadEncoding
    };
    assert_eq!(signed.verify(), expected, "{place}");
    let (twice, again) = signed.sign_in_form(Policy::default());
    assert_eq!(again, Reason::AlreadySigned, "{place}");
    assert_eq!(
        twice.expect("it was marked").strip().0.as_ref(),
        Some(&signed),
        "{place}"
    );
    assert_eq!(signed.strip().0.as_ref(), Some(record), "{place}");
    reason
}

/// Reads every classic little-endian capture file of the folder.
fn captures() -> Vec<(String, Vec<Owned>)> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/captures");
    let folder = env::var_os("CLEW_CAPTURES").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the folder can be listed").path())
        .collect();
    paths.sort();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "pcap")
    });
    let read = |path: PathBuf| {
        let file = fs::read(&path).expect("the capture can be read");
        Some((path.display().to_string(), records(&file)?))
    };
    paths.into_iter().filter_map(read).collect()
}

/// The records of a classic little-endian capture file; none if it is another kind of file.
fn records(file: &[u8]) -> Option<Vec<Owned>> {
    let u32_at = |at: usize| Some(u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?));
    if !matches!(u32_at(0)?, 0xa1b2_c3d4 | 0xa1b2_3c4d) {
        return None;
    }
    let link = LinkType(u32_at(20)? & 0xffff);
    let mut records = Vec::new();
    let mut at = 24;
    while let (Some(captured), Some(wire)) = (u32_at(at + 8), u32_at(at + 12)) {
        let bytes = file.get(at + 16..at + 16 + captured as usize)?.to_vec();
        at += 16 + bytes.len();
        let missing = (wire as usize).saturating_sub(bytes.len());
        records.push(Owned {
            link,
            bytes,
            missing,
        });
    }
    Some(records)
}
