//! Keys, nonces and authenticators, beside other people's primitives: `spec/tunnel.md` sections 1, 2, 4.1
//! and 11.3.

use clew_tunnel::Reason;
use clew_tunnel::authenticator::{self, BOUND_BYTES, BOX_BYTES, Context};
use clew_tunnel::boxes::Key;
use clew_tunnel::keys::{self, Binder, Nonce, canonical, full_nonce};
use clew_tunnel::wire::packet::{Side, Tid};
use clew_tunnel::x25519::{Public, Secret};
use clew_wire::WallTime;
use crypto_secretbox::aead::Aead;
use crypto_secretbox::{KeyInit, XSalsa20Poly1305};
use sha2::{Digest, Sha256};
use x25519_dalek::{PublicKey, StaticSecret};

const TID: Tid = Tid::from_random(*b"\x01234567\xff");

fn secret(n: u8) -> Secret {
    Secret::from_bytes([n; 32])
}

fn public(n: u8) -> Public {
    Public(PublicKey::from(&StaticSecret::from([n; 32])).to_bytes())
}

fn dh(a: u8, b: u8) -> [u8; 32] {
    let b = PublicKey::from(&StaticSecret::from([b; 32]));
    StaticSecret::from([a; 32]).diffie_hellman(&b).to_bytes()
}

fn sealed(key: [u8; 32], nonce: [u8; 24], text: &[u8]) -> Vec<u8> {
    let cipher = XSalsa20Poly1305::new(&key.into());
    cipher.encrypt(&nonce.into(), text).unwrap()
}

#[test]
fn keys_are_below_the_prime() {
    let mut p = [0xff; 32];
    (p[0], p[31]) = (0xed, 0x7f);
    assert_eq!(canonical(p), Err(Reason::BadKey));
    let mut below = p;
    below[0] -= 1;
    assert_eq!(canonical(below), Ok(Public(below)));
    let mut above = p;
    above[0] += 1;
    assert_eq!(canonical(above), Err(Reason::BadKey));
    let mut high = [0; 32];
    high[31] = 0x80;
    assert_eq!(canonical(high), Err(Reason::BadKey));
    assert!(canonical([0; 32]).is_ok() && canonical([0xff; 32]).is_err());
}

#[test]
fn small_order_is_refused() {
    for low in [[0; 32], {
        let mut one = [0; 32];
        one[0] = 1;
        one
    }] {
        assert_eq!(
            keys::shared(&secret(1), &Public(low)).err(),
            Some(Reason::BadKey)
        );
    }
}

#[test]
fn both_sides_have_the_first_key_and_those_after_it() {
    let ours = keys::shared(&secret(1), &public(2)).unwrap();
    let theirs = keys::shared(&secret(2), &public(1)).unwrap();
    assert_eq!(ours.to_bytes(), theirs.to_bytes());
    let next = keys::next(&ours).to_bytes();
    assert_eq!(next[..], Sha256::digest(ours.to_bytes())[..]);
    let after = keys::next(&Key::from_bytes(next));
    assert_eq!(after.to_bytes()[..], Sha256::digest(next)[..]);
}

#[test]
fn the_first_key_is_that_of_crypto_box() {
    // Bernstein, Cryptography in NaCl, sections 3, 6 and 8.
    let secret = *b"\x77\x07\x6d\x0a\x73\x18\xa5\x7d\x3c\x16\xc1\x72\x51\xb2\x66\x45\
        \xdf\x4c\x2f\x87\xeb\xc0\x99\x2a\xb1\x77\xfb\xa5\x1d\xb9\x2c\x2a";
    let public = *b"\xde\x9e\xdb\x7d\x7b\x7d\xc1\xb4\xd3\x5b\x61\xc2\xec\xe4\x35\x37\
        \x3f\x83\x43\xc8\x5b\x78\x67\x4d\xad\xfc\x7e\x14\x6f\x88\x2b\x4f";
    let expected = *b"\x1b\x27\x55\x64\x73\xe9\x85\xd4\x62\xcd\x51\x19\x7a\x9a\x46\xc7\
        \x60\x09\x54\x9e\xac\x64\x74\xf2\x06\xc4\xee\x08\x44\xf6\x83\x89";
    let key = keys::shared(&Secret::from_bytes(secret), &Public(public)).unwrap();
    assert_eq!(key.to_bytes(), expected);
}

#[test]
fn binder_is_the_hash_of_the_specification() {
    let first = keys::shared(&secret(1), &public(2)).unwrap();
    let binder = Binder::new(&first, TID, &public(1), &public(2));
    let parts: [&[u8]; 5] = [
        b"clew-mlt-binder0",
        &first.to_bytes(),
        TID.as_bytes(),
        &public(1).0,
        &public(2).0,
    ];
    assert_eq!(binder.as_bytes()[..], Sha256::digest(parts.concat())[..]);
    assert_eq!(format!("{binder:?}"), "Binder(..)");
}

#[test]
fn decoys_are_public_keys() {
    let decoy = keys::decoy([5; 32]);
    assert_eq!(decoy, public(5));
    assert!(keys::shared(&secret(1), &decoy).is_ok() && canonical(decoy.0).is_ok());
}

#[test]
fn nonces_say_who_sends_and_when() {
    let t = 1_700_000_000_123_456_789;
    let nonce = Nonce::new(t, Side::Client);
    assert_eq!(nonce.to_bytes(), (2 * t + 1).to_be_bytes());
    assert_eq!((nonce.t(), nonce.side()), (t, Side::Client));
    assert_eq!(nonce.following().unwrap(), Nonce::new(t + 1, Side::Client));
    assert_eq!(nonce.answer().unwrap(), Nonce::new(t + 1, Side::Server));
    assert_eq!(nonce.stale(), Nonce::new(t, Side::Server));
    let last = Nonce::from_bytes([0xff; 8]);
    assert!(last.following().is_none() && last.answer().is_none());
    let full = full_nonce(TID, nonce);
    assert_eq!(
        full,
        *[&b"minimaLT"[..], TID.as_bytes(), &nonce.to_bytes()].concat()
    );
}

#[test]
fn the_acceptance_window_is_thirty_seconds_to_both_sides() {
    let (t, window) = (1_000_000_000_000, 30_000_000_000);
    let nonce = Nonce::new(t, Side::Client);
    for now in [t, t - window, t + window] {
        assert_eq!(nonce.check_time(WallTime::from_nanos(now)), Ok(()));
    }
    for now in [t - window - 1, t + window + 1, 0, u64::MAX] {
        assert_eq!(
            nonce.check_time(WallTime::from_nanos(now)),
            Err(Reason::BadTime)
        );
    }
}

// Of authenticators: U is 1, the boxing key of S is 2, S' is 3.

#[test]
fn boxes_as_the_specification_has_them() {
    let shared = keys::shared(&secret(1), &public(2)).unwrap();
    let made = authenticator::seal(&shared, &public(2), [9; 24]);
    assert_eq!(made.len(), 72);
    let key = shared.to_bytes();
    assert_eq!(made[24..], sealed(key, [9; 24], &public(2).0));
    let verify = |user: &Public, x| {
        let user = keys::canonical(user.0)?;
        authenticator::check(&keys::shared(&secret(2), &user)?, &public(2), x)
    };
    assert_eq!(verify(&public(1), &made), Ok(()));
    let refused = Err(Reason::Authenticator);
    assert_eq!(verify(&public(4), &made), refused);
    let mut changed = made;
    changed[30] ^= 1;
    assert_eq!(verify(&public(1), &changed), refused);
    // Of another content, under the right key.
    let other = [&[9; 24][..], &sealed(key, [9; 24], &public(3).0)].concat();
    let other: [u8; BOX_BYTES] = other.try_into().unwrap();
    assert_eq!(verify(&public(1), &other), refused);
    let bad = Err(Reason::BadKey);
    assert_eq!(verify(&Public([0xff; 32]), &made), bad);
    assert_eq!(verify(&Public([0; 32]), &made), bad);
}

/// What a server with S and S' does.
fn verify(context: &Context<'_>, x: &[u8]) -> Result<(), Reason> {
    let user = keys::canonical(context.user.0)?;
    let (long, short) = (keys::dh(&secret(2), &user)?, keys::dh(&secret(3), &user)?);
    context.check([&long, &short], x)
}

fn binder() -> Binder {
    Binder::new(&Key::from_bytes([8; 32]), TID, &public(5), &public(3))
}

#[test]
fn bound_as_the_specification_has_it() {
    let (user, boxing, ephemeral, binder) = (public(1), public(2), public(3), binder());
    let context = Context {
        binder: &binder,
        user: &user,
        boxing: &boxing,
        signing: &[6; 32],
        ephemeral: &ephemeral,
        connection: 7,
        service: "files",
    };
    let [long, short] = [2, 3].map(|n| keys::dh(&secret(1), &public(n)).unwrap());
    let made = context.seal([&long, &short], [9; 24]);
    assert_eq!(made.len(), BOUND_BYTES + 5);
    let parts: [&[u8]; 8] = [
        b"clew-mlt-bound-0",
        &dh(1, 2),
        &dh(1, 3),
        binder.as_bytes(),
        &user.0,
        &boxing.0,
        &ephemeral.0,
        &[6; 32],
    ];
    let kb: [u8; 32] = Sha256::digest(parts.concat()).into();
    assert_eq!(made[24..], sealed(kb, [9; 24], b"\0\0\0\x07files"));
    assert_eq!(verify(&context, &made), Ok(()));

    let other = Context {
        connection: 8,
        ..context
    };
    assert_eq!(verify(&other, &made), Err(Reason::Authenticator));
    let other = Context {
        service: "file",
        ..context
    };
    assert_eq!(verify(&other, &made), Err(Reason::Authenticator));
    let key = public(4);
    let other = Context {
        user: &key,
        ..context
    };
    assert_eq!(verify(&other, &made), Err(Reason::Authenticator));
    let another = Binder::new(&Key::from_bytes([9; 32]), TID, &public(5), &public(3));
    let other = Context {
        binder: &another,
        ..context
    };
    assert_eq!(verify(&other, &made), Err(Reason::Authenticator));
    for short in 0..made.len() {
        let cut = verify(&context, &made[..short]);
        assert_eq!(cut, Err(Reason::Authenticator));
    }
    let bad = Public([0xff; 32]);
    let other = Context {
        user: &bad,
        ..context
    };
    assert_eq!(verify(&other, &made), Err(Reason::BadKey));
}
