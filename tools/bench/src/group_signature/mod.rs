//! Both schemes: everything that signing and verifying is made of, beside Clue's table of
//! microbenchmarks.

pub mod baselines;
mod bbs04;
mod fixture;
pub mod forgery;
mod xr;

use crate::groups::{PROTOTYPE, PROTOTYPE_CAVEAT};
use crate::options::Options;
use crate::paper::CLUE;
use crate::report::{self, Source};
use fixture::Fixture;
use std::io;

const OF_PROTOTYPE: Source = Source {
    name: PROTOTYPE,
    caveat: PROTOTYPE_CAVEAT,
};

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let (of_bbs04, of_xr) = (Fixture::new(), xr::Fixture::new());
    let mut cases = bbs04::all(&of_bbs04);
    cases.extend(xr::all(&of_xr));
    cases.extend(baselines::all(&of_bbs04));
    report::run(options, &[CLUE, OF_PROTOTYPE], cases)
}
