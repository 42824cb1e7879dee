//! What SECURITY.md says somebody can do is tried by a test.

use std::collections::BTreeSet;
use std::fs;

use super::source::tests;
use super::{WORKSPACE, members, nothing};

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
        Some(_) => WORKSPACE.workspace_root.join(name).exists(),
        None => tests.contains(name),
    };
    let missing = names.into_iter().filter(|name| !exists(name));
    missing
        .map(|name| format!("SECURITY.md: there is no test {name}"))
        .collect()
}

#[test]
fn every_threat_has_its_test() {
    let page = fs::read_to_string(WORKSPACE.workspace_root.join("SECURITY.md")).unwrap();
    let tests: BTreeSet<String> = members().into_iter().flat_map(tests).collect();
    let rows = threats(&page);
    assert!(rows.len() > 40, "the table is where it is looked for");
    nothing(rows.iter().flat_map(|row| missing(row, &tests)).collect());
    assert!(!missing("`no_test_of_this_name`", &tests).is_empty());
    assert!(!missing("TODO", &tests).is_empty());
}
