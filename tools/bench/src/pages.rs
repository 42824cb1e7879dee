//! The command `pages`: writes the tables of Markdown pages from the recorded runs.
//!
//! A page asks for the table NAME of `recorded/RUN.jsonl` between two comments, and for the line that
//! says where and when that run was recorded:
//!
//! ```text
//! <!-- table: RUN/NAME | columns: median+p10 | rows: xr-*+bbs04-sign -->
//! <!-- end -->
//! <!-- run: RUN -->
//! <!-- end -->
//! ```

use crate::options::Options;
use crate::report::Record;
use std::fs;
use std::io;
use std::path::Path;

/// Every page that has such comments, from the root of the repository.
const PAGES: [&str; 6] = [
    "testbed/tunnel-bench/README.md",
    "tools/bench/README.md",
    "tools/bench/effs.md",
    "tools/bench/flow.md",
    "tools/bench/modes.md",
    "tools/ct/README.md",
];

const END: &str = "<!-- end -->";

/// Writes the tables of all pages; with `--check` only says which pages differ from the records.
pub fn run(options: &Options) -> io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for page in PAGES {
        let path = here.join("../..").join(page);
        let old = fs::read_to_string(&path)?;
        let new = filled(&old, |run| recorded(here, run));
        let new = new.map_err(|why| io::Error::other(format!("{page}: {why}")))?;
        match (new == old, options.check) {
            (true, _) => {}
            (false, false) => fs::write(&path, new)?,
            (false, true) => {
                return Err(io::Error::other(format!(
                    "{page}: tables differ from the recorded runs\nhint: clew-bench pages"
                )));
            }
        }
    }
    Ok(())
}

fn recorded(here: &Path, run: &str) -> Result<Record, String> {
    let file = here.join(format!("recorded/{run}.jsonl"));
    let fault = |why: String| format!("{}: {why}", file.display());
    let text = fs::read_to_string(&file).map_err(|why| fault(why.to_string()))?;
    Record::read(&text).map_err(fault)
}

/// The page with the tables of these records.
fn filled(page: &str, record: impl Fn(&str) -> Result<Record, String>) -> Result<String, String> {
    let (mut text, mut lines) = (String::new(), page.lines());
    while let Some(line) = lines.next() {
        text += &format!("{line}\n");
        let Some(wanted) = Wanted::read(line) else {
            continue;
        };
        let made = wanted.make(&record(wanted.run)?)?;
        text += &format!("\n{}\n\n{END}\n", made.trim());
        if !lines.any(|line| line == END) {
            return Err(format!("no {END} after {line}"));
        }
    }
    Ok(text)
}

/// What a comment asks for.
struct Wanted<'a> {
    run: &'a str,
    /// None for the line about the run.
    table: Option<&'a str>,
    columns: Vec<&'a str>,
    rows: Vec<&'a str>,
}

impl<'a> Wanted<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let comment = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?;
        if let Some(run) = comment.strip_prefix("run: ") {
            let [columns, rows] = [Vec::new(), Vec::new()];
            return Some(Self {
                run,
                table: None,
                columns,
                rows,
            });
        }
        let mut parts = comment.strip_prefix("table: ")?.split(" | ");
        let (run, table) = parts.next()?.split_once('/')?;
        let list = |label: &str| {
            let list = parts.clone().find_map(|part| part.strip_prefix(label));
            list.map_or(Vec::new(), |list| list.split('+').collect())
        };
        let (columns, rows) = (list("columns: "), list("rows: "));
        Some(Self {
            run,
            table: Some(table),
            columns,
            rows,
        })
    }

    fn make(&self, record: &Record) -> Result<String, String> {
        let Some(name) = self.table else {
            return Ok(record.run.markdown());
        };
        let table = record.table(name);
        let table = table.ok_or_else(|| format!("no table {}/{name}", self.run))?;
        let table = table.select(&self.columns, &self.rows)?.without_blanks();
        Ok(format!("{}:\n\n{}", table.title, table.markdown()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# Page\n<!-- table: a/t | columns: x+us | rows: 2 -->\nold\n<!-- end -->\nend\n";

    fn record(run: &str) -> Result<Record, String> {
        let facts = serde_json::to_string(&crate::machine::Run::read());
        let facts = facts.map_err(|why| why.to_string())?;
        let table = r#"{"table":{"name":"t","title":"Microseconds","columns":["x","us","mean"]}}"#;
        match run {
            "a" => Record::read(&format!(
                "{{\"run\":{facts}}}\n{table}\n{{\"cells\":[\"1\",\"5\",\"6\"]}}\n{{\"cells\":[\"2\",\"7\",\"8\"]}}"
            )),
            _ => Err("no such run".into()),
        }
    }

    #[test]
    fn a_table_is_replaced_and_nothing_else() {
        let new = filled(PAGE, record).unwrap();
        let table = "Microseconds:\n\n| x   |  us |\n|-----|----:|\n| 2   |   7 |";
        let comment = "<!-- table: a/t | columns: x+us | rows: 2 -->";
        assert_eq!(new, format!("# Page\n{comment}\n\n{table}\n\n{END}\nend\n"));
        assert_eq!(filled(&new, record), Ok(new));
    }

    #[test]
    fn comments_that_cannot_be_followed_are_errors() {
        let faults = [("a/t", "a/u"), ("a/t", "b/t"), ("x+us", "x+ms"), (END, "")];
        for (old, new) in faults {
            assert!(filled(&PAGE.replace(old, new), record).is_err(), "{new}");
        }
    }
}
