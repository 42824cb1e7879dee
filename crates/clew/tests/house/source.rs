//! Rust source, read only as far as the rules of the house need it.

use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::Package;
use cargo_metadata::camino::Utf8Path;

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

/// The names of a package's tests: functions below `#[test]`.
pub fn tests(package: &Package) -> Vec<String> {
    let folder = package.manifest_path.parent().expect("it has a folder");
    let mut paths = Vec::new();
    for part in ["src", "tests"].map(|part| folder.join(part)) {
        if part.exists() {
            walk(part.as_std_path(), &mut paths);
        }
    }
    let text = |path: PathBuf| fs::read_to_string(path).expect("source is text");
    paths
        .into_iter()
        .flat_map(|path| tests_of(&text(path)))
        .collect()
}

fn tests_of(text: &str) -> Vec<String> {
    let mut parts = text.split("#[test]\n");
    parts.next();
    let names = parts.filter_map(|part| part.lines().find_map(name));
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
