//! Opening keys that trustees make themselves: `clew trustee`, `clew group plan`, `group reopen`.

use super::{NewFile, Start};
use crate::secrets::{Seal, Unlock};
use clap::{ArgGroup, Args, Subcommand};
use clew_evidence::Name;
use std::path::PathBuf;

const TRUSTEE_HELP: &str = "\
Trustees make an opening key that nobody ever holds as a whole:
  1. manager   clew group plan --name acme --trustees 3 --threshold 2 -o acme.plan
  2. trustees  clew trustee begin acme.plan --index 1 --state 1.state -o 1.hello
  3. trustees  clew trustee deal acme.plan --state 1.state --hello 1.hello --hello 2.hello
               --hello 3.hello -o 1.deal; then all compare the check code by voice
  4. trustees  clew trustee check acme.plan --state 1.state --deal 1.deal --deal 2.deal
               --deal 3.deal
  5. manager   clew group create acme --plan acme.plan --deal 1.deal --deal 2.deal --deal 3.deal
  6. trustees  clew trustee finish acme.plan --state 1.state --deal 1.deal --deal 2.deal
               --deal 3.deal --group group.clew -o 1.key
Steps 2 to 4 and 6 can be repeated and give the same files. Step 5 is done once: every create
founds another group. In step 6 all compare the check code and the epoch's id; whoever has keys of
another group finishes again with the right group file. Then all delete their states.
For a group that exists, with a new opening key or other trustees: clew help group reopen.

Exit status: 0 done, 1 a trustee cheated, 2 could not tell or bad usage.";

/// `clew trustee`
#[derive(Subcommand, Debug)]
#[command(after_help = TRUSTEE_HELP)]
pub enum Trustee {
    /// Take part in a plan: make the keys that shares are sealed to
    Begin(TrusteeBegin),
    /// Deal a part of the opening key, or an old share, to all trustees
    Deal(TrusteeDeal),
    /// Check what all others dealt, before the manager uses it
    Check(TrusteeCheck),
    /// Write the trustee key, once the group file has the opening key
    Finish(TrusteeFinish),
}

/// What every step of a trustee needs.
#[derive(Args, Debug)]
pub struct InPlan {
    /// The manager's plan
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    /// This trustee's state between the steps. SECRET
    #[arg(long, value_name = "FILE")]
    pub state: PathBuf,
}

/// `clew trustee begin`
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("part").args(["index", "key"]).required(true).multiple(true)))]
pub struct TrusteeBegin {
    /// Which plan, and where the state goes.
    #[command(flatten)]
    pub of: InPlan,
    /// Take a share as trustee I of the new key
    #[arg(long, value_name = "I", value_parser = clap::value_parser!(u8).range(1..=32))]
    pub index: Option<u8>,
    /// Hand on the share of this old trustee key (resharing only)
    #[arg(long, value_name = "OLD.key")]
    pub key: Option<PathBuf>,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// What unlocks the old key, or a state that is there already.
    #[command(flatten)]
    pub unlock: Unlock,
    /// What encrypts the new state.
    #[command(flatten)]
    pub seal: Seal,
}

/// `clew trustee deal`
#[derive(Args, Debug)]
pub struct TrusteeDeal {
    /// Which plan and state.
    #[command(flatten)]
    pub of: InPlan,
    /// The old trustee key (resharing only)
    #[arg(long, value_name = "OLD.key")]
    pub key: Option<PathBuf>,
    /// The hello of each participant, this trustee included (repeat)
    #[arg(long, value_name = "I.hello", required = true)]
    pub hello: Vec<PathBuf>,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// What unlocks the state and the old key.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew trustee check`
#[derive(Args, Debug)]
pub struct TrusteeCheck {
    /// Which plan and state.
    #[command(flatten)]
    pub of: InPlan,
    /// The deal of each dealer (repeat)
    #[arg(long, value_name = "I.deal", required = true)]
    pub deal: Vec<PathBuf>,
    /// What unlocks the state.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew trustee finish`
#[derive(Args, Debug)]
pub struct TrusteeFinish {
    /// Which plan and state.
    #[command(flatten)]
    pub of: InPlan,
    /// The deal of each dealer (repeat)
    #[arg(long, value_name = "I.deal", required = true)]
    pub deal: Vec<PathBuf>,
    /// Group file
    #[arg(long, value_name = "GROUPFILE")]
    pub group: PathBuf,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// What unlocks the state.
    #[command(flatten)]
    pub unlock: Unlock,
    /// What encrypts the new key.
    #[command(flatten)]
    pub seal: Seal,
}

/// `clew group plan`
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("for").args(["name", "group"]).required(true)))]
pub struct GroupPlan {
    /// Name of the group to be created
    #[arg(long)]
    pub name: Option<Name>,
    /// Group file of the group that gets a new opening key, or other trustees
    #[arg(long, value_name = "GROUPFILE")]
    pub group: Option<PathBuf>,
    /// Keep the opening key and hand it on to these trustees (default: make a new one)
    #[arg(long, requires = "group", requires = "with")]
    pub reshare: bool,
    /// The old trustees who hand it on, as 1,3: at least as many as open together
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "reshare")]
    pub with: Vec<u8>,
    /// How many trustees share the opening key
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=32))]
    pub trustees: u8,
    /// How many of them open together
    #[arg(long, value_name = "T", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=32))]
    pub threshold: u8,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
}

/// What trustees dealt, for `clew group create` and `group reopen`.
#[derive(Args, Debug)]
pub struct Dealt {
    /// The plan
    #[arg(long, value_name = "PLAN")]
    pub plan: PathBuf,
    /// The deal of each dealer (repeat)
    #[arg(long, value_name = "I.deal", required = true)]
    pub deal: Vec<PathBuf>,
}

const REOPEN_HELP: &str = "\
A new opening key, for the packets of later epochs:
  1. manager   clew group plan --group group.clew --trustees 3 --threshold 2 -o new.plan
  2. trustees  clew trustee begin, deal and check, as for a new group: clew help trustee
  3. manager   clew group reopen acme --plan new.plan --deal 1.deal --deal 2.deal --deal 3.deal
  4. trustees  clew trustee finish, with the new group file
Other trustees for the same opening key, which old trustees 1 and 3 hand on (resharing):
  1. manager   clew group plan --group group.clew --reshare --with 1,3 --trustees 4 --threshold 3
               -o on.plan
  2. new       clew trustee begin on.plan --index 2 --state n2.state -o n2.hello
     old       clew trustee begin on.plan --key 3.key --state o3.state -o o3.hello
     both      clew trustee begin on.plan --index 1 --key 1.key --state n1.state -o n1.hello
  3. old       clew trustee deal on.plan --key 3.key --state o3.state --hello n1.hello
     and both  --hello n2.hello --hello o3.hello ... -o o3.deal; then all compare the check code
  4. new       clew trustee check on.plan --state n2.state --deal n1.deal --deal o3.deal
  5. manager   clew group reopen acme --plan on.plan --deal n1.deal --deal o3.deal
  6. new       clew trustee finish on.plan --state n2.state --deal n1.deal --deal o3.deal
               --group group.clew -o n2.key
  7. old       delete the state when all others have finished, and the old key as soon as no packet
               of an earlier epoch is to be opened
Step 5 can be repeated: a group that has the epoch already stays as it is.";

/// `clew group reopen`
#[derive(Args, Debug)]
#[command(after_help = REOPEN_HELP)]
pub struct GroupReopen {
    /// The group's directory
    pub dir: PathBuf,
    /// What trustees dealt.
    #[command(flatten)]
    pub dealt: Dealt,
    /// When the new epoch starts.
    #[command(flatten)]
    pub start: Start,
    /// What unlocks the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
}
