//! Attacks on a server, and what honest clients notice of them.

use crate::folder::Folder;
use clew_tunnel::engine::Outgoing;
use clew_tunnel::engine::client::{Client, Config, Target};
use clew_tunnel::limits::UNPROVEN_MAX;
use clew_tunnel::record::Record;
use clew_tunnel_udp::Clock;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A TCP server that counts its connections, and answers nothing.
#[derive(Default)]
struct Counting {
    open: AtomicUsize,
    most: AtomicUsize,
    all: AtomicUsize,
}

fn counting() -> (String, Arc<Counting>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let counting = Arc::new(Counting::default());
    let counted = Arc::clone(&counting);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, counted) = (stream.unwrap(), Arc::clone(&counted));
            counted.all.fetch_add(1, Ordering::Relaxed);
            let open = counted.open.fetch_add(1, Ordering::Relaxed) + 1;
            counted.most.fetch_max(open, Ordering::Relaxed);
            thread::spawn(move || {
                let _ = stream.read_to_end(&mut Vec::new());
                counted.open.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
    (at, counting)
}

/// First packets of so many clients, each of which asks for a connection.
fn first_packets(record: &Record, many: usize) -> Vec<Vec<u8>> {
    let mut clock = Clock::default();
    let mut client = Client::new(Config::default(), clock.now());
    for _ in 0..many {
        let target = Target::Host(Box::new(record.clone()));
        let tunnel = client.open(clock.now(), target, 0).unwrap();
        client.connect(&clock.now(), tunnel, "web", None).unwrap();
    }
    let mut jobs = client.jobs();
    jobs.run();
    client.complete(clock.now(), jobs);
    let mut packets = Vec::new();
    let mut out = Outgoing::new(64);
    while client.transmit(clock.now(), &mut out) {
        for run in out.runs() {
            packets.extend(run.bytes.chunks(run.segment).map(<[u8]>::to_vec));
        }
        out.clear();
    }
    packets
}

/// Sends first packets from addresses of as many networks, 1,000 a second, until it is over: how many.
fn flood(record: &Record, is_over: &AtomicBool) -> usize {
    let to = record.ecert.body.addresses[0];
    let mut sent = 0_usize;
    while !is_over.load(Ordering::Relaxed) {
        let begin = Instant::now();
        for packet in first_packets(record, 100) {
            let [_, _, b, c] = (sent as u32 + 256).to_be_bytes();
            let from = UdpSocket::bind((std::net::Ipv4Addr::new(127, b, c, 9), 0)).unwrap();
            from.send_to(&packet, to).unwrap();
            sent += 1;
        }
        thread::sleep(Duration::from_millis(100).saturating_sub(begin.elapsed()));
    }
    sent
}

/// How long the first byte of an answer takes.
fn ask(at: &str) -> Duration {
    let begin = Instant::now();
    let mut stream = TcpStream::connect(at).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    stream.write_all(b"x").unwrap();
    let mut back = [0];
    stream.read_exact(&mut back).unwrap();
    begin.elapsed()
}

#[test]
fn a_flood_of_spoofed_first_packets_fills_its_budget_alone() {
    let folder = Folder::new();
    let (at, counted) = counting();
    let _server = folder.serve(&format!(
        "--service web=tcp:{at} --service echo=echo --anonymous"
    ));
    let (_client, port) = folder.listen("echo");
    let record = clew::tunnel::records::read_file(&folder.path("web.record")).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let flooding = thread::spawn(move || flood(&record, &over));
    let begin = Instant::now();
    let mut times = Vec::new();
    while begin.elapsed() < Duration::from_secs(5) {
        times.push(ask(&port));
        // Each one in a tunnel of its own.
        thread::sleep(Duration::from_millis(250));
    }
    is_over.store(true, Ordering::Relaxed);
    let sent = flooding.join().unwrap();
    let (most, all) = (&counted.most, &counted.all);
    let (most, all) = (most.load(Ordering::Relaxed), all.load(Ordering::Relaxed));
    println!("{sent} first packets; the service saw {all}, {most} at once; answers took {times:?}");
    assert!(sent > 2 * UNPROVEN_MAX, "{sent}");
    assert!(most > 0 && most <= UNPROVEN_MAX, "{most}");
    assert!(all <= 2 * UNPROVEN_MAX, "{all}");
    // In virtual time, two round trips: `unproven` of clew-tunnel.
    let worst = times.iter().max().unwrap();
    assert!(*worst < Duration::from_secs(2), "{times:?}");
    // And the service is left alone within seconds.
    let patience = Instant::now();
    while counted.open.load(Ordering::Relaxed) > 0 {
        assert!(patience.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn one_user_who_opens_thousands_leaves_places_to_others() {
    let folder = Folder::new();
    let keys = [folder.user("alice.key"), folder.user("bob.key")];
    fs::write(folder.path("users"), keys.join("\n")).unwrap();
    let (at, counted) = counting();
    let mut server = folder.serve(&format!(
        "--service web=tcp:{at} --service echo=echo --users users --max-connections 64"
    ));
    let (_alice, alice) = folder.listen("--user alice.key web");
    let (_bob, bob) = folder.listen("--user bob.key echo");
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let flooding = thread::spawn(move || {
        let mut all = Vec::new();
        for _ in 0..2_000 {
            let mut stream = TcpStream::connect(&alice).unwrap();
            let _ = stream.write_all(b"x");
            all.push(stream);
            if over.load(Ordering::Relaxed) {
                break;
            }
        }
        all
    });
    server.line("a user reached the limit of connections");
    for _ in 0..10 {
        let took = ask(&bob);
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
    is_over.store(true, Ordering::Relaxed);
    drop(flooding.join().unwrap());
    let most = counted.most.load(Ordering::Relaxed);
    assert!((1..=33).contains(&most), "{most}");
}

#[test]
fn who_is_removed_loses_its_connections_and_who_is_idle_too() {
    let folder = Folder::new();
    let keys = [folder.user("alice.key"), folder.user("bob.key")];
    fs::write(folder.path("users"), keys.join("\n")).unwrap();
    let _server = folder.serve("--service echo=echo --users users --idle 3s");
    let open = |user: &str| {
        let (client, at) = folder.listen(&format!("--user {user}.key echo"));
        let mut stream = TcpStream::connect(at).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        stream.write_all(b"x").unwrap();
        stream.read_exact(&mut [0]).unwrap();
        (client, stream)
    };
    let ((_alice, mut of_alice), (_bob, mut of_bob)) = (open("alice"), open("bob"));
    fs::write(folder.path("users"), &keys[1]).unwrap();
    let begin = Instant::now();
    assert!(of_alice.read_exact(&mut [0]).is_err(), "she is removed");
    assert!(begin.elapsed() < Duration::from_secs(10));
    // Who goes on talking stays, and then does not.
    for _ in 0..8 {
        of_bob.write_all(b"y").unwrap();
        of_bob.read_exact(&mut [0]).unwrap();
        thread::sleep(Duration::from_millis(500));
    }
    let begin = Instant::now();
    assert!(of_bob.read_exact(&mut [0]).is_err(), "he says nothing");
    assert!(begin.elapsed() > Duration::from_secs(2));
    let _ = of_bob.shutdown(Shutdown::Both);
}
