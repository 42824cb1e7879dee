//! A group's manager as a service: `clew manager`.

use super::flow::duration;
use super::{Asked, NewFile, Reached, parse_address};
use crate::secrets::{Seal, Unlock};
use clap::{Args, Subcommand, ValueEnum};
use clew_evidence::Name;
use clew_service::http::ServiceUrl;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

const SERVE_HELP: &str = "\
Devices join with clew enrol --manager URL and follow epochs with clew update --manager URL. The URL
that is printed has the fingerprint of the service's own certificate: give it to devices as it is.
If the group has a log, machines, epochs and authors get into it by themselves. A log that
clew group create --with-log made is served below the same URL, at /log/. Its own URL is printed,
too.
Other commands may work on DIR meanwhile. Give --listen an address that devices reach, or --address
what reaches it. --listen 0.0.0.0:4910 takes connections to all addresses.";

const PLAN_HELP: &str = "\
  1. manager   clew manager plan acme --trustees 3 --threshold 2
  2. trustees  clew trustee list DIR, compare the fingerprints, clew trustee approve DIR ID; their
               clew trustee serve does the rest
  3. manager   clew manager plans acme, until all deals are good; then
               clew group reopen acme --from-board ID
If a trustee cheats or stays away, make a new plan without it.";

const BACKUP_HELP: &str = "\
The backup has the names of all machines. It never has the shares of trustees. Without --with-keys,
keep issuer/issuer.key of DIR elsewhere: without it nobody can enrol or revoke.";

const RESTORE_HELP: &str = "\
An older backup would revive machines that were revoked since. Give --published the newest group
file, from a device or a web server. To change the database of a store, stop its service, then run
clew manager backup --with-keys and clew manager restore --database.";

/// What to know of a link.
pub const LOGIN_HELP: &str = "\
Open the link in a browser within two minutes. Whoever has it logs in once, so give it to nobody.
The browser warns about the service's own certificate: compare its fingerprint with that of the URL.";

/// `clew manager`
#[derive(Subcommand, Debug)]
pub enum Manager {
    /// Serve joins and the feed of epochs to devices
    Serve(Box<ManagerServe>),
    /// Print a link that logs in to the manager's pages, once
    Login(ManagerLogin),
    /// Let a trustee, requester or observer write into the log, and onto the board
    Admit(ManagerAdmit),
    /// Take an author's role
    Dismiss(ManagerDismiss),
    /// List the authors that were admitted
    Authors(ManagerAuthors),
    /// Post a plan for a new opening key, or for other trustees, on the board
    Plan(ManagerPlan),
    /// List the plans on the board, and where they stand
    Plans(ManagerAuthors),
    /// Say at which address the group's log is, if it is not in the group's directory
    SetLog(ManagerSetLog),
    /// Write a group's store into one file, while others work with it
    Backup(ManagerBackup),
    /// Make a group's directory from a backup
    Restore(ManagerRestore),
    /// Take over what was published since the backup that a store was restored from
    CatchUp(ManagerCatchUp),
    /// Compare this host's clock with what the store has seen
    Clock(ManagerClock),
    /// Show or set for how long names, joins and posts are kept
    Retention(ManagerRetention),
    /// Delete what is past its time by the rule of retention
    Prune(ManagerPrune),
    /// Check the whole store: pages, rows, signatures, the register's tree
    Check(ManagerCheck),
}

/// `clew manager admit`
#[derive(Args, Debug)]
pub struct ManagerAdmit {
    /// Group's directory
    pub dir: PathBuf,
    /// What the author is
    #[arg(long, value_enum)]
    pub role: AuthorRole,
    /// Index of the trustee (1 to 32): its share of one opening key, which no other key then has
    #[arg(long, value_name = "I", required_if_eq("role", "trustee"), value_parser = clap::value_parser!(u8).range(1..=32))]
    pub index: Option<u8>,
    /// First epoch of the opening key whose share the trustee holds [default: that of the newest one]
    #[arg(long, value_name = "EPOCH", requires = "index")]
    pub since: Option<u32>,
    /// Name of the author in this group [default: the name in its key]
    #[arg(long)]
    pub name: Option<Name>,
    /// Public key of the author: NAME.pub of clew log keygen or clew trustee init
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
}

/// Roles of authors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuthorRole {
    /// Answers requests.
    Trustee,
    /// Files requests.
    Requester,
    /// Anchors captures.
    Observer,
}

/// `clew manager retention`
#[derive(Args, Debug)]
#[command(after_help = RETENTION_HELP)]
pub struct ManagerRetention {
    /// Group's directory
    pub dir: PathBuf,
    /// Days that name and row of a machine stay after its revocation started, or never
    #[arg(long, value_name = "DAYS|never")]
    pub machines: Option<Days>,
    /// Days that invitations stay, and what devices sent to join, or never
    #[arg(long, value_name = "DAYS|never")]
    pub joins: Option<Days>,
    /// Days that a topic of the board stays after its last post, or never
    #[arg(long, value_name = "DAYS|never")]
    pub posts: Option<Days>,
}

/// Days after which something is deleted; `None` for never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Days(pub Option<u32>);

impl FromStr for Days {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "never" => Ok(Self(None)),
            days => days
                .parse()
                .map(|days| Self(Some(days)))
                .map_err(|_| "need a number of days, or never".to_owned()),
        }
    }
}

const RETENTION_HELP: &str = "\
A new group keeps everything. A machine is deleted only once it is revoked: then nobody can name it
from a packet any more. Evidence that was made before stays good. clew manager serve deletes once a
day; clew manager prune deletes now.";

/// `clew manager prune`
#[derive(Args, Debug)]
#[command(after_help = PRUNE_HELP)]
pub struct ManagerPrune {
    /// Group's directory
    pub dir: PathBuf,
    /// Delete [default: list what would be deleted]
    #[arg(long)]
    pub delete: bool,
}

const PRUNE_HELP: &str = "\
Deleted bytes are overwritten in the store's file. Backups still have them, and so has a server of
PostgreSQL until it vacuums, and the free blocks of an unencrypted disk.";

/// `clew manager dismiss`
#[derive(Args, Debug)]
pub struct ManagerDismiss {
    /// Group's directory
    pub dir: PathBuf,
    /// Name of the author
    pub name: Name,
}

/// `clew manager plan`
#[derive(Args, Debug)]
#[command(after_help = PLAN_HELP)]
pub struct ManagerPlan {
    /// Group's directory
    pub dir: PathBuf,
    /// Hand the existing opening key on to these trustees [default: generate a new key]
    #[arg(long, requires = "with")]
    pub reshare: bool,
    /// Old trustees that hand their shares on, as 1,3. At least the old threshold
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "reshare")]
    pub with: Vec<u8>,
    /// Number of trustees that share the opening key (1 to 32)
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=32))]
    pub trustees: u8,
    /// Number of trustees that can open a packet together (1 to 32)
    #[arg(long, value_name = "T", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=32))]
    pub threshold: u8,
    /// Public key of trustee I (repeatable) [default: the author admitted with that index]
    #[arg(long, value_name = "I=FILE", value_parser = seat)]
    pub trustee: Vec<(u8, PathBuf)>,
    /// What decrypts the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew manager backup`
#[derive(Args, Debug)]
#[command(after_help = BACKUP_HELP)]
pub struct ManagerBackup {
    /// Group's directory
    pub dir: PathBuf,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// Include the issuer key and the service's certificate, as they are on disk
    #[arg(long)]
    pub with_keys: bool,
    /// What encrypts the backup.
    #[command(flatten)]
    pub seal: Seal,
}

/// `clew manager restore`
#[derive(Args, Debug)]
#[command(after_help = RESTORE_HELP)]
pub struct ManagerRestore {
    /// Backup
    pub backup: PathBuf,
    /// Directory to create
    pub dir: PathBuf,
    /// Newest group file that anybody has. The store does not open if it is newer than the backup
    #[arg(long, value_name = "GROUP", required_unless_present = "unchecked")]
    pub published: Option<PathBuf>,
    /// Compare with no group file: nothing was published since the backup
    #[arg(long, conflicts_with = "published")]
    pub unchecked: bool,
    /// Keep the store in this database of PostgreSQL on this host [default: a file of SQLite in DIR]
    #[arg(long, value_name = "URL")]
    pub database: Option<String>,
    /// What decrypts the backup.
    #[command(flatten)]
    pub unlock: Unlock,
}

const CATCH_UP_HELP: &str = "\
For a store that was restored from a backup, and of which no other copy is in use: two managers of one
group make two histories, which every reader refuses. DIR/public/group.clew, which clew manager restore
--published put there, has to be the newest group file that anybody has.
Epochs, checkpoints and revocations come back; of machines that were enrolled since the backup only what
the group's log has: the hashes of their rows. Nobody can name them, so enrol them again and run clew
group rebase, which locks their old keys out. Invitations, authors and posts since the backup are lost.";

/// `clew manager catch-up`
#[derive(Args, Debug)]
#[command(after_help = CATCH_UP_HELP)]
pub struct ManagerCatchUp {
    /// Group's directory
    pub dir: PathBuf,
    /// Address of the group's log, or of a copy of it [default: the address of clew manager set-log]
    #[arg(long, value_name = "URL")]
    pub log_url: Option<ServiceUrl>,
    /// What decrypts the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
}

const CLOCK_HELP: &str = "\
No machine is enrolled or revoked and nothing is deleted while the clock cannot be believed: what is
dated wrongly cannot be taken back. Look at another clock before you confirm this one.

Exit status: 0 believed, 1 not, 2 could not tell, or bad usage";

/// `clew manager clock`
#[derive(Args, Debug)]
#[command(after_help = CLOCK_HELP)]
pub struct ManagerClock {
    /// Group's directory
    pub dir: PathBuf,
    /// Say that this host's clock is right
    #[arg(long)]
    pub confirm: bool,
}

/// Reads `I=FILE`.
fn seat(text: &str) -> Result<(u8, PathBuf), String> {
    let read = text.split_once('=');
    let read = read.and_then(|(index, path)| Some((index.parse().ok()?, path.into())));
    let in_range = |(index, _): &(u8, PathBuf)| (1..=32).contains(index);
    read.filter(in_range)
        .ok_or_else(|| "write I=FILE, as 2=bob.pub".to_owned())
}

/// `clew manager authors` and `clew manager plans`
#[derive(Args, Debug)]
pub struct ManagerAuthors {
    /// Group's directory
    pub dir: PathBuf,
}

/// `clew manager check`
#[derive(Args, Debug)]
pub struct ManagerCheck {
    /// Group's directory
    pub dir: PathBuf,
    /// Do not compare the rows with the issuer key: about 1 ms a machine
    #[arg(long)]
    pub without_key: bool,
    /// What decrypts the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew manager set-log`
#[derive(Args, Debug)]
pub struct ManagerSetLog {
    /// Group's directory
    pub dir: PathBuf,
    /// Address of the log that the group file names
    pub url: ServiceUrl,
}

/// `clew manager serve`
#[derive(Args, Debug)]
#[command(after_help = SERVE_HELP)]
pub struct ManagerServe {
    /// Group's directory
    pub dir: PathBuf,
    /// Address and port to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4910", value_parser = parse_address)]
    pub listen: SocketAddr,
    /// How devices reach it.
    #[command(flatten)]
    pub reached: Reached,
    /// Revoke machines of clew revoke --batch this often, as 1h [default: never]
    #[arg(long, value_name = "D", value_parser = duration)]
    pub epoch_every: Option<Duration>,
    /// Which witnesses the group's own log asks.
    #[command(flatten)]
    pub asked: Asked,
    /// What decrypts the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew manager login`
#[derive(Args, Debug)]
#[command(after_help = LOGIN_HELP)]
pub struct ManagerLogin {
    /// Group's directory, on the manager's host: log in as the manager
    #[arg(conflicts_with_all = ["manager", "key"], required_unless_present = "manager")]
    pub dir: Option<PathBuf>,
    /// Where the manager of DIR listens [default: the address that its service told last]
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    pub at: Option<SocketAddr>,
    /// Address of the manager, with its fingerprint: log in as an author
    #[arg(long, value_name = "URL", requires = "key")]
    pub manager: Option<ServiceUrl>,
    /// Key of the author
    #[arg(long, value_name = "FILE", requires = "manager")]
    pub key: Option<PathBuf>,
    /// What decrypts the issuer key, or the author's.
    #[command(flatten)]
    pub unlock: Unlock,
}
