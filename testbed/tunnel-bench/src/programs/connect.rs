//! New connections a second, each with a request and its answer.

use crate::measure::{self, Samples, Seat};
use crate::options::Options;
use crate::place::{self, Cores};
use crate::report::{Figures, Row};
use crate::system::Work;
use clew_record::Record;
use std::io;
use std::time::Duration;

/// What the design's machine had for each server-core-second (one core of a Zen 5, 2026).
const DESIGN: [(&str, f64); 9] = [
    ("tcp", 30_500.0),
    ("tls", 10_300.0),
    ("tls-p256", 9550.0),
    ("tls-hybrid", 8150.0),
    ("tls-resumed", 9810.0),
    ("quinn", 4600.0),
    ("quinn-hybrid", 4010.0),
    ("quinn-resumed", 4950.0),
    ("s2n-quic", 9760.0),
];

/// Runs the program.
pub fn run(
    options: &Options,
    record: &mut Record,
    cores: Cores,
    parallel: usize,
) -> io::Result<()> {
    let systems = measure::rows(options, Work::Connect)?;
    let mut seats = measure::on_loopback(&systems, cores, parallel)?;
    let length = measure::sample_length(options.seconds, options.rounds, seats.len());
    let samples = measure::in_turn(&mut seats, options.rounds, |seat| sample(seat, length));
    table(&samples, parallel).with_ratios(3).add_to(record);
    Ok(())
}

/// Wall rate, rate by the server's CPU time, and the CPU time of server and client for one, in microseconds.
fn sample(seat: &mut Seat<'_>, length: Duration) -> io::Result<Vec<f64>> {
    let server = seat.server.cpu()?;
    let client = place::own_cpu()?;
    let counted = seat.client.exchanges(length)?;
    let server = (seat.server.cpu()? - server).as_secs_f64();
    let client = (place::own_cpu()? - client).as_secs_f64();
    let n = counted.exchanges as f64;
    let wall = n / counted.time.as_secs_f64();
    Ok(vec![wall, n / server, server / n * 1e6, client / n * 1e6])
}

fn table(samples: &[Samples], parallel: usize) -> Figures {
    let row = |row: &Samples| Row {
        name: row.name.clone(),
        about: about(row),
        cells: vec![
            row.median(0),
            row.percentile(0, 10),
            row.percentile(0, 90),
            row.median(1),
            row.percentile(1, 10),
            row.percentile(1, 90),
            row.median(2),
            row.median(3),
            DESIGN
                .iter()
                .find(|(name, _)| *name == row.name)
                .map(|(_, rate)| *rate),
        ],
    };
    Figures {
        name: "connect".into(),
        title: format!("New connections with request and answer, {parallel} clients at once"),
        columns: ["conn/s", "p10", "p90", "/core-s", "/core-s p10", "/core-s p90", "server us", "client us", "design"].map(String::from).into(),
        rows: samples.iter().map(row).collect(),
        notes: [
            "conn/s: by the clock. /core-s: by the CPU time of the server's thread; design: the same on one core of a Zen 5.",
            "/tcp, /s2n, /quinn: /core-s to that row's; above 1 is better than the peer.",
            "paper, Table 2 (2013, AMD FX-4170 4.3 GHz, one core; connections without request and answer): new tunnels 7827,",
            "  with a user's authenticator 4967; connections on one tunnel 18453, with authenticator 8576.",
        ]
        .map(str::to_owned)
        .to_vec(),
    }
}

/// What the row is, and what was seen of it.
pub fn about(row: &Samples) -> String {
    match &row.note {
        Some(note) => format!("{} ({note})", row.about),
        None => row.about.clone(),
    }
}
