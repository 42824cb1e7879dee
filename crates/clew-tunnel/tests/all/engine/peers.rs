//! Clients with a tunnel that break its rules: each is told so, and nobody else notices.

use clew_tunnel::Reason;
use clew_tunnel::engine::event::Event;
use clew_tunnel::engine::server::Config;
use clew_tunnel::limits::{AHEAD, CREDIT};
use clew_tunnel::record::Authenticators;
use clew_tunnel::wire::rpc::Rpc;
use clew_tunnel::x25519::Public;

use crate::engine::alone::{Alone, Said};
use crate::engine::network::server_address;
use crate::engine::node::{MS, SECOND};
use crate::engine::rogue::{Rogue, create, rpcs, say};

const ZERO: [u8; 72] = [0; 72];

/// A tunnel in which packet 256 has made connection 1.
pub fn connected(alone: &mut Alone) -> Rogue {
    let mut rogue = alone.rogue(3);
    let said = alone.hand(&rogue.first((256, 0), &create(1)));
    assert_eq!(Alone::heard(&rogue, &said)[0].ack, 256);
    rogue
}

fn gone(alone: &Alone, said: &[Said], rogue: &Rogue, reason: Reason) {
    assert!(alone.ended(reason), "{reason}: {:?}", alone.events);
    assert_eq!(alone.counted(reason), 1, "{reason}");
    assert_eq!(alone.server.tunnels(), 0, "{reason}");
    let heard = Alone::heard(rogue, said);
    let last = heard.last().map(|heard| heard.names.clone());
    assert_eq!(last, Some(vec!["close".to_string()]), "{reason}");
}

/// A reason, seq and ack, and RPCs.
type Case = (Reason, (u32, u32), Vec<u8>);

/// What breaks rules of the sequence, of sides and of connections.
fn out_of_order() -> Vec<Case> {
    let puzz_soln = rpcs(&[Rpc::PuzzSoln {
        r: &[0; 80],
        nonce: [0; 8],
    }]);
    let late = [say(1, b"x"), puzz_soln].concat();
    vec![
        (Reason::Order, (0, 0), say(1, b"x")),
        (Reason::Order, (257, 0), Vec::new()),
        (Reason::Order, (257, 0), late),
        (Reason::BadAck, (0, 0x7fff_ffff), Vec::new()),
        (Reason::WrongSide, (257, 0), rpcs(&[Rpc::RekeyNow])),
        (
            Reason::WrongSide,
            (257, 0),
            rpcs(&[Rpc::Ack { connection: 1 }]),
        ),
        (
            Reason::WrongSide,
            (0, 0),
            rpcs(&[Rpc::Puzz {
                q: &[0; 80],
                hash: &[0; 64],
                w: 0,
                nonce: [0; 8],
            }]),
        ),
        (Reason::BadConnection, (257, 0), create(1)),
        (Reason::BadConnection, (257, 0), create(0)),
        (Reason::BadConnection, (257, 0), create(1 << 31)),
        (Reason::UnknownConnection, (257, 0), say(2, b"x")),
        (
            Reason::UnknownConnection,
            (257, 0),
            rpcs(&[Rpc::Close { connection: 2 }]),
        ),
        (
            Reason::UnknownConnection,
            (257, 0),
            rpcs(&[Rpc::WindowSize {
                connection: 2,
                bytes: 1 << 20,
            }]),
        ),
    ]
}

/// What does not parse.
fn unreadable() -> Vec<Case> {
    vec![
        (
            Reason::BadArguments,
            (257, 0),
            b"\0\0\0\0ls\0\x05closee".to_vec(),
        ),
        (Reason::UnknownType, (257, 0), b"\0\0\0\x01x".to_vec()),
        (Reason::NotACall, (257, 0), b"\0\0\0\x01d\0\0\0\0".to_vec()),
        (Reason::Truncated, (257, 0), b"\0\0\0\x01ls\0\x01a".to_vec()),
        (Reason::TooLong, (257, 0), b"\0\0\0\x01ls\x02\x01a".to_vec()),
        (
            Reason::BadUtf8,
            (257, 0),
            b"\0\0\0\x01ls\0\x01\xffe".to_vec(),
        ),
        (
            Reason::TooDeep,
            (257, 0),
            b"\0\0\0\x01ls\0\x01allll".to_vec(),
        ),
        (
            Reason::TooManyValues,
            (257, 0),
            [
                b"\0\0\0\x01ls\0\x01a".to_vec(),
                b"le".repeat(256),
                b"e".to_vec(),
            ]
            .concat(),
        ),
        (Reason::TooManyRpcs, (257, 0), say(1, b"").repeat(65)),
        (
            Reason::BadPadding,
            (257, 0),
            [say(1, b""), b"\0\0\0\x01".to_vec()].concat(),
        ),
    ]
}

#[test]
fn what_breaks_the_rules_of_the_sequence_or_of_rpcs_closes_the_tunnel() {
    let cases = out_of_order().into_iter().chain(unreadable());
    for (reason, numbers, bytes) in cases {
        let mut alone = Alone::new();
        let mut rogue = connected(&mut alone);
        let packet = rogue.packet(numbers, &bytes);
        let said = alone.hand(&packet);
        gone(&alone, &said, &rogue, reason);
    }
}

#[test]
fn what_is_passed_over_is_counted_and_the_tunnel_goes_on() {
    let close = rpcs(&[Rpc::Close { connection: 1 }]);
    let window = |n| {
        rpcs(&[Rpc::WindowSize {
            connection: 1,
            bytes: n,
        }])
    };
    let cases: Vec<(Reason, (u32, u32), Vec<u8>)> = vec![
        (
            Reason::UnknownRpc,
            (257, 0),
            b"\0\0\0\0ls\0\x05othere".to_vec(),
        ),
        (
            Reason::ClosedConnection,
            (257, 0),
            [close.clone(), say(1, b"x")].concat(),
        ),
        (
            Reason::ClosedConnection,
            (257, 0),
            [close.clone(), close].concat(),
        ),
        (Reason::OldWindow, (257, 0), window(CREDIT - 1)),
        (
            Reason::OldWindow,
            (257, 0),
            window(CREDIT.wrapping_add(1 << 31)),
        ),
        (Reason::OldWindow, (257, 0), window(0)),
        (
            Reason::BadSolution,
            (0, 0),
            rpcs(&[Rpc::PuzzSoln {
                r: &[0; 80],
                nonce: [0; 8],
            }]),
        ),
        (Reason::DuplicateSeq, (256, 0), create(1)),
        (Reason::Ahead, (257 + AHEAD as u32 + 1, 0), say(1, b"x")),
    ];
    for (reason, numbers, bytes) in cases {
        let mut alone = Alone::new();
        let mut rogue = connected(&mut alone);
        let _ = alone.hand(&rogue.packet(numbers, &bytes));
        assert_eq!(
            (alone.counted(reason), alone.server.tunnels()),
            (1, 1),
            "{reason}"
        );
        let seq = if numbers.0 == 257 { 258 } else { 257 };
        let said = alone.hand(&rogue.packet((seq, 0), &create(9)));
        let said = [said, alone.wait(30 * MS)].concat();
        let heard = Alone::heard(&rogue, &said);
        assert!(
            heard.iter().any(|heard| heard.ack == seq),
            "{reason}: {heard:?}"
        );
    }
}

#[test]
fn next_tid_without_its_flag_is_discarded_and_its_nonce_can_come_again() {
    let mut alone = Alone::new();
    let mut rogue = connected(&mut alone);
    let next = rogue.next_tid();
    let t = rogue.last_nonce() + 5;
    assert_eq!(alone.hand(&rogue.packet_at(t, (0, 0), &next)), []);
    assert_eq!(alone.counted(Reason::Misplaced), 1);
    let said = alone.hand(&rogue.exactly(t).packet((257, 0), &say(1, b"x")));
    assert!(!said.is_empty());
    assert_eq!(alone.counted(Reason::DuplicateNonce), 0);
}

#[test]
fn nonces_are_decrypted_once_and_old_ones_never() {
    let mut alone = Alone::new();
    let rogue = connected(&mut alone);
    let base = rogue.last_nonce() + 10_000;
    let _ = alone.hand(&rogue.packet_at(base, (257, 0), &create(2)));
    for (t, reason) in [
        (base, Some(Reason::DuplicateNonce)),
        (base - 1_023, None),
        (base - 1_023, Some(Reason::DuplicateNonce)),
        (base - 1_024, Some(Reason::OldNonce)),
    ] {
        let before = reason.map(|reason| alone.counted(reason));
        let _ = alone.hand(&rogue.packet_at(t, (0, 0), &[]));
        assert_eq!(
            reason.map(|r| alone.counted(r)),
            before.map(|n| n + 1),
            "{t}"
        );
    }
    let mut broken = rogue.packet_at(base + 1, (0, 0), &[]);
    broken[30] ^= 1;
    let _ = alone.hand(&broken);
    assert_eq!(alone.counted(Reason::BadBox), 1);
    let _ = alone.hand(&rogue.packet_at(base + 1, (0, 0), &[]));
    assert_eq!(
        alone.counted(Reason::DuplicateNonce),
        2,
        "a broken box has no nonce"
    );
}

#[test]
fn credit_is_exact_and_one_more_closes_the_tunnel() {
    for over in [0, 1] {
        let mut alone = Alone::new();
        alone.is_idle = true;
        let mut rogue = connected(&mut alone);
        // The value of an RPC is 11 bytes longer than what is said.
        let mut said = Vec::new();
        let mut seq = 257;
        for value in [1_000; 16]
            .into_iter()
            .chain([CREDIT as usize - 16_000 + over])
        {
            let packet = rogue.packet((seq, 0), &say(1, &vec![7; value - 11]));
            said = alone.hand(&packet);
            seq += 1;
        }
        if over == 1 {
            gone(&alone, &said, &rogue, Reason::OverWindow);
        } else {
            assert_eq!(alone.server.tunnels(), 1);
            let end = alone.hand(&rogue.packet((seq, 0), &say(1, b"")));
            gone(&alone, &end, &rogue, Reason::OverWindow);
        }
    }
}

/// A reason, what the server offers, and RPCs.
type Offer = (Reason, Authenticators, Vec<u8>);

/// Names and requests that no server takes.
fn not_taken() -> Vec<Offer> {
    let named = |service| {
        rpcs(&[Rpc::Create {
            connection: 2,
            service,
        }])
    };
    let long = "a".repeat(65);
    let offers = Authenticators(3);
    vec![
        (Reason::BadService, offers, named("")),
        (Reason::BadService, offers, named(&long)),
        (Reason::BadService, offers, named("a\u{85}")),
        (
            Reason::NotAllowed,
            offers,
            rpcs(&[Rpc::GiveCert {
                cert: b"",
                ecert: b"",
            }]),
        ),
        (
            Reason::BadIdentity,
            offers,
            rpcs(&[Rpc::RequestCert { identity: b"" }]),
        ),
        (
            Reason::NotAllowed,
            offers,
            rpcs(&[Rpc::RequestCert {
                identity: b"\0\x05other",
            }]),
        ),
    ]
}

/// Authenticators that are none.
fn not_shown() -> Vec<Offer> {
    let user = clew_tunnel::keys::decoy([4; 32]);
    let auth = |c, service, user, x| Rpc::CreateAuth {
        connection: c,
        service,
        user,
        authenticator: x,
    };
    let bound = |ephemeral, x| Rpc::CreateAuthBound {
        connection: 2,
        service: "echo",
        user,
        ephemeral,
        authenticator: x,
    };
    let group = b"\0\0\0\0ls\0\x0fcreateAuthGroupd\0\0\0\x02e".to_vec();
    let offers = Authenticators(3);
    let fresh = Alone::new().ephemeral();
    vec![
        (Reason::NotOffered, offers, group),
        (
            Reason::NotOffered,
            Authenticators::BOUND,
            rpcs(&[auth(2, "echo", user, &ZERO)]),
        ),
        (
            Reason::NotOffered,
            Authenticators::BOX,
            rpcs(&[bound(fresh, &[0; 48])]),
        ),
        (
            Reason::BadKey,
            offers,
            rpcs(&[auth(2, "echo", Public([0xff; 32]), &ZERO)]),
        ),
        (
            Reason::BadKey,
            offers,
            rpcs(&[auth(2, "echo", Public([0; 32]), &ZERO)]),
        ),
        (
            Reason::Authenticator,
            offers,
            rpcs(&[auth(2, "echo", user, &ZERO)]),
        ),
        (
            Reason::Authenticator,
            offers,
            rpcs(&[bound(fresh, &[0; 48])]),
        ),
        (
            Reason::StaleAuthenticator,
            offers,
            rpcs(&[bound(user, &[0; 48])]),
        ),
    ]
}

#[test]
fn what_is_not_to_be_is_refused() {
    let cases = not_taken().into_iter().chain(not_shown());
    for (reason, authenticators, bytes) in cases {
        let mut config = Config::new(vec![server_address()]);
        config.authenticators = authenticators;
        let mut alone = Alone::with(config);
        let mut rogue = connected(&mut alone);
        let said = alone.hand(&rogue.packet((257, 0), &bytes));
        let heard = Alone::heard(&rogue, &said);
        let names: Vec<_> = heard.iter().flat_map(|heard| heard.names.clone()).collect();
        assert_eq!(names, ["refuse"], "{reason}");
        assert_eq!(
            (alone.counted(reason), alone.server.tunnels()),
            (1, 1),
            "{reason}"
        );
    }
}

#[test]
fn the_programs_refusals_have_its_reasons() {
    for reason in [Reason::NotAuthorised, Reason::UnknownService] {
        let mut alone = Alone::new();
        alone.is_idle = true;
        let mut rogue = connected(&mut alone);
        let Some(Event::Create(create)) = alone.events.last().cloned() else {
            unreachable!("{:?}", alone.events);
        };
        assert!(alone.server.decide(create.connection, Err(reason)));
        assert!(!alone.server.decide(create.connection, Ok(())), "once");
        let said = alone.settle();
        assert_eq!(Alone::heard(&rogue, &said)[0].names, ["refuse"]);
        assert_eq!(alone.counted(reason), 1);
        let _ = alone.hand(&rogue.packet((257, 0), &say(1, b"x")));
        assert_eq!(alone.counted(Reason::ClosedConnection), 1);
    }
}

#[test]
fn a_program_that_does_not_decide_is_busy() {
    let mut alone = Alone::new();
    alone.is_idle = true;
    let mut rogue = connected(&mut alone);
    alone.prove(&mut rogue);
    assert_eq!(alone.counted(Reason::Busy), 0);
    let said = alone.wait(10 * SECOND);
    let heard = Alone::heard(&rogue, &said);
    assert!(
        heard.iter().any(|heard| heard.names == ["refuse"]),
        "{heard:?}"
    );
    assert_eq!(alone.counted(Reason::Busy), 1);
}
