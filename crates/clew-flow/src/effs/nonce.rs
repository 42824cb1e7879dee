//! Nonces, drawn before there is a message: `spec/effs.md` section 4.

use alloc::vec::Vec;
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, Rng, SeedableRng};
use sha2::{Digest as _, Sha256};
use zeroize::{Zeroize, Zeroizing};

use super::root::{Pair, Roots};
use super::secret::SEED_BYTES;
use clew_simd::mont::{Kernel, Modulus, WORDS_MAX, words};

/// Nonces that a pool has at most; a signature takes one for each row.
pub const POOL_MAX: usize = 64;

/// Nonces that are drawn together when one is needed and there is none.
const STEP: usize = 8;

/// Nonces whose products are under way together.
const FOUR: usize = 4;

/// Words by which a nonce is drawn longer than it is.
const MORE_WORDS: usize = 2;

const DOMAIN: &[u8; 17] = b"clew/effs/v1/pool";

/// Names a boot and a process: what is drawn in one is not used in another. Whoever makes a
/// [`Signer`](super::Signer) says how it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance(pub [u8; 32]);

/// An r, and its square. It is used once: who takes it has it.
pub struct Nonce<H: Kernel> {
    pub r: Pair<H>,
    /// `r^2 mod n`.
    pub x: Zeroizing<[u64; WORDS_MAX]>,
}

impl<H: Kernel> Drop for Nonce<H> {
    fn drop(&mut self) {
        self.r.zeroize();
    }
}

/// Nonces in store.
pub struct Pool<H: Kernel> {
    seed: Zeroizing<[u8; SEED_BYTES]>,
    drawn_in: Option<Instance>,
    /// Pools so far.
    count: u64,
    nonces: Vec<Nonce<H>>,
}

impl<H: Kernel> Pool<H> {
    pub fn new(seed: &[u8; SEED_BYTES]) -> Self {
        Self {
            seed: Zeroizing::new(*seed),
            drawn_in: None,
            count: 0,
            nonces: Vec::with_capacity(POOL_MAX),
        }
    }

    /// Creates an empty pool from the same seed.
    pub fn another(&self) -> Self {
        Self::new(&self.seed)
    }

    /// Takes a nonce that was never given out. Draws more if the pool is empty.
    pub fn take(
        &mut self,
        roots: &Roots<H>,
        instance: Instance,
        rng: &mut dyn CryptoRng,
    ) -> Nonce<H> {
        self.stay_in(instance);
        if self.nonces.is_empty() {
            self.draw(STEP, roots, instance, rng);
        }
        self.nonces.pop().expect("some were drawn")
    }

    /// Draws as many as there is room for.
    pub fn fill(&mut self, roots: &Roots<H>, instance: Instance, rng: &mut dyn CryptoRng) {
        self.stay_in(instance);
        let room = (POOL_MAX - self.nonces.len()) / FOUR * FOUR;
        if room > 0 {
            self.draw(room, roots, instance, rng);
        }
    }

    /// Throws away what was drawn in another instance: it may be in use there.
    fn stay_in(&mut self, instance: Instance) {
        if self.drawn_in != Some(instance) {
            self.nonces.clear();
            self.drawn_in = Some(instance);
        }
    }

    /// Draws so many, by fours.
    fn draw(&mut self, many: usize, roots: &Roots<H>, instance: Instance, rng: &mut dyn CryptoRng) {
        let mut fresh = Zeroizing::new([0; 32]);
        rng.fill_bytes(fresh.as_mut_slice());
        let hash = Sha256::new_with_prefix(DOMAIN)
            .chain_update(self.seed.as_slice())
            .chain_update(fresh.as_slice())
            .chain_update(instance.0)
            .chain_update(self.count.to_be_bytes());
        let key = Zeroizing::new(<[u8; 32]>::from(hash.finalize()));
        let stream = &mut ChaCha20Rng::from_seed(*key);
        self.count += 1;
        for _ in 0..many / FOUR {
            self.nonces.extend(four(roots, stream));
        }
    }
}

/// Four nonces at once, modulo p and q.
fn four<H: Kernel>(roots: &Roots<H>, stream: &mut ChaCha20Rng) -> [Nonce<H>; 4] {
    let n = roots.moduli_by_turns();
    let mut low = n.map(|prime| drawn::<H>(prime.words().len(), stream));
    let mut high = n.map(|_| drawn::<H>(MORE_WORDS, stream));
    // The high words stand above the low ones: r has 128 bits more than the prime.
    let mut raised = H::chains(n, &[high.each_ref(), n.map(Modulus::above)]);
    let mut r: [H::Number; 8] = core::array::from_fn(|s| H::sum(n[s], &low[s], &raised[s]));
    let mut square = H::chains(n, &[r.each_ref(), r.each_ref(), n.map(Modulus::r2)]);
    let nonces = [0, 2, 4, 6].map(|s| {
        let mut x = Zeroizing::new([0; WORDS_MAX]);
        let width = 2 * n[0].words().len();
        roots.combine(&[square[s], square[s + 1]], &mut x[..width]);
        Nonce {
            r: [r[s], r[s + 1]],
            x,
        }
    });
    for numbers in [&mut low, &mut high, &mut raised, &mut r, &mut square] {
        numbers.zeroize();
    }
    nonces
}

/// A random number of so many words.
fn drawn<H: Kernel>(words: usize, stream: &mut ChaCha20Rng) -> H::Number {
    let mut bytes = Zeroizing::new([0; 8 * WORDS_MAX]);
    let mut number = Zeroizing::new([0; WORDS_MAX]);
    stream.fill_bytes(&mut bytes[..8 * words]);
    words::read(&mut number[..words], &bytes[..8 * words]);
    H::load(&number[..words])
}
