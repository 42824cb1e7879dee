//! The first byte through `connect --listen`, over a line that takes its time.

use crate::folder::Folder;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Long, so that what a busy machine takes is little of it.
const RTT: Duration = Duration::from_millis(400);

/// A line between a server and any number of clients, each of which has a port of its own there.
struct Line {
    is_over: Arc<AtomicBool>,
}

impl Line {
    fn new(inside: UdpSocket, server: SocketAddr) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let inside = Arc::new(inside);
        let mut clients: Vec<(SocketAddr, Arc<UdpSocket>)> = Vec::new();
        let (over, to) = (Arc::clone(&is_over), Arc::clone(&inside));
        thread::spawn(move || {
            let mut buffer = [0; 2_048];
            while !over.load(Ordering::Relaxed) {
                let Ok((length, from)) = inside.recv_from(&mut buffer) else {
                    continue;
                };
                let known = clients.iter().find(|(client, _)| *client == from);
                let outside = match known {
                    Some((_, outside)) => Arc::clone(outside),
                    None => {
                        let outside = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
                        carry(Arc::clone(&outside), Arc::clone(&to), from, &over);
                        clients.push((from, Arc::clone(&outside)));
                        outside
                    }
                };
                later(outside, buffer[..length].to_vec(), server);
            }
        });
        Self { is_over }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Sends a datagram after half a round trip.
fn later(from: Arc<UdpSocket>, bytes: Vec<u8>, to: SocketAddr) {
    thread::spawn(move || {
        thread::sleep(RTT / 2);
        let _ = from.send_to(&bytes, to);
    });
}

/// Carries what comes back to a client.
fn carry(from: Arc<UdpSocket>, to: Arc<UdpSocket>, client: SocketAddr, is_over: &Arc<AtomicBool>) {
    let is_over = Arc::clone(is_over);
    from.set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 2_048];
        while !is_over.load(Ordering::Relaxed) {
            if let Ok(length) = from.recv(&mut buffer) {
                later(Arc::clone(&to), buffer[..length].to_vec(), client);
            }
        }
    });
}

/// How long the first byte of an answer takes.
fn first_byte(at: &str, request: &[u8]) -> Duration {
    let mut stream = TcpStream::connect(at).unwrap();
    let begin = Instant::now();
    stream.write_all(request).unwrap();
    let mut back = [0];
    stream.read_exact(&mut back).unwrap();
    begin.elapsed()
}

#[test]
fn a_new_tunnel_answers_within_one_round_trip() {
    let folder = Folder::new();
    let inside = UdpSocket::bind("127.0.0.1:0").unwrap();
    inside
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    let at = inside.local_addr().unwrap();
    let line = format!(
        "serve --key web.key --listen 127.0.0.1:0 --address {at} --record web.record \
         --service web=echo --anonymous"
    );
    let mut server = folder.begin(&line);
    let said = server.line("web.example at ");
    let (_, server_at) = said.rsplit_once(' ').unwrap();
    server.line("for ");
    let _line = Line::new(inside, server_at.parse().unwrap());
    let (_client, port) = folder.listen("web");
    let mut times = Vec::new();
    for length in [1, 300, 500] {
        times.push(first_byte(&port, &vec![7; length]));
        // So that the next one has a tunnel of its own, too.
        thread::sleep(Duration::from_millis(500));
    }
    println!("{times:?} at {RTT:?}");
    // The best of three: one may have been held up by something else on this machine.
    let best = times.iter().min().unwrap();
    assert!(*best <= RTT * 12 / 10, "{times:?}");
    assert!(times.iter().all(|took| *took >= RTT), "{times:?}");
}
