//! Byte streams: through standard input and output, and between TCP connections.

use crate::folder::Folder;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that do not repeat soon.
pub fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * n / 7 + n) as u8).collect()
}

/// A TCP server that reads to the end before it answers: what came, backwards.
pub fn backwards() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut all = Vec::new();
                stream.read_to_end(&mut all).unwrap();
                all.reverse();
                stream.write_all(&all).unwrap();
            });
        }
    });
    at
}

#[test]
fn what_goes_in_comes_back() {
    let folder = Folder::new();
    let _server = folder.serve("--service echo=echo --anonymous");
    for length in [0, 1, 400, 401, 1_152, 1_153, 1_000_000] {
        let input = bytes(length);
        let output = folder.connect("--record web.record echo", &input);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{length}: {said}");
        assert!(output.stdout == input, "{length}");
    }
}

#[test]
fn half_a_connection_ends_before_the_other() {
    let folder = Folder::new();
    let at = backwards();
    let _server = folder.serve(&format!("--service web=tcp:{at} --anonymous"));
    let input = bytes(300_000);
    let reversed: Vec<u8> = input.iter().rev().copied().collect();
    let output = folder.connect("--record web.record web", &input);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout == reversed);
    let (mut client, at) = folder.listen("web");
    let ends: Vec<_> = (0..8)
        .map(|_| {
            let (at, input) = (at.clone(), input.clone());
            thread::spawn(move || {
                let mut stream = TcpStream::connect(at).unwrap();
                stream.write_all(&input).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
                let mut all = Vec::new();
                stream.read_to_end(&mut all).unwrap();
                all
            })
        })
        .collect();
    for end in ends {
        assert!(end.join().unwrap() == reversed);
    }
    assert_eq!(client.stop().0, 0);
}

#[test]
fn a_port_has_more_connections_than_a_tunnel() {
    let folder = Folder::new();
    let _server = folder.serve("--service echo=echo --anonymous");
    let (_client, at) = folder.listen("echo");
    for n in 0..150_u8 {
        let mut stream = TcpStream::connect(&at).unwrap();
        stream.write_all(&[n]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        assert_eq!(all, [n]);
    }
}

#[test]
fn hundreds_of_connections_are_open_at_once() {
    let folder = Folder::new();
    let _server = folder.serve("--service echo=echo --anonymous");
    let (_client, at) = folder.listen("echo");
    let mut open = Vec::new();
    for n in 0..300_u32 {
        let mut stream = TcpStream::connect(&at).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        stream.write_all(&n.to_be_bytes()).unwrap();
        open.push(stream);
    }
    for (n, stream) in (0_u32..).zip(&mut open) {
        let mut back = [0; 4];
        stream.read_exact(&mut back).unwrap();
        assert_eq!(back, n.to_be_bytes());
    }
}

#[test]
fn a_port_that_is_full_says_so_and_the_rest_waits() {
    let folder = Folder::new();
    let _server = folder.serve("--service echo=echo --anonymous");
    let (mut client, at) = folder.listen("echo --max-connections 2");
    let mut open: Vec<_> = (0..3).map(|_| TcpStream::connect(&at).unwrap()).collect();
    client.line("2 connections are open (--max-connections): more wait");
    drop(open.remove(0));
    let mut last = open.pop().unwrap();
    last.write_all(b"x").unwrap();
    last.read_exact(&mut [0]).unwrap();
}

#[test]
fn what_breaks_does_not_look_like_an_end() {
    let folder = Folder::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let _server = folder.serve(&format!("--service web=tcp:{at} --anonymous"));
    let (client, port) = folder.listen("web");
    let mut near = TcpStream::connect(port).unwrap();
    near.write_all(b"begin").unwrap();
    let (mut far, _) = listener.accept().unwrap();
    let mut begin = [0; 5];
    far.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"begin");
    // The client is gone without a word of this connection's end.
    drop(client);
    far.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    assert!(far.read(&mut begin).is_err(), "no end is seen");
}

#[test]
fn a_server_that_stops_says_so() {
    let folder = Folder::new();
    let mut server = folder.serve("--service echo=echo --anonymous");
    let (mut client, at) = folder.listen("echo");
    let mut stream = TcpStream::connect(at).unwrap();
    stream.write_all(b"x").unwrap();
    let mut back = [0];
    stream.read_exact(&mut back).unwrap();
    let (status, said) = server.stop();
    assert_eq!(status, 0);
    assert!(said.contains("1 connections were asked for"), "{said}");
    client.line("the connection broke before its end");
    assert!(stream.read(&mut back).is_err());
}

#[test]
fn nobody_there_is_no_answer() {
    let folder = Folder::new();
    folder.serve("--service echo=echo --anonymous").stop();
    let begin = Instant::now();
    let (status, said) = folder.says("--timeout 1s echo");
    assert_eq!(status, 2);
    assert!(said.contains("echo: no answer (no-answer)"), "{said}");
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_target_that_is_not_there_is_refused() {
    let folder = Folder::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    drop(listener);
    let mut server = folder.serve(&format!("--service web=tcp:{at} --anonymous"));
    let (status, said) = folder.says("web");
    assert_eq!(status, 1, "{said}");
    server.line("cannot reach the service's target service=\"web\" address=\"127.0.0.1:");
}

#[test]
fn a_port_whose_connections_are_refused_says_so_once() {
    let folder = Folder::new();
    let _server = folder.serve("--service echo=echo --anonymous");
    let (mut client, at) = folder.listen("other");
    for _ in 0..3 {
        let mut stream = TcpStream::connect(&at).unwrap();
        // Refused: an error, or nothing.
        let _ = stream.read_to_end(&mut Vec::new());
    }
    let (_, said) = client.stop();
    assert_eq!(said.matches("refused the connection").count(), 1, "{said}");
}
