//! Opening by trustees: what each of them computes, and everybody else, by their number.

mod dkg;
mod fixture;
mod matching;
mod shares;

use crate::groups::quorum;
use crate::options::Options;
use crate::report;
use clew_group::Scheme;
use clew_record::Row;
use clew_record::table::{BLANK, Table, number};
use fixture::Fixture;
use std::io;

/// Threshold and number of trustees.
const QUORUMS: [(u8, u8); 5] = [(1, 1), (2, 3), (3, 5), (5, 9), (16, 32)];

/// The quorum of the rows of BBS04.
const OF_BBS04: (u8, u8) = (2, 3);

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let of_xr = QUORUMS.map(|(t, n)| Fixture::new(Scheme::Xr, quorum(t, n)));
    let asked: Vec<_> = of_xr.iter().map(matching::asked).collect();
    let runs = QUORUMS.map(|(t, n)| dkg::Fixture::new(t, n));
    let (t, n) = OF_BBS04;
    let of_bbs04 = Fixture::new(Scheme::Bbs04, quorum(t, n));

    let mut cases = Vec::new();
    for f in &of_xr {
        cases.extend(shares::all(f, &prefix(f)));
    }
    cases.extend(shares::all(&of_bbs04, &prefix(&of_bbs04)));
    for (f, asked) in of_xr.iter().zip(&asked) {
        cases.extend(matching::all(f, asked, &prefix(f)));
    }
    for ((t, n), f) in QUORUMS.iter().zip(&runs) {
        cases.extend(dkg::all(f, &format!("{t}/{n}")));
    }
    let (mut record, _) = report::measure(options, &[], cases)?;
    record.tables.push(by_quorum(&record.rows));
    record.print(options.json)
}

/// A row for each piece of work, a column for each quorum.
fn by_quorum(rows: &[Row]) -> Table {
    fn split(row: &Row) -> (String, String, &Row) {
        let (name, of) = match row.name.strip_prefix("bbs04-") {
            Some(name) => (name, "bbs04 "),
            None => (row.name.trim_start_matches("xr-"), ""),
        };
        let (quorum, what) = name.split_once('-').unwrap_or_default();
        (of.to_owned() + quorum, what.to_owned(), row)
    }
    let cells: Vec<_> = rows.iter().map(split).collect();
    let (mut quorums, mut works) = (Vec::new(), Vec::new());
    for (quorum, what, row) in &cells {
        if !quorums.contains(quorum) {
            quorums.push(quorum.clone());
        }
        if works.iter().all(|(name, _)| name != what) {
            works.push((what.clone(), row.work.clone()));
        }
    }
    let columns = ["row", "work"].map(String::from).into_iter();
    let title = "Microseconds, medians, by threshold and number of trustees; one core";
    let mut table = Table::new("quorums", title, columns.chain(quorums.clone()));
    for (what, work) in works {
        let figure = |quorum| {
            let mut cells = cells.iter();
            let cell = cells.find(|(q, w, _)| (q, w) == (quorum, &what));
            cell.map_or(BLANK.into(), |(.., row)| number(row.median_us))
        };
        table.row(
            what.clone(),
            [work].into_iter().chain(quorums.iter().map(figure)),
        );
    }
    table
}

fn prefix(f: &Fixture) -> String {
    let quorum = f.quorum;
    let (t, n) = (quorum.threshold(), quorum.trustees());
    format!("{}-{t}/{n}", f.scheme)
}
