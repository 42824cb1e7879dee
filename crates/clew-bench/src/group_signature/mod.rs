//! BBS04: everything that clew does with it, beside Clue's table of microbenchmarks.

mod baselines;
mod cases;
mod fixture;
mod forgery;
#[path = "../../../clew-group/tests/common/textbook.rs"]
mod textbook;

use crate::machine::Machine;
use crate::measure;
use crate::options::Options;
use crate::report::{self, Paper};
use fixture::Fixture;
use std::io;

const CLUE: Paper = Paper {
    name: "Clue",
    caveat: "2011 hardware, pairing curve of the class of 1024-bit RSA; clew's is of the class of \
             3072-bit RSA",
};

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let fixture = Fixture::new();
    let mut cases = cases::all(&fixture);
    cases.extend(baselines::all(&fixture));
    report::check_peers(&cases, options)?;
    let machine = Machine::read();
    let figures = measure::run(&mut cases, options.seconds);
    let rows: Vec<_> = cases.into_iter().zip(figures).collect();
    report::print(options, &machine, &CLUE, &rows)
}
