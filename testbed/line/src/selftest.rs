//! The line against itself: what was asked for, and what packets met. Margins are wide, as machines are busy.

use crate::{Condition, Host, Line, Loss, Queue, Report, Threads};
use serde::Serialize;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::ops::RangeInclusive;
use std::thread;
use std::time::{Duration, Instant};

/// Something that was asked of the line.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What it is, with its unit.
    pub what: String,
    /// What was asked for.
    pub asked: f64,
    /// The least and the most that hold.
    pub range: [f64; 2],
    /// What was found.
    pub found: f64,
    /// Whether it holds.
    pub holds: bool,
}

const DATAGRAM: usize = 1200;
const QUIET: Duration = Duration::from_millis(500);
const BULK: usize = 8 << 20;

/// Both hosts of a line, with their sockets.
struct Hosts {
    line: Line,
    server: UdpSocket,
    client: UdpSocket,
    streams: [TcpStream; 2],
}

/// Sends packets over a line of its own, and compares. It needs root, and takes ten seconds.
pub fn selftest(threads: Threads) -> io::Result<Vec<Finding>> {
    let mut hosts = Hosts::start(threads)?;
    let mut findings = Vec::new();
    for (asked, range) in [(0.5, 0.5..=2.0), (20.0, 20.0..=23.0)] {
        let found = hosts.round_trip(asked)?;
        findings.push(finding("round trip, median, ms", asked, range, found));
    }
    hosts.rate(&mut findings)?;
    hosts.choices(&mut findings)?;
    findings.push(hosts.bulk()?);
    Ok(findings)
}

fn finding(what: &str, asked: f64, range: RangeInclusive<f64>, found: f64) -> Finding {
    Finding {
        what: what.into(),
        asked,
        range: [*range.start(), *range.end()],
        found,
        holds: range.contains(&found),
    }
}

impl Hosts {
    fn start(threads: Threads) -> io::Result<Self> {
        let at = |host: Host| SocketAddr::new(host.address(), 4000);
        let on_server = || {
            let end = Host::Server.enter(true)?;
            let sockets = (
                UdpSocket::bind(at(Host::Server))?,
                TcpListener::bind(at(Host::Server))?,
            );
            Ok::<_, io::Error>((end, sockets))
        };
        let on_client = |server| {
            let end = Host::Client.enter(true)?;
            let line = Line::between([server, end], threads)?;
            let client = UdpSocket::bind(at(Host::Client))?;
            Ok::<_, io::Error>((line, client, TcpStream::connect(at(Host::Server))?))
        };
        let panicked = |_| io::Error::other("a thread panicked");
        thread::scope(|scope| {
            let server = scope.spawn(on_server).join().map_err(panicked)?;
            let (end, (server, listener)) = server?;
            let client = scope
                .spawn(move || on_client(end))
                .join()
                .map_err(panicked)?;
            let (line, client, stream) = client?;
            let streams = [listener.accept()?.0, stream];
            client.connect(at(Host::Server))?;
            server.connect(at(Host::Client))?;
            server.set_read_timeout(Some(QUIET))?;
            client.set_read_timeout(Some(QUIET))?;
            Ok(Self {
                line,
                server,
                client,
                streams,
            })
        })
    }

    /// The median of 40 echoes, in milliseconds.
    fn round_trip(&self, milliseconds: f64) -> io::Result<f64> {
        self.line.set(Condition {
            delay: Duration::from_secs_f64(milliseconds / 2e3),
            ..Condition::default()
        })?;
        let mut times = Vec::new();
        let mut buffer = [0; 8];
        for _ in 0..40 {
            let start = Instant::now();
            self.client.send(&[1])?;
            let length = self.server.recv(&mut buffer)?;
            self.server.send(&buffer[..length])?;
            self.client.recv(&mut buffer)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    }

    /// Sends more than the rate, and sees what arrives when.
    fn rate(&self, findings: &mut Vec<Finding>) -> io::Result<()> {
        let rate = 20_000_000;
        let queue = Duration::from_millis(50);
        self.line.set(Condition {
            rate: Some(rate),
            queue: Queue::Time(queue),
            ..Condition::default()
        })?;
        let arrivals = self.send(4000, Duration::from_micros(300))?;
        let times: Vec<_> = arrivals.iter().map(|(_, time)| *time).collect();
        let bits = (times.len().max(1) - 1) as f64 * (DATAGRAM + 28) as f64 * 8.0;
        let lasts = times
            .last()
            .zip(times.first())
            .map(|(last, first)| *last - *first);
        let found = bits / lasts.unwrap_or(QUIET).as_secs_f64() / 1e6;
        findings.push(finding("rate, Mbit/s", 20.0, 18.0..=22.0, found));
        let report = self.to_server()?;
        // Each packet has 10 bytes before it, and leaves a little late.
        let most = rate as f64 * queue.as_secs_f64() / 8.0;
        let found = report.in_flight_max as f64;
        findings.push(finding(
            "queue, bytes",
            most,
            most * 0.9..=most * 1.3,
            found,
        ));
        let lost = report.dropped.queue_full as f64;
        findings.push(finding(
            "packets that the queue refused",
            1.0,
            1.0..=4000.0,
            lost,
        ));
        Ok(())
    }

    /// Loss, bursts, reordering and duplication, by the numbers that arrive.
    fn choices(&self, findings: &mut Vec<Finding>) -> io::Result<()> {
        let sent = 5000.0;
        for burst in [1.0, 4.0] {
            let loss = Loss { share: 0.1, burst };
            let arrivals = self.under(Condition {
                loss,
                ..Condition::default()
            })?;
            let found = 1.0 - arrivals.len() as f64 / sent;
            let what = format!("lost share, bursts of {burst}");
            findings.push(finding(&what, 0.1, 0.06..=0.14, found));
        }
        let doubled = self.under(Condition {
            duplicate: 0.1,
            ..Condition::default()
        })?;
        let found = doubled.len() as f64 / sent - 1.0;
        findings.push(finding("doubled share", 0.1, 0.06..=0.14, found));
        let reordered = self.under(Condition {
            reorder: 0.1,
            ..Condition::default()
        })?;
        let overtaken = reordered.windows(2).filter(|two| two[0] > two[1]).count();
        let found = overtaken as f64 / sent;
        // Neighbours that are both late keep their order.
        findings.push(finding("overtaken share", 0.1, 0.04..=0.14, found));
        Ok(())
    }

    fn under(&self, condition: Condition) -> io::Result<Vec<u32>> {
        self.line.set(condition)?;
        let arrivals = self.send(5000, Duration::from_micros(100))?;
        Ok(arrivals.into_iter().map(|(number, _)| number).collect())
    }

    /// Sends numbered datagrams with pauses. The result is the numbers and times of those that arrived.
    fn send(&self, count: u32, pause: Duration) -> io::Result<Vec<(u32, Instant)>> {
        let receive = || {
            let mut arrivals = Vec::new();
            let mut buffer = [0; DATAGRAM];
            while self.server.recv(&mut buffer).is_ok() {
                let number = [buffer[0], buffer[1], buffer[2], buffer[3]];
                arrivals.push((u32::from_be_bytes(number), Instant::now()));
            }
            arrivals
        };
        thread::scope(|scope| {
            let receiver = scope.spawn(receive);
            let start = Instant::now();
            for number in 0..count {
                let mut datagram = [0; DATAGRAM];
                datagram[..4].copy_from_slice(&number.to_be_bytes());
                self.client.send(&datagram)?;
                let due = pause * (number + 1);
                thread::sleep(due.saturating_sub(start.elapsed()));
            }
            receiver
                .join()
                .map_err(|_| io::Error::other("a thread panicked"))
        })
    }

    fn to_server(&self) -> io::Result<Report> {
        let reports = self.line.report()?;
        let report = reports.into_iter().nth(1);
        report.ok_or_else(|| io::Error::other("no report"))
    }

    /// A stream in super-packets, cut, losing some, and joined: every byte arrives in its place.
    fn bulk(&mut self) -> io::Result<Finding> {
        self.line.set(Condition {
            delay: Duration::from_millis(1),
            loss: Loss::bernoulli(0.001),
            ..Condition::default()
        })?;
        let [server, client] = &mut self.streams;
        let byte = |at: usize| (at % 251) as u8;
        let sent: Vec<u8> = (0..BULK).map(byte).collect();
        let received = thread::scope(|scope| {
            scope.spawn(|| client.write_all(&sent));
            let mut received = vec![0; BULK];
            server.read_exact(&mut received).map(|()| received)
        })?;
        let right = (0..)
            .zip(&received)
            .filter(|(at, found)| byte(*at) == **found);
        let bulk = BULK as f64;
        let found = right.count() as f64;
        Ok(finding(
            "bytes of a stream, cut and joined",
            bulk,
            bulk..=bulk,
            found,
        ))
    }
}
