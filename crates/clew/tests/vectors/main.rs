//! The vectors of `spec/vectors`, written by [`make`] and read by [`judge`], which share nothing but
//! the text format and [`drawn`]. The formats are frozen by these files: changing one is an approval, by
//! `CLEW_BLESS=1 cargo test -p clew --test vectors`.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod case;
mod drawn;
mod judge;
mod make;

#[path = "../../../clew-packet/tests/all/common/mod.rs"]
#[rustfmt::skip]
mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::{env, fs};

use case::Case;
use judge::Stop;

const FORMATS: [&str; 12] = [
    "group-signature",
    "packet-trailer",
    "carriers",
    "group-file",
    "opening",
    "warrant",
    "key-file",
    "flow-carriage",
    "effs",
    "flow-signature",
    "flow-manifest",
    "tunnel",
];
const SIZE_MAX: usize = 5_000_000;

fn path(format: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors");
    folder.join(format!("{format}.jsonl"))
}

/// The files by their formats. `CLEW_BLESS` writes them before anybody reads one.
static FILES: LazyLock<BTreeMap<&str, String>> = LazyLock::new(|| {
    if env::var_os("CLEW_BLESS").is_some() {
        for (format, lines) in made() {
            fs::write(path(format), lines.concat()).unwrap();
        }
    }
    let read = |format| (format, fs::read_to_string(path(format)).expect("it is text"));
    FORMATS.into_iter().map(read).collect()
});

fn cases() -> Vec<Case> {
    let of_format = |(format, text): (&'static &str, &'static String)| {
        let parse = |line| Case::parse(format, line);
        text.lines().map(move |line| parse(line).ok_or_else(|| format!("{format}: {line}")).unwrap())
    };
    FILES.iter().flat_map(of_format).collect()
}

#[test]
fn every_case_is_judged_as_it_says() {
    let mut wrong = Vec::new();
    for case in cases() {
        let outcome = judge::judge(&case);
        let said = match &outcome {
            Ok(()) => "valid",
            Err(Stop::Rule(rule) | Stop::Blames(rule, _)) => rule,
            Err(Stop::Wrong(mistake)) => mistake,
        };
        let label = case.label();
        if said != case.expect {
            wrong.push(format!("{label}: expected {}, {said}", case.expect));
        }
        if outcome.is_ok() && !case.unused().is_empty() {
            wrong.push(format!("{label}: {:?} not looked at", case.unused()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_a_case() {
    let mut broken: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for case in cases() {
        let rules = broken.entry(case.format).or_default();
        rules.insert(case.expect);
    }
    for format in FORMATS {
        let rules: BTreeSet<String> = judge::rules(format).into_iter().map(Into::into).collect();
        assert_eq!(broken[format], rules, "{format}");
    }
}

#[test]
fn files_are_what_the_generator_makes() {
    let mut changed = Vec::new();
    for (format, made) in made() {
        let lines: Vec<&str> = FILES[format].split_inclusive('\n').collect();
        let other = made.iter().filter(|line| !lines.contains(&line.as_str()));
        changed.extend(other.map(|line| format!("{format}: {}", &line[..line.find(',').unwrap()])));
        assert_eq!(lines.len(), made.len(), "{format} has as many cases as are made");
        let same = !changed.is_empty() || lines == made;
        assert!(same, "{format} has another order");
    }
    assert!(changed.is_empty(), "CLEW_BLESS=1 approves these changes:\n{}", changed.join("\n"));
    assert!(FILES.values().map(String::len).sum::<usize>() < SIZE_MAX);
}

/// The lines of each file, in the order of the specification.
fn made() -> BTreeMap<&'static str, Vec<String>> {
    static MADE: LazyLock<Vec<Case>> = LazyLock::new(make::all);
    let labels: BTreeSet<String> = MADE.iter().map(Case::label).collect();
    assert_eq!(labels.len(), MADE.len(), "two cases have one name");
    let lines = |format| {
        let cases = MADE.iter().filter(move |case| case.format == format);
        (format, cases.map(|case| case.render() + "\n").collect())
    };
    FORMATS.into_iter().map(lines).collect()
}
