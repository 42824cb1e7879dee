//! Randomness that a vector gives: bytes, drawn one after the other.

use std::collections::VecDeque;
use std::convert::Infallible;

use rand_chacha::rand_core::{TryCryptoRng, TryRng};

pub struct Drawn(VecDeque<u8>);

impl Drawn {
    pub fn new(parts: &[&[u8]]) -> Self {
        Self(parts.concat().into())
    }
}

impl TryRng for Drawn {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        unreachable!("nobody draws so much")
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        let next = |byte: &mut u8| *byte = self.0.pop_front().expect("all that is drawn is given");
        out.iter_mut().for_each(next);
        Ok(())
    }
}

impl TryCryptoRng for Drawn {}
