//! A third party with a capture of the wire: it verifies each packet, and a quorum opens one.

use super::hosts::{both, udp};
use super::lan::{Lan, ONE, TWO, text, until};
use super::trailer::{capture, end, verify};

#[test]
fn a_capture_is_verified_and_a_quorum_names_the_machine() {
    for carrier in ["udp-tunnel", "udp-transport"] {
        let Some(mut lan) = Lan::new() else { return };
        both(
            &mut lan,
            &format!("inbound = \"enforce\"\ncarrier = \"{carrier}\""),
        );
        let file = lan.path("wire.pcap");
        let file = file.to_str().unwrap();
        let tcpdump = capture(&lan, file);
        assert!(lan.pings(ONE, &Lan::v4(TWO)) && lan.pings(ONE, &Lan::v6(TWO)));
        // Longer ones would be fragments, which the capture has as one super-packet.
        udp(&lan, &Lan::v4(TWO), "[0, 1, 300, 700, 1000]");
        rests(file);
        end(tcpdump);
        let verified = verify(&lan, file);
        let lines = text(&verified.stdout);
        assert_eq!(verified.status.code(), Some(0), "{carrier}: {lines}");
        let lines: Vec<serde_json::Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let valid = |line: &&serde_json::Value| line["verdict"] == "valid";
        let count = lines.iter().filter(valid).count();
        assert!(count >= 12, "{carrier}: {lines:?}");
        // Which comes first depends on what a host says by itself, such as a daemon's cookie.
        let mut sent = lines.iter().filter(valid);
        let asked = sent.find(|line| line["src"] == Lan::v4(ONE)).unwrap();
        opens(&lan, file, carrier, &asked["packet"].to_string());
    }
}

/// Waits until a file has not grown for half a second.
fn rests(file: &str) {
    let length = || std::fs::metadata(file).unwrap().len();
    let (mut last, mut times) = (0, 0);
    until("the capture", || {
        times = if length() == last { times + 1 } else { 0 };
        last = length();
        times == 25
    });
}

/// Two of three trustees open a packet of a capture, which the first host sent.
fn opens(lan: &Lan, file: &str, carrier: &str, asked: &str) {
    let path = |name: &str| lan.path(name).to_str().unwrap().to_owned();
    let group = path("acme/public/group.clew");
    let mut open = vec!["open".to_owned(), "--group".into(), group.clone()];
    for trustee in ["1", "3"] {
        let (key, share) = (
            path(&format!("acme/trustees/{trustee}.key")),
            path(&format!("{trustee}.share")),
        );
        let packet = ["--packet", asked, "-o", &share];
        let share_of = ["share", "--trustee", &key, "--group", &group, file];
        lan.clew(&[&share_of[..], &packet[..]].concat());
        open.extend(["--share".into(), share]);
    }
    let opening = path("opening");
    open.extend(["--register".into(), path("acme"), file.into()]);
    open.extend(["--packet", asked, "-o", &opening].map(str::to_owned));
    let open: Vec<&str> = open.iter().map(String::as_str).collect();
    let output = lan.in_host(ONE, &open);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(said.contains("host-0"), "{carrier}: {said}");
}
