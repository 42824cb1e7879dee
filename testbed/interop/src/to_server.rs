//! Our client, and the peer as directory and server: T1, T2, T3.

use std::net::SocketAddr;
use std::time::Duration;

use clew_tunnel::engine::client::{Client, Config, Target, UserId};
use clew_tunnel::engine::event::{Answer, ConnectionId, Event, TunnelId};
use clew_tunnel::keys;
use clew_tunnel::record::{Identity, Record, SigningSecret, UserSecret, Wanted};
use clew_tunnel::wire::packet::Side;
use clew_tunnel::wire::values::Value;
use clew_tunnel::x25519::Secret;

use crate::adapter::{Adapter, hex, tids, unhex};
use crate::child::Peer;
use crate::driver::{Clock, Node, wall};
use crate::keylog::{KeyLog, Recorder, system_random};
use crate::peer_cert::{Book, PeerCert};
use crate::run::{LOSS, LOSSY, Places, Report, Run};

/// Blobs in each direction: more bytes than a window is at first. The peer gives them back one by one: with
/// more at once it stalls, with itself too (README.md).
const BLOBS: usize = 64;
const BLOB: usize = 400;

/// What our client heard.
#[derive(Default)]
struct Heard {
    events: Vec<Event>,
    pongs: Vec<u32>,
    blobs: usize,
    /// Notes that wait for room.
    unsent: usize,
}

impl Heard {
    fn hear(&mut self, node: &mut Node<Client>, event: Event) {
        match &event {
            Event::Readable(connection) => while self.read(&mut node.engine, *connection) {},
            Event::Writable(connection) => self.notes(&mut node.engine, *connection),
            _ => {}
        }
        self.events.push(event);
    }

    fn read(&mut self, client: &mut Client, connection: ConnectionId) -> bool {
        client.read(connection, |mut call| {
            match (call.name, call.arguments.next()) {
                ("pong", Some(Value::Number(x))) => self.pongs.push(x),
                ("blob", Some(Value::Bytes(bytes))) if bytes == [7; BLOB] => self.blobs += 1,
                _ => {}
            }
        })
    }

    fn notes(&mut self, client: &mut Client, connection: ConnectionId) {
        while self.unsent > 0
            && client.write(connection, "note", |call| call.bytes(&[7; BLOB])) == Ok(true)
        {
            self.unsent -= 1;
        }
    }

    fn given(&self, wanted: TunnelId) -> Option<(Vec<u8>, Vec<u8>)> {
        self.events.iter().find_map(|event| match event {
            Event::Reply {
                tunnel,
                reply: Answer::Given(cert, ecert),
            } if *tunnel == wanted => Some((cert.clone(), ecert.clone())),
            _ => None,
        })
    }

    fn has(&self, event: &Event) -> bool {
        self.events.contains(event)
    }
}

struct Story {
    run: Run<Client>,
    heard: Heard,
    user: UserId,
}

/// All of it.
pub fn run(places: &Places<'_>) -> Result<Report, String> {
    println!("our client, the peer as directory and server");
    let mut story = Story::begin(places)?;
    let (directory, host) = story.introduction()?;
    let first = Record::of(&directory.cert, &directory.ecert).map_err(|e| format!("{e:?}"))?;
    let found = story.look_up(first, &host)?;
    let (tunnel, connection) = story.first_packet(&found)?;
    story.others(tunnel)?;
    story.windows(connection)?;
    story.losses(connection);
    story.puzzle(connection)?;
    for _ in 0..2 {
        story.rekey(connection)?;
    }
    story.closing(tunnel, connection)?;
    story.lost_first(&found, (0, 1), 44)?;
    story.lost_first(&found, (1, 0), 45)?;
    story.bad_authenticator(&found)?;
    Ok(story.run.finish())
}

/// What T1 gave.
struct Given {
    cert: Vec<u8>,
    ecert: Vec<u8>,
}

impl Story {
    fn begin(places: &Places<'_>) -> Result<Self, String> {
        let log = KeyLog::default();
        let mut clock = Clock::new(Recorder::new(log.clone())?);
        let book = Book {
            stand_in: SigningSecret::from_seed(&system_random()?),
            own: Vec::new(),
        };
        let adapter = Adapter::new(Side::Client, log, book)?;
        let mut engine = Client::new(Config::default(), clock.now());
        let secret = Secret::from_bytes(system_random()?);
        let arguments = [hex(&keys::public(&secret).0)];
        let user = engine.add_user(UserSecret(secret));
        let script = places.scripts.join("server.js");
        let peer = Peer::start(&script, &arguments, &places.diaries.join("server.log"))?;
        let nodes = vec![Node {
            engine,
            clock,
            adapter,
        }];
        let run = Run {
            nodes,
            peer,
            said: Vec::new(),
            report: Report::default(),
        };
        Ok(Self {
            run,
            heard: Heard::default(),
            user,
        })
    }

    fn until(
        &mut self,
        milliseconds: u64,
        mut is_done: impl FnMut(&Heard, &Run<Client>) -> bool,
    ) -> bool {
        let heard = std::cell::RefCell::new(std::mem::take(&mut self.heard));
        let done = self.run.until(
            milliseconds,
            |node, _, event| heard.borrow_mut().hear(node, event),
            |run| is_done(&heard.borrow(), run),
        );
        self.heard = heard.into_inner();
        done
    }

    /// Until everything is acknowledged. The peer dies of an ack for a connection that it has closed.
    fn quiet(&mut self) {
        self.until(150, |_, _| false);
    }

    fn node(&mut self) -> &mut Node<Client> {
        &mut self.run.nodes[0]
    }

    fn check(&mut self, what: &str, is_good: bool) {
        self.run.report.check(what, is_good);
    }

    fn open(&mut self, target: Target) -> Result<TunnelId, String> {
        let Node { engine, clock, .. } = self.node();
        let opened = engine.open(clock.now(), target, 1);
        opened.map_err(|e| format!("open: {e:?}"))
    }

    fn connect(
        &mut self,
        tunnel: TunnelId,
        service: &str,
        user: Option<UserId>,
    ) -> Result<ConnectionId, String> {
        let Node { engine, clock, .. } = self.node();
        let connected = engine.connect(&clock.now(), tunnel, service, user);
        connected.map_err(|e| format!("connect: {e:?}"))
    }

    fn ping(&mut self, connection: ConnectionId, x: u32) {
        let written = self
            .node()
            .engine
            .write(connection, "ping", |call| call.number(x));
        if written != Ok(true) {
            self.check(&format!("there is room for ping {x}"), false);
        }
    }

    fn request(&mut self, tunnel: TunnelId, cert: &PeerCert) -> Result<Given, String> {
        let identity = Identity {
            signing: Some(cert.signing),
            hostname: &cert.hostname,
        };
        let asked = self.node().engine.request(tunnel, &identity);
        asked.map_err(|e| format!("request: {e:?}"))?;
        self.until(5_000, |heard, _| heard.given(tunnel).is_some());
        let (cert, ecert) = self.heard.given(tunnel).ok_or("no giveCert came")?;
        let record = Record::of(&cert, &ecert).map_err(|e| format!("{e:?}"))?;
        let adapter = &mut self.node().adapter;
        adapter.openers.push(record.ecert.body.ephemeral);
        let stand_in = adapter.book.stand_in.public();
        let wanted = Wanted {
            hostname: Some(identity.hostname),
            now: wall(),
            cert_lifetime_max: Duration::from_secs(86_400),
        };
        let verified = wanted.verify(&record, |cert| cert.body.issuer == stand_in);
        verified.map_err(|e| format!("the record: {e:?}"))?;
        Ok(Given { cert, ecert })
    }

    /// T1: the directory's own record, under its long-term key.
    fn introduction(&mut self) -> Result<(Given, PeerCert), String> {
        self.until(5_000, |_, run| !run.said.is_empty());
        let line = self
            .run
            .said
            .first()
            .cloned()
            .ok_or("the peer said nothing")?;
        let [_, port, directory, host] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err(format!("the peer said {line:?}"));
        };
        let cert = |text| PeerCert::parse(&unhex(text).ok_or("no hexadecimal digits")?);
        let (directory, host) = (cert(directory)?, cert(host)?);
        let port: u16 = port.parse().map_err(|e| format!("{e}"))?;
        self.node().adapter.openers.push(directory.boxing);
        let t1 = self.open(Target::Directory {
            addresses: vec![SocketAddr::from(([127, 0, 0, 1], port))],
            m: clew_tunnel::limits::M_MIN,
            w: 0,
            boxing: directory.boxing,
        })?;
        let given = self.request(t1, &directory);
        self.check(
            "T1: a tunnel under the directory's boxing key; requestCert, giveCert",
            given.is_ok(),
        );
        Ok((given?, host))
    }

    /// T2: the host's record.
    fn look_up(&mut self, directory: Record, host: &PeerCert) -> Result<Record, String> {
        let t2 = self.open(Target::Host(Box::new(directory)))?;
        let given = self.request(t2, host);
        let is_asked = self.until(1_000, |_, run| run.has_said("lookup files.example"));
        self.check(
            "T2: a tunnel under D' of its ecert; requestCert of the host",
            given.is_ok() && is_asked,
        );
        let given = given?;
        let Node { engine, clock, .. } = self.node();
        engine.close_tunnel(clock.now(), t2);
        Record::of(&given.cert, &given.ecert).map_err(|e| format!("{e:?}"))
    }

    /// T3: createAuth and an RPC in the first packet.
    fn first_packet(&mut self, host: &Record) -> Result<(TunnelId, ConnectionId), String> {
        self.quiet();
        let tunnel = self.open(Target::Host(Box::new(host.clone())))?;
        let connection = self.connect(tunnel, "my_thing", Some(self.user))?;
        self.ping(connection, 42);
        let before = self.node().adapter.datagrams;
        let done = self.until(5_000, |heard, _| heard.pongs == [42]);
        let after = self.node().adapter.datagrams;
        self.check(
            "T3: nextTid, createAuth and ping in the first packet; ack and pong",
            done,
        );
        let trip = (after.0 - before.0, after.1 - before.1);
        self.check("that was one datagram there and one back", trip == (1, 1));
        let is_user = |run: &Run<Client>| {
            run.said
                .iter()
                .any(|said| said.starts_with("create 1 my_thing "))
        };
        let user = self.until(1_000, |_, run| is_user(run));
        let user = user && !self.run.said.iter().any(|said| said.ends_with("anonymous"));
        self.check("the peer took our `box` authenticator", user);
        self.check(
            "our engine says Accepted",
            self.heard.has(&Event::Accepted(connection)),
        );
        Ok((tunnel, connection))
    }

    /// Connections that nobody is the user of.
    fn others(&mut self, tunnel: TunnelId) -> Result<(), String> {
        let refused = self.connect(tunnel, "nowhere", None)?;
        let done = self.until(5_000, |heard, _| heard.has(&Event::Refused(refused)));
        self.check("create of a service that there is not: refuse", done);
        let open = self.connect(tunnel, "for_all", None)?;
        self.ping(open, 43);
        let done = self.until(5_000, |heard, _| {
            heard.has(&Event::Accepted(open)) && heard.pongs.contains(&43)
        });
        self.check("create for anyone: ack, and pong", done);
        self.quiet();
        self.run.peer.tell("close 3")?;
        let done = self.until(5_000, |heard, _| heard.has(&Event::Closed(open)));
        self.check("the peer closes a connection: close", done);
        Ok(())
    }

    fn windows(&mut self, connection: ConnectionId) -> Result<(), String> {
        self.heard.unsent = BLOBS;
        let engine = &mut self.run.nodes[0].engine;
        self.heard.notes(engine, connection);
        let last = format!("notes {BLOBS}");
        let done = self.until(20_000, |_, run| run.has_said(&last));
        let bytes = BLOBS * BLOB;
        let what = format!(
            "{BLOBS} RPCs at once, {bytes} bytes there, beyond the first window: windowSize"
        );
        self.check(&what, done);
        let mut done = true;
        for count in 1..=BLOBS {
            let engine = &mut self.node().engine;
            let written = engine.write(connection, "blob", |call| call.bytes(&[7; BLOB]));
            written.map_err(|e| format!("blob: {e:?}"))?;
            done = done && self.until(5_000, |heard, _| heard.blobs == count);
        }
        let what =
            format!("{BLOBS} RPCs and their answers, {bytes} bytes each way: windowSize both ways");
        self.check(&what, done);
        Ok(())
    }

    /// The peer waits for a second at least before it sends anything again.
    fn losses(&mut self, connection: ConnectionId) {
        self.node().adapter.loss = LOSS;
        let mut done = true;
        for x in 200..200 + LOSSY {
            self.ping(connection, x);
            done = done && self.until(30_000, |heard, _| heard.pongs.last() == Some(&x));
        }
        self.node().adapter.loss = 0;
        let lost = self.node().adapter.lost;
        self.check(
            &format!("{LOSSY} pings and pongs, of whose datagrams {lost} were lost"),
            done && lost > 0,
        );
        // What is under way from then arrives, or is sent again.
        self.until(5_000, |_, _| false);
    }

    fn puzzle(&mut self, connection: ConnectionId) -> Result<(), String> {
        self.run
            .peer
            .tell(&format!("puzzle {} 8", connection.number))?;
        let done = self.until(5_000, |_, run| run.has_said("solved true"));
        self.check(
            "the peer's puzzle of 8 bits in the tunnel is solved: puzz, puzzSoln",
            done,
        );
        Ok(())
    }

    fn rekey(&mut self, connection: ConnectionId) -> Result<(), String> {
        let session = self.node().adapter.sessions.len() - 1;
        let epochs = self.node().adapter.sessions[session].epochs.len();
        self.run
            .peer
            .tell(&format!("rekey {}", connection.number))?;
        self.until(5_000, |_, run| {
            run.nodes[0].adapter.sessions[session].epochs.len() > epochs
        });
        let x = 100 + epochs as u32;
        self.ping(connection, x);
        let done = self.until(5_000, |heard, _| heard.pongs.contains(&x));
        let all = tids(&self.node().adapter.sessions[session]);
        let is_new = self.node().adapter.sessions[session].answered_under() == Some(epochs);
        let what = format!(
            "rekeyNow; then ping and pong under K_{epochs}, with the TID that we announced"
        );
        self.check(
            &what,
            done && is_new
                && all.len() == epochs + 1
                && all.iter().all(|(ours, peers)| ours == peers),
        );
        Ok(())
    }

    fn closing(&mut self, tunnel: TunnelId, connection: ConnectionId) -> Result<(), String> {
        self.quiet();
        self.node().engine.close(connection);
        let done = self.until(5_000, |_, run| run.has_said("closed 1"));
        self.check("our client closes a connection: close", done);
        let Node { engine, clock, .. } = self.node();
        engine.close_tunnel(clock.now(), tunnel);
        let done = self.until(2_000, |heard, _| heard.has(&Event::Gone(tunnel, None)));
        self.check("our client ends the tunnel", done);
        Ok(())
    }

    /// The first packet is lost, or the first answer.
    fn lost_first(&mut self, host: &Record, lose: (u32, u32), x: u32) -> Result<(), String> {
        self.quiet();
        self.node().adapter.lose = lose;
        let tunnel = self.open(Target::Host(Box::new(host.clone())))?;
        let connection = self.connect(tunnel, "for_all", None)?;
        self.ping(connection, x);
        let done = self.until(8_000, |heard, _| heard.pongs.contains(&x));
        let line = format!("ping {} {x}", connection.number);
        let times = self.run.said.iter().filter(|said| **said == line).count();
        let what = ["first answer", "first packet"][lose.1 as usize];
        let what = format!("a {what} is lost: pong, and the peer heard ping once");
        self.check(&what, done && times == 1);
        Ok(())
    }

    /// The same as the first packet, with one bit of the authenticator changed on the way.
    fn bad_authenticator(&mut self, host: &Record) -> Result<(), String> {
        self.node().adapter.is_hostile = true;
        let before = self.run.said.len();
        let tunnel = self.open(Target::Host(Box::new(host.clone())))?;
        let connection = self.connect(tunnel, "my_thing", Some(self.user))?;
        self.until(2_000, |heard, _| heard.has(&Event::Accepted(connection)));
        let is_open = self.heard.has(&Event::Opened(tunnel));
        let is_taken = self.heard.has(&Event::Accepted(connection)) || self.run.said.len() > before;
        self.check("with one bit of the authenticator changed the peer opens the tunnel, and no connection", is_open && !is_taken);
        Ok(())
    }
}
