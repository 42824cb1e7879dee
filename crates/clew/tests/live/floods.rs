//! Floods beside honest traffic, which keeps more than half of its rate; each datagram has one reason.

use super::forger::{Forger, udp};
use super::hosts::both;
use super::lan::{Lan, ONE, OTHER, TWO};
use super::traffic::{
    CARRIER, FORGED, Honest, PORT, ethernet, flood, honest, payloads, settled, tap, tapped,
    udp_socket, v4,
};
use clew_evidence::GroupFile;
use clew_keys::{MemberKeyFile, TextFile};
use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

/// Honest datagrams a second.
const RATE: u64 = 200;

/// How long each flood lasts.
const TIME: Duration = Duration::from_millis(1_500);

/// Bytes of honest datagrams.
const LENGTH: usize = 300;

/// Forged datagrams that are sent again and again.
const TEMPLATES: usize = 64;

/// An address of another network, which the third host has, too.
const FAR: &str = "203.0.113.66";

/// Two hosts up in enforce mode, and an attacker with an address of its own.
fn attacked() -> Option<Lan> {
    let mut lan = Lan::new()?;
    lan.ip(OTHER, &format!("addr add {FAR}/32 dev lan"));
    lan.ip(TWO, &format!("route add {FAR}/32 dev wire"));
    both(&mut lan, "inbound = \"enforce\"");
    Some(lan)
}

/// Honest traffic while an attacker sends `times` as many datagrams. Everything that came is counted.
#[track_caller]
fn beside(
    lan: &Lan,
    what: &str,
    from: SocketAddr,
    times: u64,
    next: impl FnMut(u64) -> Vec<u8> + Send,
) -> (Honest, u64) {
    let socket = udp_socket(lan, OTHER, from);
    let to = SocketAddr::from(v4(TWO, CARRIER));
    let (stop, before) = (AtomicBool::new(false), settled(lan));
    let carried = || lan.status(ONE)["outbound"]["datagrams"].as_u64().unwrap();
    let unread = || {
        lan.status(TWO)["inbound"]["dropped"]["socket-full"]
            .as_u64()
            .unwrap_or(0)
    };
    let (carried_before, unread_before) = (carried(), unread());
    let (honest, forged) = thread::scope(|scope| {
        let attacker = scope.spawn(|| flood(&socket, to, times * RATE, &stop, next));
        let honest = honest(lan, TIME, LENGTH);
        stop.store(true, Ordering::Relaxed);
        (honest, attacker.join().unwrap())
    });
    let after = settled(lan);
    let datagrams = |of: &serde_json::Value| of["datagrams"].as_u64().unwrap();
    let came = datagrams(&after) - datagrams(&before);
    let unread = unread() - unread_before;
    eprintln!("{what}: {honest:?}, {forged} forged, {unread} not read, {after}");
    let sent = forged + carried() - carried_before;
    assert_eq!(came + unread, sent, "{what}: each is counted: {after}");
    let least = times * RATE * TIME.as_millis() as u64 / 1_000;
    assert!(forged * 2 >= least, "{what}: {forged} of {least} were sent");
    (honest, forged)
}

fn template(lan: &Lan) -> Vec<Vec<u8>> {
    thread::scope(|scope| {
        let tap = scope.spawn(|| tapped(lan, TEMPLATES));
        honest(lan, Duration::from_millis(400), LENGTH);
        tap.join().unwrap()
    })
}

/// Without a valid hash part: a hundred for each honest one, under the honest peer's address.
#[test]
fn what_a_hash_refuses_leaves_honest_traffic_alone() {
    let Some(lan) = attacked() else { return };
    let heard = template(&lan);
    let pick = |n: u64| heard[n as usize % heard.len()].clone();
    let peer = SocketAddr::from(v4(ONE, CARRIER));
    let noise = |n: u64| {
        let mut bytes = b"\xc1\x6c\x65\x77\x01\x02".to_vec();
        let words = (0..n % 150).map(|at| (n ^ at << 7).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        bytes.extend(words.flat_map(u64::to_le_bytes));
        bytes
    };
    let (honest, _) = beside(&lan, "noise", peer, 100, noise);
    honest.assert_half("noise");
    let (honest, _) = beside(&lan, "replays", peer, 100, pick);
    honest.assert_half("replays");
    let altered = |n: u64| {
        let mut payload = pick(n);
        // The content: the tree leads to another root.
        let at = 64 + n as usize % 200;
        payload[at] ^= 1 + (n % 255) as u8;
        payload
    };
    let (honest, _) = beside(&lan, "altered", peer, 100, altered);
    honest.assert_half("altered");
    let lonely = |n: u64| {
        let mut bytes = b"\xc1\x6c\x65\x77\x01\x03".to_vec();
        bytes.extend(n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        bytes.extend([7; 8]);
        bytes.extend([0, 2]);
        bytes.extend([9; 300]);
        bytes
    };
    let (honest, _) = beside(&lan, "fragments", peer, 100, lonely);
    honest.assert_half("fragments");
}

/// Packets in the name of the group, with a valid hash part and no credential.
fn forged(lan: &Lan) -> Vec<Vec<u8>> {
    let folder = lan.path("other");
    let folder = folder.to_str().unwrap();
    if !lan.path("other").exists() {
        lan.clew(&["group", "create", folder, "--name", "other"]);
        let key = lan.path("forger.key");
        lan.clew(&["enrol", folder, "forger", "-o", key.to_str().unwrap()]);
    }
    let key = key(lan, "forger.key");
    let group = GroupFile::from_bytes(&fs::read(lan.path("group.clew")).unwrap()).unwrap();
    let mut forger = Forger::of_group(key, &group).unwrap();
    forger.datagrams(packets(), now())
}

fn key(lan: &Lan, name: &str) -> MemberKeyFile {
    MemberKeyFile::decode(&fs::read_to_string(lan.path(name)).unwrap()).unwrap()
}

fn now() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
}

/// Inner packets of the first host, as the attacker would write them.
fn packets() -> impl Iterator<Item = Vec<u8>> {
    (0..TEMPLATES as u64).map(|n| {
        let payload = [&FORGED[..], &[0; 290], &n.to_be_bytes()].concat();
        udp(v4(ONE, 9), v4(TWO, PORT), &payload)
    })
}

/// Ten for each honest packet, each of which costs a verification if it gets that far.
#[test]
fn signatures_without_a_credential_leave_honest_traffic_its_half() {
    let Some(lan) = attacked() else { return };
    for (what, from) in [
        (
            "from another network",
            SocketAddr::new(FAR.parse().unwrap(), CARRIER),
        ),
        ("from a neighbour", v4(OTHER, CARRIER).into()),
        ("in the peer's name", v4(ONE, CARRIER).into()),
    ] {
        let forged = forged(&lan);
        let next = |n: u64| forged[n as usize % forged.len()].clone();
        let (honest, _) = beside(&lan, what, from, 10, next);
        honest.assert_half(what);
    }
    let verdicts = &settled(&lan)["verdicts"];
    assert!(verdicts["bad-signature"].as_u64() > Some(10), "{verdicts}");
}

/// Whatever comes by is sent again at once, with another share of its block's signature.
#[test]
fn polluted_shares_leave_honest_traffic_its_half() {
    let Some(lan) = attacked() else { return };
    for (what, from) in [
        ("from a neighbour", SocketAddr::from(v4(OTHER, CARRIER))),
        ("in the peer's name", v4(ONE, CARRIER).into()),
    ] {
        let socket = udp_socket(&lan, OTHER, from);
        let (tap, mac, stop) = (tap(&lan), ethernet(&lan), AtomicBool::new(false));
        let to = SocketAddr::from(v4(TWO, CARRIER));
        let (honest, sent) = thread::scope(|scope| {
            let attacker = scope.spawn(|| {
                let (mut frame, mut sent) = (vec![0; 65_536], 0);
                while !stop.load(Ordering::Relaxed) {
                    let Ok(length) = tap.recv(&mut frame) else {
                        continue;
                    };
                    for mut payload in payloads(&frame[..length], &mac) {
                        for n in 0..10 {
                            // Shares and tags stand last.
                            let at = payload.len() - 2 - 7 * n;
                            payload[at] ^= 0x55;
                            sent += u64::from(socket.send_to(&payload, to).is_ok());
                        }
                    }
                }
                sent
            });
            let honest = honest(&lan, TIME, LENGTH);
            stop.store(true, Ordering::Relaxed);
            (honest, attacker.join().unwrap())
        });
        eprintln!("{what}: {honest:?}, {sent} polluted; {}", settled(&lan));
        assert!(sent >= 10 * honest.sent as u64, "{what}: {sent}");
        honest.assert_half(what);
    }
}

/// A machine of the group whose clock is wrong: its packets are refused, with reasons that say so. And
/// datagrams as long as UDP takes, cut ones, and ones with bytes behind them.
#[test]
fn wrong_clocks_and_malformed_datagrams_are_refused_by_their_names() {
    let Some(lan) = attacked() else { return };
    let mut member = Forger::new(key(&lan, "1.key"));
    let hour = Duration::from_secs(3_600);
    let past = member.datagrams(packets(), now() - hour);
    let future = member.datagrams(packets(), now() + hour);
    let all = [past, future].concat();
    let next = |n: u64| all[n as usize % all.len()].clone();
    let (honest, _) = beside(&lan, "skew", v4(OTHER, CARRIER).into(), 10, next);
    honest.assert_half("skew");
    let verdicts = &settled(&lan)["verdicts"];
    for reason in ["stale", "future"] {
        assert!(
            verdicts[reason].as_u64() > Some(100),
            "{reason}: {verdicts}"
        );
    }
    let heard = template(&lan);
    let next = |n: u64| {
        let mut payload = heard[n as usize % heard.len()].clone();
        match n % 40 {
            0 => payload.resize(65_507 - n as usize % 40_000, n as u8),
            1..20 => payload.truncate(n as usize % payload.len()),
            _ => payload.extend([0; 9]),
        }
        payload
    };
    let (honest, _) = beside(&lan, "malformed", v4(OTHER, CARRIER).into(), 10, next);
    honest.assert_half("malformed");
}
