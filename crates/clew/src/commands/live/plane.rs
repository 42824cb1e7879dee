//! The process that runs the data plane, without any privilege.

use super::endpoint::Shown;
use super::exchange::{
    ATTACH, ATTACHED, FAILED, GO, HINT, METRICS, PREPARED, READY, SOCKETS, VERSION, check_version,
};
use super::memory::Memory;
use super::{lock, material, own, queue};
use crate::failure::{Failure, Status};
use crate::metrics::LiveMetrics;
use crate::random;
use clew_engine::Keyring;
use clew_live::adopt_listener;
use clew_live::config::Config;
use clew_live::control::Control;
use clew_live::daemon::{Devices, Given, Hooks, Loaded, run};
use clew_live::setup::{Place, SetupError, account, privileges};
use clew_live::visible::visible;
use clew_packet::Carrier;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use sd_notify::NotifyState;
use std::net::TcpListener;
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Blocks signals in this thread and those that it will start, so that they can be read.
pub(super) fn signals(signals: &[Signal]) -> Result<SignalFd, Failure> {
    let failed = |error| Failure::new(format!("cannot wait for signals: {error}"));
    let mut set = SigSet::empty();
    signals.iter().for_each(|signal| set.add(*signal));
    set.thread_block().map_err(failed)?;
    SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).map_err(failed)
}

/// Ends the process with any thread that panics, since half a data plane would drop packets for ever.
/// It leaves no dump, which would have keys in it.
fn end_with_any_thread() -> Result<(), Failure> {
    let failed = |error| Failure::new(format!("cannot forbid dumps of this process: {error}"));
    prctl::set_dumpable(false).map_err(failed)?;
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        std::process::abort();
    }));
    Ok(())
}

/// What is known of the group files of a daemon.
pub(super) fn memory_of(config: &Config) -> Result<Memory, Failure> {
    Memory::read(Place::of(&config.name).known_groups())
}

/// What the data plane reads from files.
type FromFiles = Loaded<Arc<Keyring>>;

/// Opens the devices with the privileges of root, gives these up, reads all files, and runs.
pub(super) fn start(path: &Path, config: Config) -> Result<Status, Failure> {
    let is_ready = Arc::new(AtomicBool::new(false));
    let done = prepare_and_run(path, config, &is_ready);
    done.map_err(|failure| match is_ready.load(Ordering::Acquire) {
        true => failure,
        false => refuse(&failure),
    })
}

/// Leaves it to the supervisor to tell why this data plane does not start.
fn refuse(failure: &Failure) -> Failure {
    say!("{FAILED}{}", visible(&failure.message));
    if let Some(hint) = &failure.hint {
        say!("{HINT}{}", visible(hint));
    }
    Failure::new("")
}

fn prepare_and_run(
    path: &Path,
    config: Config,
    is_ready: &Arc<AtomicBool>,
) -> Result<Status, Failure> {
    let (devices, loaded) = prepare(path, &config)?;
    say!("{PREPARED}");
    wait_for(ATTACH)?;
    let attached = devices.attach();
    attached.map_err(|error| Failure::new(format!("interface {}: {error}", config.interface)))?;
    say!("{ATTACHED}");
    wait_for(GO)?;
    let is_ready = Arc::clone(is_ready);
    serve(path, config, devices, loaded, move || {
        is_ready.store(true, Ordering::Release);
        say!("{READY}");
    })
}

/// Nothing waits in the queue of the interface meanwhile, and another data plane may still run.
fn prepare(path: &Path, config: &Config) -> Result<(Devices, FromFiles), Failure> {
    check_version(std::env::var(VERSION).ok().as_deref())?;
    let user = account(config)?;
    let given = match config.carrier {
        Carrier::Trailer => Given::Copies(queue::start(path)?),
        Carrier::UdpTunnel | Carrier::UdpTransport => Given::Sockets(sockets()),
    };
    let devices = Devices::open(config, given).map_err(Failure::new)?;
    devices.detach();
    privileges::become_user(&user)?;
    // Nobody would see to the set-up, start it again, or undo what is not confirmed.
    privileges::end_with_parent()?;
    Ok((devices, read(config)?))
}

fn read(config: &Config) -> Result<FromFiles, Failure> {
    let memory = memory_of(config)?;
    Loaded::read(config, |config| material::load(config, &memory))
}

/// The sockets that `clew up` bound.
fn sockets() -> Vec<RawFd> {
    let text = std::env::var(SOCKETS).unwrap_or_default();
    text.split(',')
        .filter_map(|word| word.parse().ok())
        .collect()
}

/// The socket for metrics that `clew up` listens with. `None` if it has none.
fn listener() -> Option<TcpListener> {
    let number = std::env::var(METRICS).ok()?.parse().ok()?;
    let adopted = adopt_listener(number);
    adopted
        .inspect_err(|error| tracing::warn!("the socket for metrics: {error}"))
        .ok()
}

/// Waits for a word of the supervisor.
fn wait_for(word: &str) -> Result<(), Failure> {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    match read.is_ok() && line.trim_end() == word {
        true => Ok(()),
        false => Err(Failure::new("clew up ended before the data plane started")),
    }
}

/// Runs on what another process set up, without privileges from the beginning.
pub(super) fn run_only(path: &Path, config: Config) -> Result<Status, Failure> {
    if nix::unistd::geteuid().is_root() {
        return Err(
            Failure::new("clew up --run-only: the data plane does not run as root")
                .hint("use clew up alone, or User= in the unit"),
        );
    }
    if config.carrier == Carrier::Trailer {
        return Err(Failure::new(
            "carrier = \"trailer\": clew up --run-only has no privilege to open its sockets",
        )
        .hint(format!("clew up {}", path.display())));
    }
    privileges::have_none()?;
    let place = Place::of(&config.name);
    if !place.is_set_up() {
        return Err(Failure::new(format!("{} is not set up", config.name))
            .hint(format!("clew up --setup-only {}", path.display())));
    }
    if place.is_set_up_in_part() {
        return Err(SetupError::Left(config.name).into());
    }
    let loaded = read(&config)?;
    // Of other data planes it is said before they start.
    material::warn_if_exposed(&config);
    let given = Given::Sockets(listening()?);
    let devices = Devices::open(&config, given).map_err(Failure::new)?;
    serve(path, config, devices, loaded, || {
        // Without a service manager nobody is told.
        let _ = sd_notify::notify(&[NotifyState::Ready]);
    })
}

/// The sockets that a service manager bound.
pub(super) fn listening() -> Result<Vec<RawFd>, Failure> {
    let given = sd_notify::listen_fds();
    let given = given.map_err(|error| Failure::new(format!("LISTEN_FDS: {error}")))?;
    Ok(given.collect())
}

fn serve(
    path: &Path,
    config: Config,
    devices: Devices,
    loaded: FromFiles,
    on_ready: impl FnOnce() + Send + 'static,
) -> Result<Status, Failure> {
    end_with_any_thread()?;
    let signals = signals(&[Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP])?;
    let place = Place::of(&config.name);
    let _lock = place.lock_daemon()?;
    let control = Control::listen(&place.control());
    let control = control.map_err(|error| Failure::io(&place.control(), &error))?;
    let metrics = LiveMetrics::default();
    let shown = config
        .metrics
        .map(|at| Shown::begin(at, listener(), &metrics));
    let shown = Arc::new(Mutex::new(shown));
    let unseen = Arc::clone(&shown);
    warn_of_fallbacks(&config, &devices);
    // The data plane before may have read newer group files meanwhile.
    let memory = Arc::new(memory_of(&config)?);
    let keep = material::adopt(&config, &memory, loaded.material())?;
    let kept = Arc::clone(&memory);
    let endpoints = own::Endpoints::of(&config);
    let hooks = Hooks {
        load: Box::new(move |config| {
            let fine = endpoints.refuse_own(config);
            let taken = fine.and_then(|()| material::take(config, &memory));
            taken
                .inspect(|_| endpoints.take(config))
                .map_err(|failure| failure.message)
        }),
        rng: random::os,
        path: path.to_owned(),
        succession: place.succession(),
        accepted: place.accepted(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        unkept: Box::new(move || kept.keep_again()),
        trouble: Box::new(move || lock(&unseen).as_mut().and_then(Shown::trouble)),
        on_ready: Box::new(move || {
            on_ready();
            // Had it not started, the program before would, which may know an earlier form of the file alone.
            keep();
        }),
        on_tick: Box::new(move |status| {
            let can_sign = status.signer.trouble.is_none();
            metrics.see(status);
            metrics.set_in_force(place.trouble().is_none());
            if let Some(shown) = &*lock(&shown) {
                shown.beat(can_sign);
            }
            let _ = sd_notify::notify(&[NotifyState::Watchdog]);
        }),
    };
    run(config, loaded, devices, &control, &signals, hooks).map_err(Failure::new)?;
    Ok(Status::Yes)
}

/// Says once what the kernel does not do.
fn warn_of_fallbacks(config: &Config, devices: &Devices) {
    if !config.offload || config.carrier == Carrier::Trailer {
        return;
    }
    let offloads = devices.offloads();
    for (has, what) in [
        (offloads.tun_tcp, "offload at the TUN"),
        (offloads.udp_gso, "segmentation of datagrams (UDP GSO)"),
        (offloads.udp_gro, "coalescing of datagrams (UDP GRO)"),
    ] {
        if !has {
            tracing::warn!("this kernel has no {what}: packets go one by one");
        }
    }
}
