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

/// How long the kernel may take to end one that was killed: it finishes what the process asked of a disk first.
const KILLED: Duration = Duration::from_secs(2);

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
        alive();
        self.signal(Signal::SIGTERM);
        if self.ends_within(END) {
            return;
        }
        self.signal(Signal::SIGKILL);
        if !self.ends_within(KILLED) {
            let process = self.child.id();
            tracing::error!(
                "process {process} of the data plane is killed, and does not end: the system still writes for it; \
                 see what keeps the disk busy"
            );
        }
    }

    fn ends_within(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }

    fn finish(&self) {
        self.lines.iter().for_each(Copied::finish);
    }
}
