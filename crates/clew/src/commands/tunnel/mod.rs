//! `clew tunnel`: MinimaLT tunnels.

mod connect;
mod directory;
mod keygen;
mod serve;
mod status;

use crate::cli::Tunnel;
use crate::failure::{Failure, Status};

pub fn run(command: Tunnel) -> Result<Status, Failure> {
    match command {
        Tunnel::Keygen(arguments) => keygen::run(&arguments),
        Tunnel::Serve(arguments) => serve::run(&arguments),
        Tunnel::Connect(arguments) => connect::run(&arguments),
        Tunnel::Directory(arguments) => directory::run(&arguments),
        Tunnel::Name(arguments) => directory::run_name(&arguments),
        Tunnel::Status(arguments) => status::run(&arguments),
    }
}
