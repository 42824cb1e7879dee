//! Writes the tables of Markdown pages from the recorded runs.
//!
//! A page asks for the table NAME of `tools/bench/recorded/RUN.jsonl` between two comments, and for the line that
//! says where and when that run was recorded:
//!
//! ```text
//! <!-- table: RUN/NAME | columns: median+p10 | rows: xr-*+bbs04-sign -->
//! <!-- end -->
//! <!-- run: RUN -->
//! <!-- end -->
//! ```
//!
//! With `if recorded` in its comment a page says so where there is no record yet.

use crate::machine::Run;
use crate::record::{Line, ROWS, Record};
use crate::table::Table;
use std::fs;
use std::io;
use std::path::Path;

/// Every page that has such comments, from the root of the repository.
const PAGES: [&str; 7] = [
    "testbed/live/RESULTS.md",
    "testbed/tunnel-bench/README.md",
    "tools/bench/README.md",
    "tools/bench/effs.md",
    "tools/bench/flow.md",
    "tools/bench/modes.md",
    "tools/ct/README.md",
];

/// Notes about cases without figures begin so: a page shows them below the line about the run.
pub const FAILED: &str = "FAILED: ";

const END: &str = "<!-- end -->";

/// Writes the tables of all pages, or only compares them with the records.
///
/// # Errors
/// The first page that cannot be made, or if they are compared, that differs.
pub fn write(only_compare: bool) -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for page in PAGES {
        let path = root.join(page);
        let old = fs::read_to_string(&path)?;
        let new = filled(&old, |run| recorded(&root, run));
        let new = new.map_err(|why| io::Error::other(format!("{page}: {why}")))?;
        match (new == old, only_compare) {
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

/// A record, or `None` if there is none of that name.
fn recorded(root: &Path, run: &str) -> Result<Option<Record>, String> {
    let file = root.join(format!("tools/bench/recorded/{run}.jsonl"));
    if !file.exists() {
        return Ok(None);
    }
    let fault = |why: String| format!("{}: {why}", file.display());
    let text = fs::read_to_string(&file).map_err(|why| fault(why.to_string()))?;
    read(&text).map(Some).map_err(fault)
}

/// Reads a record.
///
/// # Errors
/// The number of the first line that is none of a record's, and why.
pub fn read(text: &str) -> Result<Record, String> {
    let (mut run, mut notes, mut rows) = (None, Vec::new(), Vec::new());
    let mut tables: Vec<Table> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let fault = |why: &str| format!("line {number}: {why}");
        let line = serde_json::from_str(line).map_err(|why| fault(&why.to_string()))?;
        match line {
            Line::Run(own) => run = Some(own),
            Line::Note(note) => notes.push(note),
            Line::Row(row) => rows.push(row),
            Line::Table(table) => tables.push(table),
            Line::Cells(cells) => match tables.last_mut() {
                Some(table) if table.columns.len() == cells.len() => table.rows.push(cells),
                _ => return Err(fault("cells that fit no table")),
            },
        }
    }
    let run = run.ok_or("no line says what ran")?;
    Ok(Record {
        run,
        notes,
        rows,
        tables,
    })
}

/// The page with the tables of these records.
fn filled(
    page: &str,
    record: impl Fn(&str) -> Result<Option<Record>, String>,
) -> Result<String, String> {
    let (mut text, mut lines) = (String::new(), page.lines());
    while let Some(line) = lines.next() {
        text += &format!("{line}\n");
        let Some(wanted) = Wanted::read(line) else {
            continue;
        };
        let made = match record(wanted.run)? {
            Some(record) => wanted.make(&record)?,
            None if wanted.may_lack => format!("`{}` is not recorded yet.", wanted.run),
            None => return Err(format!("{}: no such record", wanted.run)),
        };
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
    /// Whether the page can be made without the record.
    may_lack: bool,
}

const MAY_LACK: &str = "if recorded";

impl<'a> Wanted<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let comment = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?;
        let may_lack = comment.split(" | ").any(|part| part == MAY_LACK);
        if let Some(run) = comment.strip_prefix("run: ") {
            let [columns, rows] = [Vec::new(), Vec::new()];
            return Some(Self {
                run: run.split(" | ").next()?,
                table: None,
                columns,
                rows,
                may_lack,
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
            may_lack,
        })
    }

    fn make(&self, record: &Record) -> Result<String, String> {
        let Some(name) = self.table else {
            let failed = record.notes.iter().filter(|note| note.starts_with(FAILED));
            let failed: String = failed.map(|note| format!("{note}\n")).collect();
            return Ok(about(&record.run) + &failed);
        };
        let own = record.tables.iter().find(|table| table.name == name);
        let rows = (name == ROWS).then(|| record.table_of_rows());
        let table = own.cloned().or(rows);
        let table = table.ok_or_else(|| format!("no table {}/{name}", self.run))?;
        let table = select(&table, &self.columns, &self.rows)?.without_blanks();
        Ok(format!("{}:\n\n{}", table.title, table.markdown()))
    }
}

/// The lines that stand above a page's tables.
fn about(run: &Run) -> String {
    let compiler = run.rustc.split(" (").next().unwrap_or_default();
    let load = run.load.split(' ').next().unwrap_or_default();
    let remark = match run.remark.as_str() {
        "" => String::new(),
        remark => format!("{remark}\n"),
    };
    format!(
        "Recorded {}: `{}`.\n{} cores of {}, {compiler}, commit {}, load {load} before.\n{remark}",
        run.date,
        run.command,
        run.cores,
        processor(run),
        run.commit,
    )
}

/// Family and model, and the name that Intel gave them.
fn processor(run: &Run) -> String {
    let name = match (run.family.as_str(), run.model.as_str()) {
        ("6", "143") => " (Sapphire Rapids)",
        ("6", "207") => " (Emerald Rapids)",
        _ => "",
    };
    let Run {
        cpu, family, model, ..
    } = run;
    format!("{cpu}, family {family}, model {model}{name}")
}

/// The columns of these names, and the rows whose cells begin with one of these texts; all of
/// them where none is given.
fn select(table: &Table, columns: &[&str], rows: &[&str]) -> Result<Table, String> {
    let place = |name: &&str| {
        let place = table.columns.iter().position(|column| column == name);
        place.ok_or_else(|| format!("table {}: no column {name}", table.name))
    };
    let places: Vec<usize> = match columns {
        [] => (0..table.columns.len()).collect(),
        names => names.iter().map(place).collect::<Result<_, _>>()?,
    };
    let cut = |row: &Vec<String>| places.iter().map(|at| row[*at].clone()).collect();
    let matches = |row: &&Vec<String>| {
        let text = row.join(" ") + " ";
        rows.is_empty() || rows.iter().any(|start| is_row(&text, start))
    };
    let chosen: Vec<_> = table.rows.iter().filter(matches).map(cut).collect();
    match chosen.is_empty() {
        true => Err(format!("table {}: no row {}", table.name, rows.join("; "))),
        false => Ok(Table {
            columns: cut(&table.columns),
            rows: chosen,
            ..table.clone()
        }),
    }
}

/// Whether a row's text is that, or with an asterisk at the end begins with it.
fn is_row(text: &str, wanted: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => text.starts_with(&format!("{wanted} ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# Page\n<!-- table: a/t | columns: x+us | rows: 2 -->\nold\n<!-- end -->\nend\n";

    fn record(run: &str) -> Result<Option<Record>, String> {
        let build = crate::Build {
            program: "p",
            rustc: "r",
            profile: "",
            commit: "",
        };
        let facts = serde_json::to_string(&Run::read(&build));
        let facts = facts.map_err(|why| why.to_string())?;
        let table = r#"{"table":{"name":"t","title":"Microseconds","columns":["x","us","mean"]}}"#;
        match run {
            "a" => read(&format!(
                "{{\"run\":{facts}}}\n{table}\n{{\"cells\":[\"1\",\"5\",\"6\"]}}\n{{\"cells\":[\"2\",\"7\",\"8\"]}}"
            ))
            .map(Some),
            _ => Ok(None),
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
    fn a_page_says_what_is_not_recorded_where_it_may() {
        for comment in ["table: b/t | if recorded", "run: b | if recorded"] {
            let page = format!("<!-- {comment} -->\n{END}\n");
            let new = filled(&page, record).unwrap();
            let said = "\n`b` is not recorded yet.\n";
            assert_eq!(new, format!("<!-- {comment} -->\n{said}\n{END}\n"));
            assert_eq!(
                filled(&page.replace(" | if recorded", ""), record).ok(),
                None
            );
        }
        // What is there is made, or an error, all the same.
        let page = PAGE.replace(" | columns", " | if recorded | columns");
        assert!(filled(&page, record).is_ok_and(|new| new.contains("|   7 |")));
        assert!(filled(&page.replace("a/t", "a/u"), record).is_err());
    }

    #[test]
    fn a_page_names_the_cases_that_failed() {
        let page = format!("<!-- run: a -->\n{END}\n");
        let with = |note: &str| {
            let note = note.to_owned();
            let record = |run: &str| {
                let found = record(run)?;
                Ok(found.map(|found| Record {
                    notes: vec![note.clone()],
                    ..found
                }))
            };
            filled(&page, record).unwrap()
        };
        assert!(with("FAILED: x: why").contains("\nFAILED: x: why\n"));
        assert!(!with("something else").contains("something else"));
    }

    #[test]
    fn rows_and_columns_are_those_that_are_named() {
        let mut table = Table::new("t", "", ["row", "us"]);
        for name in ["xr-1", "xr-16", "bbs04"] {
            table.row(name, ["1"]);
        }
        let rows = |wanted: &[&str]| select(&table, &["row"], wanted).map(|t| t.rows.len());
        assert_eq!(rows(&["xr-1"]), Ok(1));
        assert_eq!(rows(&["xr-1*", "bbs04"]), Ok(3));
        assert_eq!(rows(&[]), Ok(3));
        assert!(rows(&["xr-2*"]).is_err());
        assert!(select(&table, &["ms"], &[]).is_err());
    }

    #[test]
    fn comments_that_cannot_be_followed_are_errors() {
        let faults = [("a/t", "a/u"), ("a/t", "b/t"), ("x+us", "x+ms"), (END, "")];
        for (old, new) in faults {
            assert!(filled(&PAGE.replace(old, new), record).is_err(), "{new}");
        }
    }
}
