//! The peer as client, and as a server that registers; our servers as directory, name server and host.

use std::net::SocketAddr;

use clew_tunnel::Reason;
use clew_tunnel::engine::event::{ConnectionId, Event, User};
use clew_tunnel::engine::server::{Config, Server};
use clew_tunnel::keys;
use clew_tunnel::limits::REKEY;
use clew_tunnel::record::{Authenticators, Cert, CertBody, ServerSecret, SigningSecret};
use clew_tunnel::wire::packet::Side;
use clew_tunnel::x25519::{Public, Secret};
use sha2::{Digest, Sha256};

use crate::adapter::{Adapter, hex, tids, unhex};
use crate::child::Peer;
use crate::driver::{Clock, Node, wall};
use crate::epoch::Speaker;
use crate::keylog::{KeyLog, Recorder, system_random};
use crate::peer_cert::Book;
use crate::program::Program;
use crate::run::{LOSS, LOSSY, Places, Report, Run};
use crate::session::Session;

const DIRECTORY: usize = 0;
const HOST: usize = 1;

/// More bytes than a window is at first.
const BLOBS: usize = 64;
const BLOB: usize = 400;

struct Story {
    run: Run<Server>,
    program: Program,
}

/// All of it.
pub fn run(places: &Places<'_>) -> Result<Report, String> {
    println!("the peer as client, our servers as directory, name server and host");
    let mut story = Story::begin(places)?;
    let connection = story.first_packet()?;
    story.others(connection)?;
    story.windows()?;
    story.losses()?;
    story.rekeys()?;
    story.moves(connection)?;
    story.registers()?;
    story.closing()?;
    Ok(story.run.finish())
}

/// The S' that a server makes first, as `engine/server/keys.rs` has it.
fn first_ephemeral(seed: &[u8; 32]) -> Secret {
    let hash = Sha256::new().chain_update(b"clew-mlt-seed-s'");
    Secret::from_bytes(hash.chain_update(seed).finalize().into())
}

/// A server of ours with its adapter, which is where the peer finds it.
fn node(hostname: &str, is_directory: bool) -> Result<Node<Server>, String> {
    let reason = |reason| format!("{hostname}: {reason:?}");
    let log = KeyLog::default();
    let mut clock = Clock::new(Recorder::new(log.clone())?);
    let signing = SigningSecret::from_seed(&system_random()?);
    let boxing = Secret::from_bytes(system_random()?);
    let now = wall().as_millis();
    let body = CertBody {
        issuer: signing.public(),
        signing: signing.public(),
        boxing: keys::public(&boxing),
        start: now - 1_000,
        end: now + 86_400_000,
        hostname: hostname.into(),
    };
    let cert = Cert::sign(body, &signing).map_err(reason)?;
    let book = Book {
        stand_in: SigningSecret::from_seed(&system_random()?),
        own: vec![SigningSecret::from_seed(signing.seed())],
    };
    let mut adapter = Adapter::new(Side::Server, log, book)?;
    let mut config = Config::new(vec![adapter.address()?]);
    config.authenticators = Authenticators::BOX;
    config.is_directory = is_directory;
    config.is_name_service = is_directory;
    if is_directory {
        adapter.secrets.push(Secret::from_bytes(*boxing.as_bytes()));
    }
    let secret = ServerSecret {
        signing,
        boxing,
        cert,
    };
    let seed = system_random()?;
    let engine = Server::new(secret, config, seed, clock.now()).map_err(reason)?;
    let ephemeral = first_ephemeral(&seed);
    if keys::public(&ephemeral) != engine.record().ecert.body.ephemeral {
        return Err("our server's S' is not made of its seed".into());
    }
    adapter.secrets.push(ephemeral);
    Ok(Node {
        engine,
        clock,
        adapter,
    })
}

impl Story {
    fn begin(places: &Places<'_>) -> Result<Self, String> {
        let mut nodes = vec![
            node("directory.example", true)?,
            node("files.example", false)?,
        ];
        let record = nodes[HOST].engine.record();
        let (host, _) = nodes[HOST].adapter.book.to_peer(&record)?;
        let directory = &mut nodes[DIRECTORY];
        let (cert, _) = directory.adapter.book.to_peer(&directory.engine.record())?;
        // The directory gives the host's record too, in the peer's form.
        let seed = *nodes[HOST].adapter.book.own[0].seed();
        let directory = &mut nodes[DIRECTORY];
        directory
            .adapter
            .book
            .own
            .push(SigningSecret::from_seed(&seed));
        let port = directory.adapter.address()?.port();
        let arguments = [port.to_string(), hex(&cert), hex(&host)];
        let script = places.scripts.join("client.js");
        let peer = Peer::start(&script, &arguments, &places.diaries.join("client.log"))?;
        let run = Run {
            nodes,
            peer,
            said: Vec::new(),
            report: Report::default(),
        };
        let program = Program {
            record: Some(record),
            ..Program::default()
        };
        Ok(Self { run, program })
    }

    fn until(
        &mut self,
        milliseconds: u64,
        mut is_done: impl FnMut(&Program, &Run<Server>) -> bool,
    ) -> bool {
        let program = std::cell::RefCell::new(std::mem::take(&mut self.program));
        let done = self.run.until(
            milliseconds,
            |node, _, event| program.borrow_mut().hear(node, event),
            |run| {
                let mut program = program.borrow_mut();
                if program.user.is_none() {
                    program.user = user(&run.said);
                }
                is_done(&program, run)
            },
        );
        self.program = program.into_inner();
        done
    }

    /// Until everything is acknowledged. The peer dies of an ack for a connection that it has closed.
    fn quiet(&mut self) {
        self.until(150, |_, _| false);
    }

    fn check(&mut self, what: &str, is_good: bool) {
        self.run.report.check(what, is_good);
    }

    fn until_said(&mut self, line: &str) -> bool {
        self.until(5_000, |_, run| run.has_said(line))
    }

    fn heard(&self, place: usize, name: &str) -> bool {
        let heard = (Speaker::Peer, name.into());
        self.run.nodes[place].adapter.tally.contains_key(&heard)
    }

    /// Pings, and waits for the pong.
    fn ping(&mut self, x: u32) -> Result<bool, String> {
        self.run.peer.tell(&format!("ping {x}"))?;
        Ok(self.until_said(&format!("pong {x}")))
    }

    fn first_packet(&mut self) -> Result<ConnectionId, String> {
        let done = self.until_said("domainservice");
        self.check(
            "T1: the peer asks our directory for its own record, and verifies it",
            done,
        );
        let done = self.until(5_000, |program, _| program.created().is_some());
        self.check(
            "T2: it asks for the host's, verifies that, and opens T3 under our S'",
            done,
        );
        let done = self.until_said("pong 42");
        let acked = self.run.has_said("acked 1");
        self.check(
            "T3: createAuth and ping in its first packet; ack and pong",
            done && acked,
        );
        let is_user = self.program.events.iter().any(|event| match event {
            Event::Create(create) => {
                matches!(create.user, User::Key { key, .. } if Some(key) == self.program.user)
            }
            _ => false,
        });
        self.check(
            "our engine verified its `box` authenticator, of its U",
            is_user,
        );
        let created = self.program.created();
        created.ok_or("the peer did not connect".into())
    }

    fn others(&mut self, connection: ConnectionId) -> Result<(), String> {
        self.run.peer.tell("create for_all")?;
        let done = self.until_said("acked 2 for_all");
        self.check("create for anyone: ack", done);
        self.run.peer.tell("create nowhere")?;
        let done = self.until_said("refused 3 nowhere");
        self.check("create of a service that there is not: refuse", done);
        self.run.peer.tell("create_false echo")?;
        let done = self.until_said("refused 4 echo");
        let counted = self.run.nodes[HOST]
            .engine
            .counters()
            .of(Reason::Authenticator);
        self.check(
            "createAuth of U with the authenticator of another: refuse",
            done && counted == 1,
        );
        self.quiet();
        let number = 2;
        self.run.nodes[HOST].engine.close(ConnectionId {
            number,
            ..connection
        });
        let done = self.until_said("closed 2");
        self.check("our server closes a connection: close", done);
        Ok(())
    }

    fn windows(&mut self) -> Result<(), String> {
        let mut done = true;
        for count in 1..=BLOBS {
            self.run.peer.tell(&format!("blobs 1 {BLOB}"))?;
            done = done && self.until_said(&format!("blob {count} {BLOB}"));
        }
        let bytes = BLOBS * BLOB;
        let what =
            format!("{BLOBS} RPCs and their answers, {bytes} bytes each way: windowSize both ways");
        self.check(&what, done && self.heard(HOST, "windowSize"));
        Ok(())
    }

    fn losses(&mut self) -> Result<(), String> {
        self.run.nodes[HOST].adapter.loss = LOSS;
        let mut done = true;
        for x in 200..200 + LOSSY {
            self.run.peer.tell(&format!("ping {x}"))?;
            let line = format!("pong {x}");
            done = done && self.until(30_000, |_, run| run.has_said(&line));
        }
        let adapter = &mut self.run.nodes[HOST].adapter;
        adapter.loss = 0;
        let lost = adapter.lost;
        self.check(
            &format!("{LOSSY} pings and pongs, of whose datagrams {lost} were lost"),
            done && lost > 0,
        );
        let pings = self.program.pings.iter().filter(|x| **x >= 200);
        self.check(
            "each of these pings arrived once, in order",
            pings.copied().eq(200..200 + LOSSY),
        );
        // What is under way from then arrives, or is sent again.
        self.until(5_000, |_, _| false);
        Ok(())
    }

    /// The peer's own rekey, and one that our server asks for.
    fn rekeys(&mut self) -> Result<(), String> {
        self.quiet();
        self.run.peer.tell("rekey")?;
        let done = self.epochs(2) && self.ping(100)? && self.is_under(1);
        self.check(
            "the peer rekeys: ping and pong under K_1, with the TID that was announced to us",
            done,
        );
        self.quiet();
        self.run.nodes[HOST].clock.skip(REKEY);
        let done = self.epochs(3) && self.ping(101)? && self.is_under(2);
        self.check(
            "ten minutes later our server says rekeyNow: ping and pong under K_2",
            done,
        );
        let all = self.run.nodes[HOST].adapter.sessions.last().map(tids);
        println!(
            "     TIDs (ours, the peer's): {:?}",
            all.map(|all| show(&all)).unwrap_or_default()
        );
        Ok(())
    }

    fn epochs(&mut self, count: usize) -> bool {
        self.until(8_000, |_, run| {
            let session = run.nodes[HOST].adapter.sessions.last();
            session.is_some_and(|session| session.epochs.len() == count)
        })
    }

    /// Whether the last RPCs came under this key.
    fn is_under(&self, epoch: usize) -> bool {
        let session = self.run.nodes[HOST].adapter.sessions.last();
        session.and_then(Session::answered_under) == Some(epoch)
    }

    /// As a NAT would, the adapter shows our server another address of the peer.
    fn moves(&mut self, connection: ConnectionId) -> Result<(), String> {
        let there = SocketAddr::from(([192, 0, 2, 9], 999));
        if let Some(session) = self.run.nodes[HOST].adapter.sessions.last_mut() {
            session.seen_at = there;
        }
        let done = self.ping(102)?;
        // Longer than an address may remain unproven.
        self.until(3_500, |_, _| false);
        let status = self.run.nodes[HOST].engine.status(connection.tunnel);
        let is_there = status.is_some_and(|status| status.address == there);
        let solved = self.heard(HOST, "puzzSoln");
        self.check(
            "another address: puzz of 0 bits, puzzSoln; the address is proven, and stays",
            done && solved && is_there,
        );
        Ok(())
    }

    fn registers(&mut self) -> Result<(), String> {
        self.run.peer.tell("advertise")?;
        let done = self.until_said("advertised peer.example");
        let is_taken = self.program.registered == ["peer.example"];
        self.check(
            "a server of the peer registers with our name server: giveCert, ok",
            done && is_taken,
        );
        Ok(())
    }

    fn closing(&mut self) -> Result<(), String> {
        self.quiet();
        let connection = self.program.created().ok_or("no connection")?;
        self.run.peer.tell("close")?;
        let closed = Event::Closed(connection);
        let done = self.until(5_000, |program, _| program.events.contains(&closed));
        self.check("the peer closes a connection: close", done);
        Ok(())
    }
}

fn user(said: &[String]) -> Option<Public> {
    let mut lines = said.iter().filter_map(|line| line.strip_prefix("user "));
    let bytes = unhex(lines.next()?)?;
    bytes.try_into().ok().map(Public)
}

fn show(
    all: &[(
        clew_tunnel::wire::packet::Tid,
        clew_tunnel::wire::packet::Tid,
    )],
) -> Vec<(String, String)> {
    let all = all.iter();
    all.map(|(ours, peers)| (hex(ours.as_bytes()), hex(peers.as_bytes())))
        .collect()
}
