//! Solutions in headers (`spec/tunnel.md` section 10).

use std::net::SocketAddr;

use clew_tunnel::Reason;
use clew_tunnel::engine::rate::Rate;
use clew_tunnel::engine::server::Config;
use clew_tunnel::puzzle::{Interrogation, Progress, Search, Solution};
use clew_tunnel::wire::packet::{Packet, Tid};
use clew_tunnel::x25519::Public;

use crate::engine::alone::{Alone, Said, rogue_address};
use crate::engine::network::server_address;
use crate::engine::node::SECOND;
use crate::engine::rogue::Rogue;

/// A server that takes one key at once, and asks for 4 bits beyond one first packet a second.
fn loaded() -> Alone {
    let mut config = Config::new(vec![server_address()]);
    config.w = 4;
    config.limits.first = Rate::per_second(1);
    Alone::with(config)
}

/// What one of its answers is.
fn interrogation(said: &[Said]) -> Interrogation {
    let mut bytes = said[0].1.clone();
    let Ok(Packet::Interrogation(asked)) = Packet::parse(&mut bytes, 0) else {
        unreachable!("no interrogation: {said:?}");
    };
    asked
}

fn solve(asked: &Interrogation) -> Solution {
    let mut search = Search::new(&asked.q, &asked.hash, asked.w, 22).expect("not too hard");
    let Ok(Progress::Found(r)) = search.step(1 << 22) else {
        unreachable!("a puzzle has a solution");
    };
    let nonce = asked.nonce;
    Solution { r, nonce }
}

/// A rogue that was asked, with the solution.
fn asked(alone: &mut Alone, n: u8) -> Rogue {
    let mut other = alone.rogue(n ^ 0x80);
    let _ = alone.hand(&other.first((0, 0), &[]));
    let mut rogue = alone.rogue(n);
    let said = alone.hand(&rogue.first((0, 0), &[]));
    rogue.solution = Some(solve(&interrogation(&said)));
    rogue
}

/// Where a solution comes from, after something was done.
type From = fn(&mut Alone, &mut Rogue) -> SocketAddr;

#[test]
fn a_solution_opens_a_tunnel_where_others_are_asked() {
    let mut alone = loaded();
    let mut rogue = asked(&mut alone, 3);
    assert_eq!(alone.counted(Reason::PuzzleAsked), 1);
    let said = alone.hand(&rogue.first((0, 0), &[]));
    assert_eq!(Alone::heard(&rogue, &said).len(), 1, "{said:?}");
    assert_eq!(alone.server.tunnels(), 2);
}

#[test]
fn a_solution_is_for_one_address_tid_key_and_time() {
    let cases: [(&str, From, Reason); 7] = [
        (
            "port",
            |_, _| "198.51.100.9:7001".parse().unwrap(),
            Reason::BadSolution,
        ),
        (
            "address",
            |_, _| "198.51.100.8:7000".parse().unwrap(),
            Reason::BadSolution,
        ),
        (
            "TID",
            |_, r| {
                r.tid = Tid::from_random([9; 8]);
                rogue_address()
            },
            Reason::BadSolution,
        ),
        (
            "C'",
            |_, r| {
                r.client = Public([9; 32]);
                rogue_address()
            },
            Reason::BadSolution,
        ),
        (
            "r",
            |_, r| {
                if let Some(s) = &mut r.solution {
                    s.r[79] ^= 1;
                }
                rogue_address()
            },
            Reason::BadSolution,
        ),
        (
            "age",
            |a, _| {
                let _ = a.wait(61 * SECOND);
                rogue_address()
            },
            Reason::OldSolution,
        ),
        (
            "two secrets",
            |a, _| {
                let _ = a.wait(301 * SECOND);
                rogue_address()
            },
            Reason::BadSolution,
        ),
    ];
    for (name, change, reason) in cases {
        let mut alone = loaded();
        let mut rogue = asked(&mut alone, 3);
        let from = change(&mut alone, &mut rogue);
        let wall = alone.wall();
        let packet = rogue.at(wall).first((0, 0), &[]);
        assert_eq!(alone.hand_from(from, &packet), [], "{name}");
        assert_eq!(alone.counted(reason), 1, "{name}");
    }
}

#[test]
fn a_wrong_solution_is_refused_where_none_is_due() {
    let mut alone = Alone::new();
    let mut rogue = alone.rogue(3);
    rogue.solution = Some(Solution {
        r: [1; 80],
        nonce: clew_tunnel::keys::Nonce::from_bytes([2; 8]),
    });
    assert_eq!(alone.hand(&rogue.first((0, 0), &[])), []);
    assert_eq!(alone.counted(Reason::BadSolution), 1);
    // The zeros of one that was right.
    let mut alone = loaded();
    let mut rogue = asked(&mut alone, 3);
    let mut packet = rogue.first((0, 0), &[]);
    packet[48 + 100] = 1;
    assert_eq!(alone.hand(&packet), []);
    assert_eq!(alone.counted(Reason::BadSolution), 1);
}

#[test]
fn who_has_worked_is_told_when_all_places_are_taken() {
    let mut config = Config::new(vec![server_address()]);
    (config.w, config.limits.tunnels) = (2, 1);
    let mut alone = Alone::with(config);
    let mut rogue = asked(&mut alone, 3);
    assert_eq!(alone.hand(&rogue.first((0, 0), &[])), []);
    assert_eq!(
        (alone.counted(Reason::Busy), alone.server.tunnels()),
        (1, 1)
    );
}
