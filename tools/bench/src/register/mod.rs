//! The manager's work and what others check of it: joins, the register, revocations.
//!
//! The store has no way in but whole joins, so that its rows are measured with a thousand machines.
//! The register's tree is measured with as many as asked for, by the functions that the store calls,
//! over nodes in memory.

mod epochs;
mod join;
mod store;
mod tree;

use crate::groups::{XrGroup, quorum};
use crate::issuing::Issuing;
use crate::measure::Case;
use crate::options::Options;
use crate::report::{self, Source};
use clew_group::Scheme;
use epochs::History;
use std::cell::RefCell;
use std::io;
use tree::Tree;

/// Machines in the store.
const IN_STORE: u32 = 1000;

const LIBGROUPSIG: &str = "BBS04";

const SOURCES: [Source; 1] = [Source {
    name: LIBGROUPSIG,
    caveat: "libgroupsig's join, on a Zen 5 virtual machine; the manager knows the member's key",
}];

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let mut issuing = Issuing::new(Scheme::Xr, quorum(2, 3));
    for i in 0..IN_STORE.min(options.members) {
        issuing.enrol(&format!("machine-{i}"));
    }
    issuing.store.refresh().map_err(io::Error::other)?;
    let group = XrGroup::new();
    let tree = Tree::grow(&issuing, options.members);
    let history = History::new();
    let issuing = RefCell::new(issuing);

    let mut cases: Vec<Case<'_>> = join::all(&group);
    cases.extend(store::all(&issuing));
    cases.extend(tree::all(&tree));
    cases.extend(epochs::all(&group, &history));
    report::run(options, &SOURCES, cases)
}
