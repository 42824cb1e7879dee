//! The log of `verify`, read as Zeek's own tools read it.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

const SPECIFICATION: &str = include_str!("../../../../spec/records.md");

/// A log as Zeek's own tools read it.
pub struct Log {
    pub rows: Vec<BTreeMap<String, Option<Value>>>,
}

impl Log {
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("#separator \\x09"));
        let mut head = |name: &str| {
            let mut cells = lines.next().unwrap().split('\t').map(str::to_owned);
            assert_eq!(cells.next().unwrap(), name);
            cells.collect::<Vec<_>>()
        };
        assert_eq!(head("#set_separator"), [","]);
        assert_eq!(head("#empty_field"), ["(empty)"]);
        assert_eq!(head("#unset_field"), ["-"]);
        assert_eq!(head("#path"), ["clew"]);
        assert_eq!(head("#open").len(), 1);
        let (names, kinds) = (head("#fields"), head("#types"));
        compare_specification(&names, &kinds);
        let mut rows: Vec<&str> = lines.collect();
        assert!(rows.pop().unwrap().starts_with("#close\t"));
        let row = |line: &str| {
            let cells: Vec<&str> = line.split('\t').collect();
            assert_eq!(
                (cells.len(), cells.len()),
                (names.len(), kinds.len()),
                "{line}"
            );
            let cells = cells
                .iter()
                .zip(&kinds)
                .map(|(cell, kind)| value(cell, kind));
            names.iter().cloned().zip(cells).collect()
        };
        let rows = rows.into_iter().map(row).collect();
        Self { rows }
    }
}

/// A value by its type; a time in nanoseconds.
fn value(cell: &str, kind: &str) -> Option<Value> {
    let value = match (cell, kind) {
        ("-", _) => return None,
        (_, "string" | "enum") => json!(cell),
        (_, "addr") => json!(cell.parse::<IpAddr>().unwrap().to_string()),
        (_, "port") => json!(cell.parse::<u16>().unwrap()),
        (_, "count") => json!(cell.parse::<u64>().unwrap()),
        (_, "bool") => {
            assert!(["T", "F"].contains(&cell));
            json!(cell == "T")
        }
        _ => {
            assert_eq!(kind, "time");
            let (seconds, rest) = cell.split_once('.').unwrap();
            assert_eq!(rest.len(), 9);
            json!(format!("{seconds}{rest}").parse::<u64>().unwrap())
        }
    };
    Some(value)
}

/// The tables of the specification have the columns of the log, each with its type.
fn compare_specification(names: &[String], kinds: &[String]) {
    let cells = |row: &'static str| -> Vec<&str> {
        let cells = row.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().trim_matches('`')).collect()
    };
    let (_, fields) = SPECIFICATION.split_once("## 2. Fields").unwrap();
    let (fields, _) = fields.split_once("## 3.").unwrap();
    let rows = fields.lines().filter(|line| line.starts_with("| `"));
    let rows = rows.map(cells).map(|row| match row.len() {
        5 => (row[1], row[3]),
        _ => (row[0], row[1]),
    });
    let specified: BTreeSet<_> = rows.collect();
    let written = names
        .iter()
        .zip(kinds)
        .map(|(name, kind)| (name.as_str(), kind.as_str()));
    assert_eq!(specified, written.collect());
}
