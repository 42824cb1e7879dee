//! Between one of our engines and the peer. It holds the keys that our engine drew, opens each packet, puts
//! it into the other dialect and seals it under the same key again.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};

use clew_tunnel::boxes::Key;
use clew_tunnel::keys;
use clew_tunnel::limits::M_MIN;
use clew_tunnel::wire::packet::{Boxed, Initiation, Packet, Side, Tid};
use clew_tunnel::x25519::{Public, Secret};

use crate::epoch::{Epoch, Io, Speaker};
use crate::keylog::{KeyLog, system_random};
use crate::peer_cert::Book;
use crate::peer_packet::PeerPacket;
use crate::session::Session;

/// Datagrams after a lost one that are not lost.
const SPARED: u32 = 6;

/// The adapter of one of our engines, with the socket towards the peer.
pub struct Adapter {
    ours: Side,
    socket: UdpSocket,
    keylog: KeyLog,
    pub book: Book,
    /// Our client's: the keys of servers that tunnels may be opened to.
    pub openers: Vec<Public>,
    /// Our server's: the secrets that first packets may be boxed to.
    pub secrets: Vec<Secret>,
    pub sessions: Vec<Session>,
    /// How often each RPC went through.
    pub tally: BTreeMap<(Speaker, String), u64>,
    /// What could not be translated.
    pub errors: Vec<String>,
    /// Datagrams of the peer, and to it.
    pub datagrams: (u64, u64),
    /// Lengths of initiation packets, ours and the peer's.
    pub initiations: Vec<(usize, usize)>,
    /// What our engine gets next.
    to_engine: Vec<(SocketAddr, Vec<u8>)>,
    /// The next packets of our engine that open a connection are changed in transit.
    pub is_hostile: bool,
    /// One of so many datagrams is lost, but for those after one that was; 0: none.
    pub loss: u8,
    spared: u32,
    /// So many of the next ones are lost: of the peer, to the peer.
    pub lose: (u32, u32),
    /// How many were lost at random.
    pub lost: u64,
}

impl Adapter {
    pub fn new(ours: Side, keylog: KeyLog, book: Book) -> Result<Self, String> {
        let socket = UdpSocket::bind("127.0.0.1:0").map_err(|e| format!("no socket: {e}"))?;
        let set = socket.set_nonblocking(true);
        set.map_err(|e| format!("no socket: {e}"))?;
        Ok(Self {
            ours,
            socket,
            keylog,
            book,
            openers: Vec::new(),
            secrets: Vec::new(),
            sessions: Vec::new(),
            tally: BTreeMap::new(),
            errors: Vec::new(),
            datagrams: (0, 0),
            initiations: Vec::new(),
            to_engine: Vec::new(),
            is_hostile: false,
            loss: 0,
            spared: 0,
            lose: (0, 0),
            lost: 0,
        })
    }

    pub fn address(&self) -> Result<SocketAddr, String> {
        self.socket.local_addr().map_err(|e| e.to_string())
    }

    /// Takes all that the peer sent, and gives what our engine gets of it.
    pub fn poll(&mut self, instant: u64, wall: u64) -> Vec<(SocketAddr, Vec<u8>)> {
        let mut buffer = [0; 2_048];
        loop {
            match self.socket.recv_from(&mut buffer) {
                Ok((length, from)) => {
                    self.datagrams.0 += 1;
                    if take_one(&mut self.lose.0) || self.is_lost() {
                        continue;
                    }
                    let packet = &mut buffer[..length];
                    self.with_io((instant, wall), |this, io| this.of_peer(io, from, packet));
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => {
                    self.errors.push(format!("socket: {e}"));
                    break;
                }
            }
        }
        self.with_io((instant, wall), |this, io| {
            this.sessions.iter_mut().try_for_each(|one| one.tick(io))
        });
        std::mem::take(&mut self.to_engine)
    }

    /// Losses are random, but not close together: three timers in a row make our client rekey, and the peer
    /// cannot rekey while anything is lost (README.md).
    fn is_lost(&mut self) -> bool {
        if self.loss == 0 || take_one(&mut self.spared) {
            return false;
        }
        let drawn = system_random::<1>().unwrap_or_default()[0];
        let is_lost = drawn.is_multiple_of(self.loss);
        if is_lost {
            self.lost += 1;
            self.spared = SPARED;
        }
        is_lost
    }

    /// Takes a datagram of our engine.
    pub fn of_engine(&mut self, instant: u64, wall: u64, to: SocketAddr, packet: &mut [u8]) {
        self.with_io((instant, wall), |this, io| this.take(io, to, packet));
    }

    fn with_io(
        &mut self,
        (instant, wall): (u64, u64),
        step: impl FnOnce(&mut Self, &mut Io) -> Result<(), String>,
    ) {
        let mut io = Io {
            instant,
            wall,
            to_peer: Vec::new(),
            to_engine: Vec::new(),
            heard: Vec::new(),
        };
        if let Err(error) = step(self, &mut io) {
            self.errors.push(error);
        }
        for (by, name) in io.heard {
            *self.tally.entry((by, name)).or_default() += 1;
        }
        self.to_engine.append(&mut io.to_engine);
        for (to, packet) in io.to_peer {
            self.datagrams.1 += 1;
            if packet[0] & 0x80 != 0
                && let Some((_, peers)) = self.initiations.last_mut()
            {
                *peers = packet.len();
            }
            if take_one(&mut self.lose.1) || self.is_lost() {
                continue;
            }
            if let Err(error) = self.socket.send_to(&packet, to) {
                self.errors.push(format!("socket: {error}"));
            }
        }
    }

    fn take(&mut self, io: &mut Io, to: SocketAddr, packet: &mut [u8]) -> Result<(), String> {
        let length = packet.len();
        match Packet::parse(packet, M_MIN).map_err(|e| format!("our engine's packet: {e:?}"))? {
            Packet::Tunnel(_, mut boxed) => {
                let (at, epoch) = self.find(|epoch| epoch.tid == boxed.tid)?;
                self.open_ours(&mut boxed, at, epoch)?;
                self.hand_over(io, at, (epoch, false), boxed.into_text())
            }
            Packet::Initiation(initiation) => {
                self.initiations.push((length, 0));
                self.take_initiation(io, to, initiation)
            }
            Packet::Interrogation(_) => Err("our server asks for a solution in the header".into()),
            Packet::StaleKey(_) => Err("our server has a newer S'".into()),
        }
    }

    fn take_initiation(
        &mut self,
        io: &mut Io,
        to: SocketAddr,
        initiation: Initiation<'_>,
    ) -> Result<(), String> {
        let Initiation { key, mut boxed, .. } = initiation;
        let tid = boxed.tid;
        if let Ok((at, epoch)) = self.find(|epoch| epoch.tid == tid) {
            self.open_ours(&mut boxed, at, epoch)?;
            return self.hand_over(io, at, (epoch, true), boxed.into_text());
        }
        if let Some(at) = self
            .sessions
            .iter()
            .position(|s| s.engine_next == Some(tid))
        {
            let last = self.sessions[at].epochs.len() - 1;
            let next = keys::next(&self.sessions[at].epochs[last].key);
            let epoch = Epoch::new(next, tid, tid, key)?.answering(boxed.nonce);
            if !boxed.decrypt(&epoch.stream) {
                return Err("our client's rekey does not open under SHA-256 of the key".into());
            }
            self.sessions[at].rekey(io, epoch)?;
            return self.hand_over(io, at, (last + 1, true), boxed.into_text());
        }
        let secret = self
            .keylog
            .secret(&key)
            .ok_or("a C' that our client did not draw")?;
        for server in &self.openers {
            let shared = keys::shared(&secret, server).map_err(|e| format!("{e:?}"))?;
            let epoch = Epoch::new(shared, tid, tid, key)?.answering(boxed.nonce);
            if boxed.decrypt(&epoch.stream) {
                self.sessions.push(Session::new(self.ours, to, epoch));
                let at = self.sessions.len() - 1;
                return self.hand_over(io, at, (0, true), boxed.into_text());
            }
        }
        Err("a first packet of our client that no key of the peer opens".into())
    }

    /// Gives an opened packet of our engine to its session.
    fn hand_over(
        &mut self,
        io: &mut Io,
        at: usize,
        what: (usize, bool),
        text: &[u8],
    ) -> Result<(), String> {
        let mut text = text.to_vec();
        if self.is_hostile {
            spoil(&mut text);
        }
        self.sessions[at].engine_said(io, &self.book, what, &text)
    }

    fn open_ours(&self, boxed: &mut Boxed<'_>, at: usize, epoch: usize) -> Result<(), String> {
        let stream = &self.sessions[at].epochs[epoch].stream;
        let good = boxed.decrypt(stream);
        good.then_some(())
            .ok_or("a packet of our engine does not open".into())
    }

    fn find(&self, is: impl Fn(&Epoch) -> bool) -> Result<(usize, usize), String> {
        let mut all = self.sessions.iter().enumerate();
        let found = all.find_map(|(at, session)| Some((at, session.epochs.iter().position(&is)?)));
        found.ok_or("a packet of no tunnel".into())
    }

    fn of_peer(&mut self, io: &mut Io, from: SocketAddr, packet: &mut [u8]) -> Result<(), String> {
        let length = packet.len();
        let mut packet = PeerPacket::parse(packet).ok_or("a packet of the peer that is none")?;
        let (tid, key) = (packet.tid, packet.key);
        let (at, epoch) = match (self.find(|epoch| epoch.peer_tid == tid), key) {
            (Ok(found), _) => found,
            (Err(error), None) => return Err(error),
            (Err(_), Some(key)) => {
                self.initiations.push((0, length));
                self.begun_by_peer(from, &mut packet, key)?
            }
        };
        let session = &mut self.sessions[at];
        // A new session's packet is open already.
        if !packet.is_open && !packet.open(&session.epochs[epoch].peer_stream) {
            return Err("a packet of the peer does not open".into());
        }
        session.peer = from;
        session.peer_said(io, &self.book, (epoch, key.is_some()), packet.into_text())?;
        if key.is_some()
            && let Some((ours, _)) = self.initiations.last_mut()
        {
            *ours = io.to_engine.last().map_or(0, |(_, packet)| packet.len());
        }
        Ok(())
    }

    /// The peer's client opens a tunnel, or rekeys.
    fn begun_by_peer(
        &mut self,
        from: SocketAddr,
        packet: &mut PeerPacket<'_>,
        key: Public,
    ) -> Result<(usize, usize), String> {
        let tid = packet.tid;
        let announced = self
            .sessions
            .iter()
            .position(|s| s.peer_next == Some((tid, key)));
        if let Some(at) = announced {
            let session = &mut self.sessions[at];
            let last = &session.epochs[session.epochs.len() - 1];
            let epoch = Epoch::new(keys::next(&last.key), last.next_tid, tid, key)?;
            session.epochs.push(epoch);
            return Ok((at, session.epochs.len() - 1));
        }
        for secret in &self.secrets {
            let shared: Key = keys::shared(secret, &key).map_err(|e| format!("{e:?}"))?;
            let epoch = Epoch::new(shared, tid, tid, key)?;
            if packet.open(&epoch.peer_stream) {
                self.sessions.push(Session::new(self.ours, from, epoch));
                return Ok((self.sessions.len() - 1, 0));
            }
        }
        Err(format!(
            "a first packet of the peer that no key opens, TID {tid:?}"
        ))
    }
}

fn take_one(left: &mut u32) -> bool {
    let has_one = *left > 0;
    *left = left.saturating_sub(1);
    has_one
}

/// Changes a bit of the last byte of an authenticator, if there is one.
fn spoil(text: &mut [u8]) {
    let name = b"createAuth";
    let at = text.windows(name.len()).position(|bytes| bytes == name);
    // connection 5, service 3 and its bytes, U 35, x 3 and 72.
    if let Some(at) = at {
        let service = at + name.len() + 5;
        let length = usize::from(text[service + 2]);
        text[service + 3 + length + 35 + 3 + 71] ^= 1;
    }
}

/// Hexadecimal digits of bytes.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes of hexadecimal digits.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = (0..text.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok())
        .collect()
}

/// The TIDs of a tunnel's keys one after the other: ours, the peer's.
pub fn tids(session: &Session) -> Vec<(Tid, Tid)> {
    session.epochs.iter().map(|e| (e.tid, e.peer_tid)).collect()
}
