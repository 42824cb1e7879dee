//! A client that is elsewhere in the middle of a transfer. Needs root; elsewhere it says that it was skipped.

use crate::folder::{Folder, Started};
use crate::namespaces::{CLIENT, CLIENT_AT, Hosts, SERVER, SERVER_AT};
use crate::skipped::{NAMESPACES, skipped};
use crate::streams::bytes;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// Bytes of a transfer, and of what goes before each move.
const WHOLE: usize = 6 << 20;
const PIECE: usize = 64 << 10;

/// What happens to the client's network, at which part of the transfer.
type Moves<'a> = [(usize, &'a (dyn Fn() + Sync))];

/// Serves in the server's host.
fn serve(folder: &Folder, hosts: &Hosts, service: &str) -> Started {
    let line = format!(
        "serve --key web.key --listen {SERVER_AT}:4433 --record web.record --service {service} --anonymous"
    );
    folder.start_in(Some(hosts.name(SERVER)), &line, "for ")
}

/// A port of the client's host that leads to the service.
fn connect(folder: &Folder, hosts: &Hosts) -> (Started, TcpStream) {
    let line = "connect --record web.record --listen 127.0.0.1:7000 web";
    let client = folder.start_in(Some(hosts.name(CLIENT)), line, "web at ");
    let stream = hosts.within(CLIENT, || TcpStream::connect("127.0.0.1:7000").unwrap());
    let patience = Some(Duration::from_secs(60));
    stream.set_read_timeout(patience).unwrap();
    stream.set_write_timeout(patience).unwrap();
    (client, stream)
}

/// Sends it all, piece by piece, and tells the moves when they are due.
fn send(stream: &mut TcpStream, all: &[u8], moves: &Moves<'_>) {
    let mut moves = moves.iter().peekable();
    for (number, piece) in all.chunks(PIECE).enumerate() {
        if let Some((_, act)) = moves.next_if(|(at, _)| number * PIECE >= *at) {
            act();
        }
        stream.write_all(piece).unwrap();
        thread::sleep(Duration::from_millis(5));
    }
    stream.shutdown(Shutdown::Write).unwrap();
}

/// What a stream says to its end.
fn receive(mut stream: TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    all
}

/// From one address to another, with nothing between.
fn to_another(hosts: &Hosts, old: &str, new: &str) {
    hosts.ip(CLIENT, &format!("addr del {old}/24 dev wire"));
    thread::sleep(Duration::from_millis(300));
    hosts.ip(CLIENT, &format!("addr add {new}/24 dev wire"));
}

#[test]
fn a_client_that_moves_keeps_its_streams() {
    let Some(hosts) = Hosts::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let _server = serve(&folder, &hosts, "web=echo");
    let (_client, mut stream) = connect(&folder, &hosts);
    let all = bytes(WHOLE);
    let back = {
        let stream = stream.try_clone().unwrap();
        thread::spawn(move || receive(stream))
    };
    let first = || to_another(&hosts, CLIENT_AT, "10.8.1.7");
    // Now it has another interface, in another network, and the first is gone.
    let second = || {
        let server = hosts.name(SERVER);
        let wire = format!("link add air type veth peer name air netns {server}");
        hosts.ip(CLIENT, &wire);
        hosts.ip(SERVER, "addr add 10.8.2.2/24 dev air");
        hosts.ip(SERVER, "link set air up");
        hosts.ip(CLIENT, "link set wire down");
        hosts.ip(CLIENT, "addr add 10.8.2.9/24 dev air");
        hosts.ip(CLIENT, "link set air up");
        hosts.ip(CLIENT, "route add default via 10.8.2.2");
    };
    send(
        &mut stream,
        &all,
        &[(WHOLE / 3, &first), (2 * WHOLE / 3, &second)],
    );
    let back = back.join().unwrap();
    assert_eq!(back.len(), all.len());
    assert!(back == all, "byte for byte");
}

#[test]
fn a_client_that_only_receives_moves_too() {
    let Some(hosts) = Hosts::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let far = hosts.within(SERVER, || TcpListener::bind("127.0.0.1:8000").unwrap());
    let _server = serve(&folder, &hosts, "web=tcp:127.0.0.1:8000");
    let (_client, stream) = connect(&folder, &hosts);
    let all = bytes(WHOLE);
    let back = thread::spawn(move || receive(stream));
    let (mut far, _) = far.accept().unwrap();
    // The client is told of nothing: while its address is none, and long after, it has nothing to send.
    let first = || to_another(&hosts, CLIENT_AT, "10.8.1.7");
    let second = || to_another(&hosts, "10.8.1.7", "10.8.1.8");
    send(
        &mut far,
        &all,
        &[(WHOLE / 3, &first), (2 * WHOLE / 3, &second)],
    );
    let back = back.join().unwrap();
    assert_eq!(back.len(), all.len());
    assert!(back == all, "byte for byte");
}
