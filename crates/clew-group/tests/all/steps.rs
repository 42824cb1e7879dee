//! Checks of chains of steps: one by one, and all with two pairings.

use crate::common::points::{ORDER_3, replaced, with_torsion};
use crate::common::rng;
use crate::common::script::Script;
use crate::common::xr::{Group, NONCE};
use crate::common::xr_textbook::{g1, short};
use clew_group::curve::{G1, Scalar};
use clew_group::xr::PublicKey;
use clew_group::{DecodeError, Invalid, Step, check_steps};

/// A chain of two segments, the second after a rebase.
struct Chain {
    group: Group,
    starts: [G1; 2],
    segments: [Vec<Step>; 2],
}

impl Chain {
    fn new(seed: u64, lengths: [usize; 2]) -> Self {
        let mut group = Group::new(seed);
        let starts = [
            PublicKey::first_v(&NONCE),
            PublicKey::rebased_v(&NONCE, 7, &crate::common::REBASED),
        ];
        let segments = [0, 1].map(|i| {
            group.public = group.public.in_epoch(&starts[i]).unwrap();
            let step = |_| {
                let x = Scalar::random(&mut group.rng);
                group.revoke(&x)
            };
            (0..lengths[i]).map(step).collect()
        });
        Self {
            group,
            starts,
            segments,
        }
    }

    fn check(&self, segments: &[Vec<Step>; 2]) -> Result<(), Invalid> {
        let both = [0, 1].map(|i| (self.starts[i], segments[i].as_slice()));
        check_steps(self.group.genesis.w(), &both, &mut rng(1))
    }

    fn refuses(&self, change: impl Fn(&mut [Vec<Step>; 2])) {
        let mut segments = self.segments.clone();
        change(&mut segments);
        assert_ne!(segments, self.segments, "a change");
        assert_eq!(self.check(&segments), Err(Invalid));
    }
}

fn changed(step: &Step, at: usize, by: &[u8]) -> Step {
    Step::from_bytes(&replaced(&step.to_bytes(), at, by)).unwrap()
}

#[test]
fn good_chains_pass_whatever_their_length() {
    for lengths in [[0, 0], [1, 0], [0, 1], [2, 3], [40, 25]] {
        let chain = Chain::new(1, lengths);
        assert_eq!(chain.check(&chain.segments), Ok(()), "{lengths:?}");
    }
    let group = Group::new(1);
    assert_eq!(check_steps(group.genesis.w(), &[], &mut rng(1)), Ok(()));
}

/// One bad step among many is found, at each place, whatever is wrong with it.
#[test]
fn one_bad_step_among_many_is_found() {
    let chain = Chain::new(2, [33, 3]);
    let generator = G1::generator().to_bytes();
    let five = Scalar::from_u128(5).to_bytes();
    for i in 0..33 {
        chain.refuses(|s| s[0][i] = changed(&s[0][i], 0, &five));
        chain.refuses(|s| s[0][i] = changed(&s[0][i], 32, &generator));
    }
    for i in 0..3 {
        chain.refuses(|s| s[1][i] = changed(&s[1][i], 0, &five));
        chain.refuses(|s| s[1][i] = changed(&s[1][i], 32, &(-*s[1][i].v()).to_bytes()));
    }
}

#[test]
fn steps_out_of_order_are_refused() {
    let chain = Chain::new(3, [5, 4]);
    for i in 0..4 {
        chain.refuses(|s| s[0].swap(i, i + 1));
    }
    chain.refuses(|s| s[0].reverse());
    // Lost, doubled, moved to the other segment, segments exchanged.
    for i in [0, 2] {
        chain.refuses(|s| {
            s[0].remove(i);
        });
    }
    chain.refuses(|s| s[0].insert(2, s[0][2].clone()));
    chain.refuses(|s| s[0].push(s[0][0].clone()));
    chain.refuses(|s| {
        let step = s[0].pop().unwrap();
        s[1].insert(0, step);
    });
    chain.refuses(|s| s.swap(0, 1));
    // A step of another group with its own gamma.
    let other = Chain::new(4, [5, 4]);
    chain.refuses(|s| s[0][4] = other.segments[0][4].clone());
    assert_eq!(other.check(&chain.segments), Err(Invalid));
    // The last ones may be missing: a chain may end anywhere.
    let mut shorter = chain.segments.clone();
    shorter.iter_mut().for_each(|segment| segment.truncate(3));
    assert_eq!(chain.check(&shorter), Ok(()));
}

/// Two bad steps whose errors cancel without weights, or with weights that are alike.
#[test]
fn opposite_errors_are_found() {
    let chain = Chain::new(5, [1, 1]);
    let shifted = |step: &Step, by: G1| changed(step, 32, &(*step.v() + by).to_bytes());
    chain.refuses(|s| {
        s[0][0] = shifted(&s[0][0], G1::generator());
        s[1][0] = shifted(&s[1][0], -G1::generator());
    });
}

/// Errors that cancel under these weights and no others, so that each weight is all 128 bits drawn
/// for it. e(V', w) e(V'^x* V^(-1), G2) has the error (gamma+x*) k if V' has the error k.
#[test]
fn weights_are_128_bits_each() {
    let chain = Chain::new(6, [1, 1]);
    let gamma = crate::common::xr_textbook::scalar(chain.group.issuer.to_bytes().as_slice());
    let draws: [[u8; 16]; 2] =
        [0, 1].map(|i| core::array::from_fn(|j| (0x93 + 61 * i + 29 * j) as u8));
    let weights = draws.map(|draw| short(&draw));
    let shifted = |i: usize, error: Scalar| {
        let step = &chain.segments[i][0];
        let k = error * (gamma + *step.x()).invert().unwrap();
        changed(step, 32, &(*step.v() + G1::generator().mul(&k)).to_bytes())
    };
    let bad = [shifted(0, weights[1]), shifted(1, -weights[0])];
    let verdict = |blocks: &[[u8; 16]; 2]| {
        let both = [0, 1].map(|i| (chain.starts[i], core::slice::from_ref(&bad[i])));
        let mut script = Script::new(blocks);
        let verdict = check_steps(chain.group.genesis.w(), &both, &mut script);
        assert_eq!(script.asked, [16, 16]);
        verdict
    };
    assert_eq!(verdict(&draws), Ok(()));
    for bit in [0, 1, 63, 64, 65, 127] {
        for which in 0..2 {
            let mut other = draws;
            other[which][bit / 8] ^= 0x80 >> (bit % 8);
            assert_eq!(verdict(&other), Err(Invalid), "bit {bit} of {which}");
        }
    }
}

/// V of the wrong subgroup, and the identity, do not decode; g1 V of the identity is no epoch.
#[test]
fn a_v_that_is_no_point_is_refused() {
    let mut group = Group::new(7);
    let (step, _) = group.revoke_somebody();
    let good = step.to_bytes();
    let read = |v: &[u8]| Step::from_bytes(&replaced(&good, 32, v)).unwrap_err();
    assert_eq!(read(&with_torsion(&good[32..])), DecodeError::Subgroup);
    assert_eq!(read(&ORDER_3), DecodeError::Subgroup);
    let mut identity = [0; 48];
    identity[0] = 0xc0;
    assert_eq!(read(&identity), DecodeError::Identity);
    let zero = Step::from_bytes(&replaced(&good, 0, &[0; 32]));
    assert_eq!(zero, Err(DecodeError::Scalar));

    let minus_g1 = -clew_group::xr::Generators::of(&NONCE).g1;
    for v in [minus_g1, G1::default()] {
        assert_eq!(group.genesis.in_epoch(&v), Err(Invalid));
    }
}

/// A single step, checked alone.
#[test]
fn a_step_is_checked_alone() {
    let mut group = Group::new(8);
    let before = group.public.clone();
    let (step, _) = group.revoke_somebody();
    assert_eq!(before.after(&step).as_ref(), Ok(&group.public));
    assert_eq!(
        group.public.after(&step),
        Err(Invalid),
        "of the epoch before"
    );
    let (second, _) = group.revoke_somebody();
    assert_eq!(before.after(&second), Err(Invalid));
    for (at, by) in [(0, 32), (32, 48)] {
        let mixed = changed(&step, at, &second.to_bytes()[at..at + by]);
        assert_eq!(before.after(&mixed), Err(Invalid));
    }
    assert_eq!(g1(&step.to_bytes()[32..]), *step.v());
}
