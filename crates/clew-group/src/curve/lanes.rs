//! Eight points at once, where the machine has the instructions. What is not named `secret` is for public
//! values only.

use super::affine::{Affine, to_affine};
use super::glv::Halves;
use super::{G1, G1_BYTES, Scalar};
use crate::DecodeError;
use alloc::vec::Vec;
use clew_simd::Backend;
use clew_simd::bls::{
    self, Comb, Engine, LANES, Long, Refused, SUMS, SecretSum, SecretTable, Short, Task, WINDOWS,
};
use core::array;
use zeroize::Zeroizing;

/// Parts of a sum: part i has the terms i, i + 8, and so on.
pub(crate) const PART_COUNT: usize = LANES;

/// A machine's vectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vectors(Engine);

impl Vectors {
    /// Returns those of the backend. Returns `None` if it has none for this curve: then `blst` computes one
    /// by one.
    pub(crate) fn of(backend: Backend) -> Option<Self> {
        Engine::new(backend).map(Self)
    }

    /// Decodes points that are not the identity, checking curve and subgroup.
    pub(crate) fn decode(self, encoded: &[&[u8; G1_BYTES]]) -> Vec<Result<G1, DecodeError>> {
        let decoded = self.0.decode(encoded).into_iter();
        let points = decoded.map(|point| match point {
            Ok(affine) => Ok(G1::from_affine(&affine)),
            Err(Refused::Point) => Err(DecodeError::Point),
            Err(Refused::Identity) => Err(DecodeError::Identity),
            Err(Refused::Subgroup) => Err(DecodeError::Subgroup),
        });
        points.collect()
    }

    /// Returns each product encoded; nothing for the identity. Takes time that depends on its inputs.
    pub(crate) fn products_vartime(
        self,
        base: &BaseTable,
        products: &[Product<'_>],
    ) -> Vec<Option<[u8; G1_BYTES]>> {
        let points: Vec<G1> = products.iter().map(|product| *product.point).collect();
        let pairs = affine(&points).into_iter().zip(products);
        let tasks = pairs.map(|(point, product)| Task {
            of_base: *product.of_base.to_le_bytes(),
            point,
            power: short(&product.power),
        });
        self.0.products(&base.0, &tasks.collect::<Vec<_>>())
    }

    /// Returns two sums in eight parts each. Takes time that depends on its inputs.
    pub(crate) fn two_sums_vartime(self, terms: &Terms) -> [[G1; PART_COUNT]; SUMS] {
        let sums = self.0.two_sums(&terms.long(), &terms.short());
        sums.map(|parts| parts.map(|part| G1::from_affine(&part)))
    }
}

/// The multiples of a base for secret scalars: 176 kB.
#[derive(Debug)]
pub(crate) struct SecretBase(SecretTable);

impl SecretBase {
    /// Makes the table of a point that is not the identity.
    pub(crate) fn new(vectors: Vectors, base: &G1) -> Self {
        let next = |point: &G1| Some((0..6).fold(*point, |p, _| p.double()));
        let bases = core::iter::successors(Some(*base), next).take(WINDOWS);
        let bases = to_affine(&bases.collect::<Vec<_>>());
        Self(vectors.0.secret_table(&array::from_fn(|i| bases[i])))
    }
}

/// A scalar of each lane, as bytes. Wiped when dropped.
pub(crate) struct SecretScalars(Zeroizing<bls::Scalars>);

impl SecretScalars {
    /// Takes the scalar of each lane.
    pub(crate) fn of(scalar: impl Fn(usize) -> Scalar) -> Self {
        let mut bytes = Zeroizing::new([[0; 32]; LANES]);
        for (lane, bytes) in bytes.iter_mut().enumerate() {
            *bytes = *scalar(lane).to_le_bytes();
        }
        Self(bytes)
    }
}

/// A sum of products of bases, in each lane.
pub(crate) struct Sum<'a> {
    /// A point to begin with.
    pub(crate) start: Option<&'a G1>,
    /// Bases with their scalars.
    pub(crate) products: &'a [(&'a SecretBase, &'a SecretScalars)],
}

impl Vectors {
    /// Returns each sum in every lane, with its encoding. Takes constant time.
    pub(crate) fn secret_sums<const N: usize>(
        self,
        sums: [Sum<'_>; N],
    ) -> [[(G1, [u8; G1_BYTES]); N]; LANES] {
        let starts = sums
            .each_ref()
            .map(|sum| sum.start.map(|start| to_affine(&[*start])[0]));
        let products = sums.each_ref().map(|sum| {
            let products = sum.products.iter();
            let products = products.map(|(base, scalars)| (&base.0, &*scalars.0));
            products.collect::<Vec<_>>()
        });
        let sums: [SecretSum<'_>; N] = array::from_fn(|i| SecretSum {
            start: starts[i].as_ref(),
            products: &products[i],
        });
        let summed = self.0.secret_sums(&sums);
        array::from_fn(|lane| {
            array::from_fn(|i| {
                let point = G1::from_affine(&summed[i].points[lane]);
                let encoded = match point.is_identity() {
                    true => point.to_bytes(),
                    false => summed[i].encoded[lane],
                };
                (point, encoded)
            })
        })
    }
}

/// The multiples of a base that is used often: 98 kB.
#[derive(Debug)]
pub(crate) struct BaseTable(Comb);

impl BaseTable {
    /// Makes the table of a point that is not the identity.
    pub(crate) fn new(vectors: Vectors, base: &G1) -> Self {
        let shifted = |point: &G1| Some((0..64).fold(*point, |p, _| p.double()));
        let bases = core::iter::successors(Some(*base), shifted).take(4);
        let bases = to_affine(&bases.collect::<Vec<_>>());
        let bases = core::array::from_fn(|i| bases[i]);
        Self(vectors.0.comb(&bases))
    }
}

/// `of_base * base + power * point`, for a power of [`Scalar::from_halves`], or minus one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product<'a> {
    pub(crate) of_base: Scalar,
    pub(crate) point: &'a G1,
    pub(crate) power: Scalar,
}

/// Points with their powers in two sums, row by row: a row's number says in which part it is.
#[derive(Default)]
pub(crate) struct Terms {
    long: Vec<(G1, [Scalar; SUMS])>,
    more: Vec<(G1, Scalar)>,
    short: Vec<(G1, Scalar)>,
    more_short: Vec<(G1, Scalar)>,
}

impl Terms {
    /// Adds a row: a point with a power in each sum, and one with a short power in the first.
    pub(crate) fn push(&mut self, long: (&G1, [Scalar; SUMS]), short: (&G1, Scalar)) {
        self.long.push((*long.0, long.1));
        self.short.push((*short.0, short.1));
    }

    /// Adds to the last row two more points of the first sum: one with any power, one with a short one.
    pub(crate) fn push_more(&mut self, long: (&G1, Scalar), short: (&G1, Scalar)) {
        let rows = self.long.len().saturating_sub(1);
        let none = (G1::default(), Scalar::default());
        self.more.resize(rows, none);
        self.more_short.resize(rows, none);
        self.more.push((*long.0, long.1));
        self.more_short.push((*short.0, short.1));
    }

    fn long(&self) -> Vec<Long> {
        let own = self.long.iter().copied();
        let more = self.more.iter().map(|(p, k)| (*p, [*k, Scalar::default()]));
        let none = (G1::default(), [Scalar::default(); SUMS]);
        let (points, powers) = in_line(own, more, none);
        let terms = affine(&points).into_iter().zip(powers);
        let terms = terms.map(|(point, powers)| Long {
            point,
            powers: powers.map(|power| long(&power)),
        });
        terms.collect()
    }

    fn short(&self) -> Vec<Short> {
        let none = (G1::default(), Scalar::default());
        let (own, more) = (self.short.iter().copied(), self.more_short.iter().copied());
        let (points, powers) = in_line(own, more, none);
        let terms = affine(&points).into_iter().zip(powers);
        let terms = terms.map(|(point, power)| Short {
            point,
            power: short(&power),
        });
        terms.collect()
    }
}

/// One list behind the other, so that a row's two terms have numbers of the same part.
fn in_line<T: Copy>(
    first: impl ExactSizeIterator<Item = (G1, T)>,
    second: impl ExactSizeIterator<Item = (G1, T)>,
    none: (G1, T),
) -> (Vec<G1>, Vec<T>) {
    let gap = match second.len() {
        0 => 0,
        _ => first.len().next_multiple_of(PART_COUNT) - first.len(),
    };
    first
        .chain(core::iter::repeat_n(none, gap))
        .chain(second)
        .unzip()
}

fn long(power: &Scalar) -> bls::Halves<u128> {
    let Halves {
        negative,
        low,
        high,
    } = Halves::of_vartime(power);
    bls::Halves {
        negative,
        halves: [low, high],
    }
}

/// Of a power of [`Scalar::from_halves`], or minus one: halves of 64 bits. The other sign has longer ones,
/// or both would add up to a multiple of r that is below 2^193.
fn short(power: &Scalar) -> bls::Halves<u64> {
    let bls::Halves { negative, halves } = long(power);
    let halves = halves.map(|half| u64::try_from(half).expect("a short power"));
    bls::Halves { negative, halves }
}

/// Points in affine form. Those that were decoded are in it.
fn affine(points: &[G1]) -> Vec<Affine> {
    let one = G1::generator().0.z.l;
    if points.iter().all(|point| point.0.z.l == one) {
        let plain = |point: &G1| Affine {
            x: point.0.x,
            y: point.0.y,
        };
        return points.iter().map(plain).collect();
    }
    to_affine(points)
}
