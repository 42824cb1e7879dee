//! t of n decrypt, fewer do not, and whoever gives something else is named.

use crate::common::quorum::{
    CONTEXT, Dealt, combined, decryptions, holds, no_points, number, padded, quorum, set, trustee,
};
use crate::common::{Group, rng};
use clew_group::DecodeError;
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{
    DECRYPTION_BYTES, Decryption, Part, Quorum, QuorumError, SecretShare, Set, Sharing, Trustee,
};
use proptest::prelude::*;

fn point() -> G1 {
    G1::hash(b"test", b"T1")
}

fn part<'a>(sharing: &'a Sharing, point: &'a G1) -> Part<'a> {
    Part {
        number: 1,
        sharing,
        point,
        context: &CONTEXT,
    }
}

#[test]
fn every_t_of_n_decrypt() {
    for (n, t) in (1..=4).flat_map(|n| (1..=n).map(move |t| (n, t))) {
        let dealt = Dealt::new(u64::from(10 * n + t), t, n);
        assert_eq!(dealt.sharing.public(), &dealt.u.mul(&dealt.xi));
        let (p, expected) = (point(), point().mul(&dealt.xi));
        let part = part(&dealt.sharing, &p);
        for of in 1..1u32 << n {
            let of = Set::from_bytes(&of.to_be_bytes()).unwrap();
            let mut given = decryptions(&part, &dealt.shares, of);
            given.reverse(); // no order matters
            if of.count() >= t {
                assert_eq!(part.combine(&given), Ok(expected), "{t} of {n}: {of:?}");
                continue;
            }
            let given_only = of.count();
            let too_few = QuorumError::TooFew {
                given: given_only,
                needed: t,
            };
            assert_eq!(part.combine(&given), Err(too_few), "{t} of {n}: {of:?}");
            let powers = given.iter().map(|(i, d)| (i.index(), d_of(d)));
            assert_ne!(combined(&powers.collect::<Vec<_>>()), expected);
        }
    }
}

fn d_of(decryption: &Decryption) -> G1 {
    G1::from_bytes(&decryption.to_bytes()[..48]).unwrap()
}

/// The equations of section 5.3, over bytes.
#[test]
fn a_decryption_is_as_specified() {
    let dealt = Dealt::new(1, 2, 3);
    let (p, share) = (point(), dealt.share(3));
    let part = part(&dealt.sharing, &p);
    let bytes = part.decrypt(share, &mut rng(2)).unwrap().to_bytes();
    let secret = Scalar::from_bytes(share.to_bytes().as_slice()).unwrap();
    let (k, d) = (dealt.u.mul(&secret), p.mul(&secret));
    assert_eq!(bytes[..48], d.to_bytes());
    let points = [dealt.u, k, p, d].map(|p| p.to_bytes());
    let statement = [
        &padded("clew-share-1")[..],
        &CONTEXT,
        &[3, 1],
        points.as_flattened(),
    ];
    assert!(holds(
        &statement.concat(),
        &[(dealt.u, k), (p, d)],
        &bytes[48..]
    ));
    assert_eq!(dealt.sharing.share_key(trustee(3)), k);
    assert_eq!(
        Decryption::from_bytes(&bytes),
        part.decrypt(share, &mut rng(2)).map_err(|_| unreachable!())
    );
}

#[test]
fn a_decryption_serves_one_request_one_part_one_point_one_trustee() {
    let (dealt, other) = (Dealt::new(3, 2, 3), Dealt::new(4, 2, 3));
    let p = point();
    let good = part(&dealt.sharing, &p);
    let given = good.decrypt(dealt.share(2), &mut rng(1)).unwrap();
    let named = Err(QuorumError::Decryption {
        trustee: trustee(2),
    });
    let twice = p + p;
    let context = [0xc1; 32];
    for wrong in [
        Part {
            context: &context,
            ..good
        },
        Part { number: 2, ..good },
        Part {
            point: &twice,
            ..good
        },
        Part {
            sharing: &other.sharing,
            ..good
        },
    ] {
        assert_eq!(wrong.verify(trustee(2), &given), named);
    }
    assert_eq!(good.verify(trustee(2), &given), Ok(()));
    let misnamed = good.verify(trustee(1), &given).unwrap_err();
    assert_eq!(misnamed.culprit(), Some(trustee(1)));
}

#[test]
fn a_forged_decryption_is_named() {
    let dealt = Dealt::new(5, 2, 3);
    let p = point();
    let part = part(&dealt.sharing, &p);
    let given = decryptions(&part, &dealt.shares, set(&[1, 3]));
    let named = QuorumError::Decryption {
        trustee: trustee(3),
    };
    // Another D, another proof: each half of another right decryption.
    let other = given[0].1.to_bytes();
    for range in [0..48, 48..80, 80..112] {
        let mut bytes = given[1].1.to_bytes();
        bytes[range.clone()].copy_from_slice(&other[range]);
        let forged = Decryption::from_bytes(&bytes).unwrap();
        assert_eq!(part.combine(&[given[0], (trustee(3), forged)]), Err(named));
    }
    assert_eq!(named.culprit(), Some(trustee(3)));
}

#[test]
fn wrong_indices_are_refused() {
    for index in [0, 33, 255] {
        assert_eq!(Trustee::new(index), Err(QuorumError::Index { index }));
    }
    let dealt = Dealt::new(6, 2, 3);
    let p = point();
    let part = part(&dealt.sharing, &p);
    let given = decryptions(&part, &dealt.shares, set(&[1, 2]));
    let (first, second) = (given[0], given[1]);
    assert_eq!(
        part.combine(&[first, second, first]),
        Err(QuorumError::Repeated {
            trustee: trustee(1)
        })
    );
    assert_eq!(
        part.combine(&[first, (trustee(4), second.1)]),
        Err(QuorumError::Index { index: 4 })
    );
    assert_eq!(
        part.verify(trustee(4), &first.1),
        Err(QuorumError::Index { index: 4 })
    );
    let none = QuorumError::TooFew {
        given: 0,
        needed: 2,
    };
    assert_eq!(part.combine(&[]), Err(none));
}

#[test]
fn a_share_of_another_sharing_does_not_decrypt() {
    let (dealt, other) = (Dealt::new(7, 2, 3), Dealt::new(8, 2, 3));
    let p = point();
    let part = part(&dealt.sharing, &p);
    assert_eq!(
        part.decrypt(other.share(2), &mut rng(1)),
        Err(QuorumError::SecretShare {
            trustee: trustee(2)
        })
    );
    let renamed = SecretShare::from_bytes(trustee(1), dealt.share(2).to_bytes().as_slice());
    assert!(part.decrypt(&renamed.unwrap(), &mut rng(1)).is_err());
    let nobody = SecretShare::from_bytes(trustee(9), dealt.share(2).to_bytes().as_slice());
    assert_eq!(
        part.decrypt(&nobody.unwrap(), &mut rng(1)),
        Err(QuorumError::Index { index: 9 })
    );
    let identity = G1::default();
    let nothing = Part {
        point: &identity,
        ..part
    };
    assert_eq!(
        nothing.decrypt(dealt.share(1), &mut rng(1)),
        Err(QuorumError::Decode(DecodeError::Identity))
    );
}

#[test]
fn bad_values_are_refused() {
    let dealt = Dealt::new(9, 3, 3);
    let p = point();
    let good = part(&dealt.sharing, &p)
        .decrypt(dealt.share(1), &mut rng(1))
        .unwrap()
        .to_bytes();
    let rest = dealt.sharing.to_bytes();
    for (bad, rule) in no_points() {
        let mut bytes = good;
        bytes[..48].copy_from_slice(&bad);
        assert_eq!(Decryption::from_bytes(&bytes), Err(rule));
        let mut bytes = rest.clone();
        bytes[48..].copy_from_slice(&bad);
        let read = Sharing::from_parts(&dealt.u, dealt.sharing.public(), &bytes, quorum(3, 3));
        assert_eq!(read, Err(rule));
    }
    for at in [48, 80] {
        let mut bytes = good;
        bytes[at..at + 32].fill(0xff);
        assert_eq!(Decryption::from_bytes(&bytes), Err(DecodeError::Scalar));
    }
    let mut wide_challenge = good;
    wide_challenge[48..80].fill(0);
    wide_challenge[48] = 0x40;
    assert_eq!(
        Decryption::from_bytes(&wide_challenge),
        Err(DecodeError::Scalar)
    );
    for n in [0, DECRYPTION_BYTES - 1] {
        assert_eq!(Decryption::from_bytes(&good[..n]), Err(DecodeError::Length));
    }
    let long = [&good[..], &[0]].concat();
    assert_eq!(Decryption::from_bytes(&long), Err(DecodeError::Length));
    for zero in [[0; 32], [0xff; 32]] {
        let read = SecretShare::from_bytes(trustee(1), &zero);
        assert_eq!(read.unwrap_err(), DecodeError::Scalar);
    }
}

#[test]
fn a_sharing_has_as_many_commitments_as_open() {
    let dealt = Dealt::new(10, 3, 5);
    let (h, rest) = (*dealt.sharing.public(), dealt.sharing.to_bytes());
    assert_eq!(rest.len(), 96);
    let read = |base: &G1, h: &G1, rest: &[u8], t| {
        Sharing::from_parts(base, h, rest, quorum(t, 5)) //
    };
    assert_eq!(read(&dealt.u, &h, &rest, 3), Ok(dealt.sharing));
    let length = Err(DecodeError::Length);
    assert_eq!(read(&dealt.u, &h, &rest, 2), length);
    assert_eq!(read(&dealt.u, &h, &rest, 4), length);
    assert_eq!(read(&dealt.u, &h, &rest[1..], 3), length);
    let identity = Err(DecodeError::Identity);
    assert_eq!(read(&dealt.u, &G1::default(), &rest, 3), identity);
    assert_eq!(read(&G1::default(), &h, &rest, 3), identity);
    let zero = Sharing::deal(&dealt.u, &Scalar::default(), quorum(2, 3), &mut rng(1));
    assert_eq!(zero.unwrap_err(), DecodeError::Identity);
}

#[test]
fn quorums_and_sets_have_bounds() {
    for (threshold, trustees) in [(0, 0), (0, 3), (4, 3), (1, 33), (33, 33)] {
        let refused = QuorumError::Quorum {
            threshold,
            trustees,
        };
        assert_eq!(Quorum::new(threshold, trustees), Err(refused));
    }
    assert_eq!(quorum(32, 32).all().to_bytes(), [0xff; 4]);
    assert_eq!(quorum(2, 3).all(), set(&[1, 2, 3]));
    let of = set(&[32, 1, 9]);
    assert_eq!(of.to_bytes(), [0x80, 0, 1, 1]);
    assert_eq!(Set::from_bytes(&of.to_bytes()), Ok(of));
    assert_eq!(Set::from_bytes(&[0; 3]), Err(DecodeError::Length));
    assert!(of.iter().map(Trustee::index).eq([1, 9, 32]));
    assert_eq!(of.check(quorum(3, 32)), Ok(()));
    assert_eq!(
        of.check(quorum(3, 31)),
        Err(QuorumError::Index { index: 32 })
    );
    let too_few = QuorumError::TooFew {
        given: 3,
        needed: 4,
    };
    assert_eq!(of.check(quorum(4, 32)), Err(too_few));
    let none = Set::from_bytes(&[0; 4]).unwrap();
    assert!(none.check(quorum(1, 1)).is_err());
}

#[test]
fn all_32_trustees_decrypt() {
    let dealt = Dealt::new(11, 32, 32);
    let p = point();
    let part = part(&dealt.sharing, &p);
    let given = decryptions(&part, &dealt.shares, quorum(32, 32).all());
    assert_eq!(part.combine(&given), Ok(p.mul(&dealt.xi)));
    assert!(part.combine(&given[1..]).is_err());
}

#[test]
fn trustees_open_bbs04() {
    let group = Group::new(12);
    let (sharings, shares) = group
        .opener
        .deal(&group.public, quorum(2, 3), &mut rng(1))
        .unwrap();
    let rest = [sharings[0].to_bytes(), sharings[1].to_bytes()];
    let read = group.public.sharings([&rest[0], &rest[1]], quorum(2, 3));
    assert_eq!(read, Ok(sharings.clone()));
    assert_eq!(sharings[0].public(), sharings[1].public()); // h

    let signature = group.sign(b"m");
    let parts = signature.parts(&sharings, &CONTEXT);
    assert_eq!(parts.map(|part| part.number), [1, 2]);
    assert_eq!(parts.map(|p| p.point), [signature.t1(), signature.t2()]);
    let of = set(&[1, 3]);
    let [first, second] = [0, 1].map(|k| decryptions(&parts[k], &shares[k], of));
    let both = |a: &[(Trustee, Decryption)], b: &[(Trustee, Decryption)]| {
        let pairs = a.iter().zip(b);
        let pairs = pairs.map(|((trustee, a), (_, b))| (*trustee, [*a, *b]));
        pairs.collect::<Vec<_>>()
    };
    let opened = signature.open_by_trustees(&sharings, &CONTEXT, &both(&first, &second));
    let a = group.member.key.credential();
    assert_eq!(
        opened,
        Ok(group.in_epoch().base(&a, group.member.key.x()).unwrap())
    );

    let swapped = signature.open_by_trustees(&sharings, &CONTEXT, &both(&second, &first));
    assert_eq!(swapped.unwrap_err().culprit(), Some(trustee(1)));
    let doubled = signature.open_by_trustees(&sharings, &CONTEXT, &both(&first, &first));
    assert_eq!(doubled.unwrap_err().culprit(), Some(trustee(1)));
    assert!(parts[1].decrypt(&shares[0][0], &mut rng(1)).is_err());
    let stranger = Group::new(13).public;
    assert!(
        group
            .opener
            .deal(&stranger, quorum(2, 3), &mut rng(1))
            .is_err()
    );
}

#[test]
fn shares_are_not_printed() {
    let dealt = Dealt::new(14, 2, 2);
    assert_eq!(format!("{:?}", dealt.shares[0]), "SecretShare(..)");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The lambdas of a set turn the values of any polynomial of lower degree into its value at 0.
    #[test]
    fn lambdas_interpolate(of in 1u32.., seed: u64) {
        let of = Set::from_bytes(&of.to_be_bytes()).unwrap();
        let mut rng = rng(seed);
        let coefficients: Vec<Scalar> = of.iter().map(|_| Scalar::random(&mut rng)).collect();
        let value = |x: Scalar| {
            let terms = coefficients.iter().rev();
            terms.fold(Scalar::default(), |sum, a| sum * x + *a)
        };
        let sum = of.iter().fold(Scalar::default(), |sum, i| {
            sum + of.lagrange_at_zero(i) * value(number(i.index().into()))
        });
        prop_assert_eq!(sum, coefficients[0]);
    }

    #[test]
    fn any_quorum_opens(n in 1u8..=9, t in 1u8..=9, seed: u64) {
        let t = t.min(n);
        let dealt = Dealt::new(seed, t, n);
        let p = point();
        let part = part(&dealt.sharing, &p);
        let some = (0..n).map(|k| 1 + (k + (seed % u64::from(n)) as u8) % n).take(t.into());
        let given = decryptions(&part, &dealt.shares, set(&some.collect::<Vec<_>>()));
        prop_assert_eq!(part.combine(&given), Ok(p.mul(&dealt.xi)));
    }
}
