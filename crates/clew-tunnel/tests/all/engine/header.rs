//! First packets at the server: replay, solutions, answers without a box (`spec/tunnel.md` 6.2 and 6.4).

use clew_tunnel::Reason;
use clew_tunnel::engine::rate::Rate;
use clew_tunnel::engine::server::Config;
use clew_tunnel::limits::ACCEPTANCE_WINDOW;
use clew_tunnel::wire::packet::{Packet, StaleKey};
use clew_tunnel::wire::rpc::Rpc;

use crate::engine::alone::{Alone, Said, rogue_address};
use crate::engine::network::server_address;
use crate::engine::node::{MS, SECOND, ns};
use crate::engine::rogue::{Rogue, create, rpcs, say};

fn is_stale(said: &[Said]) -> bool {
    let [(_, bytes)] = said else { return false };
    matches!(
        Packet::parse(&mut bytes.clone(), 0),
        Ok(Packet::StaleKey(_))
    )
}

#[test]
fn a_first_packet_is_taken_once_whatever_became_of_its_tunnel() {
    let mut alone = Alone::new();
    let mut rogue = alone.rogue(3);
    let first = rogue.first((256, 0), &[create(1), say(1, b"once")].concat());
    assert_eq!(alone.hand(&first)[0].1.len(), 256);
    assert_eq!(alone.hand(&first), []);
    assert_eq!(alone.counted(Reason::DuplicateNonce), 1);
    let close = rogue.packet((257, 0), &rpcs(&[Rpc::Close { connection: 0 }]));
    let _ = alone.hand(&close);
    assert_eq!(alone.server.tunnels(), 0);
    assert_eq!(alone.hand(&first), []);
    assert_eq!(alone.counted(Reason::Replayed), 1);
    assert_eq!(alone.server.tunnels(), 0);
    let _ = alone.wait(2 * ns(ACCEPTANCE_WINDOW) + SECOND);
    assert_eq!(alone.hand(&first), []);
    assert_eq!(alone.counted(Reason::BadTime), 1);
}

#[test]
fn of_two_copies_in_one_call_one_is_replayed() {
    let mut alone = Alone::new();
    let mut rogue = alone.rogue(3);
    let first = (rogue_address(), rogue.first((0, 0), &[]));
    let said = alone.hand_all(&[first.clone(), first]);
    assert_eq!((said.len(), alone.server.tunnels()), (1, 1));
    assert_eq!(alone.counted(Reason::Replayed), 1);
}

#[test]
fn a_full_replay_set_raises_its_floor_and_takes_nothing_twice() {
    let mut config = Config::new(vec![server_address()]);
    config.limits.replay = 4;
    let mut alone = Alone::with(config);
    let mut all = Vec::new();
    for n in 1..=20 {
        alone.now += MS;
        let mut rogue = alone.rogue(2 * n + 1);
        let first = rogue.first((0, 0), &[]);
        let _ = alone.hand(&first);
        let close = rogue.packet((256, 0), &rpcs(&[Rpc::Close { connection: 0 }]));
        let _ = alone.hand(&close);
        all.push(first);
    }
    assert_eq!(alone.counted(Reason::Replayed), 0);
    assert!(alone.server.load().remembered <= 4);
    for first in &all {
        assert_eq!(alone.hand(first), []);
    }
    assert_eq!(alone.counted(Reason::Replayed), 20);
    // One that was never taken, from before the floor, is refused with them.
    let mut late = alone.rogue(99);
    let floor = alone.wall() - 19 * MS;
    let _ = alone.hand(&late.exactly(floor).first((0, 0), &[]));
    assert_eq!(alone.counted(Reason::Replayed), 21);
}

#[test]
fn the_acceptance_window_ends_where_it_should() {
    for (t, is_taken) in [
        (0_i64, true),
        (ns(ACCEPTANCE_WINDOW) as i64, true),
        (ns(ACCEPTANCE_WINDOW) as i64 + 1, false),
    ] {
        for sign in [-1, 1] {
            let mut alone = Alone::new();
            let wall = alone.wall().saturating_add_signed(sign * t);
            let first = alone.rogue(5).exactly(wall).first((0, 0), &[]);
            assert_eq!(!alone.hand(&first).is_empty(), is_taken, "{t} {sign}");
            assert_eq!(alone.counted(Reason::BadTime), u64::from(!is_taken));
        }
    }
}

/// A first packet, and one of a rekey of an open tunnel, with how to change them.
type Change = fn(&mut Vec<u8>);

#[test]
fn what_is_changed_in_a_first_packet_and_in_a_rekey_fails_alike() {
    let changes: [(&str, Change); 6] = [
        ("a bit of the box", |p| p[500] ^= 1),
        ("a bit of the TID", |p| p[3] ^= 1),
        ("a bit of the nonce", |p| p[15] ^= 2),
        ("another C'", |p| {
            p[16..48].copy_from_slice(&clew_tunnel::keys::decoy([5; 32]).0)
        }),
        ("the puzzle flag", |p| p[0] |= 0x40),
        ("a C' that is none", |p| p[16..48].fill(0xff)),
    ];
    for (name, change) in changes {
        let mut kinds = Vec::new();
        for is_rekey in [false, true] {
            let mut alone = Alone::new();
            let mut rogue = if is_rekey {
                let mut rogue = alone.opened(3).0;
                let wall = alone.wall();
                let _ = rogue.rekey(wall + 1_000);
                rogue
            } else {
                alone.rogue(3)
            };
            let mut packet = rogue.first((0, 0), &[]);
            change(&mut packet);
            let before = alone.server.tunnels();
            let said = alone.hand(&packet);
            assert_eq!(alone.server.tunnels(), before, "{name}");
            kinds.push((
                said.len(),
                said.first().map(|(_, bytes)| bytes.len()),
                is_stale(&said),
            ));
            // It did no harm: what was changed can still come.
            rogue.solution = None;
            let said = alone.hand(&rogue.first((0, 0), &[]));
            assert_eq!(Alone::heard(&rogue, &said).len(), 1, "{name}: {is_rekey}");
        }
        assert_eq!(kinds[0], kinds[1], "{name}");
    }
}

/// A reason, and who makes a packet for it.
type Made = (Reason, Box<dyn Fn(&mut Rogue) -> Vec<u8>>);

fn of_step_eight() -> Vec<Made> {
    let other = clew_tunnel::keys::decoy([8; 32]);
    let flagged = |r: &Rogue| {
        rpcs(&[Rpc::NextTid {
            tid: [0xff; 8],
            key: r.client,
        }])
    };
    let own = |r: &Rogue| {
        rpcs(&[Rpc::NextTid {
            tid: *r.tid.as_bytes(),
            key: r.client,
        }])
    };
    vec![
        (
            Reason::BadFirst,
            Box::new(|r| r.initiation((256, 0), &create(1))),
        ),
        (Reason::BadFirst, Box::new(|r| r.initiation((0, 0), &[]))),
        (
            Reason::BadFirst,
            Box::new(|r| r.first((257, 0), &create(1))),
        ),
        (
            Reason::KeyMismatch,
            Box::new(move |r| {
                r.initiation(
                    (0, 0),
                    &rpcs(&[Rpc::NextTid {
                        tid: [1; 8],
                        key: other,
                    }]),
                )
            }),
        ),
        (
            Reason::BadTid,
            Box::new(move |r| {
                let n = flagged(r);
                r.initiation((0, 0), &n)
            }),
        ),
        (
            Reason::BadTid,
            Box::new(move |r| {
                let n = own(r);
                r.initiation((0, 0), &n)
            }),
        ),
        (
            Reason::BadArguments,
            Box::new(|r| {
                let next = [&r.next_tid()[..59], b"d\0\0\0\0e"].concat();
                r.initiation((0, 0), &next)
            }),
        ),
        (
            Reason::UnknownType,
            Box::new(|r| {
                let n = [r.next_tid(), b"\0\0\0\0x".to_vec()].concat();
                r.initiation((0, 0), &n)
            }),
        ),
        (Reason::Order, Box::new(|r| r.first((256, 0), &[]))),
        (Reason::Order, Box::new(|r| r.first((0, 0), &create(1)))),
    ]
}

#[test]
fn the_reasons_of_step_eight_have_one_way_out() {
    for (reason, make) in of_step_eight() {
        let mut alone = Alone::new();
        let mut rogue = alone.rogue(3);
        let packet = make(&mut rogue);
        let said = alone.hand(&packet);
        assert!(is_stale(&said), "{reason}: {said:?}");
        assert_eq!(
            (alone.counted(reason), alone.server.tunnels()),
            (1, 0),
            "{reason}"
        );
        assert_eq!(alone.server.load().remembered, 0, "nothing is kept of it");
    }
}

#[test]
fn what_breaks_the_sequence_in_an_initiation_packet_is_discarded_before_it_changes_a_tunnel() {
    for is_rekey in [false, true] {
        let mut alone = Alone::new();
        let (mut rogue, _) = alone.opened(3);
        let wall = alone.wall();
        if is_rekey {
            let _ = rogue.rekey(wall + 1);
        }
        for (reason, numbers, bytes) in [
            (Reason::Order, (256, 0), Vec::new()),
            (Reason::Order, (0, 0), create(1)),
            (Reason::BadAck, (256, 77), create(1)),
        ] {
            let said = alone.hand(&rogue.first(numbers, &bytes));
            assert!(is_stale(&said) || !is_rekey, "{reason}: {said:?}");
            assert!(said.len() == usize::from(is_rekey), "{reason}: {said:?}");
            assert_eq!(alone.server.tunnels(), 1, "{reason}");
        }
        assert_eq!(alone.counted(Reason::Order), 2);
        assert_eq!(alone.counted(Reason::BadAck), 1);
        let said = alone.hand(&rogue.first((256, 0), &create(1)));
        assert_eq!(Alone::heard(&rogue, &said)[0].ack, 256);
    }
}

#[test]
fn twins_of_a_key_open_the_box_and_are_refused() {
    let mut alone = Alone::new();
    let mut rogue = alone.rogue(3);
    let packet = rogue.first((0, 0), &[]);
    let twin = crate::engine::eavesdropper::inverse(&rogue.client);
    let mut copy = packet.clone();
    copy[16..48].copy_from_slice(&twin.0);
    assert!(is_stale(&alone.hand(&copy)));
    assert_eq!(alone.counted(Reason::KeyMismatch), 1);
    assert_eq!(alone.hand(&packet).len(), 1);
    let mut high = packet;
    high[47] |= 0x80;
    assert_eq!(alone.hand(&high), []);
    assert_eq!(alone.counted(Reason::BadKey), 1);
}

#[test]
fn keys_of_small_order_share_nothing_and_open_nothing() {
    let mut alone = Alone::new();
    let mut packet = alone.rogue(3).first((0, 0), &[]);
    packet[16..48].fill(0);
    assert!(is_stale(&alone.hand(&packet)));
    assert_eq!(alone.counted(Reason::BadKey), 1);
}

#[test]
fn a_stale_key_answer_has_the_packets_nonce_and_the_newest_certificate_and_is_rare() {
    let mut config = Config::new(vec![server_address()]);
    config.limits.stale = Rate::per_second(10);
    let mut alone = Alone::with(config);
    let mut old = alone.rogue(3);
    let _ = alone.wait(151 * SECOND);
    let wall = alone.wall();
    // The S' before is live still.
    let said = alone.hand(&old.at(wall).first((0, 0), &[]));
    assert_eq!(Alone::heard(&old, &said).len(), 1);
    let mut stranger = Rogue::new(&clew_tunnel::keys::decoy([7; 32]), 9, wall);
    let mut answered = 0;
    for _ in 0..50 {
        let packet = stranger.first((0, 0), &[]);
        let said = alone.hand(&packet);
        let Some((to, bytes)) = said.first() else {
            continue;
        };
        let mut bytes = bytes.clone();
        let Ok(Packet::StaleKey(StaleKey { tid, nonce, ecert })) = Packet::parse(&mut bytes, 0)
        else {
            unreachable!("{said:?}");
        };
        assert_eq!((tid, *to), (stranger.tid, rogue_address()));
        assert_eq!(nonce.t(), stranger.last_nonce());
        assert_eq!(ecert, alone.server.record().ecert.to_bytes());
        answered += 1;
    }
    assert_eq!(answered, 10);
    assert_eq!(alone.counted(Reason::BadBox), 50);
}

#[test]
fn lengths_and_flags_are_looked_at_first() {
    let mut alone = Alone::new();
    let mut rogue = alone.rogue(3);
    let first = rogue.first((0, 0), &[]);
    for length in 0..first.len() {
        assert_eq!(alone.hand(&first[..length]), [], "{length}");
    }
    assert_eq!(alone.counted(Reason::BadLength), 40);
    assert_eq!(alone.counted(Reason::BadSize), 1_024 - 40);
    assert_eq!(alone.hand(&[first.clone(), vec![0; 449]].concat()), []);
    assert_eq!(alone.counted(Reason::BadLength), 41);
    let mut puzzle = first.clone();
    puzzle[0] = puzzle[0] & 0x3f | 0x40;
    let mut server = first.clone();
    server[15] &= 0xfe;
    for packet in [puzzle, server] {
        assert_eq!(alone.hand(&packet), []);
    }
    // An even nonce and the key flag: of another length than a stale-key answer's.
    assert_eq!(
        alone.counted(Reason::BadFlags) + alone.counted(Reason::BadLength),
        43
    );
    let mut plain = first;
    plain[0] &= 0x3f;
    assert_eq!(alone.hand(&plain), []);
    assert_eq!(alone.counted(Reason::UnknownTid), 1);
    assert_eq!(alone.server.tunnels(), 0);
}

#[test]
fn what_servers_say_is_nothing_to_a_server() {
    let mut alone = Alone::new();
    let (mut rogue, _) = alone.opened(3);
    let said = alone.hand(&rogue.first((0, 0), &[]));
    let answer = said[0].1.clone();
    assert_eq!(alone.hand(&answer), []);
    let mut stranger = Rogue::new(&clew_tunnel::keys::decoy([7; 32]), 9, alone.wall());
    let stale = alone.hand(&stranger.first((0, 0), &[]))[0].1.clone();
    assert_eq!(alone.hand(&stale), []);
    assert_eq!(alone.counted(Reason::BadFlags), 2);
}

#[test]
fn the_servers_nonces_begin_behind_that_of_the_first_packet() {
    let mut alone = Alone::new();
    let (mut rogue, heard) = alone.opened(3);
    assert_eq!(heard.nonce, rogue.last_nonce() + 1);
    let said = alone.hand(&rogue.packet((256, 0), &create(1)));
    let more = Alone::heard(&rogue, &said);
    assert_eq!(more[0].nonce, heard.nonce + 1, "a counter, and no clock");
}
