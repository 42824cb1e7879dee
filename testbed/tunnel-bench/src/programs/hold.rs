//! A process of `memory`: a server, or clients that hold connections. It is told what to do by lines on its
//! standard input: first the identity; then, for a server, any line asks for its memory; for clients,
//! a line says how many connections more to open. Each is answered by a line with the resident bytes.

use crate::system::System;
use crate::systems::{self, Shared, identity::Identity};
use std::fs;
use std::io::{self, Lines, StdinLock, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc;
use std::thread;

/// Runs the process until its standard input ends.
pub fn run(row: &str, server: Option<SocketAddr>) -> io::Result<()> {
    let mut lines = io::stdin().lines();
    let identity = lines.next().transpose()?;
    let identity = identity.and_then(|line| Identity::from_line(&line));
    let identity = identity.ok_or_else(|| io::Error::other("the first line is no identity"))?;
    let systems = systems::all(&identity);
    let system = systems.into_iter().find(|system| system.name() == row);
    let system = system.ok_or_else(|| io::Error::other(format!("no row {row}")))?;
    match server {
        None => serve(system, lines),
        Some(server) => hold(&*system, server, lines),
    }
}

fn serve(system: Shared, lines: Lines<StdinLock<'static>>) -> io::Result<()> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let ready = |address| {
            let _ = sender.send(address);
        };
        if let Err(error) = system.serve(IpAddr::from([127, 0, 0, 1]), &ready) {
            eprintln!("tunnel-bench: the server of {}: {error}", system.name());
        }
    });
    say(receiver.recv().map_err(io::Error::other)?)?;
    for line in lines {
        line?;
        say(resident()?)?;
    }
    Ok(())
}

fn hold(
    system: &dyn System,
    server: SocketAddr,
    lines: Lines<StdinLock<'static>>,
) -> io::Result<()> {
    let mut client = system.client(server, 1)?;
    for line in lines {
        client.hold(line?.trim().parse().map_err(io::Error::other)?)?;
        say(resident()?)?;
    }
    Ok(())
}

fn say(line: impl std::fmt::Display) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// The resident bytes of this process, counted page by page.
fn resident() -> io::Result<u64> {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup")?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    let kilobytes = kilobytes.ok_or_else(|| io::Error::other("smaps_rollup has no Rss"))?;
    Ok(kilobytes * 1024)
}
