//! Epochs of scheme XR: steps, rebases, updates in one product, late joins, back-dating, and the
//! one place that witnesses come from.

use crate::common::xr::{Group, Member};
use crate::common::xr_textbook::{g1, scalar};
use clew_group::curve::{G1, Scalar};
use clew_group::xr::PublicKey;
use clew_group::{Invalid, Revoked, Step, Witness};
use proptest::prelude::*;

/// One step as the specification writes it: W' = (V'/W)^(1/(x-x*)).
fn textbook_step(witness: G1, x: &Scalar, step: &Step) -> G1 {
    let inverse = (*x - *step.x()).invert().unwrap();
    (*step.v() - witness).mul(&inverse)
}

fn point(witness: &Witness) -> G1 {
    g1(&witness.to_bytes())
}

fn chain(group: &mut Group, length: usize) -> Vec<Step> {
    let step = |_| {
        let x = Scalar::random(&mut group.rng);
        group.revoke(&x)
    };
    (0..length).map(step).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Several steps in one product are the steps one by one, and what the issuer would give; and
    /// the way back ends where it began.
    #[test]
    fn an_update_is_its_steps_one_by_one(seed: u64, length in 0usize..9) {
        let mut group = Group::new(seed);
        let steps = chain(&mut group, length);
        let Member { x, witness, .. } = &group.member;
        let one_by_one = steps.iter().fold(point(witness), |w, step| textbook_step(w, x, step));
        let updated = witness.after(x, &steps).unwrap();
        prop_assert_eq!(point(&updated), one_by_one);
        prop_assert_eq!(&updated, &group.in_epoch().witness(x).unwrap());
        prop_assert_eq!(&updated.before(x, &steps), witness);
        let (first, second) = steps.split_at(length / 2);
        let halfway = witness.after(x, first).unwrap();
        prop_assert_eq!(&halfway.after(x, second).unwrap(), &updated);
        prop_assert_eq!(&updated.before(x, second), &halfway);
    }
}

/// More points than are in memory together.
#[test]
fn an_update_over_many_steps() {
    let mut group = Group::new(1);
    let steps = chain(&mut group, 300);
    for length in [126, 127, 128, 129, 255, 300] {
        let Member { x, witness, .. } = &group.member;
        let one_by_one = steps[..length]
            .iter()
            .fold(point(witness), |w, step| textbook_step(w, x, step));
        let updated = witness.after(x, &steps[..length]).unwrap();
        assert_eq!(point(&updated), one_by_one, "{length}");
        assert_eq!(&updated.before(x, &steps[..length]), witness);
    }
}

#[test]
fn revocation_locks_out_one_member_and_nobody_else() {
    let mut group = Group::new(12);
    let victim = group.join();
    let before = group.verifier();
    group.revoke_somebody();
    let step = group.revoke(&victim.x);
    assert_eq!(step.x(), &victim.x);
    group.revoke_somebody();
    let steps = group.steps.clone();
    // The member was moved over the first and the last step; here, over the second.
    group.member.witness = group.in_epoch().witness(&group.member.x).unwrap();

    assert_eq!(victim.witness.after(&victim.x, &steps), Err(Revoked));
    assert_eq!(victim.witness.after(&victim.x, &steps[1..2]), Err(Revoked));
    assert!(group.signer_of(&victim).is_err(), "the old witness");
    let issuer = group.in_epoch();
    assert_eq!(issuer.witness(&victim.x), Err(Revoked));
    assert_eq!(issuer.base(&victim.a, &victim.x), Err(Revoked));
    assert_eq!(issuer.bases(&[(victim.a, victim.x)]), [None]);
    assert_eq!(issuer.witnesses(&[victim.x]), [None]);
    assert_eq!(issuer.witness_bytes(&[victim.x]), [None]);

    let signature = group.sign(b"m");
    assert_eq!(group.verifier().verify(&[b"m"], &signature), Ok(()));
    assert_eq!(before.verify(&[b"m"], &signature), Err(Invalid));
}

/// Who joins late, who updates in each epoch and who updates at last have witnesses of one epoch.
#[test]
fn late_joiners_and_late_updaters_arrive_at_the_same_epoch() {
    let mut group = Group::new(13);
    let mut sleeper = group.member.clone();
    (0..3).for_each(|_| {
        group.revoke_somebody();
    });
    let late = group.join();
    sleeper.update(&group.steps);
    assert_eq!(sleeper.witness, group.member.witness);
    let verifier = group.verifier();
    for member in [sleeper, late] {
        let signer = group.signer_of(&member).unwrap();
        let signature = signer.precursor(&mut crate::common::rng(5)).sign(&[b"m"]);
        assert_eq!(verifier.verify(&[b"m"], &signature), Ok(()));
        assert!(group.is_of(&group.open(&signature), &member));
    }
}

/// A late member reaches epochs before it joined, and is named there; but not across a rebase.
#[test]
fn back_dating_is_possible_and_is_named() {
    let mut group = Group::new(14);
    let first = group.public.clone();
    (0..2).for_each(|_| {
        group.revoke_somebody();
    });
    let mut late = group.join();
    late.witness = late.witness.before(&late.x, &group.steps);
    group.public = first.clone();
    let signer = group.signer_of(&late).unwrap();
    let signature = signer.precursor(&mut crate::common::rng(5)).sign(&[b"m"]);
    assert_eq!(group.verifier().verify(&[b"m"], &signature), Ok(()));
    assert!(group.is_of(&group.open(&signature), &late));

    group.rebase(&[]);
    let mut later = group.join();
    later.witness = later.witness.before(&later.x, &group.steps);
    group.public = first;
    assert!(group.signer_of(&later).is_err());
}

#[test]
fn a_rebase_starts_anew_for_all_who_are_not_revoked() {
    let mut group = Group::new(15);
    let mut others: Vec<Member> = (0..4).map(|_| group.join()).collect();
    group.revoke(&others[0].x.clone());
    let old = group.member.clone();
    group.rebase(&[others[1].x]);
    let v = PublicKey::rebased_v(&crate::common::NONCE, 2, &crate::common::REBASED);
    assert_eq!(group.public.v(), &v);
    assert!(group.signer_of(&old).is_err(), "a witness of another epoch");
    let xs: Vec<Scalar> = others.iter().map(|m| m.x).collect();
    let given = group.in_epoch().witnesses(&xs);
    let is_there: Vec<bool> = given.iter().map(Option::is_some).collect();
    assert_eq!(
        is_there,
        [false, false, true, true],
        "by a step, by the rebase, not"
    );
    for (other, witness) in others.iter_mut().zip(given) {
        if let Some(witness) = witness {
            other.witness = witness;
        }
        assert_eq!(
            group.signer_of(other).is_ok(),
            !group.revoked.contains(&other.x)
        );
    }
    // Steps go on from the new V.
    let (step, _) = group.revoke_somebody();
    others[2].update(&[step]);
    assert!(group.signer_of(&others[2]).is_ok());
    assert!(group.signer_of(&group.member).is_ok());
}

/// Many rows are what one at a time gives, whatever their number.
#[test]
fn witnesses_and_bases_of_many_rows() {
    let mut group = Group::new(16);
    let gamma = scalar(group.issuer.to_bytes().as_slice());
    let rows: Vec<(G1, Scalar)> = (0..1100u128)
        .map(|i| (G1::generator(), Scalar::from_u128(i + 1)))
        .collect();
    group.revoked = rows.iter().step_by(7).map(|(_, x)| *x).collect();
    let issuer = group.in_epoch();
    for n in [0, 1, 15, 16, 17, 1023, 1024, 1025, 1100] {
        let mut rows = rows[..n].to_vec();
        rows.push((G1::generator(), -gamma));
        let xs: Vec<Scalar> = rows.iter().map(|(_, x)| *x).collect();
        let bytes = issuer.witness_bytes(&xs);
        let many = issuer.witnesses(&xs);
        let bases = issuer.bases(&rows);
        assert_eq!([bytes.len(), many.len(), bases.len()], [n + 1; 3]);
        for (i, x) in xs
            .iter()
            .enumerate()
            .filter(|(i, _)| i % 97 < 15 || i + 3 > n)
        {
            let one = issuer.witness(x).ok();
            assert_eq!(one.is_none(), i % 7 == 0 && i < n || i == n, "{i} of {n}");
            assert_eq!(many[i], one);
            assert_eq!(bytes[i], one.as_ref().map(Witness::to_bytes));
            let base = one.map(|w| (G1::generator() + point(&w)).to_bytes());
            assert_eq!(bases[i], base);
        }
    }
}

/// A witness of another epoch, machine or group, and one that is off by a point.
#[test]
fn wrong_witnesses_do_not_sign() {
    let mut group = Group::new(17);
    let (other, before) = (group.join(), group.member.clone());
    let (step, _) = group.revoke_somebody();
    let mut wrong = vec![before.witness.clone(), other.witness.clone()];
    wrong.push(other.witness.after(&other.x, &[step]).unwrap());
    wrong.push(Group::new(18).member.witness);
    let shifted = point(&group.member.witness) + G1::generator();
    wrong.push(Witness::from_bytes(&shifted.to_bytes()).unwrap());
    let opposite = -point(&group.member.witness);
    wrong.push(Witness::from_bytes(&opposite.to_bytes()).unwrap());
    for witness in wrong {
        let member = Member {
            witness,
            ..group.member.clone()
        };
        assert!(group.signer_of(&member).is_err());
        assert_eq!(
            member.key.check(&group.public, &member.witness),
            Err(Invalid)
        );
    }
    assert!(group.signer_of(&group.member).is_ok());
}

/// An update over steps that are not the group's gives a witness that does not sign.
#[test]
fn an_update_over_wrong_steps_does_not_sign() {
    let mut group = Group::new(19);
    let before = group.member.clone();
    (0..2).for_each(|_| {
        group.revoke_somebody();
    });
    let steps = group.steps.clone();
    let swapped = [steps[1].clone(), steps[0].clone()];
    let twice = [steps[0].clone(), steps[1].clone(), steps[1].clone()];
    for wrong in [&steps[..1], &steps[1..], &swapped, &twice, &[]] {
        let mut member = before.clone();
        member.update(wrong);
        assert!(group.signer_of(&member).is_err());
    }
    let mut member = before;
    member.update(&steps);
    assert!(group.signer_of(&member).is_ok());
}
