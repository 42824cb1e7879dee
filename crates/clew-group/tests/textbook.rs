//! The optimised signer and verifier against the paper's equations, written down one by one with
//! nothing shared but the curve: five pairings, powers in GT, no tables, no tricks.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use clew_group::bbs04::{
    IssuerKey, MemberKey, Nonces, OpenerKey, PublicKey, Signature, SigningKey, VerifyingKey,
};
use clew_group::curve::{G1, G2, Gt, PreparedG2, Scalar, pairing_product};
use common::{Group, rng};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

fn pairing(p: &G1, q: &G2) -> Gt {
    pairing_product([(p, &PreparedG2::new(q))])
}

fn power(base: &Gt, exponent: &Scalar) -> Gt {
    let one = pairing(&G1::default(), &G2::generator());
    let bits = exponent
        .to_bytes()
        .into_iter()
        .flat_map(|b| (0..8).rev().map(move |i| b >> i & 1));
    bits.fold(one, |out, bit| {
        let square = out.mul(&out);
        if bit == 1 { square.mul(base) } else { square }
    })
}

/// The public key as its encoding says, read without `clew_group`'s decoder.
struct Gpk {
    g1: G1,
    h: G1,
    u: G1,
    v: G1,
    g2: G2,
    w: G2,
    id: [u8; 32],
}

impl Gpk {
    fn of(key: &PublicKey) -> Self {
        let bytes = key.to_bytes();
        let p1 = |i: usize| G1::from_bytes(&bytes[48 * i..48 * i + 48]).unwrap();
        let p2 = |i: usize| G2::from_bytes(&bytes[192 + 96 * i..288 + 96 * i]).unwrap();
        let id = Sha256::digest([b"clew-bbs04-public-key-1".as_slice(), &bytes].concat()).into();
        Self {
            g1: p1(0),
            h: p1(1),
            u: p1(2),
            v: p1(3),
            g2: p2(0),
            w: p2(1),
            id,
        }
    }
}

fn hash(gpk: &Gpk, t: [&G1; 3], r: (&G1, &G1, &Gt, &G1, &G1), message: &[u8]) -> Scalar {
    let mut all = b"clew-bbs04-sig-1".to_vec();
    all.extend(gpk.id);
    t.iter().for_each(|p| all.extend(p.to_bytes()));
    all.extend(r.0.to_bytes());
    all.extend(r.1.to_bytes());
    all.extend(r.2.to_bytes());
    all.extend(r.3.to_bytes());
    all.extend(r.4.to_bytes());
    all.extend(message);
    let mut digest: [u8; 32] = Sha256::digest(all).into();
    digest[0] &= 0x3f;
    Scalar::from_bytes(&digest).unwrap()
}

/// Section 4, Sign.
fn sign(gpk: &Gpk, key: &MemberKey, n: &Nonces, message: &[u8]) -> Vec<u8> {
    let bytes = key.to_bytes();
    let (a, x) = (
        G1::from_bytes(&bytes[..48]).unwrap(),
        Scalar::from_bytes(&bytes[48..]).unwrap(),
    );
    let t1 = gpk.u.mul(&n.alpha);
    let t2 = gpk.v.mul(&n.beta);
    let t3 = a + gpk.h.mul(&(n.alpha + n.beta));
    let (delta1, delta2) = (x * n.alpha, x * n.beta);
    let r1 = gpk.u.mul(&n.r_alpha);
    let r2 = gpk.v.mul(&n.r_beta);
    let r3 = power(&pairing(&t3, &gpk.g2), &n.r_x)
        .mul(&power(&pairing(&gpk.h, &gpk.w), &-(n.r_alpha + n.r_beta)))
        .mul(&power(
            &pairing(&gpk.h, &gpk.g2),
            &-(n.r_delta1 + n.r_delta2),
        ));
    let r4 = t1.mul(&n.r_x) - gpk.u.mul(&n.r_delta1);
    let r5 = t2.mul(&n.r_x) - gpk.v.mul(&n.r_delta2);
    let c = hash(gpk, [&t1, &t2, &t3], (&r1, &r2, &r3, &r4, &r5), message);
    let mut out = [t1, t2, t3].map(|p| p.to_bytes()).concat();
    for s in [
        c,
        n.r_alpha + c * n.alpha,
        n.r_beta + c * n.beta,
        n.r_x + c * x,
        n.r_delta1 + c * delta1,
        n.r_delta2 + c * delta2,
    ] {
        out.extend(s.to_bytes());
    }
    out
}

/// Section 4, Verify.
fn verify(gpk: &Gpk, signature: &[u8], message: &[u8]) -> bool {
    let p = |i: usize| G1::from_bytes(&signature[48 * i..48 * i + 48]).unwrap();
    let s = |i: usize| Scalar::from_bytes(&signature[144 + 32 * i..176 + 32 * i]).unwrap();
    let (t1, t2, t3) = (p(0), p(1), p(2));
    let (c, s_alpha, s_beta, s_x, s_delta1, s_delta2) = (s(0), s(1), s(2), s(3), s(4), s(5));
    let r1 = gpk.u.mul(&s_alpha) - t1.mul(&c);
    let r2 = gpk.v.mul(&s_beta) - t2.mul(&c);
    let r3 = power(&pairing(&t3, &gpk.g2), &s_x)
        .mul(&power(&pairing(&gpk.h, &gpk.w), &-(s_alpha + s_beta)))
        .mul(&power(&pairing(&gpk.h, &gpk.g2), &-(s_delta1 + s_delta2)))
        .mul(&power(&pairing(&t3, &gpk.w), &c))
        .mul(&power(&pairing(&gpk.g1, &gpk.g2), &-c));
    let r4 = t1.mul(&s_x) - gpk.u.mul(&s_delta1);
    let r5 = t2.mul(&s_x) - gpk.v.mul(&s_delta2);
    hash(gpk, [&t1, &t2, &t3], (&r1, &r2, &r3, &r4, &r5), message) == c
}

fn nonces(seed: u64) -> Nonces {
    Nonces::random(&mut rng(seed))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn signing_gives_the_papers_bytes(seed in any::<u64>(), message in any::<Vec<u8>>()) {
        let group = Group::new(seed);
        let signer = SigningKey::new(&group.public, group.member.clone()).unwrap();
        let ours = signer.precursor_from(nonces(!seed)).sign(&[&message]).to_bytes();
        prop_assert_eq!(
            ours.as_slice(),
            sign(&Gpk::of(&group.public), &group.member, &nonces(!seed), &message)
        );
    }

    #[test]
    fn both_verifiers_say_the_same(
        seed in any::<u64>(),
        message in any::<Vec<u8>>(),
        flip in prop::option::of((144usize..336, 0u8..8)),
    ) {
        let group = Group::new(seed);
        let gpk = Gpk::of(&group.public);
        let mut bytes = sign(&gpk, &group.member, &nonces(!seed), &message);
        if let Some((byte, bit)) = flip {
            bytes[byte] ^= 1 << bit;
        }
        if let Ok(signature) = Signature::from_bytes(&bytes) {
            let ours = VerifyingKey::new(&group.public).verify(&[&message], &signature).is_ok();
            prop_assert_eq!(ours, verify(&gpk, &bytes, &message));
            prop_assert_eq!(ours, flip.is_none());
        }
    }
}

#[test]
fn both_verifiers_agree_after_revocations() {
    let mut group = Group::new(5);
    for _ in 0..3 {
        let message = b"in every epoch";
        let gpk = Gpk::of(&group.public);
        let bytes = sign(&gpk, &group.member, &nonces(9), message);
        assert!(verify(&gpk, &bytes, message));
        let signature = Signature::from_bytes(&bytes).unwrap();
        assert!(
            VerifyingKey::new(&group.public)
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
    let gpk = Gpk::of(&group.public);
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
