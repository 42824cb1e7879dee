//! Flow signatures: `clew flow`.

use super::{OutputFile, parse_address};
use crate::clock::parse_duration;
use crate::flow::file::CONTENT_BYTES_MAX;
use crate::flow::policy::Policy;
use crate::secrets::{Seal, Unlock};
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use ipnet::IpNet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLE: &str = "\
Example:
  clew flow keygen camera                                 writes camera.key and camera.flow
  clew flow sign --key camera.key in.pcap -o signed.pcap
  clew flow verify --flow camera.flow signed.pcap
  clew flow relay --key camera.key --listen 127.0.0.1:5004 --to 239.1.2.3:5004
  clew flow relay --flow camera.flow --listen 239.1.2.3:5004 --to 127.0.0.1:6004 --policy strict

These signatures identify their signer: anyone with the .flow file knows who sent the packets.
clew sign, by contrast, hides the machine among those of its group.";

/// `clew flow`
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLE)]
pub enum Flow {
    /// Generate a key, and the public file that receivers need
    Keygen(Box<FlowKeygen>),
    /// Sign the UDP datagrams of a capture, or any file
    Sign(FlowSign),
    /// Verify a signed capture or file
    Verify(FlowVerify),
    /// Sign or verify datagrams between an application and the network, multicast too
    Relay(Box<FlowRelay>),
    /// Print the signature and verdict of each packet
    Inspect(FlowInspect),
    /// Write the proof of one packet, which shows only digests of the others
    Extract(FlowExtract),
    /// Check a proof
    Check(FlowCheck),
}

/// `clew flow keygen`
#[derive(Args, Debug)]
pub struct FlowKeygen {
    /// Path to write NAME.key (secret) and NAME.flow (public) to
    #[arg(value_name = "NAME")]
    pub output: PathBuf,
    /// Name of the flow in its public file [default: the last part of NAME]
    #[arg(long)]
    pub name: Option<String>,
    /// Signature algorithm of blocks. eFFS signs about as fast as Ed25519 and verifies many times
    /// faster, but its signatures have at least 272 bytes instead of 64. A key is shown as
    /// effs-3072(128,1): modulus bits (--strength,--levels)
    #[arg(long, value_enum, default_value = "effs-3072")]
    pub alg: AlgorithmName,
    /// Bits of an eFFS challenge. With 128 others cannot forge; with 256 the signer cannot find two
    /// messages with one signature either
    #[arg(long, value_enum, default_value = "128")]
    pub strength: Strength,
    /// Levels to which receivers can verify an eFFS signature: 1, 2, 4 or 8, each an equal part of
    /// --strength. Below 128 bits they can only reject
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    pub levels: u8,
    /// Rule for the small numbers of an eFFS key
    #[arg(long, value_enum, default_value = "paper")]
    pub v_rule: RuleName,
    /// Form of the commitments in eFFS signatures with levels
    #[arg(long, value_enum, default_value = "compact")]
    pub form: FormName,
    /// Hash function
    #[arg(long, value_enum, default_value = "blake3")]
    pub hash: HashName,
    /// Bytes of each digest in a packet. With 16 others cannot forge; with 32 the signer cannot
    /// find two packets with one proof either
    #[arg(long, value_enum, default_value = "16")]
    pub digest: DigestBytes,
    /// Largest block, in packets (1 to 1024)
    #[arg(long, value_name = "M", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub block: u16,
    /// Children of each tree node (2 to 1024). The same as --block makes a star
    #[arg(long, value_name = "D", default_value_t = 2, value_parser = clap::value_parser!(u16).range(2..=1024))]
    pub degree: u16,
    /// Salt each packet (16 bytes more), so that its digest does not confirm guesses of its content
    #[arg(long)]
    pub salted: bool,
    /// Declare that some packets of the flow are unsigned: the balanced policy lets them pass
    #[arg(long)]
    pub partly: bool,
    /// What encrypts the new key.
    #[command(flatten)]
    pub seal: Seal,
}

/// Signature algorithms of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AlgorithmName {
    /// eFFS with a modulus of 3072 bits: 128-bit security
    #[value(name = "effs-3072")]
    Effs3072,
    /// eFFS with a modulus of 2048 bits: 112-bit security
    #[value(name = "effs-2048")]
    Effs2048,
    /// Ed25519
    Ed25519,
}

/// Sizes of challenges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Strength {
    /// 128 bits
    #[value(name = "128")]
    B128,
    /// 256 bits
    #[value(name = "256")]
    B256,
}

impl Strength {
    /// Returns the number of bits.
    pub const fn bits(self) -> u16 {
        match self {
            Self::B128 => 128,
            Self::B256 => 256,
        }
    }
}

/// Rules for the small numbers v of an eFFS key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RuleName {
    /// The paper's: the first primes that are squares
    Paper,
    /// Williams': the first odd primes, times a sign and factor that make them squares; shorter
    /// keys
    Williams,
}

/// Forms of signatures with levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormName {
    /// Hashes of commitments
    Compact,
    /// Whole commitments
    Paper,
}

/// Hash functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HashName {
    /// BLAKE3, the faster one
    Blake3,
    /// SHA-256, where a standard is required
    Sha256,
}

/// Sizes of digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DigestBytes {
    /// 16 bytes
    #[value(name = "16")]
    D16,
    /// 24 bytes
    #[value(name = "24")]
    D24,
    /// 32 bytes
    #[value(name = "32")]
    D32,
}

/// How a block's signature is spread over its packets.
#[derive(Args, Clone, Copy, Debug)]
pub struct CarriageOptions {
    /// How a block's signature is spread over its packets
    #[arg(long, value_enum, default_value = "full")]
    pub carriage: CarriageName,
    /// Put the signature into one of N packets (1 to 1024). Requires --carriage sparse [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub every: Option<u16>,
    /// Longest time to fill a block [default: 5ms live, 1s in a capture]
    #[arg(long, value_name = "D", value_parser = duration)]
    pub period: Option<Duration>,
    /// Put signatures into the padding of RTP packets, which players skip
    #[arg(long)]
    pub rtp: bool,
}

/// Ways to spread a block's signature over its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CarriageName {
    /// The whole signature in every packet; each packet can be verified alone
    Full,
    /// The whole signature in some packets; the others wait for one of them
    Sparse,
    /// A part of it in every packet; any quarter of a block restores the signature
    Coded,
    /// Outside the packets, which are not changed
    Manifest,
}

/// `clew flow sign`
#[derive(Args, Debug)]
pub struct FlowSign {
    /// Flow's key
    #[arg(long, value_name = "NAME.key")]
    pub key: PathBuf,
    /// Capture with UDP datagrams to sign, or any other file, or - for standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Where to write.
    #[command(flatten)]
    pub out: OutputFile,
    /// Sign IN as a file even if it is a capture
    #[arg(long)]
    pub file: bool,
    /// Bytes of a file in each packet
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u16).range(1..=i64::from(CONTENT_BYTES_MAX)))]
    pub packet_bytes: u16,
    /// Destination addresses to sign (repeatable) [default: all]
    #[arg(long, value_name = "CIDR", value_parser = super::parse_net)]
    pub to: Vec<IpNet>,
    /// Destination port to sign [default: all]
    #[arg(long)]
    pub port: Option<u16>,
    /// How a block's signature is spread over its packets.
    #[command(flatten)]
    pub carrying: CarriageOptions,
    /// What decrypts the key.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// The flows that a receiver knows, and how it verifies them.
#[derive(Args, Debug)]
pub struct KnownFlows {
    /// Public file of a flow (repeatable)
    #[arg(long, value_name = "NAME.flow", required = true)]
    pub flow: Vec<PathBuf>,
    /// Largest difference between timestamps and now, as 30s, 5m or 2h [default: within 30 s of the
    /// capture's record]
    #[arg(long, value_name = "D", value_parser = parse_duration)]
    pub max_age: Option<u64>,
    /// Verify eFFS signatures to this many bits only (1 to 256). Below 128, signatures are rejected
    /// or undecided but never accepted [default: all bits]
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub assurance: Option<u16>,
    /// Manifests of the capture, from sign --carriage manifest
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
}

/// `clew flow verify`
#[derive(Args, Debug)]
pub struct FlowVerify {
    /// The flows that are known.
    #[command(flatten)]
    pub known: KnownFlows,
    /// Signed capture or file, or - for standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Also write packets that pass the policy, without signatures; - for standard output
    #[arg(short, long, visible_short_alias = 'w', value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Which packets pass
    #[arg(long, value_enum, default_value = "balanced")]
    pub policy: Policy,
    /// Print JSON Lines: one object per packet, then a summary
    #[arg(long)]
    pub json: bool,
    /// Exit with 1 if any UDP datagram is unsigned
    #[arg(long)]
    pub strict: bool,
    /// Replace an existing output file
    #[arg(long)]
    pub force: bool,
}

/// `clew flow inspect`
#[derive(Args, Debug)]
pub struct FlowInspect {
    /// The flows that are known.
    #[command(flatten)]
    pub known: KnownFlows,
    /// Signed capture, or - for standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Print JSON Lines
    #[arg(long)]
    pub json: bool,
}

/// `clew flow extract`
#[derive(Args, Debug)]
pub struct FlowExtract {
    /// The flows that are known.
    #[command(flatten)]
    pub known: KnownFlows,
    /// Signed capture or file, or - for standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Frame number of a capture, or packet of a signed file, from 1
    #[arg(long, value_name = "N")]
    pub packet: u64,
    /// Where to write.
    #[command(flatten)]
    pub out: OutputFile,
}

/// `clew flow check`
#[derive(Args, Debug)]
pub struct FlowCheck {
    /// Proof to check
    #[arg(value_name = "PROOF")]
    pub proof: PathBuf,
    /// Public file of the flow, from a source you trust [default: the key that the proof names]
    #[arg(long, value_name = "NAME.flow")]
    pub flow: Option<PathBuf>,
    /// Also write the packet's content; - for standard output
    #[arg(short, long, visible_short_alias = 'w', value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Replace an existing output file
    #[arg(long)]
    pub force: bool,
}

/// What a relay that verifies alone uses.
const ONLY_VERIFYING: [&str; 5] = ["manifest_listen", "policy", "hold", "max_age", "assurance"];

/// What a relay that signs alone uses.
const ONLY_SIGNING: [&str; 8] = [
    "manifest_to",
    "carriage",
    "every",
    "period",
    "rtp",
    "passphrase_file",
    "unlock_with",
    "unlock_command",
];

/// `clew flow relay`
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("direction").required(true).args(["key", "flow"]))]
pub struct FlowRelay {
    /// Sign received datagrams with this flow's key
    #[arg(long, value_name = "NAME.key", conflicts_with_all = ONLY_VERIFYING)]
    pub key: Option<PathBuf>,
    /// Verify received datagrams of this flow and forward them without signatures (repeatable)
    #[arg(long, value_name = "NAME.flow", conflicts_with_all = ONLY_SIGNING)]
    pub flow: Vec<PathBuf>,
    /// Address to receive at. A multicast group is joined
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_address)]
    pub listen: SocketAddr,
    /// Interface to receive at
    #[arg(long, value_name = "NAME")]
    pub listen_on: Option<String>,
    /// Address to send to
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_address)]
    pub to: SocketAddr,
    /// Interface to send from
    #[arg(long, value_name = "NAME")]
    pub send_by: Option<String>,
    /// Address to send manifests to, each twice, when signing with --carriage manifest
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_address)]
    pub manifest_to: Option<SocketAddr>,
    /// Address to receive manifests at, when verifying packets without signatures
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_address)]
    pub manifest_listen: Option<SocketAddr>,
    /// Time to live of multicast packets (0 to 255)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=255))]
    pub ttl: u32,
    /// How a block's signature is spread over its packets.
    #[command(flatten)]
    pub carrying: CarriageOptions,
    /// Which packets pass when verifying
    #[arg(long, value_enum, default_value = "balanced")]
    pub policy: Policy,
    /// Longest time that a packet waits for its block's signature when verifying
    #[arg(long, value_name = "D", value_parser = duration, default_value = "500ms")]
    pub hold: Duration,
    /// Largest difference between timestamps and now when verifying
    #[arg(long, value_name = "D", value_parser = parse_duration, default_value = "30s")]
    pub max_age: u64,
    /// Verify eFFS signatures to this many bits only (1 to 256) [default: all bits]
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub assurance: Option<u16>,
    /// Address to serve Prometheus metrics at, under /metrics. /healthz and /readyz answer, too
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_address)]
    pub metrics: Option<SocketAddr>,
    /// Exit after this time [default: run until interrupted]
    #[arg(long, value_name = "D", value_parser = duration)]
    pub duration: Option<Duration>,
    /// What decrypts the key.
    #[command(flatten)]
    pub unlock: Unlock,
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map(Duration::from_nanos)
}
