//! The process that keeps root: it sets up, waits, and undoes.

use super::plane::{GO, PREPARED, READY, SOCKETS, listening, signals};
use super::{plural, port_failed, replace};
use crate::clock::spoken;
use crate::failure::{Failure, Status};
use clew_live::carrier::Udp;
use clew_live::config::{CarrierMode, Config};
use clew_live::control::{Answer, Request, ask};
use clew_live::setup::{Kept, Place, Plan, Programs, filtered};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::signalfd::SignalFd;
use nix::unistd::Pid;
use sd_notify::NotifyState;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the data plane may take to start.
const START: Duration = Duration::from_secs(20);

/// How long it may take to end before it is killed.
const END: Duration = Duration::from_secs(5);

/// How often to look for a confirmation.
const LOOK: Duration = Duration::from_millis(200);

/// How often the data plane is told what the host's filter counted, and asked whether it turns.
const TELL: Duration = Duration::from_secs(5);

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

/// What every data plane of this supervisor is started with.
struct Starter<'a> {
    up: &'a Supervised<'a>,
    signals: &'a SignalFd,
    /// Bound here, so that datagrams wait while no data plane runs. `None` with trailers.
    sockets: Option<Udp>,
    /// The program of the next data plane.
    program: PathBuf,
}

/// A data plane that has all that it needs, and waits for its turn.
struct Prepared {
    child: Child,
    output: BufReader<ChildStdout>,
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
            Signal::SIGUSR1,
            Signal::SIGCHLD,
        ];
        let signals = signals(&wanted)?;
        let prepared = self.prepare();
        self.or_undone(prepared)?;
        let starter = Starter::new(self, &signals);
        let mut starter = self.or_undone(starter)?;
        let started = starter.start();
        let mut child = self.or_undone(started)?;
        if let Err(failure) = self.capture() {
            end(&mut child);
            return self.or_undone(Err(failure));
        }
        let _ = sd_notify::notify(&[NotifyState::Ready]);
        let (name, peers) = (&self.config.name, self.config.peers.len());
        mention!(
            "{name} is up: {peers} {} through {}",
            plural(peers),
            self.config.interface
        );
        if let Some(wait) = self.confirm {
            mention!(
                "clew confirm {name} within {}, or everything is undone",
                spoken(wait)
            );
        }
        let ended = self.watch(child, &mut starter);
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

    /// Waits for signals, the end of the data plane, and a confirmation.
    fn watch(&self, mut child: Child, starter: &mut Starter<'_>) -> Ended {
        let mut deadline = self.confirm.map(|wait| Instant::now() + wait);
        let mut began = Instant::now();
        let mut again = AGAIN[0];
        let mut teller = Teller::new(self);
        loop {
            let look = deadline.map(|_| LOOK);
            let wait = look.into_iter().chain(teller.wait()).min();
            wait_for(starter.signals, wait.map_or(PollTimeout::NONE, nap));
            match self.signal(&mut child, starter) {
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
            teller.tell(self.place);
            let Ok(Some(status)) = child.try_wait() else {
                continue;
            };
            let why = format!("the data plane ended: {status}");
            if !self.config.fails_closed() || deadline.is_some() {
                return Ended::Failed(why);
            }
            if began.elapsed() > STEADY {
                again = AGAIN[0];
            }
            tracing::error!("{why}; nothing passes; it starts again in {again:?}");
            match starter.restart(again) {
                Ok(new) => child = new,
                Err(ended) => return ended,
            }
            (began, again) = (Instant::now(), (again * 2).min(AGAIN[1]));
        }
    }

    /// Takes one signal.
    fn signal(&self, child: &mut Child, starter: &mut Starter<'_>) -> Option<Ended> {
        let signal = starter.signals.read_signal().ok()??.ssi_signo;
        if signal == Signal::SIGHUP as u32 {
            let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGHUP);
        }
        if signal == Signal::SIGUSR1 as u32
            && let Some(program) = replace::asked(self.place)
        {
            let done = starter.hand_over(child, program);
            if let Err(failure) = &done {
                tracing::error!("{}", failure.message);
            }
            replace::answer(self.place, &done);
        }
        is_end(signal).then_some(Ended::Asked)
    }
}

impl<'a> Starter<'a> {
    /// Binds the port, or takes the sockets of a service manager.
    fn new(up: &'a Supervised<'a>, signals: &'a SignalFd) -> Result<Self, Failure> {
        let port = up.config.port;
        let sockets = match up.config.carrier {
            CarrierMode::Trailer => None,
            CarrierMode::UdpTunnel | CarrierMode::UdpTransport => {
                let bound = Udp::adopt(&listening()?, port);
                Some(bound.map_err(|error| port_failed(port, &error))?)
            }
        };
        Ok(Self {
            up,
            signals,
            sockets,
            // The file of this program may be another one by then.
            program: "/proc/self/exe".into(),
        })
    }

    /// Starts a data plane and waits until it has all that it needs.
    fn prepare(&self) -> Result<Prepared, Failure> {
        let failed = |error| Failure::new(format!("cannot start the data plane: {error}"));
        let sockets = self.sockets.as_ref();
        let numbers: Vec<String> = sockets
            .map(Udp::numbers)
            .unwrap_or_default()
            .iter()
            .map(ToString::to_string)
            .collect();
        let mut command = Command::new(&self.program);
        command
            .args(["up", "--stage", "plane"])
            .arg(self.up.path)
            .env_remove("NOTIFY_SOCKET")
            .env(SOCKETS, numbers.join(","))
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        self.inherit(true).map_err(failed)?;
        let child = command.spawn();
        self.inherit(false).map_err(failed)?;
        let mut child = child.map_err(failed)?;
        let output = child.stdout.take().map(BufReader::new);
        let mut output = output.ok_or_else(|| Failure::new("the data plane has no output"))?;
        match says(&mut output, PREPARED, self.signals) {
            true => Ok(Prepared { child, output }),
            false => {
                end(&mut child);
                Err(Failure::new("the data plane did not start"))
            }
        }
    }

    /// Lets the next program that is started have the sockets, or not.
    fn inherit(&self, is_to: bool) -> std::io::Result<()> {
        let flags = if is_to {
            FdFlag::empty()
        } else {
            FdFlag::FD_CLOEXEC
        };
        let set = |socket: BorrowedFd<'_>| fcntl(socket, FcntlArg::F_SETFD(flags)).map(drop);
        let mut sockets = self.sockets.iter().flat_map(Udp::descriptors);
        sockets.try_for_each(set).map_err(Into::into)
    }

    /// Starts the data plane and waits until packets go through.
    fn start(&self) -> Result<Child, Failure> {
        let prepared = self.prepare()?;
        self.go(prepared)
    }

    fn go(&self, prepared: Prepared) -> Result<Child, Failure> {
        let Prepared {
            mut child,
            mut output,
        } = prepared;
        let told = child.stdin.take().map(|mut input| writeln!(input, "{GO}"));
        match told.is_some_and(|told| told.is_ok()) && says(&mut output, READY, self.signals) {
            true => Ok(child),
            false => {
                end(&mut child);
                Err(Failure::new("the data plane did not start"))
            }
        }
    }

    /// Starts the data plane of another program, and ends the one that runs. What comes between waits
    /// in the sockets, and in the queue that the new one has of the interface.
    fn hand_over(&mut self, running: &mut Child, program: PathBuf) -> Result<(), Failure> {
        if self.up.config.carrier == CarrierMode::Trailer {
            return Err(Failure::new(
                "carrier = \"trailer\": the kernel's queue has one process, so nothing can be handed \
                 over: clew down, then clew up",
            ));
        }
        let earlier = std::mem::replace(&mut self.program, program);
        let prepared = self
            .prepare()
            .inspect_err(|_| self.program.clone_from(&earlier));
        let prepared = prepared.map_err(|failure| {
            Failure::new(format!("{}; the one before goes on", failure.message))
        })?;
        end(running);
        let started = self.go(prepared).or_else(|failure| {
            tracing::error!("{}; the program before starts again", failure.message);
            self.program = earlier;
            self.start().and_then(|child| {
                *running = child;
                Err(failure)
            })
        });
        *running = started?;
        Ok(())
    }

    /// Starts the data plane again and again, after ever longer waits.
    fn restart(&self, mut wait: Duration) -> Result<Child, Ended> {
        loop {
            let until = Instant::now() + wait;
            while Instant::now() < until {
                let left = until.saturating_duration_since(Instant::now());
                wait_for(self.signals, nap(left));
                match self.signals.read_signal() {
                    Ok(Some(signal)) if is_end(signal.ssi_signo) => return Err(Ended::Asked),
                    _ => {}
                }
            }
            match self.start() {
                Ok(child) => return Ok(child),
                Err(failure) => tracing::error!("{}", failure.message),
            }
            wait = (wait * 2).min(AGAIN[1]);
        }
    }
}

/// Tells the data plane what the host's filter counted, which it may not read itself. If it answers,
/// the service manager is told that it lives.
struct Teller {
    /// `None` if nobody wants to know.
    next: Option<Instant>,
    programs: Option<Programs>,
    table: String,
}

impl Teller {
    fn new(up: &Supervised<'_>) -> Self {
        let wants = up.config.metrics.is_some() || sd_notify::watchdog_enabled().is_some();
        Self {
            next: wants.then(Instant::now),
            programs: Programs::find().ok(),
            table: Kept::of(up.config).table,
        }
    }

    fn wait(&self) -> Option<Duration> {
        let next = self.next?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    fn tell(&mut self, place: &Place) {
        let now = Instant::now();
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        self.next = Some(now + TELL);
        let counts = self
            .programs
            .as_ref()
            .map(|programs| filtered(programs, &self.table));
        let request = Request::Filtered(counts.unwrap_or_default());
        if matches!(ask(&place.control(), request), Ok(Answer::Done)) {
            let _ = sd_notify::notify(&[NotifyState::Watchdog]);
        }
    }
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

/// Whether the data plane says this word, in time.
fn says(output: &mut BufReader<ChildStdout>, word: &str, signals: &SignalFd) -> bool {
    let until = Instant::now() + START;
    let mut line = String::new();
    loop {
        let wait = until.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            return false;
        }
        let mut all = [output.get_ref().as_fd(), signals.as_fd()];
        let mut all = all.each_mut().map(|fd| PollFd::new(*fd, PollFlags::POLLIN));
        let polled = poll(&mut all, nap(wait));
        let is_there = all[0].any().unwrap_or(false);
        if polled.is_ok() && is_there {
            // One short line, or the end. The next one is not written before somebody asks for it.
            let read = output.read_line(&mut line);
            return read.is_ok() && line.trim_end() == word;
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
