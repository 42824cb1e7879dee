//! The program `clew`: commands, clocks, files and terminals.
//!
//! [`cli`] is the table of commands from which help, man pages and completions are made;
//! [`commands`] has one module each. `clew-engine` signs and verifies.

#![deny(clippy::print_stderr, clippy::print_stdout)] // they panic if they cannot write

/// Prints a line of the result: see [`output::say`].
macro_rules! say {
    ($($line:tt)*) => {
        $crate::output::say(format_args!($($line)*))
    };
}

/// Prints a line for people beside the result: see [`output::mention`].
macro_rules! mention {
    ($($line:tt)*) => {
        $crate::output::mention(format_args!($($line)*))
    };
}

pub mod capture;
pub mod cli;
pub mod clock;
pub mod commands;
pub mod community_id;
pub mod exposure;
pub mod failure;
pub mod flow;
pub mod groups;
mod log;
pub mod metrics;
pub mod newest;
pub mod observer;
pub mod output;
pub mod plot;
pub mod progress;
pub mod random;
pub mod records;
pub mod report;
pub mod secrets;
pub mod tap;
pub mod tunnel;

use clap::{CommandFactory, FromArgMatches};
use failure::{Failure, Status};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// Set by a signal: the program stops after the batch at hand, and leaves no partial file.
pub static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Whether a signal came.
fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Fails if a signal came: no output is written then.
fn go_on() -> Result<(), Failure> {
    match is_interrupted() {
        true => Err(Failure::new("interrupted: no output was written")),
        false => Ok(()),
    }
}

/// Runs the program with these arguments, the first of which is its name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let matches = match cli::Cli::command().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(usage) => return show_usage(&usage),
    };
    // The only failure of this line would be a table that contradicts itself.
    let cli = match cli::Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(usage) => return show_usage(&usage),
    };
    let _ = heed_signals(&cli);
    log::begin();
    clew_manager::judge_clocks_by(clock::uptime);
    let done = clock::check().and_then(|()| commands::run(cli, &matches));
    log::end();
    match done.and_then(|status| output::all_said().map(|()| status)) {
        Ok(status) => ExitCode::from(status.code()),
        Err(failure) => complain(&failure),
    }
}

/// The first signal asks the program to stop cleanly, the second ends it. SIGHUP is one of these
/// unless the command opens its files again then. No thread is needed for this: the observer gives up
/// the privileges of the only one. A daemon reads its signals itself, before any thread starts.
fn heed_signals(cli: &cli::Cli) -> std::io::Result<()> {
    if matches!(cli.command, cli::Command::Up(_)) {
        return Ok(());
    }
    let is_observer =
        matches!(&cli.command, cli::Command::Verify(verify) if verify.observe.interface.is_some());
    let signals = [SIGINT, SIGTERM, SIGHUP];
    for signal in &signals[..signals.len() - usize::from(is_observer)] {
        flag::register_conditional_shutdown(*signal, 130, Arc::clone(&INTERRUPTED))?;
        flag::register(*signal, Arc::clone(&INTERRUPTED))?;
    }
    Ok(())
}

fn show_usage(usage: &clap::Error) -> ExitCode {
    let shown = usage.print().is_ok();
    ExitCode::from(match usage.use_stderr() || !shown {
        true => Status::CouldNotTell.code(),
        false => Status::Yes.code(),
    })
}

fn complain(failure: &Failure) -> ExitCode {
    if !failure.message.is_empty() {
        mention!("clew: {}", failure.message);
    }
    if let Some(hint) = &failure.hint {
        mention!("hint: {hint}");
    }
    ExitCode::from(failure.status.code())
}
