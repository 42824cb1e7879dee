//! The process that keeps root: it sets up, waits, and undoes.

use super::child::Running;
use super::failing::Failing;
use super::guard::Guard;
use super::plane::signals;
use super::starter::{AGAIN, Starter};
use super::teller::Teller;
use super::{plural, replace};
use crate::clock::{since_boot, spoken};
use crate::failure::{Failure, Status};
use clew_live::config::Config;
use clew_live::files;
use clew_live::setup::{Facts, Force, Kept, Place, Plan, Refused, SetupError};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use sd_notify::NotifyState;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often to look for a confirmation.
const LOOK: Duration = Duration::from_millis(200);

/// A data plane that ran for so long starts again without delay.
const STEADY: Duration = Duration::from_secs(60);

/// What is to be done, and the host that it was planned for.
pub(super) struct Planned {
    pub facts: Facts,
    pub plan: Plan,
}

/// A set-up, and who supervises it.
pub(super) struct Supervised<'a> {
    pub path: &'a Path,
    pub config: &'a Config,
    pub place: &'a Place,
    /// `None` if it is set up already.
    pub planned: Option<Planned>,
    pub confirm: Option<Duration>,
}

/// Why the wait for a data plane ended.
pub(super) enum Ended {
    /// A signal asked for the end.
    Asked,
    /// Nobody confirmed, and nobody can any more.
    Unconfirmed(Refused),
    /// The data plane ended by itself.
    Failed(String),
}

/// Why there is no first data plane.
enum Unstarted {
    Failed(Failure),
    Ended(Ended),
}

impl<'a> Supervised<'a> {
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
            Signal::SIGQUIT,
            Signal::SIGHUP,
            Signal::SIGUSR1,
            Signal::SIGCHLD,
        ];
        let signals = signals(&wanted)?;
        Failing::over(self.place);
        let prepared = self.prepare().and_then(|()| self.wait_for_confirmation());
        let confirm = self.or_undone(prepared)?;
        let starter = Starter::new(self, &signals);
        let mut starter = self.or_undone(starter)?;
        let mut child = match self.first(&mut starter) {
            Ok(child) => child,
            Err(Unstarted::Failed(failure)) => return self.or_undone(Err(failure)),
            Err(Unstarted::Ended(ended)) => return self.conclude(ended),
        };
        if let Err(failure) = self.capture() {
            child.end();
            return self.or_undone(Err(failure));
        }
        let _ = sd_notify::notify(&[NotifyState::Ready]);
        let (name, peers) = (&self.config.name, self.config.peers.len());
        mention!(
            "{name} is up: {peers} {} through {}",
            plural(peers),
            self.config.interface
        );
        if let Some(wait) = confirm {
            mention!(
                "clew confirm {name} within {}, or everything is undone",
                spoken(wait)
            );
        }
        let ended = self.watch(child, &mut starter, confirm);
        self.conclude(ended)
    }

    /// Starts the first data plane of this process. One that fails in a set-up which stays is tried again, as if
    /// it had run before: without this process nobody would.
    fn first(&self, starter: &mut Starter<'_>) -> Result<Running, Unstarted> {
        // Somebody may have removed the interface of a set-up that was found.
        let failure = match starter.mend().and_then(|()| starter.start()) {
            Ok(child) => return Ok(child),
            Err(_) if self.stays() && starter.is_asked_to_end() => {
                return Err(Unstarted::Ended(Ended::Asked));
            }
            Err(failure) if self.stays() => failure,
            Err(failure) => return Err(Unstarted::Failed(failure)),
        };
        let wait = AGAIN[0];
        let why = &failure.message;
        tracing::error!("{why}; nothing passes; it is tried again in {wait:?}");
        Failing::say(self.place, &failure, wait);
        // A service manager would end this process, and so the set-up, if it waited for too long.
        let _ = sd_notify::notify(&[NotifyState::Ready]);
        let started = starter.restart(wait, &mut Guard::new(self));
        started.map_err(Unstarted::Ended)
    }

    fn conclude(&self, ended: Ended) -> Result<Status, Failure> {
        let name = &self.config.name;
        match ended {
            Ended::Asked => {
                self.undo()?;
                mention!("{name} is down");
                Ok(Status::Yes)
            }
            Ended::Unconfirmed(refused) => {
                self.undo()?;
                drop(refused);
                Err(Failure::new(format!("{name}: not confirmed in time, all is undone")).no())
            }
            Ended::Failed(why) => {
                self.undo()?;
                Err(Failure::new(format!("{name}: {why}; all is undone")))
            }
        }
    }

    fn undo(&self) -> Result<(), Failure> {
        let undone = self.place.undo();
        undone.map_err(|error| Failure::from(error).hint(self.way_out()))
    }

    /// What helps after an undo that failed.
    fn way_out(&self) -> String {
        format!("clew down {} undoes what is left", self.config.name)
    }

    fn prepare(&self) -> Result<(), Failure> {
        if let Some(Planned { plan, .. }) = &self.planned {
            self.place.keep(&Kept::of(self.config))?;
            self.place.carry_out(&plan.prepare)?;
        }
        Ok(())
    }

    /// Writes down until when somebody has to confirm. A process that was killed may have left a set-up that
    /// nobody has confirmed: its deadline goes on. Returns how long there is.
    fn wait_for_confirmation(&self) -> Result<Option<Duration>, Failure> {
        let path = self.place.unconfirmed();
        // `/run` lasts as long as this clock, which nobody sets.
        let now = since_boot().as_secs();
        let earlier = files::read(&path, 20)
            .ok()
            .filter(|_| self.planned.is_none());
        let done = match (self.confirm, earlier) {
            (Some(wait), _) => {
                let until = now + wait.as_secs();
                files::replace(&path, until.to_string().as_bytes())
            }
            (None, Some(until)) => {
                let left = until
                    .parse()
                    .map_or(0, |until: u64| until.saturating_sub(now));
                return Ok(Some(Duration::from_secs(left)));
            }
            (None, None) => match std::fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        };
        done.map_err(|error| SetupError::Io { path, error })?;
        Ok(self.confirm)
    }

    fn capture(&self) -> Result<(), Failure> {
        if let Some(Planned { facts, plan }) = &self.planned {
            self.place.carry_out(&plan.capture)?;
            let force = Force::read(self.config, facts, plan)?;
            self.place.keep_force(&force)?;
        }
        Ok(())
    }

    /// Whether a failure leaves the set-up as it is: an earlier process made it, its policy lets nothing pass
    /// then, and it does not wait to be confirmed.
    fn stays(&self) -> bool {
        let is_confirmed = self.confirm.is_none() && !self.place.unconfirmed().exists();
        self.planned.is_none() && self.config.fails_closed() && is_confirmed
    }

    /// A half-made set-up is undone.
    fn or_undone<T>(&self, done: Result<T, Failure>) -> Result<T, Failure> {
        done.map_err(|mut failure| {
            if self.stays() {
                failure.message += "; the set-up stays, and nothing passes";
                return failure;
            }
            match self.place.undo() {
                Err(error) => {
                    failure.message += &format!("; the undo failed, too: {error}");
                    return failure.hint(self.way_out());
                }
                Ok(()) if self.planned.is_none() => {
                    failure.message += "; the set-up that was there is undone";
                }
                Ok(()) => {}
            }
            failure
        })
    }

    /// Waits for signals, the end of the data plane, and a confirmation.
    fn watch(
        &self,
        mut child: Running,
        starter: &mut Starter<'_>,
        confirm: Option<Duration>,
    ) -> Ended {
        let mut deadline = confirm.map(|wait| Instant::now() + wait);
        let mut began = Instant::now();
        let mut again = AGAIN[0];
        let mut teller = Teller::new(self);
        let mut guard = Guard::new(self);
        loop {
            self.replace(&mut child, starter);
            if starter.take_reload() {
                child.signal(Signal::SIGHUP);
            }
            if starter.is_asked_to_end() {
                child.end();
                return Ended::Asked;
            }
            let look = deadline.map(|_| LOOK);
            let waits = [look, Some(teller.wait()), guard.wait()];
            let wait = waits.into_iter().flatten().min();
            wait_for(starter.signals, &guard, wait.map_or(PollTimeout::NONE, nap));
            guard.look();
            match self.signal(&mut child, starter) {
                Some(ended) => {
                    child.end();
                    return ended;
                }
                None => deadline = deadline.filter(|_| self.place.unconfirmed().exists()),
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline)
                && let Some(refused) = self.place.refuse_confirmation()
            {
                child.end();
                return Ended::Unconfirmed(refused);
            }
            teller.report_counters(self.place);
            let Some(status) = child.ended() else {
                continue;
            };
            let why = format!("the data plane ended: {status}");
            deadline = deadline.filter(|_| self.place.unconfirmed().exists());
            if !self.config.fails_closed() || deadline.is_some() {
                return Ended::Failed(why);
            }
            if began.elapsed() > STEADY {
                again = AGAIN[0];
            }
            tracing::error!("{why}; nothing passes; it starts again in {again:?}");
            Failing::say(self.place, &Failure::new(why), again);
            match starter.restart(again, &mut guard) {
                Ok(new) => child = new,
                Err(ended) => return ended,
            }
            (began, again) = (Instant::now(), (again * 2).min(AGAIN[1]));
        }
    }

    /// Hands over to another program, if somebody asks: SIGUSR1 only wakes this process, and may come while
    /// a data plane starts.
    fn replace(&self, child: &mut Running, starter: &mut Starter<'_>) {
        if let Some(program) = replace::asked(self.place) {
            let done = starter.hand_over(child, program);
            if let Err(failure) = &done {
                tracing::error!("{}", failure.message);
            }
            replace::answer(self.place, &done);
        }
    }

    /// Takes one signal.
    fn signal(&self, child: &mut Running, starter: &mut Starter<'_>) -> Option<Ended> {
        let signal = starter.signals.read_signal().ok()??.ssi_signo;
        if signal == Signal::SIGHUP as u32 {
            child.signal(Signal::SIGHUP);
        }
        is_end(signal).then_some(Ended::Asked)
    }
}

pub(super) fn is_end(signal: u32) -> bool {
    let ends = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGQUIT];
    ends.iter().any(|end| *end as u32 == signal)
}

pub(super) fn nap(wait: Duration) -> PollTimeout {
    PollTimeout::from(u16::try_from(wait.as_millis() + 1).unwrap_or(u16::MAX))
}

pub(super) fn wait_for(signals: &SignalFd, guard: &Guard<'_>, wait: PollTimeout) {
    let all = [signals.as_fd()].into_iter().chain(guard.descriptors());
    let mut all: Vec<PollFd<'_>> = all.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
    if let Err(error) = poll(&mut all, wait)
        && error != Errno::EINTR
    {
        tracing::warn!("cannot wait for signals: {error}");
    }
}
