//! Real captures: every record survives signing and stripping, and what was signed is valid.
//!
//! Those of the repository always, and those of the folder that `CLEW_CAPTURES` names.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::common::Owned;
use clew_capture::{Reader, Record};
use clew_packet::{LinkType, Policy, Reason, SignOutcome, Stripped};

#[test]
fn strip_undoes_sign_on_real_captures() {
    let files = captures();
    let mut outcomes = BTreeMap::new();
    for (name, records) in &files {
        for (number, record) in records.iter().enumerate() {
            let really = number % REALLY_SIGNED == 0;
            let outcome = check(record, really, &format!("{name}, packet {}", number + 1));
            *outcomes.entry(outcome).or_insert(0) += 1;
        }
    }
    println!("{} files: {outcomes:?}", files.len());
    assert!(
        outcomes.contains_key(&SignOutcome::Signed),
        "no packet was signable"
    );
}

/// One packet in so many is signed for real; in all, signing and stripping are exact.
const REALLY_SIGNED: usize = 32;

fn check(record: &Owned, really: bool, place: &str) -> SignOutcome {
    let (signed, outcome) = match really {
        true => record.sign(Policy::default()),
        false => record.sign_in_form(Policy::default()),
    };
    let Some(signed) = signed else {
        assert!(
            matches!(record.strip().1, Stripped::Nothing(_)),
            "{place}: {outcome}"
        );
        let expected = match outcome {
            SignOutcome::Unsignable(Reason::TooBig) => Some(Reason::NoTrailer),
            SignOutcome::Unsignable(reason) => Some(reason),
            _ => None,
        };
        assert_eq!(Some(record.verify()), expected, "{place}: {outcome}");
        return outcome;
    };
    let expected = if really {
        Reason::Ok
    } else {
        Reason::BadEncoding
    };
    assert_eq!(signed.verify(), expected, "{place}");
    let (twice, again) = signed.sign_in_form(Policy::default());
    assert_eq!(again, SignOutcome::AlreadySigned, "{place}");
    assert_eq!(
        twice.expect("it was marked").strip().0.as_ref(),
        Some(&signed),
        "{place}"
    );
    assert_eq!(signed.strip().0.as_ref(), Some(record), "{place}");
    outcome
}

/// The captures of the repository, and those of further folders.
fn captures() -> Vec<(String, Vec<Owned>)> {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../clew/tests/captures");
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/captures");
    let more = env::var_os("CLEW_CAPTURES").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let mut paths = captures_in(Path::new(own));
    assert!(paths.len() >= 11, "captures of the repository are missing");
    let shared = captures_in(&more);
    if shared.is_empty() {
        // Not by println!, which is shown for tests that fail only.
        let skipped = b"SKIPPED further captures: none in the folder of CLEW_CAPTURES\n";
        let _ = io::stderr().write_all(skipped);
    }
    paths.extend(shared);
    let read = |path: PathBuf| (path.display().to_string(), packets(&path));
    paths.into_iter().map(read).collect()
}

fn captures_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|e| e == "pcap" || e == "pcapng")
    });
    paths
}

fn packets(path: &Path) -> Vec<Owned> {
    let reader = Reader::new(fs::File::open(path).expect("a readable file")).expect("a capture");
    let records = reader.map(|record| record.expect("the file can be read"));
    let packet = |record: Record| {
        let info = record.packet()?;
        let missing = (info.wire_len as usize).saturating_sub(record.data().len());
        Some(Owned {
            link: LinkType(info.link.into()),
            bytes: record.data().to_vec(),
            missing,
        })
    };
    records.filter_map(packet).collect()
}
