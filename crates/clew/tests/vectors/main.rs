//! The vectors of `spec/vectors`, written by [`make`] and read by [`judge`], which share nothing but
//! the text format and [`drawn`]. The formats are frozen by these files: changing one is an approval, by
//! `CLEW_BLESS=1 cargo test -p clew --test vectors`.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod case;
mod drawn;
mod judge;
mod make;

#[path = "../../../clew-packet/tests/all/common/mod.rs"]
mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::{env, fs};

use case::Case;
use judge::Stop;

const FOLDERS: [&str; 10] = [
    "group-signature",
    "packet-trailer",
    "group-file",
    "opening",
    "key-file",
    "flow-carriage",
    "effs",
    "flow-signature",
    "flow-manifest",
    "tunnel",
];
const SIZE_MAX: usize = 5_000_000;

/// The table of all cases follows this line of the README.
const TABLE: &str = "## Cases\n";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors")
}

/// Every file in the folders, by its path.
fn files() -> BTreeMap<String, String> {
    LazyLock::force(&BLESSED);
    let read = |folder: &'static str| {
        let entries = fs::read_dir(root().join(folder)).expect("the folder is there");
        entries.map(move |entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).expect("it is text");
            (format!("{folder}/{name}"), text)
        })
    };
    FOLDERS.into_iter().flat_map(read).collect()
}

fn cases() -> Vec<Case> {
    let parse = |(path, text): (String, String)| {
        Case::parse(&path, &text).ok_or(format!("{path} is not in the format"))
    };
    let cases: Result<_, String> = files().into_iter().map(parse).collect();
    cases.unwrap()
}

#[test]
fn every_file_is_judged_as_it_says() {
    let mut wrong = Vec::new();
    for case in cases() {
        let outcome = judge::judge(&case);
        let said = match &outcome {
            Ok(()) => "valid",
            Err(Stop::Rule(rule) | Stop::Blames(rule, _)) => rule,
            Err(Stop::Wrong(mistake)) => mistake,
        };
        if said != case.expect {
            wrong.push(format!("{}: expected {}, {said}", case.path, case.expect));
        }
        if outcome.is_ok() && !case.unused().is_empty() {
            wrong.push(format!("{}: {:?} not looked at", case.path, case.unused()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_a_file() {
    let mut broken: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for case in cases() {
        let rules = broken.entry(case.folder().to_owned()).or_default();
        rules.insert(case.expect.clone());
    }
    for folder in FOLDERS {
        let rules: BTreeSet<String> = judge::rules(folder).into_iter().map(Into::into).collect();
        assert_eq!(broken[folder], rules, "{folder}");
    }
}

#[test]
fn files_are_what_the_generator_makes() {
    let (files, made) = (files(), made());
    for path in files.keys().chain(made.keys()) {
        let same = files.get(path) == made.get(path);
        assert!(same, "{path} changed: CLEW_BLESS=1 approves it");
    }
    let same = readme().split_once(TABLE).expect("it has a table").1 == table();
    assert!(same, "the table changed: CLEW_BLESS=1 writes it");
    assert!(files.values().map(String::len).sum::<usize>() < SIZE_MAX);
}

/// What the generator makes, once: the order is that of the specifications.
static MADE: LazyLock<Vec<Case>> = LazyLock::new(make::all);

fn made() -> BTreeMap<String, String> {
    let cases = MADE.iter().map(|case| (case.path.clone(), case.render()));
    let made: BTreeMap<_, _> = cases.collect();
    assert_eq!(made.len(), MADE.len(), "two cases have one name");
    made
}

/// With `CLEW_BLESS`, writes the files before anybody reads one.
static BLESSED: LazyLock<()> = LazyLock::new(|| {
    if env::var_os("CLEW_BLESS").is_none() {
        return;
    }
    for folder in FOLDERS {
        // The folder may not be there yet.
        let _ = fs::remove_dir_all(root().join(folder));
        fs::create_dir_all(root().join(folder)).unwrap();
    }
    for (path, text) in made() {
        fs::write(root().join(path), text).unwrap();
    }
    let readme = readme();
    let head = readme.split_once(TABLE).expect("it has a table").0;
    fs::write(root().join("README.md"), [head, TABLE, &table()].concat()).unwrap();
});

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).expect("it is there")
}

fn table() -> String {
    let mut out = String::new();
    for folder in FOLDERS {
        out += &format!("\n### {folder}\n\n| file | expect | |\n|---|---|---|\n");
        for case in MADE.iter().filter(|case| case.folder() == folder) {
            let file = case.path.split('/').next_back().unwrap_or_default();
            let row = format!("| `{file}` | `{}` | {} |\n", case.expect, case.comment);
            out += &row;
        }
    }
    out
}
