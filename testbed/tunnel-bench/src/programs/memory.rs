//! Bytes for each idle connection, of server and client, each a process of its own.

use crate::measure;
use crate::options::Options;
use crate::report::{Figures, Row};
use crate::system::Work;
use crate::systems::identity::Identity;
use clew_record::Record;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::str::FromStr;

/// Connections before the first look: what a process needs once is not to count.
const FIRST: usize = 50;

/// Server and client with so many connections; the processes inherit what they may open.
pub fn run(options: &Options, record: &mut Record, connections: usize) -> io::Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most)?;
    let identity = Identity::new()?;
    let systems = measure::rows(options, Work::Memory)?;
    let mut rows = Vec::new();
    for system in &systems {
        let cells = match grown(system.name(), &identity, connections) {
            Ok((server, client)) => vec![Some(server), Some(client), Some(server + client)],
            Err(error) => {
                eprintln!("tunnel-bench: {}: {error}", system.name());
                vec![None; 3]
            }
        };
        rows.push(Row {
            name: system.name().to_owned(),
            about: system.about().to_owned(),
            cells,
        });
    }
    table(rows, connections).with_ratios(0).add_to(record);
    Ok(())
}

/// By how many bytes server and client grow for a connection.
fn grown(row: &str, identity: &Identity, connections: usize) -> io::Result<(f64, f64)> {
    let mut server = Process::start(&[row], identity)?;
    let address: SocketAddr = server.answer()?;
    let mut client = Process::start(&[row, &address.to_string()], identity)?;
    let client_before: f64 = client.ask(FIRST)?;
    let server_before: f64 = server.ask("")?;
    let client_after: f64 = client.ask(connections)?;
    let server_after: f64 = server.ask("")?;
    let each = |before: f64, after: f64| (after - before) / connections as f64;
    Ok((
        each(server_before, server_after),
        each(client_before, client_after),
    ))
}

/// A process of `hold`. It ends with its standard input.
struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn start(arguments: &[&str], identity: &Identity) -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("hold")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let piped = || io::Error::other("a pipe is missing");
        let output = BufReader::new(child.stdout.take().ok_or_else(piped)?);
        let input = child.stdin.take();
        let mut process = Self {
            child,
            input,
            output,
        };
        process.tell(identity.to_line())?;
        Ok(process)
    }

    fn tell(&mut self, line: impl std::fmt::Display) -> io::Result<()> {
        match &mut self.input {
            Some(input) => writeln!(input, "{line}"),
            None => Ok(()),
        }
    }

    fn answer<T: FromStr>(&mut self) -> io::Result<T> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let wrong = |_| io::Error::other("a process of memory has ended");
        line.trim().parse().map_err(wrong)
    }

    fn ask<T: FromStr>(&mut self, line: impl std::fmt::Display) -> io::Result<T> {
        self.tell(line)?;
        self.answer()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}

fn table(rows: Vec<Row>, connections: usize) -> Figures {
    Figures {
        name: "memory".into(),
        title: format!("Bytes of resident memory for each of {connections} idle connections, after an exchange"),
        columns: ["server", "client", "both"].map(String::from).into(),
        rows,
        notes: [
            "The kernel's memory (sockets, TCP's buffers) is not in it: two sockets for each connection of TCP, none of QUIC's.",
            "/tcp, /s2n, /quinn: the server's bytes to that row's; below 1 is better than the peer.",
            "paper: \"just under 5 KB\" a tunnel. design: quinn 227 KB for both sides.",
        ]
        .map(str::to_owned)
        .to_vec(),
    }
}
