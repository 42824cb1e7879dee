//! The thread of one direction: it takes packets from a device, and gives them to another one when they are due.

use crate::condition::Condition;
use crate::device::Device;
use crate::lateness::Lateness;
use crate::report::Report;
use crate::shaper::{Fate, Nanos, Shaper};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;
use nix::sys::time::TimeSpec;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};
use tun_rs::GROTable;

/// The longest super-packet with its header.
const PACKET_MAX: usize = 10 + 65_535 + 40;

/// Packets taken before those that are due leave, and packets joined at once.
const TURN: usize = 64;

/// Bytes on their way in one direction: 1 Gbit/s for two seconds.
const MEMORY_MAX: u64 = 256 << 20;

/// What a thread is told.
pub(crate) enum Command {
    Set(Condition, Sender<()>),
    Report(Sender<Report>),
    Stop,
}

/// A packet on its way.
struct Travelling {
    due: Nanos,
    number: u64,
    packets: usize,
    bytes: Vec<u8>,
}

/// One direction between two devices.
pub(crate) struct Direction {
    pub name: String,
    pub number: u64,
    pub from: Arc<Device>,
    pub to: Arc<Device>,
    pub listeners: Vec<Arc<Device>>,
    pub commands: Receiver<Command>,
    pub wake: Arc<EventFd>,
    /// So long before a packet is due the thread no longer sleeps.
    pub spin: Duration,
}

/// A thread's state.
pub(crate) struct Forwarder {
    direction: Direction,
    shaper: Shaper,
    start: Instant,
    travelling: BinaryHeap<Travelling>,
    in_flight: u64,
    next_number: u64,
    lateness: Lateness,
    report: Report,
    table: GROTable,
    buffer: Vec<u8>,
}

impl Forwarder {
    pub(crate) fn new(direction: Direction) -> Self {
        Self {
            shaper: Shaper::new(Condition::default(), direction.number),
            direction,
            start: Instant::now(),
            travelling: BinaryHeap::new(),
            in_flight: 0,
            next_number: 0,
            lateness: Lateness::default(),
            report: Report::default(),
            table: GROTable::new(),
            buffer: vec![0; PACKET_MAX],
        }
    }

    /// Forwards until it is told to stop.
    pub(crate) fn run(mut self) -> io::Result<()> {
        loop {
            if self.wait()? && !self.obey() {
                return Ok(());
            }
            self.take_in()?;
            self.give_out();
        }
    }

    /// Until there is a packet or a command, or a packet is due. Returns whether there are commands.
    fn wait(&self) -> io::Result<bool> {
        let due = self.travelling.peek().map(|packet| packet.due);
        let time = due.map(|due| {
            let left = Duration::from_nanos(due.saturating_sub(self.now()));
            let sleeps = left > self.direction.spin;
            TimeSpec::from_duration(if sleeps { left } else { Duration::ZERO })
        });
        let direction = &self.direction;
        let fds = [direction.from.as_fd(), direction.wake.as_fd()];
        let mut fds = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        match ppoll(&mut fds, time, None) {
            Ok(_) => Ok(fds[1].any().unwrap_or(false)),
            Err(Errno::EINTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Follows all commands. Returns `false` if it is to stop.
    fn obey(&mut self) -> bool {
        // Commands are sent before the thread is woken: none is left behind.
        let _ = self.direction.wake.read();
        while let Ok(command) = self.direction.commands.try_recv() {
            match command {
                Command::Set(condition, done) => {
                    self.set(condition);
                    let _ = done.send(());
                }
                Command::Report(to) => drop(to.send(self.report())),
                Command::Stop => return false,
            }
        }
        true
    }

    /// The numbers of packets start anew. What is on its way arrives as it would have.
    fn set(&mut self, condition: Condition) {
        self.shaper = Shaper::new(condition, self.direction.number);
        self.lateness = Lateness::default();
        self.report = Report::default();
    }

    fn report(&self) -> Report {
        let mut report = self.report.clone();
        report.direction.clone_from(&self.direction.name);
        report.lateness_us = self.lateness.percentiles();
        report
    }

    fn now(&self) -> Nanos {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn take_in(&mut self) -> io::Result<()> {
        for _ in 0..TURN {
            let Some(length) = self.direction.from.take(&mut self.buffer)? else {
                break;
            };
            if self.admit(length).is_err() {
                self.report.dropped.malformed += 1;
            }
        }
        Ok(())
    }

    /// Takes in what the buffer begins with: whole if it can.
    fn admit(&mut self, length: usize) -> io::Result<()> {
        let now = self.now();
        let packet = &mut self.buffer[..length];
        let Some(shape) = self.direction.from.shape(packet)? else {
            let packet = packet.to_vec();
            self.enter(now, packet, 1, length);
            return Ok(());
        };
        let cuts = self.shaper.condition().cuts() || !self.direction.listeners.is_empty();
        // A full queue takes the first packets of a super-packet.
        if !cuts && (shape.packets == 1 || self.shaper.has_room(now, shape.wire)) {
            let packet = packet.to_vec();
            self.enter(now, packet, shape.packets, shape.wire);
            return Ok(());
        }
        let header = self.direction.from.header();
        for packet in shape.cut(packet)? {
            let wire = packet.len() - header;
            self.enter(now, packet, 1, wire);
        }
        Ok(())
    }

    fn enter(&mut self, now: Nanos, bytes: Vec<u8>, packets: usize, wire: usize) {
        self.report.packets += packets as u64;
        self.report.bytes += wire as u64;
        if self.shaper.is_doubled() {
            self.report.duplicated += packets as u64;
            self.send(now, bytes.clone(), packets, wire);
        }
        self.send(now, bytes, packets, wire);
    }

    fn send(&mut self, now: Nanos, bytes: Vec<u8>, packets: usize, wire: usize) {
        let dropped = &mut self.report.dropped;
        if self.in_flight + bytes.len() as u64 > MEMORY_MAX {
            dropped.memory_full += packets as u64;
            return;
        }
        let due = match self.shaper.fate(now, wire) {
            Fate::Arrives(due) => due,
            Fate::Overtaken(due) => {
                self.report.reordered += packets as u64;
                due
            }
            Fate::Lost => {
                dropped.lost += packets as u64;
                return;
            }
            Fate::QueueFull => {
                dropped.queue_full += packets as u64;
                return;
            }
        };
        self.in_flight += bytes.len() as u64;
        self.report.in_flight_max = self.report.in_flight_max.max(self.in_flight);
        let number = self.next_number;
        self.next_number += 1;
        self.travelling.push(Travelling {
            due,
            number,
            packets,
            bytes,
        });
    }

    /// Delivers what is due.
    fn give_out(&mut self) {
        let condition = self.shaper.condition();
        let joins = condition.cuts() && condition.joins() && self.direction.to.has_offload();
        let mut together = Vec::new();
        while let Some(packet) = self.next_due() {
            self.show(&packet.bytes);
            self.report.delivered += packet.packets as u64;
            if joins && self.direction.listeners.is_empty() {
                together.push(packet.bytes);
                if together.len() == TURN {
                    self.give_joined(&mut together);
                }
            } else if self.direction.to.give(&packet.bytes).is_err() {
                self.report.dropped.refused += packet.packets as u64;
                self.report.delivered -= packet.packets as u64;
            }
        }
        self.give_joined(&mut together);
    }

    fn next_due(&mut self) -> Option<Travelling> {
        let now = self.now();
        if self.travelling.peek()?.due > now {
            return None;
        }
        let packet = self.travelling.pop()?;
        self.lateness.add(now - packet.due);
        self.in_flight -= packet.bytes.len() as u64;
        Some(packet)
    }

    fn give_joined(&mut self, packets: &mut Vec<Vec<u8>>) {
        if packets.is_empty() {
            return;
        }
        let given = self.direction.to.give_joined(&mut self.table, packets);
        if given.is_err() {
            // The library says that some were not taken, not how many.
            self.report.dropped.refused += 1;
            self.report.delivered -= 1;
        }
        packets.clear();
    }

    fn show(&mut self, packet: &[u8]) {
        let ip = &packet[self.direction.to.header().min(packet.len())..];
        for listener in &self.direction.listeners {
            if listener.show(ip).is_err() {
                self.report.not_shown += 1;
            }
        }
    }
}

/// The heap's greatest is what is due first, and of those the one that came first.
impl Ord for Travelling {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

impl PartialOrd for Travelling {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Travelling {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Travelling {}
