//! Puzzles: `spec/tunnel.md` section 10.

use std::net::SocketAddr;

use clew_tunnel::Reason;
use clew_tunnel::keys::Nonce;
use clew_tunnel::puzzle::{
    Asked, Interrogation, Progress, PuzzleSecret, SOLUTION_BYTES, Search, Solution, is_answer, pose,
};
use clew_tunnel::wire::packet::{Side, Tid};
use clew_tunnel::x25519::Public;
use clew_wire::WallTime;
use crypto_secretbox::aead::Aead;
use crypto_secretbox::{KeyInit, XSalsa20Poly1305};
use sha2::{Digest, Sha256, Sha512};

const TID: Tid = Tid::from_random([1; 8]);
const CLIENT: Public = Public([2; 32]);
const SERVER: Public = Public([3; 32]);
const NOW: u64 = 1_700_000_000_000_000_000;
const LIFE: u64 = 60_000_000_000;

fn source() -> SocketAddr {
    "192.0.2.1:4321".parse().unwrap()
}

fn k(n: u8) -> PuzzleSecret {
    PuzzleSecret::from_bytes([n; 32])
}

fn interrogation(w: u8) -> Interrogation {
    k(7).interrogation(
        (TID, &CLIENT, source()),
        &SERVER,
        WallTime::from_nanos(NOW),
        w,
    )
}

fn solved(asked: &Interrogation) -> Solution {
    let mut search = Search::new(&asked.q, &asked.hash, asked.w, 22).unwrap();
    loop {
        if let Progress::Found(r) = search.step(100).unwrap() {
            return Solution {
                r,
                nonce: asked.nonce,
            };
        }
    }
}

fn asked() -> Asked<'static> {
    Asked {
        tid: TID,
        client: &CLIENT,
        source: source(),
        live: &[SERVER],
        now: WallTime::from_nanos(NOW),
    }
}

/// r of the specification, by other people's primitives.
fn expected_r() -> Vec<u8> {
    let mut address = [0; 16];
    address[10..].copy_from_slice(&[0xff, 0xff, 192, 0, 2, 1]);
    let parts: [&[u8]; 4] = [
        b"clew-mlt-puzzle0",
        &[7; 32],
        &address,
        &4321u16.to_be_bytes(),
    ];
    let ka: [u8; 32] = Sha256::digest(parts.concat()).into();
    let nonce = [&b"minimaLT"[..], &[1; 8], &(2 * NOW).to_be_bytes()].concat();
    let nonce: [u8; 24] = nonce.try_into().unwrap();
    let content = [CLIENT.0, SERVER.0].concat();
    let cipher = XSalsa20Poly1305::new(&ka.into());
    cipher.encrypt(&nonce.into(), &content[..]).unwrap()
}

#[test]
fn interrogation_as_the_specification_has_it() {
    let r = expected_r();
    for w in [0, 1, 8, 13, 22] {
        let made = interrogation(w);
        let mut q = r.clone();
        for bit in 0..usize::from(w) {
            q[79 - bit / 8] &= !(1 << (bit % 8));
        }
        assert_eq!((&made.q[..], made.w), (&q[..], w.into()));
        assert_eq!(made.hash[..], Sha512::digest(&r)[..]);
        assert_eq!(made.nonce, Nonce::new(NOW, Side::Server));
        let bytes = made.to_bytes();
        let expected: [&[u8]; 6] = [
            &[0x41, 1, 1, 1, 1, 1, 1, 1],
            &(2 * NOW).to_be_bytes(),
            &q,
            &made.hash,
            &[0, 0, 0],
            &[w],
        ];
        assert_eq!(bytes[..], expected.concat()[..]);
        assert_eq!(bytes.len(), 164);
    }
}

#[test]
fn solutions_hold() {
    for w in [0, 1, 8, 13] {
        let solution = solved(&interrogation(w));
        assert_eq!(solution.r[..], expected_r()[..]);
        let bytes = solution.to_bytes();
        assert_eq!(bytes.len(), SOLUTION_BYTES);
        assert_eq!(asked().verify(&bytes, &[&k(7)]), Ok(()));
        // The secret before.
        assert_eq!(asked().verify(&bytes, &[&k(8), &k(7)]), Ok(()));
        assert_eq!(
            asked().verify(&bytes, &[&k(8), &k(9)]),
            Err(Reason::BadSolution)
        );
    }
}

#[test]
fn a_solution_is_for_one_packet_and_one_source() {
    let bytes = solved(&interrogation(0)).to_bytes();
    let other = "[2001:db8::1]:4321".parse().unwrap();
    let port = "192.0.2.1:4322".parse().unwrap();
    let refused = [
        Asked {
            tid: Tid::from_random([2; 8]),
            ..asked()
        },
        Asked {
            client: &SERVER,
            ..asked()
        },
        Asked {
            source: other,
            ..asked()
        },
        Asked {
            source: port,
            ..asked()
        },
        Asked {
            live: &[],
            ..asked()
        },
        Asked {
            live: &[CLIENT],
            ..asked()
        },
    ];
    for asked in refused {
        assert_eq!(asked.verify(&bytes, &[&k(7)]), Err(Reason::BadSolution));
    }
    // The same address in the other notation is the same.
    let mapped = "[::ffff:192.0.2.1]:4321".parse().unwrap();
    assert_eq!(
        Asked {
            source: mapped,
            ..asked()
        }
        .verify(&bytes, &[&k(7)]),
        Ok(())
    );
}

#[test]
fn every_byte_of_a_solution_counts() {
    let bytes = solved(&interrogation(0)).to_bytes();
    for i in 0..SOLUTION_BYTES {
        let mut changed = bytes;
        changed[i] ^= 1;
        let verified = asked().verify(&changed, &[&k(7)]);
        assert_eq!(verified, Err(Reason::BadSolution), "byte {i}");
    }
}

#[test]
fn solutions_grow_old() {
    let bytes = solved(&interrogation(0)).to_bytes();
    let at = |nanos| {
        Asked {
            now: WallTime::from_nanos(nanos),
            ..asked()
        }
        .verify(&bytes, &[&k(7)])
    };
    assert_eq!(at(NOW + LIFE), Ok(()));
    assert_eq!(at(NOW + LIFE + 1), Err(Reason::OldSolution));
    assert_eq!(at(NOW - 1), Err(Reason::OldSolution));
}

#[test]
fn puzzles_beyond_the_bounds_are_too_hard() {
    let made = interrogation(22);
    let search = |w, bound| Search::new(&made.q, &made.hash, w, bound).err();
    assert_eq!(search(22, 22), None);
    assert_eq!(search(22, 21), Some(Reason::TooHard));
    assert_eq!(search(23, 255), Some(Reason::TooHard));
    assert_eq!(search(u32::MAX, 255), Some(Reason::TooHard));
}

#[test]
fn what_no_end_solves_is_unsolvable() {
    let mut made = interrogation(8);
    made.hash[0] ^= 1;
    let mut search = Search::new(&made.q, &made.hash, 8, 22).unwrap();
    assert_eq!(search.step(255), Ok(Progress::Searching));
    assert_eq!(search.step(1), Err(Reason::Unsolvable));
}

#[test]
fn puzzles_in_the_tunnel() {
    let r = [0xa5; 80];
    let (q, hash) = pose(&r, 12);
    let mut search = Search::new(&q, &hash, 12, 22).unwrap();
    let Ok(Progress::Found(found)) = search.step(1 << 12) else {
        panic!("it has a solution");
    };
    assert!(is_answer(&r, &found) && !is_answer(&r, &q));
}
