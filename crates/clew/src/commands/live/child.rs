//! A data plane that runs, as its supervisor has it.

use super::lines::Copied;
use super::teller::alive;
use clew_live::setup::privileges::without_terminal;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long it may take to end before it is killed.
const END: Duration = Duration::from_secs(5);

/// How often to look whether it has.
const LOOK: Duration = Duration::from_millis(10);

/// A data plane.
pub(super) struct Running {
    child: Child,
    lines: Option<Copied>,
}

impl Running {
    /// Starts a program far from the terminal of this process, and copies its lines.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        without_terminal(command);
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        match child.stderr.take().map(Copied::begin).transpose() {
            Ok(lines) => Ok(Self { child, lines }),
            Err(error) => {
                // It may have ended.
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// The process, for what is between both.
    pub const fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        // It may have ended.
        let _ = kill(Pid::from_raw(self.child.id() as i32), signal);
    }

    /// Returns how it ended, with its last lines in the log. `None` if it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().ok().flatten()?;
        self.finish();
        Some(status)
    }

    /// Ends it, by force if it takes too long, and waits for its last lines.
    pub fn end(&mut self) {
        self.stop();
        self.finish();
    }

    /// Ends it. Its last lines come when they come.
    pub fn stop(&mut self) {
        let until = Instant::now() + END;
        alive();
        self.signal(Signal::SIGTERM);
        while Instant::now() < until {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(LOOK),
                _ => return,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn finish(&self) {
        self.lines.iter().for_each(Copied::finish);
    }
}
