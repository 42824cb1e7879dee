//! Counters of a running server.

use crate::folder::Folder;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::thread::sleep;
use std::time::Duration;

#[test]
fn status_tells_what_a_server_counts() {
    let folder = Folder::new();
    let line = "serve --key web.key --listen 127.0.0.1:0 --record web.record --service echo=echo \
                --anonymous --metrics 127.0.0.1:0";
    let mut server = folder.start(line, "web.example at");
    let at = server.line("metrics: ");
    let at = at
        .trim_start_matches("metrics: http://")
        .trim_end_matches("/metrics");
    server.line("for anybody");
    let mut ready = TcpStream::connect(at).unwrap();
    ready.write_all(b"GET /readyz HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    ready.read_to_string(&mut answer).unwrap();
    assert!(answer.contains(" 200 "), "{answer}");
    for _ in 0..3 {
        assert_eq!(folder.says("echo").0, 0);
    }
    assert_eq!(folder.says("other").0, 1);
    let record = clew::tunnel::records::read_file(&folder.path("web.record")).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = record.ecert.body.addresses[0];
    // A client's: bit 0 of the nonce is set.
    let mut packet = [0; 60];
    packet[15] = 1;
    socket.send_to(&packet, to).unwrap();
    // Counters are brought up to date some times a second.
    sleep(Duration::from_millis(500));
    let status: Value = serde_json::from_str(&folder.yes(&format!("status {at} --json"))).unwrap();
    assert_eq!(status["tunnels"], 0, "{status}");
    assert_eq!(status["connections"], 4);
    let echo = &status["services"]["echo"];
    assert_eq!((&echo["taken"], &echo["open"]), (&3.into(), &0.into()));
    assert_eq!(echo["received_bytes"], 15);
    assert_eq!(status["refused"]["unknown-tid"], 1);
    assert_eq!(status["connections_free"], 4_096);
    assert_eq!(
        (&status["unproven"], &status["packets_resent"]),
        (&0.into(), &0.into())
    );
    assert!(status["unproven_free"].as_u64() >= Some(256), "{status}");
    assert!(status["packets_sent"].as_u64() >= Some(4), "{status}");
    assert!(
        status["round_trip_microseconds"].as_u64() < Some(1_000_000),
        "{status}"
    );
    assert_eq!(status["refused"]["unknown-service"], 1);
    let said = folder.yes(&format!("status {at}"));
    assert!(said.contains("echo: 0 open, 3 taken"), "{said}");
    assert!(said.contains("1  unknown-tid"), "{said}");
}
