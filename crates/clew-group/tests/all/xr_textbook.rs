//! The optimised signer, verifier, proofs and checks of XR against the equations of the
//! specification, written down one by one.

use crate::common::textbook::pairing;
use crate::common::xr::{Group, Member, NONCE, SESSION};
use crate::common::xr_textbook::{Gpk, Key, domain, g1, hashed_v, long, scalar, sign, verify};
use crate::common::{EPOCH, rng};
use clew_group::curve::{G1, G2, Scalar};
use clew_group::xr::{Device, Nonces, Signature};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

fn nonces(seed: u64) -> Nonces {
    Nonces::random(&mut rng(seed))
}

fn key(group: &Group) -> Key {
    Key::of(&group.member.key, &group.member.witness)
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
        let precursor = group.signer().precursor_from(&nonces(!seed));
        let ours = precursor.sign_incremental(&[&message]).to_bytes();
        let (gpk, key) = (Gpk::of(&NONCE, &group.public, EPOCH), key(&group));
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
        let gpk = Gpk::of(&NONCE, &group.public, EPOCH);
        let mut bytes = sign(&gpk, &key(&group), &nonces(!seed), &message);
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
        .precursor_in_from(scope, &nonces(4))
        .sign(&[message]);
    let bytes = ours.to_bytes();

    let (gpk, key) = (Gpk::of(&NONCE, &group.public, EPOCH), key(&group));
    let base = G1::hash(b"clew-xr-nym-1:BLS12381G1_XMD:SHA-256_SSWU_RO_", scope);
    let nym = base.mul(&key.y);
    assert_eq!(bytes[288..], nym.to_bytes());
    let mut hash = domain("clew-xr-pseudonym-1");
    hash.update(gpk.id);
    let [t1, t2, r1, r3] = crate::common::xr_textbook::commitments(&gpk, &key, &nonces(4));
    for point in [t1, t2, r1, r3, base, nym, base.mul(&nonces(4).ry)] {
        hash.update(point.to_bytes());
    }
    hash.update(message);
    assert_eq!(bytes[144..160], hash.finalize()[..16]);
    let c: [u8; 16] = bytes[144..160].try_into().unwrap();
    let responses = crate::common::xr_textbook::responses(&key, &nonces(4), &c);
    assert_eq!(bytes[144..288], responses);
}

/// The proofs of gamma, y' and y, each recomputed from its encoding; and the offer, with gamma at
/// hand.
#[test]
fn proofs_are_the_textbooks() {
    let mut group = Group::new(5);
    let gpk = Gpk::of(&NONCE, &group.genesis, EPOCH);
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

    let Member { key, c: row, .. } = &group.member;
    let proof = key.prove_y(&group.genesis, b"a row", &mut rng(7));
    let (c, s) = cut(&proof.to_bytes());
    let r = gpk.h0.mul(&s) - row.mul(&c);
    assert_eq!(r, gpk.h0.mul(&Scalar::random(&mut rng(7))));
    let mut hash = domain("clew-xr-row-1");
    hash.update(Sha256::digest(b"a row"));
    [gpk.h0, *row, r]
        .iter()
        .for_each(|p| hash.update(p.to_bytes()));
    assert_eq!(c, long(hash));

    let (x, s) = (Scalar::from_u128(11), Scalar::from_u128(12));
    let offer = group
        .issuer
        .offer(&group.genesis, &SESSION, &request, &x, &s);
    let offer = offer.unwrap();
    let c = commitment + gpk.h0.mul(&s);
    assert_eq!(offer.commitment(&group.genesis, &request), c);
    let gamma = scalar(group.issuer.to_bytes().as_slice());
    assert_eq!(offer.a().mul(&(gamma + x)), gpk.g1 + c);
    let bytes = [&offer.a().to_bytes()[..], &x.to_bytes(), &s.to_bytes()].concat();
    assert_eq!(offer.to_bytes().as_slice(), bytes);
}

/// Public keys, credentials, witnesses, steps and the judge's equations, with gamma at hand.
#[test]
fn keys_are_the_textbooks() {
    let mut group = Group::new(6);
    let gamma = scalar(group.issuer.to_bytes().as_slice());
    let first = Gpk::of(&NONCE, &group.genesis, EPOCH);
    assert_eq!(first.h, first.u.mul(&group.xi));
    assert_eq!(first.h_w, first.h.mul(&gamma));
    assert_eq!(first.w, G2::generator().mul(&gamma));
    assert_eq!(first.v, hashed_v(&NONCE, 0, &[]));
    assert_eq!(first.u, *group.genesis.u());

    let mut v = first.v;
    for epoch in 0..4 {
        match epoch {
            0 => {}
            3 => {
                group.rebase(&[]);
                v = hashed_v(&NONCE, 3, &crate::common::REBASED.0);
            }
            _ => {
                let (step, other) = group.revoke_somebody();
                assert_eq!(step.x(), &other.x);
                assert_eq!(step.v().mul(&(gamma + other.x)), v);
                v = *step.v();
            }
        }
        assert_eq!(group.public.v(), &v);
        let gpk = Gpk::of(&NONCE, &group.public, EPOCH);
        let (member, key) = (&group.member, key(&group));
        let bytes = member.key.to_bytes();
        assert_eq!(bytes[..48], member.a.to_bytes());
        assert_eq!(member.c, gpk.h0.mul(&key.y));
        assert_eq!(member.c, member.key.commitment(&group.public));
        let sum = gamma + key.x;
        assert_eq!(member.a.mul(&sum), gpk.g1 + member.c);
        assert_eq!(key.b.mul(&sum), gpk.base() + member.c);
        assert_eq!(group.in_epoch().base(&member.a, &key.x), Ok(key.b));

        let both = gpk.w + G2::generator().mul(&key.x);
        let standard = G2::generator();
        assert_eq!(
            pairing(&member.a, &both),
            pairing(&(gpk.g1 + member.c), &standard)
        );
        assert_eq!(
            pairing(&key.b, &both),
            pairing(&(gpk.base() + member.c), &standard)
        );
        assert!(group.is_of(&key.b, member));

        // What an auditor gets.
        let q = group.issuer.locator(&key.b);
        assert_eq!(q, key.b.mul(&gamma));
        assert_eq!(pairing(&q, &standard), pairing(&key.b, &gpk.w));
        assert_eq!(gpk.base() + member.c - key.b.mul(&key.x), q);
    }
}
