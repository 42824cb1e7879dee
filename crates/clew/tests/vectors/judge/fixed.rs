//! Randomness that a vector gives: scalars, drawn one after the other.

use std::convert::Infallible;

use clew_group::curve::Scalar;
use rand_chacha::rand_core::{TryCryptoRng, TryRng};

/// Whoever draws a uniform scalar takes 64 bytes, little-endian: those of the next scalar.
pub struct Fixed(Vec<[u8; 64]>);

impl Fixed {
    pub fn new(scalars: impl IntoIterator<Item = Scalar>) -> Self {
        let wide = |scalar: Scalar| {
            let mut wide = [0; 64];
            wide[..32].copy_from_slice(&scalar.to_bytes());
            wide[..32].reverse();
            wide
        };
        let mut all: Vec<_> = scalars.into_iter().map(wide).collect();
        all.reverse();
        Self(all)
    }
}

impl TryRng for Fixed {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("only scalars are drawn")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        unreachable!("only scalars are drawn")
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        out.copy_from_slice(&self.0.pop().expect("the vector gives all that is drawn"));
        Ok(())
    }
}

impl TryCryptoRng for Fixed {}
