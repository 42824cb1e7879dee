//! Which nonces were decrypted: `spec/tunnel.md` section 4.1.

use crate::keys::Nonce;
use crate::limits::NONCES;
use crate::reason::Reason;

const WORDS: usize = NONCES / 64;
// Else the ring would be shorter than the window, and a nonce could be accepted twice.
const _: () = assert!(NONCES.is_multiple_of(64));

/// Which of the last [`NONCES`] of one key and direction were decrypted. The bits are a ring: t is at t modulo
/// their number.
#[derive(Clone, Debug, Default)]
pub(super) struct NonceMemory {
    highest: Option<u64>,
    seen: [u64; WORDS],
}

impl NonceMemory {
    /// Whether a packet with this nonce may be decrypted.
    ///
    /// # Errors
    /// `duplicate-nonce`, `old-nonce`.
    pub(super) fn check(&self, nonce: Nonce) -> Result<(), Reason> {
        let t = nonce.t();
        match self.highest {
            Some(highest) if t <= highest => {
                if highest - t >= NONCES as u64 {
                    Err(Reason::OldNonce)
                } else if self.seen[word(t)] & bit(t) != 0 {
                    Err(Reason::DuplicateNonce)
                } else {
                    Ok(())
                }
            }
            _ => Ok(()),
        }
    }

    /// Writes down that the nonce was decrypted. Whether it is above all before it.
    pub(super) fn note(&mut self, nonce: Nonce) -> bool {
        let t = nonce.t();
        let is_highest = self.highest.is_none_or(|highest| t > highest);
        if is_highest {
            self.forget_up_to(t);
            self.highest = Some(t);
        }
        self.seen[word(t)] |= bit(t);
        is_highest
    }

    /// What lies between the highest and `t` was not decrypted; its bits are of older ones.
    fn forget_up_to(&mut self, t: u64) {
        let Some(highest) = self.highest else {
            return;
        };
        if t - highest >= NONCES as u64 {
            self.seen = [0; WORDS];
            return;
        }
        for between in highest + 1..=t {
            self.seen[word(between)] &= !bit(between);
        }
    }
}

const fn word(t: u64) -> usize {
    (t as usize / 64) % WORDS
}

const fn bit(t: u64) -> u64 {
    1 << (t % 64)
}
