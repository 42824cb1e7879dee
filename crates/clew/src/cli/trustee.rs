//! Opening keys that trustees make themselves: `clew trustee`, `clew group plan`, `group reopen`.

use super::manager::LOGIN_HELP;
use super::{NewFile, Start, parse_address};
use crate::secrets::{Seal, Unlock};
use clap::{ArgGroup, Args, Subcommand};
use clew_evidence::Name;
use clew_log::VerifierKey;
use clew_service::http::ServiceUrl;
use std::net::SocketAddr;
use std::path::PathBuf;

const TRUSTEE_HELP: &str = "\
As a program that asks the manager's board, and takes part in what you approve:
  trustee      clew trustee init alice --manager URL --name alice
  manager      clew manager admit acme --role trustee --index 1 --key alice/author.pub
  trustee      clew trustee serve alice; clew trustee list alice; clew trustee approve alice ID

With files, distributed key generation (DKG):
  1. manager   clew group plan --name acme --trustees 3 --threshold 2 -o acme.plan
  2. trustees  clew trustee begin acme.plan --index 1 --state 1.state -o 1.hello
  3. trustees  clew trustee deal acme.plan --state 1.state --hello 1.hello --hello 2.hello
               --hello 3.hello -o 1.deal; then compare the check code by voice
  4. trustees  clew trustee check acme.plan --state 1.state --deal 1.deal --deal 2.deal
               --deal 3.deal
  5. manager   clew group create acme --plan acme.plan --deal 1.deal --deal 2.deal --deal 3.deal
  6. trustees  clew trustee finish acme.plan --state 1.state --deal 1.deal --deal 2.deal
               --deal 3.deal --group group.clew -o 1.key; then compare check code and epoch id
Steps 2 to 4 and 6 can be repeated and write the same files. Run step 5 once: every create founds
another group. If a trustee finished with another group's file, finish again with the right one.
When all trustees agree, delete the states.
For an existing group (new opening key, or other trustees), see clew help group reopen.

Exit status: 0 done, 1 a trustee cheated, 2 could not tell, or bad usage";

/// `clew trustee`
#[derive(Subcommand, Debug)]
#[command(after_help = TRUSTEE_HELP)]
pub enum Trustee {
    /// Make a trustee's directory: its author key, and whom it asks for work
    Init(Box<TrusteeInit>),
    /// Take part in what the manager's board has, until stopped
    Serve(TrusteeServe),
    /// Say at which address the manager is from now on
    SetManager(TrusteeSetManager),
    /// Print a link that logs in to the trustee's own page, once
    Login(TrusteeLogin),
    /// List what waits for you, and what was done
    List(TrusteeList),
    /// Approve a request: give a share of its answer; or a plan: take part in it
    Approve(TrusteeAnswer),
    /// Refuse a request or a plan
    Refuse(TrusteeRefuse),
    /// Start taking part in a plan: generate the keys that encrypt shares
    Begin(TrusteeBegin),
    /// Deal part of the opening key, or an old share, to all trustees
    Deal(TrusteeDeal),
    /// Check all deals before the manager uses them
    Check(TrusteeCheck),
    /// Write the trustee's key, once the group file has the opening key
    Finish(TrusteeFinish),
}

/// `clew trustee init`
#[derive(Args, Debug)]
pub struct TrusteeInit {
    /// Directory to make
    pub dir: PathBuf,
    /// Address of the manager, as clew manager serve prints it
    #[arg(long, value_name = "URL")]
    pub manager: ServiceUrl,
    /// Address of the group's log [default: below the manager's]
    #[arg(long, value_name = "URL")]
    pub log_url: Option<ServiceUrl>,
    /// Name of the trustee
    #[arg(long)]
    pub name: Name,
    /// Public key of a court whose warrants this trustee accepts (repeatable) [default: nobody]
    #[arg(long, value_name = "COURT.pub", requires = "witness")]
    pub issuer: Vec<PathBuf>,
    /// Witness of the group's log that this trustee believes (repeatable)
    #[arg(long, value_name = "VKEY", requires = "issuer")]
    pub witness: Vec<VerifierKey>,
    /// Trustee key that this trustee has already, to copy
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// What decrypts the trustee key.
    #[command(flatten)]
    pub unlock: Unlock,
    /// What encrypts the secrets of the directory.
    #[command(flatten)]
    pub seal: Seal,
}

const SERVE_HELP: &str = "\
Without --page it never listens. The page shows what waits for you, and has forms to approve and
refuse. Only the holder of author.key logs in: clew trustee login DIR. It also answers /health and
/metrics.
If DIR/notices.toml exists, you are told of what waits: by [mail], by [webhook], or both. The
book's page \"Ask the trustees over the network\" has an example.";

/// `clew trustee serve`
#[derive(Args, Debug)]
#[command(after_help = SERVE_HELP)]
pub struct TrusteeServe {
    /// Trustee's directory
    pub dir: PathBuf,
    /// Do what can be done now, and exit
    #[arg(long)]
    pub once: bool,
    /// Serve a page for the trustee's operator [default address: 127.0.0.1:4915]
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:4915", value_parser = parse_address, conflicts_with = "once")]
    pub page: Option<SocketAddr>,
    /// What decrypts the secrets of the directory.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew trustee set-manager`
#[derive(Args, Debug)]
pub struct TrusteeSetManager {
    /// Trustee's directory
    pub dir: PathBuf,
    /// Address of the manager, with its fingerprint: as clew manager serve prints it
    pub url: ServiceUrl,
}

/// `clew trustee login`
#[derive(Args, Debug)]
#[command(after_help = LOGIN_HELP)]
pub struct TrusteeLogin {
    /// Trustee's directory
    pub dir: PathBuf,
    /// What decrypts the author key.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew trustee list`
#[derive(Args, Debug)]
pub struct TrusteeList {
    /// Trustee's directory
    pub dir: PathBuf,
    /// Also list requests that were delivered, or expired long ago
    #[arg(long)]
    pub all: bool,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// `clew trustee approve` and `clew trustee refuse`
#[derive(Args, Debug)]
pub struct TrusteeAnswer {
    /// Trustee's directory
    pub dir: PathBuf,
    /// Id that clew trustee list prints, or its beginning: of a request, 8 digits or more
    pub id: String,
    /// What decrypts the author key, which signs the answer to a request.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew trustee refuse`
#[derive(Args, Debug)]
pub struct TrusteeRefuse {
    /// What is answered.
    #[command(flatten)]
    pub of: TrusteeAnswer,
    /// Request: name of the rule that it breaks, as warrant-expired
    /// [default: the rule that failed, else operator]
    #[arg(long, value_name = "RULE")]
    pub because: Option<String>,
}

/// The plan and the state, which every step needs.
#[derive(Args, Debug)]
pub struct InPlan {
    /// Manager's plan
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    /// Secret state of the trustee between steps
    #[arg(long, value_name = "FILE")]
    pub state: PathBuf,
}

/// `clew trustee begin`
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("part").args(["index", "key"]).required(true).multiple(true)))]
pub struct TrusteeBegin {
    /// The plan, and where to write the state.
    #[command(flatten)]
    pub of: InPlan,
    /// Receive the share of trustee I (1 to 32)
    #[arg(long, value_name = "I", value_parser = clap::value_parser!(u8).range(1..=32))]
    pub index: Option<u8>,
    /// Old trustee key, to hand on its share. Resharing only
    #[arg(long, value_name = "OLD.key")]
    pub key: Option<PathBuf>,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// What decrypts the old key, or an existing state.
    #[command(flatten)]
    pub unlock: Unlock,
    /// What encrypts the new state.
    #[command(flatten)]
    pub seal: Seal,
}

/// `clew trustee deal`
#[derive(Args, Debug)]
pub struct TrusteeDeal {
    /// The plan and the state.
    #[command(flatten)]
    pub of: InPlan,
    /// Old trustee key, to hand on its share. Resharing only
    #[arg(long, value_name = "OLD.key")]
    pub key: Option<PathBuf>,
    /// Hello of a participant, this trustee included (repeatable)
    #[arg(long, value_name = "I.hello", required = true)]
    pub hello: Vec<PathBuf>,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// What decrypts the state and the old key.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew trustee check`
#[derive(Args, Debug)]
pub struct TrusteeCheck {
    /// The plan and the state.
    #[command(flatten)]
    pub of: InPlan,
    /// Deal of one trustee (repeatable)
    #[arg(long, value_name = "I.deal", required = true)]
    pub deal: Vec<PathBuf>,
    /// What decrypts the state.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew trustee finish`
#[derive(Args, Debug)]
pub struct TrusteeFinish {
    /// The plan and the state.
    #[command(flatten)]
    pub of: InPlan,
    /// Deal of one trustee (repeatable)
    #[arg(long, value_name = "I.deal", required = true)]
    pub deal: Vec<PathBuf>,
    /// Group file
    #[arg(long, value_name = "GROUPFILE")]
    pub group: PathBuf,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// What decrypts the state.
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
    /// Name of the group to create
    #[arg(long)]
    pub name: Option<Name>,
    /// Group file, to give an existing group a new opening key or other trustees
    #[arg(long, value_name = "GROUPFILE")]
    pub group: Option<PathBuf>,
    /// Hand the existing opening key on to these trustees [default: generate a new key]
    #[arg(long, requires = "group", requires = "with")]
    pub reshare: bool,
    /// Old trustees that take part, as 1,3. At least the old threshold
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "reshare")]
    pub with: Vec<u8>,
    /// Number of trustees that share the opening key (1 to 32)
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=32))]
    pub trustees: u8,
    /// Number of trustees that can open a packet together (1 to 32)
    #[arg(long, value_name = "T", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=32))]
    pub threshold: u8,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
}

const REOPEN_HELP: &str = "\
A new opening key, for packets of later epochs:
  1. manager   clew group plan --group group.clew --trustees 3 --threshold 2 -o new.plan
  2. trustees  clew trustee begin, deal and check, as for a new group: clew help trustee
  3. manager   clew group reopen acme --plan new.plan --deal 1.deal --deal 2.deal --deal 3.deal
  4. trustees  clew trustee finish, with the new group file
Other trustees for the same opening key (resharing), handed on by old trustees 1 and 3. Here old
trustee 1 stays:
  1. manager   clew group plan --group group.clew --reshare --with 1,3 --trustees 4 --threshold 3
               -o on.plan
  2. new       clew trustee begin on.plan --index 2 --state n2.state -o n2.hello
     old       clew trustee begin on.plan --key 3.key --state o3.state -o o3.hello
     both      clew trustee begin on.plan --index 1 --key 1.key --state n1.state -o n1.hello
  3. old       clew trustee deal on.plan --key 3.key --state o3.state --hello n1.hello
     and both  --hello n2.hello --hello o3.hello ... -o o3.deal; then compare the check code
  4. new       clew trustee check on.plan --state n2.state --deal n1.deal --deal o3.deal
  5. manager   clew group reopen acme --plan on.plan --deal n1.deal --deal o3.deal
  6. new       clew trustee finish on.plan --state n2.state --deal n1.deal --deal o3.deal
               --group group.clew -o n2.key
  7. old       delete the state when all others have finished. Delete the old key when packets of
               earlier epochs no longer need to be opened
Step 5 can be repeated: it does not change a group that already has the epoch.";

/// `clew group reopen`
#[derive(Args, Debug)]
#[command(after_help = REOPEN_HELP)]
pub struct GroupReopen {
    /// Group's directory
    pub dir: PathBuf,
    /// Plan
    #[arg(
        long,
        value_name = "PLAN",
        required_unless_present = "from_board",
        requires = "deal"
    )]
    pub plan: Option<PathBuf>,
    /// Deal of one trustee (repeatable)
    #[arg(long, value_name = "I.deal", requires = "plan")]
    pub deal: Vec<PathBuf>,
    /// Id of a plan on the board, whose deals all trustees have checked
    #[arg(long, value_name = "ID", conflicts_with_all = ["plan", "deal"])]
    pub from_board: Option<String>,
    /// When the new epoch starts.
    #[command(flatten)]
    pub start: Start,
    /// What decrypts the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
}
