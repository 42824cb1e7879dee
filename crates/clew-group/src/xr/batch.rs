//! Many signatures of one epoch at once (spec 3.5).

mod parts;

use super::{IncrementalSignature, Signature, VerifyingKey};
use crate::Invalid;
use crate::curve::multiexp::{multiexp_many_vartime, multiexp_vartime};
use crate::curve::{G1, G1_BYTES, Gt, Scalar};
use alloc::vec;
use alloc::vec::Vec;
use rand_core::CryptoRng;

/// A signature of a batch, with its message.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The message is the concatenation of these.
    pub message: &'a [&'a [u8]],
    /// Its signature.
    pub form: Form<'a>,
}

/// The forms that a batch takes.
#[derive(Clone, Copy, Debug)]
pub enum Form<'a> {
    /// XR.
    Plain(&'a Signature),
    /// XRR: faster in a batch, as R1 need not be derived alone.
    Incremental(&'a IncrementalSignature),
}

impl<'a> Item<'a> {
    fn plain(&self) -> Option<&'a Signature> {
        match self.form {
            Form::Plain(signature) => Some(signature),
            Form::Incremental(_) => None,
        }
    }
}

/// Signatures whose R1' are derived together.
const AT_ONCE: usize = 128;

/// From so many signatures on, eight lanes take less time than one after the other.
const LANES_FROM: usize = 4;

impl VerifyingKey {
    /// Verifies signatures together: two sums over all of them and one pairing if all are good; if
    /// not, it takes the batch apart until the bad ones are found. The answers, in the order of `items`,
    /// are those of [`Self::verify`] and [`Self::verify_incremental`] one by one, but for a
    /// probability below n 2^-126 for n signatures. `rng` must be unpredictable to whoever made
    /// them. A batch of bad ones only takes up to twice the time of one by one.
    pub fn verify_batch(
        &self,
        items: &[Item<'_>],
        rng: &mut impl CryptoRng,
    ) -> Vec<Result<(), Invalid>> {
        let mut verdicts = self.check_hashes(items);
        let passed = items.iter().enumerate().zip(&verdicts);
        let candidates: Vec<Candidate<'_>> = passed
            .filter(|(_, verdict)| verdict.is_ok())
            .map(|((place, item), _)| Candidate::new(place, item.form, rng))
            .collect();
        for place in self.find_bad(&candidates) {
            verdicts[place] = Err(Invalid);
        }
        verdicts
    }

    /// What each signature passes before it enters the sums: c is the hash with R1', or with the R1
    /// that is carried.
    fn check_hashes(&self, items: &[Item<'_>]) -> Vec<Result<(), Invalid>> {
        let plain: Vec<&Signature> = items.iter().filter_map(Item::plain).collect();
        let mut derived = plain
            .chunks(AT_ONCE)
            .flat_map(|few| self.encoded_r1_all(few));
        let mut check = |item: &Item<'_>| match item.form {
            Form::Plain(signature) => {
                let r1 = derived.next().ok_or(Invalid)??;
                self.check_challenge(item.message, signature, &r1)
            }
            Form::Incremental(signature) => self.check_carried(item.message, signature),
        };
        items.iter().map(&mut check).collect()
    }

    /// R1' of each signature as it is hashed; refused if it is the identity.
    fn encoded_r1_all(&self, signatures: &[&Signature]) -> Vec<Result<[u8; G1_BYTES], Invalid>> {
        if let Some(lanes) = &self.lanes
            && signatures.len() >= LANES_FROM
        {
            return lanes.encoded_r1_all(signatures);
        }
        let points = self.r1_all(signatures);
        let all = points.iter().zip(G1::to_bytes_all(&points));
        all.map(|(r1, bytes)| {
            if r1.is_identity() {
                Err(Invalid)
            } else {
                Ok(bytes)
            }
        })
        .collect()
    }

    /// The places of the bad ones.
    fn find_bad(&self, candidates: &[Candidate<'_>]) -> Vec<usize> {
        match &self.lanes {
            Some(lanes) if candidates.len() >= LANES_FROM => {
                parts::find_bad(self, lanes, candidates)
            }
            _ => self.find_bad_by_halves(candidates),
        }
    }

    /// The value of a whole is the product of its halves', so that each cut takes one pairing.
    fn find_bad_by_halves(&self, candidates: &[Candidate<'_>]) -> Vec<usize> {
        let mut bad = vec![];
        let mut parts = vec![];
        if !candidates.is_empty() {
            parts.push((candidates, self.value_of(candidates)));
        }
        while let Some((part, value)) = parts.pop() {
            match part {
                _ if value.is_identity() => {}
                [candidate] => bad.push(candidate.place),
                _ => {
                    let (left, right) = part.split_at(part.len() / 2);
                    let of_left = self.value_of(left);
                    parts.push((right, value.mul(&of_left.inverse())));
                    parts.push((left, of_left));
                }
            }
        }
        bad
    }

    /// ```text
    /// S1 = prod ( T2^sx h^(-sd) h0^(-sy) (g1 V)^(-c) R3^(-1) )^d  prod ( u^sa T1^(-c) R1^(-1) )^q
    /// S2 = prod ( T2^c h^(-sa) )^d
    /// ```
    /// with the powers of each fixed point added up first; and of these e(S1, G2) e(S2, w), which
    /// is one if all are good.
    fn value_of(&self, candidates: &[Candidate<'_>]) -> Gt {
        let (mut in_s1, mut in_s2) = (Terms::default(), Terms::default());
        for Candidate {
            signature, d, r1, ..
        } in candidates
        {
            let (s, c) = (&signature.s, signature.c.scalar());
            in_s1.push(&signature.t2, s.x * *d);
            in_s1.push(&signature.r3, -*d);
            in_s2.push(&signature.t2, c * *d);
            if let Some((r1, q)) = r1 {
                in_s1.push(&signature.t1, -(c * *q));
                in_s1.push(r1, -*q);
            }
        }
        let fixed = FixedPowers::of(candidates);
        self.value_with(&fixed, &in_s1.sum(), &in_s2.sum())
    }

    /// The value of what is in the two sums, the fixed points' powers aside.
    fn value_with(&self, fixed: &FixedPowers, s1: &G1, s2: &G1) -> Gt {
        let of_fixed = multiexp_vartime([
            (&self.h, fixed.h),
            (&self.h0, fixed.h0),
            (&self.base, fixed.base),
            (&self.u, fixed.u),
        ]);
        let of_h = multiexp_vartime([(&self.h, fixed.h_in_s2)]);
        self.value(&(of_fixed + *s1), &(of_h + *s2))
    }
}

/// A signature whose hash is right, with its multipliers.
struct Candidate<'a> {
    place: usize,
    signature: &'a Signature,
    d: Scalar,
    /// Of the incremental form: R1 and q.
    r1: Option<(G1, Scalar)>,
}

impl<'a> Candidate<'a> {
    fn new(place: usize, form: Form<'a>, rng: &mut impl CryptoRng) -> Self {
        let (signature, r1) = match form {
            Form::Plain(signature) => (signature, None),
            Form::Incremental(form) => {
                (&form.signature, Some((form.r1, Scalar::random_short(rng))))
            }
        };
        Self {
            place,
            signature,
            d: Scalar::random_short(rng),
            r1,
        }
    }
}

/// Points with their powers.
#[derive(Default)]
struct Terms {
    points: Vec<G1>,
    powers: Vec<Scalar>,
}

impl Terms {
    fn push(&mut self, point: &G1, power: Scalar) {
        self.points.push(*point);
        self.powers.push(power);
    }

    fn sum(&self) -> G1 {
        multiexp_many_vartime(&self.points, &self.powers)
    }
}

/// The powers of fixed points.
#[derive(Clone, Copy, Default)]
struct FixedPowers {
    h: Scalar,
    h0: Scalar,
    base: Scalar,
    u: Scalar,
    h_in_s2: Scalar,
}

impl FixedPowers {
    /// Those of all candidates together.
    fn of<'a>(candidates: impl IntoIterator<Item = &'a Candidate<'a>>) -> Self {
        let mut sum = Self::default();
        for candidate in candidates {
            let Candidate {
                signature, d, r1, ..
            } = candidate;
            let (s, c) = (&signature.s, signature.c.scalar());
            sum.h = sum.h - s.d * *d;
            sum.h0 = sum.h0 - s.y * *d;
            sum.base = sum.base - c * *d;
            sum.h_in_s2 = sum.h_in_s2 - s.a * *d;
            if let Some((_, q)) = r1 {
                sum.u = sum.u + s.a * *q;
            }
        }
        sum
    }

    /// The sum with another's powers.
    fn plus(&self, other: &Self) -> Self {
        Self {
            h: self.h + other.h,
            h0: self.h0 + other.h0,
            base: self.base + other.base,
            u: self.u + other.u,
            h_in_s2: self.h_in_s2 + other.h_in_s2,
        }
    }
}
