//! A group's manager as a service: `clew manager`.

use super::flow::duration;
use super::parse_address;
use crate::secrets::Unlock;
use clap::{Args, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const SERVE_HELP: &str = "\
Devices join with clew enrol --manager URL and follow epochs with clew update --manager URL. The URL
that is printed has the fingerprint of the service's own certificate: give it to devices as it is.
Other commands may work on DIR meanwhile. Give --listen an address that devices reach.";

/// `clew manager`
#[derive(Subcommand, Debug)]
pub enum Manager {
    /// Serve joins and the feed of epochs to devices
    Serve(ManagerServe),
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
