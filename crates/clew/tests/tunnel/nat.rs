//! A NAT between client and server, which forgets whom it translates.

use crate::folder::Folder;
use crate::renewal::address;
use crate::streams::{backwards, bytes};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const WHOLE: usize = 4 << 20;

/// A NAT for one client and one server, on this machine: what comes to its address goes on from another port,
/// and back. It needs no root, and no kernel that has one.
struct Nat {
    outside: Arc<Mutex<UdpSocket>>,
    is_over: Arc<AtomicBool>,
    passed: Arc<AtomicUsize>,
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let wait = Some(Duration::from_millis(50));
    socket.set_read_timeout(wait).unwrap();
    socket
}

impl Nat {
    /// `inside` is where clients find it.
    fn new(inside: UdpSocket, server: SocketAddr) -> Self {
        inside
            .set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        let nat = Self {
            outside: Arc::new(Mutex::new(socket())),
            is_over: Arc::default(),
            passed: Arc::default(),
        };
        let client = Arc::new(Mutex::new(None));
        let (is_over, passed) = (Arc::clone(&nat.is_over), Arc::clone(&nat.passed));
        let (outside, known, to) = (
            Arc::clone(&nat.outside),
            Arc::clone(&client),
            inside.try_clone().unwrap(),
        );
        thread::spawn(move || {
            let mut buffer = [0; 2_048];
            while !is_over.load(Ordering::Relaxed) {
                let Ok((length, from)) = inside.recv_from(&mut buffer) else {
                    continue;
                };
                *known.lock().unwrap() = Some(from);
                let outside = outside.lock().unwrap().try_clone().unwrap();
                let _ = outside.send_to(&buffer[..length], server);
                passed.fetch_add(length, Ordering::Relaxed);
            }
        });
        let (is_over, outside) = (Arc::clone(&nat.is_over), Arc::clone(&nat.outside));
        thread::spawn(move || {
            let mut buffer = [0; 2_048];
            while !is_over.load(Ordering::Relaxed) {
                let from = outside.lock().unwrap().try_clone().unwrap();
                match from.recv(&mut buffer) {
                    Ok(length) => {
                        let client = *client.lock().unwrap();
                        let _ = to.send_to(&buffer[..length], client.unwrap());
                    }
                    Err(error) => assert!(
                        matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
                        "{error}"
                    ),
                }
            }
        });
        nat
    }

    /// It has lost its table: the client has another port from now on, and what comes to the old one is lost.
    fn forget(&self) {
        *self.outside.lock().unwrap() = socket();
    }
}

impl Drop for Nat {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_nat_that_forgets_breaks_no_stream() {
    let folder = Folder::new();
    let inside = socket();
    let at = inside.local_addr().unwrap();
    // Its record says where clients reach it: the address of the NAT. Where it is itself, it says.
    // It answers when it has all: a client that waits has nothing to send that would tell where it is now.
    let target = backwards();
    let line = format!(
        "serve --key web.key --listen 127.0.0.1:0 --address {at} --record web.record \
         --service web=tcp:{target} --anonymous"
    );
    let mut server = folder.begin(&line);
    let said = server.line("web.example at ");
    let (_, server_at) = said.rsplit_once(' ').unwrap();
    server.line("for ");
    assert_eq!(address(&folder), at);
    let nat = Nat::new(inside, server_at.parse().unwrap());
    let (_client, port) = folder.listen("web");
    let mut stream = TcpStream::connect(port).unwrap();
    let patience = Some(Duration::from_secs(60));
    stream.set_read_timeout(patience).unwrap();
    stream.set_write_timeout(patience).unwrap();
    let all = bytes(WHOLE);
    let pieces = all.chunks(64 << 10);
    for (number, piece) in pieces.enumerate() {
        if matches!(number, 16 | 32 | 48) {
            nat.forget();
        }
        stream.write_all(piece).unwrap();
        thread::sleep(Duration::from_millis(5));
    }
    stream.shutdown(Shutdown::Write).unwrap();
    let mut back = Vec::new();
    stream.read_to_end(&mut back).unwrap();
    back.reverse();
    assert!(back == all, "{} of {WHOLE}", back.len());
    assert!(
        nat.passed.load(Ordering::Relaxed) > WHOLE,
        "through the NAT"
    );
}
