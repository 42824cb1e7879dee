//! Inverses: one for all lanes and all elements (Montgomery's trick).
#![allow(unsafe_code, reason = "calls of blst")]

use super::fp::Fp;
use super::kernel::{Kernel, LANES};
use alloc::vec::Vec;
use blst::{blst_fp, blst_fp_inverse, blst_fp_mul};

/// Inverts each element in place; zero stays zero, and spoils nothing. `products` is memory to work
/// in. Takes constant time.
pub fn invert_all<K: Kernel>(values: &mut [Fp<K>], products: &mut Vec<Fp<K>>) {
    let Some(first) = values.first() else {
        return;
    };
    let (zero, one) = (Fp::zero(first.kernel()), Fp::one(first.kernel()));
    let factor = |value: &Fp<K>| value.select(value.zeros(), &one);
    products.clear();
    let mut product = one;
    for value in values.iter() {
        products.push(product);
        product = product.mul(&factor(value));
    }
    let mut inverse = invert_nonzero(&product);
    for (value, before) in values.iter_mut().zip(products.iter()).rev() {
        let own = inverse.mul(before);
        let next = inverse.mul(&factor(value));
        *value = own.select(value.zeros(), &zero);
        inverse = next;
    }
}

/// Returns the inverse in each lane, with one inversion; all are useless if one lane is zero.
/// Outside of lanes, one inversion takes a tenth of raising all of them to p - 2. Takes constant time.
pub fn invert_nonzero<K: Kernel>(value: &Fp<K>) -> Fp<K> {
    let values = value.to_blst().map(|l| blst_fp { l });
    let mut products = values;
    for lane in 1..LANES {
        products[lane] = mul(&products[lane - 1], &values[lane]);
    }
    let mut inverse = blst_fp::default();
    // SAFETY: both pointers are to live values.
    unsafe { blst_fp_inverse(&mut inverse, &products[LANES - 1]) };
    let mut inverses = values;
    for lane in (1..LANES).rev() {
        inverses[lane] = mul(&inverse, &products[lane - 1]);
        inverse = mul(&inverse, &values[lane]);
    }
    inverses[0] = inverse;
    Fp::from_blst(
        value.kernel(),
        core::array::from_fn(|lane| &inverses[lane].l),
    )
}

fn mul(a: &blst_fp, b: &blst_fp) -> blst_fp {
    let mut product = blst_fp::default();
    // SAFETY: all pointers are to live values.
    unsafe { blst_fp_mul(&mut product, a, b) };
    product
}
