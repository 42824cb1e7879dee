//! The command line.

use clap::Parser;
use std::path::PathBuf;
use std::time::Duration;

/// Runs one benchmark program and prints medians with their spread.
#[derive(Parser, Debug)]
#[command(
    name = "clew-bench",
    version,
    after_help = "Example: taskset -c 1 clew-bench group-signature --peer bbs04-verify=1369"
)]
pub struct Options {
    /// The program to run; without it, or with --list, the programs are listed
    #[arg(value_name = "NAME")]
    pub program: Option<String>,

    /// Lists the programs
    #[arg(long)]
    pub list: bool,

    /// Prints JSON Lines, the format of recorded/NAME.jsonl, from which `pages` makes tables
    #[arg(long)]
    pub json: bool,

    /// With `pages`: fails if a page differs from the recorded runs, and writes nothing
    #[arg(long)]
    pub check: bool,

    /// How long to measure
    #[arg(long, value_name = "N", default_value = "20", value_parser = seconds)]
    pub seconds: Duration,

    /// How many machines the register of the programs `register` and `epochs` has
    #[arg(long, value_name = "N", default_value = "100000", value_parser = clap::value_parser!(u32).range(1..))]
    pub members: u32,

    /// How many steps the chain of the program `epochs` has
    #[arg(long, value_name = "N", default_value = "10000", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub steps: u32,

    /// How many packets are sent: by `modes` in one flow (default 2048; multiples of 512 cut no
    /// block), by `files` in all flows (default 32768), by `flow-loss` on each line (default 1048576)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(512..))]
    pub packets: Option<u32>,

    /// How often every row is measured, even if the time is up; fewer than 11 make no percentiles
    #[arg(long, value_name = "N", default_value = "11", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,

    /// The capture of `files` and `sha256` (default of `files`: a synthetic one)
    #[arg(long, value_name = "FILE")]
    pub capture: Option<PathBuf>,

    /// The program that `files` runs (default: clew beside clew-bench)
    #[arg(long, value_name = "PATH")]
    pub clew: Option<PathBuf>,

    /// The folder for the plots of `flow-paper`, `flow-rates`, `flow-loss`, `effs` and `effs-paper`
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,

    /// A peer's figure to print beside the row of that name; repeatable
    #[arg(long, value_name = "ROW=MICROSECONDS", value_parser = peer)]
    pub peer: Vec<Peer>,
}

/// What somebody else's program took for the work of a row.
#[derive(Clone, Debug)]
pub struct Peer {
    pub row: String,
    pub microseconds: f64,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number")?;
    let duration = Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?;
    Ok(duration)
}

fn peer(text: &str) -> Result<Peer, String> {
    let (row, figure) = text.split_once('=').ok_or("write ROW=MICROSECONDS")?;
    let microseconds: f64 = figure.parse().map_err(|_| "microseconds are a number")?;
    if !(microseconds.is_finite() && microseconds > 0.0) {
        return Err("microseconds are positive".into());
    }
    Ok(Peer {
        row: row.to_owned(),
        microseconds,
    })
}
