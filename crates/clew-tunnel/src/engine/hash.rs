//! Tables over what others choose: keyed, so that nobody can fill one place of them.

use core::fmt;
use core::hash::{BuildHasher, Hasher as _};

use siphasher::sip::SipHasher13;

/// A secret of this run.
#[derive(Clone, Copy)]
pub(crate) struct Hasher([u8; 16]);

impl Hasher {
    /// A hasher by 16 random bytes.
    pub(crate) const fn new(random: [u8; 16]) -> Self {
        Self(random)
    }

    /// 8 bytes for these.
    pub(crate) fn of(&self, bytes: &[u8]) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        hasher.write(bytes);
        hasher.finish()
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hasher(..)")
    }
}

/// For tables whose keys are such hashes already.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hashed;

impl BuildHasher for Hashed {
    type Hasher = Same;

    fn build_hasher(&self) -> Same {
        Same(0)
    }
}

/// Gives back the number that it is given.
#[derive(Debug)]
pub(super) struct Same(u64);

impl core::hash::Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0 << 8 | u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl BuildHasher for Hasher {
    type Hasher = SipHasher13;

    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_key(&self.0)
    }
}
