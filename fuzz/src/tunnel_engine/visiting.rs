//! A client, and a server that keeps to no rule.

use clew_tunnel::boxes::Key;
use clew_tunnel::engine::Instant;
use clew_tunnel::engine::client::{self, Client, Target};
use clew_tunnel::engine::event::{ConnectionId, TunnelId};
use clew_tunnel::engine::{Datagram, Outgoing};
use clew_tunnel::keys;
use clew_tunnel::limits::{AHEAD_TOTAL, GRANT};
use clew_tunnel::record::{Authenticators, Ecert, EcertBody, Identity, Record};
use clew_tunnel::wire::packet::{Packet, Side, Tid};
use clew_tunnel::wire::plaintext::Plaintext;
use clew_tunnel::wire::rpc::next_tid;
use clew_tunnel::x25519::Secret;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use super::{Line, MILLISECOND, START, Step, address, now, secret};

/// A client, and a server that keeps to no rule.
pub struct Visiting {
    now: u64,
    rng: ChaCha20Rng,
    client: Client,
    tunnel: TunnelId,
    line: Line,
    ephemeral: Secret,
    announced: Tid,
    connections: Vec<ConnectionId>,
    socket: u32,
}

impl Visiting {
    pub fn new(kind: u8) -> Self {
        let mut rng = ChaCha20Rng::from_seed([kind; 32]);
        let secret = secret();
        let ephemeral = Secret::from_bytes([3; 32]);
        let body = EcertBody {
            authenticators: Authenticators(1 + kind % 3),
            w: 4,
            m: 1_024,
            signing: secret.signing.public(),
            boxing: secret.cert.body.boxing,
            ephemeral: keys::public(&ephemeral),
            start: START / MILLISECOND,
            end: START / MILLISECOND + 270_000,
            addresses: vec![address(1), address(2)],
        };
        let ecert = Ecert::sign(body, &secret.signing).expect("a good certificate");
        let record = Record {
            cert: secret.cert,
            ecert,
        };
        let mut client = Client::new(client::Config::default(), now(0, &mut rng));
        let target = Target::Host(Box::new(record));
        let tunnel = client
            .open(now(MILLISECOND, &mut rng), target, 1)
            .expect("an address");
        let mut visiting = Self {
            now: MILLISECOND,
            rng,
            client,
            tunnel,
            line: Line {
                tid: Tid::from_random([0; 8]),
                key: Key::from_bytes([0; 32]),
                nonce: START,
                side: Side::Server,
                acked: 0,
                next: 256,
            },
            ephemeral,
            announced: Tid::from_random([0; 8]),
            connections: Vec::new(),
            socket: 1,
        };
        visiting.settle();
        visiting
    }

    /// Reads an initiation packet: of a new tunnel, or of a rekey.
    fn read_initiation(&mut self, packet: &[u8]) {
        let mut bytes = packet.to_vec();
        let Ok(Packet::Initiation(mut initiation)) = Packet::parse(&mut bytes, 0) else {
            return;
        };
        let (tid, client) = (initiation.boxed.tid, initiation.key);
        let is_rekey = tid == self.announced;
        let key = if is_rekey {
            keys::next(&self.line.key)
        } else {
            keys::shared(&self.ephemeral, &client).expect("a key of the curve")
        };
        if !initiation.boxed.decrypt(&keys::stream(&key, tid)) {
            return;
        }
        let plaintext = Plaintext::parse(initiation.boxed.into_text()).expect("RPCs");
        let mut calls = plaintext.calls;
        self.announced = next_tid(calls.next().as_ref(), &client).expect("nextTid");
        (self.line.tid, self.line.key) = (tid, key);
        self.line.nonce = self.line.nonce.max(START + self.now);
    }

    pub fn step(&mut self, step: &Step<'_>) {
        let numbers = step.numbers(self.line.next, self.line.acked);
        match step.what % 8 {
            0 => {
                let mut garbage = step.bytes.to_vec();
                for (byte, tid) in garbage.iter_mut().zip(self.line.tid.as_bytes()) {
                    *byte = *tid;
                }
                if let Some(flags) = garbage.first_mut() {
                    *flags |= step.a & 0xc0;
                }
                self.hand(garbage);
            }
            1..=3 => {
                let packet = self.line.seal(None, numbers, step.bytes, 0);
                if numbers.0 == self.line.next && !step.bytes.is_empty() {
                    self.line.next += 1;
                }
                self.hand(packet);
            }
            4 | 5 => self.wait(step.time().min(40_000 * MILLISECOND)),
            _ => self.program(step),
        }
        self.check();
    }

    fn program(&mut self, step: &Step<'_>) {
        let place = usize::from(step.b) % self.connections.len().max(1);
        let connection = self.connections.get(place).copied();
        let (client, rng) = (&mut self.client, &mut self.rng);
        let clock = now(self.now, rng);
        match (step.a % 9, connection) {
            (0, _) => {
                let made = client.connect(&clock, self.tunnel, "files", None);
                self.connections.extend(made);
            }
            (1, Some(id)) => drop(client.write(id, "say", |call| call.bytes(step.bytes))),
            (2, Some(id)) => drop(client.read(id, |_| {})),
            (3, Some(id)) => client.close(id),
            (4, _) => client.rekey_now(clock, self.tunnel),
            (5, _) => {
                self.socket += 1;
                client.moved(clock, self.tunnel, self.socket);
            }
            (6, _) => {
                let identity = Identity {
                    signing: None,
                    hostname: "files.example",
                };
                client.request(self.tunnel, &identity).expect("an identity");
            }
            (7, _) if step.b == 7 => client.close_tunnel(clock, self.tunnel),
            _ => {}
        }
        self.settle();
    }

    fn hand(&mut self, mut bytes: Vec<u8>) {
        let datagram = Datagram {
            peer: address(1),
            bytes: &mut bytes,
        };
        self.client
            .receive(now(self.now, &mut self.rng), [datagram]);
        self.settle();
    }

    fn settle(&mut self) {
        let mut out = Outgoing::new(64);
        for round in 0.. {
            assert!(round < 10_000, "it never has done");
            let mut jobs = self.client.jobs();
            let has_jobs = !jobs.is_empty();
            // A puzzle of 22 bits would take all the time there is: it waits.
            jobs.run();
            self.client.complete(now(self.now, &mut self.rng), jobs);
            while self.client.event().is_some() {}
            out.clear();
            let has_more = self.client.transmit(now(self.now, &mut self.rng), &mut out);
            let mut heard = Vec::new();
            for run in out.runs() {
                heard.extend(run.bytes.chunks(run.segment).map(<[u8]>::to_vec));
            }
            for mut packet in heard {
                self.read_initiation(&packet);
                self.line.hear(&mut packet);
            }
            let is_still = !has_more && out.is_empty();
            if is_still && (!has_jobs || round > 20) {
                return;
            }
        }
    }

    pub fn wait(&mut self, time: u64) {
        let until = self.now + time;
        let mut at_once = 0;
        while let Some(due) = self.client.due().map(Instant::as_nanos)
            && due <= until
        {
            at_once = if due <= self.now { at_once + 1 } else { 0 };
            assert!(at_once < 100, "due again and again");
            self.now = self.now.max(due);
            self.client.tick(now(self.now, &mut self.rng));
            self.settle();
        }
        self.now = until;
        self.check();
    }

    fn check(&self) {
        let load = self.client.load();
        assert_eq!(load.tids[0], load.tids[1], "{load:?}");
        assert!(load.work <= 1 && load.ready == 0, "{load:?}");
        assert!(
            load.held <= AHEAD_TOTAL && load.granted <= GRANT as usize,
            "{load:?}"
        );
    }
}
