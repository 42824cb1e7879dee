//! Short samples of every row in turn, so that load on the machine falls on all rows alike.

use crate::options::Options;
use crate::place::{self, Cores, Server};
use crate::system::{Client, Work};
use crate::systems::{self, Shared};
use line::{Host, Line, Threads};
use std::io;
use std::net::IpAddr;
use std::thread;
use std::time::Duration;

/// No sample is shorter.
const SAMPLE_MIN: Duration = Duration::from_millis(20);

/// A row: its server runs, its client is ready.
pub struct Seat<'a> {
    pub system: &'a Shared,
    pub server: Server,
    pub client: Box<dyn Client + 'a>,
}

/// Servers of all systems, in the network namespace of this thread.
pub fn servers(systems: &[Shared], host: IpAddr, cores: Cores) -> io::Result<Vec<Server>> {
    let start = |system| Server::start(system, host, cores.server);
    systems
        .iter()
        .map(|system| start(system).map_err(|error| named(system, &error)))
        .collect()
}

/// Clients of these servers, on this thread.
pub fn seats<'a>(
    systems: &'a [Shared],
    servers: Vec<Server>,
    cores: Cores,
    parallel: usize,
) -> io::Result<Vec<Seat<'a>>> {
    place::pin(cores.client)?;
    let seat = |(system, server): (&'a Shared, Server)| {
        let client = system.client(server.address, parallel);
        let client = client.map_err(|error| named(system, &error))?;
        Ok(Seat {
            system,
            server,
            client,
        })
    };
    systems.iter().zip(servers).map(seat).collect()
}

/// The same, both on the loopback device.
pub fn on_loopback<'a>(
    systems: &'a [Shared],
    cores: Cores,
    parallel: usize,
) -> io::Result<Vec<Seat<'a>>> {
    let servers = servers(systems, IpAddr::from([127, 0, 0, 1]), cores)?;
    seats(systems, servers, cores, parallel)
}

/// Runs `work` on a thread of the client's host, the servers being on another host at the other end of a line.
pub fn on_line<T: Send>(
    systems: &[Shared],
    cores: Cores,
    work: impl FnOnce(&mut [Seat<'_>], &Line) -> io::Result<T> + Send,
) -> io::Result<T> {
    let on_server = || {
        let end = Host::Server.enter(false)?;
        Ok((end, servers(systems, Host::Server.address(), cores)?))
    };
    let on_client = |end, servers| {
        let line = Line::between([end, Host::Client.enter(false)?], Threads::default())?;
        work(&mut seats(systems, servers, cores, 1)?, &line)
    };
    thread::scope(|scope| {
        let (end, servers) = joined(scope.spawn(on_server))?;
        joined(scope.spawn(move || on_client(end, servers)))
    })
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, io::Result<T>>) -> io::Result<T> {
    let panicked = |_| Err(io::Error::other("a thread panicked"));
    thread.join().unwrap_or_else(panicked)
}

/// The rows of a program, if asked for by `--rows`.
pub fn rows(options: &Options, work: Work) -> io::Result<Vec<Shared>> {
    let mut rows = systems::all(&systems::identity::Identity::new()?);
    if let Some(name) = options
        .rows
        .iter()
        .find(|name| rows.iter().all(|r| r.name() != *name))
    {
        let names: Vec<_> = rows.iter().map(|row| row.name()).collect();
        let names = names.join(", ");
        return Err(io::Error::other(format!(
            "--rows: no row {name}\nhint: there are {names}"
        )));
    }
    let wanted = |name: &str| options.rows.is_empty() || options.rows.iter().any(|n| n == name);
    rows.retain(|row| row.does(work) && wanted(row.name()));
    if rows.is_empty() {
        return Err(io::Error::other(
            "--rows: none of these is a row of this program",
        ));
    }
    Ok(rows)
}

fn named(system: &Shared, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", system.name()))
}

/// What came out of a row: each sample has a value for each of the columns.
pub struct Samples {
    pub name: String,
    pub about: String,
    pub note: Option<String>,
    values: Vec<Vec<f64>>,
}

impl Samples {
    /// None yet.
    pub fn new(system: &Shared) -> Self {
        Self {
            name: system.name().to_owned(),
            about: system.about().to_owned(),
            note: None,
            values: Vec::new(),
        }
    }

    /// One more.
    pub fn push(&mut self, values: Vec<f64>) {
        self.values.push(values);
    }

    /// The value below which so many per cent of a column are.
    pub fn percentile(&self, column: usize, percent: usize) -> Option<f64> {
        let values = self
            .values
            .iter()
            .filter_map(|sample| sample.get(column).copied());
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        values
            .get(values.len().checked_sub(1)? * percent / 100)
            .copied()
    }

    pub fn median(&self, column: usize) -> Option<f64> {
        self.percentile(column, 50)
    }
}

/// Samples of all rows in turn. The first round warms up and is not counted; what fails twice ends its row.
pub fn in_turn(
    seats: &mut [Seat<'_>],
    rounds: u32,
    mut sample: impl FnMut(&mut Seat<'_>) -> io::Result<Vec<f64>>,
) -> Vec<Samples> {
    let mut all: Vec<_> = seats.iter().map(|seat| Samples::new(seat.system)).collect();
    let mut failures = vec![0; seats.len()];
    for round in 0..=rounds {
        for ((seat, samples), failures) in seats.iter_mut().zip(&mut all).zip(&mut failures) {
            if *failures > 1 {
                continue;
            }
            match sample(seat) {
                Ok(values) if round > 0 => samples.push(values),
                Ok(_) => {}
                Err(error) => {
                    *failures += 1;
                    eprintln!("tunnel-bench: {}: {error}", samples.name);
                }
            }
        }
    }
    for ((seat, samples), failures) in seats.iter().zip(&mut all).zip(failures) {
        samples.note = seat.client.note();
        if failures > 0 {
            samples.note = Some(format!("failed {failures} times"));
        }
    }
    all
}

/// How long a sample lasts, if all of them are to take that time together.
pub fn sample_length(time: Duration, rounds: u32, rows: usize) -> Duration {
    (time / ((rounds + 1) * rows as u32)).max(SAMPLE_MIN)
}
