//! MinimaLT tunnels: `clew tunnel`.

use super::NewFile;
use super::flow::duration;
use crate::secrets::{Seal, Unlock};
use crate::tunnel::keys::{PublicKey, parse_key};
use crate::tunnel::registry::{Pin, parse_pin};
use crate::tunnel::services::{Service, parse_service};
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

A record says where a server is, and its key of the moment. It ends after nearly two rotations;
connect then asks the server for a newer one, which takes a round trip more, as long as the
server's certificate holds. Who asks a directory (clew tunnel directory) needs no file of each
server, and finds those that have new addresses.";

/// `clew tunnel`
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLE)]
pub enum Tunnel {
    /// Make the key of a server or a user
    #[command(subcommand)]
    Keygen(TunnelKeygen),
    /// Serve connections of users to services: forward them to TCP servers
    Serve(Box<TunnelServe>),
    /// Connect to a service: standard input and output, or a TCP port of this machine
    Connect(Box<TunnelConnect>),
    /// Answer who asks for records of hosts, from a folder or from name services
    Directory(Box<TunnelDirectory>),
    /// Take records that hosts register, and answer who asks for them
    Name(Box<TunnelName>),
    /// Say how a running server does, from its --metrics
    Status(TunnelStatus),
}

/// `clew tunnel keygen`
#[derive(Subcommand, Debug)]
pub enum TunnelKeygen {
    /// Make the key of a server, with its certificate
    Server(TunnelKeygenServer),
    /// Make the key of a user; its public key is the user's name
    User(TunnelKeygenUser),
}

/// `clew tunnel keygen server`
#[derive(Args, Debug)]
pub struct TunnelKeygenServer {
    /// The server's name, in small letters
    #[arg(long, value_name = "NAME")]
    pub host: String,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// How long the certificate holds
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u64).range(1..=730))]
    pub days: u64,
    /// Who signs the certificate: the key of another server (default: the new key itself)
    #[arg(long, value_name = "ISSUER.key")]
    pub issuer: Option<PathBuf>,
    /// What encrypts the new key.
    #[command(flatten)]
    pub seal: Seal,
    /// What unlocks the issuer's key.
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

/// What every server of tunnels is told.
#[derive(Args, Debug)]
pub struct Serving {
    /// The server's key
    #[arg(long, value_name = "SERVER.key")]
    pub key: PathBuf,
    /// Where to receive, by UDP (may be given twice: IPv4 and IPv6)
    #[arg(long, value_name = "ADDRESS:PORT", required = true)]
    pub listen: Vec<SocketAddr>,
    /// Where clients reach it, if that is elsewhere (may be given several times, the preferred first)
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub address: Vec<SocketAddr>,
    /// Keep the newest record in FILE, which is public: clients need it
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Time between two of its short-lived keys (60s to 12h). A record holds for nearly twice as long; what
    /// was sent can be read by who takes the server within that time
    #[arg(long, value_name = "D", value_parser = duration, default_value = "150s")]
    pub rotation: Duration,
    /// How many cores it works on, each with tunnels of its own (default: all of them on Linux, one elsewhere)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub cores: Option<u16>,
    /// Leave public-key work to other threads where it is for N newcomers or more at once, so that open
    /// tunnels do not wait for it (default: never, since each core that does its own does most in all)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub offload_handshakes: Option<u32>,
    /// Write what happens to each packet to FILE, as qlog (JSON text sequences): neither keys nor content, but
    /// who talked to whom. On several cores a file for each: trace-1.sqlog, trace-2.sqlog for trace.sqlog
    #[arg(long, value_name = "FILE")]
    pub qlog: Option<PathBuf>,
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

/// `clew tunnel serve`
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("who").required(true).multiple(true).args(["users", "anonymous"]))]
pub struct TunnelServe {
    /// What every server is told.
    #[command(flatten)]
    pub serving: Serving,
    /// A service and what is behind it: tcp:HOST:PORT, or echo (may be given several times)
    #[arg(long, value_name = "NAME=TARGET", required = true, value_parser = parse_service)]
    pub service: Vec<Service>,
    /// Who may connect: public keys of users, one in a line, with a name behind it or none. Read again when
    /// it changes
    #[arg(long, value_name = "FILE")]
    pub users: Option<PathBuf>,
    /// Whoever has no key may connect, too
    #[arg(long)]
    pub anonymous: bool,
    /// How users show who they are
    #[arg(long, value_enum, default_value = "bound")]
    pub authenticators: AuthenticatorNames,
    /// Give each new record to this name service (may be given several times)
    #[arg(long, value_name = "NAME-SERVER.record")]
    pub publish_to: Vec<PathBuf>,
}

/// Authenticators by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuthenticatorNames {
    /// For one tunnel, connection and service
    Bound,
    /// MinimaLT's own: who has the server's key can be any user
    Box,
    /// Either
    Both,
}

/// `clew tunnel connect`
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("whom").required(true).args(["record", "directory"]))]
pub struct TunnelConnect {
    /// The server's record. It is trusted as it is, unless --pin or --trust is given. If it has ended, the
    /// server is asked for a newer one
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// The record of a directory, which is asked for the server's
    #[arg(long, value_name = "DIRECTORY.record", requires_all = ["host", "anchor"])]
    pub directory: Option<PathBuf>,
    /// The server's name
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// The server's key, as keygen printed it: another one is refused
    #[arg(long, value_name = "KEY", value_parser = parse_key, group = "anchor")]
    pub pin: Option<PublicKey>,
    /// The key of an issuer that is trusted for the server's name
    #[arg(long, value_name = "KEY", value_parser = parse_key, group = "anchor")]
    pub trust: Option<PublicKey>,
    /// The service
    #[arg(value_name = "SERVICE")]
    pub service: String,
    /// Who connects (default: nobody, anonymously)
    #[arg(long, value_name = "USER.key")]
    pub user: Option<PathBuf>,
    /// Listen at this TCP port of this machine: each connection to it is one to the service (default: standard
    /// input and output)
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// How long to wait for each answer: of a directory, and of the server to the first packet
    #[arg(long, value_name = "D", value_parser = duration, default_value = "20s")]
    pub timeout: Duration,
    /// Write what happens to each packet to FILE, as qlog (JSON text sequences): neither keys nor content, but
    /// who talked to whom
    #[arg(long, value_name = "FILE")]
    pub qlog: Option<PathBuf>,
    /// What unlocks the key.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew tunnel directory`
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("whence").required(true).multiple(true).args(["records", "name_server"]))]
pub struct TunnelDirectory {
    /// What every server is told.
    #[command(flatten)]
    pub serving: Serving,
    /// The folder of records: every file NAME.record, looked at again every second
    #[arg(long, value_name = "DIR")]
    pub records: Option<PathBuf>,
    /// A name service, which is asked for hosts that the folder does not have; its answers are kept for a
    /// minute (may be given several times: the first that has the host)
    #[arg(long, value_name = "NAME-SERVER.record")]
    pub name_server: Vec<PathBuf>,
}

/// `clew tunnel name`
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("policy").required(true).multiple(true).args(["trust", "pin"]))]
pub struct TunnelName {
    /// What every server is told.
    #[command(flatten)]
    pub serving: Serving,
    /// The folder for records: NAME.record for each host
    #[arg(long, value_name = "DIR")]
    pub store: PathBuf,
    /// The key of an issuer: hosts with its certificate may register (may be given several times)
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    pub trust: Vec<PublicKey>,
    /// A host that may register with this key (may be given several times)
    #[arg(long, value_name = "NAME=KEY", value_parser = parse_pin)]
    pub pin: Vec<Pin>,
}

/// `clew tunnel status`
#[derive(Args, Debug)]
pub struct TunnelStatus {
    /// Where the server has its --metrics
    #[arg(value_name = "ADDRESS:PORT")]
    pub metrics: SocketAddr,
    /// Tell it as JSON
    #[arg(long)]
    pub json: bool,
}
