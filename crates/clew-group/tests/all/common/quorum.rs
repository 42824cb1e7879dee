//! Section 5 as the specification writes it, over bytes: proofs, sessions, blinds. Nothing is shared
//! with `clew_group` but the curve. And a quorum with a dealt key, from a seed.
use super::rng;
use clew_group::DecodeError;
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{Decryption, Part, Quorum, SecretShare, Set, Sharing, Trustee};
use sha2::{Digest, Sha256};

pub const CONTEXT: [u8; 32] = [0xc0; 32];

pub fn trustee(i: u8) -> Trustee {
    Trustee::new(i).unwrap()
}

pub fn set(indices: &[u8]) -> Set {
    Set::of(indices.iter().map(|i| trustee(*i))).unwrap()
}

pub fn quorum(t: u8, n: u8) -> Quorum {
    Quorum::new(t, n).unwrap()
}

pub fn number(n: u128) -> Scalar {
    Scalar::from_u128(n)
}

/// A key that is known here, and shared out.
pub struct Dealt {
    pub u: G1,
    pub xi: Scalar,
    pub sharing: Sharing,
    pub shares: Vec<SecretShare>,
}

impl Dealt {
    pub fn new(seed: u64, t: u8, n: u8) -> Self {
        let mut rng = rng(seed);
        let (u, xi) = (G1::hash(b"test", b"u"), Scalar::random(&mut rng));
        let (sharing, shares) = Sharing::deal(&u, &xi, quorum(t, n), &mut rng).unwrap();
        Self {
            u,
            xi,
            sharing,
            shares,
        }
    }

    pub fn share(&self, i: u8) -> &SecretShare {
        &self.shares[usize::from(i) - 1]
    }
}

/// What each of `shares` with these indices gives.
pub fn decryptions(part: &Part<'_>, shares: &[SecretShare], of: Set) -> Vec<(Trustee, Decryption)> {
    let shares = shares.iter().filter(|share| of.contains(share.trustee()));
    let mut rng = rng(5);
    let given = shares.map(|s| (s.trustee(), part.decrypt(s, &mut rng).unwrap()));
    given.collect()
}

/// The product of points_i^lambda_i, with lambda_i as section 5 defines it.
pub fn combined(points: &[(u8, G1)]) -> G1 {
    let lambda = |i: u8| {
        let others = points.iter().map(|(j, _)| *j).filter(|j| *j != i);
        others.fold(number(1), |product, j| {
            let (i, j) = (number(i.into()), number(j.into()));
            product * j * (j - i).invert().unwrap()
        })
    };
    let terms = points.iter().map(|(i, point)| point.mul(&lambda(*i)));
    terms.fold(G1::default(), |sum, term| sum + term)
}

pub fn padded(text: &str) -> [u8; 32] {
    let mut out = [0; 32];
    out[..text.len()].copy_from_slice(text.as_bytes());
    out
}

pub fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

fn challenge(statement: &[u8], r: &[G1]) -> Scalar {
    let r: Vec<u8> = r.iter().flat_map(G1::to_bytes).collect();
    let mut digest = sha256(&[statement, &r]);
    digest[0] &= 0x3f;
    Scalar::from_bytes(&digest).unwrap()
}

/// `c || s`, with a k that is good for tests only.
pub fn prove(statement: &[u8], bases: &[G1], secret: &Scalar) -> Vec<u8> {
    let k = number(0x1234_5678_9abc);
    let r: Vec<G1> = bases.iter().map(|base| base.mul(&k)).collect();
    let c = challenge(statement, &r);
    [c.to_bytes(), (k + c * *secret).to_bytes()].concat()
}

/// Whether c is the hash with R' = base^s image^(-c).
pub fn holds(statement: &[u8], pairs: &[(G1, G1)], proof: &[u8]) -> bool {
    let (c, s) = proof.split_at(32);
    let (c, s) = (
        Scalar::from_bytes(c).unwrap(),
        Scalar::from_bytes(s).unwrap(),
    );
    let r = pairs
        .iter()
        .map(|(base, image)| base.mul(&s) - image.mul(&c));
    challenge(statement, &r.collect::<Vec<_>>()) == c
}

pub fn session(request: &[u8; 32], set: u32) -> [u8; 32] {
    sha256(&[&padded("clew-match-1"), request, &set.to_be_bytes()])
}

/// What a blind's challenge binds.
pub fn blind_statement(session: &[u8; 32], i: u8, points: [G1; 4]) -> Vec<u8> {
    let points = points.map(|p| p.to_bytes());
    [
        &padded("clew-blind-1")[..],
        session,
        &[i],
        points.as_flattened(),
    ]
    .concat()
}

/// A blind of 160 bytes, whose E has the exponent rho and whose F has `rho_f`.
pub fn blind(
    session: &[u8; 32],
    i: u8,
    [t1, delta]: [G1; 2],
    rho: &Scalar,
    rho_f: &Scalar,
) -> Vec<u8> {
    let (e, f) = (t1.mul(rho), delta.mul(rho_f));
    let statement = blind_statement(session, i, [t1, delta, e, f]);
    let proof = prove(&statement, &[t1, delta], rho);
    [&e.to_bytes()[..], &f.to_bytes(), &proof].concat()
}

/// Points that are no points of the group: outside the subgroup, of order 3 (whose cube no check by
/// exponents would see), the generator with that added, and the identity.
pub fn no_points() -> [([u8; 48], DecodeError); 4] {
    let mut order_3 = [0; 48];
    order_3[0] = 0x80; // (0, 2)
    let mut outside = order_3;
    outside[47] = 4;
    let mut identity = [0; 48];
    identity[0] = 0xc0;
    let sum = hex::decode(GENERATOR_WITH_TORSION).unwrap();
    [
        (outside, DecodeError::Subgroup),
        (order_3, DecodeError::Subgroup),
        (sum.try_into().unwrap(), DecodeError::Subgroup),
        (identity, DecodeError::Identity),
    ]
}

/// G1 + (0, 2).
const GENERATOR_WITH_TORSION: &str = "85020378a6838af221e734b3a81940eb3ff19c2a7f8cf261\
     50dfc38fc41c37551dc92bb5593d30d4dfc2ee4bb09ad05b";
