//! The life of a group: `clew group`, `enrol`, `join`, `revoke`, `update`.

use super::{GroupPlan, GroupReopen, NewFile, OutputFile};
use crate::secrets::{Seal, Unlock};
use clap::{Args, Subcommand, ValueEnum};
use clew_evidence::Name;
use clew_group::Scheme;
use std::path::PathBuf;

/// `clew group`
#[derive(Subcommand, Debug)]
pub enum Group {
    /// Plan an opening key that trustees make themselves, or hand on
    Plan(GroupPlan),
    /// Create a group in a new directory
    Create(GroupCreate),
    /// Give a group the opening key, or the trustees, of a plan
    Reopen(GroupReopen),
    /// Describe a group
    Show(GroupPath),
    /// List machines (of a directory) or epochs (of a group file)
    List(GroupPath),
    /// Start a new epoch whose witnesses the manager gives out, without revoking anybody
    Rebase(GroupRebase),
    /// Write machines of the register to a file, for those who open or compare elsewhere
    Register(GroupRegister),
    /// Give a machine its witnesses again, if its key has lost the one that it needs
    Witness(GroupWitness),
}

/// `clew group create`
#[derive(Args, Debug)]
pub struct GroupCreate {
    /// The new group's directory
    pub dir: PathBuf,
    /// Name of the group
    #[arg(long, required_unless_present = "plan")]
    pub name: Option<Name>,
    /// Signature scheme. With bbs04 the issuer knows every machine's key and could sign as any
    #[arg(long, value_enum, default_value = "xr")]
    pub scheme: SchemeName,
    /// How many trustees share the opening key
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=32))]
    pub trustees: u8,
    /// How many of them open together
    #[arg(long, value_name = "T", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=32))]
    pub threshold: u8,
    /// Take the opening key that trustees made after this plan (default: make and deal it here)
    #[arg(long, value_name = "PLAN", requires = "deal", conflicts_with_all = ["scheme", "trustees", "threshold"])]
    pub plan: Option<PathBuf>,
    /// The deal of each trustee (repeat)
    #[arg(long, value_name = "I.deal", requires = "plan")]
    pub deal: Vec<PathBuf>,
    /// What encrypts the new keys.
    #[command(flatten)]
    pub seal: Seal,
}

/// Signature schemes by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemeName {
    /// Machines choose their own secret: nobody else can sign as one
    Xr,
    /// Boneh, Boyen, Shacham: Short Group Signatures (2004)
    Bbs04,
}

/// `clew group register`
#[derive(Args, Debug)]
pub struct GroupRegister {
    /// The group's directory
    pub dir: PathBuf,
    /// Where to write.
    #[command(flatten)]
    pub out: OutputFile,
    /// Only this machine (repeat)
    #[arg(long, value_name = "MACHINE")]
    pub machine: Vec<Name>,
    /// Make it for this epoch (repeat, up to 16) [default: the newest]
    #[arg(long, value_name = "E")]
    pub epoch: Vec<u32>,
    /// With the points that matches need, in the place of the hashes that find a row
    #[arg(long)]
    pub points: bool,
    /// What unlocks the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
}

impl From<SchemeName> for Scheme {
    fn from(name: SchemeName) -> Self {
        match name {
            SchemeName::Xr => Self::Xr,
            SchemeName::Bbs04 => Self::Bbs04,
        }
    }
}

/// A group by its directory or its file.
#[derive(Args, Debug)]
pub struct GroupPath {
    /// The group's directory, or its group file
    #[arg(value_name = "DIR|GROUPFILE")]
    pub path: PathBuf,
}

/// `clew group witness`
#[derive(Args, Debug)]
#[command(after_help = WITNESS_HELP)]
pub struct GroupWitness {
    /// The group's directory
    pub dir: PathBuf,
    /// Name of the machine, which is registered and not revoked
    pub machine: Name,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// What unlocks the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
}

const WITNESS_HELP: &str = "\
A key loses a witness if its clock ran ahead over a rebase, or if it slept through several. Then:
  issuer  clew group witness acme web-1 -o web-1.credential
  device  clew update --key web-1.key --group group.clew --witness web-1.credential
A witness alone signs nothing: it needs the key of the machine.";

/// `clew group rebase`
#[derive(Args, Debug)]
#[command(after_help = REBASE_HELP)]
pub struct GroupRebase {
    /// The group's directory
    pub dir: PathBuf,
    /// When the new epoch starts.
    #[command(flatten)]
    pub start: Start,
    /// What unlocks the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
}

const REBASE_HELP: &str = "\
After a rebase every machine needs a new witness: publish DIR/public/witnesses with the group file.
A stolen key cannot go back before a rebase if its old witnesses were erased. A group of scheme xr
needs a rebase at the latest after 65,536 revocations.";

const ENROL_HELP: &str = "\
A machine joins from its own host in five files, each made by one side for the other:
  issuer  clew enrol acme web-1 --invite -o web-1.invitation
  device  clew join web-1.invitation --group group.clew --state web-1.joining -o web-1.request
  issuer  clew enrol acme --answer web-1.request -o web-1.offer
  device  clew join web-1.offer --group group.clew --state web-1.joining -o web-1.acceptance
  issuer  clew enrol acme --answer web-1.acceptance -o web-1.credential
  device  clew join web-1.credential --group group.clew --state web-1.joining -o web-1.key
Each answer can be repeated. If a new epoch starts before the acceptance is answered, the offer is
void: invite the machine again, and let it join with a new --state.
Without --invite and --answer this host plays both sides.
clew group list acme shows open invitations; clew enrol acme web-1 --withdraw withdraws one.";

/// `clew enrol`
#[derive(Args, Debug)]
#[command(after_help = ENROL_HELP)]
pub struct Enrol {
    /// The group's directory
    pub dir: PathBuf,
    /// Name of the machine
    #[arg(required_unless_present = "answer", conflicts_with = "answer")]
    pub machine: Option<Name>,
    /// Invite the machine to join from its own host
    #[arg(long)]
    pub invite: bool,
    /// Answer a device's request or acceptance
    #[arg(long, value_name = "FILE", conflicts_with = "invite")]
    pub answer: Option<PathBuf>,
    /// Withdraw the open invitation of the machine
    #[arg(long, conflicts_with_all = ["invite", "answer", "output"])]
    pub withdraw: bool,
    /// The file to write: the machine's key, an invitation, or an answer
    #[arg(
        short,
        long,
        visible_short_alias = 'w',
        value_name = "FILE",
        required_unless_present = "withdraw"
    )]
    pub output: Option<PathBuf>,
    /// What unlocks the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
    /// What encrypts the machine's key.
    #[command(flatten)]
    pub seal: Seal,
}

/// `clew join`
#[derive(Args, Debug)]
#[command(after_help = ENROL_HELP)]
pub struct Join {
    /// The issuer's invitation, offer or credential
    pub file: PathBuf,
    /// The group file
    #[arg(long, value_name = "GROUPFILE")]
    pub group: PathBuf,
    /// What the device keeps between the rounds. Secret; removed once the key is written
    #[arg(long, value_name = "FILE")]
    pub state: PathBuf,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// What unlocks the state.
    #[command(flatten)]
    pub unlock: Unlock,
    /// What encrypts the state and the machine's key.
    #[command(flatten)]
    pub seal: Seal,
}

/// When a new epoch starts.
#[derive(Args, Debug)]
pub struct Start {
    /// When the new epoch starts, as 2026-11-21T10:00:00Z
    #[arg(long, value_name = "TIME", default_value = "now")]
    pub at: String,
    /// Confirm a start more than 30 days ahead
    #[arg(long)]
    pub far: bool,
}

const REVOKE_HELP: &str = "\
If the epoch starts earlier than planned ones, it brings these forward to its own start.
A published epoch cannot be withdrawn, and a revoked machine cannot be put back: enrol it again.
Packets of a revoked machine stay valid for the grace time after the start: 60 s, unless clew verify
has another --grace. Whoever holds its key can date packets back to before the start: of every
packet of the machine clew judge says that it was revoked later (revoked-later).";

/// `clew revoke`
#[derive(Args, Debug)]
#[command(after_help = REVOKE_HELP)]
pub struct Revoke {
    /// The group's directory
    pub dir: PathBuf,
    /// Machines to revoke together (xr: up to 48, with --rebase up to 900)
    #[arg(required = true)]
    pub machine: Vec<Name>,
    /// Revoke by a rebase: x of the machines stays secret, all others need new witnesses [bbs04: always]
    #[arg(long)]
    pub rebase: bool,
    /// When the new epoch starts.
    #[command(flatten)]
    pub start: Start,
    /// What unlocks the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew update`
#[derive(Args, Debug)]
pub struct Update {
    /// The key to bring up to date; replaced only when the new one is known to work
    #[arg(long, value_name = "MACHINE.key")]
    pub key: PathBuf,
    /// The group file
    #[arg(long, value_name = "GROUPFILE")]
    pub group: PathBuf,
    /// After a rebase: the manager's folder of witnesses, a bucket of this machine, or a credential
    /// (repeat)
    #[arg(long, value_name = "FILE|DIR")]
    pub witness: Vec<PathBuf>,
    /// What unlocks the key.
    #[command(flatten)]
    pub unlock: Unlock,
}
