//! A line between hosts of this machine, which are network namespaces.
//!
//! Each host has a TUN device for its network card. A thread for each direction carries packets from one
//! device to another, and does with them what a [`Condition`] says. The kernels here have no netem.

mod condition;
mod device;
mod direction;
mod host;
mod lateness;
mod random;
mod report;
mod selftest;
mod shaper;
mod superpacket;
pub mod units;

pub use condition::{Condition, Loss, QUEUE_MIN, Queue};
pub use device::{Device, in_namespace};
pub use host::{Host, ip};
pub use lateness::Percentiles;
pub use random::SplitMix;
pub use report::{Dropped, Report};
pub use selftest::{Finding, selftest};
pub use shaper::{Fate, Nanos, Shaper};

use direction::{Command, Direction, Forwarder};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::prctl::set_timerslack;
use nix::unistd::gettid;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A direction to be: packets go from one device to another.
pub struct Way {
    /// For reports.
    pub name: String,
    /// Where packets come from. No other way has it.
    pub from: Arc<Device>,
    /// Where they go; several ways may have the same.
    pub to: Arc<Device>,
    /// TAP devices that get a copy of all that is delivered.
    pub listeners: Vec<Arc<Device>>,
}

/// How the threads run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Threads {
    /// With SCHED_FIFO, before all usual programs. It needs root and `chrt`.
    pub realtime: bool,
    /// So long before a packet is due a thread no longer sleeps: exact, and a core for nothing else.
    pub spin: Duration,
}

/// A line that is running. It ends when this is dropped.
pub struct Line {
    ways: Vec<Running>,
}

struct Running {
    from: Arc<Device>,
    /// What the kernel had dropped when the condition was set.
    dropped_before: AtomicU64,
    commands: Sender<Command>,
    wake: Arc<EventFd>,
    thread: Option<JoinHandle<()>>,
}

impl Line {
    /// Starts a line between two devices.
    pub fn between(ends: [Device; 2], threads: Threads) -> io::Result<Self> {
        let [a, b] = ends.map(Arc::new);
        let way = |name: &str, from: &Arc<Device>, to: &Arc<Device>| Way {
            name: name.into(),
            from: Arc::clone(from),
            to: Arc::clone(to),
            listeners: Vec::new(),
        };
        Self::start([way("there", &a, &b), way("back", &b, &a)], threads)
    }

    /// Starts a thread for each way.
    pub fn start(ways: impl IntoIterator<Item = Way>, threads: Threads) -> io::Result<Self> {
        let ways = (0..).zip(ways);
        let ways = ways.map(|(number, way)| Running::start(way, number, threads));
        Ok(Self {
            ways: ways.collect::<io::Result<_>>()?,
        })
    }

    /// From the next packet on that is the condition of all ways. Counters start anew.
    pub fn set(&self, condition: Condition) -> io::Result<()> {
        (0..self.ways.len()).try_for_each(|way| self.set_way(way, condition))
    }

    /// The same for one way, by its place.
    pub fn set_way(&self, way: usize, condition: Condition) -> io::Result<()> {
        let way = &self.ways[way];
        let before = way.from.dropped_by_kernel().unwrap_or(0);
        way.dropped_before.store(before, Ordering::Relaxed);
        way.ask(|answer| Command::Set(condition, answer))
    }

    /// What each way did since its condition was set.
    pub fn report(&self) -> io::Result<Vec<Report>> {
        let report = |way: &Running| {
            let mut report = way.ask(Command::Report)?;
            let dropped = way.from.dropped_by_kernel();
            report.dropped.too_slow =
                dropped.map(|all| all - way.dropped_before.load(Ordering::Relaxed));
            Ok(report)
        };
        self.ways.iter().map(report).collect()
    }
}

impl Running {
    fn start(way: Way, number: u64, threads: Threads) -> io::Result<Self> {
        if way.from.has_offload() != way.to.has_offload() {
            let text = format!(
                "{} and {}: both or neither have offloads",
                way.from.name(),
                way.to.name()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let (commands, receiver) = channel();
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        let wake = Arc::new(EventFd::from_flags(flags)?);
        let name = way.name.clone();
        let from = Arc::clone(&way.from);
        let forwarder = Forwarder::new(Direction {
            name: way.name,
            number,
            from: way.from,
            to: way.to,
            listeners: way.listeners,
            commands: receiver,
            wake: Arc::clone(&wake),
            spin: threads.spin,
        });
        let forward = move || {
            let ended = prepare(threads).and_then(|()| forwarder.run());
            if let Err(error) = ended {
                eprintln!("line: {name}: {error}");
            }
        };
        let thread = thread::Builder::new().name("line".into()).spawn(forward)?;
        let thread = Some(thread);
        let dropped_before = AtomicU64::new(0);
        Ok(Self {
            from,
            dropped_before,
            commands,
            wake,
            thread,
        })
    }

    fn ask<T>(&self, command: impl FnOnce(Sender<T>) -> Command) -> io::Result<T> {
        let ended = || io::Error::other("the line's thread has ended");
        let (sender, receiver) = channel();
        self.tell(command(sender)).ok_or_else(ended)?;
        receiver.recv().map_err(|_| ended())
    }

    fn tell(&self, command: Command) -> Option<()> {
        self.commands.send(command).ok()?;
        self.wake.write(1).ok().map(drop)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        for way in &mut self.ways {
            way.tell(Command::Stop);
            way.thread.take().map(JoinHandle::join);
        }
    }
}

/// Makes the thread of this call as punctual as it is to be.
fn prepare(threads: Threads) -> io::Result<()> {
    // The kernel would let timers be 50 us late.
    set_timerslack(1)?;
    if !threads.realtime {
        return Ok(());
    }
    let thread = gettid().to_string();
    let status = std::process::Command::new("chrt")
        .args(["-f", "-p", "10", &thread])
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(
            "SCHED_FIFO was refused\nhint: run it as root",
        )),
    }
}
