//! `clew up --replace`: another program takes over from a running daemon.

use crate::failure::{Failure, Status};
use clew_live::config::Config;
use clew_live::files;
use clew_live::setup::Place;
use nix::sys::signal::Signal;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the supervisor may take.
const WAIT: Duration = Duration::from_secs(60);

/// How often to look.
const LOOK: Duration = Duration::from_millis(20);

/// Longest file that both exchange, in bytes: a path, or a sentence.
const FILE_MAX: u64 = 1 << 16;

/// Asks the process that supervises to start this program's data plane in place of its own.
pub(super) fn ask(config: &Config, place: &Place) -> Result<Status, Failure> {
    let name = place.name();
    let [Some(supervisor), _] = place.processes() else {
        return Err(
            Failure::new(format!("{name} is not up, so there is nothing to replace"))
                .hint("clew up CONFIG"),
        );
    };
    place.kept().unwrap_or_default().check(config)?;
    let program = std::env::current_exe();
    let program = program.map_err(|error| Failure::new(format!("this program's path: {error}")))?;
    let answer = place.handed_over();
    remove(&answer)?;
    write(&place.successor(), &program.to_string_lossy())?;
    let signalled = place.signal(0, Signal::SIGUSR1);
    signalled
        .map_err(|error| Failure::new(format!("cannot signal process {supervisor}: {error}")))?;
    let until = Instant::now() + WAIT;
    loop {
        match files::read(&answer, FILE_MAX) {
            Ok(text) if text.is_empty() => {
                mention!("{name} runs {} from now on", program.display());
                return Ok(Status::Yes);
            }
            Ok(why) => return Err(Failure::new(why)),
            Err(_) if Instant::now() > until => {
                return Err(Failure::new(format!("{name}: no answer in {WAIT:?}"))
                    .hint(format!("clew status {name}")));
            }
            Err(_) => std::thread::sleep(LOOK),
        }
    }
}

/// Takes the program that the supervisor is asked to start. `None` if nobody asked.
pub(super) fn asked(place: &Place) -> Option<PathBuf> {
    let path = place.successor();
    let program = files::read(&path, FILE_MAX).ok()?;
    std::fs::remove_file(path).ok()?;
    Some(program.into())
}

/// Says what became of it.
pub(super) fn answer<T>(place: &Place, done: &Result<T, Failure>) {
    let text = done.as_ref().err().map(|failure| failure.message.as_str());
    if let Err(failure) = write(&place.handed_over(), text.unwrap_or_default()) {
        tracing::warn!("{}", failure.message);
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = files::replace(path, text.as_bytes());
    written.map_err(|error| Failure::io(path, &error))
}

fn remove(path: &Path) -> Result<(), Failure> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Failure::io(path, &error)),
        _ => Ok(()),
    }
}
