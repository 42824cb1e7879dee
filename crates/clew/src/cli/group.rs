//! The life of a group: `clew group`, `enrol`, `revoke`, `update`.

use super::{GroupPlan, GroupReopen};
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
    /// Write machines of the register to a file, for those who open or compare elsewhere
    Register(GroupRegister),
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
    /// The register file to write
    #[arg(short, long, short_alias = 'w', value_name = "REGISTER")]
    pub output: PathBuf,
    /// Only this machine (repeat)
    #[arg(long, value_name = "MACHINE")]
    pub machine: Vec<Name>,
    /// Make it for this epoch (repeat, up to 16) [default: the newest]
    #[arg(long, value_name = "E")]
    pub epoch: Vec<u32>,
    /// With the points that matches need, in the place of the hashes that find a row
    #[arg(long)]
    pub points: bool,
    /// Replace REGISTER if it exists
    #[arg(long)]
    pub force: bool,
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

/// `clew enrol`
#[derive(Args, Debug)]
pub struct Enrol {
    /// The group's directory
    pub dir: PathBuf,
    /// Name of the machine
    pub machine: Name,
    /// The key file to write
    #[arg(short, long, value_name = "MACHINE.key")]
    pub output: PathBuf,
    /// What unlocks the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
    /// What encrypts the machine's key.
    #[command(flatten)]
    pub seal: Seal,
}

/// `clew revoke`
#[derive(Args, Debug)]
pub struct Revoke {
    /// The group's directory
    pub dir: PathBuf,
    /// Name of the machine
    pub machine: Name,
    /// When the new epoch starts, as 2026-11-21T10:00:00Z
    #[arg(long, value_name = "TIME", default_value = "now")]
    pub at: String,
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
    /// What unlocks the key.
    #[command(flatten)]
    pub unlock: Unlock,
}
