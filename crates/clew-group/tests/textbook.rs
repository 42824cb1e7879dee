//! The optimised signer and verifier against the paper's equations, written down one by one: five
//! pairings, powers in GT, no tables, no tricks.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use clew_group::bbs04::{IssuerKey, Nonces, OpenerKey, Signature, SigningKey, VerifyingKey};
use clew_group::curve::{G1, Scalar};
use common::textbook::{Gpk, Values, pairing, sign, verify};
use common::{EPOCH, Group, rng};
use proptest::prelude::*;

fn nonces(seed: u64) -> Nonces {
    Nonces::random(&mut rng(seed))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn signing_gives_the_papers_bytes(seed in any::<u64>(), message in any::<Vec<u8>>()) {
        let group = Group::new(seed);
        let signer = SigningKey::new(&group.public, EPOCH, group.member.clone()).unwrap();
        let ours = signer.precursor_from(nonces(!seed)).sign(&[&message]).to_bytes();
        prop_assert_eq!(
            ours.as_slice(),
            sign(&Gpk::of(&group.public, EPOCH), &group.member, &nonces(!seed), &message)
        );
    }

    #[test]
    fn both_verifiers_say_the_same(
        seed in any::<u64>(),
        message in any::<Vec<u8>>(),
        flip in prop::option::of((144usize..336, 0u8..8)),
    ) {
        let group = Group::new(seed);
        let gpk = Gpk::of(&group.public, EPOCH);
        let mut bytes = sign(&gpk, &group.member, &nonces(!seed), &message);
        if let Some((byte, bit)) = flip {
            bytes[byte] ^= 1 << bit;
        }
        if let Ok(signature) = Signature::from_bytes(&bytes) {
            let ours = VerifyingKey::new(&group.public, EPOCH).verify(&[&message], &signature).is_ok();
            prop_assert_eq!(ours, verify(&gpk, &Values::of(&bytes), &message));
            prop_assert_eq!(ours, flip.is_none());
        }
    }
}

#[test]
fn both_verifiers_agree_after_revocations() {
    let mut group = Group::new(5);
    for _ in 0..3 {
        let message = b"in every epoch";
        let gpk = Gpk::of(&group.public, EPOCH);
        let bytes = sign(&gpk, &group.member, &nonces(9), message);
        assert!(verify(&gpk, &Values::of(&bytes), message));
        let signature = Signature::from_bytes(&bytes).unwrap();
        assert!(
            VerifyingKey::new(&group.public, EPOCH)
                .verify(&[message], &signature)
                .is_ok()
        );
        group.revoke_somebody();
    }
}

#[test]
fn opening_is_the_papers() {
    let group = Group::new(6);
    let signature = group.sign(b"m");
    let bytes = signature.to_bytes();
    let key = group.opener.to_bytes();
    let p = |i: usize| G1::from_bytes(&bytes[48 * i..48 * i + 48]).unwrap();
    let xi = |i: usize| Scalar::from_bytes(&key[32 * i..32 * i + 32]).unwrap();
    let a = p(2) - p(0).mul(&xi(0)) - p(1).mul(&xi(1));
    assert_eq!(a, group.member.credential());
    let again = OpenerKey::from_bytes(key.as_slice()).unwrap();
    assert_eq!(again.open(&signature), a);
}

#[test]
fn issuing_is_the_papers() {
    let group = Group::new(7);
    let bytes = group.member.to_bytes();
    let x = Scalar::from_bytes(&bytes[48..]).unwrap();
    let gpk = Gpk::of(&group.public, EPOCH);
    let left = pairing(&group.member.credential(), &(gpk.w + gpk.g2.mul(&x)));
    assert_eq!(left, pairing(&gpk.g1, &gpk.g2));
    let gamma = Scalar::from_bytes(group.issuer.to_bytes().as_slice()).unwrap();
    assert_eq!(gpk.w, gpk.g2.mul(&gamma));
    let again = IssuerKey::from_bytes(group.issuer.to_bytes().as_slice()).unwrap();
    assert_eq!(
        again.issue(&group.public, x).unwrap().credential(),
        group.member.credential()
    );
}
