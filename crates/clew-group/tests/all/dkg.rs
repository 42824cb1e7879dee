//! Keys that never exist anywhere, handed on, and every way to deal wrongly.

use crate::common::quorum::{
    CONTEXT, Dealt, combined, decryptions, holds, no_points, number, padded, quorum, set, trustee,
};
use crate::common::rng;
use clew_group::DecodeError;
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{
    Broadcast, DEALT_SHARE_BYTES, DealtShare, Founding, Part, QuorumError, Resharing, SecretShare,
    Set, Sharing,
};

fn base() -> G1 {
    G1::hash(b"test", b"u")
}

/// What all dealers published, and gave to each trustee.
struct Dealings {
    broadcasts: Vec<Broadcast>,
    dealt: Vec<Vec<DealtShare>>,
}

impl Dealings {
    fn of(each: impl Iterator<Item = (Broadcast, Vec<DealtShare>)>) -> Self {
        let (broadcasts, rows): (Vec<_>, Vec<Vec<_>>) = each.unzip();
        let n = rows[0].len();
        let column = |j: usize| rows.iter().map(|row| row[j].clone()).collect();
        let dealt = (0..n).map(column).collect();
        Self { broadcasts, dealt }
    }

    fn founding(founding: &Founding, n: u8, seed: u64) -> Self {
        let mut rng = rng(seed);
        Self::of((1..=n).map(|i| founding.deal(trustee(i), &mut rng).unwrap()))
    }

    fn resharing(resharing: &Resharing<'_>, shares: &[SecretShare], of: Set) -> Self {
        let mut rng = rng(77);
        let shares = shares.iter().filter(|share| of.contains(share.trustee()));
        Self::of(shares.map(|share| resharing.deal(share, &mut rng).unwrap()))
    }

    fn received(&self, founding: &Founding) -> (Sharing, Vec<SecretShare>) {
        let shares = (1..).zip(&self.dealt).map(|(j, dealt)| {
            let (_, share) = founding
                .receive(trustee(j), &self.broadcasts, dealt)
                .unwrap();
            share
        });
        let sharing = founding.sharing(&self.broadcasts).unwrap();
        (sharing, shares.collect())
    }
}

fn opens(sharing: &Sharing, shares: &[SecretShare], of: Set) -> Result<G1, QuorumError> {
    let point = G1::hash(b"test", b"T1");
    let part = Part {
        number: 1,
        sharing,
        point: &point,
        context: &CONTEXT,
    };
    part.combine(&decryptions(&part, shares, of))
}

/// The key as nobody should put it together: only here, from shares of all.
fn secret(shares: &[SecretShare], of: Set) -> Scalar {
    let shares = shares.iter().filter(|share| of.contains(share.trustee()));
    shares.fold(Scalar::default(), |sum, share| {
        let value = Scalar::from_bytes(share.to_bytes().as_slice()).unwrap();
        sum + of.lagrange_at_zero(share.trustee()) * value
    })
}

#[test]
fn a_key_of_all_opens_as_a_dealt_one() {
    for (t, n) in [(1, 1), (1, 2), (2, 2), (2, 3), (3, 4)] {
        let founding = Founding::new(CONTEXT, &base(), quorum(t, n));
        let (sharing, shares) = Dealings::founding(&founding, n, 1).received(&founding);
        let all = quorum(t, n).all();
        let xi = secret(&shares, all);
        assert_eq!(sharing.public(), &base().mul(&xi)); // h = C_0
        let expected = G1::hash(b"test", b"T1").mul(&xi);
        for of in 1..1u32 << n {
            let of = Set::from_bytes(&of.to_be_bytes()).unwrap();
            let opened = opens(&sharing, &shares, of).ok();
            assert_eq!(opened, (of.count() >= t).then_some(expected));
        }
    }
}

/// The equations of section 5.2, over bytes.
#[test]
fn a_broadcast_is_as_specified() {
    let founding = Founding::new(CONTEXT, &base(), quorum(2, 3));
    let (broadcast, dealt) = founding.deal(trustee(3), &mut rng(1)).unwrap();
    let bytes = broadcast.to_bytes();
    assert_eq!(bytes.len(), 3 + 96 + 64);
    assert_eq!(bytes[..3], [3, 3, 2]);
    let c = [3, 51].map(|at| G1::from_bytes(&bytes[at..at + 48]).unwrap());
    let statement = [
        &padded("clew-deal-1")[..],
        &CONTEXT,
        &bytes[..3],
        &base().to_bytes(),
        &bytes[3..99],
    ];
    assert!(holds(&statement.concat(), &[(base(), c[0])], &bytes[99..]));
    for dealt in &dealt {
        let j = dealt.trustee().index();
        let bytes = dealt.to_bytes();
        assert_eq!(bytes[..2], [3, j]);
        let f = Scalar::from_bytes(&bytes[2..]).unwrap();
        assert_eq!(base().mul(&f), c[0] + c[1].mul(&number(j.into())));
        assert_eq!(
            DealtShare::from_bytes(bytes.as_slice()).unwrap().to_bytes(),
            bytes
        );
    }
    assert_eq!(Broadcast::from_bytes(&bytes), Ok(broadcast));
    assert_eq!(format!("{:?}", dealt[0]), "DealtShare(..)");
}

fn changed(dealt: &DealtShare, at: usize, by: u8) -> DealtShare {
    let mut bytes = dealt.to_bytes();
    bytes[at] ^= by;
    DealtShare::from_bytes(&bytes).unwrap()
}

#[test]
fn a_wrong_dealt_share_names_its_dealer() {
    let founding = Founding::new(CONTEXT, &base(), quorum(2, 3));
    let Dealings { broadcasts, dealt } = Dealings::founding(&founding, 3, 2);
    let named = QuorumError::DealtShare {
        trustee: trustee(2),
    };
    let receive = |dealt: &[DealtShare]| founding.receive(trustee(1), &broadcasts, dealt).err();
    assert_eq!(receive(&dealt[0]), None);
    let mut wrong = dealt[0].clone();
    wrong[1] = changed(&wrong[1], DEALT_SHARE_BYTES - 1, 1);
    assert_eq!(receive(&wrong), Some(named));
    wrong[1] = dealt[2][1].clone(); // made for trustee 3
    assert_eq!(receive(&wrong), Some(named));
    assert_eq!(named.culprit(), Some(trustee(2)));
    wrong[1] = wrong[0].clone();
    let repeated = QuorumError::Repeated {
        trustee: trustee(1),
    };
    assert_eq!(receive(&wrong), Some(repeated));
    let missing = QuorumError::Missing {
        trustee: trustee(3),
    };
    assert_eq!(receive(&dealt[0][..2]), Some(missing));
}

#[test]
fn a_wrong_broadcast_names_its_dealer() {
    let founding = Founding::new(CONTEXT, &base(), quorum(2, 3));
    let Dealings { broadcasts, .. } = Dealings::founding(&founding, 3, 3);
    let with = |broadcast: Broadcast| {
        let all = [broadcasts[0].clone(), broadcast, broadcasts[2].clone()];
        founding.sharing(&all).unwrap_err()
    };
    let deal = |founding: &Founding| founding.deal(trustee(2), &mut rng(4)).unwrap().0;
    let trustee_2 = trustee(2);
    let commitments = QuorumError::Commitments { trustee: trustee_2 };
    let possession = QuorumError::Possession { trustee: trustee_2 };
    for (t, n) in [(1, 3), (3, 3), (2, 4)] {
        let other = Founding::new(CONTEXT, &base(), quorum(t, n));
        assert_eq!(with(deal(&other)), commitments);
    }
    let earlier = Founding::new([1; 32], &base(), quorum(2, 3));
    assert_eq!(with(deal(&earlier)), possession, "of another DKG");
    let other_base = Founding::new(CONTEXT, &G1::generator(), quorum(2, 3));
    assert_eq!(with(deal(&other_base)), possession, "in another base");

    // A constant term chosen to make h what the dealer wants.
    let c0 = |b: &Broadcast| G1::from_bytes(&b.to_bytes()[3..51]).unwrap();
    let rogue = base() - c0(&broadcasts[0]) - c0(&broadcasts[2]);
    let mut bytes = broadcasts[1].to_bytes();
    bytes[3..51].copy_from_slice(&rogue.to_bytes());
    assert_eq!(with(Broadcast::from_bytes(&bytes).unwrap()), possession);
    // Another's proof and commitments.
    let mut bytes = broadcasts[0].to_bytes();
    bytes[0] = 2;
    assert_eq!(with(Broadcast::from_bytes(&bytes).unwrap()), possession);
    assert_eq!(possession.culprit(), Some(trustee_2));
}

#[test]
fn all_must_deal_once() {
    let founding = Founding::new(CONTEXT, &base(), quorum(2, 3));
    let Dealings { mut broadcasts, .. } = Dealings::founding(&founding, 3, 5);
    broadcasts.reverse(); // no order matters
    assert!(founding.sharing(&broadcasts).is_ok());
    let missing = QuorumError::Missing {
        trustee: trustee(1),
    };
    assert_eq!(founding.sharing(&broadcasts[..2]), Err(missing));
    broadcasts.push(broadcasts[0].clone());
    let repeated = QuorumError::Repeated {
        trustee: trustee(3),
    };
    assert_eq!(founding.sharing(&broadcasts), Err(repeated));
    let nobody = founding.deal(trustee(4), &mut rng(1)).unwrap_err();
    assert_eq!(nobody, QuorumError::Index { index: 4 });
}

/// A dealer that knows all others' secrets deals their opposite: no key comes of it.
#[test]
fn dealings_that_cancel_are_refused() {
    let founding = Founding::new(CONTEXT, &base(), quorum(1, 2));
    let (first, dealt) = founding.deal(trustee(1), &mut rng(6)).unwrap();
    let a = Scalar::from_bytes(&dealt[0].to_bytes()[2..]).unwrap();
    let statement = [
        &padded("clew-deal-1")[..],
        &CONTEXT,
        &[2, 2, 1],
        &base().to_bytes(),
        &base().mul(&-a).to_bytes(),
    ];
    let proof = crate::common::quorum::prove(&statement.concat(), &[base()], &-a);
    let bytes = [&[2, 2, 1][..], &base().mul(&-a).to_bytes(), &proof].concat();
    let second = Broadcast::from_bytes(&bytes).unwrap();
    assert_eq!(
        founding.sharing(&[first, second]),
        Err(QuorumError::Cancelled)
    );
}

#[test]
fn broadcasts_decode_strictly() {
    let founding = Founding::new(CONTEXT, &base(), quorum(2, 3));
    let good = founding.deal(trustee(1), &mut rng(7)).unwrap().0.to_bytes();
    let length = Err(QuorumError::Decode(DecodeError::Length));
    for n in [0, 2, 3, good.len() - 48, good.len() - 1] {
        assert_eq!(Broadcast::from_bytes(&good[..n]), length);
    }
    assert_eq!(Broadcast::from_bytes(&[&good[..], &[0]].concat()), length);
    let with = |at: usize, bytes: &[u8]| {
        let mut out = good.clone();
        out[at..at + bytes.len()].copy_from_slice(bytes);
        Broadcast::from_bytes(&out).unwrap_err()
    };
    for index in [0, 33] {
        assert_eq!(with(0, &[index]), QuorumError::Index { index });
    }
    assert!(matches!(with(1, &[33]), QuorumError::Quorum { .. }));
    assert!(matches!(with(2, &[0]), QuorumError::Quorum { .. }));
    assert!(matches!(with(2, &[4]), QuorumError::Quorum { .. }));
    assert_eq!(Err(with(2, &[3])), length);
    for (bad, rule) in no_points() {
        assert_eq!(with(3, &bad), QuorumError::Decode(rule));
        assert_eq!(with(51, &bad), QuorumError::Decode(rule));
    }
    for at in [99, 131] {
        assert_eq!(
            with(at, &[0xff; 32]),
            QuorumError::Decode(DecodeError::Scalar)
        );
    }
    let dealt = |bytes: &[u8]| DealtShare::from_bytes(bytes).unwrap_err();
    assert_eq!(dealt(&[1]), QuorumError::Decode(DecodeError::Length));
    assert_eq!(dealt(&[1; 35]), QuorumError::Decode(DecodeError::Length));
    assert_eq!(dealt(&[0; 34]), QuorumError::Index { index: 0 });
    assert_eq!(dealt(&[32; 33]), QuorumError::Decode(DecodeError::Length));
}

/// To fewer, to more, to another t; by t and by more than t of the old ones.
#[test]
fn handing_on_keeps_the_key() {
    let old = Dealt::new(8, 2, 3);
    for (t, n) in [(1, 1), (2, 2), (2, 4), (4, 5)] {
        for of in [set(&[1, 3]), set(&[2, 3]), set(&[1, 2, 3])] {
            let resharing = Resharing::new(CONTEXT, &old.sharing, of, quorum(t, n)).unwrap();
            let Dealings { broadcasts, dealt } = Dealings::resharing(&resharing, &old.shares, of);
            let received = (1..).zip(&dealt).map(|(j, dealt)| {
                let received = resharing.receive(trustee(j), &broadcasts, dealt);
                received.unwrap()
            });
            let (sharings, shares): (Vec<_>, Vec<_>) = received.unzip();
            let sharing = &sharings[0];
            assert_eq!(sharing.public(), old.sharing.public());
            assert!(sharings.iter().all(|other| other == sharing));
            let expected = G1::hash(b"test", b"T1").mul(&old.xi);
            let some = set(&(1..=t).collect::<Vec<_>>());
            assert_eq!(opens(sharing, &shares, some), Ok(expected));
        }
    }
    let too_few = Resharing::new(CONTEXT, &old.sharing, set(&[1]), quorum(2, 3));
    assert!(matches!(too_few, Err(QuorumError::TooFew { .. })));
    let nobody = Resharing::new(CONTEXT, &old.sharing, set(&[1, 4]), quorum(2, 3));
    assert_eq!(nobody.unwrap_err(), QuorumError::Index { index: 4 });
}

#[test]
fn old_shares_do_not_combine_with_new_ones() {
    let old = Dealt::new(9, 2, 3);
    let of = set(&[1, 2]);
    let resharing = Resharing::new(CONTEXT, &old.sharing, of, quorum(2, 3)).unwrap();
    let Dealings { broadcasts, dealt } = Dealings::resharing(&resharing, &old.shares, of);
    let (sharing, new) = resharing
        .receive(trustee(1), &broadcasts, &dealt[0])
        .unwrap();
    let power = |share: &SecretShare| {
        let value = Scalar::from_bytes(share.to_bytes().as_slice()).unwrap();
        (share.trustee().index(), base().mul(&value))
    };
    let h = *old.sharing.public();
    assert_eq!(combined(&[power(old.share(1)), power(old.share(2))]), h);
    assert_ne!(combined(&[power(&new), power(old.share(2))]), h);
    assert!(old.share(2).check(&sharing).is_err());
    assert!(new.check(&old.sharing).is_err());
    assert!(new.check(&sharing).is_ok());
}

#[test]
fn whoever_hands_on_something_else_is_named() {
    let old = Dealt::new(10, 2, 3);
    let of = set(&[1, 2]);
    let resharing = Resharing::new(CONTEXT, &old.sharing, of, quorum(2, 3)).unwrap();
    let good = resharing.deal(old.share(1), &mut rng(1)).unwrap().0;
    let named = |broadcast: Broadcast| resharing.sharing(&[good.clone(), broadcast]).unwrap_err();
    // Its own choice, with all proofs right.
    let invented = Dealt::new(11, 2, 3);
    let other = Resharing::new(CONTEXT, &invented.sharing, of, quorum(2, 3)).unwrap();
    let broadcast = other.deal(invented.share(2), &mut rng(2)).unwrap().0;
    let constant = QuorumError::Constant {
        trustee: trustee(2),
    };
    assert_eq!(named(broadcast), constant);
    assert_eq!(constant.culprit(), Some(trustee(2)));
    // The dealing of a founding.
    let founding = Founding::new(CONTEXT, &base(), quorum(2, 3));
    let broadcast = founding.deal(trustee(2), &mut rng(3)).unwrap().0;
    let possession = QuorumError::Possession {
        trustee: trustee(2),
    };
    assert_eq!(named(broadcast), possession);
    assert!(resharing.deal(invented.share(2), &mut rng(4)).is_err());
    assert!(resharing.deal(old.share(3), &mut rng(4)).is_err());

    let Dealings { broadcasts, dealt } = Dealings::resharing(&resharing, &old.shares, of);
    let mut wrong = dealt[2].clone();
    wrong[0] = changed(&wrong[0], DEALT_SHARE_BYTES - 1, 2);
    let refused = resharing.receive(trustee(3), &broadcasts, &wrong);
    let named = QuorumError::DealtShare {
        trustee: trustee(1),
    };
    assert_eq!(refused.unwrap_err(), named);
}
