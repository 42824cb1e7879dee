//! Gbit/s of one stream.

use super::connect::about;
use crate::measure::{self, Samples, Seat};
use crate::options::Options;
use crate::place::{self, Cores};
use crate::report::{Figures, Row};
use crate::system::Work;
use clew_record::Record;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

/// The first transfer of a row, from which the length of the others follows.
const TRIAL: u64 = 64 << 20;

/// What the design's machine had.
const DESIGN: [(&str, f64); 6] = [
    ("tcp", 25.5),
    ("tls", 37.0),
    ("tls-chacha", 9.4),
    ("quinn", 8.3),
    ("quinn-chacha", 5.6),
    ("s2n-quic", 11.2),
];

/// Runs the program.
pub fn run(options: &Options, record: &mut Record, cores: Cores) -> io::Result<()> {
    let systems = measure::rows(options, Work::Bulk)?;
    let mut seats = measure::on_loopback(&systems, cores, 1)?;
    let length = measure::sample_length(options.seconds, options.rounds, seats.len());
    let mut sizes = BTreeMap::new();
    let samples = measure::in_turn(&mut seats, options.rounds, |seat| {
        let size = sizes.entry(seat.system.name().to_owned());
        let size = size.or_insert(TRIAL);
        let values = sample(seat, *size)?;
        *size = fitting(values[0], length);
        Ok(values)
    });
    table(&samples).with_ratios(5).add_to(record);
    Ok(())
}

/// How many bytes last so long.
fn fitting(gbits: f64, length: Duration) -> u64 {
    let bytes = gbits * 1e9 / 8.0 * length.as_secs_f64();
    (bytes as u64).max(TRIAL / 4)
}

/// Gbit/s by the clock, and by the CPU time of server, of client, and of whoever took more.
fn sample(seat: &mut Seat<'_>, bytes: u64) -> io::Result<Vec<f64>> {
    let server = seat.server.cpu()?;
    let client = place::own_cpu()?;
    let fetched = seat.client.fetch(bytes)?;
    let server = seat.server.cpu()? - server;
    let client = place::own_cpu()? - client;
    let rate = |time: Duration| bytes as f64 * 8.0 / 1e9 / time.as_secs_f64();
    let busier = rate(server.max(client));
    Ok(vec![
        rate(fetched.stream),
        rate(server),
        rate(client),
        busier,
    ])
}

fn table(samples: &[Samples]) -> Figures {
    let row = |row: &Samples| Row {
        name: row.name.clone(),
        about: about(row),
        cells: vec![
            row.median(0),
            row.percentile(0, 10),
            row.percentile(0, 90),
            row.median(1),
            row.median(2),
            row.median(3),
            DESIGN
                .iter()
                .find(|(name, _)| *name == row.name)
                .map(|(_, rate)| *rate),
        ],
    };
    Figures {
        name: "bulk".into(),
        title: "One stream of one connection, server to client, loopback, Gbit/s".into(),
        columns: ["Gbit/s", "p10", "p90", "/server-s", "/client-s", "/core-s", "design"].map(String::from).into(),
        rows: samples.iter().map(row).collect(),
        notes: [
            "/server-s, /client-s: Gbit for each second of CPU time of that side's thread; /core-s: of the busier one, so the rate of a quiet machine.",
            "/tcp, /s2n, /quinn: /core-s to that row's; above 1 is better than the peer.",
            "The loopback device has a MTU of 64 KiB, and TCP uses it; quinn and s2n-quic stay at 1500 by their defaults,",
            "  and the kernel never cuts what they hand over in large pieces (GSO).",
            "paper, Table 3 (1 Gbit/s Ethernet): MinimaLT 0.967 of unencrypted TCP, OpenSSL 0.946: both filled the line.",
        ]
        .map(str::to_owned)
        .to_vec(),
    }
}
