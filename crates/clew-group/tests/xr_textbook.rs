//! The optimised signer, verifier, proofs and checks of XR against the equations of the
//! specification, written down one by one.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use clew_group::curve::{G1, G2, Scalar};
use clew_group::xr::{Device, Nonces, Signature, SigningKey};
use common::textbook::pairing;
use common::xr::{Group, NONCE, SESSION};
use common::xr_textbook::{Gpk, Key, domain, g1, long, scalar, sign, verify};
use common::{EPOCH, rng};
use proptest::prelude::*;
use sha2::Digest;

fn nonces(seed: u64) -> Nonces {
    Nonces::random(&mut rng(seed))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn signing_gives_the_textbooks_bytes(
        seed in any::<u64>(),
        message in any::<Vec<u8>>(),
        epochs in 0usize..3,
    ) {
        let mut group = Group::new(seed);
        (0..epochs).for_each(|_| { group.revoke_somebody(); });
        let signer = SigningKey::new(&group.public, EPOCH, group.member.key.clone()).unwrap();
        let precursor = signer.precursor_from(nonces(!seed));
        let ours = precursor.sign_incremental(&[&message]).to_bytes();
        let (gpk, key) = (Gpk::of(&group.public, EPOCH), Key::of(&group.member.key));
        prop_assert_eq!(ours.as_slice(), sign(&gpk, &key, &nonces(!seed), &message));
    }

    #[test]
    fn both_verifiers_say_the_same(
        seed in any::<u64>(),
        message in any::<Vec<u8>>(),
        flip in prop::option::of((144usize..288, 0u8..8)),
        epochs in 0usize..3,
    ) {
        let mut group = Group::new(seed);
        (0..epochs).for_each(|_| { group.revoke_somebody(); });
        let gpk = Gpk::of(&group.public, EPOCH);
        let mut bytes = sign(&gpk, &Key::of(&group.member.key), &nonces(!seed), &message);
        bytes.truncate(288);
        if let Some((byte, bit)) = flip {
            bytes[byte] ^= 1 << bit;
        }
        if let Ok(signature) = Signature::from_bytes(&bytes) {
            let ours = group.verifier().verify(&[&message], &signature).is_ok();
            prop_assert_eq!(ours, verify(&gpk, &bytes, &message));
            prop_assert_eq!(ours, flip.is_none());
        }
    }
}

#[test]
fn pseudonyms_are_the_textbooks() {
    let group = Group::new(3);
    let (scope, message) = (b"scope".as_slice(), b"m".as_slice());
    let ours = group
        .signer()
        .precursor_in_from(scope, nonces(4))
        .sign(&[message]);
    let bytes = ours.to_bytes();

    let (gpk, key) = (Gpk::of(&group.public, EPOCH), Key::of(&group.member.key));
    let base = G1::hash(b"clew-xr-nym-1:BLS12381G1_XMD:SHA-256_SSWU_RO_", scope);
    let nym = base.mul(&key.y);
    assert_eq!(bytes[288..], nym.to_bytes());
    let mut hash = domain("clew-xr-pseudonym-1");
    hash.update(gpk.id);
    let [t1, t2, r1, r3] = common::xr_textbook::commitments(&gpk, &key, &nonces(4));
    for point in [t1, t2, r1, r3, base, nym, base.mul(&nonces(4).ry)] {
        hash.update(point.to_bytes());
    }
    hash.update(message);
    assert_eq!(bytes[144..160], hash.finalize()[..16]);
    let c: [u8; 16] = bytes[144..160].try_into().unwrap();
    let responses = common::xr_textbook::responses(&key, &nonces(4), &c);
    assert_eq!(bytes[144..288], responses);
}

/// The proofs of gamma, y and x, each recomputed from its encoding.
#[test]
fn proofs_are_the_textbooks() {
    let mut group = Group::new(5);
    let gpk = Gpk::of(&group.genesis, EPOCH);
    let cut = |proof: &[u8]| (scalar(&proof[..32]), scalar(&proof[32..]));

    let (c, s) = cut(&group.proof.to_bytes());
    let r = G2::generator().mul(&s) - gpk.w.mul(&c);
    let mut hash = domain("clew-xr-issuer-1");
    hash.update(NONCE);
    hash.update(gpk.w.to_bytes());
    hash.update(r.to_bytes());
    assert_eq!(c, long(hash));

    let (_, request) = Device::new(&group.genesis, &SESSION, &mut group.rng);
    let bytes = request.to_bytes();
    let commitment = g1(&bytes[..48]);
    let (c, s) = cut(&bytes[48..]);
    let r = gpk.h0.mul(&s) - commitment.mul(&c);
    let mut hash = domain("clew-xr-join-1");
    hash.update(SESSION);
    [gpk.h0, commitment, r]
        .iter()
        .for_each(|p| hash.update(p.to_bytes()));
    assert_eq!(c, long(hash));

    let x = Scalar::from_u128(11);
    let offer = group
        .issuer
        .offer(&group.genesis, &SESSION, &request, &x, &mut group.rng);
    let bytes = offer.unwrap().to_bytes();
    let (a, d) = (g1(&bytes[..48]), g1(&bytes[48..96]));
    assert_eq!(d, a.mul(&x));
    let (c, s) = cut(&bytes[96..]);
    let r = a.mul(&s) - d.mul(&c);
    let mut hash = domain("clew-xr-offer-1");
    hash.update(SESSION);
    [commitment, a, d, r]
        .iter()
        .for_each(|p| hash.update(p.to_bytes()));
    assert_eq!(c, long(hash));
}

/// Public keys, credentials, tags and revocations, with gamma at hand.
#[test]
fn keys_are_the_textbooks() {
    let mut group = Group::new(6);
    let gamma = scalar(group.issuer.to_bytes().as_slice());
    let first = Gpk::of(&group.genesis, EPOCH);
    assert_eq!(first.h, first.u.mul(&group.xi));
    assert_eq!(first.h_w, first.h.mul(&gamma));
    assert_eq!(first.w, G2::generator().mul(&gamma));
    let suite = |name: &str| format!("{name}:BLS12381G1_XMD:SHA-256_SSWU_RO_");
    for (point, name) in [
        (first.u, "clew-xr-u-1"),
        (first.g1, "clew-xr-g1-1"),
        (first.h0, "clew-xr-h0-1"),
    ] {
        assert_eq!(point, G1::hash(suite(name).as_bytes(), &NONCE));
    }

    let (revocation, _) = group.revoke_somebody();
    let sum = gamma + *revocation.x();
    let now = Gpk::of(&group.public, EPOCH);
    assert_eq!(now.g1.mul(&sum), first.g1);
    assert_eq!(now.h0.mul(&sum), first.h0);
    assert_eq!(now.lift, first.lift.mul(&sum));
    let unchanged = |gpk: &Gpk| (gpk.u, gpk.h, gpk.h_w, gpk.w);
    assert_eq!(unchanged(&now), unchanged(&first));

    for (gpk, key) in [
        (&first, Key::of(&Group::new(6).member.key)),
        (&now, Key::of(&group.member.key)),
    ] {
        let left = pairing(&key.a, &(gpk.w + G2::generator().mul(&key.x)));
        let right = pairing(&(gpk.g1 + gpk.h0.mul(&key.y)), &G2::generator());
        assert_eq!(left, right);
        let mut hash = domain("clew-xr-tag-1");
        hash.update(pairing(&key.a, &gpk.lift).to_bytes());
        let tag: [u8; 32] = hash.finalize().into();
        assert_eq!(tag, group.genesis.tag(&group.member.a_0));
    }
}
