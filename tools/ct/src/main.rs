//! `clew-ct`: whether what clew does with secrets takes constant time.
//!
//! `memcheck` lets valgrind follow secrets through every operation and complain where a branch or an
//! address depends on one; `timing` measures whether two kinds of secrets take different times. Both
//! go through the same table, [`operations::all`], and both have a control that must fail. `scan` looks
//! into a running process for what it holds of a key.

mod memcheck;
mod operations;
mod scan;
mod timing;
mod valgrind;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Looks for secrets that show in branches, addresses or time.
#[derive(Parser, Debug)]
#[command(name = "clew-ct", version)]
struct Options {
    #[command(subcommand)]
    check: Check,
}

#[derive(Subcommand, Debug)]
enum Check {
    /// Follows secrets through every operation; to be run by valgrind, as tools/ct/ct does
    Memcheck {
        /// Runs the controls instead, which leak and must be reported
        #[arg(long)]
        leak: bool,
    },
    /// Measures special secrets against random ones, with a control that leaks
    Timing {
        /// How long to measure, all operations together
        #[arg(long, value_name = "N", default_value = "360", value_parser = seconds)]
        seconds: Duration,
    },
    /// Counts what a running process, such as clew sign, has in memory of a member key
    Scan {
        /// The member key, not sealed
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// The process; it must be one's own
        #[arg(long, value_name = "N")]
        pid: u32,
    },
}

fn main() -> ExitCode {
    match Options::parse().check {
        Check::Memcheck { leak } => memcheck::run(leak),
        Check::Timing { seconds } => timing::run(seconds),
        Check::Scan { key, pid } => scan::run(&key, pid),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number")?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
