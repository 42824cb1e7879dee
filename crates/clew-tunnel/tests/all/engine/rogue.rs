//! A client that knows the protocol and keeps to none of its rules: it makes packets by hand.

use clew_tunnel::boxes::Key;
use clew_tunnel::keys::{self, Nonce};
use clew_tunnel::puzzle::Solution;
use clew_tunnel::wire::packet::{Header, Packet, Side, Tid};
use clew_tunnel::wire::plaintext::Plaintext;
use clew_tunnel::wire::rpc::Rpc;
use clew_tunnel::wire::values::CallWriter;
use clew_tunnel::x25519::{Public, Secret};

/// RPCs behind one another.
pub fn rpcs(all: &[Rpc<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for rpc in all {
        rpc.write(&mut out).expect("an RPC");
    }
    out
}

/// An RPC of a connection.
pub fn say(connection: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let call = CallWriter::new(&mut out, connection, "say").bytes(bytes);
    call.end().expect("an RPC");
    out
}

/// create(c, y).
pub fn create(connection: u32) -> Vec<u8> {
    let service = "echo";
    rpcs(&[Rpc::Create {
        connection,
        service,
    }])
}

/// One tunnel of it.
#[derive(Clone)]
pub struct Rogue {
    pub tid: Tid,
    pub announced: Tid,
    pub key: Key,
    pub client: Public,
    pub solution: Option<Solution>,
    pub m: u16,
    nonce: u64,
    drawn: u8,
}

/// A packet of the server that was decrypted.
#[derive(Clone, Debug)]
pub struct Heard {
    pub seq: u32,
    pub ack: u32,
    /// Names of RPCs.
    pub names: Vec<String>,
    pub text: Vec<u8>,
    pub nonce: u64,
}

impl Rogue {
    /// A tunnel to who has S'. `n` tells it from others; its nonces begin at `wall`.
    pub fn new(server: &Public, n: u8, wall: u64) -> Self {
        let secret = Secret::from_bytes([n | 1; 32]);
        let client = keys::public(&secret);
        let tid = Tid::from_random([n; 8]);
        let key = keys::shared(&secret, server).expect("a good key");
        Self {
            tid,
            announced: Tid::from_random([n, 1, n, n, n, n, n, n]),
            key,
            client,
            solution: None,
            m: 1_024,
            nonce: wall,
            drawn: 1,
        }
    }

    /// The next nonces are at least this.
    pub fn at(&mut self, wall: u64) -> &mut Self {
        self.nonce = self.nonce.max(wall);
        self
    }

    /// The next nonce is exactly this.
    pub fn exactly(&mut self, t: u64) -> &mut Self {
        self.nonce = t - 1;
        self
    }

    fn header(&mut self, is_initiation: bool) -> Header {
        self.nonce += 1;
        Header {
            tid: self.tid,
            nonce: Nonce::new(self.nonce, Side::Client),
            initiation: is_initiation.then_some((self.client, self.solution)),
        }
    }

    fn seal(&self, header: &Header, numbers: (u32, u32), rpcs: &[u8], length: usize) -> Vec<u8> {
        let stream = keys::stream(&self.key, self.tid);
        let mut out = Vec::new();
        let sealed = header.seal(numbers, rpcs, length, &stream, &mut out);
        sealed.expect("a packet that is not too long");
        out
    }

    /// An initiation packet with nextTid and these.
    pub fn first(&mut self, numbers: (u32, u32), more: &[u8]) -> Vec<u8> {
        let next = self.next_tid();
        self.initiation(numbers, &[&next, more].concat())
    }

    /// nextTid as it should be.
    pub fn next_tid(&self) -> Vec<u8> {
        rpcs(&[Rpc::NextTid {
            tid: *self.announced.as_bytes(),
            key: self.client,
        }])
    }

    /// An initiation packet with exactly these RPCs.
    pub fn initiation(&mut self, numbers: (u32, u32), rpcs: &[u8]) -> Vec<u8> {
        let header = self.header(true);
        self.seal(&header, numbers, rpcs, self.m.into())
    }

    /// A packet of the tunnel.
    pub fn packet(&mut self, numbers: (u32, u32), rpcs: &[u8]) -> Vec<u8> {
        let header = self.header(false);
        self.seal(&header, numbers, rpcs, 0)
    }

    /// The same with a nonce of its own.
    pub fn packet_at(&self, t: u64, numbers: (u32, u32), rpcs: &[u8]) -> Vec<u8> {
        let mut other = self.clone();
        other.nonce = t - 1;
        other.packet(numbers, rpcs)
    }

    /// Goes on to the next key: as before, for who wants to use the old one.
    pub fn rekey(&mut self, wall: u64) -> Self {
        let before = self.clone();
        self.key = keys::next(&self.key);
        self.tid = self.announced;
        self.drawn += 1;
        let [first, ..] = *self.tid.as_bytes();
        self.announced = Tid::from_random([first, self.drawn, 7, 7, 7, 7, 7, 7]);
        self.client = keys::decoy([self.drawn ^ first; 32]);
        self.solution = None;
        self.nonce = wall;
        before
    }

    /// The last t.
    pub const fn last_nonce(&self) -> u64 {
        self.nonce
    }

    /// Opens a packet of the server.
    pub fn open(&self, packet: &[u8]) -> Option<Heard> {
        let mut bytes = packet.to_vec();
        let Ok(Packet::Tunnel(Side::Server, mut boxed)) = Packet::parse(&mut bytes, 0) else {
            return None;
        };
        let nonce = boxed.nonce.t();
        if boxed.tid != self.tid || !boxed.decrypt(&keys::stream(&self.key, self.tid)) {
            return None;
        }
        let text = boxed.into_text().to_vec();
        let plaintext = Plaintext::parse(&text).expect("what servers say");
        Some(Heard {
            seq: plaintext.seq,
            ack: plaintext.ack,
            names: plaintext.calls.map(|call| call.name.into()).collect(),
            nonce,
            text,
        })
    }
}
