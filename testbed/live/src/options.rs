//! The command line.

use crate::attack::Attack;
use crate::scenarios::memory::Hold;
use crate::synchronous::Synchronous;
use clap::{Args, Parser, Subcommand};
use line::{Queue, Threads, units};
use std::path::PathBuf;
use std::time::Duration;

/// Measures systems that carry IP packets between two sites, in network namespaces of this machine.
#[derive(Parser)]
#[command(
    name = "live-bench",
    version,
    after_help = "Example: sudo live-bench throughput --rtt 1,20 --rate 300M --json\n\
                  README.md says what each scenario builds and what its figures mean."
)]
pub struct Options {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub common: Common,
    /// The folder for plots (of figure2 and latency)
    #[arg(long, global = true, value_name = "DIR")]
    pub svg: Option<PathBuf>,
}

/// What all scenarios have.
#[derive(Args, Clone)]
pub struct Common {
    /// Only these systems [default: all that this machine has]
    #[arg(long, global = true, value_name = "NAME,...", value_delimiter = ',')]
    pub systems: Vec<String>,
    /// How often to run each system; they take turns
    #[arg(long, global = true, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Print JSON Lines, the format of tools/bench/recorded
    #[arg(long, global = true)]
    pub json: bool,
    /// Precursors that each signer has before the first packet
    #[arg(long, global = true, value_name = "N", default_value = "16384", value_parser = clap::value_parser!(u32).range(1..=131_072))]
    pub pool: u32,
    /// Run the line with SCHED_FIFO
    #[arg(long, global = true)]
    pub realtime: bool,
}

impl Common {
    /// How the line's threads run.
    pub fn threads(&self) -> Threads {
        Threads {
            realtime: self.realtime,
            ..Threads::default()
        }
    }
}

#[derive(Subcommand)]
pub enum Command {
    /// Streams by round trip and loss
    Throughput(Streams),
    /// Clue's Figure 2: streams by round trip, one optimisation after another
    Figure2(Figure2),
    /// Writes the plots of a record again, into its folder unless --svg names one
    Plot {
        /// What --json printed
        record: PathBuf,
    },
    /// What each stage of a packet's way costs, by the size of its block
    Stages(Stages),
    /// Resident memory of senders and receivers a flow
    Memory {
        /// How many flows
        #[arg(long, value_name = "N", default_value = "8192", value_parser = clap::value_parser!(u32).range(64..=16_384))]
        flows: u32,
    },
    /// Datagrams of 64 bytes, as many as fit
    Small {
        /// How long each case takes
        #[arg(long, value_name = "TIME", value_parser = units::time, default_value = "5s")]
        time: Duration,
    },
    /// How fast pools of precursors are filled again
    Refill {
        /// How long the streams take
        #[arg(long, value_name = "TIME", value_parser = units::time, default_value = "5s")]
        time: Duration,
    },
    /// Writes the tables of all pages from the recorded runs, as clew-bench pages does
    Pages {
        /// Only compares them
        #[arg(long)]
        check: bool,
    },
    /// Round trips of single packets at low load
    Latency(Pings),
    /// Honest streams beside an attacker
    Flood(Flood),
    /// Whether programs work: ping, iperf3, curl, ssh, DNS, QUIC; exit status 1 if one does not
    Works {
        /// What lies between the carriers [default: all]
        #[arg(long, value_name = "SHAPE,...", value_delimiter = ',')]
        shapes: Vec<crate::topology::Shape>,
        /// tunnel-bench, for QUIC [default: none]
        #[arg(long, value_name = "PATH")]
        tunnel_bench: Option<PathBuf>,
        /// A Python that has aioquic, for QUIC without tunnel-bench [default: none]
        #[arg(long, value_name = "PATH")]
        python: Option<PathBuf>,
    },
    /// An observer's copy of all packets; exit status 1 if it lacks some
    Observe(Observe),
    /// Removes what a killed run left behind
    Clean,
    /// Sends datagrams with any source address, in this namespace
    Attack(Attack),
    /// Carries packets as Clue did before its optimisations, in this namespace
    #[command(hide = true)]
    Synchronous(Synchronous),
    /// Holds flows, and says how much memory they take
    #[command(hide = true)]
    Hold(Hold),
}

/// Line and streams of `throughput` and `figure2`.
#[derive(Args, Clone)]
pub struct Conditions {
    /// Bits a second of the line, as in 300M [default: no limit]
    #[arg(long, value_name = "BITS", value_parser = bits)]
    pub rate: Option<u64>,
    /// The queue before that rate, as in 384K (bytes) or 10ms [default: rate times round trip, at least 128K]
    #[arg(long, value_parser = units::queue)]
    pub queue: Option<Queue>,
    /// Per cent of the packets lost each way, as in 0,0.1,1,5
    #[arg(long, value_name = "PERCENT,...", value_delimiter = ',', value_parser = units::percent, default_value = "0")]
    pub loss: Vec<f64>,
    /// Congestion control of the streams
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    pub congestion: String,
    /// How long each case runs before it is measured
    #[arg(long, value_name = "TIME", value_parser = units::time, default_value = "1s")]
    pub warm_up: Duration,
}

/// The streams of `throughput`.
#[derive(Args)]
pub struct Streams {
    /// Round trips of the line
    #[arg(long, value_name = "TIME,...", value_delimiter = ',', value_parser = units::time, default_value = "1ms,20ms,80ms,160ms")]
    pub rtt: Vec<Duration>,
    #[command(flatten)]
    pub conditions: Conditions,
    /// The mean number of packets lost in a row
    #[arg(long, value_name = "N", default_value = "1")]
    pub burst: f64,
    /// Streams at once
    #[arg(long, value_name = "N", default_value = "1")]
    pub parallel: u32,
    /// UDP datagrams of that length in place of TCP
    #[arg(long, value_name = "BYTES")]
    pub datagrams: Option<usize>,
    /// How long each case takes
    #[arg(long, value_name = "TIME", value_parser = units::time, default_value = "5s")]
    pub time: Duration,
}

/// The streams of `figure2`.
#[derive(Args)]
pub struct Figure2 {
    /// Whose signatures
    #[arg(long, value_enum, default_value = "xr")]
    pub scheme: SchemeName,
    /// Round trips of the line
    #[arg(long, value_name = "TIME,...", value_delimiter = ',', value_parser = units::time, default_value = "1ms,5ms,10ms,20ms,40ms,80ms,160ms")]
    pub rtt: Vec<Duration>,
    #[command(flatten)]
    pub conditions: Conditions,
    /// How long each case takes
    #[arg(long, value_name = "TIME", value_parser = units::time, default_value = "2s")]
    pub time: Duration,
}

/// A group signature scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SchemeName {
    /// XR
    Xr,
    /// BBS04, the paper's
    Bbs04,
}

impl SchemeName {
    /// As `clew group create` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Xr => "xr",
            Self::Bbs04 => "bbs04",
        }
    }
}

/// What `stages` measures.
#[derive(Args)]
pub struct Stages {
    /// Whose signatures
    #[arg(long, value_enum, default_value = "xr")]
    pub scheme: SchemeName,
    /// Packets of a block
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "1,4,8,16,64"
    )]
    pub blocks: Vec<u16>,
    /// Blocks of each size
    #[arg(long, value_name = "N", default_value = "300")]
    pub samples: u32,
}

/// The echoes of `latency`.
#[derive(Args)]
pub struct Pings {
    /// How many
    #[arg(long, value_name = "N", default_value = "400")]
    pub count: u32,
    /// The time between two
    #[arg(long, value_name = "TIME", value_parser = units::time, default_value = "10ms")]
    pub pause: Duration,
    /// What the line adds each way
    #[arg(long, value_name = "TIME", value_parser = units::time, default_value = "0s")]
    pub delay: Duration,
}

/// What `flood` sends.
#[derive(Args)]
pub struct Flood {
    /// Honest bits a second
    #[arg(long, value_name = "BITS", value_parser = bits, default_value = "5M")]
    pub honest: u64,
    /// How many packets for each honest one of kinds without a valid hash part, and of polluted ones
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "10"
    )]
    pub times: Vec<u32>,
    /// The same of kinds with a valid hash part: forged and polluted
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "10"
    )]
    pub valid_times: Vec<u32>,
    /// What is forged
    #[arg(
        long,
        value_name = "KIND,...",
        value_delimiter = ',',
        default_value = "random,replay,altered,fragments,forged"
    )]
    pub kinds: Vec<crate::attack::Kind>,
    /// Whose address the attacker sends from
    #[arg(long, value_enum, default_value = "peer")]
    pub source: FloodSource,
    /// Round trip of the line
    #[arg(long, value_name = "TIME", value_parser = units::time, default_value = "20ms")]
    pub rtt: Duration,
    /// How long each case takes
    #[arg(long, value_name = "TIME", value_parser = units::time, default_value = "5s")]
    pub time: Duration,
}

/// The source addresses of a flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FloodSource {
    /// The honest peer's
    Peer,
    /// The attacker's own
    Own,
    /// A random one for each packet
    Random,
}

/// What `observe` does.
#[derive(Args)]
pub struct Observe {
    /// Keep the observer's capture
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Run a program of the observer's beside (its device is tap0), as in "clew verify -i tap0"
    #[arg(long, value_name = "COMMAND")]
    pub program: Option<String>,
    /// How long traffic flows
    #[arg(long, value_name = "TIME", value_parser = units::time, default_value = "3s")]
    pub time: Duration,
}

fn bits(text: &str) -> Result<u64, String> {
    units::amount(text, 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An option of a scenario that has the name of a common one would end the program.
    #[test]
    fn every_scenario_is_read() {
        let carrier = "synchronous --device t --port 1 --remote 10.0.0.1:1 --keys k --side near --precursors 0";
        let hold = "hold --side receiver --flows 64 --keys k --datagrams d";
        let others = [
            "throughput",
            "figure2",
            "stages",
            "memory",
            "small",
            "refill",
            "pages",
            "latency",
            "flood",
            "works",
            "observe",
            "clean",
            "plot r",
        ];
        for line in others.into_iter().chain([carrier, hold]) {
            let words = ["live-bench"].into_iter().chain(line.split(' '));
            assert!(Options::try_parse_from(words).is_ok(), "{line}");
        }
    }
}
