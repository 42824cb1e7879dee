//! Who is still there: silence, NATs that forget, crashes, sleep and moves, in virtual time (`spec/tunnel.md`
//! sections 7.3, 8, 9 and 13).

use clew_tunnel::Reason;
use clew_tunnel::engine::event::{ConnectionId, Event, Reply};
use clew_tunnel::engine::server::{Config, Server};
use clew_tunnel::keys;
use clew_tunnel::limits::{PUZZLE_LIFE, STALE_WAIT};
use clew_tunnel::record::Record;
use clew_tunnel::wire::rpc::Rpc;
use clew_tunnel::wire::values::Value;
use clew_tunnel::x25519::Secret;

use crate::engine::alone::Alone;
use crate::engine::impostor::{Impostor, record};
use crate::engine::network::{Pair, Weather, server_address};
use crate::engine::node::{self, MS, SECOND, ns, target};
use crate::engine::paths::solution;
use crate::engine::rogue::{self, create, rpcs};

pub const LAN: Weather = Weather {
    delay: 50_000,
    ..Weather::CALM
};

/// A tunnel with one connection, all of it acknowledged.
pub fn connected(weather: Weather) -> (Pair, ConnectionId) {
    let mut pair = Pair::new(1, weather);
    let (now, record) = (pair.now, pair.server.record());
    let opened = pair
        .client
        .open(pair.client_clock.at(now), target(record), 1);
    let tunnel = opened.expect("an address");
    let clock = pair.client_clock.at(now);
    let connection = pair.client.connect(&clock, tunnel, "echo", None);
    let connection = connection.expect("a tunnel");
    say(&mut pair, connection);
    pair.run(SECOND);
    assert_eq!(read(&mut pair, connection), 1);
    (pair, connection)
}

pub fn say(pair: &mut Pair, connection: ConnectionId) {
    let said = pair
        .client
        .write(connection, "say", |call| call.bytes(b"hello"));
    assert_eq!(said, Ok(true));
}

pub fn read(pair: &mut Pair, connection: ConnectionId) -> usize {
    let mut count = 0;
    while pair.client.read(connection, |mut call| {
        assert!(matches!(call.arguments.next(), Some(Value::Bytes(_))));
        count += 1;
    }) {}
    count
}

/// The server says something by itself.
pub fn push(pair: &mut Pair) {
    let created = pair.server_events.iter().find_map(|event| match event {
        Event::Create(create) => Some(create.connection),
        _ => None,
    });
    let connection = created.expect("a connection");
    let said = pair
        .server
        .write(connection, "news", |call| call.bytes(b"news"));
    assert_eq!(said, Ok(true));
}

/// Another server, with the same S, in place of the one that crashed.
pub fn crash(pair: &mut Pair) {
    let config = Config::new(vec![server_address()]);
    let secret = node::secret("files.example", 1);
    let now = pair.server_clock.at(pair.now);
    pair.server = Server::new(secret, config, [99; 32], now).expect("a good configuration");
}

fn initiations(pair: &Pair) -> usize {
    let is_one = |(_, _, bytes): &&(_, _, Vec<u8>)| bytes[0] & 0x80 != 0 && bytes.len() == 1_024;
    pair.wire.iter().filter(is_one).count()
}

pub fn is_gone(pair: &Pair, reason: Option<Reason>) -> bool {
    let gone = |event: &Event| matches!(event, Event::Gone(_, why) if *why == reason);
    pair.client_events.iter().any(gone)
}

#[test]
fn a_move_into_four_minutes_without_a_network_is_survived() {
    let (mut pair, connection) = connected(Weather::CALM);
    say(&mut pair, connection);
    let now = pair.now;
    let clock = pair.client_clock.at(now);
    pair.client.moved(clock, connection.tunnel, 2);
    pair.settle();
    // The initiation packet is under way: what answers it, and the puzz, are lost.
    pair.silence_until = pair.now + 240 * SECOND;
    pair.run(290 * SECOND);
    assert_eq!(pair.all_ends().0, Vec::<&Event>::new());
    assert_eq!(read(&mut pair, connection), 1);
    let (came, went) = pair.traffic[&crate::engine::network::client_address(2)];
    assert!(went <= 3 * came, "{came} {went}");
}

#[test]
fn an_address_that_loses_everything_keeps_its_tunnel() {
    let mut alone = Alone::new();
    let mut rogue = alone.rogue(3);
    let said = alone.hand(&rogue.first((256, 0), &create(1)));
    let seq = Alone::heard(&rogue, &said)[0].seq;
    let _ = alone.hand(&rogue.packet((0, seq), &[]));
    let _ = alone.hand(&rogue.packet((257, 0), &rogue::say(1, b"lost")));
    let _ = alone.wait(1_000 * SECOND);
    assert_eq!(alone.server.tunnels(), 1);
    let wall = alone.wall();
    let _ = rogue.rekey(wall);
    let said = alone.hand(&rogue.first((0, 0), &[]));
    let heard = Alone::heard(&rogue, &said);
    assert_eq!(heard[0].ack, 257, "it is as it was");
}

#[test]
fn a_puzz_that_was_given_up_is_posed_anew_when_the_address_is_heard() {
    let mut alone = Alone::new();
    let (mut rogue, first) = alone.opened(3);
    let said = alone.hand(&rogue.packet((256, 0), &create(1)));
    assert_eq!(first.seq, 0);
    let seq = Alone::heard(&rogue, &said)[0].seq;
    let _ = alone.hand(&rogue.packet((0, seq), &[]));
    let wall = alone.wall();
    let _ = rogue.rekey(wall + 1);
    let elsewhere = "203.0.113.7:99".parse().expect("an address");
    let _ = alone.hand_from(elsewhere, &rogue.first((0, 0), &[]));
    let _ = alone.wait(ns(PUZZLE_LIFE) + SECOND);
    assert_eq!(alone.server.tunnels(), 1);
    let packet = rogue.packet((257, 0), &rogue::say(1, &[0; 900]));
    let said = alone.hand_from(elsewhere, &packet);
    let heard = Alone::heard(&rogue, &said);
    let answer = heard.iter().find_map(solution).expect("a puzz");
    let _ = alone.hand_from(elsewhere, &rogue.packet((0, 0), &answer));
    assert_eq!(alone.counted(Reason::BadSolution), 0);
}

#[test]
fn who_only_listens_is_found_behind_a_nat_that_forgot() {
    let (mut pair, connection) = connected(Weather::CALM);
    pair.run(100 * SECOND);
    pair.rebind();
    push(&mut pair);
    pair.run(27 * SECOND);
    assert_eq!(read(&mut pair, connection), 1);
    // And what it says first after a pause earns the puzz at once, however short it is.
    pair.run(20 * SECOND);
    pair.rebind();
    let before = pair.traffic.len();
    pair.run(10 * SECOND);
    assert_eq!(pair.traffic.len(), before + 1);
    let (mut came, mut went) = (0, 0);
    for (a, b) in pair.traffic.values() {
        (came, went) = (came + a, went + b);
    }
    assert!(went < 3 * came);
    assert_eq!(pair.all_ends().0, Vec::<&Event>::new());
}

#[test]
fn a_connection_costs_a_few_bytes_in_25_seconds_and_none_costs_nothing() {
    let (mut pair, connection) = connected(Weather::CALM);
    let begin = pair.wire.len();
    pair.run(400 * SECOND);
    let sent = &pair.wire[begin..];
    assert!((30..=32).contains(&sent.len()), "{}", sent.len());
    assert!(sent.iter().all(|(_, _, bytes)| bytes.len() <= 80));
    assert_eq!(pair.all_ends().1, [], "nothing is odd about it");
    pair.client.close(connection);
    pair.run(SECOND);
    let begin = pair.wire.len();
    pair.run(60 * SECOND);
    assert_eq!(pair.wire.len(), begin);
}

#[test]
fn a_crashed_server_is_noticed_and_left() {
    for is_waiting in [true, false] {
        let (mut pair, connection) = connected(Weather::CALM);
        pair.run(5 * SECOND);
        crash(&mut pair);
        if is_waiting {
            say(&mut pair, connection);
        }
        // Two timers and a rekey, whose answer says how to reach the server again.
        let is_newer = |event: &Event| matches!(event, Event::Newer { .. });
        let begin = pair.now;
        while !pair.client_events.iter().any(is_newer) {
            pair.run(10 * MS);
            let most = if is_waiting { 0 } else { 25 * SECOND };
            assert!(pair.now < begin + most + SECOND, "in time");
        }
        assert!(!is_gone(&pair, Some(Reason::NoAnswer)), "not by that alone");
        pair.run(ns(STALE_WAIT));
        assert!(is_gone(&pair, Some(Reason::NoAnswer)));
    }
}

#[test]
fn who_waits_for_a_directory_that_thinks_is_found_too() {
    let mut config = Config::new(vec![server_address()]);
    config.is_directory = true;
    let mut pair = Pair::with(config, 1, Weather::CALM);
    let record = pair.server.record();
    let clock = pair.client_clock.at(pair.now);
    let tunnel = pair.client.open(clock, target(record), 1);
    let tunnel = tunnel.expect("an address");
    let identity = clew_tunnel::record::Identity {
        signing: None,
        hostname: "other.example",
    };
    assert_eq!(pair.client.request(tunnel, &identity), Ok(true));
    pair.run(20 * SECOND);
    pair.rebind();
    let asked = pair.server_events.iter().find_map(|event| match event {
        Event::Request { tunnel, number, .. } => Some((*tunnel, *number)),
        _ => None,
    });
    let (asked, number) = asked.expect("a request");
    let refused = Reply::Refused(Reason::UnknownHost);
    assert!(pair.server.reply(asked, number, refused));
    pair.run(8 * SECOND);
    let is_reply = |event: &Event| matches!(event, Event::Reply { .. });
    assert!(pair.client_events.iter().any(is_reply));
    assert_eq!(initiations(&pair), 2, "by a rekey");
}

/// What goes on when somebody says that the server has another S'.
fn told_otherwise(impostor: &mut Impostor) -> Record {
    let clock = impostor.clock.at(impostor.now);
    impostor.client.rekey_now(clock, impostor.tunnel);
    let sent = impostor.settle();
    let (_, tid, nonce) = crate::engine::watch::clear(&sent[0]);
    assert_eq!(tid, *impostor.announced.as_bytes());
    impostor.tid = impostor.announced;
    impostor.key = keys::next(&impostor.key);
    let newer = record(&impostor.secret, &Secret::from_bytes([0x22; 32]), 1, |_| {});
    let stale = impostor.stale(nonce >> 1, &newer);
    impostor.nonce = nonce >> 1;
    let _ = impostor.hand(&stale);
    newer
}

#[test]
fn a_stale_key_answer_to_a_rekey_ends_nothing_while_the_server_is_there() {
    let mut impostor = Impostor::opened();
    let newer = told_otherwise(&mut impostor);
    let record = Box::new(newer);
    let tunnel = impostor.tunnel;
    assert!(impostor.events.contains(&Event::Newer { tunnel, record }));
    let sent = impostor.wait(ns(STALE_WAIT) - 100 * MS);
    assert_eq!(sent.len(), 2, "it is asked again, and again");
    // Its answer comes late.
    let _ = impostor.say(&rpcs(&[Rpc::WindowSize {
        connection: 1,
        bytes: 20_000,
    }]));
    let _ = impostor.wait(20 * SECOND);
    assert_eq!(impostor.client.tunnels(), 1);
    let mut impostor = Impostor::opened();
    let _ = told_otherwise(&mut impostor);
    let _ = impostor.wait(ns(STALE_WAIT) - MS);
    assert!(!impostor.ended(Reason::NoAnswer));
    let _ = impostor.wait(2 * MS);
    assert!(impostor.ended(Reason::NoAnswer));
}

#[test]
fn a_server_that_pauses_for_less_than_three_seconds_is_not_silent() {
    let (mut pair, connection) = connected(LAN);
    pair.weather.delay = 2_900 * MS;
    say(&mut pair, connection);
    pair.run(MS);
    pair.weather = LAN;
    pair.run(20 * SECOND);
    assert_eq!(read(&mut pair, connection), 1);
    let silent = Event::Silent(connection.tunnel);
    assert!(!pair.client_events.contains(&silent));
    assert_eq!(initiations(&pair), 1);
    say(&mut pair, connection);
    pair.silence_until = pair.now + 5 * SECOND;
    pair.run(4 * SECOND);
    assert!(pair.client_events.contains(&silent));
    pair.run(5 * SECOND);
    assert_eq!(read(&mut pair, connection), 1);
}

/// When packets were sent after a move now, in seconds.
fn times_after_a_move(impostor: &mut Impostor, socket: u32, time: u64) -> Vec<u64> {
    let at = impostor.now;
    let clock = impostor.clock.at(at);
    impostor.client.moved(clock, impostor.tunnel, socket);
    let mut times = vec![0; impostor.settle().len()];
    let sent = impostor.wait(time);
    let firsts = sent.iter().filter(|(_, bytes)| bytes[0] & 0x80 != 0);
    times.extend(firsts.map(|(when, _)| (when - at) / SECOND));
    times
}

#[test]
fn a_move_begins_the_schedule_anew() {
    let mut impostor = Impostor::opened();
    let clock = impostor.clock.at(impostor.now);
    impostor.client.rekey_now(clock, impostor.tunnel);
    let _ = impostor.settle();
    let _ = impostor.wait(290 * SECOND);
    let times = times_after_a_move(&mut impostor, 2, 20 * SECOND);
    assert_eq!(times, [0, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
    // What could not arrive before says nothing of the server.
    let _ = impostor.wait(275 * SECOND);
    assert_eq!(impostor.client.tunnels(), 1);
    let _ = impostor.wait(6 * SECOND);
    assert!(impostor.ended(Reason::NoAnswer));
    // The first packet as well, but no longer than an attempt may take.
    let mut impostor = Impostor::new();
    let _ = impostor.wait(6 * SECOND);
    let times = times_after_a_move(&mut impostor, 2, 40 * SECOND);
    assert_eq!(times, [0, 1, 3, 5, 7, 9, 11, 13]);
    assert!(impostor.ended(Reason::NoAnswer));
}

#[test]
fn who_slept_asks_before_it_gives_up() {
    let (mut pair, connection) = connected(Weather::CALM);
    say(&mut pair, connection);
    pair.silence_until = pair.now + 1;
    pair.settle();
    // Nothing of it runs for an hour.
    pair.now += 3_600 * SECOND;
    pair.run(5 * SECOND);
    assert_eq!(pair.all_ends().0, Vec::<&Event>::new());
    assert_eq!(read(&mut pair, connection), 1);
    assert_eq!(initiations(&pair), 2, "under a new key");
}

#[test]
fn a_directorys_first_tunnel_is_closed_by_its_answer() {
    let mut config = Config::new(vec![server_address()]);
    config.is_directory = true;
    let mut pair = Pair::with(config, 1, Weather::CALM);
    let body = pair.server.record().cert.body;
    let directory = clew_tunnel::engine::client::Target::Directory {
        addresses: vec![server_address()],
        m: 1_024,
        w: 16,
        boxing: body.boxing,
    };
    let clock = pair.client_clock.at(pair.now);
    let tunnel = pair.client.open(clock, directory, 1).expect("an address");
    let identity = clew_tunnel::record::Identity {
        signing: Some(body.signing),
        hostname: "files.example",
    };
    assert_eq!(pair.client.request(tunnel, &identity), Ok(true));
    pair.run(100 * MS);
    let is_reply = |event: &Event| matches!(event, Event::Reply { .. });
    assert!(pair.client_events.iter().any(is_reply));
    assert!(is_gone(&pair, None));
    assert_eq!((pair.client.tunnels(), pair.server.tunnels()), (0, 0));
}

#[test]
fn a_directory_closes_a_first_tunnel_whose_answer_was_acknowledged() {
    let mut config = Config::new(vec![server_address()]);
    config.is_directory = true;
    let mut alone = Alone::with(config);
    let boxing = alone.server.record().cert.body.boxing;
    let mut rogue = crate::engine::rogue::Rogue::new(&boxing, 3, alone.wall());
    let ask = rpcs(&[Rpc::RequestCert {
        identity: b"\0\x0dfiles.example",
    }]);
    let said = alone.hand(&rogue.first((256, 0), &ask));
    let seq = Alone::heard(&rogue, &said)[0].seq;
    let said = alone.hand(&rogue.packet((0, seq), &[]));
    assert_eq!(alone.server.tunnels(), 0);
    assert_eq!(Alone::heard(&rogue, &said)[0].names, ["close"]);
}
