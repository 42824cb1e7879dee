//! `tunnel-bench`: connections of TCP, TLS, quinn and s2n-quic, and in time of clew's tunnels, measured in
//! one run. See [`system`] for what a row must provide.

mod line;
#[path = "../../../tools/bench/src/machine.rs"]
#[allow(dead_code, reason = "pages of clew-bench use the rest")]
mod machine;
mod measure;
mod options;
mod place;
#[path = "../../../tools/bench/src/plot.rs"]
mod plot;
mod programs;
mod system;
mod systems;
mod table;

use clap::Parser;
use options::{Command, Options};
use place::Cores;
use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = Options::parse();
    match start(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tunnel-bench: {error}");
            ExitCode::from(2)
        }
    }
}

fn start(options: &Options) -> io::Result<()> {
    if let Command::Hold { row, server } = &options.command {
        return programs::hold::run(row, *server);
    }
    table::head(options)?;
    run(options)?;
    table::foot(options)
}

fn run(options: &Options) -> io::Result<()> {
    let cores = Cores::choose(options.server_core, options.client_core)?;
    match &options.command {
        Command::Connect { parallel } => programs::connect::run(options, cores, *parallel),
        Command::Bulk => programs::bulk::run(options, cores),
        Command::Latency { delays } => programs::latency::run(options, cores, delays),
        Command::Memory { connections } => programs::memory::run(options, *connections),
        Command::Loss {
            loss,
            bytes,
            delay,
            seed,
        } => programs::loss::run(options, cores, loss, *bytes, *delay, *seed),
        Command::Hold { .. } => Ok(()),
    }
}
