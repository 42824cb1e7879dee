//! Sequence, nonces and receive windows of one tunnel, by packets made by hand.

use clew_tunnel::wire::packet::Tid;
use clew_tunnel::wire::rpc::Rpc;

use crate::case::Case;
use crate::make::damage::Damage;
use crate::make::flat;
use crate::make::tunnel::bytes::public;
use crate::make::tunnel::rogue::{Rogue, create, rpcs, say};
use crate::make::tunnel::run::{MS, Run, SECOND};
use crate::make::tunnel::script::script;

pub fn all() -> Vec<Case> {
    flat([places(), acks(), rpc_faults(), windows()])
}

/// A tunnel whose sequence begins at `start`, with a connection.
fn opened(name: &str, comment: &str, start: u32, act: impl FnOnce(&mut Run, &mut Rogue)) -> Case {
    script(name, comment, |run| {
        run.echoes = false;
        let mut rogue = run.rogue(3);
        run.hand(&rogue.first((start, 0), &create(1)));
        act(run, &mut rogue);
    })
}

/// The shortest RPC of connection 1.
fn short() -> Vec<u8> {
    b"\0\0\0\x01ls\0\x01xe".to_vec()
}

/// Places in the sequence, and nonces.
fn places() -> Vec<Case> {
    vec![
        script("sequence-start", "The first two of a sequence come behind its third: all wait for its start, 256.", |run| {
            let mut rogue = run.rogue(3);
            run.hand(&rogue.first((0, 0), &[]));
            for (seq, rpcs) in [(257, say(1, b"b")), (258, say(1, b"c")), (256, create(1))] {
                run.hand(&rogue.packet((seq, 0), &rpcs));
            }
        }),
        opened("sequence-gap", "Gaps and duplicates, with the acks that follow.", 256, |run, rogue| {
            for (seq, bytes) in [(258, b"2"), (260, b"4"), (258, b"2"), (257, b"1"), (256, b"0"), (259, b"3")] {
                run.hand(&rogue.packet((seq, 0), &say(1, bytes)));
                run.wait(30 * MS);
            }
        }),
        opened("sequence-wrap", "After 2^32 - 1 comes 1.", 0xffff_ff00, |run, rogue| {
            for seq in (0xffff_ff01..=u32::MAX).chain([2, 1, 0xffff_ffff, 3]) {
                run.hand(&rogue.packet((seq, 0), &short()));
            }
        }),
        opened("sequence-ahead", "A packet may be AHEAD before the next one, and no further.", 256, |run, rogue| {
            for seq in [257 + 4_096, 257 + 4_097] {
                run.hand(&rogue.packet((seq, 0), &short()));
            }
        }),
        opened(
            "sequence-nonces",
            "Nonces that were opened, 1,023 and 1,024 behind the highest, and one of a bad box.",
            256,
            |run, rogue| {
                let packet = rogue.packet((257, 0), &short());
                run.hand(&packet);
                run.hand(&packet);
                let last = rogue.last_nonce() + 5_000;
                for t in [last, last - 1_023, last - 1_024, last - 1_023, last - 500, last + 1] {
                    run.hand(&rogue.packet_at(t, (0, 0), &[]));
                }
                let packet = rogue.packet_at(last + 2, (0, 0), &[]);
                run.hand(&packet.flip(20));
                run.hand(&packet);
            },
        ),
    ]
}

/// An ack of what the server did not send.
fn acks() -> Vec<Case> {
    let case = |name: &str, comment: &str, ack: fn(u32) -> Vec<u32>| {
        script(&format!("sequence-ack-{name}"), comment, |run| {
            let mut rogue = run.rogue(3);
            let first = rogue.first((256, 0), &create(1));
            let said = run.hand(&first);
            let heard = rogue.open(&said[0]).unwrap();
            for ack in ack(heard.seq) {
                run.hand(&rogue.packet((0, ack), &[]));
            }
            run.hand(&rogue.packet((257, 0), &say(1, b"still there?")));
        })
    };
    vec![
        case("good", "0, of what was sent, the same, 0, an older one.", |seq| vec![0, seq, seq, 0, seq - 1]),
        case("before", "Of the place before the start, when nothing is acknowledged.", |seq| vec![seq - 1]),
        case("beyond", "Of the place behind the last.", |seq| vec![seq + 1]),
    ]
}

/// RPCs that close the tunnel, or are passed over.
fn rpc_faults() -> Vec<Case> {
    let close = rpcs(&[Rpc::Close { connection: 1 }]);
    let misplaced = rpcs(&[Rpc::NextTid { tid: *Tid::from_random([1; 8]).as_bytes(), key: public("client") }]);
    let case = |name: &str, comment: &str, packets: &[(u32, Vec<u8>)]| {
        opened(&format!("sequence-{name}"), comment, 256, |run, rogue| {
            for (seq, rpcs) in packets {
                run.hand(&rogue.packet((*seq, 0), rpcs));
            }
        })
    };
    let unknown = b"\0\0\0\0ls\0\x03new\x65".to_vec();
    vec![
        case("bare", "An RPC in sequence under seq 0.", &[(0, short())]),
        case("empty", "None under another seq.", &[(257, Vec::new())]),
        case(
            "misplaced",
            "nextTid in a packet without key: its nonce is not written down, nor its seq.",
            &[(257, misplaced), (257, short())],
        ),
        case("connection", "A connection that was never created.", &[(257, say(2, b"x")), (257, short())]),
        case("again", "A connection id is used again.", &[(257, create(1))]),
        case(
            "closed",
            "RPCs on a closed connection, and one that nobody knows, are passed over.",
            &[(257, close.clone()), (258, short()), (259, unknown), (260, close)],
        ),
    ]
}

/// What a receiver grants, and what is sent beyond it.
fn windows() -> Vec<Case> {
    let window = |bytes| rpcs(&[Rpc::WindowSize { connection: 1, bytes }]);
    vec![
        opened("window-over", "All of CREDIT, of which nothing is read, and a value more.", 256, |run, rogue| {
            // A value of 1,024 bytes: 11 besides its bytes.
            let filler = say(1, &[7; 1_024 - 11]);
            for n in 0..16 {
                run.hand(&rogue.packet((257 + n, 0), &filler));
            }
            run.hand(&rogue.packet((273, 0), &short()));
        }),
        opened("window-raised", "windowSize: behind, ahead by less than 2^31 and not, and around 2^32.", 256, |run, rogue| {
            let steps = [16_383, 16_385, 0x8000_4000, 0x8000_4001, 0x3fff, 0x4000, 0x4001];
            for (seq, bytes) in (257..).zip(steps) {
                run.hand(&rogue.packet((seq, 0), &window(bytes)));
            }
        }),
        script("window-granted", "What was read is granted again, by windowSize.", |run| {
            let (_, connection) = run.open();
            run.wait(SECOND);
            for _ in 0..12 {
                run.say(connection, &[7; 1_000]);
                run.wait(40 * MS);
            }
            run.wait(SECOND);
        }),
    ]
}
