//! A tunnel is opened, used, rekeyed and closed.

use clew_tunnel::engine::event::{ConnectionId, Event};
use clew_tunnel::wire::values::Value;

use clew_tunnel::engine::rate::Rate;
use clew_tunnel::engine::server::Config;
use clew_tunnel::limits::CLIENT_IDLE;

use crate::engine::network::{Pair, Weather, server_address};
use crate::engine::node::{MS, SECOND, ns, target};

fn connect(pair: &mut Pair, user: bool) -> ConnectionId {
    let record = pair.server.record();
    let now = pair.now;
    let user = user.then(|| {
        let secret = clew_tunnel::x25519::Secret::from_bytes([9; 32]);
        pair.client
            .add_user(clew_tunnel::record::UserSecret(secret))
    });
    let tunnel = pair
        .client
        .open(pair.client_clock.at(now), target(record), 1)
        .expect("a target");
    pair.client
        .connect(&pair.client_clock.at(now), tunnel, "echo", user)
        .expect("a tunnel")
}

fn read(pair: &mut Pair, connection: ConnectionId) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    while pair.client.read(connection, |mut call| {
        if let Some(Value::Bytes(bytes)) = call.arguments.next() {
            all.push(bytes.to_vec());
        }
    }) {}
    all
}

#[test]
fn data_in_the_first_packet_is_answered_in_one_round_trip() {
    for user in [false, true] {
        let mut pair = Pair::new(1, Weather::CALM);
        let connection = connect(&mut pair, user);
        assert!(
            pair.client
                .write(connection, "say", |call| call.bytes(b"hello"))
                .unwrap()
        );
        pair.run(2 * MS + 1);
        println!("{:?} {:?}", pair.client_events, pair.server_events);
        assert_eq!(read(&mut pair, connection), [b"hello".to_vec()]);
        assert_eq!(pair.now, 1_000 + 2 * MS + 1);
        assert!(pair.client_events.contains(&Event::Accepted(connection)));
    }
}

/// Its keys are there before somebody wants it, and until then nobody sees it.
#[test]
fn a_prepared_tunnel_waits_for_who_wants_it_and_not_for_its_keys() {
    let mut pair = Pair::new(1, Weather::CALM);
    let to = target(pair.server.record());
    let now = pair.client_clock.at(pair.now);
    let tunnel = pair.client.prepare(now, to, 1).expect("a target");
    let wait = ns(CLIENT_IDLE) - SECOND;
    pair.run(wait);
    assert!(pair.wire.is_empty() && !pair.client.has_jobs());

    let now = pair.client_clock.at(pair.now);
    let connection = pair.client.connect(&now, tunnel, "echo", None);
    let connection = connection.expect("a tunnel");
    let written = pair
        .client
        .write(connection, "say", |call| call.bytes(b"hello"));
    assert!(written.unwrap() && !pair.client.has_jobs());
    pair.run(2 * MS + 1);
    assert_eq!(read(&mut pair, connection), [b"hello".to_vec()]);
}

#[test]
fn a_prepared_tunnel_that_nobody_wants_ends_unseen() {
    let mut pair = Pair::new(1, Weather::CALM);
    let to = target(pair.server.record());
    let now = pair.client_clock.at(pair.now);
    let tunnel = pair.client.prepare(now, to, 1).expect("a target");
    pair.run(ns(CLIENT_IDLE) + SECOND);
    assert_eq!(pair.client_events, [Event::Gone(tunnel, None)]);
    assert!(pair.wire.is_empty() && pair.client.tunnels() == 0);
}

#[test]
fn bulk_arrives_in_order_whatever_the_weather() {
    for (seed, loss) in [(1, 0), (2, 10), (3, 100), (4, 200)] {
        let weather = Weather {
            loss,
            jitter: 3 * MS,
            twice: 50,
            ..Weather::CALM
        };
        let mut pair = Pair::new(seed, weather);
        let connection = connect(&mut pair, true);
        let (mut sent, mut got) = (0_u32, Vec::new());
        let mut rounds = 0;
        while got.len() < 2_000 {
            while sent < 2_000 {
                let bytes = [sent.to_be_bytes().as_slice(), &[0; 500]].concat();
                if !pair
                    .client
                    .write(connection, "say", |call| call.bytes(&bytes))
                    .unwrap()
                {
                    break;
                }
                sent += 1;
            }
            pair.run(5 * MS);
            got.extend(read(&mut pair, connection));
            rounds += 1;
            assert!(
                rounds < 400_000,
                "stuck: {} {} {:?}",
                got.len(),
                sent,
                pair.client.counters()
            );
        }
        println!(
            "loss {loss}: {} ms, {} packets",
            pair.now / MS,
            pair.wire.len()
        );
        for (i, bytes) in got.iter().enumerate() {
            assert_eq!(bytes[..4], (i as u32).to_be_bytes());
        }
    }
}

#[test]
fn rekeys_and_moves_go_unnoticed() {
    let mut pair = Pair::new(
        5,
        Weather {
            loss: 50,
            ..Weather::CALM
        },
    );
    let connection = connect(&mut pair, true);
    let mut said = 0;
    let mut got = Vec::new();
    for minute in 0..60_u32 {
        let _ = pair
            .client
            .write(connection, "say", |call| call.bytes(&minute.to_be_bytes()));
        said += 1;
        if minute % 7 == 3 {
            let now = pair.now;
            pair.client
                .moved(pair.client_clock.at(now), connection.tunnel, minute + 2);
        }
        pair.run(60 * SECOND);
        got.extend(read(&mut pair, connection));
    }
    assert_eq!(
        got.len(),
        said,
        "{:?} {:?}",
        pair.client_events,
        pair.server.counters()
    );
}

#[test]
fn many_connections_are_made_and_closed_in_one_tunnel() {
    for user in [false, true] {
        let mut config = Config::new(vec![server_address()]);
        config.limits.creates = Rate::per_second(1_000_000);
        config.limits.auth = Rate::per_second(1_000_000);
        let weather = Weather {
            delay: 50_000,
            ..Weather::CALM
        };
        let mut pair = Pair::with(config, 7, weather);
        let first = connect(&mut pair, user);
        pair.run(MS);
        let user = pair.client.add_user(clew_tunnel::record::UserSecret(
            clew_tunnel::x25519::Secret::from_bytes([9; 32]),
        ));
        for round in 0..2_000 {
            let now = pair.now;
            let all: Vec<_> = (0..16)
                .map(|_| {
                    pair.client
                        .connect(&pair.client_clock.at(now), first.tunnel, "echo", Some(user))
                        .expect("room")
                })
                .collect();
            for connection in &all {
                assert_eq!(
                    pair.client
                        .write(*connection, "say", |call| call.bytes(&[1; 28])),
                    Ok(true)
                );
            }
            pair.run(120_000);
            for connection in all {
                assert_eq!(
                    read(&mut pair, connection).len(),
                    1,
                    "{round} {:?} {:?}",
                    pair.client.status(first.tunnel),
                    pair.server.counters()
                );
                pair.client.close(connection);
            }
            pair.run(120_000);
        }
    }
}
