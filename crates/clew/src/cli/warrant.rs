//! Warrants: `clew warrant`.

use super::{NewFile, PacketOf};
use crate::secrets::Unlock;
use clap::{Args, Subcommand};
use clew_evidence::Name;
use std::path::PathBuf;

const WARRANT_HELP: &str = "\
A court signs what an investigator drafted; trustees with a policy answer nobody without it:
  1. investigator  clew warrant create --group group.clew --capture in.pcap --packet 7
                   --for investigator.pub --reference '4 KLs 17/26' -o case.draft
  2. court         clew warrant show case.draft --capture in.pcap
                   clew warrant sign --key court.key case.draft -o case.warrant
  3. investigator  clew warrant request --warrant case.warrant --key investigator.key
                   --group group.clew in.pcap --packet 7 -o case.entry     if the group has a log
  4. trustees      clew share --warrant case.warrant --policy policy.toml ...
A digest in a warrant names a signature. To open one packet opens all packets under its signature:
clew warrant show counts them in a capture.";

/// `clew warrant`
#[derive(Subcommand, Debug)]
#[command(after_help = WARRANT_HELP)]
pub enum Warrant {
    /// Draft a warrant for packets of a capture
    Create(WarrantCreate),
    /// Sign a draft as a court
    Sign(WarrantSign),
    /// Write the entry by which a request under a warrant gets into the group's log
    Request(WarrantRequest),
    /// Say what a warrant or a draft allows, who signed it, and whether it is in force
    Show(WarrantShow),
}

/// `clew warrant create`
#[derive(Args, Debug)]
pub struct WarrantCreate {
    /// Group file
    #[arg(long, value_name = "GROUPFILE")]
    pub group: PathBuf,
    /// Capture that contains the packets
    #[arg(long, value_name = "IN")]
    pub capture: PathBuf,
    /// Frame number of a packet, from 1 (repeatable, up to 256)
    #[arg(long, value_name = "N", required = true)]
    pub packet: Vec<u64>,
    /// Public author key of the requester: who may ask
    #[arg(long = "for", value_name = "REQUESTER.pub")]
    pub requester: PathBuf,
    /// Case number, or whatever else names the case (1 to 64 bytes)
    #[arg(long, value_name = "TEXT")]
    pub reference: Name,
    /// Number of days that the warrant is in force, from now on (1 to 366)
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=366))]
    pub days: u16,
    /// Allow a match with this machine only, instead of openings
    #[arg(long = "match", value_name = "MACHINE", requires = "register")]
    pub matched: Option<Name>,
    /// Register that has the machine: a register file with points, or the group's directory
    #[arg(long, value_name = "DIR|REGISTER", requires = "matched")]
    pub register: Option<PathBuf>,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// What decrypts the issuer key of DIR.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew warrant sign`
#[derive(Args, Debug)]
pub struct WarrantSign {
    /// Author key of the court
    #[arg(long, value_name = "COURT.key")]
    pub key: PathBuf,
    /// Draft that clew warrant create wrote
    #[arg(value_name = "DRAFT")]
    pub draft: PathBuf,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// What decrypts the key.
    #[command(flatten)]
    pub unlock: Unlock,
}

const REQUEST_HELP: &str = "\
Add the entry to the group's log and get the log's proof of it: trustees need the proof. The entry
has the whole warrant in it, and so makes it public, unless --seal is used.";

/// `clew warrant request`
#[derive(Args, Debug)]
#[command(after_help = REQUEST_HELP)]
pub struct WarrantRequest {
    /// Author key of the requester, whom the warrant names
    #[arg(long, value_name = "REQUESTER.key")]
    pub key: PathBuf,
    /// Warrant
    #[arg(long, value_name = "WARRANT")]
    pub warrant: PathBuf,
    /// Which packet.
    #[command(flatten)]
    pub of: PacketOf,
    /// Seal the warrant for this number of days (1 to 366): the log counts the request at once, and the
    /// warrant becomes public then. Prints the salt that trustees need
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u16).range(1..=366))]
    pub seal: Option<u16>,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// What decrypts the key.
    #[command(flatten)]
    pub unlock: Unlock,
}

const SHOW_HELP: &str = "\
Anybody can make a key with any name: compare the issuer's key with one that you have from the
court.

Exit status: 0 signed and in force, 1 not, 2 could not tell";

/// `clew warrant show`
#[derive(Args, Debug)]
#[command(after_help = SHOW_HELP)]
pub struct WarrantShow {
    /// Warrant or draft
    #[arg(value_name = "WARRANT|DRAFT")]
    pub file: PathBuf,
    /// Capture in which to count the packets that the warrant covers
    #[arg(long, value_name = "IN")]
    pub capture: Option<PathBuf>,
    /// Register file that has the machine of a match, to say its name
    #[arg(long, value_name = "REGISTER", requires = "group")]
    pub register: Option<PathBuf>,
    /// Group file that the register's rows have to be of
    #[arg(long, value_name = "GROUPFILE", requires = "register")]
    pub group: Option<PathBuf>,
    /// Time at which to say whether it is in force, as 2026-11-21T10:00:00Z
    #[arg(long, value_name = "TIME", default_value = "now")]
    pub at: String,
}
