//! `clew completions` and `clew man`: both from the table of commands.

use crate::cli::{Cli, Completions, Man};
use crate::failure::{Failure, Status};
use clap::CommandFactory;
use std::io::Write;

pub fn completions(arguments: &Completions) -> Result<Status, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "clew", &mut script);
    let written = std::io::stdout().write_all(&script);
    written.map(|()| Status::Yes).map_err(Failure::write)
}

pub fn run(arguments: &Man) -> Result<Status, Failure> {
    std::fs::create_dir_all(&arguments.output)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), &arguments.output))
        .map_err(|e| Failure::io(&arguments.output, &e))?;
    Ok(Status::Yes)
}
