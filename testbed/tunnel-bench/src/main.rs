//! `tunnel-bench`: connections of TCP, TLS, quinn and s2n-quic, and in time of clew's tunnels, measured in
//! one run. See [`system`] for what a row must provide.

mod measure;
mod options;
mod place;
#[path = "../../../tools/bench/src/plot.rs"]
mod plot;
mod programs;
mod report;
mod system;
mod systems;

use clap::Parser;
use clew_record::Record;
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
    match &options.command {
        Command::Hold { row, server } => return programs::hold::run(row, *server),
        Command::Serve { row, host, file } => return programs::apart::serve(row, *host, file),
        Command::Fetch { row, file, bytes } => return programs::apart::fetch(row, file, *bytes),
        _ => {}
    }
    let mut record = report::head();
    run(options, &mut record)?;
    report::foot(&mut record);
    record.print(options.json)
}

fn run(options: &Options, record: &mut Record) -> io::Result<()> {
    let cores = Cores::choose(options.server_core, options.client_core)?;
    match &options.command {
        Command::Connect { parallel } => programs::connect::run(options, record, cores, *parallel),
        Command::Bulk => programs::bulk::run(options, record, cores),
        Command::Latency { delays } => programs::latency::run(options, record, cores, delays),
        Command::Memory { connections } => programs::memory::run(options, record, *connections),
        Command::Loss(lossy) => programs::loss::run(options, record, cores, lossy),
        Command::Hold { .. } | Command::Serve { .. } | Command::Fetch { .. } => Ok(()),
    }
}
