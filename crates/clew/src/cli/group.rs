//! The life of a group: `clew group`, `enrol`, `join`, `revoke`, `update`.

use super::{GroupPlan, GroupReopen, NewFile, OutputFile};
use crate::secrets::{Seal, Unlock};
use clap::{Args, Subcommand, ValueEnum};
use clew_evidence::{GroupLog, Name};
use clew_group::Scheme;
use clew_log::VerifierKey;
use clew_service::http::ServiceUrl;
use std::path::PathBuf;
use std::str::FromStr;

/// `clew group`
#[derive(Subcommand, Debug)]
pub enum Group {
    /// Plan a distributed key generation (DKG), or the handover of an opening key
    Plan(GroupPlan),
    /// Create a group in a new directory
    Create(GroupCreate),
    /// Start a new epoch with the opening key or trustees of a plan
    Reopen(GroupReopen),
    /// Print a group's keys, epochs and register
    Show(GroupPath),
    /// List the machines of a directory, or the epochs of a group file
    List(GroupPath),
    /// Start a new epoch with new witnesses for all machines
    Rebase(GroupRebase),
    /// Start a new epoch with another transparency log, or with none
    SetLog(GroupSetLog),
    /// End the group: its keys were stolen or are given up, or another group succeeds it
    End(GroupEnd),
    /// Write a register file, for opening and comparing elsewhere
    Register(GroupRegister),
    /// Write a machine's witnesses again, if its key lost the current one
    Witness(GroupWitness),
}

/// `clew group create`
#[derive(Args, Debug)]
pub struct GroupCreate {
    /// Directory to create
    pub dir: PathBuf,
    /// Name of the group
    #[arg(long, required_unless_present = "plan")]
    pub name: Option<Name>,
    /// Signature scheme. With bbs04 the issuer knows every machine's key and can sign as any
    /// machine
    #[arg(long, value_enum, default_value = "xr")]
    pub scheme: SchemeName,
    /// Number of trustees that share the opening key (1 to 32)
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=32))]
    pub trustees: u8,
    /// Number of trustees that can open a packet together (1 to 32)
    #[arg(long, value_name = "T", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=32))]
    pub threshold: u8,
    /// Use the key that trustees generated after this plan [default: a trusted dealer, this host]
    #[arg(long, value_name = "PLAN", requires = "deal", conflicts_with_all = ["scheme", "trustees", "threshold"])]
    pub plan: Option<PathBuf>,
    /// Deal of one trustee (repeatable)
    #[arg(long, value_name = "I.deal", requires = "plan")]
    pub deal: Vec<PathBuf>,
    /// Transparency log of the group, as ORIGIN+ID+KEY. Trustees then answer only requests that
    /// this log has [default: none]
    #[arg(long, value_name = "VKEY", value_parser = log_key)]
    pub log: Option<Box<GroupLog>>,
    /// Keep the store in this database of PostgreSQL on this host, as
    /// postgres://USER@%2Frun%2Fpostgresql/NAME [default: a file of SQLite in DIR]
    #[arg(long, value_name = "URL")]
    pub database: Option<String>,
    /// Make a transparency log for the group, too, in DIR/log. clew manager serve serves it
    #[arg(long, conflicts_with = "log")]
    pub with_log: bool,
    /// Name of that log, for all time [default: the group's name]
    #[arg(long, value_name = "NAME", requires = "with_log")]
    pub log_origin: Option<Name>,
    /// What encrypts the new keys.
    #[command(flatten)]
    pub seal: Seal,
}

/// Reads the verifier key of a log.
fn log_key(text: &str) -> Result<Box<GroupLog>, String> {
    let key = text.parse::<VerifierKey>().map_err(|e| e.to_string())?;
    GroupLog::new(key).map(Box::new).map_err(|e| e.to_string())
}

/// A log by its verifier key, or none.
#[derive(Clone, Debug)]
pub enum LogName {
    /// This log.
    Log(Box<GroupLog>),
    /// No log.
    None,
}

impl FromStr for LogName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            text => log_key(text).map(Self::Log),
        }
    }
}

/// `clew group set-log`
#[derive(Args, Debug)]
#[command(after_help = SET_LOG_HELP)]
pub struct GroupSetLog {
    /// Group's directory
    pub dir: PathBuf,
    /// Verifier key of the log, as ORIGIN+ID+KEY; or none
    #[arg(value_name = "VKEY|none")]
    pub log: LogName,
    /// When the new epoch starts.
    #[command(flatten)]
    pub start: Start,
    /// What decrypts the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
}

const SET_LOG_HELP: &str = "\
Trustees with a group file whose newest epoch names a log give no share for a request that this log
does not have. Whoever reads the group file sees from which epoch on the group has another log.";

/// `clew group end`
#[derive(Args, Debug)]
#[command(after_help = END_HELP)]
pub struct GroupEnd {
    /// Group's directory
    pub dir: PathBuf,
    /// The group's name, because an end cannot be taken back
    #[arg(long, value_name = "NAME")]
    pub confirm: Name,
    /// Group file of the group that comes after this one
    #[arg(long, value_name = "GROUPFILE")]
    pub successor: Option<PathBuf>,
    /// Time from which on somebody else may have had the keys, as 2026-11-21T10:00:00Z. clew judge
    /// then warns about packets that no log saw before
    #[arg(long, value_name = "TIME")]
    pub stolen_since: Option<String>,
    /// End this newer group file instead, with which a thief went on; the directory stays as it is
    #[arg(long, value_name = "GROUPFILE", requires = "output")]
    pub published: Option<PathBuf>,
    /// Where to write the ended group file, with --published
    #[arg(
        short,
        long,
        visible_short_alias = 'w',
        value_name = "FILE",
        requires = "published"
    )]
    pub output: Option<PathBuf>,
    /// Address of the group's log, which then has the end of --published
    #[arg(long, value_name = "URL", requires = "published")]
    pub log_url: Option<ServiceUrl>,
    /// What decrypts the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
}

const END_HELP: &str = "\
Nobody joins, is revoked or signs in an ended group; its old packets verify and open as before.
Whoever has a stolen issuer key can end the group, too, and name another successor: nobody follows a
successor by itself. Tell your users its fingerprint by another way.";

/// Signature schemes by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemeName {
    /// Machines choose their own secret: nobody else can sign as them
    Xr,
    /// Boneh, Boyen, Shacham: Short Group Signatures (2004)
    Bbs04,
}

/// `clew group register`
#[derive(Args, Debug)]
pub struct GroupRegister {
    /// Group's directory
    pub dir: PathBuf,
    /// Where to write.
    #[command(flatten)]
    pub out: OutputFile,
    /// Machine to write (repeatable) [default: all]
    #[arg(long, value_name = "MACHINE")]
    pub machine: Vec<Name>,
    /// Epoch to write row hashes for (repeatable, up to 16) [default: the newest]
    #[arg(long, value_name = "E")]
    pub epoch: Vec<u32>,
    /// Write points, which matches need, instead of the hashes that find a row
    #[arg(long)]
    pub points: bool,
    /// What decrypts the issuer key.
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

/// A group, given as its directory or its file.
#[derive(Args, Debug)]
pub struct GroupPath {
    /// Group's directory, or group file
    #[arg(value_name = "DIR|GROUPFILE")]
    pub path: PathBuf,
}

/// `clew group witness`
#[derive(Args, Debug)]
#[command(after_help = WITNESS_HELP)]
pub struct GroupWitness {
    /// Group's directory
    pub dir: PathBuf,
    /// Machine that is enrolled and not revoked
    pub machine: Name,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// What decrypts the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
}

const WITNESS_HELP: &str = "\
A key loses a witness if its clock was ahead during a rebase, or if it missed several rebases. Then:
  issuer  clew group witness acme web-1 -o web-1.credential
  device  clew update --key web-1.key --group group.clew --witness web-1.credential
A witness alone cannot sign: signing also needs the machine's key.";

/// `clew group rebase`
#[derive(Args, Debug)]
#[command(after_help = REBASE_HELP)]
pub struct GroupRebase {
    /// Group's directory
    pub dir: PathBuf,
    /// When the new epoch starts.
    #[command(flatten)]
    pub start: Start,
    /// What decrypts the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
}

const REBASE_HELP: &str = "\
After a rebase every machine needs a new witness: publish DIR/public/witnesses with the group file.
A stolen key cannot sign for epochs before the rebase if its old witnesses were erased. A group of
scheme xr must be rebased after at most 65,536 revocations.";

const ENROL_HELP: &str = "\
A machine joins from its own host with five files, passed between device and issuer:
  issuer  clew enrol acme web-1 --invite -o web-1.invitation
  device  clew join web-1.invitation --group group.clew --state web-1.joining -o web-1.request
  issuer  clew enrol acme --answer web-1.request -o web-1.offer
  device  clew join web-1.offer --group group.clew --state web-1.joining -o web-1.acceptance
  issuer  clew enrol acme --answer web-1.acceptance -o web-1.credential
  device  clew join web-1.credential --group group.clew --state web-1.joining -o web-1.key
Every step can be repeated. If a new epoch starts before the acceptance is answered, the offer is
void: invite the machine again and join with a new --state.
With clew manager serve, the device does its part with one command, which can be repeated:
  device  clew enrol --manager URL --invitation web-1.invitation -o web-1.key
A factory invites machines itself, within a batch:
  issuer  clew enrol acme --invite-batch line- --count 9 --until TIME -o line.batch
  device  clew enrol --manager URL --batch line.batch line-7 -o line-7.key
Without --invite and --answer, this host plays both roles and sees the machine's key.
clew group list acme lists open invitations; clew enrol acme web-1 --withdraw withdraws one.";

/// `clew enrol`
#[derive(Args, Debug)]
#[command(after_help = ENROL_HELP)]
pub struct Enrol {
    /// Group's directory; with --batch, the name of the machine instead
    #[arg(required_unless_present = "manager", conflicts_with = "invitation")]
    pub dir: Option<PathBuf>,
    /// Name of the machine
    #[arg(
        required_unless_present_any = ["answer", "invite_batch", "manager"],
        conflicts_with_all = ["answer", "invite_batch", "manager"]
    )]
    pub machine: Option<Name>,
    /// Join from this host, with the manager at this URL. A repeated command resumes the join
    #[arg(long, value_name = "URL", conflicts_with_all = ["invite", "answer", "withdraw"])]
    pub manager: Option<ServiceUrl>,
    /// Invitation of this host
    #[arg(long, value_name = "FILE", requires = "manager")]
    pub invitation: Option<PathBuf>,
    /// Factory batch, which invites this host
    #[arg(long, value_name = "FILE", requires_all = ["manager", "dir"], conflicts_with = "invitation")]
    pub batch: Option<PathBuf>,
    /// Write a factory batch: the right to invite machines whose names begin with PREFIX
    #[arg(long, value_name = "PREFIX", conflicts_with_all = ["invite", "answer", "manager"])]
    pub invite_batch: Option<Name>,
    /// Number of machines that a factory batch may invite
    #[arg(long, value_name = "N", requires_all = ["invite_batch", "until"], value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub count: Option<u32>,
    /// End of a factory batch, as 2027-01-01T00:00:00Z
    #[arg(long, value_name = "TIME", requires_all = ["invite_batch", "count"])]
    pub until: Option<String>,
    /// Write an invitation to join from the machine's own host
    #[arg(long)]
    pub invite: bool,
    /// Device's request or acceptance to answer
    #[arg(long, value_name = "FILE", conflicts_with = "invite")]
    pub answer: Option<PathBuf>,
    /// Withdraw the machine's open invitation, or the factory batches of --invite-batch
    #[arg(long, conflicts_with_all = ["invite", "answer", "output"])]
    pub withdraw: bool,
    /// Output file: the machine's key, an invitation or an answer. An existing file is not replaced
    #[arg(
        short,
        long,
        visible_short_alias = 'w',
        value_name = "FILE",
        required_unless_present = "withdraw"
    )]
    pub output: Option<PathBuf>,
    /// Which witnesses of the group\x27s log are believed.
    #[command(flatten)]
    pub witnesses: LogWitnesses,
    /// What decrypts the issuer key; with --manager, the invitation or the batch.
    #[command(flatten)]
    pub unlock: Unlock,
    /// What encrypts the new file: the machine's key, an invitation or a batch.
    #[command(flatten)]
    pub seal: Seal,
}

/// `clew join`
#[derive(Args, Debug)]
#[command(after_help = ENROL_HELP)]
pub struct Join {
    /// Issuer's invitation, offer or credential
    pub file: PathBuf,
    /// Group file
    #[arg(long, value_name = "GROUPFILE")]
    pub group: PathBuf,
    /// Secret state of the device between steps. Removed when the key is written
    #[arg(long, value_name = "FILE")]
    pub state: PathBuf,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// What decrypts the issuer's file, and the state if nothing encrypts it.
    #[command(flatten)]
    pub unlock: Unlock,
    /// What encrypts the state and the machine's key.
    #[command(flatten)]
    pub seal: Seal,
}

/// When a new epoch starts.
#[derive(Args, Debug)]
pub struct Start {
    /// Start of the new epoch, as 2026-11-21T10:00:00Z
    #[arg(long, value_name = "TIME", default_value = "now")]
    pub at: String,
    /// Accept a start more than 30 days ahead
    #[arg(long)]
    pub far: bool,
}

const REVOKE_HELP: &str = "\
If epochs are already planned for later, they move forward to the new epoch's start.
A published epoch cannot be withdrawn, and a revocation cannot be undone: enrol the machine again.
Packets of a revoked machine remain valid for the grace time after the start: 60 s, or clew verify
--grace. The holder of its key can backdate packets to before the start; clew judge therefore adds
the caveat revoked-later to every packet of the machine.";

/// `clew revoke`
#[derive(Args, Debug)]
#[command(after_help = REVOKE_HELP)]
pub struct Revoke {
    /// Group's directory
    pub dir: PathBuf,
    /// Machines to revoke together (xr: up to 48, with --rebase up to 900)
    #[arg(required = true)]
    pub machine: Vec<Name>,
    /// Publish nothing about the revoked machines' keys. All other machines then need a new witness
    /// (proof that they are not revoked): clew update --witness [bbs04: always]
    #[arg(long)]
    pub rebase: bool,
    /// Revoke with the next epoch that clew manager serve --epoch-every makes, instead of now
    #[arg(long, conflicts_with_all = ["rebase", "at", "far"])]
    pub batch: bool,
    /// When the new epoch starts.
    #[command(flatten)]
    pub start: Start,
    /// What decrypts the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// Which witnesses of the group's log a device believes.
#[derive(Args, Debug)]
pub struct LogWitnesses {
    /// Witness of the group's log, as NAME+ID+KEY (repeatable). A new epoch is signed in only when
    /// the log has it, cosigned within a day. Kept beside the key
    #[arg(long, value_name = "VKEY", requires = "manager")]
    pub log_witness: Vec<VerifierKey>,
    /// How many of these witnesses must have cosigned [default: more than half]
    #[arg(long, value_name = "K", requires = "log_witness")]
    pub log_threshold: Option<usize>,
    /// Read each new entry of the log, too: finds epochs that the manager withholds. Costs 32 bytes for
    /// each machine that is enrolled
    #[arg(long, requires = "log_witness")]
    pub log_read: bool,
}

/// `clew update`
#[derive(Args, Debug)]
pub struct Update {
    /// Fetch the group file, and witnesses, from the manager at this URL
    #[arg(long, value_name = "URL", conflicts_with = "witness")]
    pub manager: Option<ServiceUrl>,
    /// Keep the group file and the key up to date until interrupted
    #[arg(long, requires = "manager")]
    pub follow: bool,
    /// Key to update. Replaced only when the new key works
    #[arg(long, value_name = "MACHINE.key")]
    pub key: PathBuf,
    /// Group file
    #[arg(long, value_name = "GROUPFILE")]
    pub group: PathBuf,
    /// Witnesses after a rebase: the manager's folder, this machine's bucket, or a credential
    /// (repeatable)
    #[arg(long, value_name = "FILE|DIR")]
    pub witness: Vec<PathBuf>,
    /// Which witnesses of the group's log are believed.
    #[command(flatten)]
    pub witnesses: LogWitnesses,
    /// What decrypts the key.
    #[command(flatten)]
    pub unlock: Unlock,
}
