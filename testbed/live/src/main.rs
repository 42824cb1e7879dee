//! `live-bench`: what live carriers of IP packets do, measured in network namespaces.
//!
//! A scenario builds a [`topology`], starts a [system](systems) in it, and runs programs of other people.

mod attack;
mod bed;
mod measure;
mod options;
#[path = "../../../tools/bench/src/plot.rs"]
mod plot;
mod plots;
mod process;
mod report;
mod scenarios;
mod signer;
mod synchronous;
mod systems;
mod topology;

use clap::Parser;
use options::{Command, Options, Streams};
use scenarios::{figure2, flood, latency, memory, observe, refill, stages, throughput, works};
use std::io;
use std::process::ExitCode;
use std::time::Duration;

/// What scenarios run.
const PROGRAMS: [(&str, &str); 6] = [
    ("ip", "iproute2"),
    ("ss", "iproute2"),
    ("iperf3", "iperf3"),
    ("ping", "iputils-ping"),
    ("setpriv", "util-linux"),
    ("iptables", "iptables"),
];

fn main() -> ExitCode {
    match run(Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("live-bench: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns `false` if something that was to work did not.
fn run(mut options: Options) -> io::Result<bool> {
    if let Command::Attack(attack) = &options.command {
        println!("{}", attack.run()?);
        return Ok(true);
    }
    if let Command::Synchronous(carrier) = &options.command {
        return carrier.run().map(|()| true);
    }
    if let Command::Hold(hold) = &options.command {
        return hold.run().map(|()| true);
    }
    if let Command::Plot { record } = &options.command {
        let folder = || record.parent().map(Into::into).unwrap_or_default();
        let read = plots::read(record)?;
        options.svg = options.svg.clone().or_else(|| Some(folder()));
        return Ok(plots::save(&read, &options)? > 0);
    }
    if let Command::Pages { check } = &options.command {
        return clew_record::pages::write(*check).map(|()| true);
    }
    process::need(&PROGRAMS)?;
    systems::clew::set_pool(options.common.pool);
    let (common, mut record) = (&options.common, report::head());
    let record_of = &mut record;
    let holds = match &options.command {
        Command::Clean => return bed::Bed::open().map(|_| true),
        Command::Attack(_)
        | Command::Synchronous(_)
        | Command::Hold(_)
        | Command::Pages { .. }
        | Command::Plot { .. } => Ok(true),
        Command::Figure2(figure) => figure2::run(common, figure, record_of).map(|()| true),
        Command::Stages(stages) => stages::run(common, stages, record_of).map(|()| true),
        Command::Memory { flows } => memory::run(*flows, record_of).map(|()| true),
        Command::Throughput(streams) => throughput::run(common, streams, record_of).map(|()| true),
        Command::Small { time } => throughput::run(common, &small(*time), record_of).map(|()| true),
        Command::Refill { time } => refill::run(common, *time, record_of).map(|()| true),
        Command::Latency(pings) => latency::run(common, pings, record_of).map(|()| true),
        Command::Flood(flood) => flood::run(common, flood, record_of).map(|()| true),
        Command::Works {
            shapes,
            tunnel_bench,
            python,
        } => {
            let quic = (tunnel_bench.as_deref(), python.as_deref());
            works::run(common, shapes, quic, record_of)
        }
        Command::Observe(observe) => observe::run(common, observe, record_of),
    }?;
    record.print(common.json)?;
    if options.svg.is_some() {
        plots::save(&record, &options)?;
    }
    Ok(holds && report::is_whole(&record))
}

fn small(time: Duration) -> Streams {
    Streams {
        rtt: vec![Duration::ZERO],
        conditions: options::Conditions {
            rate: None,
            queue: None,
            loss: vec![0.0],
            congestion: String::new(),
            warm_up: Duration::ZERO,
        },
        burst: 1.0,
        parallel: 1,
        datagrams: Some(64),
        time,
    }
}
