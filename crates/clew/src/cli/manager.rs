//! A group's manager as a service: `clew manager`.

use super::flow::duration;
use super::parse_address;
use crate::secrets::Unlock;
use clap::{Args, Subcommand, ValueEnum};
use clew_evidence::Name;
use clew_service::http::ServiceUrl;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const SERVE_HELP: &str = "\
Devices join with clew enrol --manager URL and follow epochs with clew update --manager URL. The URL
that is printed has the fingerprint of the service's own certificate: give it to devices as it is.
Other commands may work on DIR meanwhile. Give --listen an address that devices reach.";

const LOGIN_HELP: &str = "\
Open the link in a browser within two minutes. Whoever has it logs in once, so give it to nobody. The
browser warns about the service's own certificate: compare its fingerprint with that of the URL.";

/// `clew manager`
#[derive(Subcommand, Debug)]
pub enum Manager {
    /// Serve joins and the feed of epochs to devices
    Serve(ManagerServe),
    /// Print a link that logs in to the manager's pages, once
    Login(ManagerLogin),
    /// Let a trustee, requester or observer write into the log, and onto the board
    Admit(ManagerAdmit),
    /// Take an author's role
    Dismiss(ManagerDismiss),
    /// List the authors that were admitted
    Authors(ManagerAuthors),
}

/// `clew manager admit`
#[derive(Args, Debug)]
pub struct ManagerAdmit {
    /// Group's directory
    pub dir: PathBuf,
    /// What the author is
    #[arg(long, value_enum)]
    pub role: AuthorRole,
    /// Index of the trustee (1 to 32). The key that had it is dismissed
    #[arg(long, value_name = "I", required_if_eq("role", "trustee"), value_parser = clap::value_parser!(u8).range(1..=32))]
    pub index: Option<u8>,
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

/// `clew manager dismiss`
#[derive(Args, Debug)]
pub struct ManagerDismiss {
    /// Group's directory
    pub dir: PathBuf,
    /// Name of the author
    pub name: Name,
}

/// `clew manager authors`
#[derive(Args, Debug)]
pub struct ManagerAuthors {
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

/// `clew manager login`
#[derive(Args, Debug)]
#[command(after_help = LOGIN_HELP)]
pub struct ManagerLogin {
    /// Group's directory, on the manager's host: log in as the manager
    #[arg(conflicts_with_all = ["manager", "key"], required_unless_present = "manager")]
    pub dir: Option<PathBuf>,
    /// Where the manager of DIR listens
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4910", value_parser = parse_address)]
    pub at: SocketAddr,
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
