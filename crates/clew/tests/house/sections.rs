//! Sections of the specification that are cited somewhere: each is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::{WORKSPACE, nothing};

/// The page that `spec 3` or `specification section 3` means within a crate.
const HOMES: [(&str, &str); 3] = [
    ("crates/clew-group/", "group-signature"),
    ("crates/clew-evidence/", "group-file"),
    ("crates/clew-packet/", "packet-trailer"),
];

/// How pages call `group-signature.md`.
const SHORT: (&str, &str) = ("GS", "group-signature");

/// The sections of each page.
type Pages = BTreeMap<String, BTreeSet<String>>;

fn pages(spec: &Path) -> Pages {
    let files = files(spec, "md").into_iter();
    let page = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let headings = text.lines().filter(|line| line.starts_with('#'));
        let numbers = headings.filter_map(|line| number(line.trim_start_matches(['#', ' '])));
        let numbers: Vec<_> = numbers.map(|(number, _)| number.to_owned()).collect();
        let sections: BTreeSet<_> = numbers.iter().cloned().collect();
        assert_eq!(
            sections.len(),
            numbers.len(),
            "{name}: a number has two sections"
        );
        (name, sections)
    };
    files.map(page).collect()
}

/// All files with that ending in a folder and below it.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
    found
}

/// A text without its line breaks, and without what marks comments at the beginning of lines.
fn flowing(text: &str) -> String {
    let marks = ['/', '!', '#', ' ', '\t'];
    let lines = text.lines().map(|line| line.trim_start_matches(marks));
    lines.collect::<Vec<_>>().join(" ")
}

/// The number that a text begins with, as `3` or `3.10`, and what follows it.
fn number(text: &str) -> Option<(&str, &str)> {
    let mut end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    while let Some(rest) = text[end..].strip_prefix('.') {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        if digits == 0 {
            break;
        }
        end += 1 + digits;
    }
    (end > 0).then(|| text.split_at(end))
}

/// The numbers behind the name of a page: `3`, `section 3.2`, `sections 6 and 7`, `3.9, 4.5`.
fn numbers(behind: &str) -> Vec<&str> {
    let rest = behind.trim_start_matches('`').trim_start_matches(',');
    let Some(rest) = rest.strip_prefix(' ') else {
        return Vec::new();
    };
    let several = rest.strip_prefix("sections ");
    let one = several.or(rest.strip_prefix("section "));
    let (mut found, mut next) = (Vec::new(), number(one.unwrap_or(rest)));
    while let Some((cited, rest)) = next {
        found.push(cited);
        let mut more = [", ", " and ", " to "].iter();
        let more = more.find_map(|and| number(rest.strip_prefix(and)?));
        next = more.filter(|(cited, _)| several.is_some() || cited.contains('.'));
    }
    found
}

/// What is behind a word, wherever it stands alone.
fn behind<'t>(text: &'t str, word: &str) -> Vec<&'t str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let places = text.match_indices(word);
    let alone = places.filter(|(at, _)| !text[..*at].ends_with(is_part));
    alone.map(|(at, _)| &text[at + word.len()..]).collect()
}

/// Sections that a text cites and their pages do not have; and how many it cites.
fn missing(text: &str, home: Option<&str>, pages: &Pages) -> (Vec<String>, usize) {
    let own = pages
        .keys()
        .map(|page| (format!("{page}.md"), page.as_str()));
    let short = [(SHORT.0.to_owned(), SHORT.1)];
    let bare = ["spec", "specification"].map(str::to_owned);
    let bare = home
        .into_iter()
        .flat_map(|home| bare.clone().map(|word| (word, home)));
    let (mut missing, mut cited) = (Vec::new(), 0);
    for (word, page) in own.chain(short).chain(bare) {
        let numbers = behind(text, &word).into_iter().flat_map(numbers);
        for number in numbers {
            cited += 1;
            if !pages[page].contains(number) {
                missing.push(format!("{page}.md has no section {number}"));
            }
        }
    }
    (missing, cited)
}

#[test]
fn cited_sections_are_there() {
    let root = WORKSPACE.workspace_root.as_std_path();
    let pages = pages(&root.join("spec"));
    let pages_of_the_root = ["SECURITY.md", "ARCHITECTURE.md", "GLOSSARY.md", "README.md"];
    let mut all: Vec<PathBuf> = pages_of_the_root.map(|page| root.join(page)).into();
    all.extend(files(&root.join("crates"), "rs"));
    all.extend(files(&root.join("fuzz/src"), "rs"));
    all.extend(files(&root.join("spec"), "md"));
    all.extend(files(&root.join("spec/check"), "py"));
    let (mut broken, mut count) = (Vec::new(), 0);
    for path in all {
        let text = flowing(&fs::read_to_string(&path).unwrap());
        let path = path.strip_prefix(root).unwrap().to_string_lossy();
        let home = HOMES.iter().find(|(folder, _)| path.starts_with(folder));
        // What this file has as examples is not there.
        if path.ends_with("house/sections.rs") {
            continue;
        }
        let (missing, cited) = missing(&text, home.map(|(_, page)| *page), &pages);
        broken.extend(missing.into_iter().map(|what| format!("{path}: {what}")));
        count += cited;
    }
    assert!(
        count > 300,
        "citations are where they are looked for: {count}"
    );
    nothing(broken);
}

#[test]
fn citations_are_read() {
    let page = |name: &str, sections: &[&str]| {
        let sections = sections.iter().map(ToString::to_string).collect();
        (name.to_owned(), sections)
    };
    let pages = Pages::from([
        page("opening", &["4", "4.1"]),
        page("group-file", &["2.4"]),
        page("group-signature", &["3", "3.10", "5"]),
    ]);
    let good = "//! See `spec/opening.md`\n//! section 4.1. (`group-file.md` 2.4), GS 3.10 and GS 5.\n// spec 2.4";
    let found = missing(&flowing(good), Some("group-file"), &pages);
    assert_eq!(found, (Vec::new(), 5));
    for (bad, expected) in [
        ("`spec/opening.md` section 5", "opening.md has no section 5"),
        ("(GS 3.10, 3.1)", "group-signature.md has no section 3.1"),
        (
            "`opening.md` sections 4 and 6",
            "opening.md has no section 6",
        ),
        ("spec 2.5", "group-file.md has no section 2.5"),
    ] {
        let (missing, _) = missing(bad, Some("group-file"), &pages);
        assert_eq!(missing, [expected], "{bad}");
    }
    let (none, cited) = missing("re-opening.md 9, opening.md says 7", None, &pages);
    assert_eq!((none.len(), cited), (0, 0));
}
