//! Bounds of values, which the tests' builds keep and check.
//!
//! A bound follows from the formula alone, never from the numbers: one run of a formula checks it
//! for all inputs. Release builds keep nothing.

/// Units of a bound in p.
#[cfg(debug_assertions)]
const UNITS: u64 = 128;

/// An element's value is below so many p. Counted in p / 128.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    #[cfg(debug_assertions)]
    units: u64,
}

impl Bound {
    /// What every product is below: 1 + 1/128, since its factors' bounds multiply to 2^28 at most.
    pub const PRODUCT: Self = Self {
        #[cfg(debug_assertions)]
        units: UNITS + 1,
    };

    /// Returns the bound of `multiple * p`.
    #[inline(always)]
    pub const fn new(multiple: u64) -> Self {
        #[cfg(not(debug_assertions))]
        let _ = multiple;
        Self {
            #[cfg(debug_assertions)]
            units: multiple * UNITS,
        }
    }

    /// Returns the bound of a sum.
    #[inline(always)]
    pub fn plus(self, other: Self) -> Self {
        #[cfg(not(debug_assertions))]
        let _ = other;
        Self {
            #[cfg(debug_assertions)]
            units: self.units + other.units,
        }
    }

    /// Returns the bound of the value `factor` times.
    #[inline(always)]
    pub fn times(self, factor: u64) -> Self {
        #[cfg(not(debug_assertions))]
        let _ = factor;
        Self {
            #[cfg(debug_assertions)]
            units: self.units * factor,
        }
    }

    /// Returns the bound of both.
    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        #[cfg(not(debug_assertions))]
        let _ = other;
        Self {
            #[cfg(debug_assertions)]
            units: self.units.max(other.units),
        }
    }

    /// Fails in a debug build unless this is at most `limit`.
    #[inline(always)]
    #[track_caller]
    pub fn check(self, limit: Self) {
        #[cfg(not(debug_assertions))]
        let _ = limit;
        #[cfg(debug_assertions)]
        assert!(
            self.units <= limit.units,
            "a value below {}/{UNITS} p where {}/{UNITS} p is the limit",
            self.units,
            limit.units
        );
    }

    /// Fails in a debug build unless the bounds of the products `a[i] * b[i]` add up to 2^28 p^2 at
    /// most.
    #[inline(always)]
    #[track_caller]
    pub fn check_products<const N: usize>(a: [Self; N], b: [Self; N]) {
        #[cfg(not(debug_assertions))]
        let _ = (a, b);
        #[cfg(debug_assertions)]
        {
            let products = a.iter().zip(&b).map(|(a, b)| a.units * b.units);
            let sum: u64 = products.sum();
            assert!(
                sum <= UNITS * UNITS << 28,
                "products below {sum}/{} p^2",
                UNITS * UNITS
            );
        }
    }
}
