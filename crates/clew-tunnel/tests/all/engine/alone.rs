//! A server alone, to which packets are handed one by one.

use std::net::SocketAddr;

use clew_tunnel::Reason;
use clew_tunnel::engine::event::Event;
use clew_tunnel::engine::server::{Config, Server};
use clew_tunnel::engine::{Datagram, Outgoing};
use clew_tunnel::x25519::Public;

use crate::engine::network::server_address;
use crate::engine::node::{self, Clock, Echo, Engine, SECOND, START};
use crate::engine::paths::solution;
use crate::engine::rogue::{Heard, Rogue};
use crate::engine::watch::Watch;

/// Something that a server sent.
pub type Said = (SocketAddr, Vec<u8>);

/// A server with its program.
pub struct Alone {
    pub now: u64,
    pub server: Server,
    pub clock: Clock,
    pub events: Vec<Event>,
    /// Bytes that came from each address, and went there.
    pub bytes: std::collections::HashMap<SocketAddr, (usize, usize)>,
    /// Connections are accepted and answered.
    pub accepts: bool,
    /// The program does nothing.
    pub is_idle: bool,
    echo: Echo,
}

/// Where the rogue is.
pub fn rogue_address() -> SocketAddr {
    "198.51.100.9:7000".parse().expect("an address")
}

impl Alone {
    pub fn new() -> Self {
        Self::with(Config::new(vec![server_address()]))
    }

    pub fn with(config: Config) -> Self {
        let (server, clock) = node::server(config, 77);
        Self {
            now: 1_000_000,
            server,
            clock,
            events: Vec::new(),
            bytes: std::collections::HashMap::new(),
            accepts: true,
            is_idle: false,
            echo: Echo::default(),
        }
    }

    /// The time of day, in nanoseconds.
    pub const fn wall(&self) -> u64 {
        START + self.now
    }

    /// S'.
    pub fn ephemeral(&self) -> Public {
        self.server.record().ecert.body.ephemeral
    }

    /// A rogue that is not known here yet.
    pub fn rogue(&self, n: u8) -> Rogue {
        Rogue::new(&self.ephemeral(), n, self.wall())
    }

    /// A rogue with an open tunnel, whose sequence begins at 256.
    pub fn opened(&mut self, n: u8) -> (Rogue, Heard) {
        let mut rogue = self.rogue(n);
        let first = rogue.first((0, 0), &[]);
        let said = self.hand(&first);
        let heard = rogue.open(&said[0].1).expect("an answer");
        (rogue, heard)
    }

    /// A rogue whose tunnel is open, and its address proven: it has answered a puzz.
    pub fn proven(&mut self, n: u8) -> (Rogue, Heard) {
        let (mut rogue, heard) = self.opened(n);
        self.prove(&mut rogue);
        (rogue, heard)
    }

    /// A rogue shows that it receives at its address.
    pub fn prove(&mut self, rogue: &mut Rogue) {
        let said = self.wait(SECOND);
        let answer = Self::heard(rogue, &said).iter().find_map(solution);
        let _ = self.hand(&rogue.packet((0, 0), &answer.expect("a puzz")));
        assert_eq!(self.counted(Reason::BadSolution), 0);
    }

    pub fn counted(&self, reason: Reason) -> u64 {
        self.server.counters().of(reason)
    }

    /// Hands it a packet from the rogue's address; what it says.
    pub fn hand(&mut self, packet: &[u8]) -> Vec<Said> {
        self.hand_from(rogue_address(), packet)
    }

    pub fn hand_from(&mut self, from: SocketAddr, packet: &[u8]) -> Vec<Said> {
        self.hand_all(&[(from, packet.to_vec())])
    }

    /// Hands it several in one call.
    pub fn hand_all(&mut self, packets: &[Said]) -> Vec<Said> {
        let mut packets = packets.to_vec();
        for (from, packet) in &packets {
            self.bytes.entry(*from).or_default().0 += packet.len();
        }
        let all = packets.iter_mut();
        let all = all.map(|(peer, bytes)| Datagram { peer: *peer, bytes });
        let all = all.collect();
        Engine::receive(&mut self.server, self.clock.at(self.now), all);
        self.settle()
    }

    /// Lets it do what it has to do now.
    pub fn settle(&mut self) -> Vec<Said> {
        let mut said = Vec::new();
        let mut out = Outgoing::new(16);
        for round in 0.. {
            assert!(round < 1_000_000, "it never has done");
            let computed = self.server.compute(self.clock.at(self.now));
            while let Some(event) = self.server.event() {
                if !self.is_idle {
                    self.hear(&event);
                }
                self.events.push(event);
            }
            out.clear();
            let has_more = self.server.transmit(self.clock.at(self.now), &mut out);
            for run in out.runs() {
                let all = run.bytes.chunks(run.segment);
                said.extend(all.map(|bytes| (run.to, bytes.to_vec())));
            }
            if !computed && !has_more && out.is_empty() {
                break;
            }
        }
        for (to, bytes) in &said {
            self.bytes.entry(*to).or_default().1 += bytes.len();
        }
        Watch::server(&self.server);
        said
    }

    fn hear(&mut self, event: &Event) {
        match event {
            Event::Create(create) if !self.accepts => {
                let refused = Err(Reason::NotAuthorised);
                assert!(self.server.decide(create.connection, refused));
            }
            event => self.echo.hear(&mut self.server, event),
        }
    }

    /// Lets time pass; what it says by itself.
    pub fn wait(&mut self, time: u64) -> Vec<Said> {
        let until = self.now + time;
        let mut said = self.settle();
        let mut at_once = 0;
        loop {
            let due = self.server.due(&self.clock.at(self.now)).as_nanos();
            if due > until {
                break;
            }
            at_once = if due <= self.now { at_once + 1 } else { 0 };
            assert!(at_once < 100, "due again and again at {}", self.now);
            self.now = self.now.max(due);
            self.server.tick(self.clock.at(self.now));
            said.extend(self.settle());
        }
        self.now = until;
        said
    }

    /// What of it a rogue understands.
    pub fn heard(rogue: &Rogue, said: &[Said]) -> Vec<Heard> {
        said.iter()
            .filter_map(|(_, bytes)| rogue.open(bytes))
            .collect()
    }

    /// Whether a tunnel ended for this reason.
    pub fn ended(&self, reason: Reason) -> bool {
        let ends = |event: &Event| matches!(event, Event::Gone(_, why) if *why == Some(reason));
        self.events.iter().any(ends)
    }
}
