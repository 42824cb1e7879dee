//! `clew request`: an investigator asks a group's trustees through its manager (`spec/request.md`).

pub mod answer;
pub mod earlier;
pub mod exchange;
mod fetch;
mod file;
mod folder;
pub mod matter;
mod patience;
mod row;
mod status;

use crate::cli::Request;
use crate::failure::{Failure, Status};

pub fn run(arguments: &Request) -> Result<Status, Failure> {
    match arguments {
        Request::File(arguments) => crate::tunnel::run_or_stop(file::run(arguments)),
        Request::Status(arguments) => crate::tunnel::run_or_stop(status::run(arguments)),
        Request::Fetch(arguments) => crate::tunnel::run_or_stop(fetch::run(arguments)),
    }
}
