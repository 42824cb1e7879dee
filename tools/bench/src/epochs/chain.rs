//! A chain of revocations: loading it, and following it with a witness.

use super::pieces;
use crate::groups::{XrGroup, rng};
use crate::measure::Case;
use clew_group::curve::Scalar;
use clew_group::{STEP_BYTES, Step, Witness, check_steps};

/// What the issue asks for beside the whole chain.
const SHORT: usize = 1000;

/// A group with one member, and the revocations of many others.
pub struct Chain {
    group: XrGroup,
    steps: Vec<Step>,
    encoded: Vec<[u8; STEP_BYTES]>,
}

impl Chain {
    pub fn new(length: usize) -> Self {
        let group = XrGroup::new();
        let (mut random, mut newest) = (rng(11), group.public.clone());
        let steps = (0..length).map(|_| {
            let x = Scalar::random(&mut random);
            let step = group.issuer.revoke(&newest, &x);
            let step = step.expect("a random x is not -gamma");
            newest = newest.in_epoch(step.v()).expect("a random point");
            step
        });
        let steps: Vec<Step> = steps.collect();
        Self {
            encoded: steps.iter().map(Step::to_bytes).collect(),
            group,
            steps,
        }
    }

    /// The witness after the first steps, by one product.
    fn at_once(&self, steps: usize) -> Witness {
        let Self { group, .. } = self;
        let after = group.witness.after(group.member.x(), &self.steps[..steps]);
        after.expect("others are revoked")
    }

    /// The same step by step, as it was done before.
    fn one_by_one(&self, steps: usize) -> Witness {
        let Self { group, .. } = self;
        let each = self.steps[..steps].chunks(1);
        each.fold(group.witness.clone(), |witness, step| {
            let after = witness.after(group.member.x(), step);
            after.expect("others are revoked")
        })
    }

    fn is_checked(&self) -> bool {
        let public = &self.group.public;
        let segment = (*public.v(), &self.steps[..]);
        check_steps(public.w(), &[segment], &mut rng(12)).is_ok()
    }

    /// Two pairings for each step.
    fn is_checked_one_by_one(&self) -> bool {
        let (first, mut steps) = (self.group.public.clone(), self.steps.iter());
        let newest = steps.try_fold(first, |key, step| key.after(step));
        newest.is_ok()
    }
}

/// The rows.
pub fn all(chain: &Chain) -> Vec<Case<'_>> {
    let n = chain.steps.len();
    let mut cases = loading(chain, n);
    for k in [SHORT.min(n), n] {
        cases.extend(following(chain, k));
    }
    cases.dedup_by(|a, b| a.name == b.name);
    cases
}

fn loading(chain: &Chain, n: usize) -> Vec<Case<'_>> {
    let decode = || {
        let mut steps = chain.encoded.iter();
        steps.all(|step| Step::from_bytes(step).is_ok())
    };
    vec![
        pieces(
            format!("chain-decode-{n}"),
            "points and scalars of a chain, all checks",
            1,
            decode,
        ),
        pieces(
            format!("chain-check-{n}"),
            "the whole chain by two pairings",
            1,
            || assert!(chain.is_checked()),
        ),
        pieces(
            format!("chain-check-each-{n}"),
            "the same, two pairings for each step",
            1,
            || assert!(chain.is_checked_one_by_one()),
        )
        .against(format!("chain-check-{n}")),
    ]
}

fn following(chain: &Chain, k: usize) -> Vec<Case<'_>> {
    vec![
        pieces(
            format!("update-{k}"),
            "member: W after so many steps, one product",
            1,
            move || chain.at_once(k),
        ),
        pieces(
            format!("update-each-{k}"),
            "the same step by step, as before",
            1,
            move || chain.one_by_one(k),
        )
        .against(format!("update-{k}")),
    ]
}
