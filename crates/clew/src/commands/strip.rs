//! `clew strip`

use crate::capture::Capture;
use crate::cli::Strip;
use crate::failure::{Failure, Status};
use crate::output::Output;
use crate::report;
use clew_engine::captures;

pub fn run(arguments: &Strip) -> Result<Status, Failure> {
    let mut capture = Capture::open(&arguments.input, "stripping")?;
    let output = Output::create(&arguments.out.output, &arguments.input, arguments.out.force)?;
    let (done, output) = captures::strip(&mut capture, output)?;
    output.commit()?;
    let (stripped, packets) = (done.stripped, done.packets);
    mention!(
        "stripped {stripped} of {packets} packets: {}",
        arguments.out.output.display()
    );
    if stripped + done.unmarked + done.kept == 0 && packets > 0 {
        mention!(
            "  no packet has a trailer at its end; those in UDP datagrams of clew up stay as they are"
        );
    }
    if done.unmarked > 0 {
        mention!(
            "  {} were signed in an earlier run and keep that trailer",
            done.unmarked
        );
    }
    if done.kept > 0 {
        mention!(
            "clew: warning: {} packets keep their signature: it cannot be removed exactly",
            done.kept
        );
    }
    Ok(report::copied(done.damage))
}
