//! Who sent a packet: `clew extract`, `share`, `open`, `match`, `judge`, `bundle`.

use super::{NewFile, OutputFile};
use crate::secrets::Unlock;
use clap::Args;
use clew_evidence::{DeviceFingerprint, Name};
use clew_log::VerifierKey;
use std::path::PathBuf;
use std::str::FromStr;

const SHARE_HELP: &str = "\
A match (--match) has three steps. In each, every trustee runs the command on its own host. Pass all
outputs of one step to the next, and those of the third to clew match:
  1. clew share --match web-1 --register REGISTER --with 1,3 ... -o 1.commit
  2. clew share --match web-1 --register REGISTER --share 1.commit --share 3.commit ... -o 1.blind
  3. clew share --match web-1 --register REGISTER --share 1.blind --share 3.blind ... -o 1.share

If the group has a log, a trustee gives nothing without a policy and without the log:
  1. clew share ... --warrant W --policy P --proof REQUEST.proof --decide AUTHOR.key -o 1.entry
  2. log the decision, and get its proof
  3. clew share ... --warrant W --policy P --proof REQUEST.proof --decision 1.proof -o 1.share
If the log grew since this trustee's last answer, --consistency is needed, too.";

const OPEN_HELP: &str = "\
The group's directory as the register requires the issuer key. Without it, use a register file. The
machine's row is found:
  clew group register DIR -o REGISTER --epoch E     at once, if E is the packet's epoch
  clew open --register REGISTER --q FILE ...        at once, with Q from clew open --write-q FILE
  clew open --register REGISTER ...                 otherwise it tries row after row: slow";

const MATCH_HELP: &str = "\
For the three steps before, see clew help share.

Exit status: 0 this machine sent it, 1 it did not, 2 could not tell";

const JUDGE_HELP: &str = "\
A valid match exits with 0 whichever answer it proves; the output tells the answer. The manager
chose the machine's name, the device made its key: use --device to require a key that you know.

Exit status: 0 the evidence is valid, 1 it is not, 2 could not tell";

/// A packet of a capture, and its group.
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
    /// Key of the trustee
    #[arg(long, value_name = "TRUSTEE.key")]
    pub trustee: PathBuf,
    /// Which packet.
    #[command(flatten)]
    pub of: PacketOf,
    /// Warrant that the share is limited to
    #[arg(long, value_name = "FILE")]
    pub warrant: Option<PathBuf>,
    /// Trustee's policy: the warrant has to be one that it accepts. Required if the group has a log
    #[arg(long, value_name = "POLICY", requires = "warrant")]
    pub policy: Option<PathBuf>,
    /// Log's proof of the request's entry. Required if the group has a log
    #[arg(long, value_name = "FILE", requires = "policy")]
    pub proof: Option<PathBuf>,
    /// Salt of a sealed request's warrant, as 64 hexadecimal digits
    #[arg(long, value_name = "HEX", requires = "proof")]
    pub salt: Option<Salt>,
    /// Log's proof of this trustee's own decision. Required for a share if the group has a log
    #[arg(long, value_name = "FILE", requires = "proof")]
    pub decision: Option<PathBuf>,
    /// Proof that a checkpoint continues the last one that this trustee saw (repeatable)
    #[arg(long, value_name = "FILE", requires = "proof")]
    pub consistency: Vec<PathBuf>,
    /// Check everything and write the decision for the log, signed with the trustee's author key, instead
    /// of a share
    #[arg(long, value_name = "AUTHOR.key", requires = "proof", conflicts_with_all = ["decision", "with", "share"])]
    pub decide: Option<PathBuf>,
    /// Machine to compare the packet with, instead of opening it
    #[arg(long = "match", value_name = "MACHINE", requires = "register")]
    pub matched: Option<Name>,
    /// Register that has the machine: a register file with points, or the group's directory
    #[arg(long, value_name = "DIR|REGISTER", requires = "matched")]
    pub register: Option<PathBuf>,
    /// Trustees that take part, as 1,3. First step of a match only
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "matched")]
    pub with: Vec<u8>,
    /// Output of one trustee's previous step (repeatable). Second and third step of a match only
    #[arg(long, value_name = "S.share", requires = "matched")]
    pub share: Vec<PathBuf>,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// What decrypts the trustee's key and, with --register DIR, the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// The salt of a sealed warrant.
#[derive(Clone, Debug)]
pub struct Salt(pub [u8; 32]);

impl FromStr for Salt {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digit = |at: usize| text.get(2 * at..2 * at + 2);
        let byte = |at| digit(at).and_then(|two| u8::from_str_radix(two, 16).ok());
        let is_hex = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let bytes: Option<Vec<u8>> = (0..32).map(byte).collect();
        let bytes = bytes
            .filter(|_| is_hex)
            .and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or("need 64 hexadecimal digits")
    }
}

/// `clew open`
#[derive(Args, Debug)]
#[command(after_help = OPEN_HELP)]
pub struct Open {
    /// Which packet.
    #[command(flatten)]
    pub of: PacketOf,
    /// Share of one trustee (repeatable)
    #[arg(long, value_name = "S.share", required = true)]
    pub share: Vec<PathBuf>,
    /// Register that names machines: the group's directory, or a register file
    #[arg(long, value_name = "DIR|REGISTER")]
    pub register: PathBuf,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// Also write Q, a value with which others find the machine in a register file at once (--q).
    /// Requires --register DIR, scheme xr
    #[arg(long, value_name = "FILE")]
    pub write_q: Option<PathBuf>,
    /// Q, as the manager wrote it with --write-q: finds the machine in a register file at once.
    /// Scheme xr only
    #[arg(long, value_name = "FILE", conflicts_with = "write_q")]
    pub q: Option<PathBuf>,
    /// Print the result as a JSON object
    #[arg(long)]
    pub json: bool,
    /// What decrypts the issuer key of DIR.
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
    /// Third-step share of one trustee (repeatable)
    #[arg(long, value_name = "S.share", required = true)]
    pub share: Vec<PathBuf>,
    /// Machine that the packet was compared with
    #[arg(long, value_name = "MACHINE")]
    pub machine: Name,
    /// Register that has the machine: a register file with points, or the group's directory
    #[arg(long, value_name = "DIR|REGISTER")]
    pub register: PathBuf,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// Print the result as a JSON object
    #[arg(long)]
    pub json: bool,
    /// What decrypts the issuer key of DIR.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew judge`
#[derive(Args, Debug)]
#[command(after_help = JUDGE_HELP)]
pub struct Judge {
    /// Group file. A bundle has its own; if one is given, the evidence must hold by both
    #[arg(long, value_name = "GROUPFILE")]
    pub group: Option<PathBuf>,
    /// File that clew open, clew match or clew bundle wrote
    #[arg(value_name = "OPENING|RESULT|BUNDLE")]
    pub evidence: PathBuf,
    /// Capture that contains the packet. A bundle has its own
    #[arg(value_name = "IN")]
    pub input: Option<PathBuf>,
    /// Required device key of the machine, as SHA256:... Another key is rejected (rule device-pin)
    #[arg(long, value_name = "FINGERPRINT")]
    pub device: Option<DeviceFingerprint>,
    /// Log's proof of an anchor of the capture: shows when the capture existed at the latest
    #[arg(long, value_name = "FILE")]
    pub anchor: Option<PathBuf>,
    /// Log's proof of the request that the evidence answers: shows that it was logged, and when
    #[arg(long, value_name = "FILE")]
    pub request: Option<PathBuf>,
    /// Log's proof of a trustee's decision to answer the request (repeatable)
    #[arg(long, value_name = "FILE", requires = "request")]
    pub decision: Vec<PathBuf>,
    /// Verifier key of a witness that has to have cosigned the log's checkpoints (repeatable)
    /// [default: the log's own word]
    #[arg(long, value_name = "VKEY")]
    pub witness: Vec<VerifierKey>,
    /// Number of these witnesses that are needed [default: more than half]
    #[arg(long, value_name = "K", requires = "witness", value_parser = clap::value_parser!(u8).range(1..))]
    pub threshold: Option<u8>,
    /// Required warrant. Evidence given for another warrant or none is rejected (rule warrant-pin)
    #[arg(long, value_name = "FILE")]
    pub warrant: Option<PathBuf>,
    /// Write this version's report of a bundle: PDF if the name ends in .pdf, else HTML
    #[arg(long, value_name = "OUT")]
    pub report: Option<PathBuf>,
    /// Accept a bundle whose reports another version of clew wrote: nobody compared them
    #[arg(long)]
    pub ignore_reports: bool,
    /// Print the result as a JSON object
    #[arg(long)]
    pub json: bool,
}

const BUNDLE_HELP: &str = "\
A bundle is a zip file with the packets, the group file, the evidence, the warrant, and a report as
HTML and PDF. The same input always gives the same bytes. Check it with clew judge BUNDLE.

Exit status: 0 written, 1 the evidence is not valid, 2 could not tell";

/// `clew bundle`
#[derive(Args, Debug)]
#[command(after_help = BUNDLE_HELP)]
pub struct Bundle {
    /// Group file
    #[arg(long, value_name = "GROUPFILE")]
    pub group: PathBuf,
    /// File that clew open or clew match wrote
    #[arg(value_name = "OPENING|RESULT")]
    pub evidence: PathBuf,
    /// Capture that contains the packet
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Warrant that the trustees were shown
    #[arg(long, value_name = "FILE")]
    pub warrant: Option<PathBuf>,
    /// Directory of clew request: adds its warrant, and the log's proofs of request and decisions
    #[arg(long, value_name = "CASE", conflicts_with = "warrant")]
    pub case: Option<PathBuf>,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
}
