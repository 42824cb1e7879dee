//! The process that hands packets from the kernel's queue to the data plane: for the carrier `trailer`.

use crate::failure::{Failure, Status};
use clew_live::carrier::{QueueProcess, copies_socket};
use clew_live::config::Config;
use clew_live::setup::privileges::without_terminal;
use clew_live::setup::{account, privileges};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts the process. Returns the data plane's end of the socket between both. The process ends when
/// that is closed, however the data plane ends.
pub(super) fn start(path: &Path) -> Result<OwnedFd, Failure> {
    let failed = |error: io::Error| Failure::new(format!("cannot start the queue: {error}"));
    let (plane, queue) = copies_socket().map_err(failed)?;
    let mut command = Command::new("/proc/self/exe");
    command
        .args(["up", "--stage", "queue"])
        .arg(path)
        .stdin(Stdio::from(queue))
        .stdout(Stdio::null());
    // Its lines go where the data plane's go.
    without_terminal(&mut command);
    command.spawn().map_err(failed)?;
    Ok(plane)
}

/// Takes the queue over, gives up all privileges but that for verdicts, and runs.
pub(super) fn run(config: &Config) -> Result<Status, Failure> {
    let user = account(config)?;
    let copies = io::stdin().as_fd().try_clone_to_owned();
    let copies = copies.map_err(|error| Failure::new(format!("standard input: {error}")))?;
    let mut queue = QueueProcess::bind(config.port, copies).map_err(Failure::new)?;
    privileges::become_user_of_queue(&user)?;
    let ended = queue.run();
    ended.map_err(|error| Failure::new(format!("the kernel's queue: {error}")))?;
    Ok(Status::Yes)
}
