//! Servers that stop, are killed and come back, and networks that do: how long clients wait, and that nothing is
//! done twice.

use clew_tunnel::engine::event::{ConnectionId, Event};

use crate::engine::liveness::{connected, crash, is_gone, push, read, say};
use crate::engine::network::{Pair, Weather};
use crate::engine::node::{MS, SECOND, target};

const RTT: u64 = 50 * MS;

const WEATHER: Weather = Weather {
    delay: RTT / 2,
    ..Weather::CALM
};

/// A connection in a new tunnel, with its first data.
fn open(pair: &mut Pair, record: clew_tunnel::record::Record) -> ConnectionId {
    let clock = pair.client_clock.at(pair.now);
    let tunnel = pair.client.open(clock, target(record), 1);
    let connection = connect(pair, tunnel.expect("an address"));
    say(pair, connection);
    connection
}

fn connect(pair: &mut Pair, tunnel: clew_tunnel::engine::event::TunnelId) -> ConnectionId {
    let clock = pair.client_clock.at(pair.now);
    let connection = pair.client.connect(&clock, tunnel, "echo", None);
    connection.expect("a tunnel")
}

/// How long it takes until the answer is there.
fn until_answered(pair: &mut Pair, connection: ConnectionId, most: u64) -> u64 {
    let begin = pair.now;
    while pair.now < begin + most {
        pair.run(MS);
        if read(pair, connection) > 0 {
            return pair.now - begin;
        }
    }
    unreachable!("no answer after {} ms: {:?}", most / MS, pair.all_ends());
}

fn is_ready(pair: &mut Pair, connection: ConnectionId) -> bool {
    let clock = pair.client_clock.at(pair.now);
    let quiet = core::time::Duration::from_millis(200);
    let tunnel = connection.tunnel;
    pair.client.is_ready(&clock, tunnel, 60, quiet)
}

#[test]
fn a_server_that_stops_tells_tunnels_without_connections_too() {
    let mut pair = Pair::new(1, WEATHER);
    for n in 0..20 {
        let record = pair.server.record();
        let connection = open(&mut pair, record);
        pair.run(SECOND);
        if n % 2 == 0 {
            pair.client.close(connection);
        }
    }
    pair.run(SECOND);
    assert_eq!((pair.client.tunnels(), pair.server.tunnels()), (20, 20));
    for more in [true, true, false] {
        let clock = pair.server_clock.at(pair.now);
        assert_eq!(pair.server.close_some(clock, 8), more);
        pair.run(0);
    }
    pair.run(RTT);
    assert_eq!((pair.client.tunnels(), pair.server.tunnels()), (0, 0));
    assert!(is_gone(&pair, None));
}

#[test]
fn what_a_stopping_server_did_not_receive_is_unheard_and_what_it_did_is_not() {
    let (mut pair, first) = connected(WEATHER);
    let received = connect(&mut pair, first.tunnel);
    say(&mut pair, received);
    // It arrives; its ack is under way when the server stops, and the next request is, too.
    pair.run(RTT / 2 + MS);
    let under_way = connect(&mut pair, first.tunnel);
    say(&mut pair, under_way);
    pair.run(MS);
    let clock = pair.server_clock.at(pair.now);
    assert!(!pair.server.close_some(clock, 9));
    pair.run(RTT);
    let unheard: Vec<_> = pair
        .client_events
        .iter()
        .filter(|event| matches!(event, Event::Unheard(_)))
        .collect();
    assert_eq!(unheard, [&Event::Unheard(under_way)]);
    let created = |event: &&Event| matches!(event, Event::Create(_));
    let creates = pair.server_events.iter().filter(created).count();
    assert_eq!(creates, 2, "so it is never done twice");
}

#[test]
fn the_next_request_after_a_crash_takes_two_round_trips_and_then_one() {
    let (mut pair, idle) = connected(WEATHER);
    assert!(!is_ready(&mut pair, idle), "it was silent for long");
    let old = pair.server.record();
    pair.run(5 * SECOND);
    crash(&mut pair);
    pair.run(MS);
    let next = open(&mut pair, old);
    let took = until_answered(&mut pair, next, SECOND);
    assert!(took <= 2 * RTT + 3 * MS, "{} ms", took / MS);
    assert!(is_ready(&mut pair, next), "the next one can be here");
    let newer = pair.client_events.iter().find_map(|event| match event {
        Event::Newer { record, .. } => Some((**record).clone()),
        _ => None,
    });
    pair.run(SECOND);
    let next = open(
        &mut pair,
        newer.expect("the record that the server has now"),
    );
    let took = until_answered(&mut pair, next, SECOND);
    assert!(took <= RTT + 3 * MS, "{} ms", took / MS);
}

#[test]
fn a_tunnel_is_ready_while_its_server_is_heard_and_has_room() {
    let (mut pair, connection) = connected(WEATHER);
    say(&mut pair, connection);
    let _ = until_answered(&mut pair, connection, SECOND);
    assert!(is_ready(&mut pair, connection));
    for _ in 0..59 {
        let _ = connect(&mut pair, connection.tunnel);
    }
    assert!(!is_ready(&mut pair, connection), "it has 60");
    let clock = pair.client_clock.at(pair.now);
    pair.client.close_tunnel(clock, connection.tunnel);
    assert!(!is_ready(&mut pair, connection), "it is gone");
}

#[test]
fn what_waited_for_a_network_arrives_soon_after_it_is_back() {
    for (up, down) in [(true, false), (false, true), (true, true)] {
        for seconds in [4, 20, 40, 100] {
            let (mut pair, connection) = connected(WEATHER);
            pair.silence_until = pair.now + seconds * SECOND;
            if up {
                say(&mut pair, connection);
            }
            if down {
                push(&mut pair);
            }
            pair.run(seconds * SECOND);
            let took = until_answered(&mut pair, connection, 60 * SECOND);
            assert!(
                took < 3 * SECOND,
                "{up} {down}: {} ms after {seconds} s",
                took / MS
            );
            assert!(!is_gone(&pair, None));
        }
    }
}

#[test]
fn a_nat_that_forgot_costs_a_small_exchange_one_round_trip() {
    let (mut pair, connection) = connected(WEATHER);
    for seconds in [2, 10, 24] {
        pair.run(seconds * SECOND);
        pair.rebind();
        say(&mut pair, connection);
        let took = until_answered(&mut pair, connection, 10 * SECOND);
        assert!(took <= 2 * RTT + 5 * MS, "{seconds} s: {} ms", took / MS);
    }
}
