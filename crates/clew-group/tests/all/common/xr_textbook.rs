//! XR as `spec/group-signature.md` section 3 writes it: one product after the other, each pairing
//! by itself. Nothing is shared with `clew_group` but the curve.
#![allow(dead_code, reason = "each program uses its part")]

use super::textbook::pairing;
use clew_group::curve::{G1, G2, Scalar};
use clew_group::xr::{MemberKey, Nonces, PublicKey};
use clew_group::{EpochId, Witness};
use sha2::{Digest, Sha256};

/// The public key of one epoch, read off the founding key and what is hashed from the nonce.
#[derive(Clone)]
pub struct Gpk {
    pub g1: G1,
    pub h0: G1,
    pub u: G1,
    pub h: G1,
    pub h_w: G1,
    pub w: G2,
    pub v: G1,
    pub id: [u8; 32],
}

impl Gpk {
    pub fn of(nonce: &[u8; 32], key: &PublicKey, epoch: EpochId) -> Self {
        let bytes = key.founding_bytes();
        Self {
            g1: hashed("clew-xr-g1-1", nonce),
            h0: hashed("clew-xr-h0-1", nonce),
            u: hashed("clew-xr-u-1", nonce),
            h: g1(&bytes[..48]),
            h_w: g1(&bytes[48..96]),
            w: G2::from_bytes(&bytes[96..]).expect("an encoded key"),
            v: *key.v(),
            id: epoch.0,
        }
    }

    /// g1 V.
    pub fn base(&self) -> G1 {
        self.g1 + self.v
    }
}

/// V of epoch 0, without an id, and of the rebase whose record has the id.
pub fn hashed_v(nonce: &[u8; 32], epoch: u32, id: &[u8]) -> G1 {
    hashed(
        "clew-xr-v-1",
        &[&nonce[..], &epoch.to_be_bytes(), id].concat(),
    )
}

fn hashed(name: &str, message: &[u8]) -> G1 {
    let domain = format!("{name}:BLS12381G1_XMD:SHA-256_SSWU_RO_");
    G1::hash(domain.as_bytes(), message)
}

/// What a member signs with, of a member or made up: B = A W, x, y.
#[derive(Clone, Copy)]
pub struct Key {
    pub b: G1,
    pub x: Scalar,
    pub y: Scalar,
}

impl Key {
    pub fn of(key: &MemberKey, witness: &Witness) -> Self {
        let bytes = key.to_bytes();
        Self {
            b: g1(&bytes[..48]) + g1(&witness.to_bytes()),
            x: scalar(&bytes[48..80]),
            y: scalar(&bytes[80..]),
        }
    }
}

/// T1, T2, R1, R3.
pub fn commitments(gpk: &Gpk, key: &Key, n: &Nonces) -> [G1; 4] {
    let t1 = gpk.u.mul(&n.alpha);
    let t2 = key.b + gpk.h.mul(&n.alpha);
    let r1 = gpk.u.mul(&n.ra);
    let r3 = t2.mul(&n.rx) - gpk.h.mul(&n.rd) - gpk.h0.mul(&n.ry) - gpk.h_w.mul(&n.ra);
    [t1, t2, r1, r3]
}

/// c, sa, sx, sd, sy.
pub fn responses(key: &Key, n: &Nonces, c: &[u8; 16]) -> Vec<u8> {
    let value = short(c);
    let mut out = c.to_vec();
    for s in [
        n.ra + value * n.alpha,
        n.rx + value * key.x,
        n.rd + value * n.alpha * key.x,
        n.ry + value * key.y,
    ] {
        out.extend(s.to_bytes());
    }
    out
}

/// Spec 3.3, in the incremental form.
pub fn sign(gpk: &Gpk, key: &Key, n: &Nonces, message: &[u8]) -> Vec<u8> {
    let transcript = commitments(gpk, key, n).map(|p| p.to_bytes());
    finish(gpk, key, n, &transcript, message)
}

/// The incremental signature over T1, T2, R1, R3 as they are given, right or wrong.
pub fn finish(
    gpk: &Gpk,
    key: &Key,
    n: &Nonces,
    transcript: &[[u8; 48]; 4],
    message: &[u8],
) -> Vec<u8> {
    let [t1, t2, r1, r3] = transcript;
    let c = challenge(&gpk.id, transcript, message);
    [&t1[..], t2, r3, &responses(key, n, &c), r1].concat()
}

/// Spec 3.4, of the plain form.
pub fn verify(gpk: &Gpk, signature: &[u8], message: &[u8]) -> bool {
    let [t1, t2, r3] = [0, 48, 96].map(|at| g1(&signature[at..at + 48]));
    let c: [u8; 16] = signature[144..160].try_into().expect("16 bytes");
    let [sa, sx, sd, sy] = [160, 192, 224, 256].map(|at| scalar(&signature[at..at + 32]));
    let value = short(&c);
    let r1 = gpk.u.mul(&sa) - t1.mul(&value);
    let transcript = [t1, t2, r1, r3].map(|p| p.to_bytes());
    let in_g2 = t2.mul(&sx) - gpk.h.mul(&sd) - gpk.h0.mul(&sy) - gpk.base().mul(&value) - r3;
    let in_w = t2.mul(&value) - gpk.h.mul(&sa);
    let product = pairing(&in_g2, &G2::generator()).mul(&pairing(&in_w, &gpk.w));
    !r1.is_identity() && c == challenge(&gpk.id, &transcript, message) && product.is_identity()
}

/// c of 3.3.
pub fn challenge(id: &[u8; 32], transcript: &[[u8; 48]; 4], message: &[u8]) -> [u8; 16] {
    let mut hash = domain("clew-xr-signature-1");
    hash.update(id);
    transcript.iter().for_each(|point| hash.update(point));
    hash.update(message);
    hash.finalize()[..16].try_into().expect("16 bytes")
}

/// c1 + lambda c2.
pub fn short(c: &[u8; 16]) -> Scalar {
    let half = |at: usize| u64::from_be_bytes(c[at..at + 8].try_into().expect("8 bytes"));
    let z = Scalar::from_u128(0xd201_0000_0001_0000);
    let [c1, c2] = [0, 8].map(|at| Scalar::from_u128(half(at).into()));
    c1 + (z * z - Scalar::from_u128(1)) * c2
}

/// A hash that has read D("text").
pub fn domain(text: &str) -> Sha256 {
    let mut hash = Sha256::new_with_prefix(text);
    hash.update(vec![0; 32 - text.len()]);
    hash
}

/// A long challenge.
pub fn long(hash: Sha256) -> Scalar {
    let mut digest: [u8; 32] = hash.finalize().into();
    digest[0] &= 0x3f;
    scalar(&digest)
}

pub fn g1(bytes: &[u8]) -> G1 {
    G1::from_bytes(bytes).expect("a point")
}

pub fn scalar(bytes: &[u8]) -> Scalar {
    Scalar::from_bytes(bytes).expect("a scalar")
}
