//! A server, and a client that keeps to no rule.

use clew_tunnel::Reason;
use clew_tunnel::engine::event::{ConnectionId, Event, Reply, TunnelId};
use clew_tunnel::engine::server::{self, Server};
use clew_tunnel::engine::{Datagram, Outgoing};
use clew_tunnel::keys;
use clew_tunnel::limits::{AHEAD_TOTAL, CONNECTIONS_MAX, CONTROL_MAX, GRANT};
use clew_tunnel::record::Authenticators;
use clew_tunnel::wire::packet::{Side, Tid};
use clew_tunnel::wire::rpc::Rpc;
use clew_tunnel::x25519::{Public, Secret};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use super::{Line, MILLISECOND, START, Step, address, now, secret};

/// A server, and a client with a tunnel that keeps to no rule.
pub struct Hosting {
    now: u64,
    rng: ChaCha20Rng,
    server: Server,
    line: Line,
    client: Public,
    announced: u8,
    from: u8,
    connections: Vec<ConnectionId>,
    requests: Vec<(TunnelId, u64)>,
}

impl Hosting {
    pub fn new(kind: u8) -> Self {
        let mut rng = ChaCha20Rng::from_seed([kind; 32]);
        let mut config = server::Config::new(vec![address(1)]);
        config.authenticators = Authenticators(3);
        (config.is_directory, config.is_name_service) = (kind & 2 != 0, kind & 4 != 0);
        (config.w, config.limits.tunnels) = (2, 4);
        let server = Server::new(secret(), config, [kind; 32], now(0, &mut rng))
            .expect("a good configuration");
        let body = server.record().ecert.body;
        let to = if kind & 8 != 0 {
            body.boxing
        } else {
            body.ephemeral
        };
        let own = Secret::from_bytes([9; 32]);
        let key = keys::shared(&own, &to).expect("a good key");
        let mut hosting = Self {
            now: MILLISECOND,
            rng,
            server,
            line: Line {
                tid: Tid::from_random([0; 8]),
                key,
                nonce: START,
                side: Side::Client,
                acked: 0,
                next: 256,
            },
            client: keys::public(&own),
            announced: 0,
            from: 2,
            connections: Vec::new(),
            requests: Vec::new(),
        };
        let first = hosting.initiation((0, 0), &[]);
        hosting.hand(2, first);
        hosting
    }

    fn initiation(&mut self, numbers: (u32, u32), more: &[u8]) -> Vec<u8> {
        let mut rpcs = Vec::new();
        let tid = [self.announced + 1; 8];
        let next = Rpc::NextTid {
            tid,
            key: self.client,
        };
        next.write(&mut rpcs).expect("an RPC");
        rpcs.extend_from_slice(&more[..more.len().min(740)]);
        self.line.seal(Some(self.client), numbers, &rpcs, 1_024)
    }

    pub fn step(&mut self, step: &Step<'_>) {
        let numbers = step.numbers(self.line.next, self.line.acked);
        match step.what % 8 {
            0 => {
                let mut garbage = step.bytes.to_vec();
                // A TID and flags that mean something.
                for (byte, tid) in garbage.iter_mut().zip(self.line.tid.as_bytes()) {
                    *byte = *tid;
                }
                if let Some(flags) = garbage.first_mut() {
                    *flags |= step.a & 0xc0;
                }
                self.hand(step.b, garbage);
            }
            1 | 2 => {
                let packet = self.line.seal(None, numbers, step.bytes, 0);
                if numbers.0 == self.line.next && !step.bytes.is_empty() {
                    self.line.next += 1;
                }
                self.hand(self.from, packet);
            }
            3 => {
                if self.announced < 0x3e && step.b & 1 == 0 {
                    self.announced += 1;
                    self.line.tid = Tid::from_random([self.announced; 8]);
                    self.line.key = keys::next(&self.line.key);
                    self.client = keys::decoy([self.announced; 32]);
                    self.line.nonce = self.line.nonce.max(START + self.now);
                }
                let packet = self.initiation(numbers, step.bytes);
                self.hand(self.from, packet);
            }
            4 => self.from = step.a % 16,
            5 => self.wait(step.time()),
            _ => self.program(step),
        }
        self.check();
    }

    fn program(&mut self, step: &Step<'_>) {
        let place = usize::from(step.b) % self.connections.len().max(1);
        if let Some(connection) = self.connections.get(place).copied() {
            match step.a % 6 {
                0 => drop(self.server.decide(connection, Ok(()))),
                1 => drop(self.server.decide(connection, Err(Reason::NotAuthorised))),
                2 => drop(
                    self.server
                        .write(connection, "say", |call| call.bytes(step.bytes)),
                ),
                3 => drop(self.server.read(connection, |_| {})),
                4 => self.server.close(connection),
                _ => {}
            }
        }
        if let Some((tunnel, number)) = self.requests.pop() {
            let reply = match step.b % 3 {
                0 => Reply::Taken,
                1 => Reply::Record(Box::new(self.server.record())),
                _ => Reply::Refused(Reason::UnknownHost),
            };
            self.server.reply(tunnel, number, reply);
        }
        self.settle();
    }

    fn hand(&mut self, from: u8, mut bytes: Vec<u8>) {
        let datagram = Datagram {
            peer: address(from),
            bytes: &mut bytes,
        };
        self.server
            .receive(now(self.now, &mut self.rng), [datagram]);
        self.settle();
    }

    fn settle(&mut self) {
        let mut out = Outgoing::new(64);
        for round in 0.. {
            assert!(round < 10_000, "it never has done");
            let mut jobs = self.server.jobs();
            let has_jobs = !jobs.is_empty();
            jobs.run();
            self.server.complete(now(self.now, &mut self.rng), jobs);
            while let Some(event) = self.server.event() {
                match event {
                    Event::Create(create) => self.connections.push(create.connection),
                    Event::Request { tunnel, number, .. } => self.requests.push((tunnel, number)),
                    _ => {}
                }
            }
            out.clear();
            let has_more = self.server.transmit(now(self.now, &mut self.rng), &mut out);
            for run in out.runs() {
                for packet in run.bytes.chunks(run.segment) {
                    self.line.hear(&mut packet.to_vec());
                }
            }
            if !has_jobs && !has_more && out.is_empty() {
                return;
            }
        }
    }

    pub fn wait(&mut self, time: u64) {
        let until = self.now.saturating_add(time);
        let mut at_once = 0;
        loop {
            let due = self.server.due(&now(self.now, &mut self.rng)).as_nanos();
            if due > until {
                break;
            }
            at_once = if due <= self.now { at_once + 1 } else { 0 };
            assert!(at_once < 100, "due again and again");
            self.now = self.now.max(due);
            self.server.tick(now(self.now, &mut self.rng));
            self.settle();
        }
        self.now = until;
        self.check();
    }

    fn check(&self) {
        let load = self.server.load();
        assert_eq!(load.tids[0], load.tids[1], "{load:?}");
        assert!(
            load.tunnels <= 4 && load.connections <= CONNECTIONS_MAX,
            "{load:?}"
        );
        assert!(
            load.held <= AHEAD_TOTAL && load.granted <= GRANT as usize,
            "{load:?}"
        );
        assert!(
            load.control <= CONTROL_MAX + 4_096 && load.ready == 0,
            "{load:?}"
        );
    }
}
