//! How pages are written: short lines and sentences, no phrase that readers stumble over, nothing missing
//! from a map.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clew::cli::Cli;

use super::source::sources;
use super::{WORKSPACE, members, nothing};

const README_LINES_MAX: usize = 100;
const LINE_CHARACTERS_MAX: usize = 300;
const SENTENCE_WORDS_MAX: usize = 40;
const CELL_WORDS_MAX: usize = 30;

/// Phrases without an actor, or that negate a noun, with what to write.
const PHRASES: [(&str, &str); 6] = [
    (" is no ", "is not a"),
    (" are no ", "are not"),
    (" of which it takes ", "name the thing that is needed"),
    (" which this mode has not", "requires --mode"),
    (" who has it ", "its holder"),
    (" nobody's ", "of nobody"),
];

/// Where such a phrase is the usual one.
const FINE: [&str; 4] = [
    " is no longer ",
    " is no more ",
    " are no longer ",
    " are no more ",
];

/// Folders without pages of ours.
const ELSEWHERE: [&str; 5] = ["target", ".git", "node_modules", "cmd", "licences"];

fn pages() -> Vec<(String, String)> {
    let root = WORKSPACE.workspace_root.as_std_path();
    let mut paths = Vec::new();
    walk(root, &mut paths);
    paths.retain(|path| path.extension().is_some_and(|e| e == "md"));
    assert!(paths.len() > 30, "the pages are where they are looked for");
    let page = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a page is text");
        let name = path.strip_prefix(root).expect("it is below the root");
        (name.to_string_lossy().into_owned(), text)
    };
    paths.into_iter().map(page).collect()
}

fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder can be read") {
        let path = entry.expect("so can its entries").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !ELSEWHERE.contains(&name.as_ref()) {
            walk(&path, out);
        } else if path.is_file() {
            out.push(path);
        }
    }
}

/// Lines of prose by number: no code, no headings. A table's cells are lines of their own.
fn lines(text: &str) -> Vec<(usize, &str)> {
    let mut is_code = false;
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let is_fence = trimmed.starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence || trimmed.starts_with('#') || line.starts_with("    ") {
            continue;
        }
        lines.push((number + 1, line));
    }
    lines
}

/// What is wrong with a line of prose.
fn faults(line: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if line.trim_start().starts_with('|') {
        let cells = line.split('|').map(|cell| cell.split_whitespace().count());
        let longest = cells.max().unwrap_or(0);
        if longest > CELL_WORDS_MAX {
            faults.push(format!(
                "a cell of {longest} words: move text below the table"
            ));
        }
        return faults;
    }
    if line.chars().count() > LINE_CHARACTERS_MAX {
        faults.push("a line is one sentence, of fewer than 300 characters".into());
    }
    let text = without_code(line);
    for sentence in text.split_inclusive(['.', '?', '!', ':']) {
        let words = sentence.split_whitespace().count();
        if words > SENTENCE_WORDS_MAX {
            faults.push(format!("a sentence of {words} words"));
        }
    }
    let lower = format!(" {} ", text.to_lowercase());
    let rest = FINE
        .iter()
        .fold(lower, |text, fine| text.replace(fine, " "));
    for (phrase, instead) in PHRASES {
        if rest.contains(phrase) {
            faults.push(format!("{phrase:?}: write {instead:?}"));
        }
    }
    faults
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("CODE")
}

#[test]
fn pages_are_easy_to_read() {
    let of_page = |(name, text): &(String, String)| {
        let of_line = |(number, line): (usize, &str)| {
            let at = format!("{name}:{number}");
            faults(line)
                .into_iter()
                .map(move |fault| format!("{at}: {fault}"))
        };
        lines(text)
            .into_iter()
            .flat_map(of_line)
            .collect::<Vec<_>>()
    };
    nothing(pages().iter().flat_map(of_page).collect());
}

/// Rows of tables with other numbers of cells than the row before: renderers drop what is too much.
fn uneven_rows(text: &str) -> Vec<usize> {
    let mut uneven = Vec::new();
    let mut before: Option<(usize, usize)> = None;
    for (number, line) in lines(text) {
        let is_row = line.trim_start().starts_with('|');
        let cells = line.replace("\\|", "").matches('|').count();
        let follows = |(row, other): (usize, usize)| row + 1 == number && other != cells;
        if is_row && before.is_some_and(follows) {
            uneven.push(number);
        }
        before = is_row.then_some((number, cells));
    }
    uneven
}

#[test]
fn tables_have_all_their_cells() {
    assert_eq!(uneven_rows("| a | b |\n|---|---|\n| 1 | 2 | 3 |\n"), [3]);
    // The page of an issue under way goes with it.
    let pages = pages().into_iter();
    let pages = pages.filter(|(name, _)| name != "docs/progress.md");
    let uneven = |(name, text): (String, String)| {
        let rows = uneven_rows(&text).into_iter();
        rows.map(move |row| format!("{name}:{row}: another number of cells than the row before"))
            .collect::<Vec<_>>()
    };
    nothing(pages.flat_map(uneven).collect());
}

#[test]
fn faults_are_found() {
    let long = "word ".repeat(SENTENCE_WORDS_MAX + 1);
    for bad in [
        long.as_str(),
        "This is no sentence.",
        &format!("| {long} |"),
    ] {
        assert_eq!(faults(bad).len(), 1, "{bad}");
    }
    assert!(faults("It is no longer there, and `is no ` is code.").is_empty());
}

#[test]
fn the_readme_is_short() {
    let text = include_str!("../../../../README.md");
    let lines = text.lines().count();
    assert!(
        lines <= README_LINES_MAX,
        "README.md has {lines} lines: the book takes details"
    );
}

/// `clew a b` for each command that has no commands below it.
fn commands(command: &Command, prefix: &str) -> Vec<String> {
    let below = command.get_subcommands().filter(|c| c.get_name() != "help");
    let below: Vec<&Command> = below.collect();
    if below.is_empty() {
        return vec![prefix.to_owned()];
    }
    let each = |c: &&Command| commands(c, &format!("{prefix} {}", c.get_name()));
    below.iter().flat_map(each).collect()
}

#[test]
fn every_command_says_what_it_exposes() {
    let page = include_str!("../../../../SECURITY.md");
    let missing = commands(&Cli::command(), "clew")
        .into_iter()
        .filter(|command| {
            !page.contains(&format!("`{command}`")) && !page.contains(&format!("`{command} "))
        });
    nothing(
        missing
            .map(|command| {
                format!("SECURITY.md: {command} is in neither table of the attack surface")
            })
            .collect(),
    );
}

/// Modules that stand in a crate's root.
fn modules(text: &str) -> Vec<&str> {
    let names = text.lines().filter_map(|line| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        line.strip_prefix("mod ")?.strip_suffix(';')
    });
    names.collect()
}

#[test]
fn every_module_is_on_the_map() {
    let map = include_str!("../../../../ARCHITECTURE.md");
    let mut missing = Vec::new();
    let all = members().into_iter();
    for package in all.filter(|package| package.publish.is_none()) {
        let root = package
            .manifest_path
            .parent()
            .expect("it has a folder")
            .join("src/lib.rs");
        let Ok(text) = fs::read_to_string(root) else {
            continue;
        };
        let heading = format!("### {}\n", package.name);
        let section = map
            .split_once(&heading)
            .map(|(_, rest)| rest.split("\n### ").next().unwrap_or(rest));
        let Some(section) = section else {
            missing.push(format!(
                "ARCHITECTURE.md has no section {:?}",
                heading.trim()
            ));
            continue;
        };
        let named = |module: &str| {
            [
                format!("`{module}.rs`"),
                format!("`{module}/`"),
                format!("`{module}`"),
            ]
            .iter()
            .any(|n| section.contains(n))
        };
        let lost = modules(&text).into_iter().filter(|module| !named(module));
        missing.extend(
            lost.map(|module| {
                format!("ARCHITECTURE.md, {}: say what `{module}` has", package.name)
            }),
        );
    }
    nothing(missing);
}

/// The first column of the glossary's last table, one word each. A row with a parenthesis is for some
/// uses of its word only.
fn given_up() -> BTreeSet<String> {
    let page = include_str!("../../../../GLOSSARY.md");
    let (_, table) = page
        .split_once("## Words that we gave up\n")
        .expect("the table is there");
    let rows = table
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| not "));
    let cells = rows.map(|row| row.split('|').nth(1).unwrap_or_default());
    let words = cells
        .filter(|cell| !cell.contains('('))
        .flat_map(|cell| cell.split(", "));
    let plain = words
        .map(str::trim)
        .filter(|word| word.chars().all(char::is_alphabetic));
    plain.map(str::to_owned).collect()
}

#[test]
fn public_names_use_the_words_of_the_glossary() {
    let words = given_up();
    assert!(words.contains("ceremony"), "{words:?}");
    let mut broken = Vec::new();
    for source in sources() {
        for (number, line) in &source.code {
            let Some(name) = public_name(line) else {
                continue;
            };
            let bad = segments(name)
                .into_iter()
                .find(|segment| words.contains(segment));
            if let Some(bad) = bad {
                broken.push(format!(
                    "{}:{number}: {name}: the glossary gave up {bad:?}",
                    source.path
                ));
            }
        }
    }
    nothing(broken);
}

/// The name of a public item.
fn public_name(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub ")?;
    let rest = rest
        .trim_start_matches("const ")
        .trim_start_matches("async ")
        .trim_start_matches("unsafe ");
    let rest = [
        "fn ", "struct ", "enum ", "trait ", "mod ", "type ", "static ",
    ]
    .iter()
    .find_map(|item| rest.strip_prefix(item))
    .unwrap_or(rest);
    let end = rest
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}

/// The words of a name, in small letters.
fn segments(name: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        if c == '_' || c.is_uppercase() && was_small {
            out.push(String::new());
        }
        if c != '_' {
            out.last_mut().expect("it has one").extend(c.to_lowercase());
        }
        was_small = c.is_lowercase();
    }
    out
}

#[test]
fn paths_use_the_words_of_the_glossary() {
    let (root, words) = (WORKSPACE.workspace_root.as_std_path(), given_up());
    let mut paths = Vec::new();
    walk(root, &mut paths);
    let of_path = |path: &PathBuf| {
        let path = path.strip_prefix(root).expect("it is below the root");
        let path = path.to_string_lossy();
        let mut parts = path.split(|c: char| !c.is_alphanumeric());
        let bad = parts.find(|part| words.contains(*part))?;
        Some(format!("{path}: the glossary gave up {bad:?}"))
    };
    nothing(paths.iter().filter_map(of_path).collect());
}

#[test]
fn names_are_cut_into_words() {
    assert_eq!(
        public_name("    pub fn begin_ceremony(x: u8) {"),
        Some("begin_ceremony")
    );
    assert_eq!(public_name("    pub desk: Desk,"), Some("desk"));
    assert_eq!(segments("OpenDesk"), ["open", "desk"]);
}
