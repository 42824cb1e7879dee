//! A server that knows the protocol and keeps to none of its rules, and a client alone before it.

use clew_tunnel::Reason;
use clew_tunnel::boxes::Key;
use clew_tunnel::engine::client::Client;
use clew_tunnel::engine::event::{ConnectionId, Event, TunnelId};
use clew_tunnel::engine::{Datagram, Outgoing};
use clew_tunnel::keys::{self, Nonce};
use clew_tunnel::puzzle::PuzzleSecret;
use clew_tunnel::record::{Authenticators, Ecert, EcertBody, Record, ServerSecret};
use clew_tunnel::wire::packet::{Header, Packet, Side, StaleKey, Tid};
use clew_tunnel::wire::plaintext::Plaintext;
use clew_tunnel::wire::rpc::{Rpc, next_tid};
use clew_tunnel::x25519::{Public, Secret};
use clew_wire::{Instant, WallTime};

use crate::engine::network::{client_address, server_address};
use crate::engine::node::{self, Clock, Engine, MS, START};
use crate::engine::rogue::rpcs;

/// The impostor has the secrets of the host, and S' of its own.
pub struct Impostor {
    pub now: u64,
    pub client: Client,
    pub clock: Clock,
    pub events: Vec<Event>,
    pub tunnel: TunnelId,
    pub connection: ConnectionId,
    pub secret: ServerSecret,
    pub ephemeral: Secret,
    pub tid: Tid,
    pub announced: Tid,
    pub public: Public,
    pub key: Key,
    pub nonce: u64,
    seq: u32,
}

pub fn record(
    secret: &ServerSecret,
    ephemeral: &Secret,
    later: u64,
    change: impl Fn(&mut EcertBody),
) -> Record {
    let start = START / MS + later;
    let mut body = EcertBody {
        authenticators: Authenticators::BOUND,
        w: 8,
        m: 1_024,
        signing: secret.signing.public(),
        boxing: secret.cert.body.boxing,
        ephemeral: keys::public(ephemeral),
        start,
        end: start + 270_000,
        addresses: vec![server_address()],
    };
    change(&mut body);
    let ecert = Ecert::sign(body, &secret.signing).expect("a good certificate");
    let cert = secret.cert.clone();
    Record { cert, ecert }
}

impl Impostor {
    /// A client that asks for one connection; its first packet was sent.
    pub fn new() -> Self {
        let secret = node::secret("files.example", 1);
        let ephemeral = Secret::from_bytes([0x21; 32]);
        let (mut client, mut clock) = node::client(5);
        let now = 1_000_000;
        let target = node::target(record(&secret, &ephemeral, 0, |_| {}));
        let tunnel = client.open(clock.at(now), target, 1).expect("an address");
        let connection = client.connect(&clock.at(now), tunnel, "echo", None);
        let connection = connection.expect("a connection");
        let mut impostor = Self {
            now,
            client,
            clock,
            events: Vec::new(),
            tunnel,
            connection,
            secret,
            ephemeral,
            tid: Tid::from_random([0; 8]),
            announced: Tid::from_random([0; 8]),
            public: Public([0; 32]),
            key: Key::from_bytes([0; 32]),
            nonce: 0,
            seq: 255,
        };
        let sent = impostor.settle();
        impostor.read_first(&sent[0]);
        impostor
    }

    /// One that was answered, and has its connection.
    pub fn opened() -> Self {
        let mut impostor = Self::new();
        let ack = rpcs(&[Rpc::Ack { connection: 1 }]);
        let _ = impostor.say(&ack);
        assert!(matches!(impostor.events[0], Event::Opened(_)));
        impostor
    }

    pub fn read_first(&mut self, packet: &[u8]) {
        let mut bytes = packet.to_vec();
        let Ok(Packet::Initiation(mut initiation)) = Packet::parse(&mut bytes, 0) else {
            unreachable!("no first packet");
        };
        let key = keys::shared(&self.ephemeral, &initiation.key).expect("a key");
        (self.tid, self.public) = (initiation.boxed.tid, initiation.key);
        self.nonce = initiation.boxed.nonce.t();
        assert!(
            initiation.boxed.decrypt(&keys::stream(&key, self.tid)),
            "for this S'"
        );
        let text = initiation.boxed.into_text();
        let mut calls = Plaintext::parse(text).expect("a plaintext").calls;
        self.announced = next_tid(calls.next().as_ref(), &self.public).expect("a TID");
        self.key = key;
    }

    pub fn settle(&mut self) -> Vec<Vec<u8>> {
        let mut sent = Vec::new();
        let mut out = Outgoing::new(16);
        for round in 0.. {
            assert!(round < 100_000, "it never has done");
            let computed = Engine::compute(&mut self.client, self.clock.at(self.now));
            while let Some(event) = self.client.event() {
                self.events.push(event);
            }
            out.clear();
            let has_more = self.client.transmit(self.clock.at(self.now), &mut out);
            for run in out.runs() {
                assert_eq!(run.to, server_address());
                sent.extend(run.bytes.chunks(run.segment).map(<[u8]>::to_vec));
            }
            if !computed && !has_more && out.is_empty() {
                break;
            }
        }
        let load = self.client.load();
        assert_eq!(load.tids[0], load.tids[1], "{load:?}");
        assert!(load.work <= 1 && load.ready == 0);
        sent
    }

    /// Lets time pass; when what was sent.
    pub fn wait(&mut self, time: u64) -> Vec<(u64, Vec<u8>)> {
        let until = self.now + time;
        let mut sent = Vec::new();
        let mut at_once = 0;
        while let Some(due) = self.client.due().map(Instant::as_nanos)
            && due <= until
        {
            at_once = if due <= self.now { at_once + 1 } else { 0 };
            assert!(at_once < 100, "due again and again at {}", self.now);
            self.now = self.now.max(due);
            self.client.tick(self.clock.at(self.now));
            let at = self.now;
            sent.extend(self.settle().into_iter().map(|bytes| (at, bytes)));
        }
        self.now = until;
        sent
    }

    pub fn hand(&mut self, packet: &[u8]) -> Vec<Vec<u8>> {
        let mut bytes = packet.to_vec();
        let all = vec![Datagram {
            peer: server_address(),
            bytes: &mut bytes,
        }];
        Engine::receive(&mut self.client, self.clock.at(self.now), all);
        self.settle()
    }

    /// A packet under the first key.
    pub fn packet(&mut self, numbers: (u32, u32), rpcs: &[u8]) -> Vec<u8> {
        self.nonce += 1;
        let header = Header {
            tid: self.tid,
            nonce: Nonce::new(self.nonce, Side::Server),
            initiation: None,
        };
        let stream = keys::stream(&self.key, self.tid);
        let mut out = Vec::new();
        let sealed = header.seal(numbers, rpcs, 0, &stream, &mut out);
        sealed.expect("not too long");
        out
    }

    /// Says this in the next counted packet.
    pub fn say(&mut self, rpcs: &[u8]) -> Vec<Vec<u8>> {
        self.seq += 1;
        let packet = self.packet((self.seq, 0), rpcs);
        self.hand(&packet)
    }

    pub fn stale(&self, nonce: u64, record: &Record) -> Vec<u8> {
        let mut out = Vec::new();
        let (tid, ecert) = (self.tid, record.ecert.to_bytes());
        let nonce = Nonce::new(nonce, Side::Server);
        StaleKey {
            tid,
            nonce,
            ecert: &ecert,
        }
        .write(&mut out);
        out
    }

    pub fn interrogation(&self, n: u64, w: u8) -> Vec<u8> {
        let k = PuzzleSecret::from_bytes([1; 32]);
        let whom = (self.tid, &self.public, client_address(1));
        let asked = k.interrogation(
            whom,
            &keys::public(&self.ephemeral),
            WallTime::from_nanos(START + n),
            w,
        );
        asked.to_bytes().to_vec()
    }

    pub fn counted(&self, reason: Reason) -> u64 {
        self.client.counters().of(reason)
    }

    pub fn ended(&self, reason: Reason) -> bool {
        self.events
            .contains(&Event::Gone(self.tunnel, Some(reason)))
    }
}
