//! Random weather, moves, rebinding, rekeys, skewed clocks and programs that read when they like: time goes on,
//! and everything that was said arrives once and in order.

use std::collections::{HashMap, HashSet};

use clew_tunnel::Reason;
use clew_tunnel::engine::client::Client;
use clew_tunnel::engine::event::{ConnectionId, Event};
use clew_tunnel::engine::server::Config;
use clew_tunnel::limits::UNPROVEN_LIFE;
use clew_tunnel::record::{Authenticators, UserSecret};
use clew_tunnel::wire::values::Value;
use clew_tunnel::x25519::Secret;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng as _, SeedableRng as _};

use crate::engine::network::{Pair, Weather, server_address};
use crate::engine::node::{MS, SECOND, ns, target};
use crate::engine::watch::MARKER;

/// Another seed, and so many rounds more.
fn rounds(least: u64) -> std::ops::Range<u64> {
    let read = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = read("CLEW_SEED").unwrap_or(1);
    first..first + least * read("CLEW_ROUNDS").unwrap_or(1)
}

/// One connection: what is to be said, what was, and what came back.
struct Talk {
    id: ConnectionId,
    total: u32,
    said: u32,
    back: u32,
    size: usize,
}

struct Storm {
    pair: Pair,
    rng: ChaCha20Rng,
    talks: Vec<Talk>,
    /// Sockets so far.
    sockets: u32,
}

impl Storm {
    fn new(seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut below = |n: u64| rng.next_u64() % n;
        let weather = Weather {
            delay: MS * (1 + below(80)),
            jitter: MS * below(30),
            loss: below(250) as u32,
            twice: below(100) as u32,
        };
        let mut config = Config::new(vec![server_address()]);
        config.w = below(6) as u8;
        config.m = 1_024 + below(209) as u16;
        config.packet = 1_095 + below(300) as usize;
        config.authenticators = Authenticators(1 + below(3) as u8);
        let mut pair = Pair::with(config, seed, weather);
        pair.client_clock.skew = (below(38) as i64 - 19) * SECOND as i64;
        pair.reads_late = below(2) == 0;
        let count = 1 + below(5);
        let mut storm = Self {
            pair,
            rng,
            talks: Vec::new(),
            sockets: 1,
        };
        storm.open(count);
        storm
    }

    fn below(&mut self, n: u64) -> u64 {
        self.rng.next_u64() % n
    }

    fn open(&mut self, count: u64) {
        let pair = &mut self.pair;
        let now = pair.now;
        let record = pair.server.record();
        let user = pair
            .client
            .add_user(UserSecret(Secret::from_bytes([9; 32])));
        let opened = pair
            .client
            .open(pair.client_clock.at(now), target(record), 1);
        let tunnel = opened.expect("an address");
        for n in 0..count {
            let user = (n % 2 == 0).then_some(user);
            let clock = pair.client_clock.at(now);
            let id = pair.client.connect(&clock, tunnel, "echo", user);
            let id = id.expect("a connection");
            let total = 1 + (self.rng.next_u64() % 300) as u32;
            let size = [0, 30, 400, 1_000][(self.rng.next_u64() % 4) as usize];
            self.talks.push(Talk {
                id,
                total,
                said: 0,
                back: 0,
                size,
            });
        }
    }

    fn talk(&mut self) {
        for talk in &mut self.talks {
            while talk.said < talk.total {
                let number = talk.said.to_be_bytes();
                let bytes = [&number, MARKER, &vec![talk.said as u8; talk.size]].concat();
                let client = &mut self.pair.client;
                let said = client.write(talk.id, "say", |call| call.bytes(&bytes));
                if !said.expect("the tunnel lives") {
                    break;
                }
                talk.said += 1;
            }
            read(&mut self.pair.client, talk);
        }
    }

    /// Something happens to the client.
    fn accident(&mut self) {
        let now = self.pair.now;
        let tunnel = self.talks[0].id.tunnel;
        let is_open = |event: &Event| matches!(event, Event::Opened(_));
        let is_open = self.pair.client_events.iter().any(is_open);
        let is_proven = is_open && self.pair.server.unproven().0 == 0;
        match self.below(40) {
            0 => {
                self.sockets += 1;
                let clock = self.pair.client_clock.at(now);
                self.pair.client.moved(clock, tunnel, self.sockets);
            }
            1 => {
                let clock = self.pair.client_clock.at(now);
                self.pair.client.rekey_now(clock, tunnel);
            }
            // Its NAT forgets.
            2 | 4 => self.pair.rebind(),
            // Nothing gets through for a while, sometimes for longer than a puzzle lives. Before its address
            // is proven, a tunnel lives for seconds.
            3 if is_proven && self.pair.silence_until + 20 * SECOND < now => {
                let longest = [5, 5, 5, 150][self.below(4) as usize];
                self.pair.silence_until = now + self.below(longest) * SECOND;
            }
            _ => {}
        }
    }

    fn is_done(&self) -> bool {
        self.talks.iter().all(|talk| talk.back == talk.total)
    }

    /// Until all was said and answered. False if there never was a tunnel.
    fn run(&mut self) -> bool {
        let mut quiet = 0;
        let mut has_failed_its_trial = false;
        while !self.is_done() {
            self.talk();
            if quiet < 200 {
                self.accident();
            }
            let pause = 1 + self.below(400);
            self.pair.run(pause * MS);
            quiet += 1;
            let gone = |event: &Event| matches!(event, Event::Gone(..));
            let is_young = self.pair.now < ns(UNPROVEN_LIFE) + 2 * SECOND;
            has_failed_its_trial |= is_young && self.pair.server_events.iter().any(gone);
            let state: Vec<_> = self
                .talks
                .iter()
                .map(|t| (t.total, t.said, t.back))
                .collect();
            assert!(
                self.pair.now < 3_000 * SECOND,
                "stuck: {state:?} {:?}",
                self.pair.client.status(self.talks[0].id.tunnel)
            );
            if self.pair.client_events.iter().any(gone) {
                // In weather like this some first packets get no answer in time, nor does the server.
                let first = &self.pair.client_events[0];
                let is_late = matches!(first, Event::Gone(_, Some(Reason::NoAnswer)));
                let ends = self.pair.all_ends();
                assert!(
                    is_late || has_failed_its_trial,
                    "{state:?} {ends:?} at {}",
                    self.pair.now / MS
                );
                return false;
            }
        }
        true
    }
}

fn read(client: &mut Client, talk: &mut Talk) {
    while client.read(talk.id, |mut call| {
        let Some(Value::Bytes(bytes)) = call.arguments.next() else {
            unreachable!("bytes");
        };
        assert_eq!(bytes[..4], talk.back.to_be_bytes(), "in order, and once");
        assert_eq!(bytes.len(), 4 + MARKER.len() + talk.size);
        talk.back += 1;
    }) {}
}

#[test]
fn everything_arrives_once_and_in_order_in_any_weather() {
    let seeds = rounds(100);
    let (mut opened, all) = (0, seeds.clone().count());
    for seed in seeds {
        let mut storm = Storm::new(seed);
        if !storm.run() {
            continue;
        }
        opened += 1;
        let wire = storm.pair.wire.len();
        println!("done after {} ms, {wire} packets", storm.pair.now / MS);
        for (address, (came, went)) in &storm.pair.traffic {
            println!("{address}: {came} bytes came, {went} went");
        }
        // A close, and nothing is left on either side but memories.
        let tunnel = storm.talks[0].id.tunnel;
        let now = storm.pair.now;
        let clock = storm.pair.client_clock.at(now);
        storm.pair.client.close_tunnel(clock, tunnel);
        storm.pair.run(SECOND);
        let nothing = clew_tunnel::engine::Usage::default();
        assert_eq!(storm.pair.client.load(), nothing);
    }
    assert!(10 * opened >= 9 * all, "{opened} of {all}");
}

#[test]
fn many_tunnels_come_and_go_and_leave_nothing() {
    for seed in rounds(2) {
        let mut pair = Pair::new(
            seed,
            Weather {
                loss: 20,
                ..Weather::CALM
            },
        );
        let mut seen = HashSet::new();
        let mut talks: HashMap<u64, ConnectionId> = HashMap::new();
        for round in 0..400_u64 {
            let now = pair.now;
            let record = pair.server.record();
            let socket = round as u32 % 7 + 1;
            let opened = pair
                .client
                .open(pair.client_clock.at(now), target(record), socket);
            let tunnel = opened.expect("an address");
            assert!(seen.insert(tunnel), "ids are not used twice");
            let clock = pair.client_clock.at(now);
            let talk = pair.client.connect(&clock, tunnel, "echo", None);
            let talk = talk.expect("a connection");
            let _ = pair.client.write(talk, "say", |call| call.bytes(MARKER));
            talks.insert(round, talk);
            pair.run(20 * MS);
            if round >= 10 {
                let talk = talks[&(round - 10)];
                let clock = pair.client_clock.at(pair.now);
                pair.client.close_tunnel(clock, talk.tunnel);
            }
        }
        pair.run(10 * SECOND);
        let load = pair.server.load();
        println!("{load:?}");
        assert!(load.tunnels < 60, "those whose close was lost: {load:?}");
        assert!(load.silent <= 2 * load.tunnels + 130);
        assert!(pair.client.load().tunnels <= 10);
    }
}
