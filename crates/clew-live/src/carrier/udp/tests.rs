use super::*;
use crate::packet::PeerIndex;
use std::time::{Duration, Instant};

/// A port of the loopback interface that is free in both families.
fn bound() -> Udp {
    Udp::bind(0).unwrap()
}

fn port(udp: &Udp) -> u16 {
    udp.sockets[0].port
}

fn burst(count: usize, segment: usize, last: usize) -> Burst {
    let mut bytes = vec![0; (count - 1) * segment + last];
    for (number, datagram) in bytes.chunks_mut(segment).enumerate() {
        datagram.fill(number as u8);
    }
    Burst {
        peer: PeerIndex(0),
        ecn: 1,
        bytes,
        segment,
    }
}

/// What arrives until `count` datagrams are there.
fn received(udp: &Udp, count: usize) -> Vec<(Vec<u8>, Outer)> {
    let (mut all, mut room) = (Vec::new(), Datagrams::default());
    let begin = Instant::now();
    while all.len() < count {
        assert!(
            begin.elapsed() < Duration::from_secs(30),
            "{} came",
            all.len()
        );
        let take = |datagram: &[u8], outer: &Outer| all.push((datagram.to_vec(), *outer));
        if !udp.receive(&mut room, take).unwrap() {
            std::thread::yield_now();
        }
    }
    all
}

#[test]
fn datagrams_arrive_one_by_one_with_their_addresses_and_ecn() {
    let (one, other) = (bound(), bound());
    let to = SocketAddr::from(([127, 0, 0, 1], port(&other)));
    // More than one call takes, and a short one at the end.
    let sent = burst(150, 1200, 77);
    assert_eq!(one.send(to, None, &sent), (150, None));
    let all = received(&other, 150);
    for (expected, (datagram, outer)) in sent.bytes.chunks(1200).zip(&all) {
        assert_eq!(expected, datagram);
        assert_eq!(outer.source, SocketAddr::from(([127, 0, 0, 1], port(&one))));
        assert_eq!((outer.destination, outer.ecn), (to, 1));
    }
}

#[test]
fn the_source_address_can_be_chosen() {
    let (one, other) = (bound(), bound());
    let to = SocketAddr::from(([127, 0, 0, 1], port(&other)));
    let from = "127.0.0.7".parse().ok();
    assert_eq!(one.send(to, from, &burst(1, 100, 100)), (1, None));
    assert_eq!(received(&other, 1)[0].1.source.ip(), from.unwrap());
}

#[test]
fn an_empty_burst_and_an_unknown_source_are_no_trouble() {
    let one = bound();
    let to = SocketAddr::from(([127, 0, 0, 1], port(&one)));
    let empty = Burst {
        bytes: Vec::new(),
        ..burst(1, 10, 10)
    };
    assert_eq!(one.send(to, None, &empty), (0, None));
    let (sent, refusal) = one.send(to, "192.0.2.77".parse().ok(), &burst(1, 10, 10));
    assert_eq!(sent, 0);
    assert!(refusal.is_some());
    let (sent, refusal) = one.send(to, None, &burst(1, 65_508, 65_508));
    assert_eq!((sent, refusal), (0, Some(Refusal::TooLong)));
}

/// A closed port answers with ICMP: the sockets go on, and the error has its end point.
#[test]
fn errors_of_the_network_are_told_with_their_end_point() {
    let one = bound();
    let closed = SocketAddr::from(([127, 0, 0, 1], port(&bound())));
    assert_eq!(one.send(closed, None, &burst(1, 10, 10)), (1, None));
    let mut errors = Vec::new();
    let begin = Instant::now();
    while errors.is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(30));
        one.errors(|error| errors.push(error));
    }
    assert_eq!(
        errors,
        [UdpError {
            to: closed,
            mtu: None
        }]
    );
    let to = SocketAddr::from(([127, 0, 0, 1], port(&one)));
    assert_eq!(one.send(to, None, &burst(1, 10, 10)), (1, None));
    assert_eq!(received(&one, 1).len(), 1);
}
