//! Starts data planes, one after the other, with what the supervisor keeps for them.

use super::child::Running;
use super::exchange::{
    ATTACH, ATTACHED, FAILED, GO, HINT, METRICS, PREPARED, READY, SOCKETS, VERSION,
};
use super::failing::Failing;
use super::guard::{Guard, mend};
use super::lines::WordReader;
use super::plane::listening;
use super::supervise::{Ended, Supervised, is_end, nap, wait_for};
use super::teller::{BEAT, alive};
use super::{bind_metrics, port_failed, replace};
use crate::failure::Failure;
use clew_live::carrier::Udp;
use clew_live::setup::EXCHANGE;
use clew_packet::Carrier;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::AcceptConn;
use std::cell::Cell;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the data plane may take to start.
const START: Duration = Duration::from_secs(20);

/// How long a data plane that cannot start may take to say what helps, and to end.
const LAST_WORD: Duration = Duration::from_secs(2);

/// How the failure of a start begins.
pub(super) const NOT_STARTED: &str = "the data plane did not start: ";

/// Waits before a data plane that failed starts again: doubled each time, up to the second.
pub(super) const AGAIN: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

/// What every data plane of this supervisor is started with.
pub(super) struct Starter<'a> {
    up: &'a Supervised<'a>,
    pub signals: &'a SignalFd,
    /// Bound here, so that datagrams wait while no data plane runs. `None` with trailers.
    sockets: Option<Udp>,
    /// Listens as long as this process runs, so that no other program takes the address between two data planes.
    /// `None` if nobody wants metrics, or the address is taken.
    metrics: Option<TcpListener>,
    /// The program of the next data plane.
    program: PathBuf,
    /// A signal asked for the end while a data plane started.
    is_asked_to_end: Cell<bool>,
    /// A signal asked to read the files again while a data plane started, which may have read them before.
    is_asked_to_reload: Cell<bool>,
}

/// A data plane that has all that it needs, and waits for its turn.
struct Prepared {
    child: Running,
    input: ChildStdin,
    output: WordReader<ChildStdout>,
}

impl<'a> Starter<'a> {
    /// Binds the port, or takes the sockets of a service manager.
    pub fn new(up: &'a Supervised<'a>, signals: &'a SignalFd) -> Result<Self, Failure> {
        let port = up.config.port;
        let sockets = match up.config.carrier {
            Carrier::Trailer => None,
            Carrier::UdpTunnel | Carrier::UdpTransport => {
                let bound = Udp::adopt(&listening()?, port);
                let bound = bound.map_err(|error| port_failed(port, &error))?;
                bound.mark(up.config.table);
                Some(bound)
            }
        };
        Ok(Self {
            up,
            signals,
            sockets,
            metrics: None,
            // The file of this program may be another one by then.
            program: "/proc/self/exe".into(),
            is_asked_to_end: Cell::new(false),
            is_asked_to_reload: Cell::new(false),
        })
    }

    /// Returns whether a signal asked for the end while a data plane started.
    pub fn is_asked_to_end(&self) -> bool {
        self.is_asked_to_end.get()
    }

    /// Takes note that a signal asked to read the files again while a data plane started.
    pub fn take_reload(&self) -> bool {
        self.is_asked_to_reload.take()
    }

    /// Starts a data plane and waits until it has all that it needs.
    fn prepare(&mut self) -> Result<Prepared, Failure> {
        self.listen();
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
            // What root has in its environment is not for the data plane.
            .env_clear()
            .envs(kept_variables())
            .env(VERSION, EXCHANGE.to_string())
            .env(SOCKETS, numbers.join(","))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if let Some(metrics) = &self.metrics {
            command.env(METRICS, metrics.as_raw_fd().to_string());
        }
        self.inherit(true).map_err(failed)?;
        let child = Running::spawn(&mut command);
        self.inherit(false).map_err(failed)?;
        let mut child = child.map_err(failed)?;
        let both = child.child();
        let (input, output) = (both.stdin.take(), both.stdout.take().map(WordReader::new));
        let (Some(input), Some(mut output)) = (input, output) else {
            child.end();
            return Err(Failure::new("the data plane has no input or output"));
        };
        match self.wait_for_word(&mut output, PREPARED) {
            Ok(()) => Ok(Prepared {
                child,
                input,
                output,
            }),
            Err(failure) => {
                child.end();
                Err(failure)
            }
        }
    }

    /// Listens for metrics, if it does not: the address may have been taken, or a data plane that is somebody
    /// else's have shut the socket. If that fails, the data plane tries it itself, and says why not.
    fn listen(&mut self) {
        let listens = |socket: &TcpListener| getsockopt(socket, AcceptConn) == Ok(true);
        self.metrics = self.metrics.take().filter(listens);
        if let (None, Some(at)) = (&self.metrics, self.up.config.metrics) {
            self.metrics = bind_metrics(at).ok();
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
        let sockets = self.sockets.iter().flat_map(Udp::descriptors);
        let mut sockets = sockets.chain(self.metrics.iter().map(AsFd::as_fd));
        sockets.try_for_each(set).map_err(Into::into)
    }

    /// Starts the data plane and waits until packets go through.
    pub fn start(&mut self) -> Result<Running, Failure> {
        let attached = self.prepare_and_attach()?;
        self.go(attached)
    }

    /// Prepares a data plane, which then has a queue of the interface.
    fn prepare_and_attach(&mut self) -> Result<Prepared, Failure> {
        let mut prepared = self.prepare()?;
        self.ask(&mut prepared, ATTACH, ATTACHED)?;
        Ok(prepared)
    }

    fn go(&self, mut prepared: Prepared) -> Result<Running, Failure> {
        self.ask(&mut prepared, GO, READY)?;
        Ok(prepared.child)
    }

    /// Says a word to a data plane, and waits for its answer. One that does not answer is ended.
    fn ask(&self, prepared: &mut Prepared, word: &str, answer: &str) -> Result<(), Failure> {
        let told = writeln!(prepared.input, "{word}");
        let told = told.map_err(|error| not_started(&error.to_string()));
        let heard = told.and_then(|()| self.wait_for_word(&mut prepared.output, answer));
        heard.inspect_err(|_| prepared.child.end())
    }

    /// Waits until a data plane says this word. Meanwhile the service manager hears that this process
    /// lives.
    fn wait_for_word(
        &self,
        output: &mut WordReader<ChildStdout>,
        word: &str,
    ) -> Result<(), Failure> {
        let until = Instant::now() + START;
        loop {
            alive();
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(not_started(&format!("not in {START:?}")));
            }
            let mut all = [output.as_fd(), self.signals.as_fd()];
            let mut all = all.each_mut().map(|fd| PollFd::new(*fd, PollFlags::POLLIN));
            let polled = poll(&mut all, nap(left.min(BEAT)));
            if polled.is_ok() && all[0].any().unwrap_or(false) {
                // The next word is not written before somebody asks for it.
                match output.read() {
                    Ok(Some(said)) if said == word => return Ok(()),
                    Ok(Some(said)) => return Err(refusal(&said, output)),
                    Ok(None) => {}
                    Err(_) => return Err(not_started("it ended")),
                }
            }
            self.note_signal()?;
        }
    }

    /// Takes a signal that came while a data plane starts.
    fn note_signal(&self) -> Result<(), Failure> {
        let Ok(Some(signal)) = self.signals.read_signal() else {
            return Ok(());
        };
        if signal.ssi_signo == Signal::SIGHUP as u32 {
            self.is_asked_to_reload.set(true);
        }
        match is_end(signal.ssi_signo) {
            true => {
                self.is_asked_to_end.set(true);
                Err(not_started("this process was asked to end"))
            }
            false => Ok(()),
        }
    }

    /// Starts the data plane of another program, and ends the one that runs. What comes between waits
    /// in the sockets, and in the queue that the new one has of the interface.
    pub fn hand_over(&mut self, running: &mut Running, program: PathBuf) -> Result<(), Failure> {
        if self.up.config.carrier == Carrier::Trailer {
            return Err(Failure::new(
                "carrier = \"trailer\": the kernel's queue has one process, so nothing can be handed \
                 over: clew down, then clew up",
            ));
        }
        let earlier = std::mem::replace(&mut self.program, program);
        // Both have a queue then. Without one the interface would drop packets.
        let attached = self.prepare_and_attach().map_err(|failure| {
            self.program.clone_from(&earlier);
            Failure::new(format!("{}; the one before goes on", failure.message))
        })?;
        // Packets wait meanwhile.
        running.stop();
        let started = self.go(attached).or_else(|failure| {
            if self.is_asked_to_end() {
                return Err(failure);
            }
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

    /// Starts the data plane of another program while none runs.
    fn start_other(&mut self, program: PathBuf) -> Result<Running, Failure> {
        let earlier = std::mem::replace(&mut self.program, program);
        let started = self.mend().and_then(|()| self.start());
        let started = started.inspect_err(|_| self.program = earlier);
        replace::answer(self.up.place, &started);
        started
    }

    /// Makes the interface and its routes again if somebody removed it.
    pub fn mend(&self) -> Result<(), Failure> {
        mend(self.up.place, self.up.config)
    }

    /// Starts the data plane again and again, after ever longer waits; or that of another program, as soon
    /// as somebody asks for one.
    pub fn restart(&mut self, mut wait: Duration, guard: &mut Guard<'_>) -> Result<Running, Ended> {
        loop {
            let started = match self.wait_again(wait, guard)? {
                Some(program) => self.start_other(program),
                None => self.mend().and_then(|()| self.start()),
            };
            wait = (wait * 2).min(AGAIN[1]);
            match started {
                Ok(child) => {
                    Failing::over(self.up.place);
                    tracing::warn!("the data plane is up again");
                    return Ok(child);
                }
                Err(_) if self.is_asked_to_end() => return Err(Ended::Asked),
                Err(failure) => {
                    tracing::error!("{}; it is tried again in {wait:?}", failure.message);
                    Failing::say(self.up.place, &failure, wait);
                }
            }
        }
    }

    /// Waits before the next start. Returns the program that somebody asks for, at once.
    fn wait_again(&self, wait: Duration, guard: &mut Guard<'_>) -> Result<Option<PathBuf>, Ended> {
        let until = Instant::now() + wait;
        loop {
            if let Some(program) = replace::asked(self.up.place) {
                return Ok(Some(program));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            alive();
            let wait = guard.wait().map_or(left, |wait| wait.min(left));
            wait_for(self.signals, guard, nap(wait.min(BEAT)));
            guard.look();
            match self.signals.read_signal() {
                Ok(Some(signal)) if is_end(signal.ssi_signo) => return Err(Ended::Asked),
                _ => {}
            }
        }
    }
}

fn not_started(why: &str) -> Failure {
    Failure::new(format!("{NOT_STARTED}{why}"))
}

/// What a data plane says in place of the word that is waited for.
fn refusal(said: &str, output: &mut WordReader<impl Read + AsFd>) -> Failure {
    let Some(why) = said.strip_prefix(FAILED) else {
        return not_started("it said something else than it was asked");
    };
    let failure = not_started(why);
    // It ends at once, with or without another line.
    let said = output.read_within(LAST_WORD);
    match said.as_deref().and_then(|said| said.strip_prefix(HINT)) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Variables that say how to write a log, and nothing else.
fn kept_variables() -> impl Iterator<Item = (&'static str, OsString)> {
    let names = ["RUST_BACKTRACE", "TZ"].into_iter();
    names.filter_map(|name| Some((name, std::env::var_os(name)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both lines may come at once, one after the other, or in pieces.
    #[test]
    fn what_helps_is_heard_however_it_comes() {
        for pieces in [
            &["failed: no key\nhint: make one\n"][..],
            &["failed: no key\n", "hint: make one\n"],
            &["failed: no key\nhint:", " make one\n"],
        ] {
            let (reader, mut writer) = std::io::pipe().unwrap();
            writer.write_all(pieces[0].as_bytes()).unwrap();
            let mut words = WordReader::new(reader);
            let said = words.read().unwrap().unwrap();
            let failure = std::thread::scope(|scope| {
                scope.spawn(move || {
                    for piece in &pieces[1..] {
                        std::thread::sleep(LAST_WORD / 4);
                        writer.write_all(piece.as_bytes()).unwrap();
                    }
                });
                refusal(&said, &mut words)
            });
            assert_eq!(failure.message, format!("{NOT_STARTED}no key"));
            assert_eq!(failure.hint.as_deref(), Some("make one"), "{pieces:?}");
        }
    }

    #[test]
    fn a_data_plane_that_ends_without_a_hint_is_not_waited_for() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"failed: no key\n").unwrap();
        drop(writer);
        let mut words = WordReader::new(reader);
        let said = words.read().unwrap().unwrap();
        assert_eq!(refusal(&said, &mut words).hint, None);
    }
}
