//! The thread that starts the others, answers questions, and reads files again.

use super::clocks::Clocks;
use super::no_thread;
use super::notices::{Notices, Topic};
use super::reload::{Loaded, Stamps};
use super::shared::{Shared, lock};
use super::succession::Found;
use super::{Devices, Load, receive, refill, send};
use crate::config::{Config, SetupKeys};
use crate::control::{Answer, Control, Request};
use crate::status::{Filtered, Status};
use clew_packet::KeySource;
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use rand_core::CryptoRng;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// How often files and threads are looked at.
const TICK: Duration = Duration::from_secs(1);

/// How long each half of a data plane may take to finish what it has.
const FINISH: Duration = Duration::from_millis(500);

/// How often to look whether it has.
const FINISH_LOOK: Duration = Duration::from_millis(1);

/// What the program around a daemon gives it.
pub struct Hooks<K, R> {
    /// Reads key and group files again.
    pub load: Load<K>,
    /// Makes a source of randomness.
    pub rng: fn() -> R,
    /// The configuration file, which is read again on request.
    pub path: PathBuf,
    /// Where a data plane leaves what the next one needs.
    pub succession: PathBuf,
    /// Where it keeps in which seconds packets were accepted.
    pub accepted: PathBuf,
    /// The program's version.
    pub version: String,
    /// Says why the program around the daemon cannot keep what should outlast it, as [`unkept`] does; asked every
    /// second, and whoever is asked tries again.
    ///
    /// [`unkept`]: crate::unkept::unkept
    pub unkept: Box<dyn FnMut() -> Option<String> + Send>,
    /// Says what else that program cannot do, and what helps; asked every second.
    pub trouble: Box<dyn FnMut() -> Option<String> + Send>,
    /// Called once when packets go through.
    pub on_ready: Box<dyn FnOnce() + Send>,
    /// Called every second while all loops turn, with what the daemon tells of itself.
    pub on_tick: Box<dyn FnMut(Status) + Send>,
}

/// Runs the data plane until a signal ends it. SIGTERM, SIGINT and SIGHUP are blocked in the calling
/// thread already; the last one reads all files again.
///
/// # Errors
/// It cannot start, or an interface is lost.
pub fn run<K, R>(
    config: Config,
    loaded: Loaded<K>,
    devices: Devices,
    control: &Control,
    signals: &SignalFd,
    mut hooks: Hooks<K, R>,
) -> Result<(), String>
where
    K: KeySource + Send,
    R: CryptoRng,
{
    let Loaded { stamps, material } = loaded;
    let mut secret = [0; 32];
    (hooks.rng)().fill_bytes(&mut secret);
    let shared = Shared::new(config, devices, material, secret, &hooks.accepted);
    let shared = shared.map_err(|error| error.to_string())?;
    shared.begin_to_count();
    if !take_over(&shared, &hooks.succession) {
        shared.forget();
    }
    let succession = hooks.succession.clone();
    let on_ready = std::mem::replace(&mut hooks.on_ready, Box::new(|| ()));
    thread::scope(|scope| -> Result<(), String> {
        let threads = start(scope, &shared, hooks.rng).inspect_err(|_| shared.stop());
        let threads = threads.map_err(|error| no_thread(&error))?;
        let mut supervisor = Supervisor {
            shared: &shared,
            hooks,
            stamps,
            notices: Notices::default(),
            filtered: Filtered::default(),
            clocks: Clocks::new(&shared.clocks()),
            turns: [0; 2],
        };
        supervisor.see_signer();
        supervisor.see_refused();
        on_ready();
        let ended = supervisor.serve(control, signals, &threads);
        if ended.is_ok() {
            finish(&shared, &threads);
        }
        shared.stop();
        { threads.refills.iter() }.for_each(|refill| refill.thread().unpark());
        let [sent, received] = threads.planes.map(ScopedJoinHandle::join);
        ended?;
        for (what, done) in [("interface", sent), ("network", received)] {
            let done = done.map_err(|_| format!("{what}: the thread ended"))?;
            done.map_err(|error| match error.raw_os_error() {
                Some(libc::EBADFD) => format!("{what}: it was removed"),
                _ => format!("{what}: {error}"),
            })?;
        }
        Ok(())
    })?;
    shared.keep_accepted_in_the_end();
    if let Err(error) = shared.leave(&succession) {
        warn!(
            "{}: {error}: the next data plane begins anew",
            succession.display()
        );
    }
    Ok(())
}

/// Takes over what the data plane before left. Returns whether it left anything: else nothing is accepted that
/// was signed before now.
fn take_over<K: KeySource>(shared: &Shared<K>, path: &std::path::Path) -> bool {
    match shared.take_over(path) {
        Ok(Found::Nothing) => {}
        Ok(Found::Memory) => {
            info!("took over what the data plane before had accepted");
            return true;
        }
        Ok(Found::Unusable) => {
            warn!(
                "{}: of another set-up or version: began anew",
                path.display()
            );
        }
        Err(error) => warn!("{}: {error}: began anew", path.display()),
    }
    false
}

/// Lets the receiver finish what it has, and then the sender, whose packets may be answers.
fn finish<K: KeySource>(shared: &Shared<K>, threads: &Threads<'_>) {
    let [sender, receiver] = &threads.planes;
    let wait = |plane: &ScopedJoinHandle<'_, io::Result<()>>| {
        let until = Instant::now() + FINISH;
        while !plane.is_finished() && Instant::now() < until {
            thread::sleep(FINISH_LOOK);
        }
    };
    shared.end_receiver();
    wait(receiver);
    shared.end_sender();
    wait(sender);
}

/// The threads whose end is the daemon's.
struct Threads<'scope> {
    planes: [ScopedJoinHandle<'scope, io::Result<()>>; 2],
    refills: [ScopedJoinHandle<'scope, ()>; 2],
}

fn start<'scope, K, R>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared<K>,
    rng: fn() -> R,
) -> io::Result<Threads<'scope>>
where
    K: KeySource + Send,
    R: CryptoRng + 'scope,
{
    for since in &shared.verifying_since {
        begin(scope, move || {
            name_thread(c"clew-verify");
            receive::verify(shared, since, &mut rng());
        })?;
    }
    Ok(Threads {
        planes: [
            begin(scope, move || send::run(shared, &mut rng()))?,
            begin(scope, move || receive::run(shared))?,
        ],
        refills: [
            begin(scope, move || refill::run(shared, &mut rng()))?,
            begin(scope, move || refill::run_if_short(shared, &mut rng()))?,
        ],
    })
}

/// Starts a thread. A system that has no room for one says so.
fn begin<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    does: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    thread::Builder::new().spawn_scoped(scope, does)
}

/// Gives the calling thread a name, as `top -H` shows it.
fn name_thread(name: &std::ffi::CStr) {
    // Nothing depends on it.
    let _ = nix::sys::prctl::set_name(name);
}

struct Supervisor<'a, K, R> {
    shared: &'a Shared<K>,
    hooks: Hooks<K, R>,
    stamps: Stamps,
    notices: Notices,
    filtered: Filtered,
    clocks: Clocks,
    turns: [u64; 2],
}

impl<K: KeySource + Send, R: CryptoRng> Supervisor<'_, K, R> {
    fn serve(
        &mut self,
        control: &Control,
        signals: &SignalFd,
        threads: &Threads<'_>,
    ) -> Result<(), String> {
        let mut next = Instant::now() + TICK;
        while !threads.planes.iter().any(ScopedJoinHandle::is_finished) {
            wait(control, signals, next)?;
            match signals.read_signal() {
                Ok(Some(signal)) if signal.ssi_signo == Signal::SIGHUP as u32 => {
                    self.reload_all();
                }
                Ok(Some(_)) => return Ok(()),
                Ok(None) | Err(_) => {}
            }
            control.answer(|request| self.answer(request));
            if Instant::now() >= next {
                next = Instant::now() + TICK;
                self.tick();
            }
        }
        Ok(())
    }

    fn answer(&mut self, request: Request) -> Answer {
        match request {
            Request::Filtered(filtered) => {
                self.filtered = filtered;
                Answer::Done
            }
            Request::Status => {
                self.shared.count_arrivals();
                Answer::Status(Box::new(self.status()))
            }
            Request::Reload => match self.reload_all() {
                Some(refused) => Answer::Refused(refused),
                None => Answer::Done,
            },
        }
    }

    fn status(&self) -> Status {
        Status {
            filtered: self.filtered,
            ..self.shared.status(&self.hooks.version, self.notices.all())
        }
    }

    fn tick(&mut self) {
        let stamps = Stamps::of(&self.shared.config());
        if stamps != self.stamps {
            self.stamps = stamps;
            let config = (*self.shared.config()).clone();
            self.reload(config);
        }
        self.see_signer();
        self.see_stalls();
        self.see_files_kept();
        self.see_refused();
        let (now, clocks) = (self.seconds(), self.shared.clocks());
        for sentence in self.clocks.see(&clocks, &mut self.notices, now) {
            warn!("{sentence}");
        }
        self.notices.forget(now);
        self.shared.count_arrivals();
        self.shared.keep_accepted();
        // Path MTUs rise again, and clocks move on.
        self.shared.apply_paths();
        self.shared.keep_alive();
        let turns = [0, 1].map(|at| self.shared.turns[at].load(Ordering::Relaxed));
        let all_turn = turns.iter().zip(self.turns).all(|(now, then)| *now != then);
        self.turns = turns;
        if all_turn {
            let status = self.status();
            (self.hooks.on_tick)(status);
        }
    }

    /// Reads the configuration and all files again. Returns why they are refused.
    fn reload_all(&mut self) -> Option<String> {
        let config = match Config::read(&self.hooks.path) {
            Ok(config) => config,
            Err(error) => return self.refuse(error.to_string()),
        };
        let [old, new] = [&*self.shared.config(), &config].map(SetupKeys::of);
        let keys = old.changed(&new);
        if !keys.is_empty() {
            let (path, keys) = (self.hooks.path.display(), keys.join(", "));
            return self.refuse(format!(
                "{path}: {keys} changed: that needs clew down and clew up"
            ));
        }
        let stamps = Stamps::of(&config);
        let refused = self.reload(config);
        // Else they would differ from those of the files in force, which would be read at once.
        if refused.is_none() {
            self.stamps = stamps;
        }
        refused
    }

    fn reload(&mut self, config: Config) -> Option<String> {
        let material = match (self.hooks.load)(&config) {
            Ok(material) => material,
            Err(error) => return self.refuse(error),
        };
        self.notices.set(Topic::Files, None, self.seconds());
        self.shared.replace(config, material);
        info!("read the files again");
        None
    }

    /// Keeps what is in force, and says so once.
    fn refuse(&mut self, error: String) -> Option<String> {
        let now = self.seconds();
        if self.notices.set(Topic::Files, Some(&error), now) {
            warn!("{error}; the files read before stay in force");
        }
        Some(error)
    }

    /// Says once why nothing is signed.
    fn see_signer(&mut self) {
        let now = self.shared.clock.now().wall;
        let trouble = lock(&self.shared.outbound).state(now).err();
        let trouble = trouble.map(|trouble| trouble.to_string());
        let is_new = self
            .notices
            .set(Topic::Signer, trouble.as_deref(), self.seconds());
        if let Some(trouble) = trouble.filter(|_| is_new) {
            warn!("nothing is signed: {trouble}");
        }
    }

    /// Says once for each cause why something should be on the disk and is not, and once that all is there again.
    fn see_files_kept(&mut self) {
        let now = self.seconds();
        let all = distinct((self.hooks.unkept)(), self.shared.accepted.trouble());
        let topics = [Topic::Kept, Topic::Accepted];
        let was_unkept = topics.iter().any(|topic| self.notices.has(*topic));
        for (topic, unkept) in topics.into_iter().zip(&all) {
            if self.notices.set(topic, unkept.as_deref(), now)
                && let Some(sentence) = unkept
            {
                warn!("{sentence}");
            }
        }
        if was_unkept && all == [None, None] {
            info!("what has to outlast a restart or a crash is kept again");
        }
        let trouble = (self.hooks.trouble)();
        self.notices.set(Topic::Program, trouble.as_deref(), now);
    }

    /// Says once why right packets are refused: the file of what was accepted may have been written by others.
    fn see_refused(&mut self) {
        let (refused, now) = (self.shared.refused(), self.seconds());
        let is_new = self.notices.set(Topic::Refused, refused.as_deref(), now);
        if let Some(refused) = refused.filter(|_| is_new) {
            warn!("{refused}");
        }
    }

    /// Says once what stands still, and shows it until it goes on.
    fn see_stalls(&mut self) {
        let now = self.seconds();
        for (topic, sentence) in [
            (Topic::Verifiers, self.shared.stall().sentence()),
            (Topic::Queue, self.shared.stall_of_queue()),
        ] {
            if self.notices.set(topic, sentence, now) {
                warn!("{}", sentence.unwrap_or_default());
            }
        }
    }

    /// The time, in seconds since 1970.
    fn seconds(&self) -> u64 {
        self.shared.clock.now().wall.0 / clew_packet::SECOND_NS
    }
}

/// Two sentences, or one if both have one cause. The first one stays the same when the other file fails, too.
fn distinct(kept: Option<String>, accepted: Option<String>) -> [Option<String>; 2] {
    let first = kept.or_else(|| accepted.clone());
    let other = accepted.filter(|accepted| first.as_ref() != Some(accepted));
    [first, other]
}

fn wait(control: &Control, signals: &SignalFd, until: Instant) -> Result<(), String> {
    let mut all = [control.as_fd(), signals.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    let wait = until.saturating_duration_since(Instant::now()).min(TICK);
    let millis = u16::try_from(wait.as_millis() + 1).unwrap_or(u16::MAX);
    match poll(&mut all, PollTimeout::from(millis)) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(other) => Err(format!("cannot wait: {other}")),
    }
}
