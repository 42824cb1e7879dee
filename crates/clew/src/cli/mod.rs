//! The table of commands: help, man pages and shell completions all come from here.

mod court;
mod flow;
mod group;
mod trustee;
mod tunnel;

pub use court::{Extract, Judge, Match, Open, PacketOf, Share};
pub use flow::{
    AlgorithmName, CarriageName, Carrying, DigestBytes, Flow, FlowCheck, FlowExtract, FlowInspect,
    FlowKeygen, FlowRelay, FlowSign, FlowVerify, FormName, HashName, Known, RuleName, Strength,
};
pub use group::{
    Enrol, Group, GroupCreate, GroupPath, GroupRebase, GroupRegister, GroupWitness, Join, Revoke,
    SchemeName, Start, Update,
};
pub use trustee::{
    Dealt, GroupPlan, GroupReopen, InPlan, Trustee, TrusteeBegin, TrusteeCheck, TrusteeDeal,
    TrusteeFinish,
};
pub use tunnel::{
    AuthenticatorNames, Serving, Tunnel, TunnelConnect, TunnelDirectory, TunnelKeygen,
    TunnelKeygenServer, TunnelKeygenUser, TunnelName, TunnelServe, TunnelStatus,
};

use crate::clock::parse_duration;
use crate::records::Format;
use crate::secrets::Unlock;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clew_engine::WindowSize;
use clew_packet::WINDOW_MAX;
use ipnet::IpNet;
use std::net::IpAddr;
use std::path::PathBuf;

const EXAMPLE: &str = "\
Example:
  clew demo                                               see all of it on real packets
  clew group create acme --name acme
  clew enrol acme web-1 -o web-1.key
  clew sign --key web-1.key --from 10.0.0.1 in.pcap -w signed.pcap
  clew verify --group acme/public/group.clew signed.pcap

Exit status: 0 yes, 1 no (a signature or evidence is invalid), 2 could not tell or bad usage.";

/// Accountable network traffic that identifies nobody: machines of a group sign their packets,
/// anybody verifies that some machine of the group did, and only several trustees together can say
/// which.
#[derive(Parser, Debug)]
#[command(name = "clew", version, after_help = EXAMPLE, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Show the whole on real packets: sign, verify, tamper, open, revoke, strip
    Demo(Demo),
    /// Create or look at a group
    #[command(subcommand)]
    Group(Group),
    /// Enrol a machine: on this host, or by invitation from the machine's own
    Enrol(Enrol),
    /// Join a group from this host, by invitation
    Join(Join),
    /// Revoke machines: the group's next epoch
    Revoke(Revoke),
    /// Bring a machine's key to the epochs in force and announced, without the manager
    Update(Update),
    /// Sign the packets of a capture
    Sign(Sign),
    /// Verify the packets of a capture
    Verify(Verify),
    /// Undo one run of signing: the original file back, byte for byte
    Strip(Strip),
    /// Say what one packet's trailer holds
    Show(Show),
    /// Take one packet out, verifiable and openable alone
    Extract(Extract),
    /// Give one trustee's share towards opening a packet, or comparing it with a machine
    Share(Share),
    /// Say which machine sent a packet, from the shares of several trustees
    Open(Open),
    /// Say whether one machine sent a packet, from the shares of several trustees
    Match(Match),
    /// Check an opening or a match: anybody can, offline, with public files
    Judge(Judge),
    /// Make an opening key that nobody holds alone, or hand one on: a trustee's steps
    #[command(subcommand)]
    Trustee(Trustee),
    /// Flow signatures: packets that name their signer, one by one verifiable, at line rate
    #[command(subcommand)]
    Flow(Flow),
    /// Encrypted tunnels: data in the first packet, users known by their keys (MinimaLT)
    #[command(subcommand)]
    Tunnel(Tunnel),
    /// Print completions for a shell
    Completions(Completions),
    /// Write the manual pages
    Man(Man),
}

/// `clew demo`
#[derive(Args, Debug)]
pub struct Demo {
    /// A capture to use instead of the built-in one
    pub capture: Option<PathBuf>,
    /// The folder for everything that the demo makes
    #[arg(short, long, value_name = "DIR", default_value = "clew-demo")]
    pub output: PathBuf,
    /// Replace the folder of an earlier demo
    #[arg(long)]
    pub force: bool,
}

/// `clew sign`
#[derive(Args, Debug)]
pub struct Sign {
    /// Key of a machine (may be given several times)
    #[arg(long, value_name = "MACHINE.key", required = true)]
    pub key: Vec<PathBuf>,
    /// Sources that the machine of the key before it owns (default: every packet)
    #[arg(long, value_name = "CIDR", value_parser = parse_net)]
    pub from: Vec<IpNet>,
    /// Capture to sign, - for standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Signed capture, - for standard output
    #[arg(short = 'w', value_name = "OUT")]
    pub output: PathBuf,
    /// What one signature covers
    #[arg(long, value_enum, default_value = "tree")]
    pub mode: ModeName,
    /// Packets of a window, at most, or "adaptive": those since the flow last paused for 10 ms (mode
    /// window)
    #[arg(long, value_name = "K", default_value = "8", value_parser = parse_window)]
    pub window: WindowSize,
    /// Packets of a block, at most (mode tree)
    #[arg(long, value_name = "M", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub block: u16,
    /// How a block's signature travels (mode tree)
    #[arg(long, value_enum, default_value = "full")]
    pub carriage: BlockCarriage,
    /// Carry what lets verifiers reject forgeries early (xr: 48 bytes more; bbs04: 768)
    #[arg(long)]
    pub incremental: bool,
    /// Leave out what address translation rewrites; verifiers are told that it is not attested
    #[arg(long)]
    pub nat: bool,
    /// Leave out what routers may rewrite in TCP (ECN flags, MSS)
    #[arg(long)]
    pub tolerant: bool,
    /// Largest IP datagram that may result, in bytes
    #[arg(long, value_name = "N")]
    pub mtu: Option<usize>,
    /// What to do with a packet that does not fit
    #[arg(long, value_enum, default_value = "pass")]
    pub oversize: OversizeName,
    /// Where timestamps come from
    #[arg(long, value_enum, default_value = "record")]
    pub time: TimeName,
    /// Replace OUT if it exists
    #[arg(long)]
    pub force: bool,
    /// What unlocks the keys.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// What one signature covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeName {
    /// One packet
    Each,
    /// A packet and those before it in its flow (Clue's windows)
    Window,
    /// A block of packets of one flow, under a tree of digests; each stays verifiable alone
    Tree,
}

/// How a block's signature travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BlockCarriage {
    /// All of it in every packet, each verifiable alone
    Full,
    /// A share of it in every packet, in blocks of 9 to 128: shorter, but it takes a part of the block
    /// to verify any of them (clew show says how many packets)
    Coded,
}

/// What to do with a packet that does not fit the MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OversizeName {
    /// Let it pass unsigned
    Pass,
    /// Stop
    Refuse,
}

/// Where a packet's timestamp comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimeName {
    /// The record's own time
    Record,
    /// The clock
    Now,
}

/// `clew verify`
#[derive(Args, Debug)]
pub struct Verify {
    /// Group file (may be given several times)
    #[arg(long, value_name = "GROUPFILE", required = true)]
    pub group: Vec<PathBuf>,
    /// Capture to verify, - for standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Write a pcapng whose packets carry their verdict as a comment, - for standard output (the
    /// result is then told on standard error)
    #[arg(short = 'w', value_name = "ANNOTATED.pcapng")]
    pub output: Option<PathBuf>,
    /// How the result is told
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// Draw verdicts over time, of all packets and of each flow
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Of a window (sign --mode window) that is here whole verify the last signature only: faster, but
    /// its other packets are valid by the word of the last one, and may not be openable
    #[arg(long)]
    pub whole_windows: bool,
    /// Unsigned IP packets are a no, too
    #[arg(long)]
    pub strict: bool,
    /// Timestamps must be this close to now (30s, 5m, 2h)
    #[arg(long, value_name = "D", value_parser = parse_duration, conflicts_with = "at_capture_time")]
    pub max_age: Option<u64>,
    /// Timestamps must be within 30 s of the record's time (the default)
    #[arg(long)]
    pub at_capture_time: bool,
    /// How long an epoch is accepted after its successor started
    #[arg(long, value_name = "D", value_parser = parse_duration, default_value = "60s")]
    pub grace: u64,
    /// Replace output files that exist
    #[arg(long)]
    pub force: bool,
}

impl Verify {
    /// The format, whichever way it was given.
    pub fn format(&self) -> Format {
        match self.json {
            true => Format::Json,
            false => self.format,
        }
    }
}

/// `clew strip`
#[derive(Args, Debug)]
pub struct Strip {
    /// Signed capture, - for standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Original capture, - for standard output
    #[arg(short = 'w', value_name = "OUT")]
    pub output: PathBuf,
    /// Replace OUT if it exists
    #[arg(long)]
    pub force: bool,
}

/// `clew show`
#[derive(Args, Debug)]
pub struct Show {
    /// Capture
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Frame number, from 1
    #[arg(long, value_name = "N")]
    pub packet: u64,
}

/// `clew completions`
#[derive(Args, Debug)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `clew man`
#[derive(Args, Debug)]
pub struct Man {
    /// Folder for one page per command
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub output: PathBuf,
}

fn parse_window(text: &str) -> Result<WindowSize, String> {
    if text == "adaptive" {
        return Ok(WindowSize::Adaptive);
    }
    let number = text.parse().ok().filter(|k| (1..=WINDOW_MAX).contains(k));
    let number = number.ok_or_else(|| format!("neither 1 to {WINDOW_MAX} nor adaptive"))?;
    Ok(WindowSize::Fixed(number))
}

/// A network in CIDR form, or one address.
fn parse_net(text: &str) -> Result<IpNet, String> {
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse()
        .or_else(|_| address())
        .map_err(|_| "write 10.0.0.1, 10.0.0.0/8 or fd00::/8".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_table_does_not_contradict_itself() {
        Cli::command().debug_assert();
    }

    #[test]
    fn networks_and_addresses() {
        assert_eq!(parse_net("10.0.0.1").unwrap().to_string(), "10.0.0.1/32");
        assert_eq!(parse_net("fd00::/8").unwrap().to_string(), "fd00::/8");
        assert!(parse_net("10.0.0.0/33").is_err());
    }
}
