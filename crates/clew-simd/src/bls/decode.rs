//! Compressed points: 48 bytes, big-endian x with three flags in front.

use super::curve::{Affine, BETA_SQUARED, FOUR, Jacobian};
use super::fp::{BYTES, Fp};
use super::kernel::{Kernel, LANES, Lanes};
use super::power::ROOT;

/// A compressed point.
pub type Encoded = [u8; BYTES];

/// Why an encoding is not one of a point of the group, other than the identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Flags, x of p or more, or x of no point of the curve.
    Point,
    /// The identity.
    Identity,
    /// A point of the curve, but not of the subgroup.
    Subgroup,
}

const COMPRESSED: u8 = 0x80;
const INFINITE: u8 = 0x40;
const LARGER: u8 = 0x20;
const FLAGS: u8 = COMPRESSED | INFINITE | LARGER;

/// What each lane of N vectors is.
pub type Verdicts<const N: usize> = [[Result<(), Refused>; LANES]; N];

/// Decodes, checking curve and subgroup. A refused lane holds an arbitrary value, and spoils no other.
#[inline(never)]
pub fn decode<K: Kernel, const N: usize>(
    kernel: K,
    encoded: [[&Encoded; LANES]; N],
) -> ([Affine<K>; N], Verdicts<N>) {
    let (points, mut verdicts) = uncompress(kernel, encoded);
    let members = in_subgroup(&points);
    for (verdicts, members) in verdicts.iter_mut().zip(members) {
        for (lane, verdict) in verdicts.iter_mut().enumerate() {
            if verdict.is_ok() && members >> lane & 1 == 0 {
                *verdict = Err(Refused::Subgroup);
            }
        }
    }
    (points, verdicts)
}

/// Decodes points of the curve, N vectors in step.
fn uncompress<K: Kernel, const N: usize>(
    kernel: K,
    encoded: [[&Encoded; LANES]; N],
) -> ([Affine<K>; N], Verdicts<N>) {
    let mut verdicts = encoded.map(|eight| eight.map(check_flags));
    let read = encoded.map(|eight| {
        let bytes = eight.map(|bytes| without_flags(bytes));
        Fp::from_bytes(kernel, bytes.each_ref())
    });
    let squares = read.map(|(x, _)| x.square().mul(&x).add(&Fp::constant(kernel, &FOUR)));
    let roots = ROOT.of(&squares);
    let points = core::array::from_fn(|n| {
        let (x, too_large) = read[n];
        let y = roots[n];
        let is_root = y.square().sub::<3>(&squares[n]).zeros();
        for (lane, verdict) in verdicts[n].iter_mut().enumerate() {
            if verdict.is_ok() && (is_root & !too_large) >> lane & 1 == 0 {
                *verdict = Err(Refused::Point);
            }
        }
        // y = 0 is not on the curve, so y and -y differ.
        let wrong = y.plain().upper_half() ^ larger(&encoded[n]);
        Affine {
            x,
            y: y.select(wrong, &y.neg::<2>().reduced()),
        }
    });
    (points, verdicts)
}

fn check_flags(bytes: &Encoded) -> Result<(), Refused> {
    match bytes[0] & FLAGS {
        COMPRESSED => Ok(()),
        flags if flags == COMPRESSED | LARGER => Ok(()),
        flags if flags == COMPRESSED | INFINITE && without_flags(bytes) == [0; BYTES] => {
            Err(Refused::Identity)
        }
        _ => Err(Refused::Point),
    }
}

fn without_flags(bytes: &Encoded) -> Encoded {
    let mut bytes = *bytes;
    bytes[0] &= !FLAGS;
    bytes
}

fn larger(eight: &[&Encoded; LANES]) -> Lanes {
    let bits = eight.iter().enumerate();
    bits.fold(0, |lanes, (lane, bytes)| {
        lanes | Lanes::from(bytes[0] & LARGER != 0) << lane
    })
}

/// -z.
const Z: u64 = 0xd201_0000_0001_0000;

/// Returns the lanes whose point lies in the subgroup of order r: z^2 P = -(BETA^2 x, y) (Scott, *A
/// note on group membership tests*, eprint 2021/1130). The points are on the curve.
///
/// Incomplete additions are enough. A point of order r meets none of their exceptions: the chain
/// k -> 2k, k + 1 of z, below r, never adds equal or opposite points. For any other point, an exception
/// leaves Z = 0, which stays and is refused; without one, the equation decides.
#[inline(never)]
fn in_subgroup<K: Kernel, const N: usize>(points: &[Affine<K>; N]) -> [Lanes; N] {
    let kernel = points[0].x.kernel();
    let mut sums = points.map(|p| Jacobian {
        x: p.x,
        y: p.y,
        z: Fp::one(kernel),
    });
    for bit in (0..63).rev() {
        for (sum, point) in sums.iter_mut().zip(points) {
            sum.double();
            if Z >> bit & 1 == 1 {
                sum.add_affine(point);
            }
        }
    }
    let bases = sums;
    let squares = bases.map(|base| base.z.square());
    let cubes: [Fp<K>; N] = core::array::from_fn(|n| squares[n].mul(&bases[n].z));
    for bit in (0..63).rev() {
        for (n, sum) in sums.iter_mut().enumerate() {
            sum.double();
            if Z >> bit & 1 == 1 {
                sum.add(&bases[n], [&squares[n], &cubes[n]]);
            }
        }
    }
    let beta_squared = Fp::constant(kernel, &BETA_SQUARED);
    core::array::from_fn(|n| {
        let (point, sum) = (&points[n], &sums[n]);
        let zz = sum.z.square();
        let x = point.x.mul(&beta_squared).mul(&zz);
        let y = point.y.mul(&zz.mul(&sum.z));
        let same_x = x.sub::<7>(&sum.x).zeros();
        let opposite_y = y.add(&sum.y).zeros();
        same_x & opposite_y & !sum.z.zeros()
    })
}

/// Encodes finite points.
pub fn encode<K: Kernel>(points: &Affine<K>) -> [Encoded; LANES] {
    let larger = points.y.plain().upper_half();
    let mut encoded = points.x.plain().to_bytes();
    for (lane, bytes) in encoded.iter_mut().enumerate() {
        bytes[0] |= COMPRESSED | (larger >> lane & 1) * LARGER;
    }
    encoded
}
