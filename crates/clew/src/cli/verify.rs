//! `clew verify`, of captures and of an interface.

use super::{parse_address, parse_net};
use crate::clock::parse_duration;
use crate::observer::parse_sample;
use crate::output::STANDARD_STREAM;
use crate::records::Format;
use clap::Args;
use ipnet::IpNet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

const OBSERVE: &str = "Observing an interface";

/// `clew verify`
#[derive(Args, Debug)]
pub struct Verify {
    /// Group file (repeatable)
    #[arg(long, value_name = "GROUPFILE", required = true)]
    pub group: Vec<PathBuf>,
    /// Capture to verify, or - for standard input
    #[arg(
        value_name = "IN",
        required_unless_present = "interface",
        conflicts_with = "interface"
    )]
    pub input: Option<PathBuf>,
    /// Also write a pcapng with each packet's verdict as its comment. With -, the report goes to
    /// standard error
    #[arg(
        short,
        long,
        visible_short_alias = 'w',
        value_name = "ANNOTATED.pcapng",
        conflicts_with = "interface"
    )]
    pub output: Option<PathBuf>,
    /// Format of the report
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// Also draw verdicts over time, for all packets and for each flow
    #[arg(long, value_name = "FILE.svg", conflicts_with = "interface")]
    pub plot: Option<PathBuf>,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Verify only the last signature of each complete window (sign --mode window). Faster, but
    /// packets whose own signature was not verified may not be openable
    #[arg(long)]
    pub whole_windows: bool,
    /// Exit with 1 if any IP packet is unsigned
    #[arg(long)]
    pub strict: bool,
    /// Largest difference between timestamps and now, as 30s, 5m or 2h [default: as
    /// --at-capture-time]
    #[arg(long, value_name = "D", value_parser = parse_duration, conflicts_with = "at_capture_time")]
    pub max_age: Option<u64>,
    /// Accept timestamps within 30 s of the capture's record [default]
    #[arg(long)]
    pub at_capture_time: bool,
    /// How long to accept an epoch after the next one starts
    #[arg(long, value_name = "D", value_parser = parse_duration, default_value = "60s")]
    pub grace: u64,
    /// Replace existing output files
    #[arg(long, conflicts_with = "interface")]
    pub force: bool,
    /// What to do with an interface.
    #[command(flatten)]
    pub observe: Observe,
}

impl Verify {
    /// Returns the capture, or the name of the interface.
    pub fn source(&self) -> &Path {
        let interface = self.observe.interface.as_deref().map(Path::new);
        let input = self.input.as_deref();
        // The table of arguments asks for one of both.
        input.or(interface).unwrap_or(Path::new(STANDARD_STREAM))
    }

    /// Returns the format that --format or --json selects.
    pub fn format(&self) -> Format {
        match self.json {
            true => Format::Json,
            false => self.format,
        }
    }
}

/// What `clew verify -i` is told besides.
#[derive(Args, Debug)]
#[command(next_help_heading = OBSERVE)]
pub struct Observe {
    /// Verify what passes this interface, until interrupted. Needs CAP_NET_RAW
    #[arg(short, long, value_name = "IFACE")]
    pub interface: Option<String>,
    /// Receive packets for other hosts, too
    #[arg(long, requires = "interface")]
    pub promiscuous: bool,
    /// Size of the kernel's receive buffer [default: 16M, or as much as the system gives]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, requires = "interface")]
    pub buffer: Option<u64>,
    /// Exit with 2 if the interface goes down, instead of waiting for it
    #[arg(long, requires = "interface")]
    pub exit_if_down: bool,
    /// Verify only packets from these sources (repeatable) [default: all]
    #[arg(long, value_name = "CIDR", value_parser = parse_net, requires = "interface")]
    pub from: Vec<IpNet>,
    /// Verify only packets to these destinations (repeatable) [default: all]
    #[arg(long, value_name = "CIDR", value_parser = parse_net, requires = "interface")]
    pub to: Vec<IpNet>,
    /// Verify one connection in N, whole, chosen at random [default: all]
    #[arg(long, value_name = "1/N", value_parser = parse_sample, requires = "interface")]
    pub sample: Option<u32>,
    /// Exit after this time [default: run until interrupted]
    #[arg(long, value_name = "D", value_parser = duration, requires = "interface")]
    pub duration: Option<Duration>,
    /// Exit after this number of packets
    #[arg(long, value_name = "N", requires = "interface")]
    pub count: Option<u64>,
    /// Write one line per flow in this time, instead of one per packet. Not for --format table
    #[arg(long, value_name = "D", value_parser = duration, requires = "interface")]
    pub flows: Option<Duration>,
    /// Append the report to this file, opened again on SIGHUP [default: standard output]
    #[arg(long, value_name = "FILE", requires = "interface")]
    pub report: Option<PathBuf>,
    /// Serve metrics for Prometheus at this address
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address, requires = "interface")]
    pub metrics: Option<SocketAddr>,
    /// Keep all packets with their verdicts in a ring of files PREFIX-NUMBER.pcapng
    #[arg(long, value_name = "PREFIX", requires = "interface")]
    pub write: Option<PathBuf>,
    /// Most files of the ring
    #[arg(long, value_name = "N", default_value = "16", requires = "write",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub ring_files: u32,
    /// Size at which a file of the ring ends
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, default_value = "64M",
        requires = "write")]
    pub ring_size: u64,
    /// Time after which a file of the ring ends
    #[arg(long, value_name = "D", value_parser = duration, default_value = "5m", requires = "write")]
    pub ring_time: Duration,
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map(Duration::from_nanos)
}

/// Reads a number of bytes, such as 65536, 64K, 8M or 1G.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let units = [("K", 10), ("M", 20), ("G", 30)];
    let unit = units
        .iter()
        .find_map(|(unit, bits)| Some((text.strip_suffix(unit)?, *bits)));
    let (number, bits) = unit.unwrap_or((text, 0));
    let number = number.parse::<u32>().ok().filter(|number| *number > 0);
    let number = number.ok_or_else(|| "use the form 65536, 64K, 8M or 1G".to_owned())?;
    Ok(u64::from(number) << bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_bytes("65536"), Ok(65_536));
        assert_eq!(parse_bytes("64K"), Ok(65_536));
        assert_eq!(parse_bytes("1G"), Ok(1 << 30));
        for bad in ["", "0", "0M", "M", "1T", "-1", "1.5M"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
    }
}
