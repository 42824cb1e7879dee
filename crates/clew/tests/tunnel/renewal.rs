//! Records by hand, which are of use as long as their certificates.

use crate::folder::Folder;
use clew::metrics::TunnelMetrics;
use clew::tunnel::services::{Bounds, Services, parse_service};
use clew::tunnel::users::Users;
use clew::tunnel::{keys, records};
use clew_tunnel::engine::server::Config;
use clew_tunnel::record::{Cert, Ecert, ServerSecret};
use clew_tunnel_udp::{Options, Server};
use std::fs;
use std::net::SocketAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

pub fn secret(folder: &Folder, key: &str) -> ServerSecret {
    let text = fs::read_to_string(folder.path(key)).unwrap();
    keys::decode_server(&text).unwrap()
}

/// The same server as its record told of it an hour ago.
pub fn age(folder: &Folder, key: &str, record: &str, old: &str) {
    let secret = secret(folder, key);
    let mut record = records::read_file(&folder.path(record)).unwrap();
    let mut body = record.ecert.body;
    body.start -= 3_600_000;
    body.end -= 3_600_000;
    record.ecert = Ecert::sign(body, &secret.signing).unwrap();
    records::write(&folder.path(old), &record).unwrap();
}

/// Where the server of `web.record` is.
pub fn address(folder: &Folder) -> SocketAddr {
    let record = records::read_file(&folder.path("web.record")).unwrap();
    record.ecert.body.addresses[0]
}

#[test]
fn a_record_by_hand_outlives_the_key_of_the_moment() {
    let folder = Folder::new();
    let mut server = folder.serve("--service echo=echo --anonymous");
    age(&folder, "web.key", "web.record", "hand.record");
    let at = address(&folder);
    server.stop();
    // A start makes another S': nothing of the old record is good but the long-term key and the address.
    let line = format!("serve --key web.key --listen {at} --service echo=echo --anonymous");
    let mut server = folder.start(&line, "for ");
    let pin = keys::PublicKey(secret(&folder, "web.key").signing.public());
    for more in ["", "--host web.example", &format!("--pin {pin}")] {
        let output = folder.connect(&format!("--record hand.record {more} echo"), b"hello");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{more}: {said}");
        assert_eq!(output.stdout, b"hello", "{more}");
    }
    let output = folder.connect("--record hand.record --host other.example echo", b"");
    assert_eq!(output.status.code(), Some(1));
    server.stop();
    let (status, said) = folder.status("connect --record hand.record --timeout 1s echo");
    assert_eq!(status, 2, "{said}");
    assert!(said.contains("hand.record has expired, and its"), "{said}");
}

#[test]
fn a_certificate_that_ended_says_what_to_do() {
    let folder = Folder::new();
    let _server = folder.serve("--service echo=echo --anonymous");
    age(&folder, "web.key", "web.record", "hand.record");
    let mut record = records::read_file(&folder.path("hand.record")).unwrap();
    let mut body = record.cert.body;
    (body.start, body.end) = (1_000, 2_000);
    record.cert = Cert::sign(body, &secret(&folder, "web.key").signing).unwrap();
    records::write(&folder.path("hand.record"), &record).unwrap();
    let (status, said) = folder.status("connect --record hand.record echo");
    assert_eq!(status, 2, "{said}");
    assert!(said.contains("expired at 1970-01-01"), "{said}");
}

/// Rotations of 16 s: a record of 2 s. Half a minute would be needed for the key to be gone, so that this one
/// is replaced only.
#[test]
fn a_record_by_hand_is_renewed_while_its_server_runs() {
    let folder = Folder::new();
    let mut config = Config::new(Vec::new());
    config.rotation = Duration::from_secs(16);
    let secret = secret(&folder, "web.key");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (begin, mut newest) = runtime.block_on(async {
        let options = Options {
            at: vec!["127.0.0.1:0".parse().unwrap()],
            ..Options::default()
        };
        let mut server = Server::bind(&secret, config, options).unwrap();
        let first = server.record().await.unwrap();
        records::write(&folder.path("hand.record"), &first).unwrap();
        let counted = TunnelMetrics::new(server.metrics());
        let echo = [parse_service("echo=echo").unwrap()];
        let users = Users::new(None, true).unwrap();
        let mut services = Services::new(&echo, users, Bounds::default(), &counted);
        let newest = server.records();
        tokio::spawn(async move { services.serve(&mut server).await });
        (Instant::now(), newest)
    });
    let first = newest.borrow_and_update().clone().unwrap();
    // Several times in the life of one client, whose port stays.
    let at_first = folder.connect("--record hand.record echo", b"young");
    assert_eq!(at_first.stdout, b"young");
    sleep(Duration::from_secs(17).saturating_sub(begin.elapsed()));
    let second = newest.borrow_and_update().clone().unwrap();
    assert_ne!(first.ecert.body.ephemeral, second.ecert.body.ephemeral);
    for _ in 0..2 {
        let output = folder.connect("--record hand.record echo", b"old");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert_eq!(output.stdout, b"old");
    }
}
