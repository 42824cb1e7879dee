//! The commands as people see them: transcripts in `cmd/` and the pages of the book, each run in a copy of
//! the folder beside it. `TRYCMD=overwrite` writes what the program says now; a changed transcript is a
//! change to review.

use std::path::{Path, PathBuf};
use std::{fs, io};

const README: &str = include_str!("../../../README.md");
const README_TRANSCRIPT: &str = include_str!("cmd/readme.md");

#[test]
fn transcripts() {
    let cases = trycmd::TestCases::new();
    cases
        .case("tests/cmd/*.md")
        .case("../../docs/book/src/*.md");
}

/// Every `clew` command that the README shows is in a transcript that runs it, in the same order.
#[test]
fn the_readme_shows_commands_that_work() {
    let commands = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("$ "));
        lines
            .filter(|line| line.starts_with("clew "))
            .map(str::to_owned)
            .collect()
    };
    let shown = commands(README);
    assert!(shown.len() >= 10);
    assert_eq!(shown, commands(README_TRANSCRIPT));
}

const BOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/book/src");

/// The Markdown pages of the book, its table of contents among them.
fn pages() -> io::Result<Vec<(PathBuf, String)>> {
    let files = fs::read_dir(BOOK)?.map(|entry| Ok(entry?.path()));
    let files: Vec<PathBuf> = files.collect::<io::Result<_>>()?;
    let pages = files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "md"));
    pages
        .map(|path| Ok((path.clone(), fs::read_to_string(path)?)))
        .collect()
}

/// What stands between two marks, wherever they do.
fn between<'t>(text: &'t str, from: &'t str, to: &'t str) -> impl Iterator<Item = &'t str> {
    let behind = text
        .match_indices(from)
        .map(|(at, _)| &text[at + from.len()..]);
    behind.filter_map(move |rest| Some(rest.split_once(to)?.0))
}

/// Pages run in a copy of their folder only if there is a folder `.out` beside them.
#[test]
fn every_page_of_the_book_that_runs_commands_runs_them_in_a_copy() -> io::Result<()> {
    for (path, text) in pages()? {
        let copied = path.with_extension("out").is_dir() && path.with_extension("in").is_dir();
        assert!(copied || !text.contains("```console"), "{}", path.display());
    }
    Ok(())
}

#[test]
fn every_page_of_the_book_is_in_its_contents_and_its_links_lead_somewhere() -> io::Result<()> {
    let (book, contents) = (
        Path::new(BOOK),
        fs::read_to_string(Path::new(BOOK).join("SUMMARY.md"))?,
    );
    for (path, text) in pages()? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let listed = name == "SUMMARY.md" || contents.contains(&format!("({name})"));
        assert!(listed, "{name} is not in SUMMARY.md");
        for link in between(&text, "](", ")").filter(|link| !link.starts_with('#')) {
            assert!(book.join(link).exists(), "{name}: {link} is not there");
        }
        for include in between(&text, "{{#include ", "}}") {
            let (file, anchor) = include.rsplit_once(':').unwrap_or((include, ""));
            let code = fs::read_to_string(book.join(file))?;
            let marked = code.contains(&format!("// ANCHOR: {anchor}\n"));
            assert!(marked, "{name}: {file} has no anchor {anchor}");
        }
    }
    Ok(())
}
