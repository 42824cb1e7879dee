//! Two relays between two applications that know nothing of them, over the loopback interface.

use crate::folder::Folder;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

/// A socket of an application, and the port that is free for a relay.
fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    socket
}

/// Addresses that nobody has, all different.
fn free_ports<const N: usize>() -> [SocketAddr; N] {
    [(); N]
        .map(|()| socket())
        .map(|socket| socket.local_addr().unwrap())
}

/// Counters of a relay, once it is there.
fn metrics(at: SocketAddr) -> String {
    for attempt in 0..200 {
        if let Ok(mut stream) = TcpStream::connect(at) {
            stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            return text;
        }
        assert!(attempt < 199, "no relay at {at}");
        std::thread::sleep(Duration::from_millis(50));
    }
    String::new()
}

#[test]
fn what_one_application_sends_another_gets() {
    for more in [
        "",
        "--carriage coded",
        "--carriage sparse",
        "--rtp",
        "--carriage manifest",
    ] {
        // The padding of RTP has no room for more.
        let algorithm = if more == "--rtp" {
            "ed25519"
        } else {
            "effs-3072"
        };
        let folder = Folder::new(&["--block", "32", "--alg", algorithm]);
        let (sink, [listen, between, beside, signer, verifier]) = (socket(), free_ports());
        let to = sink.local_addr().unwrap();
        let mut sign = format!(
            "relay --key camera.key --listen {listen} --to {between} --duration 20s --metrics {signer} {more}"
        );
        let mut verify = format!(
            "relay --flow camera.flow --listen {between} --to {to} --duration 20s --metrics {verifier} --policy strict"
        );
        if more.ends_with("manifest") {
            sign += &format!(" --manifest-to {beside}");
            verify += &format!(" --manifest-listen {beside}");
        }
        let [sign, verify] =
            [&sign, &verify].map(|line| line.split_whitespace().collect::<Vec<_>>());
        let mut relays = [folder.start(None, &sign), folder.start(None, &verify)];
        for at in [signer, verifier] {
            assert!(metrics(at).contains("clew_flow_received_total 0"));
        }
        let application = socket();
        // As RTP begins, so that padding has a place.
        let packet = |n: u32| [&[0x80, 96][..], &[0; 10], &n.to_be_bytes(), &[7; 300]].concat();
        let mut buffer = [0; 2048];
        // No more at a time than a socket keeps.
        for some in (0..500).collect::<Vec<u32>>().chunks(50) {
            for n in some {
                application.send_to(&packet(*n), listen).unwrap();
            }
            for n in some {
                let length = sink.recv(&mut buffer).unwrap();
                assert!(buffer[..length] == packet(*n), "{more:?}: packet {n}");
            }
        }
        // Straight past the signer.
        application.send_to(&packet(0), between).unwrap();
        // By a manifest it might still be listed: for as long as packets are held.
        let withheld = (0..100).map(|_| metrics(verifier)).find(|text| {
            std::thread::sleep(Duration::from_millis(20));
            text.contains("clew_flow_withheld_total 1")
        });
        let text = withheld.expect("it does not pass");
        let valid = "clew_flow_packets_total{verdict=\"valid\",reason=\"ok\"} 500";
        assert!(text.contains(valid), "{more:?}: {text}");
        assert!(text.contains("clew_flow_lost_packets_total 0"), "{text}");
        for relay in &mut relays {
            relay.kill().unwrap();
            relay.wait().unwrap();
        }
    }
}

#[test]
fn a_period_that_is_too_short_is_refused() {
    let folder = Folder::new(&[]);
    let [listen, to] = free_ports().map(|at| at.to_string());
    let relay = [
        "relay",
        "--key",
        "camera.key",
        "--listen",
        &listen,
        "--to",
        &to,
    ];
    let output = folder.run(&[&relay[..], &["--period", "1us", "--duration", "1s"]].concat());
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("is too short"), "{said}");
    assert_eq!(
        folder.status(&["relay", "--listen", &listen, "--to", &to]),
        2
    );
}

#[test]
fn a_relay_that_would_receive_what_it_sends_is_refused() {
    let folder = Folder::new(&[]);
    let [at] = free_ports();
    let (here, all) = (at.to_string(), format!("0.0.0.0:{}", at.port()));
    for listen in [&here, &all] {
        let relay = ["relay", "--flow", "camera.flow", "--listen", listen];
        let output = folder.run(&[&relay[..], &["--to", &here, "--duration", "1s"]].concat());
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("would receive what"), "{said}");
    }
}

#[test]
fn a_relay_that_nobody_hears_ends_as_it_should() {
    let folder = Folder::new(&[]);
    let [listen, to] = free_ports();
    for role in ["--key camera.key", "--flow camera.flow"] {
        let line = format!("relay {role} --listen {listen} --to {to} --duration 1s");
        let arguments: Vec<_> = line.split_whitespace().collect();
        let mut started = folder.start(None, &arguments);
        drop(started.stderr.take());
        assert_eq!(started.wait().unwrap().code(), Some(0), "{role}");
    }
}
