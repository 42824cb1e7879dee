//! Vectors of x86-64, by the instructions that they need: what several kernels do with them.

/// An array of vectors, made one by one. `array::from_fn` and `map` are compiled without the features
/// of their callers, and calls of them would go through memory.
macro_rules! vectors {
    ($i:ident => $vector:expr) => {{
        let mut all = [splat(0); _];
        let mut $i = 0;
        while $i < all.len() {
            all[$i] = $vector;
            $i += 1;
        }
        all
    }};
}

pub mod avx2;
pub mod avx512;
pub mod wide;

pub(crate) use vectors;
