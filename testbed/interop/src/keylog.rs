//! Randomness for our engines, written down. The adapter stands between two programs whose keys are end to
//! end; the secrets of our own side are how it can read along, and the peer needs no change.

use std::cell::RefCell;
use std::convert::Infallible;
use std::fs::File;
use std::io::Read as _;
use std::rc::Rc;

use clew_tunnel::keys;
use clew_tunnel::x25519::{Public, Secret};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng as _, SeedableRng as _, TryCryptoRng, TryRng};

/// All 32 random bytes that an engine drew: its secret keys are among them.
#[derive(Clone, Default)]
pub struct KeyLog(Rc<RefCell<Vec<[u8; 32]>>>);

impl KeyLog {
    /// The secret of a public key, if the engine drew it.
    pub fn secret(&self, key: &Public) -> Option<Secret> {
        let log = self.0.borrow();
        let mut all = log.iter().rev().map(|bytes| Secret::from_bytes(*bytes));
        all.find(|secret| keys::public(secret) == *key)
    }
}

/// A generator that writes its 32-byte outputs down.
pub struct Recorder {
    inner: ChaCha20Rng,
    log: KeyLog,
}

impl Recorder {
    pub fn new(log: KeyLog) -> Result<Self, String> {
        Ok(Self {
            inner: ChaCha20Rng::from_seed(system_random()?),
            log,
        })
    }
}

impl TryRng for Recorder {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.inner.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.inner.next_u64())
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.inner.fill_bytes(out);
        if let Ok(bytes) = <[u8; 32]>::try_from(&*out) {
            self.log.0.borrow_mut().push(bytes);
        }
        Ok(())
    }
}

impl TryCryptoRng for Recorder {}

/// Random bytes of the system.
pub fn system_random<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    let mut file = File::open("/dev/urandom").map_err(|e| format!("/dev/urandom: {e}"))?;
    file.read_exact(&mut bytes)
        .map_err(|e| format!("/dev/urandom: {e}"))?;
    Ok(bytes)
}
