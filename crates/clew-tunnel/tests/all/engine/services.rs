//! Directory and name server: T1, T2 and T3 (`spec/tunnel.md` section 12).

use std::time::Duration;

use clew_wire::WallTime;
use std::net::SocketAddr;

use clew_tunnel::Reason;
use clew_tunnel::engine::client::{Client, Target};
use clew_tunnel::engine::event::{Answer, Event, Reply, Request, TunnelId};
use clew_tunnel::engine::server::{Config, Server};
use clew_tunnel::engine::{Datagram, Outgoing};
use clew_tunnel::record::{Identity, Record, Wanted};
use clew_tunnel::wire::rpc::Rpc;

use crate::engine::alone::Alone;
use crate::engine::network::{client_address, server_address};
use crate::engine::node::{self, Clock, Echo, Engine, MS, SECOND, START, target};
use crate::engine::rogue::rpcs;

/// A host of the small network.
struct Host {
    address: SocketAddr,
    server: Server,
    clock: Clock,
    echo: Echo,
    /// Records that were registered, if it is a directory or a name server.
    known: Vec<Record>,
}

/// A directory that is name server too, a server, and a client, on a network that loses nothing.
struct TestNetwork {
    now: u64,
    hosts: Vec<Host>,
    client: Client,
    clock: Clock,
    events: Vec<Event>,
}

fn host(name: &str, n: u8, is_directory: bool) -> Host {
    let address = SocketAddr::from(([192, 0, 2, n], 4433));
    let mut config = Config::new(vec![address]);
    (config.is_directory, config.is_name_service) = (is_directory, is_directory);
    let mut clock = Clock::new(n.into(), 0);
    let secret = node::secret(name, n);
    let server = Server::new(secret, config, [n; 32], clock.at(0)).expect("a good configuration");
    Host {
        address,
        server,
        clock,
        echo: Echo::default(),
        known: Vec::new(),
    }
}

impl Host {
    fn hear(&mut self, event: &Event) {
        let Event::Request {
            tunnel,
            number,
            request,
        } = event
        else {
            return self.echo.hear(&mut self.server, event);
        };
        let reply = match request {
            Request::Lookup { hostname, .. } => {
                let named = |r: &&Record| r.cert.body.hostname == hostname.as_bytes();
                let found = self.known.iter().rev().find(named).cloned();
                found.map_or(Reply::Refused(Reason::UnknownHost), |record| {
                    Reply::Record(Box::new(record))
                })
            }
            Request::Register(record) => {
                self.known.push((**record).clone());
                Reply::Taken
            }
        };
        assert!(self.server.reply(*tunnel, *number, reply));
    }
}

/// T1: the server of a record, by nothing that ends before its certificate.
fn by_long_term_key(record: &Record) -> Target {
    Target::Directory {
        addresses: record.ecert.body.addresses.clone(),
        m: record.ecert.body.m,
        w: record.ecert.body.w,
        boxing: record.cert.body.boxing,
    }
}

impl TestNetwork {
    fn new() -> Self {
        let (client, clock) = node::client(9);
        Self {
            now: 1_000_000,
            hosts: vec![
                host("directory.example", 1, true),
                host("files.example", 2, false),
            ],
            client,
            clock,
            events: Vec::new(),
        }
    }

    /// One way of everything that is to be sent. Whether there was anything.
    fn pass(&mut self) -> bool {
        let mut out = Outgoing::new(256);
        let mut any = Engine::compute(&mut self.client, self.clock.at(self.now));
        while let Some(event) = self.client.event() {
            self.events.push(event);
        }
        self.client.transmit(self.clock.at(self.now), &mut out);
        for run in out.runs() {
            for bytes in run.bytes.chunks(run.segment) {
                let host = self.hosts.iter_mut().find(|host| host.address == run.to);
                let host = host.expect("a host of this network");
                let mut bytes = bytes.to_vec();
                let peer = client_address(run.from);
                let all = vec![Datagram {
                    peer,
                    bytes: &mut bytes,
                }];
                Engine::receive(&mut host.server, host.clock.at(self.now), all);
                any = true;
            }
        }
        for host in &mut self.hosts {
            any |= Engine::compute(&mut host.server, host.clock.at(self.now));
            while let Some(event) = host.server.event() {
                host.hear(&event);
            }
            out.clear();
            host.server.transmit(host.clock.at(self.now), &mut out);
            for run in out.runs() {
                for bytes in run.bytes.chunks(run.segment) {
                    let mut bytes = bytes.to_vec();
                    let all = vec![Datagram {
                        peer: host.address,
                        bytes: &mut bytes,
                    }];
                    Engine::receive(&mut self.client, self.clock.at(self.now), all);
                    any = true;
                }
            }
        }
        any
    }

    fn run(&mut self, time: u64) {
        let until = self.now + time;
        while self.now < until {
            while self.pass() {}
            self.now += 5 * MS;
            self.client.tick(self.clock.at(self.now));
            for host in &mut self.hosts {
                host.server.tick(host.clock.at(self.now));
            }
        }
    }

    /// Time goes by without a packet.
    fn run_to(&mut self, then: u64) {
        while self.now < then {
            self.now += SECOND;
            self.run(5 * MS);
        }
    }

    fn open(&mut self, target: Target) -> TunnelId {
        let opened = self.client.open(self.clock.at(self.now), target, 1);
        opened.expect("an address")
    }

    /// Asks for the record of a host, and verifies it.
    fn ask(&mut self, tunnel: TunnelId, hostname: &str, by: &[u8; 32]) -> Option<Record> {
        let identity = Identity {
            signing: None,
            hostname,
        };
        assert_eq!(self.client.request(tunnel, &identity), Ok(true));
        self.run(50 * MS);
        let reply = self.events.iter().rev().find_map(|event| match event {
            Event::Reply { tunnel: of, reply } if *of == tunnel => Some(reply.clone()),
            _ => None,
        });
        let Some(Answer::Given(cert, ecert)) = reply else {
            assert_eq!(reply, Some(Answer::Refused));
            return None;
        };
        let record = Record::of(&cert, &ecert).expect("a record");
        let wanted = Wanted {
            hostname: Some(hostname),
            now: WallTime::from_nanos(START + self.now),
            cert_lifetime_max: Duration::from_secs(366 * 86_400),
        };
        let verified = wanted.verify(&record, |cert| cert.body.signing == *by);
        assert_eq!(verified, Ok(()));
        Some(record)
    }
}

#[test]
fn three_tunnels_lead_to_a_server_that_nobody_knew() {
    let mut network = TestNetwork::new();
    let directory = network.hosts[0].server.record();
    let files = network.hosts[1].server.record();
    network.hosts[0].known.push(files.clone());
    let first = network.open(by_long_term_key(&directory));
    let signing = directory.cert.body.signing;
    let d = network
        .ask(first, "directory.example", &signing)
        .expect("its own record");
    assert_eq!(d, directory);
    let second = network.open(target(d));
    let signing = files.cert.body.signing;
    assert_eq!(network.ask(second, "nobody.example", &signing), None);
    let s = network
        .ask(second, "files.example", &signing)
        .expect("a record");
    let third = network.open(target(s));
    let clock = network.clock.at(network.now);
    let talk = network
        .client
        .connect(&clock, third, "echo", None)
        .expect("a connection");
    let said = network
        .client
        .write(talk, "say", |call| call.bytes(b"at last"));
    assert_eq!(said, Ok(true));
    network.run(50 * MS);
    assert!(network.events.contains(&Event::Readable(talk)));
    // The first was closed by its answer, the others stay.
    assert!(network.events.contains(&Event::Gone(first, None)));
    network.run(11 * SECOND);
    assert_eq!(network.hosts[0].server.counters().of(Reason::Idle), 0);
    assert!(network.client.status(second).is_some() && network.client.status(third).is_some());
    assert_eq!(
        network.hosts[0].server.counters().of(Reason::UnknownHost),
        1
    );
}

#[test]
fn every_server_gives_its_own_record_to_who_has_an_old_one() {
    let mut network = TestNetwork::new();
    let old = network.hosts[1].server.record();
    // Both S' of the old record's time are gone, and it has ended.
    network.run_to(400 * SECOND);
    let first = network.open(by_long_term_key(&old));
    let signing = old.cert.body.signing;
    let newer = network.ask(first, "files.example", &signing);
    let newer = newer.expect("its own record");
    assert_eq!(newer.ecert.check_newer(&old.ecert), Ok(()));
    assert_ne!(newer.ecert.body.ephemeral, old.ecert.body.ephemeral);
    // Under the boxing key it gives nothing else.
    for asked in ["directory.example", "echo"] {
        let server = &network.hosts[1].server;
        let before = server.counters().of(Reason::NotAllowed);
        let tunnel = network.open(by_long_term_key(&old));
        if asked == "echo" {
            let clock = network.clock.at(network.now);
            let talk = network.client.connect(&clock, tunnel, asked, None);
            assert!(talk.is_ok());
        } else {
            let identity = Identity {
                signing: None,
                hostname: asked,
            };
            assert_eq!(network.client.request(tunnel, &identity), Ok(true));
        }
        network.run(50 * MS);
        let server = &network.hosts[1].server;
        assert_eq!(server.counters().of(Reason::NotAllowed), before + 1);
        assert!(network.client.status(tunnel).is_none(), "{asked}");
    }
}

/// A program need not be so quick that its question is in the first packet.
#[test]
fn a_tunnel_for_one_answer_waits_for_its_question() {
    let mut network = TestNetwork::new();
    let files = network.hosts[1].server.record();
    let first = network.open(by_long_term_key(&files));
    network.run(SECOND);
    let signing = files.cert.body.signing;
    let own = network.ask(first, "files.example", &signing);
    assert_eq!(own, Some(files));
    assert_eq!(network.client.tunnels(), 0, "it was for that answer");
}

#[test]
fn a_server_registers_its_record() {
    let mut network = TestNetwork::new();
    let directory = network.hosts[0].server.record();
    let files = network.hosts[1].server.record();
    let tunnel = network.open(target(directory));
    assert!(network.client.register(tunnel, &files));
    network.run(50 * MS);
    assert_eq!(network.hosts[0].known, [files]);
    let taken = Event::Reply {
        tunnel,
        reply: Answer::Taken,
    };
    assert!(network.events.contains(&taken));
    // A host that is no name server takes none.
    let record = network.hosts[1].server.record();
    let other = network.open(target(record.clone()));
    assert!(network.client.register(other, &record));
    network.run(50 * MS);
    let refused = Event::Reply {
        tunnel: other,
        reply: Answer::Refused,
    };
    assert!(network.events.contains(&refused));
    assert_eq!(network.hosts[1].server.counters().of(Reason::NotAllowed), 1);
}

#[test]
fn what_programs_may_wait_for_is_bounded() {
    let mut network = TestNetwork::new();
    let directory = network.hosts[0].server.record();
    let tunnel = network.open(target(directory));
    let identity = Identity {
        signing: None,
        hostname: "files.example",
    };
    let mut taken = 0;
    while network.client.request(tunnel, &identity) == Ok(true) {
        taken += 1;
        assert!(taken <= 64, "LOOKUPS");
    }
    network.run(SECOND);
    let refused = Event::Reply {
        tunnel,
        reply: Answer::Refused,
    };
    let answered = network
        .events
        .iter()
        .filter(|event| **event == refused)
        .count();
    assert_eq!((taken, answered), (64, 64));
}

#[test]
fn a_record_that_is_none_is_refused_before_the_program_is_asked() {
    let mut config = Config::new(vec![server_address()]);
    config.is_name_service = true;
    let mut alone = Alone::with(config);
    let mut rogue = alone.opened(3).0;
    let give = rpcs(&[Rpc::GiveCert {
        cert: &[1; 50],
        ecert: &[2; 50],
    }]);
    let said = alone.hand(&rogue.packet((256, 0), &give));
    assert_eq!(Alone::heard(&rogue, &said)[0].names, ["refuse"]);
    assert_eq!(alone.counted(Reason::RecordLength), 1);
}
