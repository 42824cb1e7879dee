//! A random number generator that says what the test wrote down, and counts what was asked for.

use core::convert::Infallible;
use rand_chacha::rand_core::{TryCryptoRng, TryRng};

pub struct Script {
    pub blocks: Vec<[u8; 16]>,
    pub asked: Vec<usize>,
}

impl Script {
    pub fn new(blocks: &[[u8; 16]]) -> Self {
        Self {
            blocks: blocks.to_vec(),
            asked: vec![],
        }
    }
}

impl TryRng for Script {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.asked.push(4);
        Ok(0)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.asked.push(8);
        Ok(0)
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        let block = self.blocks[self.asked.len()];
        self.asked.push(out.len());
        let n = out.len().min(16);
        out[..n].copy_from_slice(&block[..n]);
        Ok(())
    }
}

impl TryCryptoRng for Script {}
