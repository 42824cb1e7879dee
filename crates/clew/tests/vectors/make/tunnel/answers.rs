//! What a server says that keeps to no rules, at a client that does.

use clew_tunnel::boxes::Key;
use clew_tunnel::keys::{self, Nonce};
use clew_tunnel::wire::packet::{Header, Packet, Side, Tid};
use clew_tunnel::wire::rpc::Rpc;

use crate::case::Case;
use crate::make::damage::Damage;
use crate::make::tunnel::bytes::public;
use crate::make::tunnel::rogue::{create, rpcs, say};
use crate::make::tunnel::run::Run;
use crate::make::tunnel::script::script;

pub fn all() -> Vec<Case> {
    let puzz = rpcs(&[Rpc::Puzz { q: &[0; 80], hash: &[1; 64], w: 23, nonce: [2; 8] }]);
    vec![
        // What does no harm.
        script(
            "sequence-answers",
            "A box that does not open, another TID, the first answer twice, nextTid, and RPCs that the client \
             passes over.",
            |run| {
                let mut server = Impostor::new(run);
                let accepted = rpcs(&[Rpc::Ack { connection: 1 }]);
                let first = server.packet(&accepted, false);
                for packet in [&first.flip(99), &first.flip(0), &first, &first] {
                    run.hand_client(packet);
                }
                let control = |rpc| rpcs(&[rpc]);
                let misplaced = control(Rpc::NextTid { tid: *Tid::from_random([1; 8]).as_bytes(), key: public("client") });
                let window = |bytes| control(Rpc::WindowSize { connection: 1, bytes });
                run.hand_client(&server.packet(&misplaced, true));
                let all = [
                    accepted,
                    control(Rpc::Refuse { connection: 0 }),
                    control(Rpc::Ok),
                    say(1, b"an RPC"),
                    window(16_383),
                    window(20_000),
                    b"\0\0\0\0ls\0\x03newe".to_vec(),
                    control(Rpc::Close { connection: 1 }),
                    say(1, b"too late"),
                    window(30_000),
                ];
                for rpcs in &all {
                    run.hand_client(&server.packet(rpcs, false));
                }
            },
        ),
        closes("sequence-answer-side", "The server creates a connection.", &create(2)),
        closes("sequence-answer-early", "The server sends on a connection before its ack.", &say(1, b"early")),
        closes("sequence-answer-hard", "A puzz of 23 bits in the tunnel.", &puzz),
    ]
}

/// A server's side of the client's tunnel.
struct Impostor {
    tid: Tid,
    key: Key,
    /// The last t.
    t: u64,
    seq: u32,
    ack: u32,
}

impl Impostor {
    /// The first packet of a client, which nobody else hears.
    fn new(run: &mut Run) -> Self {
        run.open();
        run.lose = 99;
        run.settle();
        let mut bytes = run.last_sent();
        let Ok(Packet::Initiation(mut first)) = Packet::parse(&mut bytes, 0) else {
            unreachable!("a client's first packet");
        };
        let (tid, t) = (first.boxed.tid, first.boxed.nonce.t());
        let key = keys::shared(&run.ephemeral_secret(), &first.key).unwrap();
        assert!(first.boxed.decrypt(&keys::stream(&key, tid)));
        let [a, b, c, d, ..] = *first.boxed.into_text() else {
            unreachable!("a plaintext");
        };
        let ack = u32::from_be_bytes([a, b, c, d]);
        Self { tid, key, t, seq: 255, ack }
    }
    /// The next packet; bare if these RPCs are out of sequence.
    fn packet(&mut self, rpcs: &[u8], is_bare: bool) -> Vec<u8> {
        self.t += 1;
        self.seq += u32::from(!is_bare);
        let header = Header { tid: self.tid, nonce: Nonce::new(self.t, Side::Server), initiation: None };
        let seq = if is_bare { 0 } else { self.seq };
        let (mut out, stream) = (Vec::new(), keys::stream(&self.key, self.tid));
        let sealed = header.seal((seq, self.ack), rpcs, 256, &stream, &mut out);
        sealed.unwrap();
        out
    }
}

/// RPCs in the first answer that close the tunnel.
fn closes(name: &str, comment: &str, rpcs: &[u8]) -> Case {
    script(name, comment, |run| {
        let mut server = Impostor::new(run);
        let is_bare = rpcs.windows(4).any(|name| name == b"puzz");
        run.hand_client(&server.packet(rpcs, is_bare));
        run.hand_client(&server.packet(&[], true));
    })
}
