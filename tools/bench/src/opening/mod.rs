//! Opening by trustees: what each of them computes, and everybody else, by their number.

mod ceremony;
mod fixture;
mod matching;
mod shares;

use crate::groups::quorum;
use crate::options::Options;
use crate::report;
use clew_group::Scheme;
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
    let ceremonies = QUORUMS.map(|(t, n)| ceremony::Fixture::new(t, n));
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
    for ((t, n), f) in QUORUMS.iter().zip(&ceremonies) {
        cases.extend(ceremony::all(f, &format!("{t}/{n}")));
    }
    report::run(options, &[], cases)
}

fn prefix(f: &Fixture) -> String {
    let quorum = f.quorum;
    let (t, n) = (quorum.threshold(), quorum.trustees());
    format!("{}-{t}/{n}", f.scheme)
}
