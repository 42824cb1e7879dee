//! Where things run: threads on cores, and the CPU time that they take.

use crate::systems::Shared;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, gettid};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The cores of this run.
#[derive(Clone, Copy, Debug)]
pub struct Cores {
    pub server: usize,
    pub client: usize,
}

impl Cores {
    /// The first two that this process may use, unless others are named.
    pub fn choose(server: Option<usize>, client: Option<usize>) -> io::Result<Self> {
        let set = sched_getaffinity(Pid::from_raw(0))?;
        let mut free = (0..CpuSet::count()).filter(|core| set.is_set(*core).unwrap_or(false));
        let first = free.next().unwrap_or(0);
        let server = server.unwrap_or(first);
        let client = client.unwrap_or_else(|| free.next().unwrap_or(first));
        if server == client {
            eprintln!("tunnel-bench: client and server share core {server}: rates mean little");
        }
        Ok(Self { server, client })
    }
}

/// Keeps this thread, and those it starts, on that core.
pub fn pin(core: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(core)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// A server on a thread of its own.
pub struct Server {
    pub address: SocketAddr,
    thread: Pid,
}

impl Server {
    /// Starts it on that core, in the network namespace of this thread.
    pub fn start(system: &Shared, host: IpAddr, core: usize) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel();
        let system = Arc::clone(system);
        let name = system.name().to_owned();
        let serve = move || {
            let ready = Mutex::new(Some(sender));
            let take = || ready.lock().ok().and_then(|mut ready| ready.take());
            let listening = |address| {
                if let Some(sender) = take() {
                    let _ = sender.send(Ok((address, gettid())));
                }
            };
            let ended = pin(core).and_then(|()| system.serve(host, &listening));
            let error = ended
                .err()
                .unwrap_or_else(|| io::ErrorKind::BrokenPipe.into());
            match take() {
                Some(sender) => drop(sender.send(Err(error))),
                None => eprintln!("tunnel-bench: the server of {}: {error}", system.name()),
            }
        };
        thread::Builder::new().name(name).spawn(serve)?;
        let started = receiver.recv().map_err(io::Error::other)?;
        let (address, thread) = started?;
        Ok(Self { address, thread })
    }

    /// The CPU time of its thread so far.
    pub fn cpu(&self) -> io::Result<Duration> {
        // How Linux numbers the clock of a thread (include/linux/posix-timers.h): CPUCLOCK_SCHED of one thread.
        let clock = ClockId::from_raw((!self.thread.as_raw() << 3) | 6);
        Ok(clock_gettime(clock)?.into())
    }
}

/// The CPU time of this thread so far.
pub fn own_cpu() -> io::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into())
}
