//! Packets: `spec/tunnel.md` section 4.

use clew_tunnel::Reason;
use clew_tunnel::boxes::Key;
use clew_tunnel::keys::{self, Nonce, full_nonce};
use clew_tunnel::limits::{M_MIN, PACKET_MAX};
use clew_tunnel::puzzle::Solution;
use clew_tunnel::wire::packet::{
    BARE_BYTES, Header, INITIATION_BYTES, INTERROGATION_BYTES, Packet, Side, StaleKey, Tid,
};
use clew_tunnel::wire::plaintext::Plaintext;
use clew_tunnel::x25519::{Public, Secret};
use crypto_secretbox::aead::Aead;
use crypto_secretbox::{KeyInit, XSalsa20Poly1305};
use proptest::prelude::*;

const TID: Tid = Tid::from_random([1; 8]);
const KEY: [u8; 32] = [6; 32];

fn header(side: Side, initiation: Option<(Public, Option<Solution>)>) -> Header {
    Header {
        tid: TID,
        nonce: Nonce::new(1_700_000_000_000_000_000, side),
        initiation,
    }
}

fn client() -> Public {
    keys::public(&Secret::from_bytes([5; 32]))
}

fn solution() -> Solution {
    Solution {
        r: [4; 80],
        nonce: Nonce::new(77, Side::Server),
    }
}

fn sealed(header: &Header, rpcs: &[u8], length: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let stream = keys::stream(&Key::from_bytes(KEY), TID);
    header
        .seal((256, 9), rpcs, length, &stream, &mut out)
        .unwrap();
    out
}

/// Length after the bytes are gone.
fn parsed(bytes: &[u8], m: u16) -> Result<&'static str, Reason> {
    let mut bytes = bytes.to_vec();
    Packet::parse(&mut bytes, m).map(|packet| match packet {
        Packet::Tunnel(Side::Client, _) => "client",
        Packet::Tunnel(Side::Server, _) => "server",
        Packet::Initiation(initiation) if initiation.solution.is_none() => "initiation",
        Packet::Initiation(_) => "solution",
        Packet::Interrogation(_) => "interrogation",
        Packet::StaleKey(_) => "stale",
    })
}

fn flagged(bytes: &[u8], flags: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[0] = bytes[0] & 0x3f | flags;
    bytes
}

#[test]
fn sizes_of_the_table() {
    assert_eq!(BARE_BYTES, 40);
    assert_eq!(BARE_BYTES + INITIATION_BYTES, 72);
    let bare = |initiation| header(Side::Client, initiation).bare_bytes();
    assert_eq!(bare(None), 40);
    assert_eq!(bare(Some((client(), None))), 72);
    assert_eq!(bare(Some((client(), Some(solution())))), 220);
    assert_eq!(INTERROGATION_BYTES, 164);
    // IPv4 on Ethernet has 42 more, an RPC's connection id 4.
    assert_eq!([72, 220, 40].map(|n| n + 4 + 42), [118, 266, 86]);
    for (m, left) in [(1_024, [952, 804, 984]), (1_232, [1_160, 1_012, 1_192])] {
        assert_eq!([72, 220, 40].map(|n| m - n), left);
    }
}

#[test]
fn a_packet_as_the_specification_has_it() {
    let header = header(Side::Client, None);
    let out = sealed(&header, b"rpcs", 0);
    let cipher = XSalsa20Poly1305::new(&KEY.into());
    let nonce = full_nonce(TID, header.nonce);
    let text = b"\0\0\x01\0\0\0\0\x09rpcs";
    let boxed = cipher.encrypt(&nonce.into(), &text[..]).unwrap();
    let expected = [&TID.as_bytes()[..], &header.nonce.to_bytes(), &boxed].concat();
    assert_eq!(out, expected);

    let header = self::header(Side::Client, Some((client(), Some(solution()))));
    let out = sealed(&header, b"", 1_024);
    let text = [&b"\0\0\x01\0\0\0\0\x09"[..], &[0; 804]].concat();
    let boxed = cipher.encrypt(&nonce.into(), &text[..]).unwrap();
    let before: [&[u8]; 5] = [
        &[0xc1, 1, 1, 1, 1, 1, 1, 1],
        &header.nonce.to_bytes(),
        &client().0,
        &solution().to_bytes(),
        &boxed,
    ];
    assert_eq!(out, before.concat());
}

#[test]
fn each_kind_is_read() {
    let bare = sealed(&header(Side::Client, None), b"", 0);
    assert_eq!((bare.len(), parsed(&bare, M_MIN)), (40, Ok("client")));
    let answer = sealed(&header(Side::Server, None), b"", 256);
    assert_eq!((answer.len(), parsed(&answer, M_MIN)), (256, Ok("server")));
    let first = sealed(&header(Side::Client, Some((client(), None))), b"", 1_100);
    assert_eq!(parsed(&first, 1_100), Ok("initiation"));
    assert_eq!(parsed(&first, 1_101), Err(Reason::BadSize));
    let header = header(Side::Client, Some((client(), Some(solution()))));
    assert_eq!(parsed(&sealed(&header, b"", 1_024), M_MIN), Ok("solution"));
    let mut stale = Vec::new();
    let nonce = header.nonce.stale();
    StaleKey {
        tid: TID,
        nonce,
        ecert: &[0; 209],
    }
    .write(&mut stale);
    assert_eq!(
        (stale.len(), parsed(&stale, M_MIN)),
        (16 + 209, Ok("stale"))
    );
    let asked = flagged(&sealed(&self::header(Side::Server, None), b"", 164), 0x40);
    assert_eq!(parsed(&asked, M_MIN), Ok("interrogation"));
}

#[test]
fn lengths_and_flags() {
    let even = |length| {
        let mut bytes = vec![0; length];
        bytes[8..16].fill(2);
        bytes
    };
    let odd = |length| {
        let mut bytes = vec![0; length];
        bytes[8..16].fill(3);
        bytes
    };
    for length in [0, 1, 15, 16, 39, PACKET_MAX + 1, 65_535] {
        assert_eq!(parsed(&vec![0; length], M_MIN), Err(Reason::BadLength));
    }
    for length in [163, 165] {
        assert_eq!(
            parsed(&flagged(&even(length), 0x40), M_MIN),
            Err(Reason::BadLength)
        );
    }
    for length in [16 + 189, 16 + 336] {
        assert_eq!(
            parsed(&flagged(&even(length), 0x80), M_MIN),
            Err(Reason::BadLength)
        );
    }
    for length in [16 + 190, 16 + 335] {
        assert_eq!(parsed(&flagged(&even(length), 0x80), M_MIN), Ok("stale"));
    }
    assert_eq!(
        parsed(&flagged(&even(1_024), 0xc0), M_MIN),
        Err(Reason::BadFlags)
    );
    assert_eq!(
        parsed(&flagged(&odd(164), 0x40), M_MIN),
        Err(Reason::BadFlags)
    );
    for length in [40, 72, 1_023] {
        for flags in [0x80, 0xc0] {
            assert_eq!(
                parsed(&flagged(&odd(length), flags), 0),
                Err(Reason::BadSize)
            );
        }
    }
    assert_eq!(
        parsed(&flagged(&odd(PACKET_MAX), 0x80), M_MIN),
        Ok("initiation")
    );
}

#[test]
fn client_keys_are_canonical() {
    let mut first = sealed(&header(Side::Client, Some((client(), None))), b"", 1_024);
    first[16..48].fill(0xff);
    assert_eq!(parsed(&first, M_MIN), Err(Reason::BadKey));
    first[47] = 0x7f;
    assert_eq!(parsed(&first, M_MIN), Err(Reason::BadKey));
}

#[test]
fn what_is_too_long_is_not_written() {
    let header = header(Side::Client, None);
    let mut out = vec![7];
    let stream = keys::stream(&Key::from_bytes([1; 32]), header.tid);
    let mut seal = |rpcs: &[u8], length| {
        let sealed = header.seal((0, 0), rpcs, length, &stream, &mut out);
        let bytes = out.len();
        out.truncate(1);
        (sealed.is_some(), bytes)
    };
    assert_eq!(seal(&[0; PACKET_MAX - 40], 0), (true, 1 + PACKET_MAX));
    assert_eq!(seal(&[0; PACKET_MAX - 39], 0), (false, 1));
    assert_eq!(seal(b"", PACKET_MAX + 1), (false, 1));
}

#[test]
fn a_box_stays_closed_for_other_keys() {
    let mut bytes = sealed(&header(Side::Client, None), b"", 100);
    let Ok(Packet::Tunnel(_, mut boxed)) = Packet::parse(&mut bytes, M_MIN) else {
        panic!("it is a packet of a tunnel");
    };
    let other = keys::stream(&Key::from_bytes([7; 32]), TID);
    let right = keys::stream(&Key::from_bytes(KEY), TID);
    assert!(!boxed.decrypt(&other) && boxed.decrypt(&right));
    let plain = Plaintext::parse(boxed.into_text()).unwrap();
    assert_eq!(
        (plain.seq, plain.ack, plain.calls.is_empty()),
        (256, 9, true)
    );
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..1_500), m: u16) {
        let _ = parsed(&bytes, m);
    }

    #[test]
    fn what_was_changed_does_not_open(at in 0usize..100, bit in 0u8..8) {
        let mut bytes = sealed(&header(Side::Client, None), b"", 100);
        bytes[at] ^= 1 << bit;
        if let Ok(Packet::Tunnel(_, mut boxed)) = Packet::parse(&mut bytes, M_MIN) {
            let key = Key::from_bytes(KEY);
            let stream = keys::stream(&key, boxed.tid);
            prop_assert!(!boxed.decrypt(&stream));
        }
    }
}
