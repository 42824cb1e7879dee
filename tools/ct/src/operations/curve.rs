//! Scalars and points.

use super::{Draws, Operation};
use clew_group::curve::{FixedBase, G1, G2, PreparedG2, Scalar, pairing_product};

/// Products of scalars are too fast for a clock: that many follow each other.
const CHAIN: usize = 64;

pub struct Fixture {
    fixed: FixedBase,
    prepared: [PreparedG2; 2],
}

impl Fixture {
    pub fn new() -> Self {
        let points = [G2::generator(), G2::generator().mul(&Scalar::from_u128(7))];
        Self {
            fixed: FixedBase::new(&G1::generator()),
            prepared: points.map(|point| PreparedG2::new(&point)),
        }
    }
}

pub fn all(f: &Fixture) -> Vec<Operation<'_>> {
    let two = |d: &mut Draws| [d.scalar(), d.scalar()];
    let points = |d: &mut Draws| [(); 2].map(|()| G1::generator().mul(&d.scalar()));
    let [q1, q2] = &f.prepared;
    vec![
        Operation::new("scalar add", two, |[a, b]| a + b),
        Operation::new("scalar sub, neg", two, |[a, b]| -(a - b)),
        Operation::new("scalar mul x 64", two, |[a, b]| {
            (0..CHAIN).fold(a, |a, _| a * b)
        })
        .timed(),
        Operation::new("scalar invert", Draws::scalar, |a| a.invert()).timed(),
        Operation::new("scalar to bytes", Draws::scalar, |a| a.to_bytes()),
        Operation::new("scalar from 64 bytes", seed, |seed| {
            let mut wide = [0; 64];
            wide[..32].copy_from_slice(&seed);
            Scalar::from_wide(&wide)
        }),
        Operation::new("G1 add, sub, double", points, |[p, q]| (p - q).double() + p),
        Operation::new("G1 mul", Draws::scalar, |k| G1::generator().mul(&k)).timed(),
        Operation::new("G1 to bytes", points, |points| G1::to_bytes_many(&points)),
        Operation::new("G2 mul", Draws::scalar, |k| G2::generator().mul(&k)),
        Operation::new("fixed-base mul", Draws::scalar, |k| f.fixed.mul(&k)).timed(),
        Operation::new("fixed-base table", points, |[p, _]| {
            FixedBase::new(&p).mul(&Scalar::from_u128(5))
        }),
        Operation::new("pairings", points, move |[p, q]| {
            pairing_product([(&p, q1), (&q, q2)]).to_bytes()
        }),
    ]
}

fn seed(draws: &mut Draws) -> [u8; 32] {
    draws.scalar().to_bytes()
}
