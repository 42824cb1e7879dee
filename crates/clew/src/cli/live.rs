//! The live daemon: `clew up` and its companions.

use super::flow::duration;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Longest time to wait for a confirmation, in seconds.
const CONFIRM_MAX: u64 = 24 * 3_600;

const UP_HELP: &str = "\
Example, as root:
  clew up --check /etc/clew/lan.toml          says what would be done
  clew up --confirm 60s /etc/clew/lan.toml    undoes itself unless clew confirm lan is run in time
  clew status lan

The command sets the host up, starts the data plane as an unprivileged user, and undoes everything
when it ends. Key and group files must be readable by that user. SIGHUP, or clew reload, reads all
files again.";

/// `clew up`
#[derive(Args, Debug)]
#[command(after_help = UP_HELP)]
pub struct Up {
    /// Configuration file
    #[arg(value_name = "CONFIG")]
    pub config: PathBuf,
    /// Say what this host can do and what would be done, and change nothing
    #[arg(long)]
    pub check: bool,
    /// Undo everything after this time, as 60s, unless clew confirm is run before
    #[arg(long, value_name = "D", value_parser = time_to_confirm, conflicts_with_all = ["setup_only", "run_only"])]
    pub confirm: Option<Duration>,
    /// Start although the key was revoked: packets from peers are verified, those to peers are dropped
    #[arg(long, conflicts_with = "check")]
    pub receive_only: bool,
    /// Set the host up and exit. For service managers: clew down undoes it
    #[arg(long, conflicts_with_all = ["check", "run_only"])]
    pub setup_only: bool,
    /// Run the data plane on what --setup-only made, as the unprivileged user who runs the command
    #[arg(long, conflicts_with = "check")]
    pub run_only: bool,
    /// Hand the running daemon over to this program, without losing packets. For upgrades
    #[arg(long, conflicts_with_all = ["check", "confirm", "setup_only", "run_only"])]
    pub replace: bool,
    /// What a process that clew up started is to do.
    #[arg(long, hide = true, value_enum)]
    pub stage: Option<Stage>,
}

fn time_to_confirm(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        short if short < Duration::from_secs(1) => Err("need at least 1s".to_owned()),
        long if long > Duration::from_secs(CONFIRM_MAX) => Err("need at most 24h".to_owned()),
        time => Ok(time),
    }
}

/// What a process that `clew up` started is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// Read all files, as the user who will run the data plane
    Probe,
    /// Open the devices, give up all privileges, run the data plane
    Plane,
    /// Hand packets from the kernel's queue to the data plane, on standard input
    Queue,
}

/// `clew down`
#[derive(Args, Debug)]
pub struct Down {
    /// Name of the daemon, or its configuration file [default: the only one]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Undo nothing if the service manager says that the daemon failed, and the policy lets nothing
    /// pass then. For units
    #[arg(long)]
    pub after_stop: bool,
}

/// `clew status`
#[derive(Args, Debug)]
pub struct LiveStatus {
    /// Name of the daemon, or its configuration file [default: the only one]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `clew confirm`, `clew reload`
#[derive(Args, Debug)]
pub struct LiveName {
    /// Name of the daemon, or its configuration file [default: the only one]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_to_confirm_is_one_that_a_person_can_keep() {
        for (text, wanted) in [
            ("1s", Ok(1)),
            ("24h", Ok(CONFIRM_MAX)),
            ("0s", Err("need at least 1s".to_owned())),
            ("25h", Err("need at most 24h".to_owned())),
        ] {
            assert_eq!(
                time_to_confirm(text),
                wanted.map(Duration::from_secs),
                "{text}"
            );
        }
    }
}
