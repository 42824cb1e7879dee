//! The command line.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// Measures how fast connections are made and used: plain TCP, TLS 1.3 over TCP (rustls), quinn and s2n-quic, all
/// of one run. Every row of a table does the same work: a new connection, a request of 28 bytes, an
/// answer of 58, as in the evaluation of MinimaLT (2013).
#[derive(Parser, Debug)]
#[command(
    name = "tunnel-bench",
    version,
    after_help = "Example: tunnel-bench connect --seconds 60 --rows tcp,tls,quinn\n\
                  README.md says what each row is and what its figures mean."
)]
pub struct Options {
    #[command(subcommand)]
    pub command: Command,

    /// About how long to measure, all rows together; memory and loss take the time they need
    #[arg(long, global = true, value_name = "N", default_value = "30", value_parser = seconds)]
    pub seconds: Duration,

    /// How many samples of every row (the rows take turns); fewer than 11 make no percentiles
    #[arg(long, global = true, value_name = "N", default_value = "11", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,

    /// Only these rows; ratios are of rows that are among them
    #[arg(long, global = true, value_name = "NAME,...", value_delimiter = ',')]
    pub rows: Vec<String>,

    /// Prints JSON Lines, the format of tools/bench/recorded/tunnel-NAME.jsonl
    #[arg(long, global = true)]
    pub json: bool,

    /// The folder for plots (of latency and loss)
    #[arg(long, global = true, value_name = "DIR")]
    pub svg: Option<PathBuf>,

    /// The core of the servers' threads (default: the first that may be used)
    #[arg(long, global = true, value_name = "N")]
    pub server_core: Option<usize>,

    /// The core of the clients' thread (default: the next)
    #[arg(long, global = true, value_name = "N")]
    pub client_core: Option<usize>,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// New connections a second, request and answer included, and the CPU time of each
    Connect {
        /// How many clients at once
        #[arg(long, value_name = "N", default_value = "16")]
        parallel: usize,
    },

    /// Gbit/s of one stream of one connection, from server to client
    Bulk,

    /// How long one connection with request and answer takes, by the delay of the line (as root)
    Latency {
        /// Delays that the line adds each way, in milliseconds
        #[arg(long, value_name = "MS,...", value_delimiter = ',', default_values = ["0", "0.0625", "0.25", "0.5", "1", "4", "16", "64"])]
        delays: Vec<f64>,
    },

    /// Bytes of memory for each idle connection
    Memory {
        /// How many connections
        #[arg(long, value_name = "N", default_value = "1000")]
        connections: usize,
    },

    /// How long a transfer takes on a line that loses packets (as root)
    Loss(Lossy),

    /// Serves a row until it is ended, for `fetch` on another host
    Serve {
        row: String,
        /// The address to listen on
        host: std::net::IpAddr,
        /// Gets the server's port and certificates
        file: PathBuf,
    },

    /// Gets bytes from `serve` on a new connection, and prints the milliseconds
    Fetch {
        row: String,
        /// The server's file
        file: PathBuf,
        /// How many
        #[arg(long, value_name = "BYTES", default_value = "1000000")]
        bytes: u64,
    },

    /// A process of `memory`
    #[command(hide = true)]
    Hold {
        row: String,
        /// The server's address; without it, this is the server
        server: Option<std::net::SocketAddr>,
    },
}

/// The line of `loss`, and what goes over it.
#[derive(Args, Debug)]
pub struct Lossy {
    /// Per cent of the packets that the line loses, in each direction
    #[arg(long, value_name = "PERCENT,...", value_delimiter = ',', default_values = ["0", "0.1", "1", "3"])]
    pub loss: Vec<f64>,

    /// How much is transferred
    #[arg(long, value_name = "BYTES", default_value = "4194304")]
    pub bytes: u64,

    /// The delay of the line each way, in milliseconds
    #[arg(long, value_name = "MS", default_value = "5")]
    pub delay: f64,

    /// Which packets are lost: every row and round has its own of the same seeds
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number")?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
