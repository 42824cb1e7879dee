//! Chains of steps and rebases: what they lead to, and what a reader refuses.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

use crate::common::issuer::{first_v, rebased_v, secret_x};
use crate::common::{
    BBS04, Fixture, LOCKED_OUT, NONCE, REISSUED, REVOKED, XR, checked, fixtures, later, rng,
};
use clew_evidence::{Change, EpochRecord, Follow, GroupFile, MAX_STEPS, Rule, WallTime};
use clew_group::curve::{G1, Scalar};
use clew_group::{Scheme, Step};

/// The rule and part by which a file is refused before its chain is looked at.
fn refused(file: &[u8]) -> (usize, Rule) {
    let error = GroupFile::from_bytes(file).unwrap_err();
    (error.part, error.rule)
}

/// The same for a chain; the file alone is good enough for packets.
fn chain_refused(file: &[u8]) -> (usize, Rule) {
    let group = GroupFile::from_bytes(file).unwrap();
    let error = group.check_epochs(&mut rng(3)).unwrap_err();
    (error.part, error.rule)
}

fn steps_of(record: &mut EpochRecord) -> &mut Vec<[u8; 80]> {
    match &mut record.change {
        Change::Steps(steps) => steps,
        _ => panic!("a record with steps"),
    }
}

/// The file with one more epoch.
fn with_epoch_5(fixture: &Fixture, change: Change) -> Vec<u8> {
    fixture.with(|_, e| e.push(record(fixture, 5, change)))
}

/// A later record than the fixture's last, with its register.
fn record(fixture: &Fixture, epoch: u32, change: Change) -> EpochRecord {
    EpochRecord {
        epoch,
        made: later(1_000),
        start: later(1_000),
        change,
        ..fixture.epochs[3].clone()
    }
}

#[test]
fn witnesses_follow_the_path() {
    let x = secret_x(0);
    let witness = |epoch| XR.issuer.witness(0, &XR.group.v(epoch).unwrap());
    let path = |from, to| XR.group.path(from, to).unwrap();
    for (from, to, count) in [
        (0, 0, 0),
        (0, 1, 2),
        (1, 2, 0),
        (0, 2, 2),
        (0, 3, 3),
        (2, 3, 1),
    ] {
        let Follow::Steps(steps) = path(from, to) else {
            panic!("steps from {from} to {to}");
        };
        assert_eq!(steps.len(), count);
        let followed = witness(from).after(&x, steps).unwrap();
        assert_eq!(
            followed.to_bytes(),
            witness(to).to_bytes(),
            "{from} to {to}"
        );
    }
    let Follow::Back(steps) = path(3, 0) else {
        panic!("back");
    };
    let back = witness(3).before(&x, steps);
    assert_eq!((steps.len(), back.to_bytes()), (3, witness(0).to_bytes()));
    let revoked = XR.issuer.witness(REVOKED, &XR.group.v(2).unwrap());
    let Follow::Steps(steps) = path(2, 3) else {
        panic!("a step");
    };
    assert!(revoked.after(&secret_x(REVOKED), steps).is_err());
}

#[test]
fn a_rebase_is_in_the_way() {
    let (epoch, steps) = (4, &[][..]);
    for from in 0..4 {
        assert_eq!(
            XR.group.path(from, 4),
            Some(Follow::Rebase { epoch, steps })
        );
    }
    let Some(Follow::Rebase { epoch: 0, steps }) = XR.group.path(4, 3) else {
        panic!("the way back is a rebase too");
    };
    assert_eq!(steps.len(), 3);
    assert_eq!(XR.group.path(4, 4), Some(Follow::Steps(&[])));
    assert!(XR.group.path(0, 5).is_none() && XR.group.path(5, 0).is_none());
    for epoch in [1, 2, 3, 4] {
        let steps = &[][..];
        let path = BBS04.group.path(0, epoch);
        assert_eq!(path, Some(Follow::Rebase { epoch, steps }));
        assert_eq!(BBS04.group.hashed_since(epoch), epoch);
    }
    let since = |epoch| XR.group.hashed_since(epoch);
    assert_eq!([since(0), since(3), since(4)], [0, 0, 4]);
}

#[test]
fn steps_count_from_the_last_rebase() {
    assert_eq!(XR.group.steps_since_rebase(), 0);
    let steps = XR
        .issuer
        .steps(XR.keys[4].v(), [secret_x(50), secret_x(51)]);
    let group = checked(&with_epoch_5(&XR, Change::steps(&steps))).unwrap();
    assert_eq!(group.steps_since_rebase(), 2);
    assert_eq!(group.v(5).as_ref(), Some(steps[1].v()));
    let expected = Follow::Rebase {
        epoch: 4,
        steps: &steps,
    };
    assert_eq!(group.path(2, 5), Some(expected));
}

#[test]
fn who_is_revoked_is_seen_without_a_pairing() {
    let expected = [None, Some(3), None, Some(4), Some(1)];
    for fixture in fixtures() {
        for (machine, epoch) in expected.into_iter().enumerate() {
            let (entry, x) = (&fixture.entries[machine], fixture.x(machine));
            assert_eq!(fixture.group.revoked_in(entry, x.as_ref()), epoch);
        }
    }
    let revoked = |epoch| XR.group.revoked_x(epoch).copied().collect::<Vec<_>>();
    let all = [77, LOCKED_OUT, REVOKED].map(secret_x);
    assert_eq!([revoked(0), revoked(2)], [vec![], all[..2].to_vec()]);
    assert!(revoked(3) == all && revoked(99) == all);
    let rows = |fixture: &crate::common::Fixture, epoch| {
        fixture.group.revoked_rows(epoch).collect::<Vec<_>>()
    };
    assert_eq!(
        [rows(&XR, 3), rows(&XR, 4)],
        [vec![], vec![REISSUED as u32]]
    );
    let all = [LOCKED_OUT, REVOKED, REISSUED].map(|row| row as u32);
    assert_eq!(rows(&BBS04, 99), all);
    assert_eq!(rows(&BBS04, 2), all[..1]);
}

#[test]
fn revoked_twice() {
    let in_one_record = XR.with(|_, e| {
        let first = steps_of(&mut e[0])[0];
        steps_of(&mut e[0]).push(first);
    });
    assert_eq!(refused(&in_one_record), (1, Rule::RevokedTwice));
    let again = XR.issuer.step(XR.keys[4].v(), &secret_x(LOCKED_OUT));
    let later = with_epoch_5(&XR, Change::steps([&again]));
    assert_eq!(
        refused(&later),
        (5, Rule::RevokedTwice),
        "across a rebase too"
    );
    for fixture in fixtures() {
        let revoked = vec![1_000, REISSUED as u32 + 2_000];
        let twice = |revoked: Vec<u32>| with_epoch_5(fixture, Change::Rebase { revoked });
        assert!(checked(&twice(revoked)).is_ok());
        let revoked = vec![REISSUED as u32, 1_000];
        assert_eq!(refused(&twice(revoked)), (5, Rule::RevokedTwice));
    }
    // Records are checked one by one: the first that breaks a rule is named.
    let late = XR.with(|_, e| {
        let first = steps_of(&mut e[0])[0];
        steps_of(&mut e[2]).push(first);
        e[3].start = WallTime::default();
    });
    assert_eq!(refused(&late), (3, Rule::RevokedTwice));
    let early = XR.with(|_, e| {
        let first = steps_of(&mut e[0])[0];
        steps_of(&mut e[2]).push(first);
        e[2].start = WallTime::default();
    });
    assert_eq!(refused(&early), (3, Rule::Start));
    // The first record that repeats is named.
    let both = XR.with(|_, e| {
        let (a, b) = (steps_of(&mut e[0])[0], steps_of(&mut e[0])[1]);
        e.push(record(&XR, 5, Change::Steps(vec![b])));
        e.push(record(&XR, 6, Change::Steps(vec![a])));
    });
    assert_eq!(refused(&both), (5, Rule::RevokedTwice));
}

/// Records of so many steps with an x each; what they lead to nobody looks at.
fn many_steps(count: usize, first: u32, x: &mut u64) -> Vec<EpochRecord> {
    let mut all = Vec::new();
    for from in (0..count).step_by(48) {
        let steps = (from..count.min(from + 48)).map(|_| {
            let mut step = [0; 80];
            step[24..32].copy_from_slice(&x.to_be_bytes());
            *x += 1;
            step
        });
        let change = Change::Steps(steps.collect());
        all.push(record(&XR, first + all.len() as u32, change));
    }
    all
}

#[test]
fn steps() {
    let file = |before: usize, after: usize| {
        XR.with(|_, e| {
            let mut x = 1;
            *e = many_steps(before, 1, &mut x);
            if after > 0 {
                let rebase = Change::Rebase { revoked: vec![] };
                e.push(record(&XR, e.len() as u32 + 1, rebase));
                e.extend(many_steps(after, e.len() as u32 + 1, &mut x));
            }
        })
    };
    let records = MAX_STEPS.div_ceil(48);
    assert!(GroupFile::from_bytes(&file(MAX_STEPS, 48)).is_ok());
    assert_eq!(refused(&file(MAX_STEPS + 1, 0)), (records, Rule::Steps));
    let after_a_rebase = file(96, MAX_STEPS + 1);
    assert_eq!(refused(&after_a_rebase), (2 + 1 + records, Rule::Steps));
}

/// The file with another V (or x) in one of the steps of epochs 1 and 3.
fn with_step(epoch: usize, step: usize, change: impl FnOnce(&mut [u8; 80])) -> Vec<u8> {
    XR.with(|_, e| change(&mut steps_of(&mut e[epoch - 1])[step]))
}

#[test]
fn a_v_that_no_step_leads_to() {
    for (epoch, step) in [(1, 0), (1, 1), (3, 0)] {
        let stray = G1::generator().to_bytes();
        let file = with_step(epoch, step, |s| s[32..].copy_from_slice(&stray));
        assert_eq!(chain_refused(&file), (epoch, Rule::PublicKey));
        let other_x = with_step(epoch, step, |s| s[31] ^= 1);
        assert_eq!(chain_refused(&other_x), (epoch, Rule::PublicKey));
    }
    // A verifier of packets believes the manager: this is what rule 3 is about.
    let framed = with_step(3, 0, |s| {
        s[32..].copy_from_slice(&G1::generator().to_bytes())
    });
    let believed = GroupFile::from_bytes(&framed).unwrap();
    let key = believed.public_key(3).unwrap().unwrap();
    assert_eq!(key.v(), &G1::generator());
}

#[test]
fn steps_out_of_order() {
    let file = XR.with(|_, e| steps_of(&mut e[0]).swap(0, 1));
    assert_eq!(chain_refused(&file), (1, Rule::PublicKey));
    let file = XR.with(|_, e| {
        let first = e[0].change.clone();
        e[0].change = e[2].change.clone();
        e[2].change = first;
    });
    assert_eq!(chain_refused(&file), (1, Rule::PublicKey));
}

#[test]
fn steps_that_do_not_decode() {
    let identity = |s: &mut [u8; 80]| {
        s[32..].fill(0);
        s[32] = 0xc0;
    };
    // x = 0: (0, 2) has order 3.
    let subgroup = |s: &mut [u8; 80]| {
        s[32..].fill(0);
        s[32] = 0x80;
    };
    let off_curve = |s: &mut [u8; 80]| s[79] ^= 1;
    let no_x = |s: &mut [u8; 80]| s[..32].fill(0);
    let order = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";
    let not_reduced = |s: &mut [u8; 80]| s[..32].copy_from_slice(&hex::decode(order).unwrap());
    type Change<'a> = &'a dyn Fn(&mut [u8; 80]);
    let all: [Change<'_>; 5] = [&identity, &subgroup, &off_curve, &no_x, &not_reduced];
    for change in all {
        let file = with_step(3, 0, change);
        assert_eq!(chain_refused(&file), (3, Rule::PublicKey));
    }
    for change in [&identity as &dyn Fn(&mut [u8; 80]), &subgroup] {
        let group = GroupFile::from_bytes(&with_step(1, 1, change)).unwrap();
        let error = group.public_key(2).unwrap().unwrap_err();
        assert_eq!((error.part, error.rule), (2, Rule::PublicKey));
    }
}

#[test]
fn a_v_that_cancels_g1() {
    let g1 = G1::hash(b"clew-xr-g1-1:BLS12381G1_XMD:SHA-256_SSWU_RO_", &NONCE);
    let minus = (-g1).to_bytes();
    let file = with_step(3, 0, |s| s[32..].copy_from_slice(&minus));
    assert_eq!(chain_refused(&file), (3, Rule::PublicKey));
    let group = GroupFile::from_bytes(&file).unwrap();
    assert!(group.public_key(3).unwrap().is_err());
    assert!(group.public_key(4).unwrap().is_ok());
}

#[test]
fn a_chain_goes_on_from_the_rebase() {
    let x = secret_x(60);
    let from = |v: &G1| with_epoch_5(&XR, Change::steps([&XR.issuer.step(v, &x)]));
    let id = XR.epochs[3].epoch_id();
    assert!(checked(&from(&rebased_v(Scheme::Xr, 4, &id))).is_ok());
    for epoch in [0, 3] {
        let file = from(&XR.group.v(epoch).unwrap());
        assert_eq!(
            chain_refused(&file),
            (5, Rule::PublicKey),
            "from epoch {epoch}"
        );
    }
}

/// A store that was restored makes another rebase with the same number: with one V, the witnesses of
/// one history would serve those whom the other revokes.
#[test]
fn no_two_histories_share_the_v_of_a_rebase() {
    for fixture in fixtures() {
        let rebase = |revoked: Vec<u32>| Change::Rebase { revoked };
        let file = fixture.with(|_, e| e[3].change = rebase(vec![REISSUED as u32, 900]));
        let restored = checked(&file).unwrap();
        let [ours, theirs] = [&fixture.group, &restored].map(|group| group.v(4).unwrap());
        assert_ne!(ours, theirs);
        assert_eq!(restored.v(3), fixture.group.v(3));
        let key = restored.public_key(4).unwrap().unwrap();
        assert_eq!(key.v(), &theirs);
        assert_eq!(fixture.group.v(0), Some(first_v(fixture.genesis.scheme)));
    }
}

#[test]
fn the_first_bad_record_is_named() {
    let mut v = *XR.keys[4].v();
    let mut step = |x: u128| -> Step {
        let step = XR.issuer.step(&v, &Scalar::from_u128(x));
        v = *step.v();
        step
    };
    let steps: Vec<Step> = (500..520).map(&mut step).collect();
    for bad in 0..steps.len() {
        let file = XR.with(|_, e| {
            for (epoch, step) in (5..).zip(&steps) {
                e.push(record(&XR, epoch, Change::steps([step])));
            }
            // Both this x* and the next are wrong: the first one counts.
            for record in &mut e[4 + bad..(6 + bad).min(4 + steps.len())] {
                steps_of(record)[0][0] ^= 1;
            }
        });
        assert_eq!(chain_refused(&file), (5 + bad, Rule::PublicKey));
    }
}
