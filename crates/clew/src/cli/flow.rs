//! Flow signatures: `clew flow`.

use super::OutputFile;
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
  clew flow sign --key camera.key in.pcap -w signed.pcap
  clew flow verify --flow camera.flow signed.pcap
  clew flow relay --key camera.key --listen 127.0.0.1:5004 --to 239.1.2.3:5004
  clew flow relay --flow camera.flow --listen 239.1.2.3:5004 --to 127.0.0.1:6004 --policy strict

Unlike clew sign, which hides the machine among those of its group, these signatures name their
signer: whoever has the .flow file knows whose packets these are.";

/// `clew flow`
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLE)]
pub enum Flow {
    /// Make a key, and the public file that receivers need
    Keygen(Box<FlowKeygen>),
    /// Sign the UDP datagrams of a capture, or a file
    Sign(FlowSign),
    /// Verify what clew flow sign made
    Verify(FlowVerify),
    /// Sign or verify datagrams between an application and the network, multicast too
    Relay(Box<FlowRelay>),
    /// Say of each packet of a capture what its signature holds, and the verdict
    Inspect(FlowInspect),
    /// Take the proof of one packet out; nothing of the others but digests
    Extract(FlowExtract),
    /// Check a proof
    Check(FlowCheck),
}

/// `clew flow keygen`
#[derive(Args, Debug)]
pub struct FlowKeygen {
    /// Writes NAME.key, which is secret, and NAME.flow, which is public
    #[arg(value_name = "NAME")]
    pub output: PathBuf,
    /// What receivers see the flow called (default: the last part of NAME)
    #[arg(long)]
    pub name: Option<String>,
    /// What signs blocks: eFFS, which signs about as fast as Ed25519 and verifies many times as fast, with
    /// signatures of 272 bytes and more; or Ed25519, with 64
    #[arg(long, value_enum, default_value = "effs-3072")]
    pub alg: AlgorithmName,
    /// Bits of an eFFS challenge. 128 keep others from forging; 256 keep even the signer from having two
    /// messages for one signature
    #[arg(long, value_enum, default_value = "128")]
    pub strength: Strength,
    /// Levels to which receivers may verify an eFFS signature, each worth an equal part of --strength: 1, 2,
    /// 4 or 8. Below 128 bits they can only refuse
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    pub levels: u8,
    /// The small numbers of an eFFS key: the paper's primes, or by Williams with shorter keys
    #[arg(long, value_enum, default_value = "paper")]
    pub v_rule: RuleName,
    /// How eFFS signatures with levels carry their commitments: by hashes, or whole as in the paper
    #[arg(long, value_enum, default_value = "compact")]
    pub form: FormName,
    /// The hash function
    #[arg(long, value_enum, default_value = "blake3")]
    pub hash: HashName,
    /// Bytes of each digest in a packet. 16 bind the packet to the signer; 32 keep even the signer
    /// from having two packets for one proof
    #[arg(long, value_enum, default_value = "16")]
    pub digest: DigestBytes,
    /// Packets of a block at most, under one signature
    #[arg(long, value_name = "M", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub block: u16,
    /// Children of each node of the tree; as many as packets of a block make a star
    #[arg(long, value_name = "D", default_value_t = 2, value_parser = clap::value_parser!(u16).range(2..=1024))]
    pub degree: u16,
    /// Salt each packet (16 bytes more), so that who has one packet confirms no guess of its neighbours
    #[arg(long)]
    pub salted: bool,
    /// Other packets of the flow may come unsigned: receivers with the balanced policy let them pass
    #[arg(long)]
    pub partly: bool,
    /// What encrypts the new key.
    #[command(flatten)]
    pub seal: Seal,
}

/// What signs blocks, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AlgorithmName {
    /// eFFS with a modulus of 3072 bits: 128-bit class
    #[value(name = "effs-3072")]
    Effs3072,
    /// eFFS with a modulus of 2048 bits: 112-bit class
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
    /// The number.
    pub const fn bits(self) -> u16 {
        match self {
            Self::B128 => 128,
            Self::B256 => 256,
        }
    }
}

/// Rules of v by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RuleName {
    /// The first primes that are squares
    Paper,
    /// The first odd primes, with the sign and factor that make them squares
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

/// Hash functions by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HashName {
    /// BLAKE3: the faster
    Blake3,
    /// SHA-256: where it has to be a standard
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

/// How packets carry the signature of their block.
#[derive(Args, Clone, Copy, Debug)]
pub struct Carrying {
    /// How packets carry the signature of their block
    #[arg(long, value_enum, default_value = "full")]
    pub carriage: CarriageName,
    /// Of how many packets one carries the signature (carriage sparse)
    #[arg(long, value_name = "J", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub every: u16,
    /// How long a block may take before it is signed as it is (default: 5ms live, 1s in a capture)
    #[arg(long, value_name = "D", value_parser = duration)]
    pub period: Option<Duration>,
    /// Put signatures into the padding of RTP packets, which players skip
    #[arg(long)]
    pub rtp: bool,
}

/// Carriages by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CarriageName {
    /// All of it in every packet: each is verifiable alone
    Full,
    /// In some packets: the others wait for one of them
    Sparse,
    /// A share in every packet; any quarter of a block's packets restores it
    Coded,
    /// Beside the packets, which stay as they are
    Manifest,
}

/// `clew flow sign`
#[derive(Args, Debug)]
pub struct FlowSign {
    /// The flow's key
    #[arg(long, value_name = "NAME.key")]
    pub key: PathBuf,
    /// Capture whose UDP datagrams are signed, or any other file; - for standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Where to write.
    #[command(flatten)]
    pub out: OutputFile,
    /// Sign IN as a file, even if it is a capture
    #[arg(long)]
    pub file: bool,
    /// Bytes of a file in one packet
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u16).range(1..=i64::from(CONTENT_BYTES_MAX)))]
    pub packet_bytes: u16,
    /// Destinations whose datagrams are signed (default: all)
    #[arg(long, value_name = "CIDR", value_parser = super::parse_net)]
    pub to: Vec<IpNet>,
    /// Destination port whose datagrams are signed (default: all)
    #[arg(long)]
    pub port: Option<u16>,
    /// How packets carry the signature of their block.
    #[command(flatten)]
    pub carrying: Carrying,
    /// What unlocks the key.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// The flows that are known, and how old they may be.
#[derive(Args, Debug)]
pub struct Known {
    /// The flow's public file (may be given several times)
    #[arg(long, value_name = "NAME.flow", required = true)]
    pub flow: Vec<PathBuf>,
    /// Timestamps must be this close to now (30s, 5m, 2h); default: within 30 s of the record's time
    #[arg(long, value_name = "D", value_parser = parse_duration)]
    pub max_age: Option<u64>,
    /// Verify eFFS signatures to so many bits, and no further (default: all that they have). Below 128
    /// nothing is accepted: what is not refuted stays undecided
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub assurance: Option<u16>,
    /// The capture's manifests (sign --carriage manifest)
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
}

/// `clew flow verify`
#[derive(Args, Debug)]
pub struct FlowVerify {
    /// What is known.
    #[command(flatten)]
    pub known: Known,
    /// Signed capture or file, - for standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Write what passes the policy, without signatures; - for standard output
    #[arg(short, long, visible_short_alias = 'w', value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// What passes into OUT
    #[arg(long, value_enum, default_value = "balanced")]
    pub policy: Policy,
    /// Tell it as JSON Lines: one object per packet, then a summary
    #[arg(long)]
    pub json: bool,
    /// Unsigned UDP datagrams are a no, too
    #[arg(long)]
    pub strict: bool,
    /// Replace OUT if it exists
    #[arg(long)]
    pub force: bool,
}

/// `clew flow inspect`
#[derive(Args, Debug)]
pub struct FlowInspect {
    /// What is known.
    #[command(flatten)]
    pub known: Known,
    /// Signed capture, - for standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Tell it as JSON Lines
    #[arg(long)]
    pub json: bool,
}

/// `clew flow extract`
#[derive(Args, Debug)]
pub struct FlowExtract {
    /// What is known.
    #[command(flatten)]
    pub known: Known,
    /// Signed capture or file, - for standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Frame number of a capture, packet of a signed file; from 1
    #[arg(long, value_name = "N")]
    pub packet: u64,
    /// Where to write.
    #[command(flatten)]
    pub out: OutputFile,
}

/// `clew flow check`
#[derive(Args, Debug)]
pub struct FlowCheck {
    /// The proof
    #[arg(value_name = "PROOF")]
    pub proof: PathBuf,
    /// The flow's public file, from whom you trust; without it the proof says itself whose key it is
    #[arg(long, value_name = "NAME.flow")]
    pub flow: Option<PathBuf>,
    /// Write the packet's content, - for standard output
    #[arg(short, long, visible_short_alias = 'w', value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Replace OUT if it exists
    #[arg(long)]
    pub force: bool,
}

/// `clew flow relay`
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("direction").required(true).args(["key", "flow"]))]
pub struct FlowRelay {
    /// Sign what comes, with the flow's key
    #[arg(long, value_name = "NAME.key")]
    pub key: Option<PathBuf>,
    /// Verify what comes, and hand it on without signatures (may be given several times)
    #[arg(long, value_name = "NAME.flow")]
    pub flow: Vec<PathBuf>,
    /// Where to receive; a multicast group is joined
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,
    /// The interface to receive at
    #[arg(long, value_name = "NAME")]
    pub listen_on: Option<String>,
    /// Where to send
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub to: SocketAddr,
    /// The interface to send by
    #[arg(long, value_name = "NAME")]
    pub send_by: Option<String>,
    /// Where manifests go when signing with --carriage manifest, each twice
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub manifest_to: Option<SocketAddr>,
    /// Where manifests come from when verifying packets that have none with them
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub manifest_listen: Option<SocketAddr>,
    /// How many routers multicast may cross, plus one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=255))]
    pub ttl: u32,
    /// How packets carry the signature of their block.
    #[command(flatten)]
    pub carrying: Carrying,
    /// What passes when verifying
    #[arg(long, value_enum, default_value = "balanced")]
    pub policy: Policy,
    /// How long a packet waits for its block's signature when verifying
    #[arg(long, value_name = "D", value_parser = duration, default_value = "500ms")]
    pub hold: Duration,
    /// How close timestamps must be to now when verifying
    #[arg(long, value_name = "D", value_parser = parse_duration, default_value = "30s")]
    pub max_age: u64,
    /// Verify eFFS signatures to so many bits, and no further (default: all that they have)
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub assurance: Option<u16>,
    /// Serve counters for Prometheus here, at /metrics
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics: Option<SocketAddr>,
    /// Stop after so long (default: when interrupted)
    #[arg(long, value_name = "D", value_parser = duration)]
    pub duration: Option<Duration>,
    /// What unlocks the key.
    #[command(flatten)]
    pub unlock: Unlock,
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map(Duration::from_nanos)
}
