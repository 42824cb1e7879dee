//! Attacks on the keys of XR. Each is carried out as far as it goes, and then stopped by the one
//! rule that is there for it. Those on revocation are in `forgeries.rs` and `dropped_rules.rs`.

use crate::common::points::replaced;
use crate::common::xr::{Group, NONCE};
use crate::common::xr_textbook::{Gpk, Key, scalar, short, sign, verify};
use crate::common::{EPOCH, rng};
use clew_group::Invalid;
use clew_group::curve::{G1, G2, Scalar};
use clew_group::xr::{IssuerKey, Nonces, PublicKey, Signature, SigningKey};

fn gamma(group: &Group) -> Scalar {
    scalar(group.issuer.to_bytes().as_slice())
}

/// An issuer that knows the logarithm t of h0 in base g1 V has, for every B, the key (B, -gamma,
/// -1/t): B^0 = g1 V h0^(-1/t). So it signs as whom it likes. All three points are hashed, and
/// whoever loads a group hashes them again: no byte of a founding key says what they are.
#[test]
fn related_generators_would_frame_anybody() {
    let group = Group::new(1);
    let mut doctored = Gpk::of(&NONCE, &group.genesis, EPOCH);
    let t = Scalar::from_u128(12345);
    let genuine = doctored.clone();
    doctored.h0 = doctored.base().mul(&t);
    let framing = Key {
        b: group.member.base(),
        x: -gamma(&group),
        y: -t.invert().unwrap(),
    };
    let bytes = sign(&doctored, &framing, &Nonces::random(&mut rng(1)), b"m");
    assert!(verify(&doctored, &bytes[..288], b"m"), "the attack works");

    let bytes = sign(&genuine, &framing, &Nonces::random(&mut rng(1)), b"m");
    assert!(!verify(&genuine, &bytes[..288], b"m"));
    let signature = Signature::from_bytes(&bytes[..288]).unwrap();
    assert_eq!(group.verifier().verify(&[b"m"], &signature), Err(Invalid));
}

/// Each point of the founding key, the proof and the nonce replaced.
#[test]
fn a_doctored_first_key_is_refused() {
    let group = Group::new(2);
    let other = Group::new(3);
    let good = group.genesis.founding_bytes();
    let check = |bytes: &[u8], nonce: &[u8; 32], proof| {
        PublicKey::founded(nonce, bytes)
            .unwrap()
            .check_genesis(nonce, proof)
    };
    assert_eq!(check(&good, &NONCE, &group.proof), Ok(()));
    let point = G1::generator().to_bytes();
    let in_g2 = G2::generator().mul(&Scalar::from_u128(5)).to_bytes();
    for bad in [
        replaced(&good, 0, &point),
        replaced(&good, 48, &point),
        replaced(&good, 96, &in_g2),
    ] {
        assert_eq!(check(&bad, &NONCE, &group.proof), Err(Invalid));
    }
    assert_eq!(check(&good, &NONCE, &other.proof), Err(Invalid));
    assert_eq!(check(&good, &[9; 32], &group.proof), Err(Invalid));
    // A key founded with one nonce is not that of another, nor is one of a later epoch.
    let elsewhere = PublicKey::founded(&[9; 32], &good).unwrap();
    assert_eq!(elsewhere.check_genesis(&NONCE, &group.proof), Err(Invalid));
    let later = group.genesis.in_epoch(&G1::generator()).unwrap();
    assert_eq!(later.check_genesis(&NONCE, &group.proof), Err(Invalid));
    // Another issuer's w is refused though all fits but the proof: it may be a power of w.
    let copied = other.issuer.reopened(&other.genesis, group.genesis.h());
    assert_eq!(copied.check_genesis(&NONCE, &other.proof), Ok(()));
    assert_eq!(copied.check_genesis(&NONCE, &group.proof), Err(Invalid));
}

/// What a member signs with marks it if it is not checked: each point of the key, replaced.
#[test]
fn a_doctored_key_marks_nobody() {
    let group = Group::new(4);
    let good = group.genesis.founding_bytes();
    let signer = |public: &PublicKey| {
        let (key, witness) = (group.member.key.clone(), &group.member.witness);
        SigningKey::new(public, EPOCH, key, witness)
    };
    assert!(signer(&group.genesis).is_ok());
    let t = Scalar::from_u128(77);
    let point = |at: usize| G1::from_bytes(&good[at..at + 48]).unwrap().mul(&t);
    let w = group.genesis.w().mul(&t).to_bytes();
    for bad in [
        replaced(&good, 0, &point(0).to_bytes()),
        replaced(&good, 48, &point(48).to_bytes()),
        replaced(&good, 96, &w),
    ] {
        assert!(signer(&PublicKey::founded(&NONCE, &bad).unwrap()).is_err());
    }
    assert!(signer(&PublicKey::founded(&[9; 32], &good).unwrap()).is_err());
    let doctored = group.genesis.in_epoch(&group.genesis.v().mul(&t)).unwrap();
    assert!(signer(&doctored).is_err());
}

/// Why a precursor is consumed: two signatures with the same nonces give x and y away.
#[test]
fn two_signatures_from_one_precursor_reveal_the_key() {
    let group = Group::new(14);
    let sign = |message: &[u8]| {
        let nonces = Nonces::random(&mut rng(1));
        let precursor = group.signer().precursor_from(&nonces);
        precursor.sign(&[message]).to_bytes()
    };
    let (one, two) = (sign(b"one"), sign(b"two"));
    let c = |bytes: &[u8]| short(&bytes[144..160].try_into().unwrap());
    let inverse = (c(&one) - c(&two)).invert().unwrap();
    let secret = |at: usize| (scalar(&one[at..at + 32]) - scalar(&two[at..at + 32])) * inverse;
    let key = Key::of(&group.member.key, &group.member.witness);
    assert_eq!([secret(192), secret(256)], [key.x, key.y]);
}

/// A new opening key whose h_w is not the issuer's power of h would mark nobody and break
/// everybody: it does not load.
#[test]
fn an_opening_key_without_its_power_is_refused() {
    let mut group = Group::new(15);
    let h = G1::generator();
    let foreign = IssuerKey::generate(&mut group.rng).reopened(&group.public, &h);
    let refused = group.public.with_opening(&h, foreign.h_w());
    assert_eq!(refused, Err(Invalid));
    let own = group.issuer.reopened(&group.public, &h);
    assert_eq!(group.public.with_opening(&h, own.h_w()), Ok(own));
}
