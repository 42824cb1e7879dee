//! Where the client is: moves, rebinding, amplification (`spec/tunnel.md` section 9), and rekeys at the server.

use std::net::SocketAddr;

use clew_tunnel::Reason;
use clew_tunnel::puzzle::{Progress, Search};
use clew_tunnel::wire::packet::Side;
use clew_tunnel::wire::plaintext::Plaintext;
use clew_tunnel::wire::rpc::Rpc;

use crate::engine::alone::{Alone, rogue_address};
use crate::engine::node::{MS, SECOND};
use crate::engine::rogue::{Heard, Rogue, create, rpcs, say};

fn elsewhere(n: u8) -> SocketAddr {
    SocketAddr::from(([203, 0, 113, n], 99))
}

/// The answer to a puzzle in a packet.
pub fn solution(heard: &Heard) -> Option<Vec<u8>> {
    let plaintext = Plaintext::parse(&heard.text).expect("a plaintext");
    let call = plaintext
        .calls
        .into_iter()
        .find(|call| call.name == "puzz")?;
    let Ok(Rpc::Puzz { q, hash, w, nonce }) = Rpc::of(&call, Side::Server) else {
        unreachable!("a puzzle");
    };
    let mut search = Search::new(q, hash, w, 22).expect("not too hard");
    let Ok(Progress::Found(r)) = search.step(1 << 22) else {
        unreachable!("a solution");
    };
    Some(rpcs(&[Rpc::PuzzSoln { r: &r, nonce }]))
}

/// A tunnel whose first address is proven, with connection 1; the next seq is 257.
fn proven(alone: &mut Alone) -> Rogue {
    let mut rogue = alone.rogue(3);
    let said = alone.hand(&rogue.first((256, 0), &create(1)));
    let seq = Alone::heard(&rogue, &said)[0].seq;
    assert!(seq > 0, "the ack of the connection is counted");
    let _ = alone.hand(&rogue.packet((0, seq), &[]));
    rogue
}

fn status(alone: &mut Alone) -> SocketAddr {
    let tunnel = alone.events.iter().find_map(|event| match event {
        clew_tunnel::engine::event::Event::Create(create) => Some(create.connection.tunnel),
        _ => None,
    });
    let status = alone.server.status(tunnel.expect("a tunnel"));
    status.expect("it is there").address
}

#[test]
fn an_address_that_answers_the_puzzle_is_kept() {
    let mut alone = Alone::new();
    let mut rogue = proven(&mut alone);
    let said = alone.hand_from(elsewhere(1), &rogue.packet((257, 0), &say(1, &[1; 200])));
    assert!(said.iter().all(|(to, _)| *to == elsewhere(1)));
    let heard = Alone::heard(&rogue, &said);
    let answer = solution(&heard[0]).expect("a puzzle comes first");
    let _ = alone.hand_from(elsewhere(1), &rogue.packet((0, 0), &answer));
    let _ = alone.wait(10 * SECOND);
    assert_eq!(status(&mut alone), elsewhere(1));
    assert_eq!(alone.counted(Reason::BadSolution), 0);
}

#[test]
fn a_copy_from_a_false_address_is_followed_for_three_seconds() {
    let mut alone = Alone::new();
    let mut rogue = proven(&mut alone);
    let _ = alone.hand_from(elsewhere(1), &rogue.packet((257, 0), &say(1, &[1; 200])));
    assert_eq!(status(&mut alone), elsewhere(1));
    let _ = alone.wait(2_999 * MS);
    assert_eq!(status(&mut alone), elsewhere(1));
    let _ = alone.wait(2 * MS);
    assert_eq!(status(&mut alone), rogue_address());
    let (came, went) = alone.bytes[&elsewhere(1)];
    assert!(went <= 3 * came, "{came} {went}");
}

#[test]
fn only_the_newest_packet_under_the_current_key_moves_a_tunnel() {
    let mut alone = Alone::new();
    let mut rogue = proven(&mut alone);
    let t = rogue.last_nonce();
    let _ = alone.hand(&rogue.packet_at(t + 10, (0, 0), &[]));
    let _ = alone.hand_from(
        elsewhere(1),
        &rogue.packet_at(t + 9, (257, 0), &say(1, b"x")),
    );
    assert_eq!(status(&mut alone), rogue_address());
    let wall = alone.wall();
    let mut before = rogue.rekey(wall + 1);
    let _ = alone.hand(&rogue.first((0, 0), &[]));
    let late = before.at(t + 100).packet((258, 0), &say(1, b"y"));
    let said = alone.hand_from(elsewhere(2), &late);
    assert_eq!(status(&mut alone), rogue_address());
    let heard = Alone::heard(&rogue, &said);
    assert!(
        heard.iter().all(|heard| heard.ack == 258),
        "what drains is done: {heard:?}"
    );
}

#[test]
fn moves_are_rare() {
    let mut alone = Alone::new();
    let mut rogue = proven(&mut alone);
    for n in 1..=6 {
        let _ = alone.hand_from(elsewhere(n), &rogue.packet((0, 0), &[]));
    }
    assert_eq!(alone.counted(Reason::TooManyMoves), 2);
    assert_eq!(status(&mut alone), elsewhere(4));
    let _ = alone.wait(3 * SECOND + MS);
    assert_eq!(status(&mut alone), rogue_address());
}

#[test]
fn small_packets_from_a_new_address_earn_the_puzzle_before_anything_else() {
    let mut alone = Alone::new();
    let mut rogue = proven(&mut alone);
    // 50 bytes earn 150: less than the puzzle.
    let packet = rogue.packet((257, 0), &say(1, b""));
    assert!(packet.len() < 73);
    assert_eq!(alone.hand_from(elsewhere(1), &packet), []);
    assert_eq!(alone.wait(500 * MS), [], "and it does not run in circles");
    // The client sends it again, since nothing acknowledged it.
    let said = alone.hand_from(elsewhere(1), &rogue.packet((257, 0), &say(1, b"")));
    let heard = Alone::heard(&rogue, &said);
    let answer = solution(&heard[0]).expect("a puzzle comes first");
    assert_eq!(heard[0].ack, 257);
    let said = alone.hand_from(elsewhere(1), &rogue.packet((0, 0), &answer));
    let heard = Alone::heard(&rogue, &said);
    assert!(
        heard
            .iter()
            .any(|heard| heard.names.contains(&"echo".to_string()))
    );
    let _ = alone.wait(4 * SECOND);
    assert_eq!(status(&mut alone), elsewhere(1));
}

#[test]
fn no_address_gets_more_than_three_times_what_came_from_it() {
    let mut alone = Alone::new();
    let mut rogue = alone.rogue(3);
    let packet = rogue.first((256, 0), &create(1));
    let _ = alone.hand_from(elsewhere(9), &packet);
    for (seq, round) in (257..).zip(0..200_u32) {
        // Its bulk is answered with as much; nothing is ever acknowledged.
        let packet = rogue.packet((seq, 0), &say(1, &[5; 600]));
        let _ = alone.hand_from(elsewhere((round % 5) as u8), &packet);
        let _ = alone.wait(u64::from(round % 7) * 300 * MS);
        for (address, (came, went)) in &alone.bytes {
            assert!(*went <= 3 * came, "{address}: {came} {went}");
        }
    }
}

#[test]
fn a_rekey_that_the_server_cannot_follow_is_answered_within_the_old_addresss_means() {
    let mut alone = Alone::new();
    let mut rogue = alone.rogue(3);
    let _ = alone.hand(&rogue.first((256, 0), &create(1)));
    for n in 1..=4 {
        let _ = alone.hand_from(elsewhere(n), &rogue.packet((0, 0), &[]));
    }
    let wall = alone.wall();
    let _ = rogue.rekey(wall + 100);
    let _ = alone.hand_from(elsewhere(8), &rogue.first((0, 0), &[]));
    assert_eq!(alone.counted(Reason::TooManyMoves), 1);
    let _ = alone.wait(4 * SECOND);
    for (address, (came, went)) in &alone.bytes {
        assert!(*went <= 3 * came, "{address}: {came} {went}");
    }
    // Sent again later, it is followed.
    let wall = alone.wall();
    let said = alone.hand_from(elsewhere(8), &rogue.at(wall).first((0, 0), &[]));
    assert_eq!(said[0].0, elsewhere(8));
    assert!(said[0].1.len() >= 256);
}

#[test]
fn rekeys_in_a_row_drain_one_key_and_announce_one_tid() {
    let mut alone = Alone::new();
    let mut rogue = proven(&mut alone);
    let wall = alone.wall();
    let mut first = rogue.rekey(wall + 1_000);
    let said = alone.hand(&rogue.first((257, 0), &say(1, b"a")));
    assert_eq!(said[0].1.len(), 256);
    assert_eq!(Alone::heard(&rogue, &said)[0].ack, 257);
    // Under the draining key it can still come.
    let _ = alone.hand(&first.packet((258, 0), &say(1, b"b")));
    assert_eq!(alone.counted(Reason::UnknownTid), 0);
    let mut second = rogue.rekey(wall + 2_000);
    let said = alone.hand(&rogue.first((0, 0), &[]));
    assert_eq!(Alone::heard(&rogue, &said)[0].ack, 258);
    let _ = alone.hand(&first.packet((0, 0), &[]));
    assert_eq!(
        alone.counted(Reason::UnknownTid),
        1,
        "erased at the next rekey"
    );
    let _ = alone.hand(&second.packet((0, 0), &[]));
    let _ = alone.wait(3 * SECOND);
    let _ = alone.hand(&second.packet((0, 0), &[]));
    assert_eq!(alone.counted(Reason::UnknownTid), 2, "erased after DRAIN");
    assert_eq!(alone.server.load().tids, [2, 2]);
}

#[test]
fn a_rekey_is_taken_once_and_its_copies_fail_as_first_packets_do() {
    let mut alone = Alone::new();
    let mut rogue = proven(&mut alone);
    let wall = alone.wall();
    let _ = rogue.rekey(wall + 1_000);
    let rekey = rogue.first((0, 0), &[]);
    assert_eq!(alone.hand(&rekey).len(), 1);
    assert_eq!(alone.hand(&rekey), []);
    assert_eq!(alone.counted(Reason::DuplicateNonce), 1);
    // Sent again with a newer nonce, it is answered.
    assert_eq!(alone.hand(&rogue.first((0, 0), &[])).len(), 1);
    // After the next one it is the draining TID, and its C' is known.
    let _ = rogue.rekey(wall + 9_000);
    let _ = alone.hand(&rogue.first((0, 0), &[]));
    assert_eq!(alone.hand(&rekey), []);
    assert_eq!(alone.counted(Reason::Replayed), 1);
    // With another C' it would be answered as anything that no key opens.
    let mut other = rekey;
    other[16..48].copy_from_slice(&clew_tunnel::keys::decoy([77; 32]).0);
    let said = alone.hand(&other);
    assert_eq!((said.len(), alone.counted(Reason::BadBox)), (1, 1));
    assert_eq!(said[0].1[0] & 0xc0, 0x80, "a stale-key answer");
}

#[test]
fn rekeys_are_rare_and_their_next_tid_is_free() {
    let mut alone = Alone::new();
    let other = alone.opened(77).0;
    let mut rogue = proven(&mut alone);
    let wall = alone.wall();
    let mut next = rogue.clone();
    let _ = next.rekey(wall + 1_000);
    for used in [other.tid, other.announced, rogue.tid, next.tid] {
        next.announced = used;
        let said = alone.hand(&next.first((0, 0), &[]));
        assert_eq!(said[0].1[0] & 0xc0, 0x80, "a stale-key answer");
    }
    assert_eq!(alone.counted(Reason::BadTid), 4);
    for n in 1..=6 {
        let _ = rogue.rekey(wall + 100_000 * n);
        let _ = alone.hand(&rogue.first((0, 0), &[]));
    }
    assert_eq!(alone.counted(Reason::TooManyRekeys), 1);
    // The next one's TID was never announced: to the server it is a new tunnel whose box nothing opens.
    assert_eq!(alone.counted(Reason::BadBox), 1);
    assert_eq!(alone.server.load().tids, [5, 5]);
}

#[test]
fn a_client_that_does_not_rekey_finds_a_dormant_tunnel_and_all_that_waited() {
    let mut alone = Alone::new();
    let mut rogue = proven(&mut alone);
    let said = alone.wait(599 * SECOND);
    assert!(
        Alone::heard(&rogue, &said)
            .iter()
            .all(|heard| heard.names.is_empty())
    );
    let said = alone.wait(2 * SECOND);
    let heard = Alone::heard(&rogue, &said);
    assert_eq!(heard[0].names, ["rekeyNow"]);
    let seq = heard[0].seq;
    let said = alone.wait(31 * SECOND);
    assert!(!said.is_empty(), "it is sent again");
    assert_eq!(alone.server.load().tids, [1, 1]);
    assert_eq!(alone.wait(3_600 * SECOND), [], "it sends nothing");
    let _ = alone.hand(&rogue.packet((257, 0), &say(1, b"x")));
    assert_eq!(alone.counted(Reason::UnknownTid), 1);
    let wall = alone.wall();
    let _ = rogue.rekey(wall);
    let said = alone.hand_from(elsewhere(5), &rogue.first((257, 0), &say(1, b"x")));
    assert_eq!(said[0].0, elsewhere(5));
    let heard = Alone::heard(&rogue, &said);
    assert!(said[0].1.len() >= 256);
    assert_eq!(heard[0].seq, seq, "what waited is sent again: {heard:?}");
    assert_eq!(alone.server.load().tids, [2, 2]);
}

#[test]
fn a_tunnel_that_was_heard_a_day_ago_is_idle() {
    let mut alone = Alone::new();
    let _ = proven(&mut alone);
    let _ = alone.wait(86_399 * SECOND);
    assert_eq!(alone.server.tunnels(), 1);
    let _ = alone.wait(2 * SECOND);
    assert!(alone.ended(Reason::Idle));
}

#[test]
fn puzzles_reach_a_new_address_that_has_used_up_what_it_earned() {
    let mut alone = Alone::new();
    let mut rogue = proven(&mut alone);
    let wall = alone.wall();
    let _ = rogue.rekey(wall + 1_000);
    let bulk = [say(1, &[1; 300]), say(1, &[2; 300])].concat();
    let said = alone.hand_from(elsewhere(1), &rogue.first((257, 0), &bulk));
    let mut puzzles = Alone::heard(&rogue, &said);
    puzzles.extend(Alone::heard(&rogue, &alone.wait(9 * SECOND)));
    puzzles.retain(|heard| heard.names.contains(&"puzz".to_string()));
    // At once, and after 1, 3 and 7 seconds, whatever else was sent again meanwhile.
    assert_eq!(puzzles.len(), 4);
    let (came, went) = alone.bytes[&elsewhere(1)];
    assert!(went <= 3 * came, "{came} {went}");
    let answer = solution(&puzzles[3]).expect("a puzzle");
    let said = alone.hand_from(elsewhere(1), &rogue.packet((0, 0), &answer));
    assert_eq!(alone.counted(Reason::BadSolution), 0);
    drop(said);
}

#[test]
fn a_first_address_that_loses_packets_is_asked_for_a_proof() {
    let mut alone = Alone::new();
    let mut rogue = alone.rogue(3);
    let _ = alone.hand(&rogue.first((256, 0), &create(1)));
    let said = alone.wait(1_100 * MS);
    let heard = Alone::heard(&rogue, &said);
    let answer = heard.iter().find_map(solution).expect("a puzzle");
    let _ = alone.hand(&rogue.packet((0, 0), &answer));
    let _ = alone.wait(90 * SECOND);
    assert_eq!(
        (alone.server.tunnels(), alone.ended(Reason::NoAnswer)),
        (1, false)
    );
}
