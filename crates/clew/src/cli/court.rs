//! Who sent a packet: `clew extract`, `share`, `open`, `match`, `judge`.

use super::{NewFile, OutputFile};
use crate::secrets::Unlock;
use clap::Args;
use clew_evidence::{DeviceFingerprint, Name};
use std::path::PathBuf;

const SHARE_HELP: &str = "\
A comparison (--match) takes three steps. In each, every trustee of the set runs the command; what
all of them wrote goes into the next step, and into clew match in the end:
  1. clew share --match web-1 --register REGISTER --with 1,3 ... -o 1.commit
  2. clew share --match web-1 --register REGISTER --share 1.commit --share 3.commit ... -o 1.blind
  3. clew share --match web-1 --register REGISTER --share 1.blind --share 3.blind ... -o 1.share";

const OPEN_HELP: &str = "\
The register is the group's directory, which needs the issuer key, or a register file:
  clew group register DIR -o REGISTER --epoch E     made for the packet's epoch: found at once
  clew open --register REGISTER --q FILE ...        by Q, which clew open --write-q FILE writes in DIR
  clew open --register REGISTER ...                 neither: row by row, a pairing each";

const MATCH_HELP: &str = "\
Exit status: 0 it was this machine, 1 it was not, 2 could not tell.
The three steps before: clew help share.";

const JUDGE_HELP: &str = "\
Exit status: 0 the evidence holds, 1 it does not, 2 could not tell. A match holds whichever answer
it proves: what it answers is said.
The name of a machine is the manager's word, its key is the device's: --device holds the evidence to
a key that you know, and --warrant to a warrant.";

/// A packet of a capture, and the group that it is of.
#[derive(Args, Debug)]
pub struct PacketOf {
    /// Group file
    #[arg(long, value_name = "GROUPFILE")]
    pub group: PathBuf,
    /// Capture
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Frame number, from 1
    #[arg(long, value_name = "N")]
    pub packet: u64,
}

/// `clew extract`
#[derive(Args, Debug)]
pub struct Extract {
    /// Which packet.
    #[command(flatten)]
    pub of: PacketOf,
    /// Where to write.
    #[command(flatten)]
    pub out: OutputFile,
}

/// `clew share`
#[derive(Args, Debug)]
#[command(after_help = SHARE_HELP)]
pub struct Share {
    /// The trustee's key
    #[arg(long, value_name = "TRUSTEE.key")]
    pub trustee: PathBuf,
    /// Which packet.
    #[command(flatten)]
    pub of: PacketOf,
    /// The warrant: the share counts for it only
    #[arg(long, value_name = "FILE")]
    pub warrant: Option<PathBuf>,
    /// Compare with this machine instead of opening
    #[arg(long = "match", value_name = "MACHINE", requires = "register")]
    pub matched: Option<Name>,
    /// Where the machine is looked up: a register file with points, or the group's directory
    #[arg(long, value_name = "DIR|REGISTER", requires = "matched")]
    pub register: Option<PathBuf>,
    /// The trustees that compare, as 1,3: all that take part, for the first of three steps
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "matched")]
    pub with: Vec<u8>,
    /// What all of them gave in the step before (repeat; comparing only)
    #[arg(long, value_name = "S.share", requires = "matched")]
    pub share: Vec<PathBuf>,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// What unlocks the trustee's key (and, with --register DIR, the issuer key).
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew open`
#[derive(Args, Debug)]
#[command(after_help = OPEN_HELP)]
pub struct Open {
    /// Which packet.
    #[command(flatten)]
    pub of: PacketOf,
    /// A trustee's share (repeat)
    #[arg(long, value_name = "S.share", required = true)]
    pub share: Vec<PathBuf>,
    /// The register that names machines: the group's directory, or a register file
    #[arg(long, value_name = "DIR|REGISTER")]
    pub register: PathBuf,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// Also write Q, by which an auditor finds the row in a register file (needs --register DIR; xr)
    #[arg(long, value_name = "FILE")]
    pub write_q: Option<PathBuf>,
    /// Find the row in a register file by the manager's Q (xr)
    #[arg(long, value_name = "FILE", conflicts_with = "write_q")]
    pub q: Option<PathBuf>,
    /// Answer as a JSON object
    #[arg(long)]
    pub json: bool,
    /// What unlocks the issuer key of DIR.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew match`
#[derive(Args, Debug)]
#[command(after_help = MATCH_HELP)]
pub struct Match {
    /// Which packet.
    #[command(flatten)]
    pub of: PacketOf,
    /// A trustee's share of the third step (repeat)
    #[arg(long, value_name = "S.share", required = true)]
    pub share: Vec<PathBuf>,
    /// The machine that it was compared with
    #[arg(long, value_name = "MACHINE")]
    pub machine: Name,
    /// The register that names machines: a register file with points, or the group's directory
    #[arg(long, value_name = "DIR|REGISTER")]
    pub register: PathBuf,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// Answer as a JSON object
    #[arg(long)]
    pub json: bool,
    /// What unlocks the issuer key of DIR.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew judge`
#[derive(Args, Debug)]
#[command(after_help = JUDGE_HELP)]
pub struct Judge {
    /// Group file
    #[arg(long, value_name = "GROUPFILE")]
    pub group: PathBuf,
    /// What clew open or clew match wrote
    #[arg(value_name = "OPENING|RESULT")]
    pub evidence: PathBuf,
    /// A capture that holds the packet that was asked about
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// The device key that the machine must have, as SHA256:...: a no (rule device-pin) if the row has
    /// another key
    #[arg(long, value_name = "FINGERPRINT")]
    pub device: Option<DeviceFingerprint>,
    /// The warrant that the trustees must have been shown: a no (rule warrant-pin) if they were shown
    /// another or none
    #[arg(long, value_name = "FILE")]
    pub warrant: Option<PathBuf>,
    /// Answer as a JSON object
    #[arg(long)]
    pub json: bool,
}
