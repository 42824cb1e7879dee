//! What a bundle's report says: the same as `clew judge`, with the method and how to check it.

use super::Origin;
use crate::commands::judge::{EvidenceFile, Judged};
use crate::commands::verdict::{answer, facts, sentence};
use clew_evidence::DeviceFingerprint;
use clew_report::{Block, Column, Fact, Files, Report, Table, Time};
use clew_wire::Hex;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use sha2::{Digest, Sha256};

/// Names for what `clew judge` abbreviates.
const NAMES: [(&str, &str); 9] = [
    ("group", "Group"),
    ("epoch", "Epoch, and its id"),
    ("time", "Time of the packet"),
    ("signature", "What the signature covers"),
    ("warrant", "SHA-256 of the warrant"),
    ("machine", "Place in the register"),
    ("device", "Device key"),
    ("opened by", "Opened by"),
    ("request", "Request in the log"),
];

/// What no judgement shows (`spec/opening.md` section 8).
const NEVER_SHOWN: [&str; 4] = [
    "That the machine with this name is really that machine: the name is the manager's word. Compare the device key with the device.",
    "When the packet was made: a holder of the machine's key can date a packet back.",
    "Who sat at the machine.",
    "That two dishonest machines do not share one key.",
];

const METHOD: &str = "Each machine of a group has a secret key. It signs its packets with a group signature: anybody can \
    check that some machine of the group signed, and nobody can tell which. The group's trustees hold shares of an opening \
    key. When enough of them agree, each computes one value from its share and the signature, with a proof that the value \
    is right. These values lead to one row of the group's register, and to no other. Nobody has to trust the trustees, the \
    manager or the program that made this report: every step is checked from the files of this bundle.";

const MATCH_METHOD: &str = "In a match the trustees answer one question alone, whether one named machine signed, and learn \
    nothing else.";

const CERTIFICATION: &str = "To be completed by a qualified person, for example under Rules 902(13) and 902(14) of the US \
    Federal Rules of Evidence: I, ____________________, ____________________ (occupation), certify that the capture named \
    above was recorded by ____________________ (process or system) from ____________________ to ____________________ in \
    the regular course of its operation, that the copies in this bundle have the hash values stated, and that I am \
    qualified to say so because ____________________. Date, signature: ____________________";

/// The report of evidence that holds. `files` are those of the bundle without the report.
pub fn of(judged: &Judged, files: &Files, origin: &Origin) -> Report {
    let what = match judged.file {
        EvidenceFile::Opening(_) => "Opening",
        EvidenceFile::Match(_) => "Match",
    };
    let group = &judged.group.genesis().name;
    let mut blocks = vec![Block::Text(statement(judged))];
    let mut section = |heading: &str, content: Vec<Block>| {
        blocks.push(Block::Heading(heading.to_owned()));
        blocks.extend(content);
    };
    section(
        "What the evidence says",
        vec![Block::Facts(judgement(judged))],
    );
    section("What limits it", limits(judged));
    let mut method = vec![Block::Text(METHOD.to_owned())];
    if let EvidenceFile::Match(_) = judged.file {
        method.push(Block::Text(MATCH_METHOD.to_owned()));
    }
    section("Method", method);
    section(
        "Where the packets come from",
        vec![Block::Facts(source(origin))],
    );
    section("Files of this bundle", vec![Block::Table(contents(files))]);
    section("How to check", check(judged));
    section("Certification", vec![Block::Text(CERTIFICATION.to_owned())]);
    Report {
        title: format!("{what} of a packet of group {group}"),
        time: time(judged),
        blocks,
    }
}

fn statement(judged: &Judged) -> String {
    let answer = capital(&answer(&judged.matter, &judged.judgement));
    format!("{answer}. The number is that of the frame in this bundle's capture.")
}

/// The text with a capital at its beginning.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn fact(name: &str, value: impl Into<String>, is_code: bool) -> Fact {
    Fact {
        name: name.to_owned(),
        value: value.into(),
        is_code,
    }
}

fn judgement(judged: &Judged) -> Vec<Fact> {
    let warrant = judged.file.request().warrant.as_ref();
    let warrant = warrant.map(|hash| Hex(hash).to_string());
    let mut told: Vec<Fact> = Vec::new();
    for (name, value) in facts(&judged.group, &judged.matter, warrant, &judged.judgement) {
        if name.is_empty() {
            told.push(fact("", value, false));
            continue;
        }
        let full = NAMES.iter().find(|(short, _)| *short == name);
        let is_code = matches!(name, "warrant" | "device") && !value.contains(' ');
        told.push(fact(full.map_or(name, |(_, full)| full), value, is_code));
    }
    if let Some(warrant) = &judged.allowed {
        let key = DeviceFingerprint::of(warrant.issuer()).to_string();
        told.push(fact("Warrant by", warrant.issuer_name().to_string(), false));
        told.push(fact("Key of the warrant's issuer", key, true));
    }
    told.push(fact("Trustees", trustees(judged), false));
    let request = judged.file.request();
    told.push(fact("Request id", Hex(&request.id()).to_string(), true));
    told
}

fn trustees(judged: &Judged) -> String {
    let indices: Vec<String> = match &judged.file {
        EvidenceFile::Opening(opening) => opening
            .shares
            .iter()
            .map(|(trustee, _)| trustee.index().to_string())
            .collect(),
        EvidenceFile::Match(matched) => matched
            .set
            .iter()
            .map(|trustee| trustee.index().to_string())
            .collect(),
    };
    indices.join(", ")
}

fn limits(judged: &Judged) -> Vec<Block> {
    let caveats = judged.judgement.caveats.iter();
    let caveats = caveats.map(|caveat| sentence(caveat, &judged.judgement, &judged.group));
    let caveats: Vec<String> = caveats.map(|caveat| capital(&caveat) + ".").collect();
    let mut limits = Vec::new();
    if !caveats.is_empty() {
        limits.push(Block::Text("For this evidence:".to_owned()));
        limits.push(Block::Steps(caveats));
    }
    limits.push(Block::Text("No judgement of this kind shows:".to_owned()));
    limits.push(Block::Steps(NEVER_SHOWN.map(str::to_owned).to_vec()));
    limits
}

fn source(origin: &Origin) -> Vec<Fact> {
    let frames: Vec<String> = origin.frames.iter().map(u64::to_string).collect();
    vec![
        fact("Capture", origin.capture.clone(), false),
        fact(
            "SHA-256 of the capture",
            Hex(&origin.sha256).to_string(),
            true,
        ),
        fact("Its frames in this bundle", frames.join(", "), false),
        fact(
            "Whose word this is",
            "the bundle's maker; the packets themselves are signed",
            false,
        ),
    ]
}

fn contents(files: &Files) -> Table {
    let column = |name: &str, is_code| Column {
        name: name.to_owned(),
        is_code,
    };
    let row = |(name, bytes): (&String, &Vec<u8>)| {
        let hash: [u8; 32] = Sha256::digest(bytes).into();
        vec![
            name.clone(),
            bytes.len().to_string(),
            Hex(&hash).to_string(),
        ]
    };
    Table {
        caption: "Files, without this report".to_owned(),
        columns: vec![
            column("file", false),
            column("bytes", false),
            column("SHA-256", true),
        ],
        rows: files.iter().map(row).collect(),
    }
}

fn check(judged: &Judged) -> Vec<Block> {
    let id = clew_evidence::short_epoch_id(&judged.judgement.epoch_id);
    let evidence = super::name_of_evidence(&judged.file);
    let steps = vec![
        "With clew: clew judge BUNDLE. It checks every file, every proof, and that this report is that of the evidence.".to_owned(),
        "Without clew: unpack the zip file, and run sha256sum -c SHA256SUMS.".to_owned(),
        format!(
            "With the independent verifier in Python, which comes with clew's specification: check.py judge --group group.clew \
             {evidence} and the packets."
        ),
        format!(
            "The group file of this bundle is believed for what its manager published if the epoch's id is the one that others \
             know: {id}."
        ),
    ];
    vec![
        Block::Steps(steps),
        Block::Text(format!("Made by clew {}.", super::VERSION)),
    ]
}

/// The time of the group file's register: nothing in a bundle is later.
fn time(judged: &Judged) -> Time {
    let ns = judged.group.register().time.as_nanos();
    let at = Timestamp::from_nanosecond(i128::from(ns)).unwrap_or_default();
    let at = at.to_zoned(TimeZone::UTC);
    Time {
        year: at.year().unsigned_abs(),
        month: at.month().unsigned_abs(),
        day: at.day().unsigned_abs(),
        hour: at.hour().unsigned_abs(),
        minute: at.minute().unsigned_abs(),
        second: at.second().unsigned_abs(),
    }
}
