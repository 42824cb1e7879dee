//! Authenticated multicast over network namespaces: a sender, a bad line with an attacker on it, a
//! receiver. Needs root; elsewhere it says that it was skipped.

use crate::folder::Folder;
use crate::line::Line;
use crate::namespaces::{Hosts, TO_LINE, TO_RECEIVER, TO_SENDER};
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, Socket, Type};
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

const PACKETS: u32 = 6000;
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 7, 7, 7);
const STREAM: &str = "239.7.7.7:5004";
const MEMORY_KB_MAX: u64 = 200_000;

/// Hosts by number.
const SENDER: usize = 0;
const LINE: usize = 1;
const RECEIVER: usize = 2;

fn bound(address: &str) -> UdpSocket {
    let socket = UdpSocket::bind(address).unwrap();
    let wait = Some(Duration::from_millis(200));
    socket.set_read_timeout(wait).unwrap();
    let socket = Socket::from(socket);
    let _ =
        nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::RcvBufForce, &(32 << 20));
    socket.into()
}

/// A socket of the line that hears the sender.
fn ears() -> UdpSocket {
    let socket = bound(STREAM);
    let index = interface(TO_SENDER);
    let joined = Socket::from(socket);
    let interface = InterfaceIndexOrAddress::Index(index);
    joined.join_multicast_v4_n(&GROUP, &interface).unwrap();
    joined.into()
}

/// A socket of the line that speaks to the receiver.
fn mouth() -> UdpSocket {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).unwrap();
    socket.bind_device(Some(TO_RECEIVER.as_bytes())).unwrap();
    socket.into()
}

fn interface(name: &str) -> u32 {
    nix::net::if_::if_nametoindex(name).unwrap()
}

/// Sends the stream, not faster than anybody can follow.
fn send(application: &UdpSocket) {
    for n in 0..PACKETS {
        application.send_to(&content(n), "127.0.0.1:5000").unwrap();
        if n % 32 == 31 {
            thread::sleep(Duration::from_millis(6));
        }
    }
}

fn content(n: u32) -> Vec<u8> {
    let mut content = format!("packet {n} ").into_bytes();
    content.resize(200 + n as usize % 1000, n as u8);
    content
}

/// Everything that comes until nothing does any more.
fn receive(socket: &UdpSocket, mut each: impl FnMut(Vec<u8>)) {
    let mut buffer = vec![0; 65_536];
    let mut last = Instant::now();
    while last.elapsed() < Duration::from_secs(3) {
        if let Ok(length) = socket.recv(&mut buffer) {
            each(buffer[..length].to_vec());
            last = Instant::now();
        }
    }
}

fn counters(at: &str) -> String {
    let mut text = String::new();
    let mut stream = std::net::TcpStream::connect(at).unwrap();
    std::io::Write::write_all(&mut stream, b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// One counter; 0 if it never counted.
fn counter(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0, |value| value.trim().parse().unwrap())
}

fn memory_kb(process: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

#[test]
fn a_stream_survives_a_bad_line_and_an_attacker() {
    let Some(hosts) = Hosts::new() else {
        crate::skipped::skipped(crate::skipped::NAMESPACES);
        return;
    };
    for (seed, carriage) in [(11, "full"), (12, "coded"), (13, "sparse")] {
        println!("seed {seed}, carriage {carriage}");
        stream(&hosts, seed, carriage);
    }
}

fn stream(hosts: &Hosts, seed: u64, carriage: &str) {
    let folder = Folder::new(&[]);
    let sink = hosts.within(RECEIVER, || bound("127.0.0.1:6000"));
    let application = hosts.within(SENDER, || bound("127.0.0.1:0"));
    let (ears, mouth) = hosts.within(LINE, || (ears(), mouth()));
    let sign = "relay --key camera.key --listen 127.0.0.1:5000 --to 239.7.7.7:5004 --send-by wire";
    let verify = "relay --flow camera.flow --listen 239.7.7.7:5004 --listen-on wire \
                  --to 127.0.0.1:6000 --policy strict --metrics 127.0.0.1:9000";
    assert!(sign.contains(TO_LINE) && verify.contains(TO_LINE));
    let sign: Vec<&str> = sign
        .split_whitespace()
        .chain(["--carriage", carriage])
        .collect();
    let verify: Vec<&str> = verify.split_whitespace().collect();
    let mut relays = [
        folder.start(Some(hosts.sender()), &sign),
        folder.start(Some(hosts.receiver()), &verify),
    ];
    for (relay, word) in relays.iter_mut().zip(["signing", "verifying"]) {
        wait_for(relay, word);
    }
    let (line, got) = thread::scope(|scope| {
        let line = scope.spawn(|| {
            let mut line = Line::new(seed);
            let to = SocketAddr::from((GROUP, 5004));
            let send = |packets: Vec<Vec<u8>>| {
                for packet in packets {
                    mouth.send_to(&packet, to).unwrap();
                }
            };
            receive(&ears, |packet| send(line.take(packet)));
            send(line.end());
            line
        });
        let got = scope.spawn(|| {
            let mut got = Vec::new();
            // The line waits as long before it ends, and gives more then.
            receive(&sink, |content| got.push(content));
            receive(&sink, |content| got.push(content));
            got
        });
        send(&application);
        (line.join().unwrap(), got.join().unwrap())
    });
    let text = hosts.within(RECEIVER, || counters("127.0.0.1:9000"));
    let memory = memory_kb(&relays[1]);
    for relay in &mut relays {
        relay.kill().unwrap();
        relay.wait().unwrap();
    }
    judge(&line, got, &text, carriage);
    assert!(memory < MEMORY_KB_MAX, "{memory} kB");
}

fn wait_for(relay: &mut Child, word: &str) {
    let mut said = String::new();
    let mut from = relay.stderr.take().unwrap();
    let mut byte = [0];
    while !said.contains(word) {
        assert_eq!(from.read(&mut byte).unwrap(), 1, "{said}");
        said.push(char::from(byte[0]));
    }
    // Whoever writes there is not to be stopped by a pipe that is gone.
    relay.stderr = Some(from);
}

fn judge(line: &Line, got: Vec<Vec<u8>>, text: &str, carriage: &str) {
    let honest: BTreeSet<&[u8]> = line.contents.iter().map(|content| &content[..]).collect();
    let received: BTreeSet<&[u8]> = got.iter().map(|content| &content[..]).collect();
    let all: BTreeSet<Vec<u8>> = (0..PACKETS).map(content).collect();
    assert!(
        honest.len() as u32 > PACKETS * 8 / 10,
        "the line carries something"
    );
    assert!(line.bogus > u64::from(PACKETS) / 3 && line.again > 100);
    assert_eq!(
        counter(text, "clew_flow_received_total"),
        line.honest + line.bogus + line.again
    );

    assert!(
        received.iter().all(|content| all.contains(*content)),
        "a forged one passed"
    );
    assert_eq!(received.len(), got.len(), "one passed twice");
    let of = |verdict: &str, reason: &str| {
        counter(
            text,
            &format!("clew_flow_packets_total{{verdict=\"{verdict}\",reason=\"{reason}\"}}"),
        )
    };
    // Every honest packet that came is verified, or named.
    let missing = honest.difference(&received).count() as u64;
    let named =
        of("undecided", "no-signature") + of("undecided", "busy") + of("undecided", "pending");
    assert!(
        missing <= named,
        "{carriage}: {missing} are missing, {named} named\n{text}"
    );
    let most = match carriage {
        // Each packet carries all of it.
        "full" => 0,
        // Blocks of which too little came.
        _ => honest.len() / 50,
    };
    assert!(
        missing as usize <= most,
        "{carriage}: {missing} are missing\n{text}"
    );
    assert!(of("invalid", "bad-digest") > 0, "{text}");
    effort(line, text, carriage);
}

/// What the attacker made the receiver do.
fn effort(line: &Line, text: &str, carriage: &str) {
    let verifications = counter(text, "clew_flow_verifications_total");
    // Each block once; it has at least one packet.
    let blocks = u64::from(PACKETS) / 8;
    let bound = match carriage {
        // k = 16 of the attacker's packets for each; small blocks go full.
        "coded" => blocks + line.bogus / 4,
        // One each, within the receiver's budget.
        _ => blocks + line.bogus,
    };
    println!(
        "{carriage}: {verifications} verifications, {} bogus packets",
        line.bogus
    );
    assert!(
        verifications <= bound,
        "{verifications} verifications\n{text}"
    );
}
