//! The process that keeps root: it sets up, waits, and undoes.

use super::plane::{READY, signals};
use crate::failure::{Failure, Status};
use clew_live::config::Config;
use clew_live::setup::{Kept, Place, Plan};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::signalfd::SignalFd;
use nix::unistd::Pid;
use sd_notify::NotifyState;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the data plane may take to start.
const START: Duration = Duration::from_secs(20);

/// How long it may take to end before it is killed.
const END: Duration = Duration::from_secs(5);

/// How often to look for a confirmation.
const LOOK: Duration = Duration::from_millis(200);

/// Waits before a data plane that failed starts again: doubled each time, up to the second.
const AGAIN: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

/// A data plane that ran for so long starts again without delay.
const STEADY: Duration = Duration::from_secs(60);

/// A set-up, and who supervises it.
pub(super) struct Supervised<'a> {
    pub path: &'a Path,
    pub config: &'a Config,
    pub place: &'a Place,
    /// `None` if it is set up already.
    pub plan: Option<Plan>,
    pub confirm: Option<Duration>,
}

/// Why the wait for a data plane ended.
enum Ended {
    /// A signal asked for the end.
    Asked,
    /// Nobody confirmed.
    Unconfirmed,
    /// The data plane ended by itself.
    Failed(String),
}

impl Supervised<'_> {
    /// Sets up, and leaves it so.
    pub fn set_up(&self) -> Result<Status, Failure> {
        let done = self.prepare().and_then(|()| self.capture());
        self.or_undone(done)?;
        Ok(Status::Yes)
    }

    /// Sets up, runs the data plane, and undoes.
    pub fn run(&self) -> Result<Status, Failure> {
        let wanted = [
            Signal::SIGTERM,
            Signal::SIGINT,
            Signal::SIGHUP,
            Signal::SIGCHLD,
        ];
        let signals = signals(&wanted)?;
        let prepared = self.prepare();
        self.or_undone(prepared)?;
        let started = self.start(&signals);
        let mut child = self.or_undone(started)?;
        if let Err(failure) = self.capture() {
            end(&mut child);
            return self.or_undone(Err(failure));
        }
        let _ = sd_notify::notify(&[NotifyState::Ready]);
        let (name, peers) = (&self.config.name, self.config.peers.len());
        mention!(
            "{name} is up: {peers} peers through {}",
            self.config.interface
        );
        if let Some(wait) = self.confirm {
            mention!("clew confirm {name} within {wait:?}, or everything is undone");
        }
        let ended = self.watch(child, &signals);
        self.conclude(ended)
    }

    fn conclude(&self, ended: Ended) -> Result<Status, Failure> {
        let name = &self.config.name;
        match ended {
            Ended::Asked => {
                self.place.undo()?;
                mention!("{name} is down");
                Ok(Status::Yes)
            }
            Ended::Unconfirmed => {
                self.place.undo()?;
                Err(Failure::new(format!("{name}: not confirmed in time, all is undone")).no())
            }
            Ended::Failed(why) => {
                self.place.undo()?;
                Err(Failure::new(format!("{name}: {why}; all is undone")))
            }
        }
    }

    fn prepare(&self) -> Result<(), Failure> {
        if let Some(plan) = &self.plan {
            self.place.keep(&Kept::of(self.config))?;
            self.place.carry_out(&plan.prepare)?;
        }
        Ok(())
    }

    fn capture(&self) -> Result<(), Failure> {
        if let Some(plan) = &self.plan {
            self.place.carry_out(&plan.capture)?;
        }
        Ok(())
    }

    /// A half-made set-up is undone.
    fn or_undone<T>(&self, done: Result<T, Failure>) -> Result<T, Failure> {
        if done.is_err()
            && let Err(error) = self.place.undo()
        {
            mention!("clew: warning: {error}");
        }
        done
    }

    /// Starts the data plane and waits until packets go through.
    fn start(&self, signals: &SignalFd) -> Result<Child, Failure> {
        let failed = |error| Failure::new(format!("cannot start the data plane: {error}"));
        let mut child = Command::new("/proc/self/exe")
            .args(["up", "--stage", "plane"])
            .arg(self.path)
            .env_remove("NOTIFY_SOCKET")
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        match is_ready(&mut child, signals) {
            true => Ok(child),
            false => {
                end(&mut child);
                Err(Failure::new("the data plane did not start"))
            }
        }
    }

    /// Waits for signals, the end of the data plane, and a confirmation.
    fn watch(&self, mut child: Child, signals: &SignalFd) -> Ended {
        let mut deadline = self.confirm.map(|wait| Instant::now() + wait);
        let mut began = Instant::now();
        let mut again = AGAIN[0];
        loop {
            let wait = deadline.map_or(PollTimeout::NONE, |_| nap(LOOK));
            wait_for(signals, wait);
            match self.signal(signals, &child) {
                Some(ended) => {
                    end(&mut child);
                    return ended;
                }
                None => deadline = deadline.filter(|_| !self.place.confirmed().exists()),
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                end(&mut child);
                return Ended::Unconfirmed;
            }
            let Ok(Some(status)) = child.try_wait() else {
                continue;
            };
            let why = format!("the data plane ended: {status}");
            if !self.config.fails_closed() || deadline.is_some() {
                return Ended::Failed(why);
            }
            again = if began.elapsed() > STEADY {
                AGAIN[0]
            } else {
                again
            };
            tracing::error!("{why}; nothing passes; it starts again in {again:?}");
            match self.restart(signals, again) {
                Ok(new) => child = new,
                Err(ended) => return ended,
            }
            (began, again) = (Instant::now(), (again * 2).min(AGAIN[1]));
        }
    }

    /// Starts the data plane again and again, after ever longer waits.
    fn restart(&self, signals: &SignalFd, mut wait: Duration) -> Result<Child, Ended> {
        loop {
            let until = Instant::now() + wait;
            while Instant::now() < until {
                wait_for(
                    signals,
                    nap(until.saturating_duration_since(Instant::now())),
                );
                match signals.read_signal() {
                    Ok(Some(signal)) if is_end(signal.ssi_signo) => return Err(Ended::Asked),
                    _ => {}
                }
            }
            let interface = self.interface_again();
            match interface.and_then(|()| self.start(signals)) {
                Ok(child) => return Ok(child),
                Err(failure) => tracing::error!("{}", failure.message),
            }
            wait = (wait * 2).min(AGAIN[1]);
        }
    }

    /// Makes the interface again if somebody deleted it. The filter is in place all the time.
    fn interface_again(&self) -> Result<(), Failure> {
        let name = self.config.interface.as_str();
        let Some(plan) = self.plan.as_ref().filter(|_| !exists(name)) else {
            return Ok(());
        };
        self.place.carry_out_again(plan.of_interface(name))?;
        tracing::warn!("interface {name}: it was gone, and is made again");
        Ok(())
    }

    /// Takes one signal.
    fn signal(&self, signals: &SignalFd, child: &Child) -> Option<Ended> {
        let signal = signals.read_signal().ok()??.ssi_signo;
        if signal == Signal::SIGHUP as u32 {
            let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGHUP);
        }
        is_end(signal).then_some(Ended::Asked)
    }
}

fn exists(interface: &str) -> bool {
    Path::new("/proc/sys/net/ipv4/conf")
        .join(interface)
        .exists()
}

fn is_end(signal: u32) -> bool {
    signal == Signal::SIGTERM as u32 || signal == Signal::SIGINT as u32
}

fn nap(wait: Duration) -> PollTimeout {
    PollTimeout::from(u16::try_from(wait.as_millis() + 1).unwrap_or(u16::MAX))
}

fn wait_for(signals: &SignalFd, wait: PollTimeout) {
    let mut all = [PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
    if let Err(error) = poll(&mut all, wait)
        && error != Errno::EINTR
    {
        tracing::warn!("cannot wait for signals: {error}");
    }
}

/// Whether the data plane says that it is ready, in time.
fn is_ready(child: &mut Child, signals: &SignalFd) -> bool {
    let Some(output) = child.stdout.take() else {
        return false;
    };
    let until = Instant::now() + START;
    let mut line = String::new();
    loop {
        let wait = until.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            return false;
        }
        let mut all = [output.as_fd(), signals.as_fd()];
        let mut all = all.each_mut().map(|fd| PollFd::new(*fd, PollFlags::POLLIN));
        let polled = poll(&mut all, nap(wait));
        let is_there = all[0].any().unwrap_or(false);
        if polled.is_ok() && is_there {
            // One short line, or the end.
            let read = BufReader::new(output).read_line(&mut line);
            return read.is_ok() && line.trim_end() == READY;
        }
        match signals.read_signal() {
            Ok(Some(signal)) if is_end(signal.ssi_signo) => return false,
            _ => {}
        }
    }
}

/// Ends the data plane, by force if it takes too long.
fn end(child: &mut Child) {
    let process = Pid::from_raw(child.id() as i32);
    let until = Instant::now() + END;
    let _ = kill(process, Signal::SIGTERM);
    while Instant::now() < until {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(10)),
            _ => return,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}
