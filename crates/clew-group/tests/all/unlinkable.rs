//! What the thief of a key, the reader of a revocation and the issuer know tells them nothing about
//! signatures: no relation between points holds for the machine that signed and not for another.
//!
//! That there is none at all is Theorem 5 of `spec/security.md`; this tries every relation `X = Y^k`
//! between points that somebody can make of signatures and knowledge, with every exponent that is at
//! hand. The control: with xi, which only t trustees have together, the same search finds the machine.

use crate::common::rng;
use crate::common::xr::{Group, Member};
use crate::common::xr_textbook::{Gpk, scalar, short};
use clew_group::curve::{G1, Scalar};
use clew_group::xr::Signature;
use std::collections::HashMap;

/// What somebody knows, about one machine or about all.
#[derive(Clone, Default)]
struct Knowledge {
    points: Vec<G1>,
    scalars: Vec<Scalar>,
}

/// A group, three of its machines in one epoch, and two signatures by the first and one by the second.
struct Fixture {
    group: Group,
    gpk: Gpk,
    members: [Member; 3],
    /// By machines 0, 0 and 1.
    signatures: [Signature; 3],
}

impl Fixture {
    fn new(seed: u64) -> Self {
        let mut group = Group::new(seed);
        let members = [group.member.clone(), group.join(), group.join()];
        let sign = |machine: usize, seed| {
            let signer = group.signer_of(&members[machine]).unwrap();
            signer.precursor(&mut rng(seed)).sign(&[b"m"])
        };
        Self {
            signatures: [sign(0, 20), sign(0, 21), sign(1, 22)],
            gpk: Gpk::of(
                &crate::common::xr::NONCE,
                &group.public,
                crate::common::EPOCH,
            ),
            group,
            members,
        }
    }

    fn gamma(&self) -> Scalar {
        scalar(self.group.issuer.to_bytes().as_slice())
    }

    /// What the register and the lists have of a machine.
    fn row(&self, machine: usize) -> Knowledge {
        let Member { a, c, x, .. } = &self.members[machine];
        let b = self.members[machine].base();
        Knowledge {
            points: vec![*a, *c, b, b - *a],
            scalars: vec![*x],
        }
    }

    /// Everything in the key file of a machine.
    fn key(&self, machine: usize) -> Knowledge {
        let mut known = self.row(machine);
        let y = scalar(&self.members[machine].key.to_bytes()[80..]);
        known.scalars.push(y);
        known
    }

    /// How many relations hold between what `known` makes of these signatures.
    fn relations(&self, signatures: &[&Signature], known: &Knowledge) -> usize {
        let Gpk {
            u, h, h_w, h0, g1, ..
        } = self.gpk;
        let public = [u, h, h_w, h0, g1, self.gpk.base()];
        let given: Vec<G1> = public.into_iter().chain(known.points.clone()).collect();
        let mut exponents = known.scalars.clone();
        exponents.push(Scalar::from_u128(1));
        let mut derived = vec![];
        for signature in signatures {
            let (points, scalars) = taken_apart(signature, &given, known);
            derived.extend(points);
            exponents.extend(scalars);
        }
        // Two signatures beside each other: T2 / T2' would be (T1 / T1')^xi.
        if let [one, two] = signatures {
            derived.extend([*one.t1() - *two.t1(), *one.t2() - *two.t2()]);
        }
        coincidences(&derived, &given, &exponents)
    }
}

/// The points of a signature, alone and with each that is known taken out of T2; its responses, and
/// what they say of the nonces to whoever knows what was hidden.
fn taken_apart(signature: &Signature, given: &[G1], known: &Knowledge) -> (Vec<G1>, Vec<Scalar>) {
    let bytes = signature.to_bytes();
    let [t1, t2] = [*signature.t1(), *signature.t2()];
    let r3 = G1::from_bytes(&bytes[96..144]).unwrap();
    let c = short(&bytes[144..160].try_into().unwrap());
    let s = [160, 192, 224, 256].map(|at| scalar(&bytes[at..at + 32]));
    let mut points = vec![t1, t2, r3];
    points.extend(given.iter().map(|point| t2 - *point));
    let nonces = s
        .iter()
        .flat_map(|s| known.scalars.iter().map(move |k| *s - c * *k));
    let scalars = [c].into_iter().chain(s).chain(nonces).collect();
    (points, scalars)
}

/// Pairs of different points, the first of them derived, of which one is a power of the other.
fn coincidences(derived: &[G1], given: &[G1], exponents: &[Scalar]) -> usize {
    let at = |i: usize| derived.iter().chain(given).nth(i).copied().unwrap();
    let all = derived.len() + given.len();
    let names: HashMap<[u8; 48], usize> = (0..all).map(|i| (at(i).to_bytes(), i)).collect();
    let mut found = 0;
    for i in 0..all {
        for exponent in exponents {
            let power = at(i).mul(exponent).to_bytes();
            let other = names.get(&power).copied();
            found += usize::from(other.is_some_and(|j| j != i && i.min(j) < derived.len()));
        }
    }
    found
}

/// Nothing holds, whoever signed; with xi it does, for the machine that signed alone.
fn tells_nothing(fixture: &Fixture, known: [Knowledge; 3]) {
    let [one, again, other] = &fixture.signatures;
    for about in &known {
        for signature in [one, other] {
            assert_eq!(fixture.relations(&[signature], about), 0);
        }
    }
    for pair in [[one, again], [one, other]] {
        assert_eq!(fixture.relations(&pair, &known[0]), 0);
    }
    let opened = known.map(|mut about| {
        about.scalars.push(fixture.group.xi);
        [one, other].map(|signature| fixture.relations(&[signature], &about) > 0)
    });
    let signed = [[true, false], [false, true], [false, false]];
    assert_eq!(opened, signed, "the control: xi opens");
}

#[test]
fn a_stolen_key_links_nothing() {
    let fixture = Fixture::new(1);
    tells_nothing(&fixture, [0, 1, 2].map(|machine| fixture.key(machine)));
}

/// x* and V' of the step that ends the machine, beside its row, C and the lists of a rebase.
#[test]
fn a_revocation_opens_nothing() {
    let fixture = Fixture::new(2);
    let revoked = [0, 1, 2].map(|machine| {
        let known = fixture.row(machine);
        let (issuer, x) = (&fixture.group.issuer, known.scalars[0]);
        let step = issuer.revoke(&fixture.group.public, &x).unwrap();
        // V' is the witness that the machine signed with: with A of its row it is B.
        assert_eq!(*step.v(), known.points[3]);
        known
    });
    tells_nothing(&fixture, revoked);
}

/// gamma, and all that the register has.
#[test]
fn the_issuer_opens_nothing() {
    let fixture = Fixture::new(3);
    let gamma = fixture.gamma();
    let known = [0, 1, 2].map(|machine| {
        let mut known = fixture.row(machine);
        let sum = gamma + known.scalars[0];
        known.scalars.extend([gamma, sum, sum.invert().unwrap()]);
        known
    });
    tells_nothing(&fixture, known);
}
