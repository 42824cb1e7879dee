//! The optimised signer and verifier against the paper's equations, written down one by one: five
//! pairings, powers in GT, no tables, no tricks.

use crate::common::textbook::{Gpk, Key, Values, pairing, sign, verify};
use crate::common::{EPOCH, Group, NONCE, REBASED, rng};
use clew_group::bbs04::{IssuerKey, Nonces, OpenerKey, Signature, VerifyingKey};
use clew_group::curve::{G1, Scalar};
use proptest::prelude::*;

fn nonces(seed: u64) -> Nonces {
    Nonces::random(&mut rng(seed))
}

fn key(group: &Group) -> Key {
    Key::of(&group.member.key, &group.member.witness)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn signing_gives_the_papers_bytes(seed in any::<u64>(), message in any::<Vec<u8>>()) {
        let group = Group::new(seed);
        let ours = group.signer().precursor_from(&nonces(!seed)).sign(&[&message]).to_bytes();
        let (gpk, key) = (Gpk::of(&NONCE, &group.public, EPOCH), key(&group));
        prop_assert_eq!(ours.as_slice(), sign(&gpk, &key, &nonces(!seed), &message));
    }

    #[test]
    fn both_verifiers_say_the_same(
        seed in any::<u64>(),
        message in any::<Vec<u8>>(),
        flip in prop::option::of((144usize..336, 0u8..8)),
    ) {
        let group = Group::new(seed);
        let gpk = Gpk::of(&NONCE, &group.public, EPOCH);
        let mut bytes = sign(&gpk, &key(&group), &nonces(!seed), &message);
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
        let gpk = Gpk::of(&NONCE, &group.public, EPOCH);
        let bytes = sign(&gpk, &key(&group), &nonces(9), message);
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
    let opener = group.opener.to_bytes();
    let p = |i: usize| G1::from_bytes(&bytes[48 * i..48 * i + 48]).unwrap();
    let xi = |i: usize| Scalar::from_bytes(&opener[32 * i..32 * i + 32]).unwrap();
    let b = p(2) - p(0).mul(&xi(0)) - p(1).mul(&xi(1));
    assert_eq!(b, key(&group).b);
    let again = OpenerKey::from_bytes(opener.as_slice()).unwrap();
    assert_eq!(again.open(&signature), b);
}

/// Issuing, witnesses, bases and the judge's two equations, in epoch 0 and after a rebase.
#[test]
fn keys_are_the_papers() {
    let mut group = Group::new(7);
    let gamma = Scalar::from_bytes(group.issuer.to_bytes().as_slice()).unwrap();
    for epoch in 0..2u32 {
        let gpk = Gpk::of(&NONCE, &group.public, EPOCH);
        assert_eq!(gpk.w, gpk.g2.mul(&gamma));
        let domain = b"clew-bbs04-v-1:BLS12381G1_XMD:SHA-256_SSWU_RO_";
        // Of a rebase: hashed over its record, too.
        let id = if epoch == 0 { &[][..] } else { &REBASED.0 };
        let v = G1::hash(domain, &[&NONCE[..], &epoch.to_be_bytes(), id].concat());
        assert_eq!((gpk.g1, *group.public.v()), (G1::generator() + v, v));

        let (a, x) = (group.member.key.credential(), *group.member.key.x());
        let inverse = (gamma + x).invert().unwrap();
        assert_eq!(a, G1::generator().mul(&inverse));
        assert_eq!(group.member.witness.to_bytes(), v.mul(&inverse).to_bytes());
        let b = key(&group).b;
        assert_eq!(b, gpk.g1.mul(&inverse));
        assert_eq!(group.in_epoch().base(&a, &x), Ok(b));

        let row = gpk.g2.mul(&x);
        assert_eq!(row, group.member.key.public_x());
        let both = gpk.w + row;
        assert_eq!(pairing(&a, &both), pairing(&G1::generator(), &gpk.g2));
        assert_eq!(pairing(&b, &both), pairing(&gpk.g1, &gpk.g2));
        assert!(group.public.certifies(&a, &row) && group.public.names(&b, &row));
        group.rebase(&[]);
    }
    let again = IssuerKey::from_bytes(group.issuer.to_bytes().as_slice()).unwrap();
    let x = group.member.key.x();
    assert_eq!(
        again.issue(x).unwrap().credential(),
        group.member.key.credential()
    );
    assert!(again.issue(&-gamma).is_none());
    assert!(again.issue(&Scalar::default()).is_none());
}
