//! The table of commands: help, man pages and shell completions all come from here.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "help texts end with [default]"
)]

mod court;
mod flow;
mod group;
mod live;
mod log;
mod manager;
mod request;
mod trustee;
mod tunnel;
mod verify;
mod warrant;

pub use court::{Bundle, Extract, Judge, Match, Open, PacketOf, Salt, Share};
pub use flow::{
    AlgorithmName, CarriageName, CarriageOptions, DigestBytes, Flow, FlowCheck, FlowExtract,
    FlowInspect, FlowKeygen, FlowRelay, FlowSign, FlowVerify, FormName, HashName, KnownFlows,
    RuleName, Strength,
};
pub use group::{
    Enrol, Group, GroupCreate, GroupEnd, GroupPath, GroupRebase, GroupRegister, GroupSetLog,
    GroupWitness, Join, LogName, LogWitnesses, Revoke, SchemeName, Start, Update,
};
pub use live::{Down, LiveName, LiveStatus, Stage, Up};
pub use log::{
    Asked, Authored, Believed, EntryTo, GroupsLog, Log, LogAdd, LogAnchor, LogAnchorRing, LogBind,
    LogCount, LogCreate, LogCreateWitness, LogKeygen, LogProve, LogPublish, LogResult, LogServe,
    LogUnseal, LogVerify, LogWitness, Reached,
};
pub use manager::{
    AuthorRole, Manager, ManagerAdmit, ManagerAuthors, ManagerBackup, ManagerCatchUp, ManagerCheck,
    ManagerClock, ManagerDismiss, ManagerLogin, ManagerPlan, ManagerPrune, ManagerRestore,
    ManagerRetention, ManagerServe, ManagerSetLog,
};
pub use request::{Request, RequestFetch, RequestFile, RequestStatus};
pub use trustee::{
    GroupPlan, GroupReopen, InPlan, Trustee, TrusteeAnswer, TrusteeBegin, TrusteeCheck,
    TrusteeDeal, TrusteeFinish, TrusteeInit, TrusteeList, TrusteeLogin, TrusteeRefuse,
    TrusteeServe, TrusteeSetManager,
};
pub use tunnel::{
    AuthenticatorNames, Serving, Tunnel, TunnelConnect, TunnelDirectory, TunnelKeygen,
    TunnelKeygenServer, TunnelKeygenUser, TunnelName, TunnelServe, TunnelStatus,
};

pub use verify::{Observe, Verify};
pub use warrant::{Warrant, WarrantCreate, WarrantRequest, WarrantShow, WarrantSign};

use crate::secrets::Unlock;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clew_engine::WindowSize;
use clew_packet::WINDOW_MAX;
use ipnet::IpNet;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

const EXAMPLE: &str = "\
Example:
  clew demo                                         every step, on real packets
  clew group create acme --name acme
  clew enrol acme web-1 -o web-1.key
  clew sign --key web-1.key --from 10.0.0.1 in.pcap -o signed.pcap
  clew verify --group acme/public/group.clew signed.pcap

Exit status: 0 yes or done, 1 no (invalid signature or evidence), 2 could not tell, or bad usage";

/// Sign packets as a member of a group; only a quorum of trustees can tell which member.
#[derive(Parser, Debug)]
#[command(name = "clew", version, after_help = EXAMPLE, max_term_width = 100)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run every step on real packets: sign, verify, tamper, open, revoke
    Demo(Demo),
    /// Create, show and change a group
    #[command(subcommand)]
    Group(Group),
    /// Enrol a machine on this host, or invite it to join from its own
    Enrol(Enrol),
    /// Join a group from this host, by invitation
    Join(Join),
    /// Revoke machines by starting a new epoch
    Revoke(Revoke),
    /// Update a machine's key to new epochs, without the manager
    Update(Update),
    /// Serve a group's manager to devices
    #[command(subcommand)]
    Manager(Manager),
    /// Sign the packets of a capture
    Sign(Sign),
    /// Verify the packets of a capture, or live of an interface
    Verify(Verify),
    /// Remove one layer of signatures and restore the original file
    Strip(Strip),
    /// Print the trailer of one packet
    Show(Show),
    /// Copy one packet so that it can be verified and opened alone
    Extract(Extract),
    /// Write a trustee's share for opening a packet, or for a match
    Share(Share),
    /// Name the machine that sent a packet, using trustees' shares
    Open(Open),
    /// Tell whether a given machine sent a packet, using trustees' shares
    Match(Match),
    /// Check an opening, a match or a bundle offline, using public files
    Judge(Judge),
    /// Put evidence, all that it needs, and a report into one file for a court
    Bundle(Bundle),
    /// Draft, sign and show warrants, without which trustees with a policy answer nobody
    #[command(subcommand)]
    Warrant(Warrant),
    /// Ask a group's trustees through its manager: file, follow, fetch
    #[command(subcommand)]
    Request(Request),
    /// Generate or hand on an opening key that nobody holds alone (DKG)
    #[command(subcommand)]
    Trustee(Trustee),
    /// Keep, witness and audit a group's transparency log
    #[command(subcommand)]
    Log(Log),
    /// Sign, verify and relay flows of a known signer, multicast too
    #[command(subcommand)]
    Flow(Flow),
    /// Run encrypted tunnels to services (MinimaLT)
    #[command(subcommand)]
    Tunnel(Tunnel),
    /// Sign and verify the packets of this host as they come and go
    Up(Up),
    /// End a daemon and undo what clew up did
    Down(Down),
    /// Show what a daemon does
    Status(LiveStatus),
    /// Keep what clew up --confirm did
    Confirm(LiveName),
    /// Read a daemon's configuration, key and group files again
    Reload(LiveName),
    /// Print shell completions
    Completions(Completions),
    /// Write manual pages
    Man(Man),
}

/// An output that replaces a file only if asked to.
#[derive(Args, Debug)]
pub struct OutputFile {
    /// Output file, or - for standard output
    #[arg(short, long, visible_short_alias = 'w', value_name = "OUT")]
    pub output: PathBuf,
    /// Replace an existing output file
    #[arg(long)]
    pub force: bool,
}

/// An output that never replaces a file.
#[derive(Args, Debug)]
pub struct NewFile {
    /// Output file. An existing file is not replaced
    #[arg(short, long, visible_short_alias = 'w', value_name = "FILE")]
    pub output: PathBuf,
}

/// `clew demo`
#[derive(Args, Debug)]
pub struct Demo {
    /// Capture to use [default: a built-in one]
    pub capture: Option<PathBuf>,
    /// Folder for all files of the demo
    #[arg(
        short,
        long,
        visible_short_alias = 'w',
        value_name = "DIR",
        default_value = "clew-demo"
    )]
    pub output: PathBuf,
    /// Replace the folder of an earlier demo
    #[arg(long)]
    pub force: bool,
}

/// `clew sign`
#[derive(Args, Debug)]
pub struct Sign {
    /// Key of a machine (repeatable)
    #[arg(long, value_name = "MACHINE.key", required = true)]
    pub key: Vec<PathBuf>,
    /// Source addresses of the machine whose --key precedes (repeatable) [default: all]
    #[arg(long, value_name = "CIDR", value_parser = parse_net)]
    pub from: Vec<IpNet>,
    /// Capture to sign, or - for standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Where to write.
    #[command(flatten)]
    pub out: OutputFile,
    /// What one signature covers
    #[arg(long, value_enum, default_value = "tree")]
    pub mode: ModeName,
    /// Largest window, in packets, or "adaptive": all packets since the flow last paused for 10 ms.
    /// Requires --mode window [default: 8]
    #[arg(long, value_name = "K", value_parser = parse_window)]
    pub window: Option<WindowSize>,
    /// Largest block, in packets (1 to 1024). Requires --mode tree [default: 64]
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub block: Option<u16>,
    /// How a block's signature is spread over its packets. Coded requires --mode tree
    #[arg(long, value_enum, default_value = "full")]
    pub carriage: BlockCarriage,
    /// Let verifiers reject forgeries early, with longer trailers (xr: 48 bytes more; bbs04: 768)
    #[arg(long)]
    pub incremental: bool,
    /// Leave source address and port, which NAT rewrites, unsigned. Verifiers are told
    #[arg(long)]
    pub nat: bool,
    /// Leave TCP fields that routers may rewrite (ECN flags, MSS) unsigned
    #[arg(long)]
    pub tolerant: bool,
    /// Largest IP datagram to produce, in bytes [default: no limit]
    #[arg(long, value_name = "N")]
    pub mtu: Option<usize>,
    /// Treatment of packets that would become too large
    #[arg(long, value_enum, default_value = "pass")]
    pub oversize: OversizeName,
    /// Source of the signed timestamps
    #[arg(long, value_enum, default_value = "record")]
    pub time: TimeName,
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
    /// A block of packets of one flow, under a hash tree; each packet can be verified alone
    Tree,
}

/// How a block's signature is spread over its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BlockCarriage {
    /// The whole signature in every packet; each packet can be verified alone
    Full,
    /// A part of it in every packet, in blocks of 9 to 128: shorter trailers, but verifying one
    /// packet needs several of its block (clew show tells how many)
    Coded,
}

/// Treatment of packets that would exceed the MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OversizeName {
    /// Copy them unsigned
    Pass,
    /// Stop with an error
    Refuse,
}

/// Source of a packet's timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimeName {
    /// The capture's record
    Record,
    /// The clock of this host
    Now,
}

const STRIP_HELP: &str = "\
The restored file is the original, byte for byte, except for a snap length that was too short for
signed packets: it stays as sign raised it. When sign writes to a pipe, it warns if it raises one.";

/// `clew strip`
#[derive(Args, Debug)]
#[command(after_help = STRIP_HELP)]
pub struct Strip {
    /// Signed capture, or - for standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Where to write.
    #[command(flatten)]
    pub out: OutputFile,
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
    /// Shell
    pub shell: clap_complete::Shell,
}

/// `clew man`
#[derive(Args, Debug)]
pub struct Man {
    /// Folder for the pages, one per command
    #[arg(
        short,
        long,
        visible_short_alias = 'w',
        value_name = "DIR",
        default_value = "."
    )]
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

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "write an IP address and port, as 127.0.0.1:5004".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_table_does_not_contradict_itself() {
        Cli::command().debug_assert();
    }

    fn leaves(command: &clap::Command, found: &mut Vec<clap::Command>) {
        command.get_subcommands().for_each(|c| leaves(c, found));
        found.push(command.clone());
    }

    #[test]
    fn a_flag_is_the_same_in_every_command() {
        let mut commands = Vec::new();
        leaves(&Cli::command(), &mut commands);
        let arguments = commands.iter().flat_map(clap::Command::get_arguments);
        let mut group = None;
        for argument in arguments {
            let (Some(long), text) = (argument.get_long(), argument.get_help()) else {
                continue;
            };
            let letter = match long {
                "output" => Some('o'),
                "interface" => Some('i'),
                _ => None,
            };
            assert_eq!(argument.get_short(), letter, "--{long}");
            let second = (long == "output").then(|| vec!['w']);
            assert_eq!(argument.get_visible_short_aliases(), second, "--{long}");
            if long == "group" && argument.get_num_args() == Some(1.into()) {
                let text = text.map(ToString::to_string);
                assert_eq!(*group.get_or_insert(text.clone()), text);
            }
        }
    }

    #[test]
    fn networks_and_addresses() {
        assert_eq!(parse_net("10.0.0.1").unwrap().to_string(), "10.0.0.1/32");
        assert_eq!(parse_net("fd00::/8").unwrap().to_string(), "fd00::/8");
        assert!(parse_net("10.0.0.0/33").is_err());
        assert!(parse_address("[::1]:5004").is_ok());
        let refused = parse_address("localhost:5004").unwrap_err();
        assert_eq!(refused, "write an IP address and port, as 127.0.0.1:5004");
    }
}
