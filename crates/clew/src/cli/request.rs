//! Requests to trustees over the network: `clew request`.

use super::flow::duration;
use super::{NewFile, PacketOf};
use crate::secrets::Unlock;
use clap::{Args, Subcommand};
use clew_evidence::Name;
use clew_log::VerifierKey;
use clew_service::http::ServiceUrl;
use std::path::PathBuf;
use std::time::Duration;

const REQUEST_HELP: &str = "\
An investigator asks a group's trustees through its manager. Every step can be repeated:
  1. clew request file --group group.clew --warrant case.warrant --manager URL --key police.key
                       --witness VKEY in.pcap --packet 7 -o case
  2. clew request status case --key police.key --wait
  3. clew request fetch case --key police.key --register REGISTER -o opening.txt
  4. clew bundle --group group.clew opening.txt in.pcap --case case -o case.zip
The request is in the group's log before a trustee sees it. Shares are encrypted to the key that the
warrant names: the manager cannot read them.";

/// `clew request`
#[derive(Subcommand, Debug)]
#[command(after_help = REQUEST_HELP)]
pub enum Request {
    /// Log a request under a warrant, and show its case to the trustees
    File(Box<RequestFile>),
    /// Say how far a request is: filed, reviewed, approved, computed, delivered, expired, refused
    Status(RequestStatus),
    /// Fetch and combine the trustees' shares, write the evidence, log its hash
    Fetch(RequestFetch),
}

/// `clew request file`
#[derive(Args, Debug)]
pub struct RequestFile {
    /// Which packet.
    #[command(flatten)]
    pub of: PacketOf,
    /// Warrant
    #[arg(long, value_name = "WARRANT")]
    pub warrant: PathBuf,
    /// Address of the group's manager
    #[arg(long, value_name = "URL")]
    pub manager: ServiceUrl,
    /// Address of the group's log [default: below the manager's]
    #[arg(long, value_name = "URL")]
    pub log_url: Option<ServiceUrl>,
    /// Author key of the requester, whom the warrant names
    #[arg(long, value_name = "REQUESTER.key")]
    pub key: PathBuf,
    /// Key of a witness of the log, as NAME+ID+KEY (repeatable) [default: the log's own word]
    #[arg(long, value_name = "VKEY")]
    pub witness: Vec<VerifierKey>,
    /// How many of the witnesses must have cosigned [default: more than half]
    #[arg(long, value_name = "K", requires = "witness")]
    pub threshold: Option<usize>,
    /// Seal the warrant for this number of days (1 to 366): the log counts the request at once, and the
    /// warrant becomes public then
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u16).range(1..=366))]
    pub seal: Option<u16>,
    /// Machine of a match, which the warrant names
    #[arg(long = "match", value_name = "MACHINE", requires = "register")]
    pub matched: Option<Name>,
    /// Register that has the machine: a register file with points, or the group's directory
    #[arg(long, value_name = "DIR|REGISTER", requires = "matched")]
    pub register: Option<PathBuf>,
    /// Directory of the request, made with mode 0700. An existing one of the same request goes on
    #[arg(short, long, visible_short_alias = 'w', value_name = "CASE")]
    pub output: PathBuf,
    /// What decrypts the keys.
    #[command(flatten)]
    pub unlock: Unlock,
}

const STATUS_HELP: &str = "\
Exit status: 0 shares or the result are there, 1 refused or expired, 2 could not tell, or not yet";

/// `clew request status`
#[derive(Args, Debug)]
#[command(after_help = STATUS_HELP)]
pub struct RequestStatus {
    /// Directory that clew request file made
    #[arg(value_name = "CASE")]
    pub case: PathBuf,
    /// Author key of the requester
    #[arg(long, value_name = "REQUESTER.key")]
    pub key: PathBuf,
    /// Wait until the shares are there, or the request is refused or expired
    #[arg(long)]
    pub wait: bool,
    /// Print the state as a JSON object
    #[arg(long)]
    pub json: bool,
    /// What decrypts the key.
    #[command(flatten)]
    pub unlock: Unlock,
}

const FETCH_HELP: &str = "\
A match needs trustees that answer together: the first fetch names those who said yes, and waits
with --wait. If one of them goes silent, --new-set names others.

Exit status: 0 the machine is known, 1 a match says no or the request failed, 2 could not tell";

/// `clew request fetch`
#[derive(Args, Debug)]
#[command(after_help = FETCH_HELP)]
pub struct RequestFetch {
    /// Directory that clew request file made
    #[arg(value_name = "CASE")]
    pub case: PathBuf,
    /// Author key of the requester, which decrypts the shares
    #[arg(long, value_name = "REQUESTER.key")]
    pub key: PathBuf,
    /// Register that names machines: a register file, or the group's directory
    /// [default: ask the manager; a match needs none]
    #[arg(long, value_name = "DIR|REGISTER")]
    pub register: Option<PathBuf>,
    /// Wait until enough shares are there
    #[arg(long)]
    pub wait: bool,
    /// Match: ask other trustees, because one of the last set is silent
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub new_set: Vec<u8>,
    /// Match, with --wait: ask other trustees when a set took no step for this time [default: 5m]
    #[arg(long, value_name = "D", default_value = "5m", hide_default_value = true, value_parser = duration)]
    pub new_set_after: Duration,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// Print the result as a JSON object
    #[arg(long)]
    pub json: bool,
    /// What decrypts the keys.
    #[command(flatten)]
    pub unlock: Unlock,
}
