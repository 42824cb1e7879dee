//! Clients before servers that keep to no rule.

use std::net::SocketAddr;

use clew_tunnel::Reason;
use clew_tunnel::engine::Datagram;
use clew_tunnel::engine::event::Event;
use clew_tunnel::limits::CREDIT;
use clew_tunnel::record::EcertBody;
use clew_tunnel::wire::rpc::Rpc;
use clew_tunnel::x25519::{Public, Secret};

use crate::engine::network::server_address;
use crate::engine::node::{Engine, SECOND};
use crate::engine::rogue::{rpcs, say};

use crate::engine::impostor::{Impostor, record};

#[test]
fn a_first_packet_is_sent_after_a_second_and_then_every_two() {
    let mut impostor = Impostor::new();
    let sent = impostor.wait(30 * SECOND);
    let times: Vec<u64> = sent
        .iter()
        .map(|(at, _)| (at - 1_000_000) / SECOND)
        .collect();
    assert_eq!(times, [1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
    assert!(
        sent.iter()
            .all(|(_, bytes)| bytes.len() == 1_024 && bytes[0] & 0xc0 == 0x80)
    );
    assert!(impostor.ended(Reason::NoAnswer));
    assert_eq!(impostor.client.tunnels(), 0);
}

#[test]
fn a_stale_key_answer_is_followed_with_the_same_tid_and_key() {
    let mut impostor = Impostor::new();
    let (tid, public) = (impostor.tid, impostor.public);
    impostor.ephemeral = Secret::from_bytes([0x22; 32]);
    let newer = record(&impostor.secret, &impostor.ephemeral, 1, |body| {
        body.m = 1_100
    });
    let answer = impostor.stale(impostor.nonce, &newer);
    let sent = impostor.hand(&answer);
    assert_eq!((sent.len(), sent[0].len()), (1, 1_100));
    impostor.read_first(&sent[0]);
    assert_eq!((impostor.tid, impostor.public), (tid, public));
    let _ = impostor.say(&rpcs(&[Rpc::Ack { connection: 1 }]));
    assert!(
        impostor
            .events
            .contains(&Event::Accepted(impostor.connection))
    );
}

#[test]
fn after_a_stale_key_answer_the_old_key_can_still_be_the_one() {
    let mut impostor = Impostor::new();
    let newer = record(&impostor.secret, &Secret::from_bytes([0x22; 32]), 1, |_| {});
    let _ = impostor.hand(&impostor.stale(impostor.nonce, &newer));
    let _ = impostor.say(&rpcs(&[Rpc::Ack { connection: 1 }]));
    assert!(
        impostor
            .events
            .contains(&Event::Accepted(impostor.connection))
    );
}

#[test]
fn stale_key_answers_that_are_not_to_be_followed_are_not() {
    type Change = fn(&mut EcertBody);
    let cases: [(Reason, u64, u64, Change); 6] = [
        (Reason::UnexpectedAnswer, 1, 1, |_| {}),
        (Reason::NotNewer, 0, 0, |_| {}),
        (Reason::BadKey, 0, 1, |body| {
            body.ephemeral = Public([0xff; 32])
        }),
        (Reason::RecordKeys, 0, 1, |body| {
            body.boxing = Public([3; 32])
        }),
        (Reason::NotYetValid, 0, 40_000, |_| {}),
        (Reason::BadLifetime, 0, 1, |body| body.end = body.start),
    ];
    for (reason, nonce, later, change) in cases {
        let mut impostor = Impostor::new();
        let newer = record(
            &impostor.secret,
            &Secret::from_bytes([0x22; 32]),
            later,
            change,
        );
        let answer = impostor.stale(impostor.nonce + nonce, &newer);
        assert!(impostor.hand(&answer).is_empty(), "{reason}");
        assert_eq!(impostor.counted(reason), 1, "{reason}");
        assert_eq!(impostor.client.tunnels(), 1);
    }
    let mut impostor = Impostor::opened();
    let newer = record(&impostor.secret, &Secret::from_bytes([0x22; 32]), 1, |_| {});
    assert!(
        impostor
            .hand(&impostor.stale(impostor.nonce, &newer))
            .is_empty()
    );
    assert_eq!(impostor.counted(Reason::UnexpectedAnswer), 1);
    let mut forged = record(&impostor.secret, &Secret::from_bytes([0x22; 32]), 1, |_| {});
    forged.ecert.signature[0] ^= 1;
    let mut impostor = Impostor::new();
    assert!(
        impostor
            .hand(&impostor.stale(impostor.nonce, &forged))
            .is_empty()
    );
    assert_eq!(impostor.counted(Reason::RecordSignature), 1);
}

#[test]
fn stale_key_answers_are_followed_twice() {
    let mut impostor = Impostor::new();
    for n in 1..=3_u8 {
        let newer = record(
            &impostor.secret,
            &Secret::from_bytes([0x30 + n; 32]),
            n.into(),
            |_| {},
        );
        let sent = impostor.hand(&impostor.stale(impostor.nonce, &newer));
        assert_eq!(sent.len(), usize::from(n < 3), "{n}");
    }
    assert_eq!(impostor.counted(Reason::TooManyAnswers), 1);
}

#[test]
fn interrogations_are_answered_as_often_and_as_hard_as_the_record_says() {
    let mut impostor = Impostor::new();
    let sent = impostor.hand(&impostor.interrogation(1, 8));
    assert_eq!(
        (sent.len(), sent[0].len(), sent[0][0] & 0xc0),
        (1, 1_024, 0xc0)
    );
    assert!(impostor.hand(&impostor.interrogation(2, 9)).is_empty());
    assert_eq!(impostor.counted(Reason::TooHard), 1);
    let mut wrong = impostor.interrogation(3, 4);
    wrong[100] ^= 1;
    assert!(impostor.hand(&wrong).is_empty());
    assert_eq!(impostor.counted(Reason::Unsolvable), 1);
    assert_eq!(impostor.hand(&impostor.interrogation(4, 0)).len(), 1);
    for n in 5..100 {
        assert!(impostor.hand(&impostor.interrogation(n, 0)).is_empty());
    }
    assert_eq!(impostor.counted(Reason::TooManyPuzzles), 95);
    let mut other = impostor.interrogation(100, 0);
    other[3] ^= 1;
    let _ = impostor.hand(&other);
    let mut open = Impostor::opened();
    let _ = open.hand(&open.interrogation(1, 0));
    assert_eq!(
        (
            impostor.counted(Reason::UnexpectedAnswer),
            open.counted(Reason::UnexpectedAnswer)
        ),
        (1, 1)
    );
}

#[test]
fn servers_that_break_the_rules_are_left() {
    let puzz = |w| {
        rpcs(&[Rpc::Puzz {
            q: &[0; 80],
            hash: &[0; 64],
            w,
            nonce: [0; 8],
        }])
    };
    let cases: Vec<(Reason, (u32, u32), Vec<u8>)> = vec![
        (Reason::TooHard, (0, 0), puzz(23)),
        (
            Reason::WrongSide,
            (257, 0),
            rpcs(&[Rpc::Create {
                connection: 9,
                service: "a",
            }]),
        ),
        (Reason::BadAck, (0, 77), Vec::new()),
        (Reason::Order, (0, 0), say(1, b"x")),
        (Reason::Order, (257, 0), [say(1, b"x"), puzz(0)].concat()),
        (Reason::UnknownConnection, (257, 0), say(2, b"x")),
        (Reason::UnknownType, (257, 0), b"\0\0\0\x01x".to_vec()),
        (
            Reason::WrongSide,
            (0, 0),
            rpcs(&[Rpc::PuzzSoln {
                r: &[0; 80],
                nonce: [0; 8],
            }]),
        ),
    ];
    for (reason, numbers, bytes) in cases {
        let mut impostor = Impostor::opened();
        let packet = impostor.packet(numbers, &bytes);
        let _ = impostor.hand(&packet);
        assert!(impostor.ended(reason), "{reason}: {:?}", impostor.events);
        assert_eq!(
            (impostor.counted(reason), impostor.client.tunnels()),
            (1, 0),
            "{reason}"
        );
    }
    // On a connection before its ack.
    let mut impostor = Impostor::new();
    let _ = impostor.say(&say(1, b"x"));
    assert!(impostor.ended(Reason::UnknownConnection));
    // More than the client's credit.
    let mut impostor = Impostor::opened();
    for _ in 0..=CREDIT / 1_011 {
        let _ = impostor.say(&say(1, &[0; 1_000]));
    }
    assert_eq!(impostor.client.tunnels(), 0);
    assert!(impostor.ended(Reason::OverWindow));
}

#[test]
fn what_a_client_did_not_ask_for_is_counted_alone() {
    let all = [
        rpcs(&[Rpc::Ack { connection: 1 }]),
        rpcs(&[Rpc::Refuse { connection: 1 }]),
        rpcs(&[Rpc::Refuse { connection: 0 }]),
        rpcs(&[Rpc::GiveCert {
            cert: b"",
            ecert: b"",
        }]),
        rpcs(&[Rpc::Ok]),
    ];
    let mut impostor = Impostor::opened();
    for (n, bytes) in all.iter().enumerate() {
        let _ = impostor.say(bytes);
        assert_eq!(impostor.counted(Reason::Unasked), n as u64 + 1);
    }
    let _ = impostor.say(b"\0\0\0\0ls\0\x05othere");
    let _ = impostor.say(&[rpcs(&[Rpc::Close { connection: 1 }]), say(1, b"late")].concat());
    assert_eq!(
        impostor.counted(Reason::UnknownRpc) + impostor.counted(Reason::ClosedConnection),
        2
    );
    assert_eq!(impostor.client.tunnels(), 1);
}

#[test]
fn a_client_solves_the_last_puzzle_alone_and_says_its_answer_again() {
    let mut impostor = Impostor::opened();
    let posed = |n: u8| {
        let (q, hash) = clew_tunnel::puzzle::pose(&[n; 80], 2);
        rpcs(&[Rpc::Puzz {
            q: &q,
            hash: &hash,
            w: 2,
            nonce: [n; 8],
        }])
    };
    // A thousand that are hard to solve, one after the other: the last remains.
    let all: Vec<u8> = (0..5_u8)
        .flat_map(|n| {
            rpcs(&[Rpc::Puzz {
                q: &[n; 80],
                hash: &[0; 64],
                w: 22,
                nonce: [n, 1, 1, 1, 1, 1, 1, 1],
            }])
        })
        .collect();
    for _ in 0..200 {
        let packet = impostor.packet((0, 0), &all);
        let mut bytes = packet;
        let all = vec![Datagram {
            peer: server_address(),
            bytes: &mut bytes,
        }];
        Engine::receive(&mut impostor.client, impostor.clock.at(impostor.now), all);
        assert!(impostor.client.load().work <= 1);
    }
    for _ in 0..2 {
        let packet = impostor.packet((0, 0), &posed(7));
        let sent = impostor.hand(&packet);
        assert_eq!((sent.len(), sent[0].len()), (1, 151));
    }
}

#[test]
fn packets_of_clients_and_broken_ones_are_nothing_to_a_client() {
    let mut impostor = Impostor::opened();
    let mut client = impostor.packet((0, 0), &[]);
    client[15] |= 1;
    let mut broken = impostor.packet((0, 0), &[]);
    broken[20] ^= 1;
    let mut other = impostor.packet((0, 0), &[]);
    other[2] ^= 1;
    let same = impostor.packet((0, 0), &[]);
    let next = impostor.packet(
        (0, 0),
        &rpcs(&[Rpc::NextTid {
            tid: [1; 8],
            key: Public([2; 32]),
        }]),
    );
    for packet in [&client, &broken, &other, &same, &same, &next, &vec![0; 39]] {
        let _ = impostor.hand(packet);
    }
    let reasons = [
        Reason::BadFlags,
        Reason::BadBox,
        Reason::UnknownTid,
        Reason::DuplicateNonce,
        Reason::Misplaced,
        Reason::BadLength,
    ];
    assert_eq!(reasons.map(|reason| impostor.counted(reason)), [1; 6]);
    assert_eq!(impostor.client.tunnels(), 1);
}

#[test]
fn a_second_rekey_waits_for_the_first_and_leaves_no_tid_behind() {
    let mut impostor = Impostor::opened();
    for _ in 0..5 {
        impostor
            .client
            .rekey_now(impostor.clock.at(impostor.now), impostor.tunnel);
        let _ = impostor.settle();
        assert_eq!(impostor.client.load().tids, [2, 2]);
    }
    // Under the old key it still receives.
    let _ = impostor.say(&rpcs(&[Rpc::Ack { connection: 1 }]));
    assert_eq!(impostor.counted(Reason::Unasked), 1);
    let now = impostor.now;
    impostor
        .client
        .moved(impostor.clock.at(now), impostor.tunnel, 2);
    let _ = impostor.settle();
    assert_eq!(
        impostor.client.load().tids,
        [1, 1],
        "not from the new address"
    );
}

#[test]
fn a_silent_server_is_noticed_asked_and_given_up() {
    let mut impostor = Impostor::opened();
    let said = impostor
        .client
        .write(impostor.connection, "say", |call| call.bytes(b"?"));
    assert_eq!(said, Ok(true));
    let _ = impostor.settle();
    let sent = impostor.wait(290 * SECOND);
    assert!(impostor.events.contains(&Event::Silent(impostor.tunnel)));
    let rekeys: Vec<_> = sent
        .iter()
        .filter(|(_, bytes)| bytes[0] & 0x80 != 0)
        .collect();
    assert!(rekeys.len() > 5 && rekeys.iter().all(|(_, bytes)| bytes.len() == 1_024));
    let gaps: Vec<u64> = rekeys
        .windows(2)
        .map(|pair| (pair[1].0 - pair[0].0) / SECOND)
        .collect();
    assert_eq!(gaps[..5], [1, 2, 2, 2, 2]);
    let _ = impostor.wait(20 * SECOND);
    assert!(impostor.ended(Reason::NoAnswer));
}

#[test]
fn a_tunnel_without_connections_is_closed() {
    let mut impostor = Impostor::opened();
    let _ = impostor.say(&rpcs(&[Rpc::Close { connection: 1 }]));
    let _ = impostor.wait(299 * SECOND);
    assert_eq!(impostor.client.tunnels(), 1);
    let sent = impostor.wait(2 * SECOND);
    assert_eq!(impostor.client.tunnels(), 0);
    assert!(sent.is_empty() || sent.len() < 3, "close(0) at most");
    let _: SocketAddr = server_address();
}
