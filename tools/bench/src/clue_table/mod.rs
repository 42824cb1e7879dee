//! Clue's table of microbenchmarks, row by row, for both schemes, from bytes to bytes.

mod cover;
mod operations;
mod tables;

use crate::group::Group;
use crate::group_signature::baselines;
use crate::groups::PACKET;
use crate::measure::Case;
use crate::options::Options;
use crate::paper::CLUE;
use crate::report;
use clew_group::Scheme;
use cover::COVERS;
use operations::{Bench, OPERATIONS, Operation};
use sha2::{Digest, Sha256};
use std::io;

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let groups = [Scheme::Bbs04, Scheme::Xr].map(Group::new);
    let mut cases: Vec<Case<'_>> = groups.iter().flat_map(of_scheme).collect();
    cases.extend(baselines::curve());
    cases.push(Case::new("sha256-1277", "hashing one packet", || {
        Sha256::digest(PACKET)
    }));
    let (mut record, measured) = report::measure(options, &[CLUE], cases)?;
    let schemes = groups.iter().map(|group| tables::scheme(group, &measured));
    record.tables = schemes.collect();
    record.tables.push(tables::findings(&groups, &measured));
    record.print(options.json)
}

fn of_scheme(group: &Group) -> Vec<Case<'_>> {
    let mut cases = Vec::new();
    for operation in OPERATIONS {
        // A precursor knows nothing of packets.
        let covers = match operation {
            Operation::Precompute => &COVERS[..1],
            _ => &COVERS,
        };
        let of = covers.iter().map(|cover| Bench {
            group,
            operation,
            cover: *cover,
        });
        cases.extend(of.map(Bench::case));
    }
    cases
}
