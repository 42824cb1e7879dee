//! BBS04 as the paper writes it, with g1 V for g1 and B for A: five pairings, powers in GT,
//! products of one point by one scalar. Nothing is shared with `clew_group` but the curve. Tests
//! compare with it; `clew-bench` has it as its baseline.
#![allow(dead_code, reason = "each program uses its part")]

use clew_group::bbs04::{MemberKey, Nonces, PublicKey};
use clew_group::curve::{G1, G2, Gt, PreparedG2, Scalar, pairing_product};
use clew_group::{EpochId, Witness};
use sha2::{Digest, Sha256};

/// The public key of one epoch, read off the founding key and what is hashed from the nonce. Its g1
/// is the paper's times V.
pub struct Gpk {
    pub g1: G1,
    pub h: G1,
    pub u: G1,
    pub v: G1,
    pub g2: G2,
    pub w: G2,
    id: [u8; 32],
}

impl Gpk {
    pub fn of(nonce: &[u8; 32], key: &PublicKey, epoch: EpochId) -> Self {
        let bytes = key.founding_bytes();
        let p1 = |i: usize| G1::from_bytes(&bytes[48 * i..][..48]).expect("an encoded key");
        Self {
            g1: G1::generator() + *key.v(),
            h: G1::hash(H_DOMAIN, nonce),
            u: p1(0),
            v: p1(1),
            g2: G2::generator(),
            w: G2::from_bytes(&bytes[96..]).expect("an encoded key"),
            id: epoch.0,
        }
    }
}

const H_DOMAIN: &[u8] = b"clew-bbs04-h-1:BLS12381G1_XMD:SHA-256_SSWU_RO_";

/// What a member signs with: B = A W, x.
#[derive(Clone, Copy)]
pub struct Key {
    pub b: G1,
    pub x: Scalar,
}

impl Key {
    pub fn of(key: &MemberKey, witness: &Witness) -> Self {
        let bytes = key.to_bytes();
        let p1 = |bytes: &[u8]| G1::from_bytes(bytes).expect("an encoded point");
        Self {
            b: p1(&bytes[..48]) + p1(&witness.to_bytes()),
            x: Scalar::from_bytes(&bytes[48..]).expect("a member key"),
        }
    }
}

/// A signature's values, read off its encoding: decoding is not measured.
pub struct Values {
    t: [G1; 3],
    s: [Scalar; 6],
}

impl Values {
    pub fn of(bytes: &[u8]) -> Self {
        let (points, scalars) = bytes.split_at(144);
        let t = |i: usize| G1::from_bytes(&points[48 * i..][..48]).expect("a signature");
        let s = |i: usize| Scalar::from_bytes(&scalars[32 * i..][..32]).expect("a signature");
        Self {
            t: core::array::from_fn(t),
            s: core::array::from_fn(s),
        }
    }
}

/// Section 4, Sign.
pub fn sign(gpk: &Gpk, key: &Key, n: &Nonces, message: &[u8]) -> Vec<u8> {
    let Key { b, x } = *key;
    let t1 = gpk.u.mul(&n.alpha);
    let t2 = gpk.v.mul(&n.beta);
    let t3 = b + gpk.h.mul(&(n.alpha + n.beta));
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
    let c = hash(&gpk.id, &[t1, t2, t3], (&r1, &r2, &r3, &r4, &r5), message);
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
pub fn verify(gpk: &Gpk, signature: &Values, message: &[u8]) -> bool {
    let [t1, t2, t3] = signature.t;
    let [c, s_alpha, s_beta, s_x, s_delta1, s_delta2] = signature.s;
    let r1 = gpk.u.mul(&s_alpha) - t1.mul(&c);
    let r2 = gpk.v.mul(&s_beta) - t2.mul(&c);
    let r3 = power(&pairing(&t3, &gpk.g2), &s_x)
        .mul(&power(&pairing(&gpk.h, &gpk.w), &-(s_alpha + s_beta)))
        .mul(&power(&pairing(&gpk.h, &gpk.g2), &-(s_delta1 + s_delta2)))
        .mul(&power(&pairing(&t3, &gpk.w), &c))
        .mul(&power(&pairing(&gpk.g1, &gpk.g2), &-c));
    let r4 = t1.mul(&s_x) - gpk.u.mul(&s_delta1);
    let r5 = t2.mul(&s_x) - gpk.v.mul(&s_delta2);
    hash(&gpk.id, &signature.t, (&r1, &r2, &r3, &r4, &r5), message) == c
}

pub fn pairing(p: &G1, q: &G2) -> Gt {
    pairing_product([(p, &PreparedG2::new(q))])
}

fn power(base: &Gt, exponent: &Scalar) -> Gt {
    let bytes = exponent.to_bytes().into_iter();
    let bits = bytes.flat_map(|b| (0..8).rev().map(move |i| b >> i & 1 == 1));
    let mut bits = bits.skip_while(|bit| !bit);
    let Some(_) = bits.next() else {
        return pairing(&G1::default(), &G2::generator());
    };
    bits.fold(*base, |out, bit| {
        let square = out.mul(&out);
        if bit { square.mul(base) } else { square }
    })
}

fn hash(id: &[u8; 32], t: &[G1; 3], r: (&G1, &G1, &Gt, &G1, &G1), message: &[u8]) -> Scalar {
    let mut hash = Sha256::new_with_prefix(b"clew-bbs04-sig-1");
    hash.update(id);
    t.iter().for_each(|point| hash.update(point.to_bytes()));
    hash.update(r.0.to_bytes());
    hash.update(r.1.to_bytes());
    hash.update(r.2.to_bytes());
    hash.update(r.3.to_bytes());
    hash.update(r.4.to_bytes());
    hash.update(message);
    let mut digest: [u8; 32] = hash.finalize().into();
    digest[0] &= 0x3f;
    Scalar::from_bytes(&digest).expect("254 bits are below the group order")
}
