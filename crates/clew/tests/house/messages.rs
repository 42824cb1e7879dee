//! What the book quotes in its tables of faults is what the program says.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clew::cli::Cli;

use super::source::sources;
use super::{WORKSPACE, nothing};

/// How such a table begins.
const HEADING: &str = "| what you see |";

/// Texts that can be compared: one space between words, and `*` for each word that a placeholder or
/// a digit makes different each time.
fn plain(text: &str) -> String {
    let is_variable = |word: &str| word.contains(|c: char| c == '{' || c.is_ascii_digit());
    let words = text.split_whitespace().filter(|word| *word != "\\");
    let words = words.map(|word| if is_variable(word) { "*" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// Code in the first cells of the page's tables of faults, by line.
fn quoted(page: &str) -> Vec<(usize, &str)> {
    let mut is_inside = false;
    let mut quotes = Vec::new();
    for (number, line) in (1..).zip(page.lines()) {
        is_inside = line.starts_with(HEADING) || is_inside && line.starts_with('|');
        let cell = line.split('|').nth(1).filter(|_| is_inside);
        let code = cell.unwrap_or_default().split('`').skip(1).step_by(2);
        quotes.extend(code.map(|code| (number, code)));
    }
    quotes
}

fn files(folder: &Path) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let pages = paths.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a page is text");
        (path, text)
    };
    pages.map(read).collect()
}

/// All that the program may print: its source, and what it printed in transcripts.
fn said() -> String {
    let transcripts = files(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cmd")));
    let printed = transcripts.iter().map(|(_, text)| plain(text));
    let written = sources().into_iter().map(|source| plain(&source.text));
    printed.chain(written).collect::<Vec<_>>().join("\n")
}

#[test]
fn messages_that_the_book_quotes_exist() {
    let said = said();
    let book = WORKSPACE.workspace_root.join("docs/book/src");
    let mut quotes = 0;
    let mut broken = Vec::new();
    for (path, page) in files(book.as_std_path()) {
        for (number, quote) in quoted(&page) {
            quotes += 1;
            if !said.contains(&plain(quote)) {
                let path = path.display();
                broken.push(format!("{path}:{number}: clew does not say `{quote}`"));
            }
        }
    }
    assert!(quotes > 20, "the tables are where they are looked for");
    nothing(broken);
}

#[test]
fn quotes_are_found_and_compared() {
    let page = "| what you see | why |\n|---|---|\n| `have 1`, x `y` | `z` |\n\n| `no` |\n";
    assert_eq!(quoted(page), [(3, "have 1"), (3, "y")]);
    let source = "\"need {need} valid shares, \\\n        have {have}\"";
    assert!(plain(source).contains(&plain("valid shares, have 1")));
    assert!(!plain(source).contains(&plain("good shares, have 1")));
}

/// Widest line of a help text: `clew` wraps at this width, also what was wrapped already.
const HELP_COLUMNS: usize = 100;

/// Lines behind the options of each command that are wrapped twice.
fn wide_lines(command: &Command, path: &str) -> Vec<String> {
    let path = format!("{path} {}", command.get_name());
    let help = command
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let wide = help
        .lines()
        .filter(|line| line.chars().count() > HELP_COLUMNS);
    let mut found: Vec<String> = wide.map(|line| format!("{path}: {line}")).collect();
    for below in command.get_subcommands() {
        found.extend(wide_lines(below, &path));
    }
    found
}

#[test]
fn help_is_wrapped_once() {
    let wide = Command::new("a").after_help("b".repeat(HELP_COLUMNS + 1));
    assert_eq!(wide_lines(&wide, "").len(), 1);
    nothing(wide_lines(&Cli::command(), ""));
}
