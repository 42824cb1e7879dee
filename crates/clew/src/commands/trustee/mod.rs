//! `clew trustee`: one trustee, as a program beside its directory, or step by step with files.

mod answer;
mod docket;
mod files;
mod home;
mod init;
mod list;
mod manager;
mod page;
mod pending;
mod plans;
mod requests;
mod serve;

pub use list::purpose;
pub use plans::{describe as standing, id_of, sentence};

use crate::cli::Trustee;
use crate::failure::{Failure, Status};

pub fn run(arguments: &Trustee) -> Result<Status, Failure> {
    match arguments {
        Trustee::Init(arguments) => init::run(arguments),
        Trustee::Serve(arguments) => serve::run(arguments),
        Trustee::SetManager(arguments) => manager::set(arguments),
        Trustee::Login(arguments) => page::login(arguments),
        Trustee::List(arguments) => list::run(arguments),
        Trustee::Approve(arguments) => answer::approve(arguments),
        Trustee::Refuse(arguments) => answer::refuse(arguments),
        Trustee::Begin(arguments) => files::begin(arguments),
        Trustee::Deal(arguments) => files::deal(arguments),
        Trustee::Check(arguments) => files::check(arguments),
        Trustee::Finish(arguments) => files::finish(arguments),
    }
}
