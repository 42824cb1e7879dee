//! A group's manager as a service: `clew manager`.

use super::flow::duration;
use super::parse_address;
use crate::secrets::{Seal, Unlock};
use clap::{Args, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const SERVE_HELP: &str = "\
Devices join with clew enrol --manager URL and follow epochs with clew update --manager URL. The URL
that is printed has the fingerprint of the service's own certificate: give it to devices as it is.
Other commands may work on DIR meanwhile. Give --listen an address that devices reach.";

const BACKUP_HELP: &str = "\
The backup has the names of all machines. It never has the shares of trustees. Without --with-keys,
keep issuer/issuer.key of DIR elsewhere: without it nobody can enrol or revoke.";

const RESTORE_HELP: &str = "\
An older backup would revive machines that were revoked since. Give --published the newest group file,
from a device or a web server. To change the database of a store, stop its service, then run clew manager
backup --with-keys and clew manager restore --database.";

/// `clew manager`
#[derive(Subcommand, Debug)]
pub enum Manager {
    /// Serve joins and the feed of epochs to devices
    Serve(ManagerServe),
    /// Write a group's store into one file, while others work with it
    Backup(ManagerBackup),
    /// Make a group's directory from a backup
    Restore(ManagerRestore),
    /// Check the whole store: pages, rows, signatures, the register's tree
    Check(ManagerCheck),
}

/// `clew manager backup`
#[derive(Args, Debug)]
#[command(after_help = BACKUP_HELP)]
pub struct ManagerBackup {
    /// Group's directory
    pub dir: PathBuf,
    /// File to write, with permissions 0600
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
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

/// `clew manager check`
#[derive(Args, Debug)]
pub struct ManagerCheck {
    /// Group's directory
    pub dir: PathBuf,
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
    /// Revoke machines of clew revoke --batch this often, as 1h [default: never]
    #[arg(long, value_name = "D", value_parser = duration)]
    pub epoch_every: Option<Duration>,
    /// What decrypts the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
}
