//! What a tunnel's server computes, without the network: Tables 1 to 3 of MinimaLT.
//!
//! Clients prepare their packets outside the measured time. Inside it is all that the server's engine does
//! with them, from the datagram as it came to the sealed answer.

mod pair;

use crate::measure::Case;
use crate::options::Options;
use crate::report::{self, Source};
use clew_record::Row;
use clew_record::table::{BLANK, Table, number};
use clew_tunnel::limits::PACKET;
use pair::{Kind, Pair};
use std::io;

const PAPER: &str = "paper";
const PROTOTYPE: &str = "prototype";

const SOURCES: [Source; 2] = [
    Source {
        name: PAPER,
        caveat: "MinimaLT, 2013: Ethos on one core of 3.3 GHz, with network",
    },
    Source {
        name: PROTOTYPE,
        caveat: "the design's: Zen 5 at about 5 GHz, with UDP, without RPCs and timers",
    },
];

/// Bytes of a bulk RPC's argument: it fills a packet.
const BULK: usize = PACKET - 40 - 4 - 12;

/// Tunnels whose memory is measured.
const IDLE: usize = 50_000;

/// Tunnels whose first packets come in one call of the system.
const BATCHES: [usize; 4] = [1, 8, 32, 128];

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    // Before anything else: what others freed would be taken again, and not show.
    let memory = pair::memory_of_idle(IDLE);
    let mut cases = Vec::new();
    for (kind, paper, prototype) in [
        (Kind::Anonymous, 7_827.0, 111_000.0),
        (Kind::Bound, 4_967.0, 78_000.0),
        (Kind::Box, 4_967.0, 78_000.0),
    ] {
        for batch in BATCHES {
            let case = new_tunnels(kind, batch).quote(PAPER, 1e6 / paper);
            cases.push(case.quote(PROTOTYPE, 1e6 / prototype));
        }
    }
    cases.push(connections(Kind::Anonymous).quote(PAPER, 1e6 / 18_453.0));
    cases.push(connections(Kind::Bound).quote(PAPER, 1e6 / 8_576.0));
    cases.push(puzzles().quote(PAPER, 1e6 / 386_935.0));
    cases.push(bulk("bulk-sent", true));
    cases.push(bulk("bulk-received", false));
    let (mut record, _) = report::measure(options, &SOURCES, cases)?;
    let idle = format!("An idle tunnel with one connection takes {memory} bytes ({IDLE} of them).");
    record.notes.push(idle);
    record.tables.push(rates(&record.rows));
    record.print(options.json)
}

/// How many a second.
fn rates(rows: &[Row]) -> Table {
    let columns = ["row", "us", "a second", "Gbit/s of bytes in RPCs", "work"];
    let title = "Medians on one core, without sockets; decryption, engine and encryption included";
    let mut table = Table::new("rates", title, columns);
    for row in rows {
        let rate = 1e6 / row.median_us;
        let bits = match row.name.starts_with("bulk") {
            true => format!("{:.2}", rate * BULK as f64 * 8.0 / 1e9),
            false => BLANK.into(),
        };
        let us = number(row.median_us);
        let cells = [us, format!("{rate:.0}"), bits, row.work.clone()];
        table.row(row.name.clone(), cells);
    }
    table
}

/// First packets with one connection and one RPC each, and their answers.
fn new_tunnels(kind: Kind, batch: usize) -> Case<'static> {
    let about = match kind {
        Kind::Anonymous => "a new tunnel: create and an RPC in its first packet, and the answer",
        Kind::Bound => "the same of a user, authenticator bound",
        Kind::Box => "the same of a user, authenticator box",
    };
    let mut pair = Pair::new(kind);
    Case::timed(format!("new-{}-x{batch}", kind.name()), about, move || {
        if pair.is_full() {
            pair = Pair::new(kind);
        }
        pair.open(batch)
    })
}

/// Connections of one tunnel: create, an RPC, its answer, close.
fn connections(kind: Kind) -> Case<'static> {
    let about = match kind {
        Kind::Anonymous => "a connection of a tunnel: create, an RPC, its answer, close",
        _ => "the same of a user, authenticator bound",
    };
    let mut pair = Pair::new(kind);
    let tunnel = pair.tunnel();
    Case::timed(format!("connection-{}", kind.name()), about, move || {
        pair.connections(tunnel)
    })
}

/// An interrogation, and the check of its solution.
fn puzzles() -> Case<'static> {
    let mut pair = Pair::asking();
    let about = "an interrogation, and the check of its solution";
    Case::timed("puzzle", about, move || pair.puzzles())
}

/// RPCs of [`BULK`] bytes on one connection.
fn bulk(name: &'static str, is_sent: bool) -> Case<'static> {
    let mut pair = Pair::new(Kind::Anonymous);
    let connection = pair.bulk_connection();
    Case::timed(
        name,
        "a packet full of bytes, with its share of acks",
        move || pair.bulk(connection, is_sent),
    )
}
