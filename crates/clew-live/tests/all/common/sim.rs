//! Two cores and a link between them, in simulated time: everything follows from a seed.

use super::group::{Keys, OURS, START};
use clew_live::config::InboundMode;
use clew_live::packet::{Burst, Clear, Delivery, Moment, Outer, PeerIndex, Reply};
use clew_live::pool::PrecursorSource;
use clew_live::receiver::{Done, Inbound, InboundOptions, PeerRule};
use clew_live::sender::{Outbound, OutboundOptions, Path};
use clew_packet::{Carrier, Timestamp};
use clew_wire::Instant;
use rand_chacha::{ChaCha20Rng, rand_core::Rng, rand_core::SeedableRng};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use super::group::GROUP;
use clew_group::Precursor;
use clew_live::identity::EpochKey;

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;
pub const S: u64 = 1_000_000_000;
pub const PEER: PeerIndex = PeerIndex(0);

/// Every signature is computed when it is needed.
pub struct Online;

impl PrecursorSource for Online {
    fn take(&mut self, _: &EpochKey) -> Option<Precursor> {
        None
    }

    fn is_low(&self) -> bool {
        false
    }
}

/// What the link does to datagrams.
#[derive(Clone, Copy)]
pub struct Link {
    pub delay: u64,
    /// A datagram takes up to so much longer: it may be overtaken.
    pub jitter: u64,
    /// Of a thousand datagrams.
    pub lost: u32,
    pub duplicated: u32,
}

pub const CLEAN: Link = Link {
    delay: 5 * MS,
    jitter: 0,
    lost: 0,
    duplicated: 0,
};

/// What verification costs in simulated time.
#[derive(Clone, Copy)]
pub struct Verifier {
    pub batch: u64,
    pub signature: u64,
    /// It never comes back.
    pub is_stalled: bool,
}

enum Event {
    Read(Vec<Vec<u8>>),
    Flush,
    Arrive(Vec<u8>, SocketAddr, u8),
    Trailed(Vec<u8>),
    Reply(Reply),
    Verified(Done, u64),
    Deliver,
}

pub struct Sim {
    pub now: u64,
    /// What the wall clocks differ from simulated time, of sender and receiver.
    pub wall: [i64; 2],
    pub rng: ChaCha20Rng,
    pub sender: Outbound,
    pub receiver: Inbound<Keys>,
    pub link: Link,
    pub verifier: Verifier,
    pub delivered: Vec<(u64, Delivery)>,
    /// Payloads that came to the receiver from the honest sender.
    pub arrived: Vec<(u64, Vec<u8>)>,
    /// Payloads that the honest sender sent.
    pub sent: Vec<Vec<u8>>,
    /// Cookies that went to others.
    pub foreign_replies: Vec<Reply>,
    /// Somebody sees each datagram, and answers it at once with a cookie in the receiver's name.
    pub has_false_cookies: bool,
    pub verifiers: usize,
    /// So many verifiers stand still with what they take next.
    pub stalls: usize,
    verifying: usize,
    /// When the receiver is asked next.
    wake: u64,
    events: BTreeMap<(u64, u64), Event>,
    number: u64,
}

pub fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

pub fn sender_address() -> SocketAddr {
    address("192.0.2.1:4909")
}

pub fn receiver_address() -> SocketAddr {
    address("198.51.100.1:4909")
}

pub fn path() -> Path {
    Path {
        remote: receiver_address(),
        local: None,
        mtu: 1_500,
        carrier: Carrier::UdpTunnel,
    }
}

pub fn peer_rules() -> Vec<PeerRule> {
    vec![PeerRule {
        group: GROUP.tag(),
        prefixes: vec!["10.1.0.0/16".parse().unwrap()],
        address: None,
        mss: Some(1_100),
    }]
}

pub fn moment(now: u64, wall: i64) -> Moment {
    Moment {
        instant: Instant::from_nanos(now),
        wall: Timestamp(START.wrapping_add(now).wrapping_add_signed(wall)),
    }
}

impl Sim {
    pub fn new(seed: u64) -> Self {
        Self::with(seed, OutboundOptions::default(), InboundOptions::default())
    }

    /// The receiver starts two seconds before the sender's first packet, so that its timestamp is
    /// later.
    pub fn with(seed: u64, outbound: OutboundOptions, inbound: InboundOptions) -> Self {
        let mut sender = Outbound::new(Some(OURS.identity(&[(0, 0)], None)), outbound);
        sender.set_path(PEER, path());
        let inbound = InboundOptions {
            policy: InboundMode::Enforce,
            ..inbound
        };
        let receiver = Inbound::new(Keys::of(&[0]), inbound, peer_rules(), moment(0, 0), [7; 32]);
        Self {
            now: 2 * S,
            wall: [0; 2],
            rng: ChaCha20Rng::seed_from_u64(seed),
            sender,
            receiver,
            link: CLEAN,
            verifier: Verifier {
                batch: 400 * US,
                signature: 300 * US,
                is_stalled: false,
            },
            delivered: Vec::new(),
            arrived: Vec::new(),
            sent: Vec::new(),
            foreign_replies: Vec::new(),
            has_false_cookies: false,
            verifiers: 1,
            stalls: 0,
            verifying: 0,
            wake: u64::MAX,
            events: BTreeMap::new(),
            number: 0,
        }
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.rng.next_u64() % end
    }

    /// The host sends these packets in one go, after so long.
    pub fn read(&mut self, after: u64, packets: Vec<Vec<u8>>) {
        self.add(after, Event::Read(packets));
    }

    /// Somebody sends a datagram to the receiver, which comes after so long.
    pub fn inject(&mut self, after: u64, payload: Vec<u8>, from: SocketAddr) {
        self.inject_marked(after, payload, from, 0);
    }

    /// As [`inject`](Self::inject), with these congestion bits in the outer header.
    pub fn inject_marked(&mut self, after: u64, payload: Vec<u8>, from: SocketAddr, ecn: u8) {
        self.add(after, Event::Arrive(payload, from, ecn));
    }

    /// A packet with its trailer comes to the receiver after so long.
    pub fn inject_trailed(&mut self, after: u64, packet: Vec<u8>) {
        self.add(after, Event::Trailed(packet));
    }

    /// Runs for so long.
    pub fn run(&mut self, time: u64) {
        let end = self.now + time;
        while let Some(entry) = self.events.first_entry()
            && entry.key().0 <= end
        {
            let ((at, _), event) = entry.remove_entry();
            self.now = at;
            self.step(event);
        }
        self.now = end;
        self.deliver();
    }

    pub fn now_at(&self, host: usize) -> Moment {
        moment(self.now, self.wall[host])
    }

    fn add(&mut self, after: u64, event: Event) {
        self.number += 1;
        self.events.insert((self.now + after, self.number), event);
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Read(packets) => {
                for bytes in packets {
                    let now = self.now_at(0);
                    // What is refused is counted.
                    let _ = self.sender.push(Clear { peer: PEER, bytes }, now);
                }
                self.flush();
            }
            Event::Flush => self.flush(),
            Event::Arrive(payload, from, ecn) => {
                if from == sender_address() {
                    self.arrived.push((self.now, payload.clone()));
                }
                let outer = Outer {
                    source: from,
                    destination: receiver_address(),
                    ecn,
                };
                let now = self.now_at(1);
                let cookie = self.receiver.receive(&payload, &outer, now);
                assert_eq!(cookie, None, "nobody gives cookies here");
                self.after_receiver();
            }
            Event::Trailed(packet) => {
                let now = self.now_at(1);
                self.receiver.receive_trailed(&packet, now);
                self.after_receiver();
            }
            Event::Reply(reply) => self.reply(&reply),
            Event::Verified(done, spent) => {
                self.verifying -= 1;
                let now = self.now_at(1);
                self.receiver.finish(done, Duration::from_nanos(spent), now);
                self.after_receiver();
            }
            Event::Deliver => {
                if self.now >= self.wake {
                    self.wake = u64::MAX;
                }
                self.after_receiver();
            }
        }
    }

    fn flush(&mut self) {
        let (mut out, now) = (Vec::new(), self.now_at(0));
        let next = self.sender.flush(now, &mut Online, &mut self.rng, &mut out);
        for Burst { bytes, segment, .. } in out {
            for payload in bytes.chunks(segment) {
                self.send(payload);
            }
        }
        if let Some(next) = next {
            self.add(next.as_nanos().saturating_sub(self.now), Event::Flush);
        }
    }

    fn send(&mut self, payload: &[u8]) {
        self.sent.push(payload.to_vec());
        if self.has_false_cookies {
            self.answer_falsely(payload);
        }
        let lost = self.below(1_000) < u64::from(self.link.lost);
        let twice = self.below(1_000) < u64::from(self.link.duplicated);
        let copies = u32::from(!lost) + u32::from(twice);
        for _ in 0..copies {
            let jitter = if self.link.jitter == 0 {
                0
            } else {
                self.below(self.link.jitter)
            };
            let after = self.link.delay + jitter;
            self.inject(after, payload.to_vec(), sender_address());
        }
    }

    fn answer_falsely(&mut self, payload: &[u8]) {
        let echo = clew_packet::datagram::echo(payload).unwrap();
        let mut bytes = Vec::new();
        clew_packet::datagram::write_cookie(&echo, &[0xff; 16], &mut bytes);
        let reply = Reply {
            to: sender_address(),
            from: receiver_address(),
            bytes,
        };
        self.add(MS, Event::Reply(reply));
    }

    fn reply(&mut self, reply: &Reply) {
        let parsed = clew_packet::datagram::parse(&reply.bytes).unwrap();
        let clew_packet::datagram::Rest::Cookie { echo, cookie } = parsed.rest else {
            panic!("a reply is a cookie");
        };
        let message = clew_live::packet::CookieMessage {
            echo: *echo,
            cookie: *cookie,
        };
        let now = self.now_at(0);
        self.sender.cookie(reply.from, &message, now);
    }

    fn after_receiver(&mut self) {
        self.verify();
        let mut replies = Vec::new();
        self.receiver.replies(&mut replies);
        for reply in replies {
            match reply.to == sender_address() {
                true => self.add(self.link.delay, Event::Reply(reply)),
                false => self.foreign_replies.push(reply),
            }
        }
        self.deliver();
    }

    /// Verifiers that are free take whatever has queued.
    fn verify(&mut self) {
        while self.verifying < self.verifiers {
            let now = self.now_at(1);
            let Some(work) = self.receiver.take_work(now) else {
                return;
            };
            self.verifying += 1;
            if self.verifier.is_stalled || self.stalls > 0 {
                self.stalls = self.stalls.saturating_sub(1);
                continue;
            }
            let spent = self.verifier.batch + self.verifier.signature * work.count() as u64;
            let done = work.run(&mut self.rng);
            // Threads are not equally fast.
            let late = self.below(spent);
            self.add(spent + late, Event::Verified(done, spent));
        }
    }

    fn deliver(&mut self) {
        let (mut out, now) = (Vec::new(), self.now_at(1));
        let next = self.receiver.deliver(now, &mut out);
        self.delivered
            .extend(out.into_iter().map(|d| (self.now, d)));
        if let Some(next) = next {
            let at = next.as_nanos().max(self.now + 100 * US);
            // An earlier wake-up is there already, mostly.
            if at < self.wake {
                self.wake = at;
                self.add(at - self.now, Event::Deliver);
            }
        }
    }

    /// Flow and number of each packet that was delivered.
    pub fn names(&self) -> Vec<(u16, u32)> {
        let names = self.delivered.iter();
        names.map(|(_, d)| super::packets::name(&d.bytes)).collect()
    }
}
