//! MinimaLT tunnels: `clew tunnel`.

use super::flow::duration;
use super::{NewFile, parse_address};
use crate::secrets::{Seal, Unlock};
use crate::tunnel::keys::{PublicKey, parse_key};
use crate::tunnel::registry::{Pin, parse_pin};
use crate::tunnel::services::{CONNECTIONS, Service, parse_service};
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLE: &str = "\
Example, on two machines:
  clew tunnel keygen server --host web.example -o web.key
  clew tunnel keygen user -o me.key                       prints the line for users.txt
  clew tunnel serve --key web.key --listen 192.0.2.1:4433 --record web.record
      --service web=tcp:127.0.0.1:8080 --users users.txt

  clew tunnel connect --record web.record --user me.key --listen 127.0.0.1:8080 web

A record has a server's addresses and current key. It expires after nearly twice the time that
clew tunnel serve --rotation sets: 5 minutes by default. connect then asks the server for a newer
record, which costs one round trip and works until the server's certificate expires. With a
directory (clew tunnel directory), clients need no record of each server and find servers whose
address changed.";

/// `clew tunnel`
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLE)]
pub enum Tunnel {
    /// Generate the key of a server or a user
    #[command(subcommand)]
    Keygen(TunnelKeygen),
    /// Forward users' connections to local TCP services
    Serve(Box<TunnelServe>),
    /// Connect standard input and output, or a local TCP port, to a service
    Connect(Box<TunnelConnect>),
    /// Serve records of hosts, from a folder or from name servers
    Directory(Box<TunnelDirectory>),
    /// Accept records that hosts publish, and serve them
    Name(Box<TunnelName>),
    /// Print the state of a running server, from its --metrics
    Status(TunnelStatus),
}

/// `clew tunnel keygen`
#[derive(Subcommand, Debug)]
pub enum TunnelKeygen {
    /// Generate the key of a server, with its certificate
    Server(TunnelKeygenServer),
    /// Generate the key of a user, whose identity is its public key
    User(TunnelKeygenUser),
}

/// `clew tunnel keygen server`
#[derive(Args, Debug)]
pub struct TunnelKeygenServer {
    /// Server's name, in lower case
    #[arg(long, value_name = "NAME")]
    pub host: String,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// Days that the certificate is valid (1 to 730)
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u64).range(1..=730))]
    pub days: u64,
    /// Server key that signs the certificate [default: the new key itself]
    #[arg(long, value_name = "ISSUER.key")]
    pub issuer: Option<PathBuf>,
    /// What encrypts the new key.
    #[command(flatten)]
    pub seal: Seal,
    /// What decrypts the issuer's key.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew tunnel keygen user`
#[derive(Args, Debug)]
pub struct TunnelKeygenUser {
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// What encrypts the new key.
    #[command(flatten)]
    pub seal: Seal,
}

/// Arguments of all tunnel servers.
#[derive(Args, Debug)]
pub struct Serving {
    /// Server's key
    #[arg(long, value_name = "SERVER.key")]
    pub key: PathBuf,
    /// UDP address to receive at (repeatable: IPv4 and IPv6)
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_address, required = true)]
    pub listen: Vec<SocketAddr>,
    /// Address for clients, if another one (repeatable, preferred first) [default: --listen]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_address)]
    pub address: Vec<SocketAddr>,
    /// File to keep the newest record in. Public; clients need it
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Lifetime of short-lived keys (60s to 12h). Records are valid for nearly twice as long;
    /// whoever seizes the server within that time can read earlier traffic
    #[arg(long, value_name = "D", value_parser = duration, default_value = "150s")]
    pub rotation: Duration,
    /// Number of cores, each with its own tunnels (1 to 256) [default: all on Linux, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub cores: Option<u16>,
    /// When N or more handshakes are pending, run their public-key operations on worker threads so
    /// that established tunnels are not delayed. Lowers total throughput [default: off]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub offload_handshakes: Option<u32>,
    /// Tunnels at once on each core, divided among networks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000), default_value_t = 100_000)]
    pub max_tunnels: u32,
    /// Tunnels at once whose clients have not shown yet that they receive at their addresses. Beyond
    /// them a client first shows that, which costs it a round trip
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000), default_value_t = 256)]
    pub max_unproven: u32,
    /// End a tunnel that is silent for this time (1s to 720h)
    #[arg(long, value_name = "D", value_parser = duration, default_value = "24h")]
    pub tunnel_idle: Duration,
    /// File to trace packets to, as qlog (JSON text sequences): who talked to whom, without keys
    /// and content. With several cores trace.sqlog becomes trace-1.sqlog, trace-2.sqlog and so on.
    /// An older trace stays: the next run writes trace.2.sqlog
    #[arg(long, value_name = "FILE")]
    pub qlog: Option<PathBuf>,
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

/// `clew tunnel serve`
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("who").required(true).multiple(true).args(["users", "anonymous"]))]
pub struct TunnelServe {
    /// The arguments of all tunnel servers.
    #[command(flatten)]
    pub serving: Serving,
    /// Service and its target, tcp:HOST:PORT or echo (repeatable)
    #[arg(long, value_name = "NAME=TARGET", required = true, value_parser = parse_service)]
    pub service: Vec<Service>,
    /// File of authorised public keys, one per line, each optionally followed by a name. Reloaded
    /// when it changes
    #[arg(long, value_name = "FILE")]
    pub users: Option<PathBuf>,
    /// Also let users without a key connect
    #[arg(long)]
    pub anonymous: bool,
    /// Connections to services at once. A user that has n of them (without a key: a network, IPv4 /24 or
    /// IPv6 /56) gets another only while n are free
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), default_value_t = CONNECTIONS as u32)]
    pub max_connections: u32,
    /// End a connection that carries nothing for this time [default: never]
    #[arg(long, value_name = "D", value_parser = duration)]
    pub idle: Option<Duration>,
    /// How users authenticate
    #[arg(long, value_enum, default_value = "bound")]
    pub authenticators: AuthenticatorNames,
    /// Name server to publish each new record to (repeatable)
    #[arg(long, value_name = "NAME-SERVER.record")]
    pub publish_to: Vec<PathBuf>,
}

/// How users authenticate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuthenticatorNames {
    /// Bound to the tunnel, the connection and the service
    Bound,
    /// MinimaLT's original scheme. Anyone who steals the server's key can impersonate any user
    Box,
    /// Either
    Both,
}

/// `clew tunnel connect`
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("whom").required(true).args(["record", "directory"]))]
pub struct TunnelConnect {
    /// Server's record, trusted without --pin or --trust. If it has expired, the server is asked
    /// for a newer one
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Record of a directory, to ask for the server's record
    #[arg(long, value_name = "DIRECTORY.record", requires_all = ["host", "anchor"])]
    pub directory: Option<PathBuf>,
    /// Server's name
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Required key of the server, as keygen printed it
    #[arg(long, value_name = "KEY", value_parser = parse_key, group = "anchor")]
    pub pin: Option<PublicKey>,
    /// Key of a trusted certificate issuer
    #[arg(long, value_name = "KEY", value_parser = parse_key, group = "anchor")]
    pub trust: Option<PublicKey>,
    /// Service
    #[arg(value_name = "SERVICE")]
    pub service: String,
    /// User's key [default: connect anonymously]
    #[arg(long, value_name = "USER.key")]
    pub user: Option<PathBuf>,
    /// TCP address to listen at; each connection is forwarded to the service [default: standard
    /// input and output]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_address)]
    pub listen: Option<SocketAddr>,
    /// TCP connections at once; more wait. Needs --listen
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536), default_value_t = 4_096)]
    pub max_connections: u32,
    /// Longest wait for the directory, and for the server's first answer
    #[arg(long, value_name = "D", value_parser = duration, default_value = "20s")]
    pub timeout: Duration,
    /// File to trace packets to, as qlog (JSON text sequences): who talked to whom, without keys
    /// and content
    #[arg(long, value_name = "FILE")]
    pub qlog: Option<PathBuf>,
    /// What decrypts the key.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew tunnel directory`
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("whence").required(true).multiple(true).args(["records", "name_server"]))]
pub struct TunnelDirectory {
    /// The arguments of all tunnel servers.
    #[command(flatten)]
    pub serving: Serving,
    /// Folder of NAME.record files. Reloaded every second when it changes
    #[arg(long, value_name = "DIR")]
    pub records: Option<PathBuf>,
    /// Record of a name server to ask for hosts that the folder does not have (repeatable: first
    /// answer counts). Answers are cached for one minute
    #[arg(long, value_name = "NAME-SERVER.record")]
    pub name_server: Vec<PathBuf>,
}

/// `clew tunnel name`
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("policy").required(true).multiple(true).args(["trust", "pin"]))]
pub struct TunnelName {
    /// The arguments of all tunnel servers.
    #[command(flatten)]
    pub serving: Serving,
    /// Folder to keep published records in, as NAME.record
    #[arg(long, value_name = "DIR")]
    pub store: PathBuf,
    /// Key of a trusted certificate issuer: its hosts may publish (repeatable)
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    pub trust: Vec<PublicKey>,
    /// Host and its required key: it may publish (repeatable)
    #[arg(long, value_name = "NAME=KEY", value_parser = parse_pin)]
    pub pin: Vec<Pin>,
}

/// `clew tunnel status`
#[derive(Args, Debug)]
#[command(after_help = "Section 15 of spec/tunnel.md lists the reasons of refusals.")]
pub struct TunnelStatus {
    /// Address of the server's --metrics
    #[arg(value_name = "ADDRESS:PORT", value_parser = parse_address)]
    pub metrics: SocketAddr,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
