//! `line`: a line between two network namespaces, and the test of its accuracy.

use clap::{Args, Parser, Subcommand};
use line::{Condition, Device, Line, Loss, Queue, Threads, ip, selftest};
use nix::sys::signal::{SigSet, Signal};
use std::io;
use std::process::ExitCode;
use std::time::Duration;

/// Carries packets between two network namespaces: with delay, rate, queue, jitter, loss, reordering, duplication.
#[derive(Parser)]
#[command(name = "line", version)]
struct Options {
    #[command(subcommand)]
    command: Command,
    /// Run the line's threads with SCHED_FIFO
    #[arg(long, global = true)]
    realtime: bool,
    /// Do not sleep so shortly before a packet is due [default: 0s]
    #[arg(long, global = true, value_name = "TIME", value_parser = time)]
    spin: Option<Duration>,
}

#[derive(Subcommand)]
enum Command {
    /// Connects two namespaces of `ip netns` by devices net0 until interrupted; prints reports as JSON
    Between {
        /// The namespace of 198.18.0.1 and fd00:18::1
        a: String,
        /// The namespace of 198.18.0.2 and fd00:18::2
        b: String,
        #[command(flatten)]
        condition: Conditions,
        /// Without offloads: the kernel hands over single packets
        #[arg(long)]
        plain: bool,
    },
    /// Compares what was asked for with what packets met; exit status 1 if they differ
    Test,
}

#[derive(Args)]
struct Conditions {
    /// Delay each way, as in 10ms
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "0s")]
    delay: Duration,
    /// Bits a second, as in 300M [default: no limit]
    #[arg(long, value_parser = bits)]
    rate: Option<u64>,
    /// The queue's maximum, as in 64K (bytes) or 5ms [default: rate times round trip, at least 128K]
    #[arg(long, value_parser = line::units::queue)]
    queue: Option<Queue>,
    /// Up to so much more delay for each packet, in order
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "0s")]
    jitter: Duration,
    /// Per cent of the packets that are lost
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "0")]
    loss: f64,
    /// The mean number of packets lost in a row
    #[arg(long, value_name = "N", default_value = "1")]
    burst: f64,
    /// Per cent of the packets that later ones overtake
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "0")]
    reorder: f64,
    /// How much later these come
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "1ms")]
    reorder_by: Duration,
    /// Per cent of the packets that arrive twice
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "0")]
    duplicate: f64,
    /// Cut all super-packets, join none
    #[arg(long)]
    singles: bool,
    /// Which packets are chosen
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("line: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> io::Result<bool> {
    let threads = Threads {
        realtime: options.realtime,
        spin: options.spin.unwrap_or_default(),
    };
    match &options.command {
        Command::Test => {
            let findings = selftest(threads)?;
            for finding in &findings {
                println!("{}", serde_json::to_string(finding)?);
            }
            Ok(findings.iter().all(|finding| finding.holds))
        }
        Command::Between {
            a,
            b,
            condition,
            plain,
        } => {
            let signals = signals()?;
            let ends = [connect(a, 1, !plain)?, connect(b, 2, !plain)?];
            let line = Line::between(ends, threads)?;
            line.set(condition.to_condition())?;
            signals.wait()?;
            for report in line.report()? {
                println!("{}", serde_json::to_string(&report)?);
            }
            Ok(true)
        }
    }
}

/// What ends the program is waited for, in all threads.
fn signals() -> io::Result<SigSet> {
    let signals = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM]);
    signals.thread_block()?;
    Ok(signals)
}

fn connect(namespace: &str, own: u8, offload: bool) -> io::Result<Device> {
    let device = Device::open_in(namespace, "net0", offload)?;

    ip(&format!(
        "-n {namespace} address add 198.18.0.{own}/24 dev net0"
    ))?;
    ip(&format!(
        "-n {namespace} address add fd00:18::{own}/64 dev net0 nodad"
    ))?;
    ip(&format!("-n {namespace} link set net0 up"))?;
    Ok(device)
}

impl Conditions {
    fn to_condition(&self) -> Condition {
        Condition {
            delay: self.delay,
            rate: self.rate,
            queue: self.queue.unwrap_or(Queue::BandwidthDelay),
            jitter: self.jitter,
            loss: Loss {
                share: self.loss,
                burst: self.burst,
            },
            reorder: self.reorder,
            reorder_by: self.reorder_by,
            duplicate: self.duplicate,
            singles: self.singles,
            seed: self.seed,
        }
    }
}

fn time(text: &str) -> Result<Duration, String> {
    line::units::time(text)
}

fn bits(text: &str) -> Result<u64, String> {
    line::units::amount(text, 1000)
}

fn percent(text: &str) -> Result<f64, String> {
    line::units::percent(text)
}
