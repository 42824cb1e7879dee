//! Both schemes: everything that signing and verifying is made of, beside Clue's table of
//! microbenchmarks.

mod baselines;
mod bbs04;
mod fixture;
mod forgery;
mod xr;

use crate::groups::{PROTOTYPE, PROTOTYPE_CAVEAT};
use crate::options::Options;
use crate::report::{self, Source};
use fixture::Fixture;
use std::io;

const CLUE: Source = Source {
    name: "Clue",
    caveat: "2011 hardware, pairing curve of the class of 1024-bit RSA; clew's is of the class of \
             3072-bit RSA",
};

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
