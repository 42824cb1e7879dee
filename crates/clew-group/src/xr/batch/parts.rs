//! Batches in vector lanes: sums come in eight parts, and a test of Law and Matt (*Finding invalid
//! signatures in pairing-based batches*, 2007) tells the part that alone is bad.
//!
//! With v_i the value of part i, it compares the product of v_i^i with powers of the product of v_i. If
//! they fit for k, then the product of v_i^(i - k) is one: a batch equation of all parts but k, whose
//! weights i - k are not zero. So these are good, but for a probability of 2^-128, and all that is bad
//! is in part k, whose value is that of the whole.

use super::{Candidate, FixedPowers};
use crate::Invalid;
use crate::curve::{G1, G1_BYTES, Gt, PART_COUNT, Product, Terms, Vectors};
use crate::xr::verifier::Lanes;
use crate::xr::{Signature, VerifyingKey};
use alloc::vec;
use alloc::vec::Vec;

impl Lanes {
    /// R1' of each signature as it is hashed; refused if it is the identity.
    pub(super) fn encoded_r1_all(
        &self,
        signatures: &[&Signature],
    ) -> Vec<Result<[u8; G1_BYTES], Invalid>> {
        let products: Vec<Product<'_>> = signatures
            .iter()
            .map(|signature| Product {
                of_base: signature.s.a,
                point: &signature.t1,
                power: -signature.c.scalar(),
            })
            .collect();
        let encoded = self.vectors.products_vartime(&self.u, &products);
        encoded.into_iter().map(|r1| r1.ok_or(Invalid)).collect()
    }
}

/// The two sums of some candidates, with the powers of fixed points.
#[derive(Clone, Copy, Default)]
struct Sums {
    s1: G1,
    s2: G1,
    fixed: FixedPowers,
}

impl Sums {
    fn plus(&self, other: &Self) -> Self {
        Self {
            s1: self.s1 + other.s1,
            s2: self.s2 + other.s2,
            fixed: self.fixed.plus(&other.fixed),
        }
    }

    fn value(&self, key: &VerifyingKey) -> Gt {
        key.value_with(&self.fixed, &self.s1, &self.s2)
    }
}

/// Candidates that are not all good, their value, and whether many are expected to be bad.
struct Suspects<'a> {
    candidates: Vec<&'a Candidate<'a>>,
    value: Gt,
    many: bool,
}

/// The places of the bad ones. A single bad one of 256 takes three more pairings; many take one for each
/// part that is not empty, all the way down, and the test that found no single part.
pub(super) fn find_bad(
    key: &VerifyingKey,
    lanes: &Lanes,
    candidates: &[Candidate<'_>],
) -> Vec<usize> {
    let mut bad = vec![];
    let mut suspects = vec![];
    if !candidates.is_empty() {
        let candidates: Vec<&Candidate<'_>> = candidates.iter().collect();
        let parts = parts(lanes.vectors, &candidates);
        let value = total(&parts).value(key);
        let whole = Suspects {
            candidates,
            value,
            many: false,
        };
        if !whole.value.is_identity() {
            suspects = take_apart(key, &parts, whole);
        }
    }
    while let Some(next) = suspects.pop() {
        if let [candidate] = next.candidates.as_slice() {
            bad.push(candidate.place);
            continue;
        }
        let parts = parts(lanes.vectors, &next.candidates);
        suspects.extend(take_apart(key, &parts, next));
    }
    bad
}

/// The parts that are not good.
fn take_apart<'a>(
    key: &VerifyingKey,
    parts: &[Sums; PART_COUNT],
    suspects: Suspects<'a>,
) -> Vec<Suspects<'a>> {
    let Suspects {
        candidates,
        value,
        many,
    } = suspects;
    let part = |i: usize| {
        candidates
            .iter()
            .skip(i)
            .step_by(PART_COUNT)
            .copied()
            .collect()
    };
    let parts = &parts[..candidates.len().min(PART_COUNT)];
    if !many && let Some(i) = only_bad_part(key, parts, &value) {
        let candidates = part(i);
        return vec![Suspects {
            candidates,
            value,
            many,
        }];
    }
    let values = values_of_parts(key, parts, &value);
    let is_bad = values.iter().filter(|value| !value.is_identity()).count();
    let many = many || 2 * is_bad > parts.len();
    let pairs = values.into_iter().enumerate();
    pairs
        .filter(|(_, value)| !value.is_identity())
        .map(|(i, value)| Suspects {
            candidates: part(i),
            value,
            many,
        })
        .collect()
}

/// The part that alone is bad. The value of all is not one.
fn only_bad_part(key: &VerifyingKey, parts: &[Sums], value: &Gt) -> Option<usize> {
    // Part i in i suffixes: the sum of i times part i.
    let suffixes = parts.iter().skip(1).rev();
    let (_, weighted) = suffixes.fold((Sums::default(), Sums::default()), |(suffix, sum), part| {
        let suffix = suffix.plus(part);
        (suffix, sum.plus(&suffix))
    });
    let weighted = weighted.value(key);
    let mut power = value.mul(&value.inverse());
    for i in 0..parts.len() {
        if power == weighted {
            return Some(i);
        }
        power = power.mul(value);
    }
    None
}

/// The value of each part: the last one's is what the others leave of the whole.
fn values_of_parts(key: &VerifyingKey, parts: &[Sums], whole: &Gt) -> Vec<Gt> {
    let (_, first) = parts.split_last().expect("a batch has parts");
    let mut values: Vec<Gt> = first.iter().map(|part| part.value(key)).collect();
    let rest = values
        .iter()
        .fold(*whole, |rest, value| rest.mul(&value.inverse()));
    values.push(rest);
    values
}

fn total(parts: &[Sums; PART_COUNT]) -> Sums {
    parts
        .iter()
        .fold(Sums::default(), |sum, part| sum.plus(part))
}

/// The sums of candidates i, i + 8, and so on, for i from 0 to 7.
fn parts(vectors: Vectors, candidates: &[&Candidate<'_>]) -> [Sums; PART_COUNT] {
    let mut terms = Terms::default();
    for Candidate {
        signature, d, r1, ..
    } in candidates
    {
        let c = signature.c.scalar();
        let of_t2 = [signature.s.x * *d, c * *d];
        terms.push((&signature.t2, of_t2), (&signature.r3, -*d));
        if let Some((r1, q)) = r1 {
            terms.push_more((&signature.t1, -(c * *q)), (r1, -*q));
        }
    }
    let [s1, s2] = vectors.two_sums_vartime(&terms);
    core::array::from_fn(|i| {
        let own = candidates.iter().skip(i).step_by(PART_COUNT).copied();
        Sums {
            s1: s1[i],
            s2: s2[i],
            fixed: FixedPowers::of(own),
        }
    })
}
