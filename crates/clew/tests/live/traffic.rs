//! Honest datagrams between two hosts, and an attacker's beside them.

use super::lan::{Lan, ONE, OTHER, TWO, until};
use clew_packet::datagram::COOKIE_DATAGRAM_BYTES;
use nix::sched::{CloneFlags, setns};
use socket2::{Domain, Protocol, Socket, Type};
use std::fs::File;
use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Where honest datagrams go.
pub const PORT: u16 = 7_003;

/// The carrier's.
pub const CARRIER: u16 = 4_909;

/// What the attacker's packets say, if one is delivered.
pub const FORGED: [u8; 6] = *b"forged";

/// Honest datagrams of a burst: a block in coded carriage.
const BURST: u32 = 12;

/// Between two bursts: 200 datagrams a second.
const PAUSE: Duration = Duration::from_millis(60);

/// How long the last ones may be under way.
const REST: Duration = Duration::from_millis(700);

/// Does something in a host.
pub fn inside<T: Send>(lan: &Lan, host: usize, work: impl FnOnce() -> T + Send) -> T {
    let file = File::open(format!("/run/netns/{}", lan.host(host))).unwrap();
    let enter_and_work = || {
        setns(&file, CloneFlags::CLONE_NEWNET).unwrap();
        work()
    };
    thread::scope(|scope| scope.spawn(enter_and_work).join().unwrap())
}

/// A socket of a host, with any source address.
pub fn udp_socket(lan: &Lan, host: usize, from: SocketAddr) -> UdpSocket {
    inside(lan, host, || {
        let socket = Socket::new(Domain::for_address(from), Type::DGRAM, None).unwrap();
        socket.set_ip_transparent_v4(true).unwrap();
        socket.set_reuse_address(true).unwrap();
        socket.bind(&from.into()).unwrap();
        socket.into()
    })
}

pub fn v4(host: usize, port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Lan::v4(host).parse().unwrap(), port)
}

/// What came of honest traffic.
#[derive(Clone, Copy, Debug)]
pub struct Honest {
    pub sent: usize,
    pub heard: usize,
    /// Packets with [`FORGED`] in them that were delivered.
    pub forged: usize,
    /// Packets that were delivered twice.
    pub again: usize,
}

impl Honest {
    #[track_caller]
    pub fn assert_half(&self, beside: &str) {
        assert!(self.heard * 2 >= self.sent, "{beside}: {self:?}");
        assert_eq!((self.forged, self.again), (0, 0), "{beside}: {self:?}");
    }
}

/// Sends from the first host to the second one for a while.
pub fn honest(lan: &Lan, time: Duration, length: usize) -> Honest {
    let from = udp_socket(lan, ONE, v4(ONE, 0).into());
    let to = udp_socket(lan, TWO, v4(TWO, PORT).into());
    to.set_read_timeout(Some(REST)).unwrap();
    let destination = SocketAddr::from(v4(TWO, PORT));
    thread::scope(|scope| {
        let listener = scope.spawn(|| listen(&to));
        let (start, mut number) = (Instant::now(), 0_u32);
        while start.elapsed() < time {
            for _ in 0..BURST {
                let mut payload = vec![0; length];
                payload[..4].copy_from_slice(&number.to_be_bytes());
                from.send_to(&payload, destination).unwrap();
                number += 1;
            }
            thread::sleep((start + PAUSE * (number / BURST)) - Instant::now());
        }
        let (heard, forged, again) = listener.join().unwrap();
        Honest {
            sent: number as usize,
            heard,
            forged,
            again,
        }
    })
}

/// Listens until nothing comes any more.
fn listen(to: &UdpSocket) -> (usize, usize, usize) {
    let mut buffer = [0; 2_048];
    let (mut seen, mut forged, mut again) = (std::collections::HashSet::new(), 0, 0);
    while let Ok(length) = to.recv(&mut buffer) {
        if buffer[..length].starts_with(&FORGED) {
            forged += 1;
        } else if !seen.insert(buffer[..4].to_vec()) {
            again += 1;
        }
    }
    (seen.len(), forged, again)
}

/// Sends at a rate until it is told to stop, with the last cookie that it got. Returns how many the
/// system took.
pub fn flood(
    socket: &UdpSocket,
    to: SocketAddr,
    rate: u64,
    stop: &AtomicBool,
    mut next: impl FnMut(u64) -> Vec<u8>,
) -> u64 {
    let (start, mut tried, mut sent) = (Instant::now(), 0, 0);
    let mut cookie = None;
    socket.set_nonblocking(true).unwrap();
    while !stop.load(Ordering::Relaxed) {
        let mut answer = [0; COOKIE_DATAGRAM_BYTES];
        while let Ok(COOKIE_DATAGRAM_BYTES) = socket.recv(&mut answer) {
            cookie = answer.last_chunk().copied();
        }
        let due = (start.elapsed().as_secs_f64() * rate as f64) as u64;
        while tried < due && !stop.load(Ordering::Relaxed) {
            let payload = with_cookie(next(tried), cookie.as_ref());
            sent += u64::from(socket.send_to(&payload, to).is_ok());
            tried += 1;
        }
        thread::sleep(Duration::from_micros(500));
    }
    sent
}

fn with_cookie(payload: Vec<u8>, cookie: Option<&[u8; 16]>) -> Vec<u8> {
    let Some(cookie) = cookie.filter(|_| payload.len() >= 6) else {
        return payload;
    };
    let (shim, rest) = payload.split_at(6);
    [&shim[..5], &[shim[5] | 0x80], cookie, rest].concat()
}

/// Payloads to the carrier's port of the second host, as the third one sees them on the wire.
pub fn tapped(lan: &Lan, count: usize) -> Vec<Vec<u8>> {
    let (tap, from) = (tap(lan), ethernet(lan));
    let (mut all, mut frame) = (Vec::new(), [0; 65_536]);
    let start = Instant::now();
    while all.len() < count && start.elapsed() < Duration::from_secs(10) {
        if let Ok(length) = tap.recv(&mut frame) {
            all.extend(payloads(&frame[..length], &from));
        }
    }
    all
}

/// The first host's Ethernet address.
pub fn ethernet(lan: &Lan) -> [u8; 6] {
    let path = "/sys/class/net/wire/address";
    let said = lan.within(ONE, "cat").arg(path).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let bytes = said.trim().split(':');
    let bytes: Vec<u8> = bytes.map(|b| u8::from_str_radix(b, 16).unwrap()).collect();
    bytes.try_into().unwrap()
}

/// A socket that hears each frame from the first host.
pub fn tap(lan: &Lan) -> UdpSocket {
    let all = i32::from(3_u16.to_be());
    inside(lan, OTHER, || {
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(all))).unwrap();
        let wait = Some(Duration::from_millis(50));
        socket.set_read_timeout(wait).unwrap();
        socket.into()
    })
}

/// The datagrams of a frame from the first host to the second one's carrier: a super-packet has some.
pub fn payloads(frame: &[u8], from: &[u8; 6]) -> Vec<Vec<u8>> {
    let is_udp = frame.get(6..12) == Some(from)
        && frame.get(12..14) == Some(&[8, 0])
        && frame.get(23) == Some(&17);
    let to = v4(TWO, CARRIER);
    let is_there = frame.get(30..34) == Some(&to.ip().octets())
        && frame.get(36..38) == Some(&CARRIER.to_be_bytes());
    if !is_udp || !is_there {
        return Vec::new();
    }
    let payload = &frame[42..];
    // Without the device's header nobody says how long each of them is.
    let begin = payload.get(..5).unwrap_or(payload);
    let second = payload.windows(5).skip(1).position(|at| at == begin);
    let segment = second.map_or(payload.len(), |at| at + 1);
    payload.chunks(segment.max(1)).map(<[u8]>::to_vec).collect()
}

/// Waits until each datagram that came to the second host has its one reason. Returns the figures of its receiver.
pub fn settled(lan: &Lan) -> serde_json::Value {
    let mut last = serde_json::Value::Null;
    until("rest", || {
        let now = lan.status(TWO)["inbound"].clone();
        let is_still = now["datagrams"] == last["datagrams"];
        let has_all = now["datagrams"].as_u64() == Some(reasons(&now));
        last = now;
        thread::sleep(Duration::from_millis(100));
        is_still && has_all
    });
    last
}

/// How many datagrams have a reason: why each was delivered or not.
fn reasons(inbound: &serde_json::Value) -> u64 {
    let single = [
        "fragments_joined",
        "fragments_again",
        "cookies",
        "foreign_cookies",
    ];
    let single = single.map(|name| inbound[name].as_u64().unwrap());
    sum(&inbound["verdicts"]) + sum(&inbound["refused"]) + single.iter().sum::<u64>()
}

/// The sum of counters.
pub fn sum(counters: &serde_json::Value) -> u64 {
    let all = counters.as_object().unwrap().values();
    all.map(|count| count.as_u64().unwrap()).sum()
}
