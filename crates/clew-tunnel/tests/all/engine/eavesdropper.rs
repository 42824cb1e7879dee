//! What somebody who reads all datagrams can tell.

use std::collections::HashSet;

use clew_tunnel::engine::event::TunnelId;
use clew_tunnel::engine::server::Config;
use clew_tunnel::limits::{ANSWER, NOISE};
use clew_tunnel::record::{Authenticators, UserSecret};
use clew_tunnel::x25519::{Public, Secret};
use curve25519_dalek::montgomery::MontgomeryPoint;

use crate::engine::network::{Pair, Weather, client_address, server_address};
use crate::engine::node::{MS, SECOND, START, ns, target};
use crate::engine::watch::clear;

/// Whether there is a point on the curve (and not on its twist) with this coordinate.
pub fn is_on_curve(key: &[u8; 32]) -> bool {
    MontgomeryPoint(*key).to_edwards(0).is_some()
}

/// 1 / C' mod 2^255 - 19: another key that opens the same box.
pub fn inverse(key: &Public) -> Public {
    let mut power = key.0;
    let mut result = [0; 32];
    result[0] = 1;
    // The exponent p - 2 is 2^255 - 21: its bits from the least.
    for bit in 0..255 {
        let is_one = !matches!(bit, 2 | 4);
        if is_one {
            result = times(&result, &power);
        }
        power = times(&power, &power);
    }
    Public(result)
}

/// The product modulo 2^255 - 19, byte by byte.
fn times(a: &[u8; 32], b: &[u8; 32]) -> [u8; 32] {
    let mut wide = [0_u64; 64];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            wide[i + j] += u64::from(*x) * u64::from(*y);
        }
    }
    let mut low = [0_u64; 32];
    for i in 0..32 {
        low[i] = wide[i] + 38 * wide[i + 32];
    }
    for _ in 0..4 {
        let mut carry = 0;
        for place in &mut low {
            *place += carry;
            (carry, *place) = (*place >> 8, *place & 0xff);
        }
        low[0] += 38 * carry;
    }
    let top = low[31] >> 7;
    low[31] &= 0x7f;
    low[0] += 19 * top;
    let mut out = [0; 32];
    let mut carry = 0;
    for (out, place) in out.iter_mut().zip(low) {
        let sum = place + carry;
        (*out, carry) = (sum as u8, sum >> 8);
    }
    reduced(out)
}

/// Below the prime: 19 more have bit 255 only from it on.
fn reduced(mut number: [u8; 32]) -> [u8; 32] {
    let mut more = number;
    let mut carry = 19_u16;
    for byte in &mut more {
        let sum = u16::from(*byte) + carry;
        (*byte, carry) = (sum as u8, sum >> 8);
    }
    if more[31] & 0x80 != 0 {
        number = more;
        number[31] &= 0x7f;
    }
    number
}

#[test]
fn the_inverse_is_one() {
    let key = clew_tunnel::keys::decoy([3; 32]);
    let mut one = [0; 32];
    one[0] = 1;
    assert_eq!(times(&key.0, &inverse(&key).0), one);
    assert!(is_on_curve(&key.0));
}

/// An initiation packet as somebody on the path sees it.
#[derive(Debug)]
struct Seen {
    at: u64,
    flags: u8,
    length: usize,
    tid: [u8; 8],
    key: [u8; 32],
    /// Its t less the time at which it was sent.
    offset: i64,
}

/// The initiation packets of a run from one socket.
fn initiations(pair: &Pair, socket: u32) -> Vec<Seen> {
    let all = pair.wire.iter().zip(&pair.sent_at);
    let from = all.filter(|((from, _, _), _)| *from == client_address(socket));
    let seen = from.filter_map(|((_, _, bytes), at)| {
        let (flags, tid, nonce) = clear(bytes);
        let key = bytes.get(16..48)?.try_into().ok()?;
        let offset = (nonce >> 1) as i64 - (START + at) as i64;
        let seen = Seen {
            at: *at,
            flags,
            length: bytes.len(),
            tid,
            key,
            offset,
        };
        (flags != 0).then_some(seen)
    });
    seen.collect()
}

/// Lengths of the server's first packets under these TIDs.
fn answers(pair: &Pair, all: &[Seen]) -> Vec<usize> {
    let first = |seen: &Seen| {
        let from_server = pair
            .wire
            .iter()
            .filter(|(from, _, _)| *from == server_address());
        let mut under = from_server.filter(|(_, _, bytes)| clear(bytes).1 == seen.tid);
        under.next().map_or(0, |(_, _, bytes)| bytes.len())
    };
    all.iter().map(first).collect()
}

fn open(pair: &mut Pair, user: bool, socket: u32) -> TunnelId {
    let now = pair.now;
    let record = pair.server.record();
    let secret = UserSecret(Secret::from_bytes([9; 32]));
    let user = user.then(|| pair.client.add_user(secret));
    let clock = pair.client_clock.at(now);
    let tunnel = pair.client.open(clock, target(record), socket);
    let tunnel = tunnel.expect("an address");
    let clock = pair.client_clock.at(now);
    let talk = pair.client.connect(&clock, tunnel, "echo", user);
    let talk = talk.expect("a connection");
    let said = pair.client.write(talk, "say", |call| call.bytes(b"hello"));
    assert_eq!(said, Ok(true));
    tunnel
}

#[test]
fn a_rekey_looks_like_a_new_tunnel() {
    let (mut new, mut rekeys) = (Vec::new(), Vec::new());
    for seed in 0..60 {
        let mut pair = Pair::new(seed, Weather::CALM);
        let tunnel = open(&mut pair, seed % 2 == 0, 1);
        pair.run(SECOND);
        let first = initiations(&pair, 1);
        assert_eq!((first.len(), answers(&pair, &first)), (1, vec![ANSWER]));
        let now = pair.now;
        pair.client.moved(pair.client_clock.at(now), tunnel, 2);
        pair.run(SECOND);
        let moved = initiations(&pair, 2);
        assert_eq!((moved.len(), answers(&pair, &moved)), (1, vec![ANSWER]));
        new.extend(first);
        rekeys.extend(moved);
    }
    for kind in [&new, &rekeys] {
        for seen in kind {
            assert_eq!((seen.flags, seen.length), (0x80, 1_024));
            assert!(is_on_curve(&seen.key), "random bytes are seen");
            assert!(seen.offset.unsigned_abs() <= ns(NOISE), "{seen:?}");
        }
        // Half of random strings are on the twist: 60 of 60 are no accident. Offsets are spread over all of it.
        let late = kind.iter().filter(|seen| seen.offset > 0).count();
        let far = kind
            .iter()
            .filter(|seen| seen.offset.unsigned_abs() > ns(NOISE) / 2)
            .count();
        assert!(
            (15..=45).contains(&late) && (15..=45).contains(&far),
            "{late} {far}"
        );
    }
    // Nothing of what a client had before the move comes again.
    let mut all = HashSet::new();
    for seen in new.iter().chain(&rekeys) {
        assert!(all.insert(seen.tid.to_vec()) && all.insert(seen.key.to_vec()));
    }
    for (first, moved) in new.iter().zip(&rekeys) {
        assert_ne!(first.offset, moved.offset);
    }
}

#[test]
fn random_bytes_would_be_no_keys() {
    let mut rng = crate::engine::node::Clock::new(4, 0);
    let mut is_key = 0;
    for _ in 0..200 {
        let mut bytes: [u8; 32] = rng.at(0).random();
        bytes[31] &= 0x7f;
        is_key += u32::from(is_on_curve(&bytes));
    }
    assert!(
        (70..130).contains(&is_key),
        "the test above can fail: {is_key}"
    );
}

#[test]
fn first_packets_of_all_users_look_alike() {
    let mut seen = Vec::new();
    for (user, kind) in [
        (false, Authenticators::BOX),
        (true, Authenticators::BOX),
        (true, Authenticators::BOUND),
    ] {
        let mut config = Config::new(vec![server_address()]);
        config.authenticators = kind;
        let mut pair = Pair::with(config, 7, Weather::CALM);
        let _ = open(&mut pair, user, 1);
        pair.run(SECOND);
        let first = initiations(&pair, 1);
        seen.push((first[0].flags, first[0].length, answers(&pair, &first)));
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[1], seen[2]);
}

#[test]
fn both_are_sent_again_at_the_same_times_with_the_same_bytes_in_clear() {
    let mut kinds = Vec::new();
    for is_rekey in [false, true] {
        let mut pair = Pair::new(11, Weather::CALM);
        let tunnel = open(&mut pair, false, 1);
        if is_rekey {
            pair.run(SECOND);
            let now = pair.now;
            pair.client.moved(pair.client_clock.at(now), tunnel, 2);
        }
        // Its first four are lost.
        pair.silence_until = pair.now + 5_500 * MS;
        pair.run(9 * SECOND);
        let all = initiations(&pair, if is_rekey { 2 } else { 1 });
        let begin = all[0].at;
        let times: Vec<_> = all.iter().map(|seen| (seen.at - begin) / MS).collect();
        assert!(
            all.windows(2)
                .all(|two| two[0].tid == two[1].tid && two[0].key == two[1].key)
        );
        assert!(
            all.windows(2).all(|two| two[0].offset == two[1].offset),
            "one offset for each"
        );
        kinds.push((times, all[0].length, answers(&pair, &all)));
    }
    assert_eq!(kinds[0].0, [0, 1_000, 3_000, 5_000, 7_000]);
    assert_eq!(kinds[0], kinds[1]);
}
