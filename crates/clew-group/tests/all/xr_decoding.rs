//! Each value of each encoding of XR: points off the curve, outside the subgroup (a good point plus
//! one of order 3 among them) and at infinity; scalars out of range; other lengths.

use crate::common::points::{ORDER_3, bad_g1, bad_g2, bad_scalar, order, other_lengths};
use crate::common::rng;
use crate::common::xr::{Group, NONCE, SESSION};
use clew_group::curve::Scalar;
use clew_group::xr::{
    Device, IncrementalSignature, IssuerKey, JoinRequest, MemberKey, Offer, PseudonymousSignature,
    PublicKey, Signature,
};
use clew_group::{DecodeError, Proof, Step, Witness};
use clew_simd::Backend;

type Decode = fn(&[u8]) -> Option<DecodeError>;

/// An encoding: where its points, scalars, secret scalars and long challenges are.
struct Encoding {
    good: Vec<u8>,
    decode: Decode,
    g1: &'static [usize],
    g2: &'static [usize],
    scalars: &'static [usize],
    secrets: &'static [usize],
    challenges: &'static [usize],
}

const NONE: Encoding = Encoding {
    good: vec![],
    decode: |_| None,
    g1: &[],
    g2: &[],
    scalars: &[],
    secrets: &[],
    challenges: &[],
};

fn signatures(group: &Group) -> [Encoding; 3] {
    let signer = group.signer();
    let pseudonymous = signer.precursor_in(b"scope", &mut rng(1)).sign(&[b"m"]);
    let common = || Encoding {
        g1: &[0, 48, 96, 288],
        scalars: &[160, 192, 224, 256],
        ..NONE
    };
    [
        Encoding {
            good: group.sign(b"m").to_bytes().to_vec(),
            decode: |b| Signature::from_bytes(b).err(),
            g1: &[0, 48, 96],
            ..common()
        },
        Encoding {
            good: group.sign_incremental(b"m").to_bytes().to_vec(),
            decode: |b| IncrementalSignature::from_bytes(b).err(),
            ..common()
        },
        Encoding {
            good: pseudonymous.to_bytes().to_vec(),
            decode: |b| PseudonymousSignature::from_bytes(b).err(),
            ..common()
        },
    ]
}

fn of_joins(group: &mut Group) -> [Encoding; 3] {
    let (genesis, rng) = (&group.genesis, &mut group.rng);
    let (device, request) = Device::new(genesis, &SESSION, rng);
    let [x, s] = [5, 6].map(Scalar::from_u128);
    let offer = group.issuer.offer(genesis, &SESSION, &request, &x, &s);
    let offer = offer.unwrap();
    [
        Encoding {
            good: request.to_bytes().to_vec(),
            decode: |b| JoinRequest::from_bytes(b).err(),
            g1: &[0],
            challenges: &[48],
            scalars: &[80],
            ..NONE
        },
        Encoding {
            good: offer.to_bytes().to_vec(),
            decode: |b| Offer::from_bytes(b).err(),
            g1: &[0],
            secrets: &[48],
            scalars: &[80],
            ..NONE
        },
        Encoding {
            good: device.to_bytes().to_vec(),
            decode: |b| Device::from_bytes(b).err(),
            secrets: &[0],
            ..NONE
        },
    ]
}

fn of_keys(group: &mut Group) -> [Encoding; 6] {
    [
        Encoding {
            good: group.public.founding_bytes().to_vec(),
            decode: |b| PublicKey::founded(&NONCE, b).err(),
            g1: &[0, 48],
            g2: &[96],
            ..NONE
        },
        Encoding {
            good: group.member.key.to_bytes().to_vec(),
            decode: |b| MemberKey::from_bytes(b).err(),
            g1: &[0],
            secrets: &[48, 80],
            ..NONE
        },
        Encoding {
            good: group.issuer.to_bytes().to_vec(),
            decode: |b| IssuerKey::from_bytes(b).err(),
            secrets: &[0],
            ..NONE
        },
        Encoding {
            good: group.proof.to_bytes().to_vec(),
            decode: |b| Proof::from_bytes(b).err(),
            challenges: &[0],
            scalars: &[32],
            ..NONE
        },
        Encoding {
            good: group.member.witness.to_bytes().to_vec(),
            decode: |b| Witness::from_bytes(b).err(),
            g1: &[0],
            ..NONE
        },
        Encoding {
            good: group.revoke_somebody().0.to_bytes().to_vec(),
            decode: |b| Step::from_bytes(b).err(),
            g1: &[32],
            secrets: &[0],
            ..NONE
        },
    ]
}

fn all() -> Vec<Encoding> {
    let mut group = Group::new(1);
    let mut all = Vec::from(signatures(&group));
    all.extend(of_joins(&mut group));
    all.extend(of_keys(&mut group));
    all
}

#[test]
fn bad_points_are_refused_everywhere() {
    for Encoding {
        good,
        decode,
        g1,
        g2,
        ..
    } in all()
    {
        g1.iter().for_each(|at| bad_g1(&good, *at, decode));
        g2.iter().for_each(|at| bad_g2(&good, *at, decode));
    }
}

#[test]
fn bad_scalars_are_refused_everywhere() {
    let mut wide = [0; 32];
    wide[0] = 0x40; // 2^254 is below r, but no digest has that bit
    for e in all() {
        for at in [e.scalars, e.secrets, e.challenges].concat() {
            bad_scalar(&e.good, at, &order(), e.decode);
            bad_scalar(&e.good, at, &[0xff; 32], e.decode);
        }
        for at in e.secrets {
            bad_scalar(&e.good, *at, &[0; 32], e.decode);
        }
        for at in e.challenges {
            bad_scalar(&e.good, *at, &wide, e.decode);
        }
    }
}

#[test]
fn other_lengths_are_refused_everywhere() {
    all().iter().for_each(|e| other_lengths(&e.good, e.decode));
}

/// What is wrong with the cheap part of a signature is found before any point is looked at.
#[test]
fn scalars_are_checked_first() {
    let mut bytes = Group::new(2).sign(b"m").to_bytes();
    bytes[..48].fill(0xff);
    assert_eq!(Signature::from_bytes(&bytes), Err(DecodeError::Point));
    bytes[256..].copy_from_slice(&order());
    assert_eq!(Signature::from_bytes(&bytes), Err(DecodeError::Scalar));
}

/// Signatures that are damaged in every way, among good ones: each backend says of each what it says of it
/// alone, and of several bad points the first one's error.
#[test]
fn many_are_decoded_as_one_by_one() {
    let group = Group::new(5);
    let [plain, incremental, _] = signatures(&group);
    let torsion = crate::common::points::with_torsion(&plain.good[..48]);
    let mut infinity = [0; 48];
    infinity[0] = 0xc0;
    let points = [torsion, ORDER_3, infinity, [0xff; 48], [0; 48], [0x9f; 48]];
    let damaged = |good: &[u8], places: &[usize]| -> Vec<Vec<u8>> {
        let mut all = vec![good.to_vec(), vec![], good[1..].to_vec()];
        for at in places {
            for point in &points {
                let mut bytes = good.to_vec();
                bytes[*at..at + 48].copy_from_slice(point);
                all.push(bytes.clone());
                bytes[96..144].copy_from_slice(&infinity);
                all.push(bytes);
                all.push(good.to_vec());
            }
        }
        let mut scalar = good.to_vec();
        scalar[224..256].copy_from_slice(&order());
        all.push(scalar);
        all
    };
    for backend in Backend::multipliers() {
        let all = damaged(&plain.good, plain.g1);
        let refs: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
        let together = Signature::from_bytes_all(backend, &refs);
        let alone: Vec<_> = refs
            .iter()
            .map(|b| one(Signature::from_bytes_all(Backend::Portable, &[b])))
            .collect();
        assert_eq!(together, alone, "{}", backend.name());
        let all = damaged(&incremental.good, incremental.g1);
        let refs: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
        let together = IncrementalSignature::from_bytes_all(backend, &refs);
        let portable = |b: &&[u8]| {
            one(IncrementalSignature::from_bytes_all(
                Backend::Portable,
                &[b],
            ))
        };
        assert_eq!(
            together,
            refs.iter().map(portable).collect::<Vec<_>>(),
            "{}",
            backend.name()
        );
    }
}

fn one<T>(all: Vec<T>) -> T {
    let [one] = all.try_into().ok().expect("one was decoded");
    one
}
