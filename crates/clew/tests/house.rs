//! The rules of the house: who may depend on whom, what stands where, and how large it may grow.
//! Each failure is a sentence that says what to do.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "house/sections.rs"]
mod sections;
#[path = "house/source.rs"]
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::sync::LazyLock;

use cargo_metadata::{Dependency, DependencyKind, Metadata, MetadataCommand, Package};
use source::{Source, functions, tests};

/// Which member may depend on which others, programs and tests alike but for [`OF_TESTS`].
const EDGES: [(&str, &[&str]); 13] = [
    ("clew-wire", &[]),
    ("clew-simd", &["clew-wire"]),
    ("clew-capture", &[]),
    ("clew-group", &["clew-wire"]),
    ("clew-tree", &["clew-simd"]),
    ("clew-flow", &["clew-wire", "clew-simd", "clew-tree"]),
    ("clew-tunnel", &["clew-wire", "clew-simd"]),
    ("clew-tunnel-udp", &["clew-wire", "clew-tunnel"]),
    ("clew-packet", &["clew-wire", "clew-group", "clew-tree"]),
    ("clew-evidence", &["clew-group", "clew-packet"]),
    ("clew-keys", &["clew-group", "clew-evidence"]),
    (
        "clew-manager",
        &["clew-group", "clew-evidence", "clew-keys"],
    ),
    ("clew", ALL),
];

const ALL: &[&str] = &[
    "clew-wire",
    "clew-simd",
    "clew-tree",
    "clew-group",
    "clew-flow",
    "clew-tunnel",
    "clew-tunnel-udp",
    "clew-packet",
    "clew-capture",
    "clew-evidence",
    "clew-keys",
    "clew-manager",
    "clew",
];

/// Edges that tests alone may have.
const OF_TESTS: [(&str, &str); 2] = [
    ("clew-manager", "clew-packet"),
    ("clew-packet", "clew-capture"),
];

/// Members that have no IO, and therefore neither `std` nor a dependency that brings it.
const NO_STD: [&str; 8] = [
    "clew-wire",
    "clew-simd",
    "clew-tree",
    "clew-group",
    "clew-flow",
    "clew-tunnel",
    "clew-packet",
    "clew-evidence",
];

/// Crates that one part of the program has to itself, and `clew-bench` where the part is the program.
const PROGRAM: &[&str] = &["clew", "clew-bench"];
/// Those that have clocks, sockets and the system's randomness.
const IO: &[&str] = &["clew", "clew-bench", "clew-tunnel-udp"];
const RESERVED: [(&str, &[&str]); 13] = [
    // Faster than ed25519-dalek, which the pure crates have; one module wraps it. A baseline elsewhere.
    ("aws-lc-rs", PROGRAM),
    // Its big numbers carry the paper's schemes, RSA and DSA among them.
    ("aws-lc-sys", &["clew-bench"]),
    // clew-bench measures single operations of it as a baseline.
    ("blst", &["clew-group", "clew-bench"]),
    // HPKE (RFC 9180): shares that trustees deal are sealed to one trustee's key. docs/decisions/0016.
    ("hpke", &["clew-manager"]),
    // Fills a store with made-up rows, of which real joins would take hours.
    ("rusqlite", &["clew-manager", "clew-bench"]),
    ("clap", PROGRAM),
    ("rayon", PROGRAM),
    ("indicatif", PROGRAM),
    ("getrandom", IO),
    ("tokio", IO),
    ("quinn-udp", &["clew-tunnel-udp"]),
    ("rpassword", PROGRAM),
    ("ctrlc", PROGRAM),
];

/// Where `unsafe` may stand, each use with its SAFETY line.
const UNSAFE: [&str; 10] = [
    "crates/clew-group/src/curve/",
    // Vector instructions.
    "crates/clew-simd/src/hash/avx2.rs",
    "crates/clew-simd/src/hash/avx512.rs",
    "crates/clew-simd/src/mont/ifma/",
    "crates/clew-simd/src/poly1305/ifma.rs",
    "crates/clew-simd/src/salsa20/avx2.rs",
    "crates/clew-simd/src/salsa20/avx512.rs",
    "crates/clew-simd/src/x25519/ifma/",
    // Asks valgrind to follow secrets, in a program that is not shipped.
    "crates/clew-bench/src/bin/ct/valgrind.rs",
    // Calls AWS-LC's big numbers, in a program that is not shipped.
    "crates/clew-bench/src/effs/bn.rs",
];

/// Licences that a dependency may have.
const LICENCES: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

const FILE_LINES_MAX: usize = 450;
const FUNCTION_LINES_MAX: usize = 70;

/// For this platform only: what others need may not be on this machine, and tests stay offline.
static METADATA: LazyLock<Metadata> = LazyLock::new(|| {
    let rustc = Command::new("rustc")
        .args(["--print", "host-tuple"])
        .output();
    let host = String::from_utf8(rustc.expect("rustc runs").stdout).unwrap();
    let mut command = MetadataCommand::new();
    command.manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"));
    let only_host = ["--offline", "--filter-platform", host.trim()];
    command.other_options(only_host.map(String::from));
    command.exec().expect("cargo knows its workspace")
});

fn members() -> Vec<&'static Package> {
    METADATA.workspace_packages()
}

/// The dependencies that end up in what is shipped.
fn shipped(package: &Package) -> impl Iterator<Item = &Dependency> {
    let all = package.dependencies.iter();
    all.filter(|dependency| dependency.kind != DependencyKind::Development)
}

fn sources() -> Vec<Source> {
    let sources: Vec<Source> = members()
        .into_iter()
        .flat_map(|package| Source::of(&METADATA.workspace_root, package))
        .collect();
    assert!(
        sources.len() > 50,
        "the sources are where they are looked for"
    );
    sources
}

#[track_caller]
fn nothing(broken: Vec<String>) {
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn members_depend_on_whom_they_may() {
    let names: BTreeSet<&str> = members().iter().map(|p| p.name.as_str()).collect();
    let mut broken = Vec::new();
    for package in members() {
        let name = package.name.as_str();
        let Some((_, allowed)) = EDGES.iter().find(|(member, _)| *member == name) else {
            broken.push(format!(
                "{name} is new: give it a line in EDGES, and say in docs/decisions/ why it is one more"
            ));
            continue;
        };
        for dependency in package
            .dependencies
            .iter()
            .filter(|d| names.contains(d.name.as_str()))
        {
            let other = dependency.name.as_str();
            let of_tests =
                dependency.kind == DependencyKind::Development && OF_TESTS.contains(&(name, other));
            if !allowed.contains(&other) && !of_tests {
                broken.push(format!(
                    "{name} may not depend on {other}: move the code to where the edge is"
                ));
            }
        }
    }
    nothing(broken);
}

#[test]
fn reserved_crates_stay_in_their_part() {
    let mut broken = Vec::new();
    for package in members() {
        for dependency in shipped(package) {
            let reserved = RESERVED.iter().find(|(name, _)| *name == dependency.name);
            if let Some((name, homes)) = reserved
                && !homes.contains(&package.name.as_str())
            {
                broken.push(format!(
                    "{name} belongs to {homes:?}, not to {}",
                    package.name
                ));
            }
        }
    }
    nothing(broken);
}

#[test]
fn pure_crates_have_no_std() {
    let is_pure = |name: &str| NO_STD.contains(&name);
    let mut broken = Vec::new();
    for package in members().into_iter().filter(|p| is_pure(&p.name)) {
        let root = package.manifest_path.parent().unwrap().join("src/lib.rs");
        let text = fs::read_to_string(root).unwrap();
        if !text.lines().any(|line| line == "#![no_std]") {
            broken.push(format!("{} has to say #![no_std]", package.name));
        }
        for dependency in shipped(package).filter(|d| !is_pure(&d.name)) {
            let std = dependency.features.iter().any(|feature| feature == "std");
            if std || dependency.uses_default_features {
                broken.push(format!(
                    "{} would bring std into {}: default-features = false, without std",
                    dependency.name, package.name
                ));
            }
        }
    }
    nothing(broken);
}

#[test]
fn lints_are_those_of_the_workspace() {
    let inherits = |package: &&Package| {
        let manifest = fs::read_to_string(&package.manifest_path).unwrap();
        manifest.contains("\n[lints]\nworkspace = true\n")
    };
    let others = members().into_iter().filter(|package| !inherits(package));
    nothing(
        others
            .map(|p| format!("{} needs [lints] workspace = true", p.name))
            .collect(),
    );
}

#[test]
fn unsafe_stands_in_named_modules() {
    let is_elsewhere = |source: &&Source| !UNSAFE.iter().any(|home| source.path.starts_with(home));
    let sources = sources();
    let broken = sources.iter().filter(is_elsewhere).filter(|source| {
        // A crate that forbids it, or denies it, has to be able to say so.
        source
            .code
            .iter()
            .any(|(_, line)| has_word(line, "unsafe") || line.contains("allow(unsafe_code"))
    });
    nothing(
        broken
            .map(|s| format!("{} has unsafe code: move it to one of {UNSAFE:?}", s.path))
            .collect(),
    );
    let used = |home: &str| {
        let mut within = sources
            .iter()
            .filter(|source| source.path.starts_with(home));
        within.any(|source| source.code.iter().any(|(_, line)| has_word(line, "unsafe")))
    };
    assert!(
        UNSAFE.into_iter().all(used),
        "a home without unsafe code leaves the list"
    );
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|w| w == word)
}

#[test]
fn licences_are_allowed() {
    let broken = METADATA.packages.iter().filter_map(|package| {
        let licence = package.license.as_deref().unwrap_or("no licence");
        let text = format!(
            "{} {} has {licence}: use another crate",
            package.name, package.version
        );
        (!is_allowed(licence)).then_some(text)
    });
    nothing(broken.collect());
}

/// Whether an SPDX expression leaves a choice that is allowed. It has AND above OR, or parentheses.
fn is_allowed(expression: &str) -> bool {
    let one = |licence: &str| LICENCES.contains(&licence.trim_matches(['(', ')', ' ']));
    let any = |choice: &str| choice.split(" OR ").flat_map(|c| c.split('/')).any(one);
    expression.split(" AND ").all(any)
}

#[test]
fn expressions_of_licences_are_read() {
    for good in [
        "MIT",
        "MIT OR GPL-3.0",
        "Unlicense/MIT",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
    ] {
        assert!(is_allowed(good), "{good}");
    }
    for bad in [
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT OR Apache-2.0) AND GPL-3.0",
        "no licence",
    ] {
        assert!(!is_allowed(bad), "{bad}");
    }
}

#[test]
fn files_and_functions_stay_small() {
    let mut broken = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        if lines > FILE_LINES_MAX {
            broken.push(format!(
                "{} has {lines} lines: find the two things that it does",
                source.path
            ));
        }
        for (name, lines) in functions(&source.code) {
            if lines > FUNCTION_LINES_MAX {
                broken.push(format!(
                    "{name} in {} has {lines} lines: find its parts",
                    source.path
                ));
            }
        }
    }
    nothing(broken);
}

#[test]
fn functions_are_measured() {
    let text = "fn a() {\n    {\n    }\n}\ntrait T {\n    fn b();\n    fn c(\n    ) -> u8 {\n        '{' as u8\n    }\n}\n";
    let found: BTreeMap<_, _> = functions(&source::code(text)).into_iter().collect();
    let expected = [("a".to_owned(), 4), ("c".to_owned(), 4)];
    assert_eq!(found, BTreeMap::from(expected));
}

/// Rows of SECURITY.md, "Who can do what": what stands in the last column.
fn threats(page: &str) -> Vec<&str> {
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect());
    let threats = cells.filter(|cells: &Vec<&str>| cells.len() == 4 && cells[1] != "can / cannot");
    let tests = threats.map(|cells| cells[3]);
    tests.filter(|test| !test.starts_with("---")).collect()
}

/// Those of a row that are neither a test nor a program of `spec/check`; the row, if it names none.
fn missing(row: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let names: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
    if names.is_empty() && !row.starts_with("no test: ") {
        return vec![format!(
            "SECURITY.md: {row:?} names no test and gives no reason"
        )];
    }
    let exists = |name: &str| match name.strip_prefix("spec/check/") {
        Some(_) => METADATA.workspace_root.join(name).exists(),
        None => tests.contains(name),
    };
    let missing = names.into_iter().filter(|name| !exists(name));
    missing
        .map(|name| format!("SECURITY.md: there is no test {name}"))
        .collect()
}

#[test]
fn every_threat_has_its_test() {
    let page = fs::read_to_string(METADATA.workspace_root.join("SECURITY.md")).unwrap();
    let tests: BTreeSet<String> = members().into_iter().flat_map(tests).collect();
    let rows = threats(&page);
    assert!(rows.len() > 40, "the table is where it is looked for");
    nothing(rows.iter().flat_map(|row| missing(row, &tests)).collect());
    assert!(!missing("`no_test_of_this_name`", &tests).is_empty());
    assert!(!missing("TODO", &tests).is_empty());
}
