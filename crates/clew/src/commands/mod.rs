//! One module per command: from its arguments to its answer.

mod bound;
mod bundle;
mod coverage;
mod demo;
mod evidence;
mod extract;
mod flow;
mod fragments;
mod group;
mod judge;
mod live;
mod log;
mod man;
mod manager;
mod open;
mod opening_key;
mod packet;
mod register;
mod request;
mod restore;
mod share;
mod show;
mod shown;
mod sign;
mod strip;
mod trustee;
mod tunnel;
mod verdict;
mod verify;
mod warrant;

use crate::cli::{Cli, Command};
use crate::failure::{Failure, Status};
use clap::ArgMatches;

/// Runs the command that was asked for. `matches` has the order of arguments, which counts for `sign`.
pub fn run(cli: Cli, matches: &ArgMatches) -> Result<Status, Failure> {
    match cli.command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Group(arguments) => group::run(&arguments),
        Command::Enrol(arguments) => group::enrol(&arguments),
        Command::Join(arguments) => group::join(&arguments),
        Command::Revoke(arguments) => group::revoke(&arguments),
        Command::Update(arguments) => group::update(&arguments),
        Command::Manager(arguments) => manager::run(&arguments),
        Command::Sign(arguments) => sign::run(&arguments, matches),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Strip(arguments) => strip::run(&arguments),
        Command::Show(arguments) => show::run(&arguments),
        Command::Extract(arguments) => extract::run(&arguments),
        Command::Share(arguments) => share::run(&arguments),
        Command::Open(arguments) => open::run(&arguments),
        Command::Match(arguments) => open::run_match(&arguments),
        Command::Judge(arguments) => judge::run(&arguments),
        Command::Bundle(arguments) => bundle::run(&arguments),
        Command::Warrant(arguments) => warrant::run(&arguments),
        Command::Request(arguments) => request::run(&arguments),
        Command::Trustee(arguments) => trustee::run(&arguments),
        Command::Log(arguments) => log::run(arguments),
        Command::Flow(arguments) => flow::run(arguments),
        Command::Tunnel(arguments) => tunnel::run(arguments),
        Command::Up(arguments) => live::up(&arguments),
        Command::Down(arguments) => live::down(&arguments),
        Command::Status(arguments) => live::status(&arguments),
        Command::Confirm(arguments) => live::confirm(&arguments),
        Command::Reload(arguments) => live::reload(&arguments),
        Command::Completions(arguments) => man::completions(&arguments),
        Command::Man(arguments) => man::run(&arguments),
    }
}
