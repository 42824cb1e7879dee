//! Epochs of a group with many machines, and long chains of revocations: what issuer, verifiers and
//! members compute. Big pieces of work, each timed as a whole in every round.

mod chain;
mod machines;

use crate::measure::Case;
use crate::options::Options;
use crate::report;
use chain::Chain;
use machines::Machines;
pub use machines::filled_after;
use std::hint::black_box;
use std::io;
use std::time::Instant;

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let chain = Chain::new(options.steps as usize);
    let machines = Machines::new(options.members).map_err(io::Error::other)?;
    let mut cases = chain::all(&chain);
    cases.extend(machines::all(&machines));
    report::run(options, &[], cases)
}

/// A case that does so many pieces of work at once, and is not tried before.
fn pieces<'a, T>(
    name: impl Into<String>,
    about: &'static str,
    pieces: usize,
    mut work: impl FnMut() -> T + 'a,
) -> Case<'a> {
    Case::timed(name, about, move || {
        let start = Instant::now();
        black_box(work());
        (start.elapsed(), pieces)
    })
}
