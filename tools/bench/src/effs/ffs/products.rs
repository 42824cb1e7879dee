//! Products of those factors that bits name, with or without precomputation (3.2).

use crate::effs::bn::{Modulus, Num};

/// The group's part of a row of bits, the first bit the most significant; groups are of 1, 4 or 8.
pub fn index(bits: &[u8], width: usize, group: usize) -> usize {
    let first = group * width;
    let shift = 8 - width - first % 8;
    usize::from(bits[first / 8] >> shift) & ((1 << width) - 1)
}

/// All products of subsets of each group; the place is the group's bits.
pub fn subsets<T, U>(
    factors: &[T],
    width: usize,
    empty: impl Fn() -> U,
    times: impl Fn(&U, &T) -> U,
) -> Vec<Vec<U>> {
    let of = |group: &[T]| {
        let mut products = vec![empty()];
        for place in 1..1_usize << group.len() {
            let last = place.trailing_zeros() as usize;
            let others = &products[place & (place - 1)];
            products.push(times(others, &group[group.len() - 1 - last]));
        }
        products
    };
    factors.chunks(width).map(of).collect()
}

/// Products of residues, ready to multiply by: times R.
pub struct Table {
    width: usize,
    groups: Vec<Vec<Num>>,
}

impl Table {
    pub fn new(modulus: &Modulus, factors: &[Num], width: usize) -> Self {
        let one = || modulus.entered(&Num::from_word(1));
        let times = |product: &Num, factor: &Num| {
            let mut product = product.clone();
            modulus.multiply(&mut product, &modulus.entered(factor));
            product
        };
        Self {
            width,
            groups: subsets(factors, width, one, times),
        }
    }

    /// Multiplies a residue by the factors that these bits name: one product for a group that has any.
    pub fn multiply(&self, modulus: &Modulus, residue: &mut Num, bits: &[u8]) {
        for (group, products) in self.groups.iter().enumerate() {
            match index(bits, self.width, group) {
                0 => {}
                place => modulus.multiply(residue, &products[place]),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_name_factors_from_the_first_on() {
        let factors = [2, 3, 5, 7, 11, 13, 17, 19_u64];
        let bits = [0b1010_0001];
        for width in [1, 4, 8] {
            let groups = subsets(&factors, width, || 1, |product, factor| product * factor);
            let chosen = groups.iter().enumerate();
            let product: u64 = chosen.map(|(g, all)| all[index(&bits, width, g)]).product();
            assert_eq!(product, 2 * 5 * 19, "width {width}");
        }
    }
}
