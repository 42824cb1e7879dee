//! A group's manager as a service: `clew manager`.

use super::flow::duration;
use super::{Asked, parse_address};
use crate::secrets::Unlock;
use clap::{Args, Subcommand};
use clew_service::http::ServiceUrl;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const SERVE_HELP: &str = "\
Devices join with clew enrol --manager URL and follow epochs with clew update --manager URL. The URL
that is printed has the fingerprint of the service's own certificate: give it to devices as it is.
If the group has a log, machines, epochs and authors get into it by themselves. A log that clew group
create --with-log made is served below the same URL, at /log/.
Other commands may work on DIR meanwhile. Give --listen an address that devices reach.";

/// `clew manager`
#[derive(Subcommand, Debug)]
pub enum Manager {
    /// Serve joins and the feed of epochs to devices
    Serve(Box<ManagerServe>),
    /// Say at which address the group's log is, if it is not in the group's directory
    SetLog(ManagerSetLog),
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
