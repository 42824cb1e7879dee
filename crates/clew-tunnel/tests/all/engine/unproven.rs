//! What an address gets that has shown nothing yet (`spec/tunnel.md` section 6.5), and what a flood from such
//! addresses leaves to others.

use std::collections::HashMap;
use std::net::SocketAddr;

use clew_tunnel::Reason;
use clew_tunnel::engine::event::{Event, TunnelId};
use clew_tunnel::engine::server::Config;
use clew_tunnel::keys;
use clew_tunnel::limits::{UNPROVEN_BYTES, UNPROVEN_LIFE, UNPROVEN_MAX};
use clew_tunnel::wire::packet::{Packet, Tid};
use clew_tunnel::wire::rpc::Rpc;
use clew_tunnel::x25519::Secret;

use crate::engine::alone::{Alone, Said};
use crate::engine::network::{Pair, Weather, server_address};
use crate::engine::node::{MS, SECOND, START, ns, target};
use crate::engine::rogue::{Rogue, create, rpcs, say};

/// An address that is not the sender's: of another /24 for each n.
fn spoofed(n: u32) -> SocketAddr {
    let [_, a, b, c] = n.to_be_bytes();
    SocketAddr::from(([a, b, c, 7], 9))
}

/// The n-th of many clients of one S', with a first packet that opens a connection.
fn first(alone: &Alone, n: u32) -> (Rogue, Vec<u8>) {
    let mut rogue = numbered(&alone.ephemeral(), n, alone.wall());
    let packet = rogue.first((256, 0), &create(1));
    (rogue, packet)
}

fn numbered(server: &clew_tunnel::x25519::Public, n: u32, wall: u64) -> Rogue {
    let mut rogue = Rogue::new(server, 3, wall);
    let mut seed = [7; 32];
    seed[..4].copy_from_slice(&n.to_be_bytes());
    let secret = Secret::from_bytes(seed);
    rogue.client = keys::public(&secret);
    rogue.key = keys::shared(&secret, server).expect("a good key");
    let mut tid = [1; 8];
    tid[4..].copy_from_slice(&n.to_be_bytes());
    rogue.tid = Tid::from_random(tid);
    tid[1] = 2;
    rogue.announced = Tid::from_random(tid);
    rogue
}

fn creates(alone: &Alone) -> usize {
    let is_create = |event: &&Event| matches!(event, Event::Create(_));
    alone.events.iter().filter(is_create).count()
}

/// The bits that an interrogation asks for.
fn asked(said: &[Said]) -> Option<u32> {
    let mut bytes = said.first()?.1.clone();
    match Packet::parse(&mut bytes, 0) {
        Ok(Packet::Interrogation(asked)) => Some(asked.w),
        _ => None,
    }
}

#[test]
fn a_flood_of_spoofed_first_packets_takes_no_more_than_its_budget() {
    const PACKETS_A_SECOND: u64 = 1_000;
    const SECONDS: u64 = 20;
    let weather = Weather {
        delay: 25 * MS,
        ..Weather::CALM
    };
    let mut pair = Pair::new(1, weather);
    let (mut times, mut begun) = (Vec::new(), None);
    for n in 0..PACKETS_A_SECOND * SECONDS {
        let server = pair.server.record().ecert.body.ephemeral;
        let mut flood = numbered(&server, n as u32, START + pair.now);
        let packet = flood.first((256, 0), &create(1));
        pair.send(spoofed(n as u32), server_address(), &packet);
        if n % 200 == 0 {
            let clock = pair.client_clock.at(pair.now);
            let opened = pair.client.open(clock, target(pair.server.record()), 1);
            let tunnel = opened.expect("an address");
            let clock = pair.client_clock.at(pair.now);
            let talk = pair.client.connect(&clock, tunnel, "echo", None);
            begun = Some((talk.expect("a connection"), pair.now));
        }
        pair.run(SECOND / PACKETS_A_SECOND);
        let (talk, at) = begun.expect("the first round begins one");
        if pair.client_events.contains(&Event::Accepted(talk)) {
            pair.client_events.clear();
            times.push(pair.now - at);
            let clock = pair.client_clock.at(pair.now);
            pair.client.close_tunnel(clock, talk.tunnel);
        }
    }
    let rtt = 50 * MS;
    let worst = times.iter().max().expect("some");
    assert_eq!(times.len() as u64, PACKETS_A_SECOND * SECONDS / 200);
    assert!(*worst <= 2 * rtt + 2 * MS, "{} ms", worst / MS);
    assert!(
        times[0] <= rtt + 2 * MS,
        "below the budget there is no wait"
    );
    let most = most_at_once(&pair.server_events);
    assert!(most <= UNPROVEN_MAX, "{most} at once");
    let lives = (SECONDS * SECOND).div_ceil(ns(UNPROVEN_LIFE)) as usize;
    let all = pair.server_events.iter();
    let all = all.filter(|event| is_flood(event)).count();
    assert!(
        (UNPROVEN_MAX..=lives * UNPROVEN_MAX).contains(&all),
        "{all}"
    );
    // And all of it is over within seconds.
    pair.run(ns(UNPROVEN_LIFE) + SECOND);
    assert_eq!((pair.server.tunnels(), pair.server.load().unproven), (0, 0));
}

fn is_flood(event: &Event) -> bool {
    matches!(event, Event::Create(create) if create.address.port() == 9)
}

/// Connections of the flood that the program has at once.
fn most_at_once(events: &[Event]) -> usize {
    let (mut open, mut most) = (HashMap::<TunnelId, ()>::new(), 0);
    for event in events {
        match event {
            Event::Create(create) if is_flood(event) => {
                open.insert(create.connection.tunnel, ());
            }
            Event::Gone(tunnel, _) => {
                open.remove(tunnel);
            }
            _ => {}
        }
        most = most.max(open.len());
    }
    most
}

#[test]
fn a_full_budget_asks_for_the_way_back_and_a_prefix_that_is_too_fast_for_work() {
    let mut config = Config::new(vec![server_address()]);
    config.limits.unproven = 4;
    config.limits.first = clew_tunnel::engine::rate::Rate::per_second(4);
    config.w = 5;
    let mut alone = Alone::with(config);
    for n in 0..4 {
        let said = alone.hand_from(spoofed(n), &first(&alone, n).1);
        assert_eq!(asked(&said), None, "{n}");
    }
    let said = alone.hand_from(spoofed(9), &first(&alone, 9).1);
    assert_eq!(asked(&said), Some(0));
    for n in 10..13 {
        let _ = alone.hand_from(spoofed(9), &first(&alone, n).1);
    }
    let said = alone.hand_from(spoofed(9), &first(&alone, 14).1);
    assert_eq!(asked(&said), Some(5));
    assert_eq!((creates(&alone), alone.server.tunnels()), (4, 4));
    assert_eq!(alone.server.unproven(), (4, 0));
}

#[test]
fn one_prefix_leaves_places_to_others() {
    let mut config = Config::new(vec![server_address()]);
    config.limits.unproven = 8;
    let mut alone = Alone::with(config);
    for n in 0..8 {
        let mut from = spoofed(0);
        from.set_port(10 + n);
        let _ = alone.hand_from(from, &first(&alone, n.into()).1);
    }
    assert_eq!(alone.server.unproven(), (5, 3));
    let said = alone.hand_from(spoofed(1), &first(&alone, 99).1);
    assert_eq!(asked(&said), None);
}

#[test]
fn a_tunnel_that_shows_nothing_ends_within_seconds() {
    let mut alone = Alone::new();
    let (rogue, packet) = first(&alone, 1);
    let _ = alone.hand(&packet);
    assert_eq!(alone.server.unproven().0, 1);
    let said = alone.wait(ns(UNPROVEN_LIFE));
    assert!(alone.ended(Reason::NoAnswer));
    assert_eq!((alone.server.tunnels(), alone.server.unproven().0), (0, 0));
    let heard = Alone::heard(&rogue, &said);
    let last = heard.last().expect("a word");
    assert_eq!(
        last.names,
        ["close"],
        "the client learns it, if it is there"
    );
    for (address, (came, went)) in &alone.bytes {
        assert!(*went <= 3 * came, "{address}: {came} {went}");
    }
}

#[test]
fn every_way_out_gives_the_place_back() {
    let mut alone = Alone::new();
    // A box that does not decrypt.
    let (_, mut packet) = first(&alone, 1);
    packet[500] ^= 1;
    let _ = alone.hand(&packet);
    assert_eq!(
        (alone.counted(Reason::BadBox), alone.server.unproven().0),
        (1, 0)
    );
    // close(0), and an ack of what went there.
    for n in 2..4 {
        let (mut rogue, packet) = first(&alone, n);
        let said = alone.hand(&packet);
        assert_eq!(alone.server.unproven().0, 1);
        let seq = Alone::heard(&rogue, &said)[0].seq;
        let close = rpcs(&[Rpc::Close { connection: 0 }]);
        let packet = match n {
            2 => rogue.packet((257, 0), &close),
            _ => rogue.packet((0, seq), &[]),
        };
        let _ = alone.hand(&packet);
        assert_eq!(alone.server.unproven().0, 0, "{n}");
    }
    assert_eq!(alone.server.tunnels(), 1);
    let _ = alone.wait(2 * ns(UNPROVEN_LIFE));
    assert_eq!(alone.server.tunnels(), 1, "what is proven stays");
}

#[test]
fn the_program_hears_of_one_connection_and_of_the_others_when_the_address_is_proven() {
    let mut alone = Alone::new();
    let mut rogue = alone.rogue(3);
    let asks = [create(1), create(2), create(3)].concat();
    let _ = alone.hand(&rogue.first((256, 0), &asks));
    assert_eq!(creates(&alone), 1);
    // The client is asked at once, and not a second later.
    let said = alone.wait(MS);
    let answer = Alone::heard(&rogue, &said)
        .iter()
        .find_map(crate::engine::paths::solution);
    let _ = alone.hand(&rogue.packet((257, 0), &rpcs(&[Rpc::Close { connection: 3 }])));
    let _ = alone.hand(&rogue.packet((0, 0), &answer.expect("a puzz")));
    assert_eq!(creates(&alone), 2, "the third was closed");
    let last = alone.events.iter().rev().find_map(|event| match event {
        Event::Create(create) => Some((create.connection.number, create.is_proven)),
        _ => None,
    });
    assert_eq!(last, Some((2, true)));
}

#[test]
fn an_unproven_address_brings_no_more_than_its_bytes() {
    let mut alone = Alone::new();
    alone.is_idle = true;
    let mut rogue = alone.rogue(3);
    let asks: Vec<u8> = (1..=8).flat_map(create).collect();
    let said = alone.hand(&rogue.first((256, 0), &asks));
    assert!(!said.is_empty());
    let most = UNPROVEN_BYTES / 900 + 10;
    for n in 0..most as u32 {
        let c = 1 + n % 8;
        let _ = alone.hand(&rogue.packet((257 + n, 0), &say(c, &[0; 900])));
    }
    assert!(alone.counted(Reason::Ahead) > 0);
    assert_eq!(alone.counted(Reason::OverWindow), 0);
    assert_eq!(alone.server.load().held, 0, "what has no room is not held");
    // It comes again once the address is proven.
    let said = alone.wait(SECOND);
    let answer = Alone::heard(&rogue, &said)
        .iter()
        .find_map(crate::engine::paths::solution);
    let _ = alone.hand(&rogue.packet((0, 0), &answer.expect("a puzz")));
    let before = alone.counted(Reason::Ahead);
    for n in 0..most as u32 {
        let _ = alone.hand(&rogue.packet((257 + n, 0), &say(1 + n % 8, &[0; 900])));
    }
    assert_eq!(alone.counted(Reason::Ahead), before);
}
