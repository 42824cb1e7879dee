//! Where source stands and how large it grows. It is read only as far as these rules need it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::Package;
use cargo_metadata::camino::Utf8Path;

use super::{WORKSPACE, members, nothing};

/// Where `unsafe` may stand, each use with its SAFETY line.
const UNSAFE: [&str; 17] = [
    "crates/clew-group/src/curve/",
    // System calls of packet sockets.
    "crates/clew/src/tap/sys.rs",
    // System calls without a safe wrapper.
    "crates/clew-live/src/sys.rs",
    // Vector instructions.
    "crates/clew-simd/src/bls/ifma.rs",
    "crates/clew-simd/src/bls/ifma/",
    // Memory that is kept between calls.
    "crates/clew-simd/src/bls/kept.rs",
    // Calls blst: one inversion for all lanes, what is outside of lanes in a pairing, and the oracle of tests.
    "crates/clew-simd/src/bls/inverse.rs",
    "crates/clew-simd/src/bls/pairing.rs",
    "crates/clew-simd/src/bls/tests",
    "crates/clew-simd/src/hash/",
    "crates/clew-simd/src/mont/ifma/",
    "crates/clew-simd/src/poly1305/ifma.rs",
    "crates/clew-simd/src/salsa20/",
    "crates/clew-simd/src/vector/",
    "crates/clew-simd/src/x25519/ifma/",
    // Asks valgrind to follow secrets, in a program that is not shipped.
    "tools/ct/src/valgrind.rs",
    // Calls AWS-LC's big numbers, in a program that is not shipped.
    "tools/bench/src/effs/bn.rs",
];

/// Words that stand in one file of a folder only, and in the modules below it: another database gets a
/// file beside this one.
const HOMES: [(&str, &str, &str); 1] = [(
    "crates/clew-manager/src/",
    "rusqlite",
    "crates/clew-manager/src/storage/sqlite.rs",
)];

/// Files of other packages than the `no_std` ones that decide by their arguments alone.
const PURE: [&str; 1] = ["crates/clew-trustee/src/rules.rs"];
/// Modules of `std` by which a program sees its system.
const SYSTEM: [&str; 8] = ["env", "fs", "io", "net", "os", "process", "thread", "time"];

const FILE_LINES_MAX: usize = 450;
const FUNCTION_LINES_MAX: usize = 70;

/// A file of some member's `src`.
pub struct Source {
    /// From the root of the workspace.
    pub path: String,
    pub text: String,
    pub code: Vec<(usize, String)>,
}

impl Source {
    /// All files of a package.
    pub fn of(root: &Utf8Path, package: &Package) -> Vec<Self> {
        let folder = package
            .manifest_path
            .parent()
            .expect("it has a folder")
            .join("src");
        let mut paths = Vec::new();
        walk(folder.as_std_path(), &mut paths);
        let read = |path: PathBuf| {
            let text = fs::read_to_string(&path).expect("source is text");
            let path = path.strip_prefix(root).expect("it is in the workspace");
            let (path, code) = (path.to_string_lossy().into_owned(), code(&text));
            Self { path, text, code }
        };
        paths.into_iter().map(read).collect()
    }
}

/// Where a test says that it cannot run here, so that `./check` counts it.
const SKIPS: &str = "crates/clew/tests/common/skipped.rs";

/// The names of a package's tests: functions below `#[test]`.
pub fn tests(package: &Package) -> Vec<String> {
    let text = |path: PathBuf| fs::read_to_string(path).expect("source is text");
    let files = files_with_tests(package).into_iter();
    files.flat_map(|path| tests_of(&text(path))).collect()
}

fn files_with_tests(package: &Package) -> Vec<PathBuf> {
    let folder = package.manifest_path.parent().expect("it has a folder");
    let mut paths = Vec::new();
    for part in ["src", "tests"].map(|part| folder.join(part)) {
        if part.exists() {
            walk(part.as_std_path(), &mut paths);
        }
    }
    paths
}

fn tests_of(text: &str) -> Vec<String> {
    let is_mark = |line: &str| line == "#[test]" || line.starts_with("#[tokio::test");
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let marks = (0..lines.len()).filter(|at| is_mark(lines[*at]));
    let names = marks.filter_map(|at| lines[at + 1..].iter().copied().find_map(name));
    names.collect()
}

fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a package has src") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            walk(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// The lines by number, without comments and without what is in quotes.
pub fn code(text: &str) -> Vec<(usize, String)> {
    let lines = text.lines().map(without_quotes).enumerate();
    lines.map(|(number, line)| (number + 1, line)).collect()
}

/// Good for code in the house's style: text of several lines has no braces of its own.
fn without_quotes(line: &str) -> String {
    let line = line
        .replace("'\"'", "")
        .replace("'{'", "")
        .replace("'}'", "");
    let (mut out, mut quoted, mut escaped) = (String::new(), false, false);
    for c in line.chars() {
        match c {
            '"' if !escaped => quoted = !quoted,
            _ if !quoted => out.push(c),
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    match out.find("//") {
        Some(comment) => out[..comment].to_owned(),
        None => out,
    }
}

/// Name and number of lines of each function that has a body, from `fn` to its closing brace at the
/// same indentation, which is where rustfmt puts it.
pub fn functions(code: &[(usize, String)]) -> Vec<(String, usize)> {
    let starts = code
        .iter()
        .filter_map(|(number, line)| Some((number, name(line)?, line)));
    let measured = starts.filter_map(|(start, name, line)| {
        let indentation = &line[..line.len() - line.trim_start().len()];
        let ends = |line: &str, end: &str| {
            line.strip_prefix(indentation)
                .is_some_and(|l| l.starts_with(end))
        };
        if line.trim_end().ends_with(['}', ';']) {
            return None;
        }
        let rest = code[start - 1..].iter();
        let (end, last) = rest
            .skip(1)
            .find(|(_, l)| ends(l, "}") || ends(l, ");") || (ends(l, ")") && l.ends_with(';')))?;
        last.trim_start()
            .starts_with('}')
            .then_some((name, end - start + 1))
    });
    measured.collect()
}

fn name(line: &str) -> Option<String> {
    let (before, after) = line.split_once("fn ")?;
    let qualifiers = [
        "pub",
        "const",
        "unsafe",
        "extern",
        "async",
        "pub(super)",
        "pub(crate)",
    ];
    let is_item = before
        .split_whitespace()
        .all(|word| qualifiers.contains(&word));
    let name = after.split(['(', '<']).next()?;
    is_item.then(|| name.to_owned())
}

pub fn sources() -> Vec<Source> {
    let sources: Vec<Source> = members()
        .into_iter()
        .flat_map(|package| Source::of(&WORKSPACE.workspace_root, package))
        .collect();
    assert!(
        sources.len() > 50,
        "the sources are where they are looked for"
    );
    sources
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

#[test]
fn words_stay_in_their_files() {
    let sources = sources();
    let says = |source: &Source, word| source.code.iter().any(|(_, line)| has_word(line, word));
    let mut broken = Vec::new();
    for (folder, word, home) in HOMES {
        let below = home.trim_end_matches(".rs");
        let elsewhere = |s: &&Source| s.path.starts_with(folder) && !s.path.starts_with(below);
        let strays = sources.iter().filter(elsewhere).filter(|s| says(s, word));
        broken.extend(strays.map(|s| format!("{} says {word}: that belongs to {home}", s.path)));
        assert!(sources.iter().any(|s| s.path == home && says(s, word)));
    }
    for file in PURE {
        let pure = sources.iter().find(|source| source.path == file).unwrap();
        let imports = pure.code.iter().filter(|(_, line)| has_word(line, "std"));
        let of_system = imports.filter(|(_, line)| SYSTEM.iter().any(|w| has_word(line, w)));
        broken.extend(
            of_system.map(|(n, line)| format!("{file}:{n}: {line}: pass it as an argument")),
        );
    }
    nothing(broken);
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|w| w == word)
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
fn tests_that_cannot_run_are_counted() {
    let word = ["SKIP", "PED:"].concat();
    let says = |path: &PathBuf| fs::read_to_string(path).is_ok_and(|text| text.contains(&word));
    let files = members().into_iter().flat_map(files_with_tests);
    let saying: Vec<PathBuf> = files.filter(says).collect();
    assert!(saying.iter().any(|path| path.ends_with(SKIPS)));
    let others = saying.iter().filter(|path| !path.ends_with(SKIPS));
    let broken = others.map(|path| format!("{}: skip by {SKIPS}", path.display()));
    nothing(broken.collect());
}

#[test]
fn functions_are_measured() {
    let text = "fn a() {\n    {\n    }\n}\ntrait T {\n    fn b();\n    fn c(\n    ) -> u8 {\n        '{' as u8\n    }\n}\n";
    let found: BTreeMap<_, _> = functions(&code(text)).into_iter().collect();
    let expected = [("a".to_owned(), 4), ("c".to_owned(), 4)];
    assert_eq!(found, BTreeMap::from(expected));
}
