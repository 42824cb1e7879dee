//! What clients can make a server keep is bounded, and honest ones are served meanwhile.

use clew_tunnel::Reason;
use clew_tunnel::engine::Datagram;
use clew_tunnel::engine::event::Event;
use clew_tunnel::engine::rate::Rate;
use clew_tunnel::engine::server::Config;
use clew_tunnel::limits::{AHEAD, CREDIT, M_MIN};
use clew_tunnel::wire::rpc::Rpc;

use crate::engine::alone::{Alone, rogue_address};
use crate::engine::network::server_address;
use crate::engine::node::{Engine, MS, SECOND};
use crate::engine::rogue::{Rogue, create, rpcs, say};

use crate::engine::paths::solution;
use crate::engine::peers::connected;
use crate::engine::watch::PLAIN_MAX;

#[test]
fn connections_are_as_many_and_as_fast_as_they_may_be() {
    let mut alone = Alone::new();
    let mut rogue = alone.opened(3).0;
    for n in 0..65_u32 {
        let _ = alone.hand(&rogue.packet((256 + n, 0), &create(1 + n)));
    }
    assert_eq!(alone.counted(Reason::TooManyConnections), 1);
    assert_eq!(alone.server.load().connections, 64);
    // Closed ones make room, until the rate is used up.
    for (seq, n) in (321..).zip(100..400_u32) {
        let close = rpcs(&[Rpc::Close {
            connection: if n == 100 { 1 } else { n - 1 },
        }]);
        let _ = alone.hand(&rogue.packet((seq, 0), &[close, create(n)].concat()));
    }
    // 64 and 192 are the 256 at once.
    assert_eq!(alone.counted(Reason::TooFast), 108);
}

#[test]
fn connections_that_end_unread_keep_their_places() {
    let mut alone = Alone::new();
    alone.is_idle = true;
    let mut rogue = alone.proven(3).0;
    for n in 1..300_u32 {
        let close = rpcs(&[Rpc::Close { connection: n }]);
        let _ =
            alone.hand(&rogue.packet((254 + 2 * n, 0), &[create(n), say(n, b"unread")].concat()));
        if let Some(Event::Create(create)) = alone.events.last().cloned() {
            let _ = alone.server.decide(create.connection, Ok(()));
        }
        let _ = alone.hand(&rogue.packet((255 + 2 * n, 0), &close));
        alone.now += 2 * MS;
    }
    assert_eq!(alone.server.load().connections, 64);
    assert!(alone.counted(Reason::TooManyConnections) > 200);
}

#[test]
fn connections_that_end_undecided_leave_nothing() {
    let mut alone = Alone::new();
    alone.is_idle = true;
    let mut rogue = alone.opened(3).0;
    for n in 1..300_u32 {
        let close = rpcs(&[Rpc::Close { connection: n }]);
        let packet = [create(n), say(n, b"unread"), close].concat();
        let _ = alone.hand(&rogue.packet((255 + n, 0), &packet));
        alone.now += 2 * MS;
    }
    assert_eq!(alone.server.load().connections, 0);
    assert_eq!(alone.counted(Reason::TooManyConnections), 0);
}

#[test]
fn authenticators_beyond_the_rate_wait_for_one_puzzle_and_do_not_pile_up() {
    let mut config = Config::new(vec![server_address()]);
    config.limits.auth = Rate::per_second(1);
    config.w = 3;
    let mut alone = Alone::with(config);
    let mut rogue = alone.proven(3).0;
    let user = clew_tunnel::keys::decoy([4; 32]);
    let ephemeral = alone.ephemeral();
    let mut puzzles = std::collections::HashSet::new();
    for n in 1..1_000_u32 {
        let ask = Rpc::CreateAuthBound {
            connection: n,
            service: "echo",
            user,
            ephemeral,
            authenticator: &[0; 48],
        };
        let packet = rpcs(&[ask, Rpc::Close { connection: n }]);
        let mut said = alone.hand(&rogue.packet((255 + n, 0), &packet));
        said.extend(alone.wait(10 * MS));
        for heard in Alone::heard(&rogue, &said) {
            if heard.names.iter().any(|name| name == "puzz") {
                puzzles.insert(heard.text[8 + 13..][..80].to_vec());
            }
        }
    }
    assert_eq!(
        puzzles.len(),
        1,
        "a puzzle is not drawn anew before it is answered"
    );
    assert!(alone.server.load().work <= 64, "{:?}", alone.server.load());
    // Nobody answers: there are no connections for it, and the tunnel goes on.
    let _ = alone.wait(61 * SECOND);
    assert_eq!((alone.server.tunnels(), alone.server.load().work), (1, 0));
}

#[test]
fn puzzles_of_a_tunnel_are_a_second_apart_however_fast_they_are_solved() {
    let mut config = Config::new(vec![server_address()]);
    config.limits.auth = Rate::per_second(1);
    config.w = 1;
    let mut alone = Alone::with(config);
    let mut rogue = alone.opened(3).0;
    let user = clew_tunnel::keys::decoy([4; 32]);
    let ephemeral = alone.ephemeral();
    let (mut posed, mut answer) = (0, Vec::new());
    for n in 1..=500_u32 {
        let ask = Rpc::CreateAuthBound {
            connection: n,
            service: "echo",
            user,
            ephemeral,
            authenticator: &[0; 48],
        };
        let packet = [core::mem::take(&mut answer), rpcs(&[ask])].concat();
        let mut said = alone.hand(&rogue.packet((255 + n, 0), &packet));
        said.extend(alone.wait(10 * MS));
        for heard in Alone::heard(&rogue, &said) {
            if let Some(solved) = solution(&heard) {
                (posed, answer) = (posed + 1, solved);
            }
        }
    }
    assert!((4..=6).contains(&posed), "{posed} in five seconds");
    assert_eq!(alone.counted(Reason::BadSolution), 0);
}

#[test]
fn who_does_not_answer_when_the_server_is_half_full_is_let_go() {
    let mut config = Config::new(vec![server_address()]);
    config.limits.tunnels = 4;
    let mut alone = Alone::with(config);
    let mut all: Vec<_> = (1..=3).map(|n| alone.proven(2 * n + 1).0).collect();
    let said = alone.wait(121 * SECOND);
    let answer = said.iter().find_map(|(_, bytes)| {
        let heard = all[0].open(bytes)?;
        solution(&heard)
    });
    let _ = alone.hand(&all[0].packet((0, 0), &answer.expect("a puzz")));
    // The second has something to say, but not that.
    let _ = alone.hand(&all[1].packet((256, 0), &create(1)));
    let _ = alone.wait(61 * SECOND);
    assert!(alone.ended(Reason::NoAnswer));
    assert_eq!(alone.server.tunnels(), 2, "the third is gone");
}

#[test]
fn packets_far_ahead_cost_the_server_what_they_bring() {
    let mut alone = Alone::new();
    let mut rogue = connected(&mut alone);
    let _ = alone.hand(&rogue.packet((257 + AHEAD as u32, 0), &say(1, b"far")));
    assert!(alone.server.load().held < 200, "{:?}", alone.server.load());
    let _ = alone.hand(&rogue.packet((257 + AHEAD as u32, 0), &say(1, b"far")));
    assert_eq!(alone.counted(Reason::DuplicateSeq), 1);
    let close = rogue.packet((257, 0), &rpcs(&[Rpc::Close { connection: 0 }]));
    let _ = alone.hand(&close);
    assert_eq!(
        alone.server.load().held,
        0,
        "a tunnel that ends frees what it held"
    );
}

#[test]
fn who_asks_and_never_listens_fills_nothing() {
    let mut alone = Alone::new();
    let mut rogue = alone.proven(3).0;
    let ask = rpcs(&[Rpc::RequestCert {
        identity: b"\0\x0dfiles.example",
    }]);
    // All of it is held behind a gap, and comes at once. The server's answers are never acknowledged.
    for n in 1..3_000_u32 {
        let _ = alone.hand(&rogue.packet((256 + n, 0), &ask.repeat(20)));
    }
    let held = alone.server.load().held;
    assert!(held > 1 << 20, "{held}");
    let _ = alone.hand(&rogue.packet((256, 0), &ask));
    assert!(alone.server.load().held > 0, "the rest waits");
    // An honest client is served meanwhile.
    let mut other = alone.rogue(9);
    let said = alone.hand(&other.first((256, 0), &create(1)));
    assert!(
        Alone::heard(&other, &said)[0]
            .names
            .contains(&"ack".to_string())
    );
    let _ = alone.wait(400 * SECOND);
    assert_eq!(
        alone.server.load().held,
        0,
        "nothing is held for who sleeps"
    );
}

#[test]
fn questions_that_wait_for_the_program_are_as_many_as_may_be() {
    let mut config = Config::new(vec![server_address()]);
    config.is_directory = true;
    let mut alone = Alone::with(config);
    let mut rogue = alone.opened(3).0;
    let ask = rpcs(&[Rpc::RequestCert {
        identity: b"\0\x05other",
    }]);
    for seq in 256..266 {
        let _ = alone.hand(&rogue.packet((seq, 0), &ask.repeat(20)));
    }
    assert_eq!(alone.counted(Reason::Busy), 200 - 64);
    let asked = |event: &&Event| matches!(event, Event::Request { .. });
    assert_eq!(alone.events.iter().filter(asked).count(), 64);
    // They are answered in their order: nothing goes before the first.
    let requests: Vec<_> = alone
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Request { tunnel, number, .. } => Some((*tunnel, *number)),
            _ => None,
        })
        .collect();
    let (tunnel, number) = requests[1];
    let refused = || clew_tunnel::engine::event::Reply::Refused(Reason::UnknownHost);
    assert!(alone.server.reply(tunnel, number, refused()));
    assert!(!alone.server.reply(tunnel, number, refused()), "once");
    assert_eq!(alone.settle(), []);
    let (tunnel, number) = requests[0];
    assert!(alone.server.reply(tunnel, number, refused()));
    let said = alone.settle();
    assert_eq!(Alone::heard(&rogue, &said)[0].names, ["refuse"; 2]);
    assert_eq!(alone.counted(Reason::UnknownHost), 2);
}

#[test]
fn a_malicious_windowsize_gives_no_more_than_the_other_side_can_lose() {
    let mut alone = Alone::new();
    let mut rogue = connected(&mut alone);
    let mut limit = CREDIT;
    for seq in 257..267 {
        limit = limit.wrapping_add((1 << 31) - 1);
        let window = Rpc::WindowSize {
            connection: 1,
            bytes: limit,
        };
        let _ = alone.hand(&rogue.packet((seq, 0), &rpcs(&[window])));
    }
    assert_eq!(alone.counted(Reason::OldWindow), 0);
    assert_eq!(alone.server.tunnels(), 1);
}

#[test]
fn a_tunnel_under_the_boxing_key_is_for_one_question() {
    let mut config = Config::new(vec![server_address()]);
    config.is_directory = true;
    let own = Rpc::RequestCert {
        identity: b"\0\x0dfiles.example",
    };
    let cases: Vec<(&str, Vec<u8>, bool)> = vec![
        ("own", rpcs(&[own]), true),
        (
            "another",
            rpcs(&[Rpc::RequestCert {
                identity: b"\0\x05other",
            }]),
            false,
        ),
        ("create", create(1), false),
        (
            "giveCert",
            rpcs(&[Rpc::GiveCert {
                cert: b"",
                ecert: b"",
            }]),
            false,
        ),
        ("none", rpcs(&[Rpc::RequestCert { identity: b"" }]), false),
        ("a connection", say(1, b"x"), false),
        (
            "a window",
            rpcs(&[Rpc::WindowSize {
                connection: 1,
                bytes: 1 << 20,
            }]),
            false,
        ),
        ("an unknown one", b"\0\0\0\0ls\0\x05othere".to_vec(), false),
    ];
    for (name, bytes, is_allowed) in cases {
        let mut alone = Alone::with(config.clone());
        let boxing = alone.server.record().cert.body.boxing;
        let mut rogue = Rogue::new(&boxing, 3, alone.wall());
        let said = alone.hand(&rogue.first((256, 0), &bytes));
        let heard = Alone::heard(&rogue, &said);
        if is_allowed {
            assert_eq!(heard[0].names, ["giveCert"], "{name}");
            assert!(said[0].1.len() == 256 || said[0].1.len() == usize::from(M_MIN));
            let wall = alone.wall();
            let before = rogue.rekey(wall + 1);
            let _ = alone.hand(&rogue.first((0, 0), &[]));
            assert!(before.tid != rogue.tid && alone.server.tunnels() == 1);
            alone.prove(&mut rogue);
            let _ = alone.wait(10 * SECOND);
            assert!(alone.ended(Reason::Idle), "a rekey makes it live no longer");
        } else {
            assert!(
                alone.ended(Reason::NotAllowed),
                "{name}: {:?}",
                alone.events
            );
        }
        assert_eq!(alone.server.tunnels(), 0, "{name}");
    }
    // Who is no directory says who it is, too.
    let mut alone = Alone::new();
    let boxing = alone.server.record().cert.body.boxing;
    let mut rogue = Rogue::new(&boxing, 3, alone.wall());
    let said = alone.hand(&rogue.first((256, 0), &rpcs(&[own])));
    assert_eq!(Alone::heard(&rogue, &said)[0].names, ["giveCert"]);
}

/// Answers that nobody takes away are bounded, and those that are dropped are counted.
#[test]
fn answers_that_have_no_room_are_counted() {
    let mut config = Config::new(vec![server_address()]);
    let fast = Rate::per_second(1_000_000);
    let limits = &mut config.limits;
    (limits.first, limits.stale, limits.stale_all) = (fast, fast, fast);
    let mut alone = Alone::with(config);
    let wall = alone.wall();
    let mut stranger = Rogue::new(&clew_tunnel::keys::decoy([7; 32]), 9, wall);
    for _ in 0..PLAIN_MAX + 5 {
        let mut bytes = stranger.first((0, 0), &[]);
        let datagram = Datagram {
            peer: rogue_address(),
            bytes: &mut bytes,
        };
        let now = alone.clock.at(alone.now);
        Engine::receive(&mut alone.server, now, vec![datagram]);
        while alone.server.compute(alone.clock.at(alone.now)) {}
    }
    assert_eq!(alone.counted(Reason::BadBox), PLAIN_MAX as u64 + 5);
    assert_eq!(alone.server.load().plain, PLAIN_MAX);
    assert_eq!(alone.counted(Reason::Busy), 5);
}
