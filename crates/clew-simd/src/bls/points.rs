//! Points on their way from blst to lanes and back.

use super::curve::Affine;
use super::fp::Fp;
use super::kernel::{Kernel, LANES, Lanes};
use super::limbs::{Row, WORDS};
use alloc::vec::Vec;
use blst::{blst_fp, blst_p1_affine};

/// (0, 2), of order 3: a point for lanes that have none, where the list has no better one.
const ANY: blst_p1_affine = blst_p1_affine {
    x: blst_fp { l: [0; WORDS] },
    y: blst_fp {
        l: Row::power_of_two(385).to_words(),
    },
};

/// Whether blst writes the identity so.
pub fn is_identity(point: &blst_p1_affine) -> bool {
    point.x.l == [0; WORDS] && point.y.l == [0; WORDS]
}

/// Returns the points eight by eight, finite in all lanes: a lane without a point, or with the identity,
/// gets one of the others, for use with zero powers.
pub fn in_lanes<'a, K: Kernel>(
    kernel: K,
    points: impl ExactSizeIterator<Item = &'a blst_p1_affine> + Clone,
) -> Vec<Affine<K>> {
    let any = points
        .clone()
        .find(|point| !is_identity(point))
        .unwrap_or(&ANY);
    let finite = points.map(|point| if is_identity(point) { any } else { point });
    let finite: Vec<&blst_p1_affine> = finite.collect();
    let vectors = finite.chunks(LANES).map(|few| {
        let eight: [_; LANES] = core::array::from_fn(|lane| *few.get(lane).unwrap_or(&any));
        Affine {
            x: Fp::from_blst(kernel, eight.map(|point| &point.x.l)),
            y: Fp::from_blst(kernel, eight.map(|point| &point.y.l)),
        }
    });
    vectors.collect()
}

/// Returns the points of a vector; those in `identity` become (0, 0).
pub fn to_blst<K: Kernel>(points: &Affine<K>, identity: Lanes) -> [blst_p1_affine; LANES] {
    let (x, y) = (points.x.to_blst(), points.y.to_blst());
    core::array::from_fn(|lane| match identity >> lane & 1 {
        0 => blst_p1_affine {
            x: blst_fp { l: x[lane] },
            y: blst_fp { l: y[lane] },
        },
        _ => blst_p1_affine::default(),
    })
}
