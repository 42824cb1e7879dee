//! The system's randomness, drawn in pieces.

use std::convert::Infallible;

use getrandom::SysRng;
use rand_core::{TryCryptoRng, TryRng};
use zeroize::Zeroize as _;

/// Bytes of a piece: a call of the system for some hundred keys.
const PIECE: usize = 4_096;

/// Random bytes of the system. What was given out is erased here.
pub struct Random {
    piece: Box<[u8; PIECE]>,
    used: usize,
}

impl Default for Random {
    /// Draws at the first use.
    fn default() -> Self {
        Self {
            piece: Box::new([0; PIECE]),
            used: PIECE,
        }
    }
}

impl Random {
    fn fill(&mut self, out: &mut [u8]) {
        let mut out = out;
        while !out.is_empty() {
            if self.used == PIECE {
                // Without randomness there is no key: nothing could go on.
                SysRng
                    .try_fill_bytes(&mut self.piece[..])
                    .expect("the system gives random bytes");
                self.used = 0;
            }
            let count = out.len().min(PIECE - self.used);
            let (now, later) = out.split_at_mut(count);
            let piece = &mut self.piece[self.used..self.used + count];
            now.copy_from_slice(piece);
            piece.zeroize();
            self.used += count;
            out = later;
        }
    }
}

impl Drop for Random {
    fn drop(&mut self) {
        self.piece.zeroize();
    }
}

impl TryRng for Random {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.fill(out);
        Ok(())
    }
}

impl TryCryptoRng for Random {}
